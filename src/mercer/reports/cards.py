"""Cards for notebooks: kernels with their formula, Grams as pictures, results in words."""

from __future__ import annotations

from functools import singledispatch
from importlib import import_module
from typing import Any

import numpy as np

from ..data import length
from ..engine.memory import memory_words
from ..gram.base import Gram
from ..kernels.base import Kernel
from ..models.costs import Forecast
from ..rkhs.function import RKHSFunction
from ..search.outcome import Tuning
from ..stats.result import TestResult
from ..stats.segmentation_result import Segmentation
from ..stats.sensitivity import SensitivityResult
from ..tuning.path import RidgePath
from .drift import null_figure
from .formula import formula, parameters
from .images import thumbnail
from .markup import (
    Html,
    count,
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
from .model import chips
from .page import card
from .svg import Chart, figure

_LEVEL = 0.05
_MOST = 20  # parameters in a card
_MOST_ENTRIES = 4_000_000  # of a Gram whose blocks may need all of it
_MOST_POINTS = 2000  # of a function whose norm is computed
_HOMES = ("sklearn.utils._repr_html.estimator", "sklearn.utils._estimator_html_repr")


def card_of(shown: Any) -> str:
    """The card of an object: for those that are not known here, what they print."""
    try:
        return card(_parts(shown))
    except Exception:  # a picture must not stand in the way of the object
        return card(listing(repr(shown)))


@singledispatch
def _parts(shown: Any) -> Html:
    return join([_head(type(shown).__name__), listing(str(shown))])


@_parts.register
def _(kernel: Kernel) -> Html:
    rows = parameters(kernel)[:_MOST]
    facts = definitions(rows) if rows else None
    if any("__" in name for name, _ in rows):  # of parts, whose values stand beside them
        inside = table("Names as in set_params.", ["parameter", "value"], rows, words=(0, 1))
        facts = folded("Parameters", inside)
    why = folded("Why this is a kernel, and what follows", listing(kernel.explain()))
    domain = f" on {kernel.properties.domain}"
    return join([
        _head(type(kernel).__name__, domain),
        tag("div", formula(kernel), class_="equation"),
        facts,
        chips(kernel.properties),
        why,
    ])  # fmt: skip


@_parts.register
def _(gram: Gram) -> Html:
    shape = f" {gram.shape[0]} × {gram.shape[1]}, {gram.dtype}"
    facts = [("memory", memory_words(gram.nbytes)), ("device", gram.device)]
    if gram.rank is not None:
        facts.append(("features", number(gram.rank)))
    words = join([definitions(facts), listing(gram.explain())])
    entries = gram.shape[0] * gram.shape[1]
    cheap = gram.of_kernel or gram.features is not None or entries <= _MOST_ENTRIES
    picture = thumbnail(gram) if cheap and entries and not gram.streamed else None
    return join([
        _head(type(gram).__name__, shape),
        tag("div", picture, tag("div", words), class_="beside"),
    ])  # fmt: skip


@_parts.register
def _(result: TestResult) -> Html:
    against = result.pvalue <= _LEVEL
    says = "Evidence against" if against else "No evidence against"
    words = tag("strong", says, class_="warn" if against else "good")
    facts = [("p-value", number(result.pvalue, 3)), ("statistic", number(result.statistic, 4))]
    if result.pvalue_interval is not None:
        low, high = result.pvalue_interval
        facts.append(("interval of p", f"{number(low, 2)} to {number(high, 2)}"))
    text = join([
        paragraph(words, f": “{result.hypothesis}”, at the 5% level."),
        definitions(facts),
        listed(result.notes) if result.notes else None,
    ])  # fmt: skip
    return join(
        [_head(result.method), tag("div", null_figure(result), tag("div", text), class_="beside")]
    )


@_parts.register
def _(found: Segmentation) -> Html:
    n = max(found.n_samples, 1)
    chart = Chart(
        f"{found.n_changes} changes among {n} samples", (0, n), (0, 1), "sample",
        height=110, yticks=[],
    )  # fmt: skip
    for i, part in enumerate(found.segments):
        chart.band([part.start, part.stop], [0, 0], [1, 1], 1 + i % 2)
    rows = [
        (f"{p.start} to {p.stop - 1}", number(p.stop - p.start)) for p in found.segments[:_MOST]
    ]
    words = table("Segments.", ["samples", "length"], rows)
    notes = listed(found.notes) if found.notes else None
    head = _head(count(found.n_changes, "change"), f" among {n} samples ({found.method})")
    return join([head, tag("div", figure(chart, None), tag("div", words, notes), class_="beside")])


@_parts.register
def _(found: SensitivityResult) -> Html:
    rows = [
        (short(name), number(float(a), 3), number(float(b), 3), number(float(r), 3))
        for name, a, b, r in zip(found.names, found.first, found.total, found.r2, strict=True)
    ][:_MOST]
    head = ["input", "first order", "total", "R²"]
    notes = listed(found.notes) if found.notes else None
    return join(
        [_head("HSIC-ANOVA indices"), table("Shares of the dependence.", head, rows), notes]
    )


@_parts.register
def _(path: RidgePath) -> Html:
    loo = np.asarray(path.loo, dtype=float)
    best = int(np.argmin(loo))
    chart = Chart(
        f"leave-one-out error along {len(loo)} penalties", (path.alphas.min(), path.alphas.max()),
        (float(loo.min()), float(loo.max())), "alpha", "mean squared error", xlog=True, ylog=True,
    )  # fmt: skip
    chart.line(path.alphas, loo, 1, label="leave-one-out").points(
        [path.alphas[best]], [loo[best]], 2, size=9, label="the least"
    )
    facts = [("alpha", number(float(path.alphas[best]), 3)), ("error", number(float(loo[best]), 4))]
    facts.append(("degrees of freedom", number(float(path.dof[best]), 3)))
    return join([
        _head("Ridge path", f" of {len(loo)} penalties"),
        tag("div", figure(chart, None), tag("div", definitions(facts)), class_="beside"),
    ])  # fmt: skip


@_parts.register
def _(f: RKHSFunction) -> Html:
    n = length(f.points)
    facts = [("centres", number(n))]
    if n <= _MOST_POINTS:
        facts.append(("norm", ", ".join(number(float(v), 4) for v in np.ravel(f.norm())[:6])))
    inside = [definitions(facts), tag("div", formula(f.kernel), class_="equation")]
    return join([_head("A function in an RKHS"), *inside])


@_parts.register(Tuning)
@_parts.register(Forecast)
def _(shown: Any) -> Html:
    return join([_head(type(shown).__name__), listing(str(shown))])


def _head(name: str, words: str = "") -> Html:
    return tag("p", name, tag("small", words) if words else None, class_="head")


# ---- scikit-learn's diagram ------------------------------------------------------------------
def diagram(estimator: Any) -> Any:
    """A block of scikit-learn's diagram of an estimator, with the kernel inside."""
    block = _block_class()
    kernel = getattr(estimator, "kernel_", None)
    if not isinstance(kernel, Kernel):
        kernel = getattr(estimator, "kernel", None)
    inside = [kernel] if isinstance(kernel, Kernel) else _estimators(estimator)
    if inside:
        none = [None] * len(inside)
        return block("parallel", inside, names=none, name_details=none)
    name = type(estimator).__name__
    return block("single", estimator, names=name, name_details=str(estimator))


def _estimators(estimator: Any) -> list[Any]:
    """Those that an estimator is made of."""
    values = estimator.get_params(deep=False).values()
    return [v for v in values if hasattr(v, "fit") and hasattr(v, "get_params")]


def kernel_block(kernel: Kernel) -> Any:
    """A kernel in that diagram."""
    words = short(repr(kernel), 80)
    return _block_class()("single", kernel, names=words, name_details=kernel.explain())


def _block_class() -> Any:
    """scikit-learn's class of blocks, which has moved."""
    for home in _HOMES:
        try:
            return import_module(home)._VisualBlock
        except (ImportError, AttributeError):
            continue
    raise ImportError("this version of scikit-learn has no diagrams.")
