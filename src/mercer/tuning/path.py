"""Choosing the penalty: the whole path of ridge solutions from one eigendecomposition."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..chunks.base import Chunks
from ..data import Data, unmasked
from ..gram.plan import Plan
from ..gram.stored import KernelGram
from ..kernels.base import Kernel
from ..models.kept import few_gram
from ..models.streamed import surveyed
from ..ownership import owned
from ..shown import Shown
from ..solvers.eigen import RidgeSpectrum
from ..solvers.ridge_sums import RidgeSums


@dataclass
class RidgePath(Shown):
    """Ridge solutions for many penalties.

    Attributes
    ----------
    alphas : ndarray of shape (m,)
        The penalties.
    coefs : ndarray of shape (m, n) or (m, n, t)
        Dual coefficients for each.
    dof : ndarray of shape (m,)
        Effective degrees of freedom, tr K (K + alpha I)^-1.
    loo : ndarray of shape (m,)
        Mean squared leave-one-out error.
    gcv : ndarray of shape (m,)
        Generalised cross-validation score.
    gram : Gram
        The operator; ``gram.cross(X_new) @ coefs[i]`` predicts.
    X : data
        The samples.
    plan : Plan or None
        The plan that the operator was made by.
    """

    alphas: np.ndarray
    coefs: np.ndarray
    dof: np.ndarray
    loo: np.ndarray
    gcv: np.ndarray
    gram: KernelGram = field(repr=False)
    X: Data = field(repr=False)
    plan: Plan | None = field(default=None, repr=False)

    @property
    def best_alpha(self) -> float:
        """The penalty with the smallest leave-one-out error."""
        return float(self.alphas[np.argmin(self.loo)])

    def plot(self, ax: Any = None) -> Any:
        """Leave-one-out error and generalised cross-validation against alpha."""
        from ..plots.selection import plot_path

        return plot_path(self, ax=ax)


def ridge_path(
    kernel: Kernel,
    X: Data,
    y: Any = None,
    alphas: Any = (),
    *,
    sample_weight: Any = None,
    plan: Plan | None = None,
) -> RidgePath:
    """Kernel ridge regression for every alpha, from one eigendecomposition of K.

    Parameters
    ----------
    kernel : Kernel
        The kernel; "median" and the like are resolved on X.
    X : data or Chunks
        Samples; in chunks with a ``plan`` that has a rank, and with their targets and weights. Then
        two passes are enough for all alphas, and ``X`` of the result are the samples that features
        take.
    y : array of shape (n,) or (n, t)
        Targets, unless they come with the samples.
    alphas : array of float
        Penalties > 0.
    sample_weight : array of shape (n,), optional
        Weights >= 0.
    plan : Plan, optional
        Memory and threads to use, and how K is stored.

    Returns
    -------
    RidgePath
        Coefficients, degrees of freedom, leave-one-out errors and GCV scores along the path.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, ridge_path
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> path = ridge_path(Gaussian(), X, np.sin(X[:, 0]), [1e-3, 1e-1, 10])
    >>> path.best_alpha
    0.001
    """
    alphas = np.atleast_1d(np.asarray(alphas, dtype=float))
    if np.any(~(alphas > 0)):
        raise ValueError(f"alphas must be > 0, got {alphas.min()}.")
    if isinstance(X, Chunks):
        if y is not None or sample_weight is not None:
            raise ValueError("chunks carry their own y and sample_weight; omit both.")
        return _from_chunks(kernel, X, alphas, plan)
    y, sample_weight = unmasked(y, "y"), unmasked(sample_weight, "sample_weight")
    Y = np.asarray(y, dtype=float)
    flat = Y.ndim == 1
    Y = Y[:, None] if flat else Y
    X = owned(X)
    gram: Any = kernel.gram(X, plan)
    if len(Y) != len(gram):
        raise ValueError(f"y has {len(Y)} targets, but X has {len(gram)} samples.")
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    spectrum = RidgeSpectrum(gram, weights)
    coefs = np.stack([spectrum.coef(Y, a) for a in alphas])
    held_out = [spectrum.leave_one_out(Y, a) for a in alphas]
    errors = [np.average((Y - f) ** 2, axis=0, weights=weights).mean() for f in held_out]
    return RidgePath(
        alphas,
        coefs[:, :, 0] if flat else coefs,
        np.array([spectrum.dof(a) for a in alphas]),
        np.array(errors),
        np.array([spectrum.gcv(Y, a) for a in alphas]),
        gram,
        X,
        plan,
    )


def _from_chunks(
    kernel: Kernel, chunks: Chunks, alphas: np.ndarray, plan: Plan | None
) -> RidgePath:
    """From sums over the samples."""
    seen = surveyed(chunks, labels=False)
    whole: Any = (plan or Plan()).gram(kernel, chunks)
    sums, span = RidgeSums(whole), whole.span()
    V, dof = sums.solve(alphas.tolist()), sums.dof(alphas.tolist())
    left, n = sums.left_out(alphas.tolist()), len(whole)
    coefs = np.stack([span.combine(each) for each in V])
    points = span.points(None)
    return RidgePath(
        alphas,
        coefs[:, :, 0] if seen.targets is None else coefs,
        dof,
        (left.errors / sums.mass[0]).mean(axis=1),
        n * left.residuals.sum(axis=1) / np.maximum(n - dof, 1e-10) ** 2,
        few_gram(whole.kernel, points, plan),
        points,
        plan,
    )
