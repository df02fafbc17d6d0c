"""Whether two samples differ, and where: for training and test rows, or for any two samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data import Data, as_dense, length, take
from ..kernels.base import Kernel
from ..stats.result import TestResult
from ..stats.two_sample import two_sample_test
from ..stats.witnesses import extremes, relevance, witness
from .markup import Html, between, join, number, paragraph, percent, short, table, tag
from .page import Section
from .rivals import Plain
from .rows import cells, label, whole
from .subject import Subject, column_names
from .svg import Chart, figure, figures, margin

_ROWS = 1000  # of each sample
_MOST_COLUMNS = 500  # of a test: with more, those that move most
_PERMUTATIONS = 499
_MOST_LABELS = 12  # of a column that become features
_SHOWN = 10
_LEVEL = 0.05


def drift_section(subject: Subject) -> Section:
    """Do training and test rows come from the same distribution?"""
    title = "Drift"
    if subject.test is None:
        words = "there is no test set to compare with; pass test=(X_test, y_test)."
        return Section(title, left_out=words)
    X, Z = some(subject.X, _ROWS, subject.seed), some(subject.test[0], _ROWS, subject.seed + 1)
    if not subject.tabular:
        kernel = subject.kernel
        if kernel is None:
            return Section(title, left_out="there is no kernel to compare samples with.")
        result = two_sample_test(X, Z, kernel, n_permutations=_PERMUTATIONS, rng=subject.seed)
        return Section(
            title,
            join(
                [_verdict(result), null_figure(result), typical(result, X, Z, ("training", "test"))]
            ),
        )
    A, B, owners, kept = vectors(X, Z)
    if not A.shape[1]:
        return Section(title, left_out="no column varies.")
    result = two_sample_test(A, B, n_permutations=_PERMUTATIONS, rng=subject.seed)
    share = shares(A, B, owners, len(subject.names))
    parts: list[Any] = [
        _verdict(result),
        figures(null_figure(result), share_figure(subject.names, share, result)),
    ]
    parts.append(_columns(X, Z, subject.names, share, ("training", "test")))
    if kept:
        parts.append(paragraph(kept, class_="aside"))
    return Section(title, join(parts))


def vectors(X: Data, Z: Data) -> tuple[np.ndarray, np.ndarray, np.ndarray, str]:
    """Two tables as vectors on one scale; the column each feature is of, and what was left out."""
    plain = Plain(X, Z)
    V: Any = plain.values
    V = V.toarray() if sp.issparse(V) else np.asarray(V, dtype=float)
    n, labels = length(X), set(plain.labels)
    features, owners = [], []
    for j in range(V.shape[1]):
        if j in labels:
            codes = np.minimum(V[:, j], _MOST_LABELS)
            for code in np.unique(codes):
                features.append((codes == code) / np.sqrt(2))
                owners.append(j)
            continue
        holes = ~np.isfinite(V[:, j])
        values = V[~holes, j]
        spread = float(values.std()) if len(values) else 0.0
        if spread > 0:
            features.append(np.where(holes, 0.0, (V[:, j] - values.mean()) / spread))
            owners.append(j)
        if 0 < holes.sum() < len(holes):
            features.append(holes.astype(float))
            owners.append(j)
    F = np.column_stack(features) if features else np.empty((len(V), 0))
    owner = np.array(owners, dtype=int)
    words = ""
    if F.shape[1] > _MOST_COLUMNS:
        # by variance alone: the choice must not know which rows belong to which sample
        top = np.sort(np.argsort(-F.var(axis=0), kind="stable")[:_MOST_COLUMNS])
        words = f"Of {F.shape[1]} features, {_MOST_COLUMNS} were compared."
        F, owner = F[:, top], owner[top]
    return F[:n], F[n:], owner, words


def shares(A: np.ndarray, B: np.ndarray, owners: np.ndarray, width: int) -> np.ndarray:
    """How much of the difference belongs to each column; adds up to 1."""
    found = relevance(witness(A, B), np.vstack([A, B]))
    return np.bincount(owners, found, minlength=width)


def best_kernel(result: TestResult) -> Kernel | None:
    """The kernel that saw most, or the one there is."""
    best = result.details.get("best", result.kernel)
    return best if isinstance(best, Kernel) else None


def null_figure(result: TestResult) -> Html | None:
    """The null distribution, with the statistic as a line."""
    if result.null is None or not len(result.null):
        return None
    null = np.asarray(result.null, dtype=float)
    low, high = min(null.min(), result.statistic), max(null.max(), result.statistic)
    space = 0.05 * (high - low) or 0.5
    bars, edges = np.histogram(null, min(40, max(10, round(np.sqrt(len(null))))))
    words = f"null distribution of the statistic, observed {number(result.statistic, 3)}"
    chart = Chart(
        words, (low - space, high + space), (0, bars.max() * 1.1), "statistic", "permutations"
    )
    chart.bars(edges, bars, 1, label="under the null hypothesis")
    chart.line([result.statistic] * 2, [0, bars.max() * 1.05], 2, label="observed")
    return figure(
        chart, f"{len(null)} values under the null hypothesis; p = {number(result.pvalue, 2)}."
    )


def share_figure(names: list[str], share: np.ndarray, result: TestResult) -> Html:
    """Which columns the witness function moves with."""
    top = np.argsort(-share, kind="stable")[: min(_SHOWN, len(share))]
    labels = [short(names[j], 24) for j in top]
    words = "share of each column in the difference: " + "; ".join(
        f"{label} {percent(share[j])}" for label, j in zip(labels, top, strict=True)
    )
    chart = Chart(words, (0, max(float(share[top[0]]) * 1.05, 1e-9)), (-len(top) + 0.4, 0.6),
                  "share of the difference", yticks=[(-i, name) for i, name in enumerate(labels)],
                  left=margin(labels, 164), height=max(200, 60 + 24 * len(top)))  # fmt: skip
    hue = 2 if result.pvalue <= _LEVEL else 0
    chart.rows(np.zeros(len(top)), share[top], hue)
    return figure(chart, "A description, not a test: correlated columns share their part.")


def typical(result: TestResult, X: Data, Z: Data, names: tuple[str, str]) -> Html:
    """Samples that are typical of one sample and not of the other."""
    try:
        w = witness(X, Z, best_kernel(result))
        tops = [extremes(w, X, min(5, length(X))).highest, extremes(w, Z, min(5, length(Z))).lowest]
    except (TypeError, ValueError):
        return Html("")
    columns = column_names(X)
    shown = list(range(min(6, len(columns))))
    head = (
        ["sample", "row", *(short(columns[j], 20) for j in shown)]
        if columns
        else ["sample", "row", ""]
    )
    rows = []
    for source, name, top in ((X, names[0], tops[0]), (Z, names[1], tops[1])):
        for i in map(int, top):
            values = cells(source, i, shown) if columns else [whole(source, i)]
            rows.append([name, label(source, i), *values])
    caption = "Rows where the witness function is largest: typical of one sample, not of the other."
    return table(caption, head, rows, words=(0,) if columns else range(3))


def _verdict(result: TestResult) -> Html:
    p = f"(p = {number(result.pvalue, 2)})."
    if result.pvalue <= _LEVEL:
        words = tag("strong", "Training and test rows differ", class_="warn")
        tail = f" {p} Scores on the test set are for rows unlike those the model was trained on. "
    else:
        words = tag("strong", "No difference between training and test rows", class_="good")
        tail = f" was found {p} "
    return paragraph(words, tail, tag("span", f"{result.method}.", class_="aside"))


def _columns(
    X: Data, Z: Data, names: list[str], share: np.ndarray, called: tuple[str, str]
) -> Html:
    """The columns that differ most, in numbers."""
    plain = Plain(X, Z)
    V: Any = plain.values
    n, rows = length(X), []
    for j in np.argsort(-share, kind="stable")[:6]:
        values = as_dense(V[:, [int(j)]])[:, 0]
        if j in plain.labels:
            continue
        first, second = values[:n], values[n:]
        middles = [_middle(s) for s in (first, second)]
        rows.append([short(names[j], 40), percent(share[j]), *middles])
    if not rows:
        return Html("")
    caption = "Columns that differ most: median, and the range of the middle 80%."
    return table(caption, ["column", "share", *called], rows)


def _middle(values: np.ndarray) -> str:
    """The median, and the range of the middle 80%."""
    if not np.isfinite(values).any():
        return "–"
    low, middle, high = np.nanquantile(values, [0.1, 0.5, 0.9])
    return f"{number(float(middle), 3)} ({between(float(low), float(high))})"


def some(X: Data, most: int, seed: int = 0) -> Data:
    """Samples drawn at random, at most so many."""
    n = length(X)
    return X if n <= most else take(X, np.sort(np.random.default_rng(seed).permutation(n)[:most]))
