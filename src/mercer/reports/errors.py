"""Where a model is wrong: calibration, residuals, confusions, and the rows that surprise it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import precision_recall_curve, roc_curve

from ..plots.calibration import by_chance, reliability, wilson
from .images import colours, hexadecimal
from .judged import Judged
from .markup import Html, join, number, paragraph, percent, short, table, tag
from .page import Section
from .rows import cells, label, whole
from .subject import Subject
from .svg import Chart, figure, figures

_BINS = 10
_SHOWN = 10  # surprising rows
_BESIDE = 4  # columns shown beside them
_MOST_CLASSES = 20  # of a confusion matrix


def calibration_section(subject: Subject, judged: Judged) -> Section:
    """Do events of probability p happen in a fraction p of the cases?"""
    if subject.classifier:
        if judged.model.proba is None:
            words = f"{type(subject.inner).__name__} has no probabilities"
            if hasattr(subject.inner, "probability"):
                words += "; use probability=True"
            return Section("Calibration", left_out=words + ".")
        return Section("Calibration", _reliability(judged))
    if not judged.bands:
        words = (
            f"{type(subject.inner).__name__} gives no uncertainty; ConformalRegressor adds "
            "intervals to any regressor."
        )
        return Section("Calibration", left_out=words)
    return Section("Calibration", _coverage(judged))


def residual_section(subject: Subject, judged: Judged) -> Section:
    """Residuals of numbers, confusions of labels."""
    if subject.classifier:
        return Section("Confusions", _confusions(judged))
    return Section("Residuals", _residuals(judged))


def surprise_section(subject: Subject, judged: Judged, relevant: list[int]) -> Section:
    """The rows with the worst predictions, with their values."""
    score, words, extra = _surprise(subject, judged)
    known = np.flatnonzero(np.isfinite(score))
    rows = known[np.argsort(-score[known], kind="stable")][:_SHOWN]
    if not len(rows) or not score[rows[0]] > 0:
        return Section("Most surprising rows", left_out="all rows are predicted correctly.")
    source = subject.X if subject.test is None else subject.test[0]
    names = [short(subject.names[j], 24) for j in relevant[:_BESIDE]]
    head = ["row", "observed", "predicted", *extra[0], *(names if subject.tabular else ["sample"])]
    body = []
    for i in rows:
        at = int(judged.rows[i])
        beside = cells(source, at, relevant[:_BESIDE]) if subject.tabular else [whole(source, at)]
        seen, said = judged.y[i], judged.model.prediction[i]
        values = [_shown(seen), _shown(said)]
        body.append([label(source, at), *values, *(column[i] for column in extra[1]), *beside])
    words += (
        " Look at them first: some may be errors in the data, others are where the model fails."
    )
    caption = f"The {len(rows)} rows with the worst predictions."
    return Section(
        "Most surprising rows",
        join([paragraph(words), table(caption, head, body, words=words_of(subject, head))]),
    )


def _surprise(subject: Subject, judged: Judged) -> tuple[np.ndarray, str, Any]:
    if subject.classifier:
        found = judged.model
        assert judged.classes is not None
        if found.proba is None:
            wrong = np.array([a != b for a, b in zip(found.prediction, judged.y, strict=True)])
            return wrong.astype(float), "Rows with the wrong label.", ([], [])
        codes = np.searchsorted(judged.classes, judged.y)
        p = found.proba[np.arange(len(codes)), codes]
        words = "Rows whose true class had the smallest probability."
        return (
            -np.log(np.maximum(p, 1e-15)),
            words,
            (["its probability"], [[number(v, 3) for v in p]]),
        )
    error = judged.y - judged.model.prediction.astype(float)
    std = judged.std
    if std is None or not np.all(std > 0):
        words = "Rows with the largest errors."
        return np.abs(error), words, (["error"], [[number(e, 3) for e in error]])
    score = np.abs(error) / std
    words = "Rows with the largest errors, relative to the predicted uncertainty."
    columns = [[number(e, 3) for e in error], [number(s, 3) for s in score]]
    return score, words, (["error", "in std"], columns)


def words_of(subject: Subject, head: list[str]) -> list[int]:
    """The columns of a table of rows that hold words: the row, and a sample as a whole."""
    return [0] if subject.tabular else [0, len(head) - 1]


def _shown(value: Any) -> str:
    return number(value) if isinstance(value, float | int | np.number) else short(value, 24)


# ---- numbers --------------------------------------------------------------------------------
def _coverage(judged: Judged) -> Html:
    y = judged.y
    fine = np.isfinite(judged.bands[0].low[:, 0])
    y, n = y[fine], int(fine.sum())
    bands = sorted(judged.bands, key=lambda b: b.level)
    levels = np.array([b.level for b in bands])
    inside = np.array([np.mean((b.low[fine, 0] <= y) & (y <= b.high[fine, 0])) for b in bands])
    words = "share of targets inside intervals against their probability: " + ", ".join(
        f"{percent(p)} holds {percent(q)}" for p, q in zip(levels[::4], inside[::4], strict=True)
    )
    chart = Chart(words, (0, 1), (0, 1), "probability of the interval", "share of targets inside")
    p = np.linspace(0, 1, 101)
    low, high = by_chance(n, p)
    chart.band(p, np.maximum(low, 0), high, 0, label="what chance allows a perfect model")
    chart.line([0, 1], [0, 1], 0, dashed=True)
    chart.line(levels, inside, 1, label="this model").points(levels, inside, 1)
    near = int(np.argmin(np.abs(levels - 0.9)))
    lowest, highest = wilson(round(inside[near] * n), n)
    short_of = (
        "too narrow"
        if highest < levels[near]
        else "too wide"
        if lowest > levels[near]
        else "about right"
    )
    start = (
        f"Intervals of {percent(levels[near])} hold {percent(inside[near])} of the targets "
        f"({percent(lowest)} to {percent(highest)}): they are {short_of}."
    )
    width = np.median(bands[near].high[fine, 0] - bands[near].low[fine, 0])
    start += f" Half of them are narrower than {number(float(width), 3)}."
    return join(
        [
            paragraph(start),
            figures(figure(chart, "On the diagonal, coverage is exact.")),
        ]
    )


def _residuals(judged: Judged) -> Html:
    f = judged.model.prediction.astype(float)
    fine = np.isfinite(f)
    y, f = judged.y[fine], f[fine]
    e = y - f
    ends = (float(min(y.min(), f.min())), float(max(y.max(), f.max())))
    first = Chart("observed targets against predictions", ends, ends, "predicted", "observed")
    first.line(ends, ends, 0, dashed=True).points(f, y, 1, size=4.5)
    spread = float(np.abs(e).max()) * 1.05
    second = Chart("residuals against predictions", (f.min(), f.max()), (-spread, spread),
                   "predicted", "observed − predicted")  # fmt: skip
    second.rule(y=0).points(f, e, 1, size=4.5)
    trend = _trend(f, e)
    if trend is not None:
        second.line(*trend, 2, label="mean of the residuals nearby")
    bars, edges = np.histogram(e, min(40, max(8, int(np.sqrt(len(e))))))
    third = Chart("histogram of residuals", (edges[0], edges[-1]), (0, bars.max() * 1.05),
                  "observed − predicted", "rows").bars(edges, bars).rule(x=0)  # fmt: skip
    correlation = 0.0
    if np.ptp(f) > 0 and np.ptp(e) > 0:
        correlation = float(np.corrcoef(f, np.abs(e))[0, 1])
    middle, most = np.quantile(np.abs(e), [0.5, 0.9])
    words = f"The median error is {number(float(middle), 3)}, nine of ten are below "
    words += f"{number(float(most), 3)}, and the mean residual is {number(float(e.mean()), 2)}."
    if correlation > 0.2 and y.min() > 0:
        words += " Errors grow with the prediction: a logarithm of the target may help."
    return join([
        paragraph(words),
        figures(
            figure(first, "Points on the line are predicted exactly."),
            figure(second, "A trend is a pattern that the model has missed."),
            figure(third, "The distribution of errors."),
        ),
    ])  # fmt: skip


def _trend(f: np.ndarray, e: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Means of e over neighbours in f."""
    if len(f) < 40:
        return None
    parts = np.array_split(np.argsort(f, kind="stable"), min(25, len(f) // 15))
    return np.array([f[p].mean() for p in parts]), np.array([e[p].mean() for p in parts])


# ---- labels ---------------------------------------------------------------------------------
def _reliability(judged: Judged) -> Html:
    classes, proba = judged.classes, judged.model.proba
    assert classes is not None
    assert proba is not None
    two, n = len(classes) == 2, len(judged.y)
    chosen = np.ones(n, int) if two else np.argmax(proba, axis=1)
    p = proba[np.arange(n), chosen]
    right = np.array([classes[c] == v for c, v in zip(chosen, judged.y, strict=True)])
    fine = np.isfinite(p)
    p, right = p[fine], right[fine]
    mean, share, ends, error = reliability(p, right, max(1, min(_BINS, len(p) // 5)))
    name = short(classes[1], 24) if two else "the most probable class"
    words = (
        f"how often {name} was right against its probability, calibration error {number(error, 2)}"
    )
    chart = Chart(words, (0, 1), (0, 1), f"probability of {name}", "how often it is that class")
    chart.line([0, 1], [0, 1], 0, dashed=True).whiskers(mean, ends[:, 0], ends[:, 1], 1)
    chart.line(mean, share, 1).points(mean, share, 1, size=7)
    bars, edges = np.histogram(p, 20, (0, 1))
    second = Chart("histogram of probabilities", (0, 1), (0, bars.max() * 1.05),
                   f"probability of {name}", "rows").bars(edges, bars)  # fmt: skip
    tail = "" if error < 0.05 else " A model fitted to its scores (calibration) would help."
    return join([
        paragraph(f"Probabilities are off by {number(error, 2)} on average (expected calibration "
                  f"error, {len(mean)} bins).{tail}"),
        figures(
            figure(chart, "On the diagonal, probabilities are right; bars are 90% intervals."),
            figure(second, "The calibration of the model."),
        ),
    ])  # fmt: skip


def _confusions(judged: Judged) -> Html:
    classes, y = judged.classes, judged.y
    assert classes is not None
    said = judged.model.prediction
    known = np.array([v is not None and v == v for v in said])
    codes = np.searchsorted(classes, y[known])
    guesses = np.searchsorted(classes, said[known].astype(classes.dtype))
    k = len(classes)
    matrix = np.zeros((k, k), int)
    np.add.at(matrix, (codes, guesses), 1)
    parts: list[Any] = []
    if k <= _MOST_CLASSES:
        parts.append(_matrix(classes, matrix))
    wrong = [
        (int(matrix[i, j]), i, j) for i in range(k) for j in range(k) if i != j and matrix[i, j]
    ]
    top = sorted(wrong, key=lambda t: -t[0])[:8]
    if k > 2 and top:
        sizes = np.maximum(matrix.sum(axis=1), 1)
        rows = [
            (short(classes[i], 30), short(classes[j], 30), number(m), percent(m / sizes[i]))
            for m, i, j in top
        ]
        head = ["true", "predicted", "rows", "of the class"]
        parts.append(table("The most frequent confusions.", head, rows, words=range(2)))
    proba = judged.model.proba
    if k == 2 and proba is not None and len(np.unique(codes)) == 2:
        parts.append(_curves(codes, proba[known, 1], short(classes[1], 24)))
    return join(parts)


def _matrix(classes: np.ndarray, matrix: np.ndarray) -> Html:
    """A table whose cells are tinted by the share of their row."""
    names = [short(c, 16) for c in classes]
    share = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    head = tag("tr", tag("th", "true \\ predicted", scope="col", class_="word"),
               *(tag("th", name, scope="col") for name in names))  # fmt: skip
    body = []
    for i, name in enumerate(names):
        tinted = [_tinted(matrix[i, j], share[i, j], i == j) for j in range(len(names))]
        body.append(tag("tr", tag("th", name, scope="row", class_="word"), *tinted))
    caption = tag("caption", tag("span", "True classes in rows, predicted ones in columns."))
    whole_table = tag("table", caption, tag("thead", head), tag("tbody", *body), class_="matrix")
    return tag(
        "div",
        whole_table,
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label="Confusion matrix",
    )


def _tinted(many: int, share: float, right: bool) -> Html:
    hue = "var(--h1)" if right else "var(--h2)"
    tint = f"background:color-mix(in srgb, {hue} {round(45 * share)}%, transparent)"
    return tag("td", number(int(many)), style=tint if many else None)


def _curves(codes: np.ndarray, p: np.ndarray, name: str) -> Html:
    false, true, _ = roc_curve(codes, p)
    first = Chart("receiver operating characteristic", (0, 1), (0, 1),
                  "false positive rate", f"share of {name} found")  # fmt: skip
    first.line([0, 1], [0, 1], 0, dashed=True).line(*_thin(false, true), 1)
    precision, recall, _ = precision_recall_curve(codes, p)
    second = Chart("precision against recall", (0, 1), (0, 1), f"share of {name} found (recall)",
                   "share of positives that are correct (precision)")  # fmt: skip
    second.rule(y=float(codes.mean())).line(*_thin(recall, precision), 1)
    return figures(
        figure(first, "For all thresholds; the diagonal is random guessing."),
        figure(second, f"The dashed line is the share of {name} among all rows."),
    )


def _thin(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    keep = np.unique(np.linspace(0, len(a) - 1, min(len(a), 200)).astype(int))
    return a[keep], b[keep]


def tint(value: float, low: float, high: float) -> str:
    """The colour of a value on the scale of heat maps."""
    return hexadecimal(colours(np.array(value), low, high))
