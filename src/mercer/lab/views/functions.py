"""Functions in the space of a kernel: sums of bumps, Fourier series, eigenfunctions."""

from __future__ import annotations

import numpy as np

from ...kernels.base import Kernel
from ...kernels.vectors.periodic import Theta
from ...rkhs.expansion import MercerExpansion
from ...rkhs.fourier import FourierSpace, top_hat
from ...rkhs.function import RKHSFunction
from ..kernels import classes, written
from ..picture import (
    BLUE,
    GOLD,
    GREEN,
    INK,
    PURPLE,
    RED,
    Panel,
    Picture,
    along,
    array,
    code,
    in_words,
    span,
    spectrum,
)
from ..state import Option, State

OPTIONS = (
    Option("kind", "function", "bumps", choices=(
        ("bumps", "a sum of bumps"), ("hat", "top hat, Fourier series"),
        ("theta", "theta kernel, Fourier series"), ("eigen", "Gaussian eigenfunctions"))),
    Option("terms", "highest frequency L", 20, 1, 40, when=("kind", ("hat", "theta"))),
    Option("width", "half width of the hat", 1.0, 0.1, 3.0, when=("kind", ("hat",))),
    Option("sigma", "σ of the theta kernel", 0.4, 0.1, 2.0, when=("kind", ("hat", "theta"))),
    Option("lengthscale", "σ of the Gaussian kernel", 1.0, 0.2, 3.0, when=("kind", ("eigen",))),
    Option("count", "eigenfunctions", 3, 1, 6, when=("kind", ("eigen",))),
)  # fmt: skip
_HUES = (BLUE, RED, GREEN, GOLD, 4, PURPLE)


def compute(state: State, kernel: Kernel) -> Picture:
    """The picture of a function."""
    return {"bumps": _bumps, "hat": _hat, "theta": _theta, "eigen": _eigen}[state.options["kind"]](
        state, kernel
    )


def _bumps(state: State, kernel: Kernel) -> Picture:
    """f = Σ aᵢ k(xᵢ, ·): a point is a centre, its height the weight."""
    state.need(1)
    x, a = state.X[:, 0], state.X[:, 1]
    f = RKHSFunction(kernel, x[:, None], a)
    t = along()
    values = f(t[:, None])
    panel = Panel("f = Σ aᵢ k(xᵢ, ·)", xlabel="x", ylabel="f, aᵢ", editable=True, wide=True)
    panel.line([-4, 4], [0, 0], thin=True)
    if len(x) <= 60:
        terms = np.asarray(kernel(t[:, None], x[:, None])) * a
        for term, weight in zip(terms.T, a, strict=True):
            panel.line(t, term, BLUE if weight > 0 else RED, thin=True)
    panel.stems(x, a, INK)
    panel.line(t, values, INK, label="f")
    norm = float(f.norm())
    facts = [
        ("‖f‖", in_words(norm), "√(aᵀKa), norm in the RKHS"),
        ("largest |f|", in_words(np.abs(values).max()), "in the window"),
        ("bound", in_words(np.max(f.bound(t[:, None]))), "‖f‖ √k(x, x), from Cauchy–Schwarz"),
        ("bumps", str(len(x)), "terms of the sum"),
    ]
    bound = Panel("f and its bound", xlabel="x", ylabel="f(x)")
    edge = np.asarray(f.bound(t[:, None]))
    bound.y = span(edge, -edge)
    bound.band(t, -edge, edge, label="|f(x)| ≤ ‖f‖ √k(x, x)").line(t, values, INK, label="f")
    python = code(
        ["RKHSFunction", *classes(kernel)],
        [
            f"x, a = {array(x)}, {array(a)}",
            f"f = RKHSFunction({written(kernel)}, x[:, None], a)",
            "plot_function(f, (-4, 4)); print(f.norm())",
        ],
        "plot_function",
    )
    return Picture([panel, bound], facts, python)


def _hat(state: State, kernel: Kernel) -> Picture:
    """The top hat and its Fourier series, which leaves every space of smooth functions."""
    o = state.options
    width, L, sigma = float(f"{o['width']:.3g}"), o["terms"], float(f"{o['sigma']:.3g}")
    hat = top_hat(width, L)
    t = along(-np.pi, np.pi)
    panel = Panel("top hat", (-np.pi, np.pi), (-0.4, 1.4), "x", "f(x)", wide=True)
    panel.line(t, (np.abs(t) < width).astype(float), RED, label="top hat")
    panel.line(t, hat(t), BLUE, label=f"frequencies to {L}")
    H = FourierSpace(Theta(sigma))
    orders = np.arange(1, L + 1)
    norms = np.log10([float(H.norm(top_hat(width, int(l)))) for l in orders])
    grows = Panel("its norm, as terms are added", (0, L + 1), span(norms), "L", "‖f‖", log=True)
    grows.line(orders, norms, BLUE)
    facts = [
        ("‖f‖", in_words(10 ** norms[-1]), f"in the space of Theta({sigma:g})"),
        ("limit", "∞", "the hat has a jump; no function in the space does"),
    ]
    python = code(
        ["FourierSpace", "Theta", "top_hat"],
        [
            f"f, t = top_hat({width}, {L}), np.linspace(-np.pi, np.pi, 500)",
            f"print(FourierSpace(Theta({sigma})).norm(f))",
            "plt.plot(t, f(t))",
        ],
        module="import matplotlib.pyplot as plt",
    )
    return Picture([panel, _coefficients(hat.coef.real, "coefficients f̂ₗ"), grows], facts, python)


def _theta(state: State, kernel: Kernel) -> Picture:
    """The theta kernel: Gaussian coefficients make a Gaussian wrapped around the circle."""
    L, sigma = state.options["terms"], float(f"{state.options['sigma']:.3g}")
    theta = Theta(sigma)
    H = FourierSpace(theta)
    t = along(-np.pi, np.pi)
    exact, series = theta(t, [0.0])[:, 0], H.feature(0.0, L=L)(t)
    panel = Panel("theta kernel", (-np.pi, np.pi), span(exact, series, [0]), "x", "k(x, 0)",
                  wide=True)  # fmt: skip
    panel.line(t, exact, RED, label="k(x, 0)").line(t, series, BLUE, label=f"frequencies to {L}")
    error = float(np.abs(exact - series).max())
    facts = [
        ("largest error", in_words(error), f"of the series with frequencies to {L}"),
        ("‖k(·, 0)‖", in_words(np.sqrt(theta([0.0], [0.0])[0, 0])), "√k(0, 0)"),
    ]
    python = code(
        ["FourierSpace", "Theta"],
        [
            f"k, t = Theta({sigma}), np.linspace(-np.pi, np.pi, 500)",
            f"series = FourierSpace(k).feature(0.0, L={L})",
            "plt.plot(t, k(t, [0.0])[:, 0], t, series(t))",
        ],
        module="import matplotlib.pyplot as plt",
    )
    stems = _coefficients(theta.fourier_coefficients(L), "coefficients k̂ₗ")
    return Picture([panel, stems], facts, python)


def _eigen(state: State, kernel: Kernel) -> Picture:
    """Mercer's expansion of the Gaussian kernel under a normal distribution."""
    scale, count = float(f"{state.options['lengthscale']:.3g}"), state.options["count"]
    expansion = MercerExpansion(scale, n_terms=30)
    t = along(-3.5, 3.5)
    e = expansion.eigenfunctions(t)[:, :count]
    density = np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi)
    panel = Panel("eigenfunctions", (-3.5, 3.5), (-2.4, 2.4), "x", "eⱼ(x)", wide=True)
    panel.band(t, np.zeros_like(t), density, INK, faint=True, label="density of μ")
    for j in range(count):
        panel.line(t, e[:, j], _HUES[j], label=f"e{'₀₁₂₃₄₅'[j]}")
    values = np.asarray(expansion.eigenvalues)
    facts = [
        ("λ₀", in_words(values[0]), "largest eigenvalue"),
        ("ratio", in_words(values[1] / values[0]), "λⱼ₊₁ / λⱼ, the same for all j"),
    ]
    python = code(
        ["MercerExpansion"],
        [
            f"k, t = MercerExpansion({scale}, n_terms=30), np.linspace(-3.5, 3.5, 500)",
            f"plt.plot(t, k.eigenfunctions(t)[:, :{count}])",
            "print(k.eigenvalues)",
        ],
        module="import matplotlib.pyplot as plt",
    )
    return Picture([panel, spectrum(values, "eigenvalues λⱼ")], facts, python)


def _coefficients(values: np.ndarray, title: str) -> Panel:
    panel = Panel(title, (-1, len(values)), span(values, [0]), "frequency l", "")
    return panel.stems(np.arange(len(values)), values)
