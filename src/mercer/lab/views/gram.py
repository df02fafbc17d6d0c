"""The Gram matrix itself: values, spectrum, and what an RKHS function of these points can do."""

from __future__ import annotations

import numpy as np

from ...kernels.base import Kernel
from ..kernels import classes, written
from ..picture import Panel, Picture, array, centred, code, in_words, spectrum
from ..state import Option, State

OPTIONS = (
    Option("order", "order of points", "class", choices=(
        ("class", "by class, then x"), ("x", "by x"), ("placed", "as placed"))),
    Option("centred", "centre in feature space", False),
)  # fmt: skip


def compute(state: State, kernel: Kernel) -> Picture:
    """The picture of a Gram matrix."""
    state.need(1)
    X, y = state.X, state.labels
    order = {
        "class": lambda: np.lexsort((X[:, 0], y)),
        "x": lambda: np.argsort(X[:, 0], kind="stable"),
        "placed": lambda: np.arange(len(X)),
    }[state.options["order"]]()
    K = np.asarray(kernel(X))
    if state.options["centred"]:
        K = centred(K)
    values = np.linalg.eigvalsh(K)
    d = np.maximum(values, 0)
    signs = np.where(y == y.min(), -1.0, 1.0)
    panel = Panel("the points", editable=True, wide=True)
    heat = Panel("Gram matrix", (0, len(X)), (0, len(X)), axes=False, wide=True)
    shown = K[np.ix_(order, order)]
    heat.add("matrix", values=np.round(shown, 4).tolist(), labels=y[order].tolist())
    rank = int(np.sum(values > 1e-10 * max(values[-1], 1e-300)))
    facts = [
        ("rank", str(rank), f"of {len(X)}; eigenvalues above 10⁻¹⁰ of the largest"),
        ("smallest λ", in_words(values[0]), "non-negative, up to rounding"),
        ("trace", in_words(np.trace(K)), "sum of k(x, x)"),
        ("effective dimension", in_words(d.sum() ** 2 / max(np.sum(d**2), 1e-300)), "(Σλ)² / Σλ²"),
        ("‖Σ ±k(xᵢ, ·)‖", in_words(np.sqrt(max(signs @ K @ signs, 0))),
         "norm of the function that adds one class and subtracts the others"),
    ]  # fmt: skip
    k = written(kernel)
    python = code(
        classes(kernel),
        [
            f"X = {array(X[order])}",
            f"K = {f'({k}).center().resolve(X)' if state.options['centred'] else f'({k})'}(X)",
            "plt.imshow(K); print(np.linalg.eigvalsh(K))",
        ],
        module="import matplotlib.pyplot as plt",
    )
    return Picture([panel, heat, spectrum(values)], facts, python)
