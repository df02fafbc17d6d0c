"""Numbers of walks of each length: the features of walk kernels without labels.

The number of walks of l steps on the product of two graphs is that on the one times that on the
other. So k = sum_l c_l s_l(G) s_l(G') with s_l(G) = 1'A^l 1, and sqrt(c_l) s_l are features.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ...exceptions import DomainError
from .walk_loops import U, moments
from .walked import Rule, Walks

LONGEST = 2**14  # the most steps
_TERMS = 512  # numbers of walks that are computed at once
_TOGETHER = 64  # graphs of one compiled call


def width(rule: Rule) -> int:
    """The number of columns."""
    return max(LONGEST, rule.steps + 1)


def walk_counts(walks: Walks, rule: Rule) -> sp.csr_matrix:
    """sqrt(c_l) s_l for all l, until the rest is below rounding, one row per graph."""
    room, norm = np.ones((2, walks.arrays.nodes.shape[1])), np.zeros(len(walks))
    most = LONGEST if rule.steps < 0 else rule.steps + 1
    going, parts = np.arange(len(walks)), []
    for first in range(0, most, _TERMS):
        phi = np.zeros((len(going), min(_TERMS, most - first)))
        count = _fill(walks, rule, going, first, room, norm, phi)
        if not np.all(np.isfinite(phi)):
            place = going[np.argmin(np.isfinite(phi).all(axis=1))]
            raise DomainError(
                f"RandomWalk: graph {place} has more walks than a floating-point number can "
                "represent; lower decay, or the edge weights."
            )
        parts += [(going, first, phi, np.minimum(count, phi.shape[1]))]
        going = going[count > phi.shape[1]]
        if not len(going):
            break
    if len(going) and rule.steps < 0:
        raise DomainError(
            f"RandomWalk: decay={rule.decay:g} is so close to 1 / rho^2 for graph {going[0]} that "
            f"walks of more than {LONGEST} steps matter; lower it by 1 per cent."
        )
    return _stacked(parts, len(walks), width(rule))


def _fill(
    walks: Walks,
    rule: Rule,
    going: np.ndarray,
    first: int,
    room: np.ndarray,
    norm: np.ndarray,
    phi: np.ndarray,
) -> np.ndarray:
    """Fill in terms from the first on; how many each graph has, one more than fit if too many."""
    from ...gram.tiles import run

    A, count, scale = walks.arrays, np.zeros(len(going), np.int64), np.sqrt(rule.decay)

    def job(part: slice) -> None:
        rows = going[part]
        own, so_far = (A.start[rows], A.size[rows], A.radius[rows]), norm[rows]
        kind = scale, rule.exponential, first, room
        moments(walks.bounds, *own, A.nodes[U], *kind, so_far, phi[part], count[part])
        norm[rows] = so_far

    run(job, [slice(a, a + _TOGETHER) for a in range(0, len(going), _TOGETHER)])
    return count


def _stacked(parts: list[Any], rows: int, width: int) -> sp.csr_matrix:
    """Features from blocks of columns (rows, first column, values, how many of each row)."""
    which, columns, values = [], [], []
    for going, first, phi, count in parts:
        there = np.arange(phi.shape[1]) < count[:, None]
        row, column = np.nonzero(there)
        which.append(going[row])
        columns.append(column + first)
        values.append(phi[there])
    row = np.concatenate(which)
    order = np.argsort(row, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows))])
    data = np.concatenate(values)[order], np.concatenate(columns)[order], ends
    return sp.csr_matrix(data, shape=(rows, width))
