"""Walks on two graphs at once, and balls around nodes: Gram matrices of the molecules of NCI1.

GraKeL's labelled random walk has two methods. The default one does not compute the kernel (the
matrices are not even positive definite), so the other stands here. Its walks start on all pairs of
nodes, ours on those of the same label: the difference, the number of the others, is taken off.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..harness import MERCER, Accuracy, Case, Contest, Target
from .graphs import _grakel, _made, _molecules

_CHECKED = 6  # graphs of few nodes of which the matrix is computed again, densely
_DECAY = 0.01


def walk(n: int, labels: bool, made: bool = False) -> Contest:
    """The dense matrix; errors: of some entries, against a dense system for each."""
    from mercer import RandomWalk

    X = _made(n) if made else _molecules()[:n]
    k = RandomWalk(_DECAY, node="labels" if labels else None)
    theirs = _grakel(X)
    small = np.argsort([x.n_nodes for x in X], kind="stable")[:_CHECKED]

    def peer() -> np.ndarray:
        from grakel import kernels

        if not labels:
            return np.asarray(kernels.RandomWalk(lamda=_DECAY).fit_transform(theirs()))
        found = kernels.RandomWalkLabeled(lamda=_DECAY, method_type="baseline")
        return np.asarray(found.fit_transform(theirs()))

    def errors(outputs: Any) -> dict[str, float]:
        some = [X[i] for i in small]
        wanted, apart = _systems(some, labels)
        found = {}
        for name, K in outputs.items():
            got = K[np.ix_(small, small)] - (0 if name == MERCER else apart)
            found[name] = float(np.abs(got - wanted).max() / wanted.max())
        return found

    return Contest({MERCER: lambda: k(X), "GraKeL": peer}, errors)


def _systems(X: list[Any], labels: bool) -> tuple[np.ndarray, np.ndarray]:
    """1'(I - decay W)^-1 1 on product graphs; and how many pairs of nodes are none of theirs."""
    wanted, apart = np.zeros((len(X), len(X))), np.zeros((len(X), len(X)))
    for i, x in enumerate(X):
        for j, y in enumerate(X):
            match = np.ones(x.n_nodes * y.n_nodes)
            if labels:
                match = (x.labels[:, None] == y.labels[None, :]).ravel().astype(float)
            W = match[:, None] * np.kron(_adjacency(x), _adjacency(y))
            wanted[i, j] = np.linalg.solve(np.eye(len(W)) - _DECAY * W, match).sum()
            apart[i, j] = len(match) - match.sum()
    return wanted, apart


def _adjacency(x: Any) -> np.ndarray:
    A = np.zeros((x.n_nodes, x.n_nodes))
    u, v = x.edges.T
    A[u, v] = A[v, u] = 1
    return A


def balls(n: int, kernel: str, made: bool = False) -> Contest:
    """Other kernels beside GraKeL's, which draw at random: errors are asymmetry of ours alone."""
    from mercer import parse

    X, k = _made(n) if made else _molecules()[:n], parse(kernel)
    theirs = _grakel(X)
    half = n // 2

    def errors(outputs: Any) -> dict[str, float]:
        got, block = outputs[MERCER], k(X[half:], X[:half])
        return {MERCER: float(np.abs(got[half:, :half] - block).max() / np.abs(got).max())}

    def peer() -> np.ndarray:
        return np.asarray(_PEERS[type(k).__name__]().fit_transform(theirs()))

    return Contest({MERCER: lambda: k(X), "GraKeL": peer}, errors)


def _multiscale() -> Any:
    from grakel.kernels import MultiscaleLaplacian

    return MultiscaleLaplacian(random_state=0, L=2, P=10)


def _propagation() -> Any:
    from grakel.kernels import Propagation

    return Propagation(random_state=0, t_max=5, w=1e-3)


def _hashes() -> Any:
    from grakel.kernels import NeighborhoodHash

    return NeighborhoodHash(random_state=0, R=3)


_PEERS: dict[str, Callable[[], Any]] = {
    "MultiscaleLaplacian": _multiscale,
    "Propagation": _propagation,
    "NeighborhoodHash": _hashes,
}


def _case(name: str, what: str, build: Any, n: int, quick: int, speed: float | None) -> Case:
    return Case(
        f"walks.{name}",
        f"{what}, {{n:,}} molecules",
        build,
        {"n": n},
        {"n": quick},
        {"n": 6, "made": True},
        time=Target(speed=speed),
        accuracy=Accuracy("relative error", 1e-11),
        rounds=2,
    )


CASES = [
    _case("plain", "Random walks", partial(walk, labels=False), 1000, 100, 20.0),
    _case("labelled", "Random walks, labelled", partial(walk, labels=True), 30, 8, 10.0),
    _case(
        "multiscale", "Multiscale Laplacian, two levels",
        partial(balls, kernel="MultiscaleLaplacian(2)"), 100, 10, None,
    ),
    _case("propagation", "Propagation", partial(balls, kernel="Propagation(5)"), 1000, 100, None),
    _case(
        "hashes", "Neighbourhood hashes",
        partial(balls, kernel="NeighborhoodHash(3)"), 1000, 100, None,
    ),
]  # fmt: skip
