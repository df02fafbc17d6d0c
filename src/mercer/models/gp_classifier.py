"""Gaussian process classification by Laplace's approximation."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.special import expit, ndtr
from sklearn.utils.validation import check_is_fitted

from ..checks import check_count
from ..data import Data
from ..gram.base import Gram
from ..gram.plan import Plan
from ..kernels.base import Kernel
from ..kernels.notation.named import as_kernel
from ..randomness import as_random_state
from ..rkhs.function import RKHSFunction
from ..search.descent import rows_of, search
from ..search.objective import Posed
from ..solvers.laplace import Mode, laplace_evidence, mode_of
from .common import (
    SEEN,
    Classifier,
    KernelEstimator,
    all_or_nothing,
    check_data,
    covariance,
    seen_columns,
)
from .gp_posterior import NewSamples, exact, make_gram, search_rows
from .labels import check_labels

_MATRICES = 5  # of all samples that are there at once in a step of the search
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(32)
_NARROW = 1.0  # standard deviations of f up to which those are exact
_END = 40.0  # where the logistic function is no longer told from a step
_PLACES, _SHARES = np.polynomial.legendre.leggauss(80)


@dataclass
class Latent:
    """One binary problem: its kernel, the operator, and the latent function at its mode.

    ``prior`` is the kernel as it was before a plan approximated it.
    """

    kernel: Kernel
    prior: Kernel
    gram: Gram
    mode: Mode

    def moments(self, X: Data) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the latent function at new samples."""
        P, lost = self.prior.prepare(X), self.prior is not self.kernel
        new, mode = NewSamples(self.gram.cross(X), self.prior, P, lost=lost), self.mode
        prior, blocks = self.prior.diag(P).astype(np.float64), new.by_blocks([mode.factor])
        mean, variance = np.empty(len(prior)), np.empty(len(prior))
        for rows in new.strips(whole=False):
            block = new.block(rows) if blocks else None
            mean[rows] = block @ mode.coef if block is not None else 0.0
            rooted = None if block is None else block * mode.root
            variance[rows] = new.variances(rows, prior, mode.factor, rooted)
        if not blocks:
            mean = new.cross @ mode.coef
        return mean, np.maximum(variance, 0.0)


@dataclass(eq=False, repr=False)
class GaussianProcessClassifier(Classifier, KernelEstimator):
    r"""Gaussian process classification.

    .. math:: P(y = 1 \mid x) = \sigma(f(x)), \quad f \sim GP(0, k)

    with the logistic function sigma. The posterior of f is approximated by the normal distribution
    at its mode (Laplace), and probabilities are averages of sigma(f(x)) over it. The
    hyper-parameters of the kernel maximise the approximate evidence. With several classes, each is
    separated from all others, and the probabilities are divided by their sum.

    Parameters
    ----------
    kernel : Kernel, str or callable, optional
        The covariance of f, with the starting values of its hyper-parameters; by default ``1 *
        Gaussian("median")``.
    optimizer : {"lbfgs"} or None
        None leaves all hyper-parameters as they are.
    fixed : tuple of str
        Names of hyper-parameters that stay as they are.
    n_restarts_optimizer : int
        The number of restarts from random points, up to a factor of 100 from the first start in
        each parameter.
    random_state : int, RandomState or None
        Used to draw restarts, and the samples on which a search with many begins.
    plan : Plan, optional
        Memory and threads to use, and how K is stored. With a ``rank``, hyper-parameters are chosen
        on as many samples as there are features (at least 500), and f keeps its prior variance
        where the features carry no information.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    kernels_ : list of Kernel
        The kernel of each problem: one for two classes, else one for each class.
    grams_ : list of Gram
        The operator of each problem.
    gram_ : Gram
        The first of them.
    log_marginal_likelihood_value_ : float
        The logarithm of the evidence, averaged over the problems.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GaussianProcessClassifier
    >>> X = np.linspace(-3, 3, 30)[:, None]
    >>> model = GaussianProcessClassifier().fit(X, np.abs(X[:, 0]) > 1.5)
    >>> model.predict([[0.0], [2.5]])
    array([False,  True])

    References
    ----------
    Rasmussen & Williams, *Gaussian Processes for Machine Learning*, 2006, chapter 3.
    """

    kernel: Any = None
    _: KW_ONLY
    optimizer: str | None = "lbfgs"
    fixed: tuple[str, ...] = ()
    n_restarts_optimizer: int = 0
    random_state: Any = None
    plan: Plan | None = None

    saved_state = (
        *SEEN,
        "classes_",
        "kernels_",
        "X_train_",
        "_codes",
        "log_marginal_likelihood_value_",
    )

    @all_or_nothing
    def fit(self, X: Data, y: Any) -> Self:
        """Choose the hyper-parameters of each problem, then find its mode."""
        if self.optimizer not in ("lbfgs", None):
            raise ValueError(f'optimizer must be "lbfgs" or None, got {self.optimizer!r}.')
        check_count("n_restarts_optimizer", self.n_restarts_optimizer, 0)
        X = check_data(self, X, covariance(self.kernel), reset=True)
        _, self._codes = check_labels(self, X, y)
        self.X_train_ = X
        kernel = as_kernel(covariance(self.kernel), X).resolve(X)
        rng = as_random_state(self.random_state)
        self.kernels_ = [self._tuned(kernel, X, labels, rng) for labels in self._problems()]
        self._restore()
        self.kernels_ = [latent.kernel for latent in self._latents]
        values = [latent.mode.value for latent in self._latents]
        self.log_marginal_likelihood_value_ = float(np.mean(values))
        return self

    def predict_proba(self, X: Data) -> np.ndarray:
        """Probabilities of the classes."""
        check_is_fitted(self)
        X = check_data(self, X, covariance(self.kernel), reset=False)
        columns = []
        for latent in self._latents:
            mean, variance = latent.moments(X)
            columns.append(mean_of_logistic(mean, np.sqrt(variance)))
        if len(columns) == 1:
            return np.stack([1 - columns[0], columns[0]], axis=1)
        scores = np.stack(columns, axis=1)
        return scores / scores.sum(axis=1, keepdims=True)

    def predict(self, X: Data) -> np.ndarray:
        """The most probable class."""
        check_is_fitted(self)
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def latent_mean_and_variance(self, X: Data) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of f: shape (m,), or (m, k) for k > 2 classes."""
        check_is_fitted(self)
        X = check_data(self, X, covariance(self.kernel), reset=False)
        means, variances = zip(*(latent.moments(X) for latent in self._latents), strict=True)
        if len(means) == 1:
            return means[0], variances[0]
        return np.stack(means, axis=1), np.stack(variances, axis=1)

    @property
    def rkhs_function_(self) -> Any:
        """The mode of f as an element of H_k.

        For more than two classes a list, one for each class, since each has its own kernel.
        """
        check_is_fitted(self)
        found = [
            RKHSFunction(f.kernel, self.X_train_, f.mode.coef, columns=seen_columns(self))
            for f in self._latents
        ]
        return found[0] if len(found) == 1 else found

    # ---- the parts of fit ------------------------------------------------------------------
    def _problems(self) -> list[np.ndarray]:
        """Labels ±1: one problem for two classes, else each class against the rest."""
        of = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        return [np.where(self._codes == c, 1.0, -1.0) for c in of]

    def _tuned(
        self, kernel: Kernel, X: Data, labels: np.ndarray, rng: np.random.RandomState
    ) -> Kernel:
        if self.optimizer is None or not len(kernel.theta):
            return kernel
        some = search_rows(len(labels), self.plan, rng)
        if some is not None:
            rare = np.flatnonzero(~np.isin(labels, labels[some]))
            some = np.sort(np.append(some[1:], rare[:1])) if len(rare) else some
            X, labels = rows_of(kernel, X, some), labels[some]
        nothing = np.zeros(len(labels))
        found = search(
            Posed(kernel, X, labels[:, None], 1.0, nothing, (*self.fixed, "alpha")),
            laplace_evidence,
            matrices=_MATRICES,
            plan=self.plan,
            n_restarts=self.n_restarts_optimizer,
            rng=rng,
        )
        found.warn()
        return found.kernel

    def _restore(self) -> None:
        """Also called by :func:`mercer.load`: factors are recomputed, not stored."""
        self._latents = []
        problems, searched = self._problems(), self.optimizer is not None
        for kernel, labels in zip(self.kernels_, problems, strict=True):
            gram: Any = make_gram(kernel, self.X_train_, self.plan, searched)
            mode, own = mode_of(gram, labels, len(problems)), getattr(gram, "kernel", kernel)
            self._latents.append(Latent(own, exact(own, self.kernel), gram, mode))
        self.grams_: list[Any] = [latent.gram for latent in self._latents]
        self.gram_ = self.grams_[0]


def mean_of_logistic(mean: np.ndarray, std: np.ndarray) -> np.ndarray:
    """E 1 / (1 + exp(-f)) for normal f, to ten digits.

    For wide f it is the probability that f > 0, and an integral, which decreases like exp(-|f|), of
    the difference from that step.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.models.gp_classifier import mean_of_logistic
    >>> mean_of_logistic(np.array([0.5, 50.0]), np.array([0.1, 100.0])).round(6)
    array([0.622173, 0.691434])
    """
    found = np.empty(len(mean))
    narrow = std <= _NARROW
    at = mean[narrow, None] + std[narrow, None] * _NODES
    found[narrow] = expit(at) @ _WEIGHTS / _WEIGHTS.sum()
    centre, scale = mean[~narrow, None], std[~narrow, None]
    u = _END / 2 * (1 + _PLACES)
    left, right = (np.exp(-(((place - centre) / scale) ** 2) / 2) for place in (-u, u))
    apart = (left - right) @ (_END / 2 * _SHARES * expit(-u)) / np.sqrt(2 * np.pi)
    found[~narrow] = np.clip(ndtr(centre[:, 0] / scale[:, 0]) + apart / scale[:, 0], 0.0, 1.0)
    return found
