"""Kernel density estimates, and their level sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import gammaln, logsumexp
from sklearn.utils.validation import check_is_fitted

from ..checks import check_fraction
from ..data import Data, length
from ..exceptions import DomainError, not_finite
from ..gram.plan import Plan
from ..kernels.algebra.nystrom import Nystrom
from ..kernels.approximate.rules import Approximated
from ..kernels.base import Kernel, Tile
from ..kernels.evaluator import Evaluator
from ..kernels.formula import INNER, SQUARED, TAXICAB, Atom
from .common import (
    KernelByName,
    OutlierDetector,
    all_or_nothing,
    check_data,
    check_weights,
    without_masks,
)
from .kept import KEPT, KeepsSamples

_STRIP = 1_000_000  # kernel values at a time
_LARGEST = 7e13  # offset of logarithms: rounding moves larger ones by more than a hundredth
_LOGARITHMS: dict[str, Callable[..., np.ndarray]] = {  # of profiles, by name
    "exp": lambda D: D,
    "laplacian": lambda D: -np.sqrt(D),
    "exponential": lambda T, scale: np.multiply(T, scale, out=T),
}


class DensityEstimate(KeepsSamples, KernelByName):
    """Common base of models of f(x) = sum_i w_i k(x_i, x) / (Z sum_i w_i)."""

    _keeps_all = True
    leave_one_out_: np.ndarray

    def _estimate(self, X: Data, sample_weight: Any) -> tuple[Any, np.ndarray]:
        """The operator of checked samples, and their weights; keeps what predictions need."""
        X = check_data(self, X, self.kernel, reset=True)
        weights = check_weights(sample_weight, np.empty(length(X)))
        w = np.ones(length(X)) if weights is None else weights
        gram = self._stored((self.plan or Plan()).gram(self._as_kernel(X), X))
        self._keep_samples(gram, X)
        self.gram_, self.dual_coef_ = gram.detached(), w / w.sum()
        exact = _exact(self.kernel_)
        known = log_integral(exact, X)
        self.is_density_ = known is not None and exact is self.kernel_
        self.log_integral_ = 0.0 if known is None else known
        return gram, w

    def score_samples(self, X: Data) -> np.ndarray:
        """log f(x) for every sample of X; -inf where all kernel values are 0."""
        X = self._checked(X)
        strips = log_strips(self.gram_, self.kernel_, self.X_fit_, X)
        return np.concatenate([self._mean(logs) for _, logs in strips])

    def level(self, mass: float) -> float:
        """The logarithm of the highest level whose set holds this share of the data."""
        check_is_fitted(self)
        check_fraction("mass", mass, one=True)
        values, weights = self.leave_one_out_, self.dual_coef_
        order = np.argsort(-values, kind="stable")
        order = order[weights[order] > 0]
        held = np.cumsum(weights[order])
        return float(values[order[np.searchsorted(held, mass * held[-1] * (1 - 1e-12))]])

    def _mean(self, logs: np.ndarray) -> np.ndarray:
        return logsumexp(logs, b=self.dual_coef_, axis=1) - self.log_integral_

    def _held_out(self, weights: np.ndarray, rows: slice, logs: np.ndarray) -> np.ndarray:
        """Leave-one-out log densities of training samples, from a strip that is overwritten.

        A weight is a number of copies, of which one is left out; a weight below 1 is left out.
        """
        i, w = np.arange(rows.start, rows.stop), weights[rows]
        with np.errstate(divide="ignore"):
            logs[np.arange(len(i)), i] += np.log1p(-1 / np.maximum(w, 1))
        left = 1 - np.minimum(w, 1) / weights.sum()
        alone = left <= len(weights) * np.finfo(float).eps
        found = self._mean(logs) - np.log(np.where(alone, 1.0, left))
        return np.where(alone, -np.inf, found)


@dataclass(eq=False, repr=False)
class KernelDensity(OutlierDetector, DensityEstimate):
    r"""Kernel density estimation, and the level set that contains a given share of the data.

    .. math:: f(x) = \frac{1}{Z \sum_i w_i} \sum_i w_i\, k(x_i, x), \qquad
              L = \{x : f(x) \ge \lambda\}

    where Z is the integral of k(x, .). It is known for sums of Gaussian, Laplacian, Matérn and
    rational quadratic kernels on vectors. On other kernels and data, Z = 1, and f is a density up
    to a factor; level sets are the same. Sums are computed with logarithms, so f does not underflow
    far from the data if the kernel has logarithms (Gaussian, Laplacian, string alignments, ...).

    The level is a quantile of densities of training samples, each by all the others: the share of
    samples with at least this density is at least ``mass``. Level sets are nested: a smaller mass
    means a subset. The regions of :class:`OneClassSVM` for several nu need not be.

    Parameters
    ----------
    kernel : Kernel, str or callable
        A kernel with values >= 0; a name known to scikit-learn; or a function of two samples.
    gamma, degree, coef0, kernel_params
        Parameters of kernels given by name, as in scikit-learn.
    mass : float
        In (0, 1]: the share of the data that the level set contains.
    plan : Plan, optional
        Memory and threads to use, and how K is stored. If k is approximated by landmarks or random
        features, values below 0 count as 0.

    Attributes
    ----------
    leave_one_out_ : ndarray of shape (n,)
        log densities of training samples, each by all the others. Their mean compares kernels.
        A weight counts copies, as in scikit-learn, of which one is left out; a weight below 1 is
        left out as a whole.
    offset_ : float
        The logarithm of the level.
    is_density_ : bool
        Whether the integral of f is known to be 1.
    log_integral_ : float
        log Z, of the kernel itself where it is approximated; 0 where it is not known.
    X_fit_, n_samples_seen_, kernel_, gram_
        As for :class:`KernelRidge`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, KernelDensity
    >>> X = np.random.default_rng(0).standard_normal((500, 1))
    >>> model = KernelDensity(Gaussian(0.4), mass=0.9).fit(X)
    >>> model.predict([[0.0], [4.0]])
    array([ 1, -1])
    >>> model.score_samples([[0.0], [9.0]]).round(2)
    array([  -1.03, -116.25])

    References
    ----------
    Parzen, *On estimation of a probability density function and mode*, 1962; Hyndman, *Computing
    and graphing highest density regions*, 1996.
    """

    kernel: Any = "rbf"
    _: KW_ONLY
    mass: float = 0.9
    plan: Plan | None = None

    factorises: ClassVar[bool] = False
    saved_state: ClassVar[tuple[str, ...]] = (
        *KEPT, "leave_one_out_", "offset_", "is_density_", "log_integral_",
    )  # fmt: skip

    @all_or_nothing
    def fit(self, X: Data, y: Any = None, sample_weight: Any = None) -> Self:
        """Estimate the density of samples X, with weights; y is ignored."""
        check_fraction("mass", self.mass, one=True)
        gram, weights = self._estimate(X, sample_weight)
        strips = log_strips(gram, self.kernel_, self.X_fit_)
        found = [self._held_out(weights, rows, logs) for rows, logs in strips]
        self.leave_one_out_ = np.concatenate(found)
        self.offset_ = self.level(self.mass)
        return self

    def decision_function(self, X: Data) -> np.ndarray:
        """log f(x) less the logarithm of the level: >= 0 inside, and inf if the level is 0."""
        values = self.score_samples(X)
        if self.offset_ == -np.inf:  # all of the space
            return np.full(len(values), np.inf)
        return values - self.offset_

    @without_masks
    def score(self, X: Data, y: Any = None) -> float:
        """The sum of log densities of samples X, as in scikit-learn."""
        return float(np.sum(self.score_samples(X)))


def log_strips(
    gram: Any, kernel: Kernel, X: Data, new: Data | None = None
) -> Iterator[tuple[slice, np.ndarray]]:
    """Rows and log k between training samples and themselves, or new ones, strip by strip."""
    if gram.of_kernel and gram.features is None:
        P = kernel.prepare(X)
        Q = P if new is None else kernel.prepare(kernel.match(new, X))
        tile, n = log_tiles(kernel, Q, P), length(Q)
    else:
        K = gram if new is None else gram.cross(new)
        tile, n = (lambda rows, cols: _logs(K.block(rows, cols), kernel)), K.shape[0]
    m = length(X)
    step = max(_STRIP // m, 1)
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        logs = np.array(tile(rows, slice(0, m)), dtype=np.float64)
        if not np.all(logs < np.inf):
            raise not_finite(kernel)
        yield rows, logs


def log_tiles(kernel: Kernel, X: Data, Y: Data) -> Tile:
    """Tiles of log k(x, y) of prepared samples, computed without k if possible."""
    row, col = kernel.formula(X), kernel.formula(Y)
    one, other = (f.scaled_atom() if f is not None else None for f in (row, col))
    if one is not None and other is not None and one[1].profile.name in _LOGARITHMS:
        profile = one[1].profile
        known = dict(profile.parameters) if profile.name == "exponential" else {}
        function = partial(_LOGARITHMS[profile.name], **known)
        parts = [
            replace(atom, profile=replace(atom.profile, name="log", function=function, slope=None))
            for _, atom in (one, other)
        ]
        values, shift = Evaluator(parts[:1], parts[1:]), np.log(one[0])
        return lambda rows, cols: next(iter(values(rows, cols))) + shift
    logs = kernel.log_tiles(X, Y)
    if logs is not None:
        a, b = kernel.log_offsets(X), kernel.log_offsets(Y)
        if max(a.max(initial=0.0), b.max(initial=0.0)) > _LARGEST:
            raise DomainError(
                f"{kernel!r} reaches e^{_LARGEST:.0e} on these data, where rounding would decide "
                "about densities; scale the data (such as by StandardScaler), or normalise the "
                "kernel (.normalize())."
            )
        return lambda rows, cols: logs(rows, cols) + a[rows, None] + b[None, cols]
    plain = kernel.tiles(X, Y)
    return lambda rows, cols: _logs(plain(rows, cols), kernel)


def _exact(kernel: Kernel) -> Kernel:
    """The kernel that another one approximates, or the kernel itself."""
    return kernel.kernel if isinstance(kernel, Nystrom | Approximated) else kernel


def _logs(K: np.ndarray, kernel: Kernel) -> np.ndarray:
    """log of values, which must not be negative unless they are approximations."""
    K = np.asarray(K, dtype=np.float64)
    if K.min() < -1e-9 * np.abs(K).max() and _exact(kernel) is kernel:
        raise ValueError(
            f"{kernel!r} has negative values on these data, so its sums are not a density; use a "
            "Gaussian kernel, or another whose values are >= 0."
        )
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(K, 0.0))


def log_integral(kernel: Kernel, X: Data) -> float | None:
    """log of the integral of k(x, .) over R^d, where it is known; None where it is not."""
    if not kernel.domain.whole.facts.numeric:
        return None
    formula = kernel.formula(kernel.prepare(X))
    terms = [] if formula is None else formula.terms()
    if not terms or any(len(t.atoms) != 1 or t.factors or t.weight < 0 for t in terms):
        return None
    found = [_atom_integral(t.atoms[0]) for t in terms]
    if any(value is None for value in found):
        return None
    return float(logsumexp(found, b=[t.weight for t in terms]))


def _atom_integral(atom: Atom) -> float | None:
    d, name = atom.points.shape[1], atom.profile.name
    parameters = dict(atom.profile.parameters)
    scale = float(np.sum(np.broadcast_to(np.log(atom.scale), d)))
    if atom.metric == INNER or atom.path:
        return None
    if name == "exp" and atom.metric == TAXICAB:
        return scale + d * np.log(2)
    if atom.metric != SQUARED:
        return None
    if name == "exp" and atom.profile.weight == -0.5:
        return scale + d / 2 * np.log(2 * np.pi)
    if name == "laplacian":
        return scale + np.log(2) + d / 2 * np.log(np.pi) + gammaln(d) - gammaln(d / 2)
    if name == "matern":
        nu = float(parameters["nu"])
        part = gammaln(nu + d / 2) - gammaln(nu) - d / 2 * np.log(2 * nu)
        return scale + d * np.log(2) + d / 2 * np.log(np.pi) + part
    if name == "rational quadratic" and float(parameters["alpha"]) > d / 2:
        alpha = float(parameters["alpha"])
        return scale + d / 2 * np.log(2 * np.pi * alpha) + gammaln(alpha - d / 2) - gammaln(alpha)
    return None
