"""One-class machines: the region that holds most points, and levels outside."""

from __future__ import annotations

import numpy as np

from ...kernels.base import Kernel
from ...models.novelty import OneClassSVM
from ..kernels import classes, written
from ..picture import Panel, Picture, array, code, in_words, over_plane, span
from ..state import Option, State

OPTIONS = (Option("nu", "ν, maximum share of outliers", 0.1, 0.01, 0.9),)


def compute(state: State, kernel: Kernel) -> Picture:
    """The picture of a one-class machine."""
    state.need(2)
    X, nu = state.X, float(f"{state.options['nu']:.3g}")
    model = OneClassSVM(kernel=kernel, nu=nu).fit(X)
    values = over_plane(model.decision_function)
    f = model.decision_function(X)
    low, high = float(values.min()), float(values.max())
    levels = [low * s for s in (0.8, 0.6, 0.4, 0.2) if low < 0] + [0.0]
    levels += [high * s for s in (0.33, 0.66) if high > 0]
    panel = Panel("level sets", editable=True, wide=True)
    panel.field(values, scheme="level", levels=levels)
    support, report = np.asarray(model.support_), model.reports_[0]
    order = support[np.argsort(f[support], kind="stable")]
    free, bounded = order[report.bounded :], order[: report.bounded]
    panel.add("rings", free=free.tolist(), bounded=bounded.tolist())
    ranked = Panel("decision function, in order", (0, len(f) + 1.0), span(f, [0]), "point", "f(x)")
    ranked.line([0, len(f) + 1], [0, 0], thin=True)
    ranked.stems(np.arange(1, len(f) + 1), np.sort(f))
    facts = [
        ("outside", f"{np.mean(f < -1e-9):.0%}", f"of the points, at most ν = {in_words(nu)}"),
        ("support vectors", f"{len(support) / len(X):.0%}", "of the points, at least ν"),
        ("free", str(len(free)), "on the edge"),
        ("bounded", str(len(bounded)), "outside"),
    ]
    python = code(
        ["OneClassSVM", *classes(kernel)],
        [
            f"X = {array(X)}",
            f"model = OneClassSVM(kernel={written(kernel)}, nu={nu}).fit(X)",
            "plot_decision(model, X)",
        ],
        "plot_decision",
    )
    return Picture([panel, ranked], facts, python)
