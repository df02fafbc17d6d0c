r"""Kernels that learn which directions of a table matter.

A candidate is a profile of a distance, k(x, z) = p(|A'(x - z)| / s), with the scale s a multiple of
the median distance. A starts as the identity and is learned from the model itself: the mean outer
product of the gradients of f, :math:`M = \frac1n \sum_i \nabla f(x_i) \nabla f(x_i)'`, says in
which directions the target changes, and A becomes the square root of M (or of its diagonal alone).
A few rounds of fit and update are enough. Whether they help is decided on rows that A has not seen.

Radhakrishnan, Beaglehole, Pandit & Belkin, *Mechanism for feature learning in neural networks and
backpropagation-free machine learning models*, Science 2024.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from ..engine.routines import eigh
from ..kernels.base import Kernel
from ..kernels.vectors.dot import Linear
from ..kernels.vectors.matern import Matern
from ..kernels.vectors.radial import Laplacian
from .likely import likely_weights

ALPHAS = (1e-5, 1e-4, 1e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0, 3.0, 10.0, 100.0)
_GRADIENTS = 400  # rows at which gradients of an l1 distance are taken, which costs a loop
_FLOOR = 1e-3  # the least weight of a column, as a part of the largest
_SMOOTH = ("m52", "likely")
_PAIRS = 500  # rows whose distances give the median


class Profile(NamedTuple):
    """A candidate: the kernel and its distance, the scale, whether A is diagonal, the rounds."""

    kind: str  # "l1", "l2", "m52", "linear", or "likely": m52 with the most likely lengthscales
    scale: float = 1.0
    diagonal: bool = True
    rounds: int = 3

    @property
    def kernel(self) -> Kernel:
        """On coordinates that are scaled already."""
        if self.kind == "linear":
            return Linear() + 1.0
        if self.kind in _SMOOTH:
            return Matern(1.0, nu=2.5)
        return Laplacian(1.0, p=1 if self.kind == "l1" else 2)

    @property
    def words(self) -> str:
        """A short description."""
        if self.kind in ("linear", "likely", "given"):
            return self.kind
        return f"{self.kind}, scale {self.scale:g}" + ("" if self.diagonal else ", full")

    def distances(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Of coordinates, before they are divided by the scale."""
        if self.kind == "l1":
            return cdist(X, Z, "cityblock")
        if self.kind == "linear":
            return X @ Z.T + 1.0
        D = -2 * (X @ Z.T)
        D += np.einsum("ij,ij->i", X, X)[:, None]
        D += np.einsum("ij,ij->i", Z, Z)
        return np.sqrt(np.maximum(D, 0, out=D), out=D)

    def values(self, R: np.ndarray) -> np.ndarray:
        """The kernel, from scaled distances."""
        if self.kind == "linear":
            return R
        if self.kind in _SMOOTH:
            r = np.sqrt(5) * R
            return (1 + r + r * r / 3) * np.exp(-r)
        return np.exp(-R)

    def slopes(self, R: np.ndarray) -> np.ndarray:
        """-p'(r) / r, for the gradients of kernels of the l2 distance."""
        if self.kind in _SMOOTH:
            r = np.sqrt(5) * R
            return 5 / 3 * (1 + r) * np.exp(-r)
        return np.exp(-R) / np.maximum(R, 1e-6)


@dataclass
class Validation:
    """The predictions of a candidate for held-out rows, after each round and for every alpha."""

    profile: Profile
    errors: np.ndarray  # (rounds + 1, alphas): mean squared errors
    values: np.ndarray  # (rounds + 1, alphas, rows, outputs)
    variances: np.ndarray  # (rounds + 1, alphas, rows), of a process with unit prior variance

    @property
    def best(self) -> tuple[int, int]:
        """The round and the alpha of the smallest error."""
        return divmod(int(np.argmin(self.errors)), self.errors.shape[1])

    @property
    def error(self) -> float:
        """The smallest error."""
        return float(self.errors.min())


class Fold(NamedTuple):
    """Rows to learn from and rows to predict, standardised, with targets and weights."""

    Z: np.ndarray
    Y: np.ndarray
    w: np.ndarray
    new: np.ndarray


def follow(profile: Profile, fold: Fold, alphas: Any, extra: Any = None) -> tuple[Any, Any]:
    """Predictions and variances of new rows, (rounds + 1, alphas, rows, ...), round by round.

    ``extra`` are kernel matrices of other columns to be added: among the rows, and to new ones.
    """
    Z, Y, root = fold.Z, fold.Y, np.sqrt(fold.w)
    A, found, spread = _first(profile, fold.Z, fold.Y, fold.w), [], []
    for left in range(profile.rounds, -1, -1):
        X = moved(Z, A)
        R = profile.distances(X, X)
        scale = _scale(profile, R)
        K = profile.values(R if scale == 1 else R / scale)
        K_new = profile.values(profile.distances(moved(fold.new, A), X) / scale)
        if extra is not None:
            K, K_new = K + extra[0], K_new + extra[1]
        prior = np.einsum("ij,ij->i", fold.new, fold.new) + 1 if profile.kind == "linear" else 1.0
        prior = prior + (0.0 if extra is None else 1.0)
        spectrum = Spectrum(K, Y, root)
        values, variances = spectrum.predict(K_new * root, alphas, prior)
        found.append(values)
        spread.append(variances)
        if left:
            alpha = alphas[int(np.argmin([spectrum.left_out(a) for a in alphas]))]
            A = _update(profile, A, X, K, R / scale, scale, spectrum.coef(alpha))
    return np.stack(found), np.stack(spread)


def learn(
    profile: Profile, Z: np.ndarray, Y: np.ndarray, w: np.ndarray, alpha: float
) -> np.ndarray:
    """The factor of coordinates, a matrix or its diagonal: A / scale, after all rounds."""
    A, root = _first(profile, Z, Y, w), np.sqrt(w)
    for left in range(profile.rounds, -1, -1):
        X = moved(Z, A)
        R = profile.distances(X, X)
        scale = _scale(profile, R)
        if not left:
            break
        K = profile.values(R / scale)
        S = root[:, None] * K * root
        S.flat[:: len(S) + 1] += alpha
        C = root[:, None] * np.linalg.solve(S, root[:, None] * Y)
        A = _update(profile, A, X, K, R / scale, scale, C)
    return (np.ones(Z.shape[1]) if A is None else A) / scale


def _first(profile: Profile, Z: np.ndarray, Y: np.ndarray, w: np.ndarray) -> np.ndarray | None:
    return likely_weights(profile, Z, Y, w) if profile.kind == "likely" else None


def moved(Z: np.ndarray, A: np.ndarray | None) -> np.ndarray:
    """Z A, where A may be given by its diagonal."""
    return Z if A is None else Z * A if A.ndim == 1 else Z @ A


class Spectrum:
    """sqrt(w) K sqrt(w) = U diag(s) U', with which every alpha is a product."""

    def __init__(self, K: np.ndarray, Y: np.ndarray, root: np.ndarray) -> None:
        self.root, self.Y = root, root[:, None] * Y
        s, self.U = eigh(np.asfortranarray(root[:, None] * K * root), overwrite=True)
        self.s = np.maximum(s, 0)
        self.UY = self.U.T @ self.Y

    def coef(self, alpha: float) -> np.ndarray:
        """The coefficients of k(x_i, .)."""
        return self.root[:, None] * (self.U @ (self.UY / (self.s + alpha)[:, None]))

    def left_out(self, alpha: float) -> float:
        """The mean squared error of leaving out one row after the other."""
        w = 1 / (self.s + alpha)
        diagonal = np.einsum("ij,j,ij->i", self.U, w, self.U, optimize=True)
        residuals = (self.U @ (w[:, None] * self.UY)) / np.maximum(diagonal, 1e-300)[:, None]
        return float(np.mean(residuals**2))

    def predict(self, K_new: np.ndarray, alphas: Any, prior: Any) -> tuple[np.ndarray, np.ndarray]:
        """Values (alphas, rows, outputs) and variances (alphas, rows) at new rows."""
        B = K_new @ self.U
        squares = B * B
        values = [B @ (self.UY / (self.s + a)[:, None]) for a in alphas]
        rest = [np.maximum(prior - squares @ (1 / (self.s + a)), 0) for a in alphas]
        return np.stack(values), np.stack(rest)


def _scale(profile: Profile, R: np.ndarray) -> float:
    if profile.kind in ("linear", "likely"):
        return 1.0
    few = R[:_PAIRS, :_PAIRS]
    middle = float(np.median(few[np.triu_indices(len(few), 1)])) if len(few) > 1 else 1.0
    middle = middle or float(R.mean()) or 1.0
    return profile.scale * middle


def _update(
    profile: Profile, A: Any, X: np.ndarray, K: np.ndarray, R: np.ndarray, scale: float,
    C: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """The root of the mean outer product of gradients, or of its diagonal."""
    if profile.kind == "l1":
        rows = slice(0, _GRADIENTS)
        d, part = X.shape[1], K[rows]
        weights = np.ones(d) if A is None else A
        slopes = np.empty(d)
        for j in range(d):
            G = (part * np.sign(X[rows, j][:, None] - X[:, j])) @ C
            slopes[j] = np.sum(G * G)
        slopes = np.sqrt(slopes) * weights
        top = slopes.max()
        return np.maximum(slopes / top, _FLOOR) if top > 0 else weights
    W = profile.slopes(R)
    d = X.shape[1]
    M = np.zeros(d) if profile.diagonal else np.zeros((d, d))
    for c in C.T:
        V = W * c
        G = X * V.sum(axis=1)[:, None] - V @ X
        G = moved(G, A)  # A is symmetric
        M += np.einsum("ij,ij->j", G, G) if profile.diagonal else G.T @ G
    if profile.diagonal:
        top = M.max()
        roots = np.sqrt(M / top) if top > 0 else np.ones(d)
        return np.maximum(roots, _FLOOR)
    s, U = np.linalg.eigh(M)
    if not s[-1] > 0:
        return np.eye(d)
    return (U * np.maximum(np.sqrt(np.maximum(s / s[-1], 0)), _FLOOR)) @ U.T
