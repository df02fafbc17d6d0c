"""Pictures to start from: every figure of a course on kernels, as a state that can be changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

_DOCUMENTS = (
    "The dog barked at the postman and chased the ball.",
    "A loyal dog guards the house; a bored dog digs.",
    "Our dog fetches the ball, then sleeps by the door.",
    "The cat purred on the sofa and ignored the mouse.",
    "A cat hunts a mouse at night and purrs by the fire.",
    "Our cat climbs the curtain and sleeps all day.",
)
_SEQUENCES = (
    "ACGTACGTTAGC", "ACGTTCGTTAGC", "ACGAACGTTAGG", "TTGACCATGGCA", "TTGACGATGGCA", "TAGACCATCGCA",
)  # fmt: skip
_NAMES = ("kernel", "kernels", "colonel", "statistics", "statistic", "logistics", "logic", "magic")


@dataclass(frozen=True)
class Preset:
    """A state with a name.

    Attributes
    ----------
    name, title : str
        In links, and on the page.
    view, kernel : str
    options : dict
    data : callable
        Returns rows (x, y, class).
    strings : tuple of str
    words : str
        A hint on what to look at.
    """

    name: str
    title: str
    view: str
    kernel: str
    words: str
    options: dict[str, Any] = field(default_factory=dict)
    data: Callable[[], np.ndarray] | None = None
    strings: tuple[str, ...] = ()

    def payload(self) -> dict[str, Any]:
        """The request of the page when this is chosen."""
        return {
            "view": self.view,
            "kernel": self.kernel,
            "options": self.options,
            "points": [] if self.data is None else _rounded(self.data()),
            "strings": list(self.strings),
        }

    def as_json(self) -> dict[str, Any]:
        """What is sent to the page."""
        return {"name": self.name, "title": self.title, "words": self.words, **self.payload()}


def variants() -> list[dict[str, Any]]:
    """The first picture of every view with each choice that its options offer, one at a time."""
    from .views import VIEWS

    first = {preset.view: preset.payload() for preset in reversed(PRESETS)}
    return [
        payload | {"options": payload["options"] | {option.name: value}}
        for name, payload in first.items()
        for option in VIEWS[name].options
        for value, _ in option.choices
        if value != payload["options"].get(option.name, option.default)
    ]


def _rounded(rows: np.ndarray) -> list[list[float]]:
    rows = np.round(rows, 2)
    rows[:, 0], rows[:, 1] = rows[:, 0].clip(-3.9, 3.9), rows[:, 1].clip(-2.9, 2.9)
    return [[float(x), float(y), int(label)] for x, y, label in rows]


def _rows(x: Any, y: Any, labels: Any = 0) -> np.ndarray:
    return np.column_stack([x, y, np.broadcast_to(labels, np.shape(x))])


def _blobs(centres: Any, count: int, spread: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    each = []
    for x, y, label in centres:
        noise = spread * rng.normal(size=(2, count))
        each.append(_rows(x + noise[0], y + noise[1], label))
    return np.concatenate(each)


# points around centres (x, y, class)
xor = partial(_blobs, [(1.7, 1.4, 1), (-1.7, -1.4, 1), (1.7, -1.4, 0), (-1.7, 1.4, 0)], 10, 0.4, 1)
separable = partial(_blobs, [(-1.7, -0.7, 0), (1.7, 0.8, 1)], 12, 0.55, 3)
overlapping = partial(_blobs, [(-1.1, -0.4, 0), (1.1, 0.5, 1)], 28, 0.95, 4)
three = partial(_blobs, [(-1.9, -1.0, 0), (1.9, -1.0, 1), (0.0, 1.5, 2)], 18, 0.75, 7)
groups = partial(_blobs, [(-2, -1, 0), (2, -0.9, 1), (0.1, 1.5, 2)], 25, 0.5, 12)


def disc() -> np.ndarray:
    """A class inside an ellipse, and one around it."""
    rng = np.random.default_rng(5)
    angle, r = rng.uniform(0, 2 * np.pi, 56), np.repeat([0.55, 1.5], 28)
    r = r + rng.uniform(-0.35, 0.3, 56)
    return _rows(1.9 * r * np.cos(angle), 1.4 * r * np.sin(angle), np.repeat([1, 0], 28))


def moons() -> np.ndarray:
    """Two half circles, one in the other."""
    rng = np.random.default_rng(6)
    t = np.pi * np.linspace(0, 1, 30)
    x = np.concatenate([1.7 * np.cos(t) - 0.9, 1.7 * np.cos(t + np.pi) + 0.9])
    y = np.concatenate([1.7 * np.sin(t) - 0.5, 1.7 * np.sin(t + np.pi) + 0.5])
    noise = 0.16 * rng.normal(size=(2, 60))
    return _rows(x + noise[0], y + noise[1], np.repeat([0, 1], 30))


def wave() -> np.ndarray:
    """A wave with noise."""
    rng = np.random.default_rng(8)
    x = np.sort(rng.uniform(-3.7, 3.7, 45))
    return _rows(x, 1.4 * np.sin(1.7 * x) + 0.3 * x + 0.3 * rng.normal(size=45))


def spread() -> np.ndarray:
    """Noise that grows from left to right."""
    rng = np.random.default_rng(9)
    x = np.linspace(-3.7, 3.7, 110)
    return _rows(x, np.sin(x) + (0.1 + 0.13 * (x + 4)) * rng.normal(size=110))


def few() -> np.ndarray:
    """A few observations with gaps between."""
    return _rows([-3.4, -2.9, -2.2, -0.4, 0.2, 0.7, 2.9], [-0.6, 0.4, 1.3, 0.3, -0.7, -1.2, 0.9])


def bumps() -> np.ndarray:
    """Centres and weights."""
    x = [-3.2, -2.1, -0.9, 0.3, 1.5, 2.8]
    return _rows(x, [1.1, 0.9, -1.0, 1.6, -0.8, 1.0])


def rings() -> np.ndarray:
    """A cluster inside another."""
    rng = np.random.default_rng(10)
    angle = rng.uniform(0, 2 * np.pi, 90)
    r = np.where(np.arange(90) < 30, 0.4 * rng.uniform(size=90), 2.1 + 0.15 * rng.normal(size=90))
    return _rows(r * np.cos(angle), r * np.sin(angle), (np.arange(90) < 30).astype(int))


def slanted() -> np.ndarray:
    """A cloud along a line."""
    rng = np.random.default_rng(11)
    a, b = 1.5 * rng.normal(size=60), 0.35 * rng.normal(size=60)
    return _rows(0.85 * a - 0.5 * b, 0.5 * a + 0.85 * b)


def scattered() -> np.ndarray:
    """A bent cloud, and a few points far from it."""
    rng = np.random.default_rng(13)
    x = rng.uniform(-2.3, 2.3, 70)
    y = 0.45 * x**2 - 1.2 + 0.3 * rng.normal(size=70)
    far = np.array([[-3.2, -2.0], [3.1, -2.2], [0.2, 2.3], [-0.6, 1.6]])
    return _rows(np.append(x, far[:, 0]), np.append(y, far[:, 1]))


def laplace() -> np.ndarray:
    """A normal and a Laplace sample of equal mean and variance, as numbers."""
    rng = np.random.default_rng(16)
    x = np.concatenate([rng.normal(0, 1.0, 150), rng.laplace(0, 1.0 / np.sqrt(2), 150)])
    height = rng.uniform(-2.8, -2.2, 300)
    return _rows(x, height, np.repeat([0, 1], 150))


def shifted() -> np.ndarray:
    """Two samples, of which one is moved and turned a little."""
    rng = np.random.default_rng(15)
    A = rng.normal(size=(2, 50)) * [[1.0], [0.6]]
    B = rng.normal(size=(2, 50)) * [[0.7], [0.9]] + [[0.7], [0.3]]
    return np.concatenate([_rows(A[0], A[1], 0), _rows(B[0], B[1], 1)])


def circle() -> np.ndarray:
    """Dependent, but not correlated."""
    rng = np.random.default_rng(16)
    angle = rng.uniform(0, 2 * np.pi, 90)
    r = 2 + 0.2 * rng.normal(size=90)
    return _rows(r * np.cos(angle), r * np.sin(angle))


def independent() -> np.ndarray:
    """Neither."""
    rng = np.random.default_rng(17)
    return _rows(rng.uniform(-2.5, 2.5, 80), rng.normal(size=80))


PRESETS = (
    Preset("margins", "Margins and support vectors", "classify", "Linear()",
           "Lower C: the margin widens and more points lie beyond it.",
           {"model": "svc", "C": 1.0}, overlapping),
    Preset("hard-margin", "The widest gap: hard margin", "classify", "Linear()",
           "Three points determine the boundary; moving any other changes nothing.",
           {"model": "hard"}, separable),
    Preset("many-lines", "Separating lines, one with the widest margin", "classify", "Linear()",
           "No green line makes an error. Which would you trust with a new point?",
           {"model": "hard", "lines": True}, separable),
    Preset("hinge", "Hinge loss and zero-one loss", "classify", "Linear()",
           "Right of margin 1 the hinge is 0: those points are not support vectors.",
           {"model": "svc", "C": 0.3}, overlapping),
    Preset("nu", "ν bounds errors and support vectors", "classify", "Gaussian(1.5)",
           "At most ν of the points are margin errors, at least ν are support vectors.",
           {"model": "nu", "nu": 0.3}, overlapping),
    Preset("polynomial", "Polynomial boundary", "classify", "Polynomial(3)",
           "A cubic bends once; compare degree 2 and 5.", {"C": 1.0}, moons),
    Preset("radial", "Radial boundary", "classify", "Gaussian(0.8)",
           "A small σ draws islands around points, a large one nearly a line.",
           {"C": 5.0}, moons),
    Preset("conic", "An ellipse, by conic features", "classify", "Conic()",
           "Linear in 1, x₁, x₂ and their products: an ellipse in the plane.", {"C": 10.0}, disc),
    Preset("xor", "XOR", "classify", "XOR()",
           "No line separates opposite corners; the product x₁x₂ does.", {"C": 10.0}, xor),
    Preset("one-vs-one", "Three classes: one-vs-one", "classify", "Linear()",
           "Three machines vote. Compare with one-vs-rest.",
           {"strategy": "ovo", "C": 1.0}, three),
    Preset("one-vs-rest", "Three classes: one-vs-rest", "classify", "Linear()",
           "Three machines, and the largest score wins.", {"strategy": "ovr", "C": 1.0}, three),
    Preset("good-fit", "Ridge regression: a good fit", "regress", "Gaussian(0.7)",
           "λ and σ are well chosen. Change either.", {"alpha": 0.1}, wave),
    Preset("underfit", "Too large a λ: underfitting", "regress", "Gaussian(0.7)",
           "The norm is small, and so is the curve.", {"alpha": 30.0}, wave),
    Preset("overfit", "Too small a λ: overfitting", "regress", "Gaussian(0.3)",
           "The curve runs through the noise, and its norm explodes.", {"alpha": 1e-6}, wave),
    Preset("wide-sigma", "Too large a σ", "regress", "Gaussian(5.0)",
           "The kernel hardly distinguishes points: too smooth.", {"alpha": 0.1}, wave),
    Preset("narrow-sigma", "Too small a σ", "regress", "Gaussian(0.1)",
           "Each bump only affects its own point.", {"alpha": 0.1}, wave),
    Preset("gp", "A Gaussian process and its uncertainty", "regress", "Gaussian(0.8)",
           "The band is wide where there are no points.",
           {"model": "gp", "noise": 0.01, "draws": True}, few),
    Preset("tube", "The tube of support vector regression", "regress", "Gaussian(0.8)",
           "Points inside the tube have no weight at all.",
           {"model": "svr", "epsilon": 0.4}, wave),
    Preset("quantiles", "Quantiles where noise grows", "regress", "Gaussian(1.5)",
           "The band opens to the right, as the noise does.",
           {"model": "quantile", "alpha": 0.5}, spread),
    Preset("spline", "A natural cubic spline", "regress", "Gaussian(1.0)",
           "The space consists of functions with a square integrable second derivative.",
           {"model": "spline", "alpha": 0.1}, wave),
    Preset("kernel-pca", "Kernel PCA of three groups", "components", "Gaussian(1.0)",
           "The first components tell the groups apart, the next split them.", {}, groups),
    Preset("principal-axes", "Principal directions", "components", "Linear()",
           "With the linear kernel, components are straight directions.", {}, slanted),
    Preset("xor-space", "XOR in feature space", "space", "XOR()",
           "The third coordinate x₁x₂ lifts opposite corners to the same side.",
           {"plane": "separate"}, xor),
    Preset("ellipse-space", "An ellipse becomes a plane", "space", "Linear() ** 2",
           "In (x₁², √2 x₁x₂, x₂²) the two classes lie on two sides of a plane.",
           {"plane": "separate"}, disc),
    Preset("principal-plane", "Principal subspace as a plane", "space", "XOR()",
           "Grey points are projections onto the two main directions.",
           {"plane": "principal"}, slanted),
    Preset("range", "The range of φ inside H", "space", "XOR()",
           "The image of the plane is a surface; H is all of the space around it.",
           {"plane": "none"}, groups),
    Preset("level-sets", "Level sets of a one-class SVM", "novelty", "Gaussian(1.5)",
           "At most ν of the points are left outside.", {"nu": 0.1}, scattered),
    Preset("k-means", "Kernel k-means", "clusters", "Gaussian(1.0)",
           "Clusters are balls in feature space, not in the plane.", {"count": 3}, groups),
    Preset("rings", "A ring around a blob", "clusters", "Gaussian(0.4)",
           "No straight line separates them; spectral clustering does.",
           {"method": "spectral", "count": 2}, rings),
    Preset("witness", "Normal or Laplace? The witness on the line", "two_samples",
           "Gaussian(0.5)", "Same mean, same variance: the witness sees the peak and the tails.",
           {"where": "line"}, laplace),
    Preset("witness-plane", "Two samples in the plane", "two_samples", "Gaussian(0.8)",
           "Red where the first sample has more mass, blue where the second has.",
           {"where": "plane"}, shifted),
    Preset("circle", "Dependent, but not correlated", "dependence", "Gaussian(0.7)",
           "f and g turn the circle into a line.", {}, circle),
    Preset("independent", "Independent", "dependence", "Gaussian(0.7)",
           "The p-value is uniform here: drag points until it is small.", {}, independent),
    Preset("gram", "A Gram matrix with blocks", "gram", "Gaussian(0.8)",
           "Points of one class resemble each other: blocks on the diagonal.", {}, three),
    Preset("sum-of-bumps", "A function as a sum of bumps", "functions", "Gaussian(0.7)",
           "Drag a point: its height is a weight, its place a centre.", {"kind": "bumps"}, bumps),
    Preset("top-hat", "Top hat and its Fourier series", "functions", "Gaussian(0.7)",
           "Add terms: the norm grows without bound.", {"kind": "hat"}, bumps),
    Preset("theta", "The theta kernel and its Fourier series", "functions", "Gaussian(0.7)",
           "Coefficients that decay fast: a few terms are enough.", {"kind": "theta"}, bumps),
    Preset("eigenfunctions", "Gaussian eigenfunctions", "functions", "Gaussian(0.7)",
           "Under a normal distribution: Hermite polynomials, and eigenvalues in a ratio.",
           {"kind": "eigen"}, bumps),
    Preset("documents", "Documents as histograms of words", "strings", "Words().normalize()",
           "Dogs first, then cats; common words, such as the, blur the two blocks.",
           {"first": 1, "second": 2}, strings=_DOCUMENTS),
    Preset("k-mers", "Sequences by shared k-mers", "strings", "Spectrum(3).normalize()",
           "Raise k: only close relatives still share words.", {}, strings=_SEQUENCES),
    Preset("subsequences", "Words by subsequences with gaps", "strings",
           "Subsequence(3, 0.5).normalize()", "Gaps are allowed, and cost λ each.", {},
           strings=_NAMES),
    Preset("denoising", "Denoising digits", "digits", "Gaussian(3.0)",
           "With few components the digit is lost, with many the noise stays.", {"components": 60}),
)  # fmt: skip
