"""
Radial kernels and their functions
==================================

A kernel that depends on the distance is a bump. How sharp its peak is, and how heavy its tails are,
decides what the functions in its space look like. Below, each kernel is shown twice: as the bump
k(., 0), and by samples from the Gaussian process that has it as covariance, which are a little
rougher than the functions in the space but show the same character. The samples for all kernels use
the same random numbers; the titles say how smooth the functions in the space are.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian, Laplacian, Matern, RationalQuadratic
from mercer.plots.functions import plot_kernel

kernels = [
    Gaussian(),
    RationalQuadratic(alpha=0.3),
    Matern(nu=2.5),
    Matern(nu=1.5),
    Laplacian(),
]
x = np.linspace(-5, 5, 301)


def draws(kernel, n, rng):
    """Samples of a Gaussian process with mean 0 and this covariance."""
    values, vectors = np.linalg.eigh(kernel(x))
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    return root @ rng.standard_normal((len(x), n))


fig, panels = plt.subplots(
    len(kernels), 2, figsize=(9.6, 11), sharex="col", sharey="col", layout="constrained"
)
for kernel, (section, sample) in zip(kernels, panels, strict=True):
    plot_kernel(kernel, (-5, 5), ax=section)
    section.get_legend().remove()
    sample.plot(x, draws(kernel, 3, np.random.default_rng(4)), linewidth=1.2)
    smooth = kernel.properties.smooth.at_least
    words = {0: "continuous", 1: "once differentiable", 2: "twice differentiable"}
    sample.set_title(words.get(smooth, "infinitely differentiable"), fontsize="medium")
    sample.spines[["top", "right"]].set_visible(False)
    sample.set_xlim(-5, 5)
for ax in panels[:-1].ravel():
    ax.set_xlabel("")
panels[-1, 1].set_xlabel("$x$")
plt.show()

# %%
# Smoothness is known, not measured: every kernel states its properties, with the reason.

for kernel in kernels:
    print(f"{kernel!r:30} {kernel.properties.smooth.because}")

# %%
# Kernels on the line need not be bumps. A sum with a periodic kernel gives seasons on a trend, and
# a product gives seasons that change over the years.

from mercer import Linear, Periodic

season = Periodic(period=1.0, lengthscale=0.7)
composed = [
    season,
    0.3 * Linear() + season,
    Gaussian(lengthscale=2.0) * season,
]
fig, panels = plt.subplots(3, 1, figsize=(9.6, 6), sharex=True, layout="constrained")
for kernel, ax in zip(composed, panels, strict=True):
    ax.plot(x, draws(kernel, 2, np.random.default_rng(2)), linewidth=1.4)
    ax.set_title(repr(kernel), fontsize="medium")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_xlim(-5, 5)
panels[-1].set_xlabel("$x$")
plt.show()
