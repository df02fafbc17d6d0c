"""Pre-images by regression: from coordinates in feature space back to samples."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..checks import check_positives
from ..data import evenly, take
from ..gram.plan import Plan
from ..kernels.base import Kernel
from ..kernels.notation.named import as_kernel
from ..kernels.vectors.distances import median_distance
from ..kernels.vectors.radial import Gaussian
from ..ownership import owned
from ..solvers.auto import solve_ridge
from ..solvers.eigen import RidgeSpectrum
from .common import Regressor, all_or_nothing
from .kept import KEPT, KeepsSamples

_SAMPLES = 1500  # of them, evenly spaced, choose the width and the penalty
_WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)  # lengthscales that are tried, in median distances

_ALPHAS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)


def lengthened(scores: np.ndarray, offset: np.ndarray, variance: float) -> np.ndarray:
    r"""Coordinates of projections that noise has shortened, at the length they should have.

    Noise e takes phi(x + e) away from all other features: for a Gaussian kernel k(x + e, x_i) is
    about :math:`e^{-\|e\|^2 / 2 l^2} k(x, x_i)`. So P phi(x + e) is drawn towards the mean mu. Each
    row s is multiplied by the t >= 1 with

    .. math:: \|\mu + t \textstyle\sum_j s_j v_j\|^2 - \|\mu\|^2
              = t^2 \|s\|^2 + 2 t \langle s, m \rangle = \textstyle\sum_j \lambda_j / n

    the mean over the training samples, where m_j = <mu, v_j> is the ``offset`` and the right side
    the ``variance`` of all components; t = 1 where projections are long enough.
    """
    square, mixed = np.einsum("ij,ij->i", scores, scores), scores @ offset
    root = np.sqrt(mixed**2 + square * variance)
    factor = np.divide(root - mixed, square, out=np.ones_like(square), where=square > 0)
    return np.asarray(scores * np.maximum(factor, 1)[:, None])


@dataclass(eq=False, repr=False)
class LearnedPreImage(MultiOutputMixin, Regressor, KeepsSamples, BaseEstimator):
    r"""Pre-images learned from examples: ridge regression from coordinates s to samples x.

    .. math:: x(s) = \bar x + \sum_i c_i\, \kappa(s, s_i), \qquad
              (K + \alpha I)\, c = X - 1 \bar x'

    The kernel on the coordinates has its own width, and width and penalty minimise the
    leave-one-out error, so the units of the coordinates do not matter. (scikit-learn's
    ``inverse_transform`` takes the width of the kernel on the *samples*, and alpha = 1.)

    Fitted on the coordinates of noisy copies, with the clean samples as targets, it learns to
    remove that noise.

    Parameters
    ----------
    kernel : Kernel, str or callable, optional
        A kernel on coordinates; by default a Gaussian whose lengthscale is chosen.
    alphas : array of float
        The penalties to choose from.
    plan : Plan, optional
        Memory and threads to use, and how K is stored.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel, with all parameters resolved to numbers.
    alpha_ : float
        The penalty.
    leave_one_out_error_ : float
        The mean squared error that chose them, per feature, on at most 1500 samples.
    X_fit_ : ndarray of shape (n, q)
        The coordinates, or through features those of a few samples (:class:`KernelRidge`).
    dual_coef_ : ndarray of shape (n, d)
        The coefficients c.
    mean_ : ndarray of shape (d,)
        The mean of the samples.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, KernelPCA, LearnedPreImage
    >>> angle = np.linspace(0, 2 * np.pi, 100)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> pca = KernelPCA(4, kernel=Gaussian()).fit(X)
    >>> back = LearnedPreImage().fit(pca.transform(X), X)
    >>> new = np.array([[0.6, 0.8]])
    >>> bool(np.allclose(back.predict(pca.transform(new)), new, atol=1e-3))
    True

    References
    ----------
    Bakır, Weston & Schölkopf, *Learning to find pre-images*, NIPS 2003.
    """

    kernel: Any = None
    _: KW_ONLY
    alphas: Any = _ALPHAS
    plan: Plan | None = None

    saved_state: ClassVar[tuple[str, ...]] = (
        *KEPT,
        "alpha_",
        "leave_one_out_error_",
        "mean_",
        "_flat",
    )

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the map from coordinates, shape (n, q), to samples y, shape (n, d)."""
        alphas = check_positives("alphas", self.alphas)
        scores, Y = validate_data(
            self, X, y, multi_output=True, y_numeric=True, dtype=(np.float64, np.float32)
        )
        self._flat = Y.ndim == 1
        Y = np.asarray(Y, dtype=np.float64).reshape(len(Y), -1)
        self.mean_ = Y.mean(axis=0)
        some = evenly(len(Y), _SAMPLES)
        tried = []
        for kernel in self._candidates(scores):
            spectrum = RidgeSpectrum(kernel.gram(take(scores, some)))
            held_out = Y[some] - self.mean_
            for alpha in alphas:
                missed = held_out - spectrum.leave_one_out(held_out, float(alpha))
                tried.append((float(np.mean(missed**2)), float(alpha), kernel))
        self.leave_one_out_error_, self.alpha_, self.kernel_ = min(tried, key=lambda t: t[0])
        gram = self.kernel_.gram(scores, self.plan)
        coef = solve_ridge(gram, Y - self.mean_, self.alpha_).warn().coef
        self._keep_function(gram, owned(scores, X), coef)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The samples with these coordinates, shape (m, d)."""
        check_is_fitted(self)
        scores = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        x = self.gram_.cross(scores) @ self.dual_coef_ + self.mean_
        return x[:, 0] if self._flat else x

    def _candidates(self, scores: np.ndarray) -> list[Kernel]:
        if self.kernel is not None:
            kernel = as_kernel(self.kernel, scores)
            return [kernel.resolve(scores)]
        width = median_distance(scores)
        return [Gaussian(factor * width) for factor in _WIDTHS]
