"""Independent components by kernels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import expm
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..checks import check_choice, check_count, check_number
from ..data import as_dense
from ..exceptions import ConvergenceWarning, warn
from ..kernels.base import Kernel
from ..kernels.vectors.radial import Gaussian
from ..randomness import as_random_state
from ..solvers.contrasts import CONTRASTS, Features, contrast
from ..tensors import TakesTensors
from .common import SEEN, all_or_nothing, check_weights

_ANGLES = 12  # of a pair of components that are tried, within a quarter turn
_SWEEPS = 4  # over all pairs
_STEPS = 10  # between two changes of the coordinates
_FEW = 500  # samples by which angles are chosen
_FLAT = 1e-10  # a variance, as a part of the largest one, that is none
_CONSTANT = 1e-14  # a standard deviation, as a part of the largest value, that is rounding
_READ: dict[str, Any] = {"dtype": np.float64, "accept_sparse": "csr"}


@dataclass(eq=False, repr=False)
class KernelICA(TakesTensors, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Independent component analysis with a kernel measure of dependence.

    X = S A' + mean, where the columns of S are as independent as can be: a rotation of the whitened
    data that minimises a measure of dependence between all components. Unlike the contrasts of
    FastICA, which use one function of each component, these vanish only for independent components,
    so sources of any distribution (skewed, multimodal, with heavy or light tails) can be separated,
    and outliers have little influence.

    Parameters
    ----------
    n_components : int, optional
        The number of components, taken from the leading principal components; by default the number
        of features.
    contrast : {"kgv", "hsic", "kcca"}
        The kernel generalised variance, an approximation of mutual information; the sum of HSIC
        over all pairs; or the largest kernel canonical correlation, which is slow
        (:mod:`mercer.solvers.contrasts`).
    kernel : Kernel, optional
        On numbers of variance 1, and differentiable; ``Gaussian(0.5)`` by default.
    kappa : float
        Regularisation of the covariances in "kgv" and "kcca", > 0.
    n_init : int
        The number of starts.
    max_iter : int
        The maximum number of steps of the search for the best rotation, from each start.
    tol : float
        The gradient norm of the contrast at which to stop.
    random_state : int, RandomState or None
        Used to draw the starts.

    Attributes
    ----------
    components_ : ndarray of shape (q, d)
        The matrix that maps X - mean to components of variance 1.
    mixing_ : ndarray of shape (d, q)
        The matrix A: the pseudo-inverse of ``components_``. Components are ordered by the variance
        that they explain, and signed so that the largest entry of each column is positive.
    mean_ : ndarray of shape (d,)
        The mean of X.
    contrast_ : float
        The value of the contrast.
    n_iter_ : int
        Steps of the best search.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelICA
    >>> rng = np.random.default_rng(0)
    >>> S = np.column_stack([rng.uniform(-1, 1, 400), rng.laplace(size=400)])
    >>> X = S @ [[1.0, 0.5], [0.4, 1.0]]
    >>> Z = KernelICA(random_state=0).fit_transform(X)
    >>> np.abs(np.corrcoef(Z.T, S.T)[:2, 2:]).max(axis=0).round(1)  # each source is found
    array([1., 1.])

    References
    ----------
    Bach & Jordan, *Kernel independent component analysis*, JMLR 2002; Shen, Jegelka & Gretton,
    *Fast kernel-based independent component analysis*, IEEE Trans. Signal Processing 2009.
    """

    n_components: int | None = None
    _: KW_ONLY
    contrast: str = "kgv"
    kernel: Any = None
    kappa: float = 1e-3
    n_init: int = 2
    max_iter: int = 200
    tol: float = 1e-7
    random_state: Any = None

    saved_state: ClassVar[tuple[str, ...]] = (
        *SEEN, "components_", "mixing_", "mean_", "contrast_", "n_iter_",
    )  # fmt: skip

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the components of X, with weights; y is ignored."""
        self._check_parameters()
        X = as_dense(validate_data(self, X, ensure_min_samples=2, **_READ))
        given = check_weights(sample_weight, X[:, 0])
        weights = np.ones(len(X)) if given is None else given
        weights = weights / weights.sum()
        self.mean_ = weights @ X
        whitening = self._whitening(X, weights)
        Z = (X - self.mean_) @ whitening.T
        used = weights > 0
        rotation = self._search(Z[used], weights[used])
        self._keep(rotation @ whitening)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The components of samples X: shape (m, q)."""
        check_is_fitted(self)
        X = as_dense(validate_data(self, X, reset=False, **_READ))
        return (X - self.mean_) @ self.components_.T

    def inverse_transform(self, X: Any) -> np.ndarray:
        """The mixtures of components X."""
        check_is_fitted(self)
        return np.asarray(X, dtype=np.float64) @ self.mixing_.T + self.mean_

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _restore(self) -> None:
        """What :func:`mercer.load` calls; nothing has to be made again."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ---- parts -----------------------------------------------------------------------------
    def _check_parameters(self) -> None:
        check_choice("contrast", self.contrast, CONTRASTS)
        if not (self.kernel is None or isinstance(self.kernel, Kernel)):
            raise ValueError(f"kernel must be None or a kernel on numbers, got {self.kernel!r}.")
        check_number("kappa", self.kappa, "> 0 and finite", lambda kappa: 0 < kappa < np.inf)
        for name in ("n_init", "max_iter"):
            check_count(name, getattr(self, name))

    def _whitening(self, X: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Principal components, divided by their standard deviations."""
        q: Any = X.shape[1] if self.n_components is None else self.n_components
        check_count("n_components", q, 1, X.shape[1])
        largest = np.abs(X).max(axis=0)
        X = np.sqrt(weights)[:, None] * (X - self.mean_)
        units = np.linalg.norm(X, axis=0)
        constant = units <= _CONSTANT * largest
        X[:, constant], units[constant] = 0.0, 1.0
        if q < X.shape[1]:  # with all of them, the units of features do not matter
            units[:] = 1.0
        _, s, V = np.linalg.svd(X / units, full_matrices=False)
        rank = int(np.sum(s**2 > _FLAT * s[0] ** 2)) if s[0] > 0 else 0
        if not rank:
            raise ValueError("all samples are the same (or n_samples = 1): nothing to separate.")
        full, q = rank == X.shape[1], min(int(q), rank)
        if full:
            return V[:q] / s[:q, None] / units
        return np.linalg.pinv(V[:q].T * s[:q] * units[:, None])  # along the samples only

    def _search(self, Z: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The rotation with the least contrast, from several starts."""
        q = Z.shape[1]
        features = Features((Gaussian(0.5) if self.kernel is None else self.kernel).resolve(Z))
        rng = as_random_state(self.random_state)
        few = rng.permutation(len(Z))[:_FEW]
        best: tuple[float, np.ndarray, int] | None = None
        if q == 1:
            self.contrast_, self.n_iter_ = 0.0, 1
            return np.eye(1)
        settled = False
        for start in range(self.n_init):
            turn = np.eye(q) if start == 0 else np.linalg.qr(rng.standard_normal((q, q)))[0]
            part = weights[few] / weights[few].sum()
            turn = self._turned(turn, Z[few], part, features)
            value, turn, steps, ended = self._refined(turn, Z, weights, features)
            if best is None or value < best[0]:
                best, settled = (value, turn, steps), ended
        assert best is not None
        self.contrast_, self.n_iter_ = best[0], max(1, best[2])
        if not settled:
            warn(
                f"the search for the rotation stopped after max_iter={self.max_iter} steps; raise "
                f"it, or tol.",
                ConvergenceWarning,
            )
        return best[1]

    def _value(
        self, Z: np.ndarray, weights: np.ndarray, features: Features
    ) -> tuple[float, np.ndarray]:
        return contrast(Z, weights, features, self.contrast, float(self.kappa))

    def _turned(
        self, turn: np.ndarray, Z: np.ndarray, weights: np.ndarray, features: Features
    ) -> np.ndarray:
        """Pair by pair, the best of a few angles: far from where slopes lead."""
        angles = np.arange(_ANGLES) * (np.pi / 2 / _ANGLES)
        for _ in range(_SWEEPS):
            moved = False
            for pair in combinations(range(len(turn)), 2):
                own = Z @ turn[list(pair)].T
                turns = [_plane(angle) for angle in angles]
                values = [self._value(own @ t.T, weights, features)[0] for t in turns]
                best = int(np.argmin(values))
                if best:
                    turn[list(pair)] = turns[best] @ turn[list(pair)]
                    moved = True
            if not moved:
                break
        return turn

    def _refined(
        self, turn: np.ndarray, Z: np.ndarray, weights: np.ndarray, features: Features
    ) -> tuple[float, np.ndarray, int, bool]:
        """Quasi-Newton steps in the coordinates of rotations around the one so far."""
        q = len(turn)
        at = np.triu_indices(q, 1)
        steps, value, ended = 0, np.inf, False
        while steps < self.max_iter and not ended:
            base = turn

            def objective(a: np.ndarray, base: np.ndarray = base) -> tuple[float, np.ndarray]:
                A = np.zeros((q, q))
                A[at] = a
                A -= A.T
                R = expm(A)
                found, slopes = self._value(Z @ (R @ base).T, weights, features)
                G = slopes.T @ Z @ base.T @ R.T  # along R, in the coordinates of turns of R
                return found, (G - G.T)[at]

            # gradients are exact at a = 0, and nearly so close to it: restart often
            left = min(_STEPS, self.max_iter - steps)
            found = minimize(
                objective, np.zeros(len(at[0])), jac=True, method="L-BFGS-B",
                options={"maxiter": left, "gtol": self.tol, "ftol": 1e-14},
            )  # fmt: skip
            A = np.zeros((q, q))
            A[at] = found.x
            turn = expm(A - A.T) @ base
            steps += max(1, int(found.nit))
            slope = float(np.abs(objective(np.zeros(len(at[0])), turn)[1]).max())
            ended = slope <= self.tol or not found.fun < value * (1 - 1e-12) - 1e-15
            value = float(found.fun)
        return value, turn, steps, ended

    def _keep(self, components: np.ndarray) -> None:
        square = components.shape[0] == components.shape[1]
        mixing = np.linalg.inv(components) if square else np.linalg.pinv(components)
        order = np.argsort(-np.sum(mixing**2, axis=0), kind="stable")
        mixing = mixing[:, order]
        largest = np.abs(mixing).argmax(axis=0)
        signs = np.where(mixing[largest, np.arange(len(order))] < 0, -1.0, 1.0)
        self.mixing_ = mixing * signs
        self.components_ = components[order] * signs[:, None]


def _plane(angle: float) -> np.ndarray:
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
