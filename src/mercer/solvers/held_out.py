r"""Scores without the sample itself, for any smooth loss, from the fit on all samples.

Leaving sample i out removes w_i L(y_i, F_i). One Newton step from the solution on all samples,
with its Hessian, changes the score of that sample to

.. math:: F_i^{(-i)} = F_i + S_i (I - W_i S_i)^{-1} g_i, \qquad
          g_i = w_i L'(y_i, F_i) = -\alpha c_i,

where S is the inverse Hessian and W_i the curvature (:mod:`mercer.solvers.hessian`). For the
squared loss the step is exact: it is y_i - c_i / G_ii with G = (K + alpha W^-1)^-1. For others the
error is of second order in what one sample can change.

Reference: Rad & Maleki, *A scalable estimate of the out-of-sample prediction error via approximate
leave-one-out cross-validation*, JRSS B 2020.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from scipy.special import softmax

from ..data import as_dense
from ..gram.base import Gram
from ..gram.tiles import slices
from ..losses.base import Loss
from .auto import choose
from .cholesky import CholeskyFactor
from .hessian import Hessian

_NO_CURVATURE = 1e-8  # of alpha / k(x, x): below, a sample does not move its own score
_STRIP = 1000  # samples at a time
_LEFT_OUT = "leaving out each of {} samples"
_EPS = float(np.finfo(float).eps)


def leave_one_out(
    gram: Gram,
    C: np.ndarray,
    b: np.ndarray,
    y: np.ndarray,
    loss: Loss,
    alpha: float,
    weights: np.ndarray | None = None,
    *,
    intercept: bool = True,
) -> np.ndarray:
    """Scores of every sample by the model of all others, shape (n, k): see the formula above.

    Parameters
    ----------
    gram : Gram
        The operator K; its stored array, if any, is used up.
    C, b : ndarray of shape (n, k) and (k,)
        Coefficients and intercepts of the solution on all samples.
    y : ndarray of shape (n,)
        Targets, of the kind the loss requires.
    loss : Loss
        A smooth loss.
    alpha : float
        Strength of the penalty.
    weights : ndarray of shape (n,), optional
        Weights of the samples; one of weight 0 is predicted as it is.
    intercept : bool
        Is b free, and not zero?

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, KernelRidge, Squared
    >>> X = np.linspace(0, 3, 20)[:, None]
    >>> y = np.sin(3 * X[:, 0])
    >>> ridge = KernelRidge(0.1, kernel=Gaussian()).fit(X, y)
    >>> c = ridge.dual_coef_[:, None]
    >>> f = leave_one_out(ridge.gram_, c, np.zeros(1), y, Squared(), 0.1, intercept=False)
    >>> np.allclose(f[:, 0], ridge.leave_one_out())
    True
    """
    if not loss.smooth:
        raise ValueError(f"leave-one-out scores need a smooth loss, got {loss!r}; refit instead.")
    n, k = C.shape
    F, w = gram @ C + b, np.ones(n) if weights is None else weights.astype(float)
    if k == 1:
        D = w[:, None] * loss.curvature(y.astype(float)[:, None], F)
        W = D[:, :, None]
    else:
        D = w[:, None] * softmax(F, axis=1)
        W = D[:, :, None] * (np.eye(k) - softmax(F, axis=1)[:, None, :])
    basis = np.ones((1, 1)) if k == 1 else sla.helmert(k).T  # of scores that add up to 0
    few = gram.rank is not None and (gram.rank + 1) * basis.shape[1] <= n
    if few and choose(gram, alpha) == "primal":
        S = _by_features(gram, basis, W, alpha, intercept)
        rest = np.eye(k) - W @ S
    elif k == 1:
        S, rest = _one_score(gram, D[:, 0], alpha, intercept)
    else:
        needed = 8.0 * (3 * k + 2) * n * n
        K = np.ascontiguousarray(gram.dense(_LEFT_OUT.format(n), needed), dtype=np.float64)
        K /= alpha
        S = Hessian(K, D, intercept).blocks()
        rest = np.eye(k) - W @ S
    return F - alpha * (S @ np.linalg.solve(rest, C[:, :, None]))[:, :, 0]


def _one_score(
    gram: Gram, h: np.ndarray, alpha: float, intercept: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The diagonals of S and I - W S, from that of (alpha I + H^1/2 K H^1/2)^-1.

    Samples with (almost) no curvature have no part in that matrix, and get S from K instead.
    """
    K = np.ascontiguousarray(gram.dense(_LEFT_OUT.format(len(gram))), dtype=np.float64)
    prior = np.diagonal(K).copy()
    curved = h * prior > _NO_CURVATURE * alpha
    S, rest, r = prior / alpha, np.ones(len(h)), np.ones(len(h))
    if curved.any():
        flat = ~curved
        root = np.sqrt(h[curved])
        cross = root[:, None] * K[np.ix_(curved, flat)]
        K = K if not flat.any() else K[np.ix_(curved, curved)]
        K *= root
        K *= root[:, None]
        K.flat[:: len(K) + 1] += alpha
        factor = CholeskyFactor(K)
        half = factor.half_solve(cross)
        S[flat] -= np.einsum("ij,ij->j", half, half) / alpha
        one = factor.solve(root)
        r[curved] = alpha * one / root
        r[flat] -= cross.T @ one
        rest[curved] = alpha * factor.inverse_diag()
        S[curved] = (1 - rest[curved]) / h[curved]
        if intercept:
            moved = r * r / (alpha * float(root @ one))
            S += moved
            rest -= h * moved
    return S[:, None, None], np.maximum(rest, _EPS)[:, None, None]


def _by_features(
    gram: Any, basis: np.ndarray, W: np.ndarray, alpha: float, intercept: bool
) -> np.ndarray:
    """The blocks phi_i' H^-1 phi_i of S, where H is the Hessian in the weights of the features."""
    phi, k = gram.features, basis.shape[1]
    curvature = basis.T @ W @ basis
    free = intercept and bool(W.any())
    if free:
        stack = partial(sp.hstack, format="csr") if sp.issparse(phi) else np.hstack
        phi = stack([phi, np.ones((phi.shape[0], 1))])
    m = phi.shape[1]
    H = np.empty((k, m, k, m))
    for c, d in np.ndindex(k, k):
        weighted = sp.diags(curvature[:, c, d]) @ phi
        product = phi.T @ weighted
        H[c, :, d, :] = as_dense(product)
    H = H.reshape(k * m, k * m)
    penalty = np.full(m, alpha)
    penalty[m - free :] = 0
    H.flat[:: k * m + 1] += np.tile(penalty, k)
    L = CholeskyFactor(H)
    S = np.empty((phi.shape[0], k, k))
    for rows in slices(phi.shape[0], _STRIP):
        block = phi[rows].toarray() if sp.issparse(phi) else phi[rows]
        half = [L.half_solve(np.kron(np.eye(k)[:, [c]], block.T)) for c in range(k)]
        for c, d in np.ndindex(k, k):
            S[rows, c, d] = np.einsum("ji,ji->i", half[c], half[d])
    return basis @ S @ basis.T
