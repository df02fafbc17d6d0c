"""Clusters in feature space: kernel k-means and spectral clustering."""

from __future__ import annotations

import numpy as np

from ...kernels.base import Kernel
from ...models.clustering import KernelKMeans
from ...models.pca import KernelPCA
from ...models.spectral_clustering import SpectralClustering
from ..kernels import classes, written
from ..picture import Panel, Picture, array, centred, code, over_plane, span
from ..state import Option, State

OPTIONS = (
    Option("method", "method", "kmeans", choices=(
        ("kmeans", "kernel k-means"), ("spectral", "spectral clustering"))),
    Option("count", "clusters", 2, 2, 6),
)  # fmt: skip


def compute(state: State, kernel: Kernel) -> Picture:
    """The picture of clusters."""
    count = state.options["count"]
    state.need(count + 1)
    X, spectral = state.X, state.options["method"] == "spectral"
    name = "SpectralClustering" if spectral else "KernelKMeans"
    model = (SpectralClustering if spectral else KernelKMeans)(
        count, kernel=kernel, random_state=0, n_init=4
    ).fit(X)
    panel = Panel("clusters", editable=True, wide=True)
    if not spectral:
        panel.field(over_plane(model.predict), scheme="regions", levels=[])
    panel.add("recolour", labels=model.labels_.tolist())
    scores = np.asarray(KernelPCA(2, kernel=kernel).fit_transform(X))
    scores = np.pad(scores, ((0, 0), (0, 2 - scores.shape[1])))
    places = Panel("in feature space", span(scores[:, 0]), span(scores[:, 1]),
                   "component 1", "component 2")  # fmt: skip
    places.dots(scores[:, 0], scores[:, 1], model.labels_)
    sizes = np.bincount(model.labels_, minlength=count)
    facts = [("sizes", ", ".join(map(str, sizes)), "points in each cluster")]
    if not spectral:
        total = float(np.trace(centred(kernel(X))))
        share = 1 - float(model.inertia_) / max(total, 1e-300)
        facts.append(("explained", f"{share:.0%}", "of the scatter lies between clusters"))
    python = code(
        [name, *classes(kernel)],
        [
            f"X = {array(X)}",
            f"model = {name}({count}, kernel={written(kernel)}, n_init=4, random_state=0).fit(X)",
            "plt.scatter(*X.T, c=model.labels_)",
        ],
        module="import matplotlib.pyplot as plt",
    )
    return Picture([panel, places], facts, python)
