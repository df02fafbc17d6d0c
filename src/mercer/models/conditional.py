"""Conditional mean embeddings: the distribution of Y given X = x, as a point of an RKHS."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from ..checks import check_count, check_positives
from ..data import Data, length, take
from ..gram.plan import LEAN, Plan
from ..kernels.base import Kernel
from ..kernels.notation.named import as_kernel
from ..kernels.vectors.radial import Gaussian
from ..ownership import owned
from ..rkhs.compression import herd
from ..rkhs.function import RKHSFunction
from ..solvers.auto import choose, solve_ridge
from ..solvers.cholesky import CholeskyFactor, NotPositiveDefiniteError, factor
from ..solvers.eigen import RidgeSpectrum
from ..solvers.pivoted import pivoted_cholesky
from .common import (
    SEEN,
    Regressor,
    all_or_nothing,
    check_data,
    check_targets,
    check_weights,
    on_vectors,
)

_RELATIVE = np.logspace(-6, 2, 25)  # what "auto" tries, times the mean of k(x, x)
_FACTOR = 1e-10  # share of the trace of L that a factor for leave-one-out may lose


@dataclass(eq=False, repr=False)
class ConditionalEmbedding(MultiOutputMixin, Regressor, BaseEstimator):
    r"""The conditional mean embedding: ridge regression from X into the space of a kernel on Y.

    .. math:: \mu_{Y|x} = \sum_i \beta_i(x)\, l(y_i, \cdot), \qquad
              \beta(x) = (K + \alpha W^{-1})^{-1} k(X, x)

    It minimises sum_i w_i ||l(y_i, .) - mu(x_i)||^2 + alpha ||mu||^2, so the expectation of any
    g(Y) given X = x is sum_i beta_i(x) g(y_i): kernel ridge regression of g(Y) on X, for all g at
    once. X and Y may be data of any kind. Weights beta may be negative, and sum to one only
    approximately.

    Parameters
    ----------
    kernel_x : Kernel, str or callable, optional
        The kernel k on X; ``Gaussian("median")`` by default.
    kernel_y : Kernel, str or callable, optional
        The kernel l on Y; ``Gaussian("median")`` by default. Expectations do not depend on it;
        distances, representatives and the choice of alpha do.
    alpha : float, array or "auto"
        Strength of the penalty, as in :class:`KernelRidge` (n lambda in the other convention). If
        several values are given, the one with the smallest leave-one-out error in the space of l is
        used; ``"auto"`` tries 25 values around the mean of k(x, x).
    plan : Plan, optional
        Memory and threads to use, and how K is stored.

    Attributes
    ----------
    alpha_ : float
        The alpha in use.
    alphas_, loo_ : ndarray
        The values tried, and the mean of ||l(y_i, .) - mu(x_i)||^2 with mu trained without sample
        i.
    kernel_x_, kernel_y_ : Kernel
        The kernels with every data-dependent parameter as a number.
    X_fit_, Y_fit_ : data
        The training samples.
    gram_ : Gram
        The operator K.
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        The coefficients of E[Y | x]; None if ``kernel_y`` is not a kernel on vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ConditionalEmbedding
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, 500)
    >>> y = x + (1 + (x > 0)) * rng.choice([-1, 1], 500)  # the noise doubles at 0
    >>> model = ConditionalEmbedding().fit(x[:, None], y)
    >>> at = [[-1.0], [1.0]]
    >>> mean, square = model.predict(at), model.expect(np.square, at)
    >>> np.sqrt(square - mean**2).round()
    array([1., 2.])

    References
    ----------
    Song, Huang, Smola & Fukumizu, *Hilbert space embeddings of conditional distributions with
    applications to dynamical systems*, ICML 2009; Grünewälder et al., *Conditional mean embeddings
    as regressors*, ICML 2012.
    """

    kernel_x: Any = None
    kernel_y: Any = None
    _: KW_ONLY
    alpha: Any = "auto"
    plan: Plan | None = None

    saved_state: ClassVar[tuple[str, ...]] = (
        *SEEN,
        "kernel_x_",
        "kernel_y_",
        "X_fit_",
        "Y_fit_",
        "alpha_",
        "alphas_",
        "loo_",
        "dual_coef_",
        "_sample_weight",
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel_x == "precomputed"
        return tags

    @all_or_nothing
    def fit(self, X: Data, y: Data, sample_weight: Any = None) -> Self:
        """Fit the embedding to samples X and outputs y, each of any kind."""
        X = check_data(self, X, _given(self.kernel_x), reset=True)
        Y = owned(self._check_outputs(X, y), y)
        self._sample_weight = check_weights(sample_weight, np.empty(length(X)))
        self.X_fit_, self.Y_fit_ = X, Y
        self.kernel_x_ = as_kernel(_given(self.kernel_x), X).resolve(X)
        self.kernel_y_ = as_kernel(_given(self.kernel_y), _columns(Y)).resolve(Y)
        self._make_grams()
        self._choose_alpha()
        self._make_factor()
        self.dual_coef_ = self._solve(Y.astype(np.float64)) if self._numeric() else None
        return self

    def predict(self, X: Data) -> Data:
        """E[Y | x] for outputs that are vectors; else the training output nearest to mu(x)."""
        check_is_fitted(self)
        if self.dual_coef_ is not None:
            return self._cross(X) @ self.dual_coef_
        return take(self.Y_fit_, self._herded(X, 1)[:, 0])

    def expect(self, g: Callable[[Data], Any] | Any, X: Data) -> np.ndarray:
        """E[g(Y) | x] at each sample of X.

        Parameters
        ----------
        g : callable or array of shape (n,) or (n, t)
            A function of a data set of outputs, t functions of it, or their values at the outputs
            of the training data.
        X : data
            New samples.

        Returns
        -------
        ndarray of shape (m,) or (m, t)
        """
        check_is_fitted(self)
        values = np.asarray(g(self.Y_fit_) if callable(g) else g, dtype=np.float64)
        n = len(self.gram_)
        if values.ndim not in (1, 2) or len(values) != n:
            raise ValueError(
                f"g must give one number per training output, shape ({n},) or ({n}, t), got shape "
                f"{values.shape}."
            )
        if not np.all(np.isfinite(values)):
            raise ValueError("g gives NaN or infinity at some training outputs.")
        return self._cross(X) @ self._solve(values)

    def weights(self, X: Data) -> np.ndarray:
        """The weights beta(x) of the training outputs, one column per sample of X."""
        check_is_fitted(self)
        return self._solve(np.asarray(self._cross(X).to_dense().T, dtype=np.float64))

    def embedding(self, X: Data) -> RKHSFunction:
        """mu at each sample of X, as functions in the space of l that share their centres."""
        return RKHSFunction(self.kernel_y_, self.Y_fit_, self.weights(X))

    def distance(self, X: Data, Z: Data | None = None) -> np.ndarray:
        """||mu(x) - mu(z)||, the maximum mean discrepancy between conditional distributions."""
        A = self.weights(X)
        LA = self._gram_y @ A
        left = np.sum(A * LA, axis=0)
        if Z is None:
            squares = left[:, None] + left - 2 * A.T @ LA
            np.fill_diagonal(squares, 0)
        else:
            B = self.weights(Z)
            squares = left[:, None] + np.sum(B * (self._gram_y @ B), axis=0) - 2 * LA.T @ B
        return np.sqrt(np.maximum(squares, 0))

    def representatives(self, X: Data, size: int = 1) -> list[Data]:
        """For each sample of X, distinct training outputs that represent Y given x, by herding.

        The mean of their features greedily comes close to mu(x); the first one is nearest to it.
        """
        check_is_fitted(self)
        check_count("size", size, 1, len(self.gram_))
        return [take(self.Y_fit_, places) for places in self._herded(X, size)]

    def _herded(self, X: Data, size: int) -> np.ndarray:
        """Places of representatives, one row per sample of X."""
        own = np.asarray(self._gram_y.diag(), dtype=np.float64)
        found = []
        for rows in self._cross(X).by_rows():
            values = np.asarray(self._gram_y @ self.weights(take(X, rows)), dtype=np.float64)
            found += [herd(self._gram_y, own, column, size) for column in values.T]
        return np.array(found)

    # ---- the parts of fit ------------------------------------------------------------------
    def _check_outputs(self, X: Data, y: Data) -> Data:
        if not self._numeric() and y is not None:
            check_consistent_length(X, y)
            return y
        return check_targets(self, X, y, (np.float64, np.float32))

    def _numeric(self) -> bool:
        """Does the kernel take outputs to be vectors, or numbers?"""
        kernel = _given(self.kernel_y)
        return on_vectors(kernel) if isinstance(kernel, Kernel) else isinstance(kernel, str)

    def _choose_alpha(self) -> None:
        alphas = self.alpha
        if isinstance(alphas, str):
            if alphas != "auto":
                raise ValueError(f'alpha must be "auto" or numbers > 0, got {alphas!r}.')
            alphas = _RELATIVE * max(float(np.mean(self.gram_.diag())), 1e-300)
        self.alphas_ = check_positives("alpha", alphas)
        self.loo_ = np.full(1, np.nan)
        if len(self.alphas_) > 1:
            spectrum = RidgeSpectrum(self.gram_, self._sample_weight)
            phi = pivoted_cholesky(self._gram_y, tol=_FACTOR, random=False).factor
            held_out = (spectrum.leave_one_out(phi, float(alpha)) for alpha in self.alphas_)
            errors = [np.sum((phi - predicted) ** 2, axis=1) for predicted in held_out]
            self.loo_ = np.average(errors, axis=1, weights=self._sample_weight)
        self.alpha_ = float(self.alphas_[np.argmin(self.loo_)])

    def _make_grams(self) -> None:
        self.gram_: Any = self.kernel_x_.gram(self.X_fit_, self.plan)
        self._gram_y = self.kernel_y_.gram(self.Y_fit_, LEAN)

    def _make_factor(self) -> None:
        """Kept where K is stored, so that every expectation is one product; elsewhere None."""
        weights = np.ones(1) if self._sample_weight is None else self._sample_weight
        self._factor: CholeskyFactor | None = None
        if np.all(weights > 0) and choose(self.gram_, self.alpha_) == "cholesky":
            with suppress(NotPositiveDefiniteError):
                self._factor = factor(self.gram_, self.alpha_ / weights, np.dtype(np.float64))

    def _restore(self) -> None:
        """What :func:`mercer.load` calls: operators and factor are made again, not stored."""
        self._make_grams()
        self._make_factor()

    # ---- products with (K + alpha W^-1)^-1 ---------------------------------------------------
    def _cross(self, X: Data) -> Any:
        return self.gram_.cross(check_data(self, X, _given(self.kernel_x), reset=False))

    def _solve(self, V: np.ndarray) -> np.ndarray:
        if self._factor is not None:
            return self._factor.solve(V)
        columns = V[:, None] if V.ndim == 1 else V
        found = (
            solve_ridge(self.gram_.detached(), columns, self.alpha_, self._sample_weight)
            .warn()
            .coef
        )
        return found[:, 0] if V.ndim == 1 else found


def _given(kernel: Any) -> Any:
    return Gaussian("median") if kernel is None else kernel


def _columns(Y: Data) -> Data:
    """Numbers as vectors of one entry, where a kernel given by name counts features."""
    return Y[:, None] if isinstance(Y, np.ndarray) and Y.ndim == 1 else Y
