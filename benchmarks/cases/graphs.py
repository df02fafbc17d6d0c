"""Kernels on graphs: Gram matrices of the molecules of NCI1, 30 atoms on average.

Both sides start from graph objects of their own, whose construction is not measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache, lru_cache, partial
from itertools import combinations, permutations
from typing import Any

import numpy as np

from ..harness import MERCER, Accuracy, Case, Contest, Target, Unavailable, each
from ..svm_data import folder

_FILE = "graphs/NCI1.zip"
_CHECKED = 10  # graphs of few nodes of which the matrix is computed again, feature by feature


@lru_cache(maxsize=1)
def _molecules() -> list[Any]:
    from mercer import read_tu

    path = folder() / _FILE
    if not path.exists():
        raise Unavailable(f"{_FILE} is not at hand (MERCER_DATA names the folder of the data)")
    return read_tu(path).X


def _made(n: int) -> list[Any]:
    """Random molecules: trees of 10 to 40 nodes with a few rings and eight labels."""
    from mercer import Graph

    rng, found = np.random.default_rng(0), []
    for size in rng.integers(10, 40, n).tolist():
        parents = np.maximum(np.arange(1, size) - rng.integers(1, 4, size - 1), 0)
        tree = np.stack([parents, np.arange(1, size)], axis=1)
        rings = np.sort(rng.integers(size, size=(2, 2)), axis=1)
        edges = np.concatenate([tree, rings[rings[:, 0] < rings[:, 1]]])
        found.append(Graph(np.unique(edges, axis=0), labels=rng.integers(8, size=size)))
    return found


def matrix(n: int, kernel: str, peer: bool = True, made: bool = False) -> Contest:
    """The dense matrix; errors: of some entries, against features that are listed one by one."""
    from mercer import parse

    X, k = _made(n) if made else _molecules()[:n], parse(kernel)
    small = np.argsort([x.n_nodes for x in X], kind="stable")[:_CHECKED]
    calls: dict[str, Callable[[], np.ndarray]] = {MERCER: lambda: k(X)}
    if peer:
        theirs = _grakel(X)
        calls["GraKeL"] = lambda: np.asarray(_PEERS[type(k).__name__]().fit_transform(theirs()))

    def error(K: np.ndarray) -> float:
        wanted = _listed(k, [X[i] for i in small])
        got = K[np.ix_(small, small)]
        return float(np.abs(got - wanted).max() / max(wanted.max(), 1.0))

    return Contest(calls, each(error))


def machine(n: int) -> Contest:
    """A linear machine on many graphs: features, and never a kernel matrix."""
    import mercer

    X = _made(n)
    y = np.array([(x.labels == 0).sum() + (x.n_edges >= x.n_nodes) for x in X])
    y = y > np.median(y)

    def fit() -> float:
        half = n // 2
        model = mercer.SVC(mercer.WeisfeilerLehman(3), C=0.01).fit(X[:half], y[:half])
        return float(np.mean(model.predict(X[half:]) != y[half:]))

    return Contest({MERCER: fit}, each(float))


# ---- the peer ------------------------------------------------------------------------------------
def _grakel(X: list[Any]) -> Callable[[], list[Any]]:
    """Graphs as GraKeL has them, made when they are first asked for: it may not be installed."""

    @cache
    def made() -> list[Any]:
        from grakel import Graph

        found = []
        for x in X:
            edges = [e for u, v in x.edges.tolist() for e in ((u, v), (v, u))]
            around: dict[int, dict[int, float]] = {v: {} for v in range(x.n_nodes)}
            for u, v in edges:
                around[u][v] = 1.0
            found.append(Graph(around, dict(enumerate(x.labels.tolist()))))
        return found

    return made


def _wl() -> Any:
    from grakel.kernels import VertexHistogram, WeisfeilerLehman

    return WeisfeilerLehman(n_iter=5, base_graph_kernel=VertexHistogram)


def _assignment() -> Any:
    from grakel.kernels import WeisfeilerLehmanOptimalAssignment

    return WeisfeilerLehmanOptimalAssignment(n_iter=5)


def _paths() -> Any:
    from grakel.kernels import ShortestPath

    return ShortestPath()


def _graphlets() -> Any:
    from grakel.kernels import GraphletSampling

    return GraphletSampling(k=5, sampling=None)


_PEERS = {
    "WeisfeilerLehman": _wl,
    "WLOptimalAssignment": _assignment,
    "ShortestPath": _paths,
    "Graphlet": _graphlets,
}


# ---- features, listed ----------------------------------------------------------------------------
def _listed(kernel: Any, X: list[Any]) -> np.ndarray:
    features, meet = _FEATURES[type(kernel).__name__]
    told = [Counter(features(x)) for x in X]
    return np.array([[sum(meet(n, y[f]) for f, n in x.items()) for y in told] for x in told], float)


def _neighbours(x: Any) -> list[list[int]]:
    around: list[list[int]] = [[] for _ in range(x.n_nodes)]
    for u, v in x.edges.tolist():
        around[u].append(v)
        around[v].append(u)
    return around


def _colours(x: Any) -> list[Any]:
    around, state = _neighbours(x), list(x.labels.tolist())
    found = [(0, c) for c in state]
    for i in range(1, 6):
        state = [
            (state[v], tuple(sorted(map(repr, (state[w] for w in around[v])))))
            for v in range(x.n_nodes)
        ]
        found += [(i, c) for c in state]
    return found


def _all_paths(x: Any) -> list[Any]:
    around, labels, found = _neighbours(x), x.labels.tolist(), []
    for u in range(x.n_nodes):
        distance, ahead = {u: 0}, [u]
        for v in ahead:
            for w in around[v]:
                if w not in distance:
                    distance[w] = distance[v] + 1
                    ahead.append(w)
        found += [(labels[u], d, labels[v]) for v, d in distance.items() if v != u]
    return found


def _small_graphs(x: Any) -> list[Any]:
    joined, found = {frozenset(e) for e in x.edges.tolist()}, []
    for nodes in combinations(range(x.n_nodes), 5):
        inside = [e for e in joined if e <= set(nodes)]
        reached, ahead = {nodes[0]}, [nodes[0]]
        for v in ahead:
            new = {w for e in inside if v in e for w in e} - reached
            reached |= new
            ahead += new
        if len(reached) == 5:
            orders = permutations(nodes)
            found.append(
                min(
                    tuple(frozenset(pair) in joined for pair in combinations(order, 2))
                    for order in orders
                )
            )
    return found


_FEATURES: dict[str, tuple[Callable[[Any], list[Any]], Callable[[int, int], int]]] = {
    "WeisfeilerLehman": (_colours, lambda m, n: m * n),
    "WLOptimalAssignment": (_colours, min),
    "ShortestPath": (_all_paths, lambda m, n: m * n),
    "Graphlet": (_small_graphs, lambda m, n: m * n),
}
_EXACT = Accuracy("relative error", 1e-12)


def _case(name: str, what: str, kernel: str, n: int, **options: Any) -> Case:
    return Case(
        f"graphs.{name}",
        f"{what}, {{n:,}} molecules",
        partial(matrix, kernel=kernel),
        {"n": n},
        {"n": 150},
        {"n": 12, "made": True},
        accuracy=_EXACT,
        **options,
    )


CASES = [
    _case(
        "wl", "Weisfeiler-Lehman, depth 5", "WeisfeilerLehman(5)", 4110,
        time=Target(speed=8.0), memory=Target(cost=0.25), rounds=3,
    ),
    _case(
        "assignment", "Optimal assignment, depth 5", "WLOptimalAssignment(5)", 1000,
        time=Target(speed=200.0), rounds=2,
    ),
    _case(
        "paths", "Shortest paths", "ShortestPath()", 4110,
        time=Target(speed=10.0), rounds=3,
    ),
    _case(
        "graphlets", "All connected graphlets of five nodes", "Graphlet(5)", 1000,
        time=Target(speed=100.0), rounds=3,
    ),
    Case(
        "graphs.machine",
        "Linear machine on colours of {n:,} graphs",
        machine,
        {"n": 200_000},
        {"n": 5_000},
        {"n": 40},
        time=Target(limit=120.0),
        accuracy=Accuracy("test error", 0.2),
        rounds=1,
    ),
]  # fmt: skip
