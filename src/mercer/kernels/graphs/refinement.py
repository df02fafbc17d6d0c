"""Weisfeiler-Leman refinement: colours of nodes that tell what they look like to some depth.

A colour is a 64-bit hash of the colour before and of the multiset of colours around: sums of mixed
numbers do not depend on the order of neighbours, so nothing has to be sorted, and a colour depends
on nothing but the graph. With n different colours in the data, two of them are the same with
probability below n^2 / 2^57.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...mixing import mix
from ..strings.codes import as_code
from .container import Graphs

_EITHER, _OUT, _IN = map(np.uint64, (3, 5, 7))  # odd: times them, no bit of a hash is lost


def colours(X: Graphs, iterations: int) -> Iterator[np.ndarray]:
    """Colours of all nodes of stacked graphs: labels first, then one array per iteration.

    A node sees its own colour, and those at the other ends of its edges with the labels of these
    edges; where edges have a direction, those that leave it and those that arrive apart.
    """
    flat = X.flat
    state = flat.labels
    yield state
    marks = mix(np.zeros(1, np.uint64) if flat.edge_labels is None else flat.edge_labels)
    arriving = _arriving(X)
    leaving = np.repeat(np.where(X.directed, _OUT, _EITHER), X.size)
    for _ in range(iterations):
        around = leaving * _sums(mix(state[flat.indices] ^ marks), flat.indptr)
        if arriving is not None:
            arcs, sources, indptr = arriving
            seen = state[sources] ^ (marks if len(marks) == 1 else marks[arcs])
            around += _IN * _sums(mix(seen), indptr)
        state = mix(mix(state) + around)
        yield state


def colour_codes(X: Graphs, iterations: int) -> np.ndarray:
    """Columns of a feature map for the colours, one row per node and one column per iteration."""
    labels, *further = colours(X, iterations)
    columns = [labels.astype(np.int64), *map(as_code, further)]
    return np.stack(columns, axis=1)


def _sums(values: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Sums of consecutive values modulo 2^64: differences of running sums, which wrap around."""
    running = np.zeros(len(values) + 1, np.uint64)
    np.cumsum(values, out=running[1:])
    return running[indptr[1:]] - running[indptr[:-1]]


def _arriving(X: Graphs) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The arcs of directed graphs by the node at which they arrive, and where they come from."""
    if not X.directed.any():
        return None
    n = len(X.flat.labels)
    sources = np.repeat(np.arange(n), np.diff(X.flat.indptr))
    arcs = np.flatnonzero(np.repeat(X.directed, X.size)[sources])
    arcs = arcs[np.argsort(X.flat.indices[arcs], kind="stable")]
    counts = np.bincount(X.flat.indices[arcs], minlength=n)
    return arcs, sources[arcs], np.concatenate([[0], np.cumsum(counts)])
