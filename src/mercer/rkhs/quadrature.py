"""Distributions of one variable as a few weighted points, good enough for a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..exceptions import NumericalWarning, warn
from ..kernels.base import Kernel
from .function import RKHSFunction

_ORDER = 8  # nodes of a panel
_MOST = 4000  # panels
_LEAST = 1e-2  # of the tolerance that the smallest panel may use up
_RULE = tuple(v / 2 for v in np.polynomial.legendre.leggauss(_ORDER))  # on (-1/2, 1/2)
Panel = tuple[bool, float, float]  # from the upper end of u? from where on, how wide


def embed(kernel: Kernel, distribution: Any, tol: float) -> tuple[RKHSFunction, float]:
    """The mean embedding by quadrature, and its estimated error.

    E f(Z) is the integral of f(q(u)) over 0 < u < 1, with the quantile function q. Panels of Gauss-
    Legendre nodes are halved until that changes no value of the embedding, at the nodes themselves, by
    more than their share of the tolerance. An interval of u has the mass of its length, whatever the
    density does there: no tail and no pole is lost, only resolved more coarsely.
    """
    ahead: list[Panel] = [(False, 0.0, 0.5), (True, 0.0, 0.5)]
    points: list[np.ndarray] = []
    shares: list[np.ndarray] = []
    error, open_ = 0.0, False
    while ahead:
        upper, start, width = ahead.pop()
        halves = [(upper, start, width / 2), (upper, start + width / 2, width / 2)]
        x, w = _nodes(distribution, (upper, start, width))
        finer = [_nodes(distribution, half) for half in halves]
        y, v = (np.concatenate(each) for each in zip(*finer, strict=True))
        apart = _apart(kernel, x, w, y, v)
        good = apart <= tol * max(width, _LEAST)
        if good or len(points) + len(ahead) > _MOST:
            points.append(y)
            shares.append(v)
            error += apart
            open_ = open_ or not good
        else:
            ahead += halves
    if open_:
        warn(
            f"KnownEmbedding: quadrature stopped at {_MOST} panels with an error of about "
            f"{error:.1g}; tol={tol:g} was asked for.",
            NumericalWarning,
        )
    x, w = np.concatenate(points), np.concatenate(shares)
    return RKHSFunction(kernel, x[:, None], w), error


def _nodes(distribution: Any, panel: Panel) -> tuple[np.ndarray, np.ndarray]:
    upper, start, width = panel
    nodes, weights = _RULE
    u = start + width * (nodes + 0.5)
    x = np.asarray(distribution.isf(u) if upper else distribution.ppf(u), dtype=np.float64)
    if not np.all(np.isfinite(x)):
        raise ValueError("KnownEmbedding: the distribution has quantiles that are not finite.")
    return x, width * weights


def _apart(kernel: Kernel, x: np.ndarray, w: np.ndarray, y: np.ndarray, v: np.ndarray) -> float:
    """By how much two rules differ, at the nodes of both."""
    Z = kernel.prepare(np.concatenate([x, y])[:, None])
    return float(np.abs(kernel.pairwise(Z, Z) @ np.concatenate([w, -v])).max())
