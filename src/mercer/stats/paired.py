"""Do two measurements of the same subjects differ? Pairs are exchanged, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..data import Data, length
from ..gram.plan import Plan
from .planned import planned
from .result import TestResult
from .samples import plain
from .two_sample import two_sample_test

EXCHANGEABLE = "both measurements of a subject can be exchanged"


@planned
def paired_test(
    X: Data,
    Y: Data,
    kernel: Any = None,
    *,
    n_permutations: int = 999,
    rng: Any = None,
    stop_after: int | None = None,
    plan: Plan | None = None,
    verbose: bool = False,
) -> TestResult:
    r"""Test whether two measurements of the same subjects have the same distribution.

    The statistic is the squared maximum mean discrepancy between both samples, and its null
    distribution comes from random exchanges within pairs,

    .. math:: \left\| \frac1n \sum_i s_i \left(k(x_i, \cdot) - k(y_i, \cdot)\right) \right\|^2,
              \qquad s_i = \pm 1

    Differences between subjects cancel, as in a paired t-test: if measurements of the same subject
    are similar, small differences are detected that a two-sample test misses. If (x, y) and (y, x)
    have the same distribution, the p-value is exact.

    Parameters
    ----------
    X, Y : data
        The measurements; x_i and y_i belong together.
    kernel, n_permutations, rng, stop_after, plan, verbose
        As for :func:`two_sample_test`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import paired_test, two_sample_test
    >>> rng = np.random.default_rng(0)
    >>> before = rng.normal(0, 1, 100)
    >>> after = before + rng.normal(0.1, 0.2, 100)
    >>> paired_test(before, after, rng=0).pvalue
    0.001
    >>> two_sample_test(before, after, rng=0).pvalue
    0.898

    References
    ----------
    Gretton, Borgwardt, Rasch, Schölkopf & Smola, *A kernel two-sample test*, JMLR 2012; Lehmann &
    Romano, *Testing Statistical Hypotheses*, 2005, section 15.2 (groups of transformations).
    """
    sizes = [length(plain(sample, name)) for sample, name in ((X, "X"), (Y, "Y"))]
    if sizes[0] != sizes[1]:
        raise ValueError(
            f"a paired test needs both measurements of each subject, got {sizes[0]} of X and "
            f"{sizes[1]} of Y."
        )
    found = two_sample_test(
        X,
        Y,
        kernel,
        n_permutations=n_permutations,
        rng=rng,
        groups=np.tile(np.arange(sizes[0]), 2),
        bins=None,
        stop_after=stop_after,
        plan=plan,
        verbose=verbose,
    )
    method = found.method.replace("two-sample test", "paired test", 1)
    return replace(found, method=method, hypothesis=EXCHANGEABLE)
