"""Do three variables interact beyond their pairs? Lancaster's measure, and a test by it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checks import check_count
from ..data import Data
from ..engine.memory import require_memory
from ..gram.plan import Plan
from ..kernels.base import Kernel
from ..randomness import as_generator
from .bank import not_finite
from .gather import permuted_sums
from .independence_kernels import blind_spots
from .nulls import permutation_pvalue
from .planned import planned, require_stored, threads
from .result import TestResult
from .samples import from_mean
from .smoothers import centre_in_place
from .variables import Variables

_MATRICES = 5  # of size n x n at the same time
_NAMES = ("the first", "the second", "the third")


@planned
def lancaster(X: Data, Y: Data, Z: Data, *, kernels: Any = None, plan: Plan | None = None) -> float:
    r"""The squared norm of Lancaster's interaction of three variables, the biased estimate.

    .. math:: \Delta_L P = P_{XYZ} - P_{XY} P_Z - P_{XZ} P_Y - P_{YZ} P_X + 2 P_X P_Y P_Z, \qquad
              \|\mu_{\Delta_L P}\|^2 \approx \frac1{n^2} \sum_{ij}
              \tilde K_{ij}\, \tilde L_{ij}\, \tilde M_{ij}

    with centred kernel matrices. It is 0 if one of the variables is independent of the other two,
    and is sensitive if two of them each have a weak influence on the third, but a strong one
    together.

    Parameters
    ----------
    X, Y, Z : data
        The variables, observed jointly.
    kernels : Kernel, or list of three; optional
        The kernels, each resolved on the data of its own variable; by default
        ``Gaussian("median")``.
    plan : Plan, optional
        Memory and threads to use, and how K is stored: three n x n matrices are.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import hsic, lancaster
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(2, 300))
    >>> z = np.sign(x * y) * rng.exponential(size=300)  # each pair of the three is independent
    >>> lancaster(x, y, z) > 5 * hsic(x, z, biased=True)
    True

    References
    ----------
    Sejdinovic, Gretton & Bergsma, *A kernel test for three-variable interactions*, NIPS 2013.
    """
    K, L, M = _matrices(Variables(X, Y, Z, least=2), kernels, plan)[1]
    return float(np.mean(K * L * M))


@planned
def interaction_test(
    X: Data,
    Y: Data,
    Z: Data,
    *,
    kernels: Any = None,
    n_permutations: int = 999,
    rng: Any = None,
    plan: Plan | None = None,
) -> TestResult:
    r"""Test whether three variables interact: whether none of them is independent of the other two.

    The null hypothesis is that one of them is independent of the other two: that the joint
    distribution factorises in one of three ways. The statistic is Lancaster's interaction
    (:func:`lancaster`), which vanishes then. Each of the three hypotheses is tested exactly, by
    permutations of the variable that is independent under it, and the largest of the three p-values
    is returned. So a small p-value says that no variable is independent of the other two.

    Parameters
    ----------
    X, Y, Z, kernels, plan
        As for :func:`lancaster`.
    n_permutations : int
        Permutations, for each hypothesis.
    rng : None, int or Generator
        The source of randomness.

    Returns
    -------
    TestResult
        ``details["pvalues"]`` has one p-value for each variable: that of its independence of the
        other two together.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import interaction_test
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(2, 200))
    >>> z = np.sign(x * y) * rng.exponential(size=200)
    >>> interaction_test(x, y, z, rng=0).pvalue
    0.001

    References
    ----------
    Sejdinovic, Gretton & Bergsma, *A kernel test for three-variable interactions*, NIPS 2013.
    """
    check_count("n_permutations", n_permutations)
    rng = as_generator(rng)
    joint = Variables(X, Y, Z, least=4)
    resolved, matrices = _matrices(joint, kernels, plan)
    n = joint.n
    units = [float(np.abs(A).max()) or 1.0 for A in matrices]  # float32 has few powers of ten
    matrices = [A / unit for A, unit in zip(matrices, units, strict=True)]
    unit = float(np.prod(units))
    if not np.isfinite(unit):
        raise not_finite(" * ".join(map(repr, resolved)))
    identity = np.arange(n)[None]
    pvalues, nulls, value = [], [], 0.0
    for apart in range(3):
        one, other = (matrices[v] for v in range(3) if v != apart)
        fixed, moved = (A.astype(np.float32) for A in (one * other, matrices[apart]))
        shuffled = np.array([rng.permutation(n) for _ in range(n_permutations)])
        sums = permuted_sums([fixed, moved], np.concatenate([identity, shuffled])[:, None])
        values = (sums.pairs + sums.own) / n**2
        size = float(np.sqrt(np.sum((fixed * moved).astype(np.float64) ** 2)))
        rounding = 4 * float(np.finfo(np.float32).eps) * size / n**2
        pvalues.append(permutation_pvalue(float(values[0]), values[1:], rounding))
        nulls.append(unit * values[1:])
        value = unit * float(values[0])
    worst = int(np.argmax([p.pvalue for p in pvalues]))
    details = {"pvalues": np.array([p.pvalue for p in pvalues]), "apart": worst}
    return TestResult(
        value,
        pvalues[worst].pvalue,
        f"interaction test, Lancaster's measure of 3 variables ({n_permutations} permutations of "
        f"each)",
        "one of the variables is independent of the other two",
        null=nulls[worst],
        n_permutations=n_permutations,
        pvalue_interval=pvalues[worst].interval,
        kernel=resolved,
        notes=(
            f"the evidence is weakest that {_NAMES[worst]} depends on the others; the statistic "
            f"does not measure dependence within pairs.",
            *blind_spots([[k] for k in resolved]),
        ),
        details=details,
        computation=f"matrices of {n} x {n} values, stored; {threads(plan)}",
    )


def _matrices(
    joint: Variables, kernels: Any, plan: Plan | None
) -> tuple[list[Kernel], list[np.ndarray]]:
    """The kernels, and their centred matrices."""
    what = "a measure of three variables"
    require_stored(plan, what, joint.n)
    require_memory(_MATRICES * 8.0 * joint.n**2, what)
    resolved = joint.kernels(kernels)
    out = []
    for k, V in zip(resolved, joint.data, strict=True):
        used, data = from_mean(k, V)
        P = used.prepare(data)
        K = used.pairwise(P, P).astype(np.float64)
        if not np.all(np.isfinite(K)):
            raise not_finite(repr(k))
        out.append(centre_in_place(K))
    return resolved, out
