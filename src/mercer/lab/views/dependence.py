"""Dependence of x and y: the witness of HSIC, and the functions that vary together most."""

from __future__ import annotations

import numpy as np

from ...kernels.base import Kernel
from ...stats.constrained import coco
from ...stats.independence import independence_test
from ..kernels import classes, written
from ..picture import (
    BLUE,
    COLUMNS,
    RED,
    ROWS,
    Panel,
    Picture,
    along,
    array,
    code,
    in_words,
    span,
)
from ..state import WINDOW, Option, State
from .two_samples import null

OPTIONS = (Option("permutations", "permutations", 499, 99, 999),)


def compute(state: State, kernel: Kernel) -> Picture:
    """The picture of a test of independence."""
    state.need(6)
    x, y = state.X[:, :1], state.X[:, 1:]
    count = state.options["permutations"]
    result = independence_test(x, y, kernels=[kernel, kernel], n_permutations=count, rng=0)
    found = coco(x, y, kernel, kernel)
    u, v = found.f(x), found.g(y)
    sign = 1.0 if u[np.argmax(np.abs(u - u.mean()))] > u.mean() else -1.0
    panel = Panel("more often together than if independent", xlabel="x", ylabel="y",
                  editable=True, wide=True)  # fmt: skip
    values = witness_values(kernel, x, y)
    top = float(np.abs(values).max()) or 1.0
    panel.field(values, scheme="diverging", levels=np.linspace(-top, top, 11)[1:-1].tolist())
    t, s = along(*WINDOW[0]), along(*WINDOW[1])
    curves = Panel("f(x) and g(y) of COCO", WINDOW[0], (0, 1), "x or y", "value")
    f, g = sign * found.f(t[:, None]), sign * found.g(s[:, None])
    curves.y = span(f, g)
    curves.line(t, f, BLUE, label="f(x)").line(s, g, RED, label="g(y)")
    both = Panel("g(y) against f(x)", span(u), span(v), "f(x)", "g(y)")
    both.dots(sign * u, sign * v)
    both.x, both.y = span(sign * u), span(sign * v)
    facts = [
        ("HSIC", in_words(result.statistic), "statistic of the test"),
        ("p-value", in_words(result.pvalue), f"{count} permutations"),
        ("COCO", in_words(found.value), "largest covariance of f(x), g(y) with norms 1"),
        ("correlation", _correlation(x[:, 0], y[:, 0]), "of x and y themselves"),
        ("of f and g", _correlation(u, v), "correlation of f(x) and g(y)"),
    ]
    dependent = result.pvalue <= 0.05
    verdict = "x and y are dependent" if dependent else "No evidence of dependence"
    k = written(kernel)
    python = code(
        ["coco", "independence_test", *classes(kernel)],
        [
            f"x, y = {array(x[:, 0])}, {array(y[:, 0])}",
            f"print(independence_test(x, y, kernels=[{k}, {k}], n_permutations={count}, rng=0))",
            f"plot_coco(coco(x, y, {k}, {k}), x, y)",
        ],
        "plot_coco",
    )
    panels = [panel, curves, both, null(result)]
    return Picture(panels, facts, python, f"{verdict} at the 5 % level.")


def witness_values(kernel: Kernel, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """mean k(xᵢ, x) l(yᵢ, y) - mean k(xᵢ, x) mean l(yᵢ, y) over the window, in rows."""
    a, b = np.linspace(*WINDOW[0], COLUMNS), np.linspace(*WINDOW[1], ROWS)
    A, B = kernel(a[:, None], x), kernel(b[:, None], y)
    return np.asarray(B @ A.T / len(x) - np.outer(B.mean(axis=1), A.mean(axis=1)))


def _correlation(u: np.ndarray, v: np.ndarray) -> str:
    if min(np.std(u), np.std(v)) < 1e-12:
        return "–"
    return in_words(float(np.corrcoef(u, v)[0, 1]))
