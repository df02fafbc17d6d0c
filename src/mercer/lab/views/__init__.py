"""The views of the lab: each is a function from a state and a kernel to a picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from ...kernels.base import Kernel
from ..picture import Picture
from ..state import Option, State


@dataclass(frozen=True)
class View:
    """A tab of the page: its module, what it is called, and what it is about."""

    name: str
    title: str
    lead: str
    data: str = "plane"  # or "line", "strings", "none"
    classes: int = 2

    @property
    def options(self) -> tuple[Option, ...]:
        """Its controls."""
        return import_module(f"{__name__}.{self.name}").OPTIONS

    @property
    def compute(self) -> Callable[[State, Kernel], Picture]:
        """What draws it."""
        return import_module(f"{__name__}.{self.name}").compute


VIEWS = {
    view.name: view
    for view in (
        View("classify", "Classify", "A boundary, its margins, and the points that determine it.",
             classes=6),
        View("regress", "Regress", "A curve through points, and its uncertainty.", "line", 1),
        View("components", "Components", "Directions of largest variance in feature space.",
             classes=3),
        View("space", "Space", "The plane mapped into three dimensions, and a plane there."),
        View("novelty", "One class", "The region where most points are.", classes=1),
        View("clusters", "Clusters", "Groups by distance in feature space.", classes=1),
        View("two_samples", "Two samples", "Where two samples differ, and the evidence for it."),
        View("dependence", "Dependence", "How x and y vary together.", classes=1),
        View("gram", "Gram", "All values of the kernel, and their spectrum.", classes=3),
        View("functions", "Functions", "Sums of bumps, Fourier series, eigenfunctions.", "line",
             1),
        View("strings", "Strings", "Kernels on what you type.", "strings", 0),
        View("digits", "Digits", "Noise removed by kernel PCA and pre-images.", "none", 0),
    )
}  # fmt: skip
