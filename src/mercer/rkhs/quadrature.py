"""Distributions of one variable as weighted points, as many as a kernel needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..exceptions import NumericalWarning, warn
from ..kernels.base import Kernel
from .function import RKHSFunction

_ORDER = 8  # nodes of a panel
_MOST = 2000  # panels
_LEAST = 1e-2  # of the tolerance that the smallest panel may use up
_ROUND = 1e-2  # panels with less than this share of the largest error wait for a later round
_END = 1e-15  # instead of u = 0, where quantiles may be infinite


def _lobatto(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on (-1, 1), the ends among the nodes."""
    P = np.polynomial.legendre.Legendre.basis(n - 1)
    nodes = np.concatenate([[-1.0], np.sort(P.deriv().roots().real), [1.0]])
    return nodes, 2 / (n * (n - 1) * P(nodes) ** 2)


_WHOLE, _HALF = np.polynomial.legendre.leggauss(_ORDER), _lobatto(_ORDER + 1)


def embed(kernel: Kernel, distribution: Any, tol: float) -> tuple[RKHSFunction, float]:
    """The mean embedding by quadrature, and its estimated error.

    E f(Z) is the integral of f(q(u)) over 0 < u < 1, with the quantile function q. Panels of Gauss-
    Legendre nodes are halved, the worst first, until that changes no value of the embedding, at the
    nodes themselves, by more than their share of the tolerance. Halves have nodes at their ends,
    where others would not see a jump of the quantiles. An interval of u has the mass of its length,
    whatever the density does there: no tail and no pole is lost, only resolved more coarsely.
    """
    start, width = np.zeros(2), np.full(2, 0.5)
    upper = np.array([False, True])  # counted from u = 1 downwards
    finer, apart = _halved(kernel, distribution, upper, start, width)
    while True:
        bad = apart > tol * np.maximum(width, _LEAST)
        if not bad.any() or len(width) > _MOST:
            break
        split = bad & (apart >= _ROUND * apart.max())
        half = width[split] / 2
        new = (np.tile(upper[split], 2), np.append(start[split], start[split] + half))
        found = _halved(kernel, distribution, *new, np.tile(half, 2))
        kept = ~split
        upper, start = (np.append(a[kept], b) for a, b in zip((upper, start), new, strict=True))
        width = np.append(width[kept], np.tile(half, 2))
        finer, apart = np.concatenate([finer[kept], found[0]]), np.append(apart[kept], found[1])
    error = float(apart.sum())
    if bad.any():
        warn(
            f"KnownEmbedding: quadrature stopped at {len(width)} panels with an error of at most "
            f"{error:.1g}; tol={tol:g} was requested.",
            NumericalWarning,
        )
    weights = np.tile(_HALF[1], 2) * width[:, None] / 4
    return RKHSFunction(kernel, finer.reshape(-1, 1), weights.ravel()), error


def _halved(
    kernel: Kernel, distribution: Any, upper: np.ndarray, start: np.ndarray, width: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The nodes of both halves of panels, and by how much they change what the panels add."""
    whole = _nodes(distribution, upper, start, width, _WHOLE[0])
    half = width / 2
    halves = [_nodes(distribution, upper, start + h * half, half, _HALF[0]) for h in (0, 1)]
    finer = np.concatenate(halves, axis=1)
    each = zip(whole, finer, width, strict=True)
    return finer, np.array([_apart(kernel, *panel) for panel in each])


def _nodes(
    distribution: Any, upper: np.ndarray, start: np.ndarray, width: np.ndarray, nodes: np.ndarray
) -> np.ndarray:
    """Quantiles, a row per panel."""
    u = np.maximum(start[:, None] + width[:, None] * (nodes + 1) / 2, _END)
    x = np.empty(u.shape)
    x[~upper], x[upper] = distribution.ppf(u[~upper]), distribution.isf(u[upper])
    if not np.all(np.isfinite(x)):
        raise ValueError("KnownEmbedding: the distribution has quantiles that are not finite.")
    return x


def _apart(kernel: Kernel, x: np.ndarray, y: np.ndarray, width: float) -> float:
    """By how much two rules for one panel differ, at the nodes of both."""
    Z = kernel.prepare(np.concatenate([x, y])[:, None])
    difference = width * np.concatenate([_WHOLE[1] / 2, -_HALF[1] / 4, -_HALF[1] / 4])
    return float(np.abs(kernel.pairwise(Z, Z) @ difference).max())
