"""Which training rows a model hangs on: what would change without each, or their coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..tables.influence import without_each as of_table
from ..tables.regressor import TableRegressor
from .errors import words_of
from .markup import join, number, paragraph, short, table, tag
from .page import Section
from .rows import cells, label, whole
from .subject import Subject
from .svg import Chart, figure, figures

_MOST = 2000  # rows up to which all of them are left out, one at a time
_SHOWN = 10
_BESIDE = 4
_SAME = 1e-6


def influence_section(subject: Subject, relevant: list[int]) -> Section:
    """The rows that matter most, with what is known of them."""
    title = "Influential rows"
    exact = without_each(subject)
    if exact is not None:
        score, scale = exact, float(np.std(subject.y))
        words = (
            "The effect of leaving out each row in turn, in closed form: the root mean square "
            "change of the predictions for all training rows."
        )
        name = "change"
        shown = [
            f"{number(s, 3)} ({number(100 * s / scale, 2)}% of a std)" if scale else number(s, 3)
            for s in score
        ]
    else:
        found = _coefficients(subject)
        if found is None:
            many = hasattr(subject.inner, "members_") and subject.n > _MOST
            words = f"{type(subject.inner).__name__} keeps no coefficients for these rows."
            if many and not subject.classifier:
                words = f"there are more than {number(_MOST)} rows to leave out one by one."
            return Section(title, left_out=words)
        score, name = found, "coefficient"
        shown = [number(s, 3) for s in score]
        words = (
            "Rows with the largest coefficients in the model. Rows with coefficient 0 could be "
            "left out without changing the model."
        )
    rows = np.argsort(-score, kind="stable")[:_SHOWN]
    beside = (
        [short(subject.names[j], 24) for j in relevant[:_BESIDE]] if subject.tabular else ["sample"]
    )
    body = []
    for i in map(int, rows):
        values = (
            cells(subject.X, i, relevant[:_BESIDE]) if subject.tabular else [whole(subject.X, i)]
        )
        seen = subject.y[i]
        target = number(float(seen)) if isinstance(seen, float | np.floating) else short(seen, 24)
        body.append([label(subject.X, i), target, shown[i], *values])
    total = float(score.sum())
    share = np.cumsum(-np.sort(-score)) / total if total > 0 else np.ones(len(score))
    half = int(np.searchsorted(share, 0.5)) + 1
    words += f" Half of the total belongs to {half} of {len(score)} rows."
    chart = Chart(f"influence of rows, from the largest: half of it belongs to {half} rows",
                  (1, len(score)), (0, 1), "rows, the most influential first", "share of the total",
                  xlog=len(score) > 20)  # fmt: skip
    thin = np.unique(np.geomspace(1, len(score), 120).astype(int))
    chart.line(thin, share[thin - 1], 1).rule(y=0.5)
    head = ["row", "target", name, *beside]
    parts = [
        paragraph(words),
        table(f"The {len(rows)} most influential rows.", head, body, words=words_of(subject, head)),
        figures(figure(chart, tag("span", "How influence is distributed over rows."))),
    ]
    return Section(title, join(parts))


def without_each(subject: Subject) -> np.ndarray | None:
    r"""How much predictions of all rows change without each of them; None if that is not known.

    With G = K + N and c = G^-1 y, leaving out row i changes predictions by
    K G^-1 e_i c_i / (G^-1)_ii. Offsets and scales of the target that a model takes out stay as they
    are.
    """
    inner = subject.inner
    if isinstance(inner, TableRegressor) and hasattr(inner, "members_"):
        return None if subject.n > _MOST else of_table(inner, subject.X, subject.y)
    kept = getattr(inner, "X_fit_", getattr(inner, "X_train_", None))
    coef: Any = getattr(inner, "dual_coef_", None)
    gram = getattr(inner, "gram_", None)
    if kept is None or coef is None or gram is None or subject.classifier:
        return None
    coef = np.asarray(coef, dtype=float)
    if coef.ndim == 2 and coef.shape[1] == 1:
        coef = coef[:, 0]
    n = subject.n
    if coef.shape != (n,) or gram.shape != (n, n) or n > _MOST:
        return None
    K = np.array(gram.block(slice(0, n), slice(0, n)), dtype=float)
    for noise in (getattr(inner, name, None) for name in ("_noise", "alpha_", "alpha")):
        if noise is None or np.size(noise) not in (1, n):
            continue
        noise = np.broadcast_to(np.asarray(noise, dtype=float).reshape(-1), (n,))
        if not _solves(K @ coef + noise * coef, subject.y):
            continue
        try:
            inverse = cho_solve(cho_factor(K + np.diag(noise)), np.eye(n))
        except np.linalg.LinAlgError:
            return None
        scale = coef / np.diagonal(inverse)
        change = (np.eye(n) - noise[:, None] * inverse) * scale  # K G^-1 = I - N G^-1
        factor = float(np.ravel(getattr(inner, "_y_scale", 1.0))[0])
        return factor * np.sqrt(np.mean(change**2, axis=0))
    return None


def _solves(targets: np.ndarray, y: np.ndarray) -> bool:
    """Are these the targets, but for an offset and a scale that a model takes out?"""
    a, b = targets - targets.mean(), y - y.mean()
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    return size > 0 and 1 - float(a @ b) / size < _SAME


def _coefficients(subject: Subject) -> np.ndarray | None:
    """The size of the coefficient of each row, 0 where it has none."""
    inner, n = subject.inner, subject.n
    coef: Any = getattr(inner, "dual_coef_", None)
    if coef is None:
        return None
    coef = np.atleast_2d(np.asarray(coef, dtype=float))
    support = getattr(inner, "support_", None)
    score = np.zeros(n)
    if support is not None and coef.shape[1] == len(support) and np.max(support, initial=0) < n:
        score[support] = np.abs(coef).sum(axis=0)
        return score
    sums = np.abs(coef).sum(axis=0) if coef.shape[1] == n else np.abs(coef).sum(axis=1)
    return sums if len(sums) == n else None
