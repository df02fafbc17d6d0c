r"""
Samples from a Gaussian process, before and after the data
==========================================================

A kernel is also a covariance: the Gaussian process GP(0, k) is a random function whose values at
any points are jointly normal with the covariance matrix [k(x_i, x_j)]. Before any data are seen,
the kernel determines what functions look like. Given data, the posterior is again a Gaussian
process, and its covariance is again a kernel:

.. math:: k(x, y) - k(x, z) (k(z, z) + \text{noise})^{-1} k(z, y)
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian, GaussianProcessRegressor, Laplacian, Linear, Matern, Periodic
from mercer.plots.regression import plot_fit, plot_process

# %%
# What a kernel expects
# ---------------------
# Six kernels, and four functions drawn from each process. The grey band contains each value with
# probability 90%. Functions are as smooth as the kernel: with the Laplacian kernel the future
# depends on the present value alone, and paths are rough everywhere. Sums add functions; a product
# with a Gaussian kernel lets a periodic function change from one period to the next.

kernels = [
    Gaussian(),
    Matern(),
    Laplacian(),
    Periodic(period=2.5),
    0.1 * Linear() + Periodic(),
    Gaussian() * Periodic(period=1.0),
]
shared = {"sharex": True, "sharey": True, "layout": "constrained"}
fig, panels = plt.subplots(2, 3, figsize=(9.6, 5.2), **shared)
for ax, kernel in zip(panels.flat, kernels, strict=True):
    plot_process(kernel, ax=ax, samples=4)
    ax.label_outer()
plt.show()

# %%
# Conditioning is a kernel, too
# -----------------------------
# ``k.given(z, noise)`` is the covariance of a process that has been observed at z. Without noise,
# its samples vanish there; with noise they come close to zero. It is a kernel like any other: it
# can be added, multiplied, and used by any model.

z = np.array([[-3.0], [-1.0], [0.5], [1.0]])
fig, panels = plt.subplots(1, 3, figsize=(9.6, 3.0), **shared)
titles = "k", "k.given(z)", "k.given(z, noise=0.1)"
k = Gaussian()
for ax, kernel, title in zip(panels, (k, k.given(z), k.given(z, 0.1)), titles, strict=True):
    plot_process(kernel, ax=ax, samples=4)
    ax.plot(z[:, 0], np.zeros(len(z)), "o", color="0.2", markersize=4, zorder=4)
    ax.set_title(title, family="monospace", fontsize="medium")
    ax.label_outer()
plt.show()

# %%
# The posterior of a regression
# -----------------------------
# :class:`mercer.GaussianProcessRegressor` adds the mean. With three kernels on the same twelve
# points, the means hardly differ where there are data. Between and beyond the data, each process
# behaves as its kernel expects.

rng = np.random.default_rng(4)
x = np.sort(rng.uniform(-4, 3, 12))
X, y = x[:, None], np.sin(1.5 * x) + rng.normal(0, 0.1, 12)

fig, panels = plt.subplots(1, 3, figsize=(9.6, 3.4), **shared)
for ax, kernel in zip(panels, (Gaussian(), Matern(), Periodic(period=4.0)), strict=True):
    model = GaussianProcessRegressor(1.0 * kernel, random_state=0).fit(X, y)
    plot_fit(model, X, y, ax, samples=3, where=(-5, 6))
    ax.set_title(type(kernel).__name__, fontsize="medium")
    ax.get_legend().remove()
    ax.label_outer()
    found = ", ".join(f"{h.name} {h.value:.2f}" for h in model.kernel_.hyperparameters())
    print(f"{type(kernel).__name__:>8}: {model.log_marginal_likelihood_value_:5.1f} with {found}")
plt.show()

# %%
# The printed numbers are the maximised log marginal likelihoods: the data were generated with a
# period, and the kernel that has one explains them best.
