"""Kernel PCA: a component as a function of the plane, scores, and how much each explains."""

from __future__ import annotations

import numpy as np

from ...kernels.base import Kernel
from ...kernels.vectors.dot import Linear
from ...models.pca import KernelPCA
from ..kernels import classes, written
from ..picture import (
    INK,
    Panel,
    Picture,
    array,
    centred,
    code,
    in_words,
    over_plane,
    span,
    spectrum,
)
from ..state import WINDOW, Option, State

_KEPT = 6
OPTIONS = (Option("component", "component", 1, 1, _KEPT),)


def compute(state: State, kernel: Kernel) -> Picture:
    """The picture of a component."""
    state.need(3)
    X = state.X
    model = KernelPCA(min(_KEPT, len(X) - 1), kernel=kernel).fit(X)
    count = int(np.sum(model.eigenvalues_ > 1e-9 * max(model.eigenvalues_[0], 1e-300)))
    if not count:
        raise ValueError("All points are equal, so there are no components.")
    j = min(state.options["component"], count) - 1
    values = over_plane(lambda Z: model.transform(Z)[:, j])
    panel = Panel(f"component {j + 1}", editable=True, wide=True)
    panel.field(values, scheme="diverging", levels=_levels(values))
    if type(kernel) is Linear and count >= 1:
        _draw_axes(panel, X)
    scores = model.transform(X)
    second = min(1, count - 1)
    places = Panel("scores", span(scores[:, 0]), span(scores[:, second]),
                   "component 1", f"component {second + 1}")  # fmt: skip
    places.dots(scores[:, 0], scores[:, second], state.labels)
    full = np.linalg.eigvalsh(centred(kernel(X))) / len(X)
    share = model.eigenvalues_[j] / len(X) / max(float(np.sum(np.maximum(full, 0))), 1e-300)
    facts = [
        ("variance", in_words(model.eigenvalues_[j] / len(X)), "λⱼ / n along this component"),
        ("share", f"{share:.1%}", "of the variance in feature space"),
        ("dimensions", str(int(np.sum(full > 1e-10 * full[-1]))), "that the points span there"),
    ]
    python = code(
        ["KernelPCA", *classes(kernel)],
        [
            f"X = {array(X)}",
            f"model = KernelPCA({model.n_components}, kernel={written(kernel)}).fit(X)",
            "grid = np.stack(np.meshgrid(np.linspace(-4, 4, 65), np.linspace(-3, 3, 49)), -1)",
            f"plt.contour(*grid.T, model.transform(grid.reshape(-1, 2))[:, {j}].reshape(49, 65).T)",
        ],
        module="import matplotlib.pyplot as plt",
    )
    return Picture([panel, places, spectrum(full, "variances λⱼ / n")], facts, python)


def _levels(values: np.ndarray) -> list[float]:
    top = float(np.nanmax(np.abs(values))) or 1.0
    return [float(f"{v:.4g}") for v in np.linspace(-top, top, 13)[1:-1]]


def _draw_axes(panel: Panel, X: np.ndarray) -> None:
    """The principal directions, as lines through the mean."""
    centre = X.mean(axis=0)
    _, size, directions = np.linalg.svd(X - centre, full_matrices=False)
    for length, d in zip(size / np.sqrt(len(X)), directions, strict=True):
        reach = 2 * length
        ends = np.stack([centre - reach * d, centre + reach * d])
        panel.line(ends[:, 0].clip(*WINDOW[0]), ends[:, 1].clip(*WINDOW[1]), INK)
