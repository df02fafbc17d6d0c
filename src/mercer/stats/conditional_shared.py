"""Tests of many pairs of variables given the same Z, whose regressions are learned once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..gram.plan import Plan
from .conditional import conditional_independence_test, of_residuals, require_matrices
from .conditional_cells import is_discrete, values_of
from .conditional_regression import Condition
from .conditional_residuals import Left
from .result import TestResult
from .variables import Variables


class Given:
    """Numbers Z, and the residuals of requested variables after regression on Z.

    The results are those of :func:`conditional_independence_test` with its default kernels.

    Parameters
    ----------
    variables : list of arrays of shape (n, d)
        All variables.
    places : tuple of int
        Those that Z consists of.
    n_permutations : int
        Permutations, or draws of signs.
    plan : Plan, optional
        Threads and memory.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.stats.conditional_shared import Given
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(100, 1))
    >>> x, y = np.sin(z) + rng.normal(size=(2, 100, 1))
    >>> given = Given([x, y, z], (2,), 99)
    >>> given.test(0, 1, rng).pvalue > 0.05
    True
    """

    def __init__(
        self,
        variables: list[np.ndarray],
        places: tuple[int, ...],
        n_permutations: int,
        plan: Plan | None = None,
    ) -> None:
        self.variables, self.n_permutations, self.plan = variables, n_permutations, plan
        self.Z = np.column_stack([variables[place] for place in places])
        labels = values_of(self.Z)
        self.discrete = labels is not None and is_discrete(labels)
        self._condition: Condition | None = None
        self._left: dict[int, Left] = {}

    def test(self, i: int, j: int, rng: np.random.Generator) -> TestResult:
        """The test of variables i and j."""
        X, Y = self.variables[i], self.variables[j]
        if self.discrete:
            return conditional_independence_test(
                X, Y, self.Z, n_permutations=self.n_permutations, rng=rng, plan=self.plan
            )
        joint = Variables(X, Y, self.Z)
        if self._condition is None:
            require_matrices(self.plan, joint.n)
            self._condition = Condition(self.Z)
        for place in (i, j):
            if place not in self._left:
                self._left[place] = Left(self.variables[place], self._condition)
        left, kernel = [self._left[i], self._left[j]], [None, None]
        return of_residuals(
            joint, kernel, self._condition, left, "auto", self.n_permutations, rng, self.plan
        )


def kernel_tests(
    variables: list[np.ndarray], n_permutations: int, rng: np.random.Generator, plan: Plan | None
) -> Any:
    """A function of i, j and the places of Z: p-values. The last requested Z is kept."""
    last: list[tuple[tuple[int, ...], Given]] = []

    def ask(i: int, j: int, places: tuple[int, ...]) -> float:
        if not last or last[0][0] != places:
            last[:] = [(places, Given(variables, places, n_permutations, plan))]
        return last[0][1].test(i, j, rng).pvalue

    return ask
