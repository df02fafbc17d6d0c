"""Which training rows a model hangs on: what would change without each, or their coefficients."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..tables.influence import labels_without_each
from ..tables.influence import without_each as of_table
from ..tables.model import TableModel
from .errors import words_of
from .markup import count, join, number, paragraph, percent, short, table, tag
from .page import Section
from .rows import cells, label, whole
from .subject import Subject
from .svg import Chart, figure, figures

_MOST = 2000  # rows up to which all of them are left out, one at a time
_SHOWN = 10
_BESIDE = 4
_SAME = 1e-6


class Influence(NamedTuple):
    """How much each row counts, and how that is said."""

    score: np.ndarray
    shown: list[str]
    name: str
    words: str


def influence_section(subject: Subject, relevant: list[int]) -> Section:
    """The most influential rows, with their values."""
    title = "Influential rows"
    found = _of_labels(subject) or _of_values(subject) or _of_coefficients(subject)
    if found is None:
        return Section(title, left_out=_why_not(subject))
    score, shown, name, words = found
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


def _of_values(subject: Subject) -> Influence | None:
    """Of a regression: how much its values change without each row."""
    score = without_each(subject)
    if score is None:
        return None
    scale = float(np.std(subject.y))
    shown = [
        f"{number(s, 3)} ({number(100 * s / scale, 2)}% of a std)" if scale else number(s, 3)
        for s in score
    ]
    words = (
        "The effect of leaving out each row in turn, in closed form: the root mean square change "
        "of the predictions for all training rows."
    )
    return Influence(score, shown, "change", words)


def _of_labels(subject: Subject) -> Influence | None:
    """Of a classifier of tables: how much probability goes to other classes without each row."""
    inner = subject.inner
    if not (_of_members(subject) and subject.classifier) or subject.n > _MOST:
        return None
    found = labels_without_each(inner, subject.X, subject.y)
    if found is None:
        return None
    moved, other = found
    shown = [
        percent(share) + (f", {count(labels, 'label')}" if labels else "")
        for share, labels in zip(moved, other, strict=True)
    ]
    words = (
        "The effect of leaving out each row in turn, in closed form: the probability that moves to "
        "other classes, averaged over all training rows, and how many of them change their label. "
        "Kernels and calibration are kept."
    )
    return Influence(moved, shown, "change", words)


def _of_coefficients(subject: Subject) -> Influence | None:
    """Of a sum of functions of rows: how large their coefficients are."""
    found = _coefficients(subject)
    if found is None:
        return None
    words = (
        "Rows with the largest coefficients in the model. Rows with coefficient 0 could be "
        "left out without changing the model."
    )
    return Influence(found, [number(s, 3) for s in found], "coefficient", words)


def _why_not(subject: Subject) -> str:
    if not _of_members(subject):
        return f"{type(subject.inner).__name__} keeps no coefficients for these rows."
    if subject.n > _MOST:
        return f"there are more than {number(_MOST)} rows to leave out one by one."
    return "the model was not fitted to exactly these rows, or with weights or landmarks."


def _of_members(subject: Subject) -> bool:
    """Is it a model of tables, made of machines on pieces of the rows?"""
    return isinstance(subject.inner, TableModel) and hasattr(subject.inner, "members_")


def without_each(subject: Subject) -> np.ndarray | None:
    r"""How much predictions of all rows change without each of them; None if that is not known.

    With G = K + N and c = G^-1 y, leaving out row i changes predictions by
    K G^-1 e_i c_i / (G^-1)_ii. Offsets and scales of the target that a model takes out stay as they
    are.
    """
    inner = subject.inner
    if _of_members(subject):
        few = subject.n <= _MOST and not subject.classifier
        return of_table(inner, subject.X, subject.y) if few else None
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
