"""Which variables cause which? The PC algorithm, with kernel tests of independence."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import norm

from ..checks import check_count, check_fraction
from ..data import Data, as_dense, as_vectors, is_frame, length
from ..frames import column as column_of
from ..frames import is_gap
from ..frames import names as names_of
from ..gram.plan import Plan
from ..progress import progress
from ..randomness import as_generator
from .causal_result import CausalGraph, complete
from .conditional_shared import kernel_tests
from .independence import independence_test
from .planned import planned

Test = Callable[[np.ndarray, np.ndarray, "np.ndarray | None"], float]
TESTS = ("kernel", "linear")
_LEAST = 20  # observations


@planned
def causal_graph(
    data: Data,
    *,
    alpha: float = 0.05,
    test: str | Test = "kernel",
    names: Any = None,
    most: int | None = None,
    n_permutations: int = 199,
    rng: Any = None,
    plan: Plan | None = None,
    verbose: bool = False,
) -> CausalGraph:
    r"""Estimate the causal graph of several variables from independence tests (the PC algorithm).

    Suppose there is a directed acyclic graph such that variables are functions of their parents and
    of independent noise, that all common causes are among them, and that the conditional
    independences are exactly those implied by the graph. Then data determine which variables are
    adjacent, and the direction of some edges:

    1. Begin with all edges. Remove x - y if x and y are independent given some set of neighbours of
       one of them, the smallest sets first (the *stable* version: neighbours are those at the
       beginning of a round, so the order of variables does not matter).
    2. Orient x -> z <- y wherever z is a neighbour of both x and y, these are not neighbours, and z
       is not in the set that made them independent. Of contradicting colliders, the one with the
       larger p-value is kept.
    3. Orient edges that would otherwise create another collider or a cycle (Meek's rules).

    Edges without a direction may go either way: the graph is one of equivalence classes (CPDAG).

    Parameters
    ----------
    data : DataFrame, or array of shape (n, d)
        One column for each variable. Labels are one-hot encoded.
    alpha : float
        The level of the tests: edges are removed where the p-value is larger.
    test : {"kernel", "linear"} or callable
        :func:`independence_test` and :func:`conditional_independence_test`; or the partial
        correlation, which only detects linear dependence. A user-defined function is called as
        ``test(x, y, z)`` with arrays of shape (n, d), z None at first, and returns a p-value.
    names : list of str, optional
        The names of variables; by default those of columns.
    most : int, optional
        The maximum size of a conditioning set.
    n_permutations : int
        Permutations or draws of each kernel test.
    rng : None, int or Generator
        The source of randomness.
    plan : Plan, optional
        Memory and threads to use, and how K is stored.
    verbose : bool
        Show a progress bar.

    Returns
    -------
    CausalGraph
        Edges, p-values, and the sets that made variables independent; it prints and draws itself.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import causal_graph
    >>> rng = np.random.default_rng(0)
    >>> x, y, e = rng.normal(size=(3, 300))
    >>> data = np.column_stack([x, y, np.tanh(x) + y**2 + 0.3 * e])
    >>> print(causal_graph(data, names=["x", "y", "z"], rng=0))
    x -> z
    y -> z

    References
    ----------
    Spirtes, Glymour & Scheines, *Causation, Prediction, and Search*, 2000; Colombo & Maathuis,
    *Order-independent constraint-based causal structure learning*, JMLR 2014; Meek, *Causal
    inference and causal explanation with background knowledge*, UAI 1995.
    """
    variables, names = _variables(data, names)
    d = len(variables)
    check_fraction("alpha", alpha)
    check_count("most", most, 0, also=(None,))
    check_count("n_permutations", n_permutations)
    ask = _test(test, variables, n_permutations, as_generator(rng), plan)
    near = ~np.eye(d, dtype=bool)
    pvalues, apart = np.full((d, d), np.nan), {}
    count, size = 0, 0
    while size <= (d - 2 if most is None else most) and np.any(near.sum(axis=1) > size):
        for given, pairs in progress(_round(near, size), verbose, f"given {size}"):
            for i, j in pairs:
                if not near[i, j]:  # another set of this round has made them independent
                    continue
                p = ask(i, j, given)
                count += 1
                pvalues[i, j] = pvalues[j, i] = np.fmax(pvalues[i, j], p)
                if p > alpha:
                    near[i, j] = near[j, i] = False
                    apart[(i, j)] = given
        size += 1
    graph = near.copy()
    colliders = [
        (pvalues[i, j], i, k, j)
        for (i, j), given in apart.items()
        for k in np.flatnonzero(near[i] & near[j]).tolist()
        if k not in given
    ]
    for _, i, k, j in sorted(colliders, key=lambda c: -c[0]):
        if graph[i, k] and graph[j, k]:  # unless an edge already leaves k
            graph[k, i] = graph[k, j] = False
    sets = {(names[i], names[j]): [names[v] for v in given] for (i, j), given in apart.items()}
    return CausalGraph(names, complete(graph), pvalues, sets, float(alpha), count)


def _variables(data: Data, names: Any) -> tuple[list[np.ndarray], list[str]]:
    """Variables as arrays of numbers, and their names."""
    if is_frame(data):
        given = names_of(data)
        columns = [_column(column_of(data, name), str(name)) for name in given]
        known = [str(name) for name in given]
    else:
        V = as_dense(as_vectors(data, "causal_graph"))
        columns = list(np.asarray(V).T)
        known = [f"x{i}" for i in range(len(columns))]
    if names is not None:
        if len(names) != len(columns):
            raise ValueError(f"names must hold {len(columns)} names, got {len(names)}.")
        known = [str(name) for name in names]
    if len(columns) < 2:
        raise ValueError(f"at least two variables are needed, got {len(columns)}.")
    if len(set(known)) < len(known):
        raise ValueError("names must be distinct.")
    if length(columns[0]) < _LEAST:
        raise ValueError(f"at least {_LEAST} observations are needed, got {length(columns[0])}.")
    return [_numbers(c, name) for c, name in zip(columns, known, strict=True)], known


def _column(values: Any, name: str) -> np.ndarray:
    """A column of numbers or labels; a missing label belongs to no class."""
    if isinstance(values, list) and any(map(is_gap, values)):
        raise _missing(name)
    return np.asarray(values)


def _missing(name: str) -> ValueError:
    return ValueError(f"the variable {name!r} has missing or infinite values; drop these rows.")


def _numbers(column: np.ndarray, name: str) -> np.ndarray:
    """A column as an array of shape (n, d): numbers to unit variance, or indicators of labels."""
    if column.dtype.kind in "biuf":
        values = column.astype(np.float64)
        if not np.all(np.isfinite(values)):
            raise _missing(name)
        values = values - values.mean()
        spread = float(values.std())
        return (values / spread if spread > 0 else values)[:, None]
    labels, codes = np.unique(column.astype(str), return_inverse=True)
    return np.equal.outer(codes, np.arange(len(labels))).astype(np.float64)


def _round(near: np.ndarray, size: int) -> list[tuple[tuple[int, ...], list[tuple[int, int]]]]:
    """All sets of this size that a round conditions on, each with the pairs that it is tried on.

    Residuals given a conditioning set are learned once for all of its pairs.
    """
    found: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for i, j in combinations(range(len(near)), 2):
        if near[i, j]:
            for one, other in ((i, j), (j, i)):
                around = [v for v in np.flatnonzero(near[one]).tolist() if v != other]
                for given in combinations(around, size):
                    pairs = found.setdefault(given, [])
                    if not pairs or pairs[-1] != (i, j):
                        pairs.append((i, j))
    return list(found.items())


def _test(
    test: str | Test,
    variables: list[np.ndarray],
    count: int,
    rng: np.random.Generator,
    plan: Plan | None,
) -> Callable[[int, int, tuple[int, ...]], float]:
    """The p-value of two variables given others, all by their numbers."""
    if not callable(test) and test not in TESTS:
        listed = ", ".join(map(repr, TESTS))
        raise ValueError(f"test must be one of {listed} or a function, got {test!r}.")
    if test == "kernel":
        conditional = kernel_tests(variables, count, rng, plan)

        def ask(i: int, j: int, given: tuple[int, ...]) -> float:
            if given:
                return float(conditional(i, j, given))
            x, y = variables[i], variables[j]
            return independence_test(x, y, n_permutations=count, rng=rng, plan=plan).pvalue

        return ask
    function: Any = partial_correlation if test == "linear" else test

    def called(i: int, j: int, given: tuple[int, ...]) -> float:
        Z = np.column_stack([variables[v] for v in given]) if given else None
        return float(function(variables[i], variables[j], Z))

    return called


def partial_correlation(x: np.ndarray, y: np.ndarray, z: np.ndarray | None) -> float:
    """The p-value of Fisher's test of the (largest) partial correlation, corrected for many."""
    n = len(x)
    D = np.column_stack([np.ones(n)] + ([] if z is None else [z]))
    r, s = (v - D @ np.linalg.lstsq(D, v, rcond=None)[0] for v in (x, y))
    sizes = [np.sqrt(np.sum(v**2, axis=0)) for v in (r, s)]
    rounding = 1e-9 * np.sqrt(n)
    if any(np.all(size <= rounding) for size in sizes):
        return 1.0
    outer = np.outer(*(np.maximum(size, rounding) for size in sizes))
    rho = float(np.clip(np.abs(r.T @ s / outer).max(), 0, 1 - 1e-15))
    df = max(n - D.shape[1] - 2, 1)
    return float(min(1.0, outer.size * 2 * norm.sf(np.sqrt(df) * np.arctanh(rho))))
