"""Causal graphs by the PC algorithm, beside causal-learn.

``python -m benchmarks.causal`` draws data from the graph of eleven proteins in a signalling network
(Sachs et al., Science 2005), with functions and noise of several kinds, lets each method find the
graph, and writes causal.json and causal.md in benchmarks/results. Scores are against the
equivalence class of the true graph.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from mercer import CausalGraph, causal_graph

from .harness import ROOT

RESULTS = ROOT / "benchmarks" / "results"
NAMES = ["raf", "mek", "plc", "pip2", "pip3", "erk", "akt", "pka", "pkc", "p38", "jnk"]
EDGES = (
    "plc-pip2 plc-pip3 pip3-pip2 pkc-raf pkc-mek pkc-jnk pkc-p38 pkc-pka pka-raf pka-mek pka-erk "
    "pka-akt pka-jnk pka-p38 raf-mek mek-erk erk-akt"
)
FUNCTIONS = {
    "linear": [lambda x: x],
    "curved": [np.tanh, np.sin, lambda x: np.abs(x) - 0.8, lambda x: x**2 / 2 - 0.5],
}


def truth() -> np.ndarray:
    """The adjacency matrix of the network."""
    A = np.zeros((len(NAMES), len(NAMES)), dtype=bool)
    for edge in EDGES.split():
        cause, effect = edge.split("-")
        A[NAMES.index(cause), NAMES.index(effect)] = True
    return A


def draw(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Each variable is a sum of functions of its parents and of noise, of variance one."""
    A, X = truth(), np.zeros((n, len(NAMES)))
    left = set(range(len(NAMES)))
    while left:
        j = next(v for v in sorted(left) if not left & set(np.flatnonzero(A[:, v])))
        left -= {j}
        value = 0.6 * rng.normal(size=n)
        for i in np.flatnonzero(A[:, j]):
            f = FUNCTIONS[kind][rng.integers(len(FUNCTIONS[kind]))]
            value = value + rng.choice([-1, 1]) * rng.uniform(0.7, 1.3) * f(X[:, i])
        X[:, j] = (value - value.mean()) / value.std()
    return X


def ours(X: np.ndarray, seed: int, test: str) -> CausalGraph:
    return causal_graph(X, names=NAMES, test=test, n_permutations=199, rng=seed)


def peer(X: np.ndarray, seed: int, test: str) -> CausalGraph:
    """causal-learn, with its defaults."""
    from causallearn.search.ConstraintBased.PC import pc

    np.random.seed(seed)  # noqa: NPY002  it draws from it
    G = pc(X, 0.05, test, show_progress=False).G.graph
    # -1 at (i, j) is a tail at i, 1 an arrowhead at i
    A = np.array([[G[j, i] == 1 or (G[i, j] == -1 and G[j, i] == -1) for j in range(len(G))]
                  for i in range(len(G))])  # fmt: skip
    return CausalGraph(NAMES, A)


METHODS: dict[str, Any] = {
    "mercer, kernel": lambda X, seed: ours(X, seed, "kernel"),
    "mercer, linear": lambda X, seed: ours(X, seed, "linear"),
}
if find_spec("causallearn"):
    METHODS |= {
        "causal-learn, KCI": lambda X, seed: peer(X, seed, "kci"),
        "causal-learn, Fisher z": lambda X, seed: peer(X, seed, "fisherz"),
    }


def markdown(found: dict[str, Any]) -> str:
    """One row for each kind of data and method."""
    lines = [["data", "method", "skeleton F1", "distance", "seconds", "data sets"],
             ["---"] * 6]  # fmt: skip
    for key, runs in found.items():
        kind, method = key.split(": ")
        mean = {name: np.mean([run[name] for run in runs]) for name in runs[0]}
        scores = [f"{mean['skeleton_f1']:.2f}"]
        rest = [f"{mean['distance']:.1f}", f"{mean['seconds']:.1f}", str(len(runs))]
        lines.append([kind, method, *scores, *rest])
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    about = (
        "Data drawn from the graph of 11 proteins with 17 edges (Sachs et al. 2005); means "
        "over data sets. No edge direction of this graph is identifiable from data; distance is "
        "the number of pairs of variables whose edges differ from those of its equivalence class. "
        "Seconds were measured on a machine that was also running other work.\n"
    )
    return f"{about}\n{table}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    args = parser.parse_args()
    store = RESULTS / "causal.json"
    goal = CausalGraph.of_dag(truth(), NAMES)
    for kind in FUNCTIONS:
        for method in args.methods:
            runs = []
            for seed in range(args.repetitions):
                X = draw(kind, args.n, np.random.default_rng([21, seed]))
                start = time.perf_counter()
                with warnings.catch_warnings(), threadpool_limits(1):
                    warnings.simplefilter("ignore")
                    graph = METHODS[method](X, seed)
                seconds = time.perf_counter() - start
                runs.append(graph.scores(goal) | {"seconds": seconds})
                print(kind, method, seed, runs[-1], flush=True)
                found = json.loads(store.read_text(encoding="utf-8")) if store.exists() else {}
                found[f"{kind}, n={args.n}: {method}"] = runs
                store.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
                (RESULTS / "causal.md").write_text(markdown(found), encoding="utf-8")


if __name__ == "__main__":
    main()
