"""Many hypotheses at once: p-values that hold for all of them together."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checks import check_choice

METHODS = ("holm", "bonferroni", "bh", "by")
_TIES = 1e-6  # scores closer than this are equal


def adjust_pvalues(pvalues: Any, method: str = "holm") -> np.ndarray:
    r"""Correct p-values for multiple testing.

    ================  =====================================================  ======================
    method            what holds if those up to alpha are rejected           for p-values that are
    ================  =====================================================  ======================
    ``"bonferroni"``  a false rejection has a probability of at most alpha   of any dependence
    ``"holm"``        the same, with more power                              of any dependence
    ``"bh"``          a share of at most alpha of the rejections is false,   independent or
                      on average (Benjamini & Hochberg)                      positively dependent
    ``"by"``          the same (Benjamini & Yekutieli)                       of any dependence
    ================  =====================================================  ======================

    Parameters
    ----------
    pvalues : array of shape (m,)
        P-values, each between 0 and 1.
    method : {"holm", "bonferroni", "bh", "by"}
        See above.

    Examples
    --------
    >>> from mercer import adjust_pvalues
    >>> adjust_pvalues([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    >>> adjust_pvalues([0.01, 0.04, 0.03], "bh").round(3).tolist()
    [0.03, 0.04, 0.04]

    References
    ----------
    Holm, *A simple sequentially rejective multiple test procedure*, Scandinavian Journal of
    Statistics 1979; Benjamini & Yekutieli, *The control of the false discovery rate in multiple
    testing under dependency*, Annals of Statistics 2001.
    """
    p = np.asarray(pvalues, dtype=np.float64)
    if p.ndim != 1 or not np.all((p >= 0) & (p <= 1)):
        raise ValueError("pvalues must be a list of numbers between 0 and 1.")
    check_choice("method", method, METHODS)
    m = len(p)
    order = np.argsort(p, kind="stable")
    ranks, ordered = np.arange(1, m + 1), p[order]
    if method == "bonferroni":
        found = m * ordered
    elif method == "holm":
        found = np.maximum.accumulate((m + 1 - ranks) * ordered)
    else:
        factor = np.sum(1 / ranks) if method == "by" else 1.0
        found = np.minimum.accumulate((factor * m / ranks * ordered)[::-1])[::-1]
    out = np.empty(m)
    out[order] = np.minimum(found, 1.0)
    return out


def max_t(scores: np.ndarray) -> np.ndarray:
    r"""P-values of many hypotheses tested by the same permutations (Westfall & Young, step-down).

    Hypotheses are ordered by their scores. Each is compared with the largest score, under the same
    permutation, of those that are not ahead of it:

    .. math:: p_{(j)} = \frac{\#\{b : \max_{i \ge j} T_{(i)b} \ge T_{(j)}\}}{B + 1}

    the observed labelling among the b, and no p-value smaller than one before it. The probability
    of any false rejection is at most alpha. Dependence between hypotheses is taken into account
    through the permutations: ten copies of one variable have the same p-values as one.

    Parameters
    ----------
    scores : array of shape (m, 1 + B)
        One row for each hypothesis, the observed score first, then those under permutations, which
        are shared by all rows. Scores should be on one scale.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.stats.multiple import max_t
    >>> max_t(np.array([[5.0, 1.0, 2.0, 0.0], [1.5, 1.0, 2.0, 0.0]]))
    array([0.25, 0.5 ])

    References
    ----------
    Westfall & Young, *Resampling-Based Multiple Testing*, 1993, algorithm 4.1.
    """
    T = np.asarray(scores, dtype=np.float64)
    if T.ndim != 2 or T.shape[1] < 2 or not np.all(np.isfinite(T)):
        raise ValueError("scores must be finite, one row per hypothesis, the observed one first.")
    order = np.argsort(-T[:, 0], kind="stable")
    rest = np.maximum.accumulate(T[order][::-1], axis=0)[::-1]
    p = np.mean(rest >= T[order, :1] - _TIES, axis=1)
    out = np.empty(len(T))
    out[order] = np.maximum.accumulate(p)
    return out
