"""Tree kernels on the dependency trees of TREC questions, 23 nodes on average.

No Python package has these kernels, so there is no peer; the limit is what is promised.
"""

from __future__ import annotations

import gzip
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np

from ..harness import MERCER, Accuracy, Case, Contest, Target, Unavailable
from ..svm_data import folder

_FILE = "trees/trec_questions.tsv.gz"
_CHECKED = 12  # trees of which the matrix is computed again, one pair of nodes at a time


@lru_cache(maxsize=1)
def _trees() -> list[str]:
    """The trees of all questions in the form called GRCT."""
    path = folder() / _FILE
    if not path.exists():
        raise Unavailable(f"{_FILE} is not at hand (MERCER_DATA names the folder of the data)")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return [row[rows[0].index("grct")] for row in rows[1:]]


def _made(n: int) -> list[str]:
    """Random trees, for a first call without the data."""
    rng = np.random.default_rng(0)

    def grow(depth: int) -> str:
        count = rng.integers(1, 4) if depth else 0
        return f"({rng.choice(list('abc'))}{''.join(grow(depth - 1) for _ in range(count))})"

    return [grow(3) for _ in range(n)]


def matrix(n: int, kernel: str, made: bool = False) -> Contest:
    """From bracket strings to the dense matrix; errors: against the recursion, as it is written."""
    import mercer

    X = _made(n) if made else _trees()[:n]
    k = getattr(mercer, kernel)()

    def errors(outputs: Any) -> dict[str, float]:
        some = [_nested(x) for x in X[:_CHECKED]]
        wanted = np.array([[_sum(k, x, y) for y in some] for x in some])
        got = outputs[MERCER][:_CHECKED, :_CHECKED]
        return {MERCER: float(np.abs(got - wanted).max() / wanted.max())}

    return Contest({MERCER: lambda: k(X)}, errors)


# ---- the recursions, one pair of nodes at a time -------------------------------------------------
def _nested(text: str) -> Any:
    """A tree as (label, children)."""
    stack: list[Any] = [("", [])]
    for token in text.replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            stack.append(("", []))
        elif token == ")":
            done = stack.pop()
            stack[-1][1].append(done)
        else:
            stack[-1] = (token, stack[-1][1])
    return stack[0][1][0]


def _below(tree: Any) -> list[Any]:
    return [tree, *(node for child in tree[1] for node in _below(child))]


def _sum(kernel: Any, x: Any, y: Any) -> float:
    known: dict[tuple[int, int], float] = {}
    return sum(_common(kernel, v, w, known) for v in _below(x) for w in _below(y))


def _common(kernel: Any, v: Any, w: Any, known: dict[tuple[int, int], float]) -> float:
    """C(v, w) by its definition."""
    if v[0] != w[0]:
        return 0.0
    if (id(v), id(w)) not in known:
        known[id(v), id(w)] = kernel.decay * _children(kernel, v[1], w[1], known)
    return known[id(v), id(w)]


def _children(kernel: Any, left: Any, right: Any, known: dict[tuple[int, int], float]) -> float:
    """C(v, w) / decay of nodes with one label, from their children."""
    kind = type(kernel).__name__
    if kind == "SubsetTree":
        if not left or [a[0] for a in left] != [b[0] for b in right]:
            return 0.0
        pairs = zip(left, right, strict=True)
        return float(np.prod([1 + _common(kernel, a, b, known) for a, b in pairs]))
    span = kernel.span if kind == "PartialTree" else 1.0
    reach = _below if kind == "ElasticTree" else lambda node: [node]
    match = np.zeros((len(left), len(right)))
    for (k, a), (l, b) in product(enumerate(left), enumerate(right)):
        match[k, l] = sum(_common(kernel, s, t, known) for s in reach(a) for t in reach(b))
    return float(span**2 + _subsequences(match, span))


def _subsequences(match: np.ndarray, span: float) -> float:
    """sum over I, J of one length >= 1 of span^(d(I) + d(J)) prod_k match[I_k, J_k]."""
    total, ending = 0.0, span**2 * match
    while ending.any():
        total += ending.sum()
        after = np.zeros_like(match)
        for k, l in np.argwhere(match):
            gap = np.add.outer(np.arange(k, 0, -1), np.arange(l, 0, -1))
            after[k, l] = match[k, l] * np.sum(ending[:k, :l] * span**gap)
        ending = after
    return float(total)


CASES = [
    Case(
        f"trees.{name}",
        f"{kernel}, {{n:,}} dependency trees",
        partial(matrix, kernel=kernel),
        {"n": 2000},
        {"n": 300},
        {"n": 20, "made": True},
        time=Target(limit=limit),
        accuracy=Accuracy("relative error", 1e-12),
        rounds=3,
    )
    for name, kernel, limit in (
        ("subset", "SubsetTree", 20.0),
        ("partial", "PartialTree", None),
        ("elastic", "ElasticTree", None),
    )
]
