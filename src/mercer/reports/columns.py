"""What each column does: how much worse predictions are without it, and how they change with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data import Data, as_dense, is_frame, length, take
from .data import Column, column_at, columns_of
from .judged import Answers, Judged, ask
from .markup import Html, join, number, paragraph, short
from .page import Section
from .rivals import Plain
from .subject import Clock, Subject
from .svg import Chart, figure, figures, margin

_ROWS = 400  # of a permutation
_REPEATS = 5
_MOST_COLUMNS = 60  # that are permuted
_SHOWN = 15
_DRAWN = 4  # partial dependences
_GRID = 20
_BASE = 150  # rows that a partial dependence is an average over
_MOST_CLASSES = 4
_MOST_ENTRIES = 4_000_000  # of a sparse matrix that is made dense


def relevance_section(subject: Subject, judged: Judged, clock: Clock) -> tuple[Section, list[int]]:
    """The section, and the columns from the most to the least relevant."""
    title = "Relevance of columns"
    if not subject.tabular:
        return Section(title, left_out="samples are not rows of columns."), []
    model, places = max(judged.parts, key=lambda part: len(part[1]))
    places = places[:_ROWS]
    X = dense(take(judged.X, places))
    if X is None:
        return Section(title, left_out="the sparse matrix is too wide."), []
    y = judged.y[places]
    candidates = _screened(subject)
    before = loss(ask(subject, model, X, judged.classes), y, judged.classes)
    rng = np.random.default_rng(subject.seed)
    rise: dict[int, list[float]] = {j: [] for j in candidates}
    for turn in range(_REPEATS):
        for j in candidates:
            if clock.left < 0 and (turn > 0 or len(rise[candidates[0]]) > 0):
                break
            other = replaced(X, j, rng.permutation(len(y)))
            after = loss(ask(subject, model, other, judged.classes), y, judged.classes)
            rise[j].append(after - before)
    done = {j: values for j, values in rise.items() if values}
    means = {j: float(np.mean(values)) for j, values in done.items()}
    ranked = sorted(means, key=lambda j: -means[j])
    name = error_name(judged)
    words = (
        f"One column at a time is shuffled among {len(y)} unseen rows. How much the {name} rises, "
        f"from {number(before, 3)}, is how much the model relies on that column. Columns with the "
        "same information share their importance."
    )
    parts = [paragraph(words), figures(_bars(subject, ranked[:_SHOWN], done, name))]
    if len(done) < len(subject.names):
        words = (
            f"{len(done)} of {len(subject.names)} columns were shuffled: those that go with the "
        )
        words += "target most, one by one."
        parts.append(paragraph(words, class_="aside"))
    return Section(title, join(parts)), [*ranked, *(j for j in candidates if j not in done)]


def dependence_section(
    subject: Subject, judged: Judged, ranked: list[int], clock: Clock
) -> Section:
    """How predictions change with the most relevant columns."""
    title = "Partial dependence"
    if not subject.tabular:
        return Section(title, left_out="samples are not rows of columns.")
    X = dense(take(subject.X, subject.some(_BASE)))
    if X is None:
        return Section(title, left_out="the sparse matrix is too wide.")
    columns = columns_of(subject.X) if is_frame(subject.X) else None
    drawn: list[Html] = []
    for j in ranked:
        if len(drawn) == _DRAWN or (drawn and clock.left < 0):
            break
        picture = _dependence(subject, judged, X, j, None if columns is None else columns[j])
        if picture is not None:
            drawn.append(picture)
    if not drawn:
        return Section(title, left_out="no column has enough different values.")
    words = (
        f"Each column takes its values in turn while all others stay unchanged, in {length(X)} "
        "rows. The line is the mean prediction, the band holds the middle 80%: where it is wide, "
        "the effect depends on the other columns."
    )
    return Section(title, join([paragraph(words), figures(*drawn)]))


def loss(answers: Answers, y: np.ndarray, classes: np.ndarray | None) -> float:
    """Root mean squared error, log loss, or the share of wrong labels."""
    if classes is None:
        error = y - answers.prediction.astype(float)
        return float(np.sqrt(np.nanmean(error**2)))
    if answers.proba is not None:
        p = answers.proba[np.arange(len(y)), np.searchsorted(classes, y)]
        return float(-np.nanmean(np.log(np.maximum(p, 1e-15))))
    return float(np.mean([a != b for a, b in zip(answers.prediction, y, strict=True)]))


def error_name(judged: Judged) -> str:
    """The name of :func:`loss`."""
    if judged.classes is None:
        return "RMSE"
    return "log loss" if judged.model.proba is not None else "share of wrong labels"


def dense(X: Data) -> Data | None:
    """Data whose columns can be replaced; None if a sparse matrix is too large for that."""
    if not sp.issparse(X):
        return X if is_frame(X) else np.asarray(X)
    return X.toarray() if X.shape[0] * X.shape[1] <= _MOST_ENTRIES else None


def replaced(X: Data, j: int, values: Any) -> Data:
    """X with column j in another order (places as an array), or with one value everywhere."""
    order = values if isinstance(values, np.ndarray) and values.dtype.kind == "i" else None
    if hasattr(X, "isetitem"):
        other = X.copy()
        series = X.iloc[:, j]
        if order is not None:
            other.isetitem(j, series.iloc[order].array)
        else:
            repeated = series.iloc[[int(values)] * len(X)]
            other.isetitem(j, repeated.array)
        return other
    if is_frame(X):
        series = X.to_series(j)
        picked = order if order is not None else np.full(X.height, int(values))
        return X.with_columns(series.gather(picked).alias(series.name))
    other = X.copy() if X.ndim == 2 else X[:, None].copy()
    other[:, j] = other[order, j] if order is not None else other[int(values), j]
    return other if X.ndim == 2 else other[:, 0]


def _screened(subject: Subject) -> list[int]:
    """All columns, or of very many those that go with the target most, one by one."""
    d = len(subject.names)
    if d <= _MOST_COLUMNS:
        return list(range(d))
    rows = subject.some(1000, seed=1)
    V = as_dense(Plain(take(subject.X, rows)).values)
    V = np.nan_to_num(V - np.nanmean(V, axis=0))
    y = subject.y[rows]
    if subject.classifier:
        codes = np.unique(y, return_inverse=True)[1]
        T = np.eye(codes.max() + 1)[codes]
    else:
        T = np.argsort(np.argsort(y)).astype(float)[:, None]
    T = T - T.mean(axis=0)
    scale = np.sqrt((V**2).sum(axis=0))[:, None] * np.sqrt((T**2).sum(axis=0))
    found = np.abs(V.T @ T) / np.where(scale > 0, scale, np.inf)
    return np.argsort(-found.max(axis=1), kind="stable")[:_MOST_COLUMNS].tolist()


def _bars(subject: Subject, ranked: list[int], rise: dict[int, list[float]], name: str) -> Html:
    labels = [short(subject.names[j], 26) for j in ranked]
    mean = np.array([np.mean(rise[j]) for j in ranked])
    spread = np.array([2 * np.std(rise[j]) / np.sqrt(len(rise[j])) for j in ranked])
    ends = (min(0.0, float((mean - spread).min())), max(float((mean + spread).max()), 1e-12) * 1.04)
    words = f"how much the {name} rises when a column is shuffled: " + "; ".join(
        f"{label} {number(m, 2)}" for label, m in zip(labels[:8], mean, strict=False)
    )
    chart = Chart(
        words, ends, (-len(ranked) + 0.4, 0.6), f"rise of the {name}",
        yticks=[(-i, label) for i, label in enumerate(labels)], left=margin(labels, 176),
        height=56 + 22 * len(ranked), width=600,
    )  # fmt: skip
    places = -np.arange(len(ranked))
    chart.rows(np.zeros(len(ranked)), np.maximum(mean, ends[0])).spans(
        places, mean - spread, mean + spread
    )
    caption = "Lines are two standard errors over shuffles."
    return figure(chart, caption, wide=True)


def _dependence(
    subject: Subject, judged: Judged, X: Data, j: int, column: Column | None
) -> Html | None:
    """The picture of one column; places of X whose value is taken stand for the values."""
    numeric, values = column_values(X, j)
    if not numeric:
        if column is None or column.kind != "labels":
            return None
        return _of_labels(subject, judged, X, j, values)
    known = np.flatnonzero(np.isfinite(values))
    if len(known) < 3 or not np.ptp(values[known]) > 0:
        return None
    order = known[np.argsort(values[known], kind="stable")]
    picked = order[np.linspace(0.02 * len(order), 0.98 * (len(order) - 1), _GRID).astype(int)]
    picked = picked[np.unique(values[picked], return_index=True)[1]]
    if len(picked) < 2:
        return None
    t = values[picked]
    found = np.array([_answers(subject, judged, replaced(X, j, int(i))) for i in picked])
    low, high = np.nanquantile(found, [0.1, 0.9], axis=1)
    name = short(subject.names[j], 40)
    ends = (float(np.nanmin(low)), float(np.nanmax(high)))
    space = 0.05 * (ends[1] - ends[0])
    mean = np.nanmean(found, axis=1)
    words = (
        f"mean prediction against {name}: from {number(mean[0, 0], 3)} to {number(mean[-1, 0], 3)}"
    )
    chart = Chart(words, (t[0], t[-1]), (ends[0] - space, ends[1] + space), name, _what(judged))
    several = found.shape[2] > 1
    for c in range(found.shape[2]):
        if not several:
            chart.band(t, low[:, c], high[:, c], 1)
        label = short(_classes(judged)[c], 20) if several else ""
        chart.line(t, mean[:, c], c + 1, label=label)
    seen = values[known][(values[known] >= t[0]) & (values[known] <= t[-1])]
    chart.points(seen, np.full(len(seen), ends[0] - space), 0, size=3)
    return figure(chart, None)


def _of_labels(
    subject: Subject, judged: Judged, X: Data, j: int, values: np.ndarray
) -> Html | None:
    labels, first, sizes = np.unique(values.astype(str), return_index=True, return_counts=True)
    top = np.argsort(-sizes, kind="stable")[:8]
    if len(top) < 2:
        return None
    found = np.array([_answers(subject, judged, replaced(X, j, int(first[i]))) for i in top])
    mean = np.nanmean(found[:, :, 0], axis=1)
    low, high = np.nanquantile(found[:, :, 0], [0.1, 0.9], axis=1)
    order = np.argsort(-mean)
    names = labels[top][order].tolist()
    name = short(subject.names[j], 40)
    space = 0.05 * float(np.nanmax(high) - np.nanmin(low)) or 0.1
    chart = Chart(
        f"mean prediction for the labels of {name}",
        (float(np.nanmin(low)) - space, float(np.nanmax(high)) + space),
        (-len(top) + 0.4, 0.6), _what(judged),
        yticks=[(-i, label) for i, label in enumerate(names)], left=margin(names, 130),
    )  # fmt: skip
    places = -np.arange(len(top))
    chart.spans(places, low[order], high[order], 1).points(mean[order], places, 1, size=8)
    return figure(chart, f"The most frequent labels of {name}.")


def column_values(X: Data, j: int) -> tuple[bool, np.ndarray]:
    """Does a column hold numbers? And its values."""
    if not is_frame(X):
        return True, np.asarray(X, dtype=float).reshape(length(X), -1)[:, j]
    values = column_at(X, j)
    if isinstance(values, np.ndarray):
        return True, values
    return False, np.array([short(v, 20) for v in values], dtype=object)


def _classes(judged: Judged) -> list[Any]:
    """Those that are drawn: the second of two, or the most frequent ones."""
    assert judged.classes is not None
    if len(judged.classes) == 2:
        return [judged.classes[1]]
    labels, sizes = np.unique(judged.y, return_counts=True)
    return labels[np.argsort(-sizes, kind="stable")][:_MOST_CLASSES].tolist()


def _answers(subject: Subject, judged: Judged, X: Data) -> np.ndarray:
    """Predictions of shape (rows, 1), or probabilities of some classes."""
    found = ask(subject, subject.model, X, judged.classes)
    if judged.classes is None:
        return found.prediction.astype(float)[:, None]
    shown = _classes(judged)
    if found.proba is not None:
        return found.proba[:, [int(np.flatnonzero(judged.classes == c)[0]) for c in shown]]
    return np.stack([np.array([p == c for p in found.prediction], float) for c in shown], axis=1)


def _what(judged: Judged) -> str:
    if judged.classes is None:
        return "prediction"
    if len(judged.classes) == 2:
        return f"probability of {short(judged.classes[1], 20)}"
    return "probability of the class"
