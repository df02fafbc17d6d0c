"""Two samples: the witness function, where they differ, and how sure that is."""

from __future__ import annotations

import numpy as np

from ...kernels.base import Kernel
from ...stats.two_sample import two_sample_test
from ...stats.witnesses import witness
from ..kernels import classes, written
from ..picture import BLUE, RED, Panel, Picture, along, array, code, in_words, over_plane, span
from ..state import WINDOW, Option, State

OPTIONS = (
    Option("where", "samples of", "plane", choices=(
        ("plane", "points of the plane"), ("line", "numbers: x only"))),
    Option("permutations", "permutations", 499, 99, 999),
)  # fmt: skip


def compute(state: State, kernel: Kernel) -> Picture:
    """The picture of a two-sample test."""
    state.need_classes()
    line = state.options["where"] == "line"
    Z = state.X[:, :1] if line else state.X
    A, B = Z[state.labels == 0], Z[state.labels == 1]
    if min(len(A), len(B)) < 2:
        raise ValueError("Each of the two samples needs at least two points: classes 0 and 1.")
    count = state.options["permutations"]
    result = two_sample_test(A, B, kernel, n_permutations=count, rng=0)
    w = witness(A, B, kernel)
    panel = Panel("witness function", editable=True, wide=True)
    if line:
        panel.xlabel, panel.ylabel = "x", "witness, histograms (scaled)"
        _on_the_line(panel, w, A[:, 0], B[:, 0])
    else:
        values = over_plane(w)
        top = float(np.abs(values).max()) or 1.0
        levels = [float(v) for v in np.linspace(-top, top, 11)[1:-1]]
        panel.field(-values, scheme="diverging", levels=levels)
    facts = [
        ("MMD²", in_words(result.statistic), "unbiased estimate"),
        ("p-value", in_words(result.pvalue), f"{count} permutations"),
        ("‖witness‖", in_words(w.norm()), "the biased MMD"),
        ("sizes", f"{len(A)}, {len(B)}", "points in the samples"),
    ]
    verdict = "The samples differ" if result.pvalue <= 0.05 else "No evidence of a difference"
    python = code(
        ["two_sample_test", *classes(kernel)],
        [
            f"A, B = {array(A)}, {array(B)}",
            f"print(two_sample_test(A, B, {written(kernel)}, n_permutations={count}, rng=0))",
            f"plot_witness(A, B, {written(kernel)})",
        ],
        "plot_witness",
    )
    return Picture([panel, null(result)], facts, python, f"{verdict} at the 5 % level.")


def null(result: object) -> Panel:
    """The distribution of the statistic under the null hypothesis, and what was observed."""
    values, observed = np.asarray(result.null), float(result.statistic)  # type: ignore[attr-defined]
    heights, edges = np.histogram(values, 30, density=True)
    panel = Panel("under the null hypothesis", span(values, [observed]), (0, 1.15 * heights.max()),
                  "statistic", "density")  # fmt: skip
    panel.add("bars", edges=edges.tolist(), heights=heights.tolist(), colour=BLUE)
    return panel.line([observed] * 2, [0, 1.15 * float(heights.max())], RED, label="observed")


def _on_the_line(panel: Panel, w: object, a: np.ndarray, b: np.ndarray) -> None:
    """Histograms of both samples, and the witness function over them."""
    edges = np.linspace(*WINDOW[0], 33)
    heights = [np.histogram(z, edges, density=True)[0] for z in (a, b)]
    tallest = max(max(h.max() for h in heights), 1e-9)
    for h, hue in zip(heights, (RED, BLUE), strict=True):
        panel.add("bars", edges=edges.tolist(), heights=(2 * h / tallest).tolist(), colour=hue)
    t = along()
    values = w(t[:, None])  # type: ignore[operator]
    top = float(np.abs(values).max()) or 1.0
    panel.line([-4, 4], [0, 0], thin=True)
    panel.line(t, 2 * values / top, label="witness, scaled")
