"""Feature space in three dimensions: where the plane goes, and a plane between classes there."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.base import Kernel
from ...kernels.vectors.dot import Linear
from ...kernels.vectors.planar import XOR
from ...models.pca import KernelPCA
from ...models.svm import SVC
from ..kernels import classes, written
from ..picture import Panel, Picture, array, code, in_words
from ..state import WINDOW, Option, State

OPTIONS = (
    Option("plane", "plane", "separate", choices=(
        ("separate", "between two classes"), ("principal", "principal subspace"),
        ("none", "none"))),
    Option("C", "C, weight of errors", 10.0, 0.01, 1000.0, log=True,
           when=("plane", ("separate",))),
    Option("range", "show the image of the plane", True),
)  # fmt: skip
_MESH = 13  # lines of the image, along each axis


def compute(state: State, kernel: Kernel) -> Picture:
    """The picture in feature space."""
    state.need(4)
    X, y = state.X, state.labels
    names, phi = _coordinates(kernel, X)
    F = phi(X)
    centre, scale = F.mean(axis=0), np.abs(F - F.mean(axis=0)).max(axis=0)
    scale = np.where(scale > 1e-12, scale, 1.0)

    def shown(Z: np.ndarray) -> np.ndarray:
        return (Z - centre) / scale

    panel = Panel("the points in the plane", editable=True, wide=True)
    space = Panel("feature space", axes=False, wide=True)
    mark: dict[str, Any] = {"names": names, "labels": y.tolist(), "points": _rows(shown(F))}
    if state.options["range"]:
        a, b = (np.linspace(low, high, _MESH) for low, high in _box(X))
        grid = np.stack([u.ravel() for u in np.meshgrid(a, b)], axis=1)
        mark["mesh"] = _rows(np.clip(shown(phi(grid)), -3, 3))
        mark["side"] = _MESH
    facts = [("dimensions", "3", names_in_words(names))]
    kind = state.options["plane"]
    if kind == "separate":
        state.need_classes()
        if len(np.unique(y)) > 2:
            raise ValueError("A plane separates two classes; there are more.")
        # in coordinates of the picture, so that the plane is what is seen
        model = SVC(kernel=Linear(), C=state.options["C"]).fit(F, y)
        w, b0 = model.coef_[0], float(model.intercept_[0])
        mark["plane"] = _plane(w * scale, b0 + float(w @ centre))
        wrong = int(np.sum(model.predict(F) != y))
        facts += [("errors", str(wrong), f"of {len(y)} points, with a plane in feature space"),
                  ("margin", in_words(model.reports_[0].margin), "2 / ‖w‖")]  # fmt: skip
    elif kind == "principal":
        _, sizes, V = np.linalg.svd(F - centre, full_matrices=False)
        normal = V[2]
        mark["plane"] = _plane(normal * scale, 0.0)
        mark["shadows"] = _rows(shown(F - np.outer((F - centre) @ normal, normal)))
        share = 1 - float(sizes[2] ** 2 / max(np.sum(sizes**2), 1e-300))
        facts.append(("share", f"{share:.1%}", "of the variance lies in the plane"))
    space.add("space", **mark)
    return Picture([panel, space], facts, _python(state, kernel))


def names_in_words(names: tuple[str, str, str]) -> str:
    """The coordinates, listed."""
    return f"φ(x) = ({', '.join(names)})"


def _coordinates(kernel: Kernel, X: np.ndarray) -> tuple[tuple[str, str, str], Any]:
    """Three coordinates: the features themselves if they are three, else the main components."""
    if kernel == XOR():
        return ("x₁", "x₂", "x₁x₂"), lambda Z: np.column_stack([Z, Z[:, 0] * Z[:, 1]])
    if kernel == Linear() ** 2:
        names = ("x₁²", "√2 x₁x₂", "x₂²")
        return names, lambda Z: np.column_stack([Z[:, 0] ** 2, 2**0.5 * Z.prod(1), Z[:, 1] ** 2])
    model = KernelPCA(3, kernel=kernel).fit(X)

    def scores(Z: np.ndarray) -> np.ndarray:
        found = np.nan_to_num(np.asarray(model.transform(Z), dtype=float))
        return np.pad(found, ((0, 0), (0, 3 - found.shape[1])))

    return ("component 1", "component 2", "component 3"), scores


def _box(X: np.ndarray) -> list[tuple[float, float]]:
    """The part of the window where points are: features grow fast beyond it."""
    low, high = X.min(axis=0), X.max(axis=0)
    return [(max(l, w[0]), min(h, w[1])) for l, h, w in zip(low, high, WINDOW, strict=True)]


def _plane(normal: np.ndarray, offset: float) -> list[list[float]]:
    """The polygon in which a plane <normal, z> + offset = 0 cuts the cube [-1.15, 1.15]³."""
    r = 1.15
    corners = np.array([[i, j, k] for i in (-r, r) for j in (-r, r) for k in (-r, r)])
    edges = [(a, b) for a in range(8) for b in range(a) if np.sum(corners[a] != corners[b]) == 1]
    height = corners @ normal + offset
    hits = []
    for a, b in edges:
        if (height[a] < 0) != (height[b] < 0):
            t = height[a] / (height[a] - height[b])
            hits.append(corners[a] + t * (corners[b] - corners[a]))
    if len(hits) < 3:
        return []
    middle = np.mean(hits, axis=0)
    unit = normal / np.linalg.norm(normal)
    u = hits[0] - middle
    v = np.cross(unit, u)
    angle = [np.arctan2((h - middle) @ v, (h - middle) @ u) for h in hits]
    return _rows(np.array(hits)[np.argsort(angle)])


def _rows(Z: np.ndarray) -> list[list[float]]:
    return np.round(Z, 4).tolist()


def _python(state: State, kernel: Kernel) -> tuple[str, ...]:
    k = written(kernel)
    lines = [
        f"X, y = {array(state.X)}, {state.labels.tolist()}",
        f"Z = KernelPCA(3, kernel={k}).fit_transform(X)",
        'plt.subplot(projection="3d").scatter(*Z.T, c=y)',
    ]
    return code(["KernelPCA", *classes(kernel)], lines, module="import matplotlib.pyplot as plt")
