"""Reports on results of tests: what was tested, what was found, where, and how it was computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data import Data, as_vectors, length
from ..exceptions import DomainError
from ..kernels.base import Kernel
from ..stats.permutation_test import SAME
from ..stats.result import TestResult
from .columns import column_values, dense
from .drift import null_figure, share_figure, shares, some, typical, vectors
from .formula import formula
from .markup import (
    Html,
    code,
    definitions,
    folded,
    join,
    listed,
    listing,
    number,
    paragraph,
    short,
    table,
    tag,
)
from .page import Report, Section, Tile
from .subject import column_names
from .svg import Chart, figure, figures

_LEVEL = 0.05
_ROWS = 1500


def result_report(result: TestResult, samples: tuple[Data, ...], title: str | None) -> Report:
    """The report on a result; with the samples it also says where they differ or depend."""
    evidence = result.pvalue <= _LEVEL
    says = "evidence against" if evidence else "no evidence against"
    lead = join([
        "At the 5% level there is ", tag("span", says, class_="warn" if evidence else "good"),
        f" the hypothesis that {result.hypothesis}.",
    ])  # fmt: skip
    interval = ""
    if result.pvalue_interval is not None:
        low, high = result.pvalue_interval
        interval = f"{number(low, 2)} to {number(high, 2)} with infinitely many permutations"
    tiles = [Tile("p-value", number(result.pvalue, 3), interval)]
    tiles.append(Tile("statistic", number(result.statistic, 4)))
    if result.n_permutations:
        tiles.append(Tile("permutations", number(result.n_permutations)))
    tiles += [Tile(f"sample {name}", number(length(s)), "observations")
              for name, s in zip("XYZ", samples, strict=False)]  # fmt: skip
    sections = [_result(result), _where(result, samples), _kernels(result), _computed(result)]
    name = result.method.partition(",")[0].partition(" (")[0]
    heading = title or f"{name[0].upper()}{name[1:]}"
    return Report(heading, tuple(sections), lead, "Report on a test", tuple(tiles))


def _result(result: TestResult) -> Section:
    parts: list[Any] = [
        listing(str(result)),
        figures(null_figure(result)) if result.null is not None else None,
    ]
    if result.notes:
        parts += [tag("h3", "Before relying on it"), listed(result.notes)]
    return Section("Result", join(parts))


def _where(result: TestResult, samples: tuple[Data, ...]) -> Section:
    title = "Where"
    if len(samples) < 2:
        return Section(
            title, left_out="the samples were not given; pass them: report(result, X, Y)."
        )
    X, Y = samples[:2]
    if result.hypothesis == SAME:
        return Section("Where they differ", _differ(result, X, Y))
    if "independent" in result.hypothesis and length(X) == length(Y):
        drawn = _together(X, Y)
        if drawn is not None:
            return Section("How the variables are related", drawn)
    return Section(title, left_out="there is no plot of this hypothesis for such data.")


def _differ(result: TestResult, X: Data, Y: Data) -> Html:
    X, Y = some(X, _ROWS), some(Y, _ROWS)
    names = column_names(X)
    parts: list[Any] = []
    if names:
        A, B, owners, _ = vectors(X, Y)
        if A.shape[1]:
            share = shares(A, B, owners, len(names))
            one = _one_column(X, Y, names, int(np.argmax(share)))
            parts.append(figures(share_figure(names, share, result), one))
    parts.append(typical(result, X, Y, ("X", "Y")))
    if result.pvalue > _LEVEL:
        parts.insert(0, paragraph("No difference was found: what follows may be chance."))
    return join(parts)


def _one_column(X: Data, Y: Data, names: list[str], j: int) -> Html | None:
    """Histograms of the column in which they differ most."""
    (numeric, a), (_, b) = (column_values(dense(Z), j) for Z in (X, Y))
    if not numeric:
        return None
    a, b = a[np.isfinite(a)], b[np.isfinite(b)]
    both = np.concatenate([a, b])
    if not len(a) or not len(b) or not np.ptp(both) > 0:
        return None
    low, high = np.quantile(both, [0.001, 0.999])
    bins = int(np.clip(np.sqrt(min(len(a), len(b))), 6, 30))
    edges = np.linspace(low, high, bins + 1)
    first, second = (np.histogram(s, edges, density=True)[0] for s in (a, b))
    name = short(names[j], 40)
    chart = Chart(f"densities of {name} in both samples", (edges[0], edges[-1]),
                  (0, max(first.max(), second.max()) * 1.05), name, "density")  # fmt: skip
    middle = (edges[1:] + edges[:-1]) / 2
    for values, hue, sample in ((first, 1, "X"), (second, 2, "Y")):
        chart.band(middle, np.zeros(len(middle)), values, hue)
        chart.line(middle, values, hue, label=sample, dashed=hue == 2)
    return figure(chart, "The column in which the samples differ most.")


def _together(X: Data, Y: Data) -> Html | None:
    """Points of two variables on the line."""
    try:
        A, B = (np.asarray(as_vectors(Z, "a report"), dtype=float) for Z in (X, Y))
    except (DomainError, ValueError, TypeError):
        return None
    if A.shape[1] != 1 or B.shape[1] != 1:
        r = np.nan_to_num(np.corrcoef(A.T, B.T)[: A.shape[1], A.shape[1] :])
        names = (column_names(X), column_names(Y))
        i, j = np.unravel_index(np.argmax(np.abs(r)), r.shape)
        A, B = A[:, [int(i)]], B[:, [int(j)]]
        words = f"Column {short(names[0][i], 30)} against {short(names[1][j], 30)}, the pair with "
        words += f"the largest correlation ({number(float(r[i, j]), 2)})."
    else:
        words = "Both variables, and their ranks, in which marginal distributions play no part."
    a, b = A[:, 0], B[:, 0]
    first = Chart("both variables", (a.min(), a.max()), (b.min(), b.max()), "x", "y").points(
        a, b, 1, size=4.5
    )
    ranks = [np.argsort(np.argsort(v, kind="stable")) / max(len(v) - 1, 1) for v in (a, b)]
    second = Chart("ranks of both variables", (0, 1), (0, 1), "rank of x", "rank of y")
    second.points(ranks[0], ranks[1], 1, size=4.5)
    return join(
        [paragraph(words), figures(figure(first, "As they are."), figure(second, "Their ranks."))]
    )


def _kernels(result: TestResult) -> Section:
    kernel = result.details.get("best", result.kernel)
    parts: list[Any] = []
    if isinstance(kernel, Kernel):
        if "best" in result.details:
            parts.append(paragraph("Of several kernels, this one had the largest score:"))
        parts.append(tag("div", formula(kernel), class_="equation"))
        parts.append(folded("Why this is a kernel, and what follows", listing(kernel.explain())))
    elif isinstance(kernel, list | tuple) and all(isinstance(k, Kernel) for k in kernel):
        parts += [tag("div", formula(k), class_="equation") for k in kernel[:3]]
    every = result.kernel
    pvalues = result.details.get("pvalues")
    if isinstance(every, list) and pvalues is not None and len(every) == np.size(pvalues):
        rows = [
            (code(short(repr(k), 80)), number(float(p), 3))
            for k, p in zip(every, np.ravel(pvalues), strict=True)
        ]
        caption = "The p-value of each kernel alone; the test accounts for their number."
        parts.append(
            folded(f"All {len(every)} kernels", table(caption, ["kernel", "p-value"], rows))
        )
    if not parts:
        return Section("Kernel", left_out="the result has no kernel.")
    return Section("Kernel", join(parts))


def _computed(result: TestResult) -> Section:
    facts = [
        (name.replace("_", " "), number(value, 4))
        for name, value in result.details.items()
        if isinstance(value, int | float | np.number)
    ]
    lines: list[Any] = [listing(result.explain())]
    return Section("How it was computed", join([*lines, definitions(facts) if facts else None]))
