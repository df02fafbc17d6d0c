r"""
Compressing a sample
====================

The mean embedding of a sample, :math:`\mu = \frac1n \sum_i k(x_i, \cdot)`, determines the mean of
every function in the space of the kernel. A few points with nearly the same embedding preserve all
these means: the error is at most the distance between the embeddings (MMD) times the norm of the
function. :func:`mercer.compress` selects such points from the sample, by herding or by kernel
thinning.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian, compress, distance_of_means

rng = np.random.default_rng(1)
turn = rng.uniform(0, 3 * np.pi, 2500)
X = (0.3 + turn / 6)[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
X += rng.normal(0, 0.08, X.shape)
k = Gaussian(0.25)

size = 50  # the root of 2500
few = {
    "at random": rng.choice(len(X), size, replace=False),
    "herding": compress(X, size, k, method="herding").indices,
    "thinning": compress(X, size, k, method="thinning", rng=0).indices,
}
fig, panels = plt.subplots(1, 3, figsize=(9.6, 3.6), sharex=True, sharey=True, layout="constrained")
for ax, (name, places) in zip(panels, few.items(), strict=True):
    ax.plot(*X.T, ".", color="0.85", markersize=2)
    ax.plot(*X[places].T, "o", color="#4477aa", markersize=4)
    ax.set_title(f"{name}: MMD {distance_of_means(k, X[places], X):.4f}", fontsize="medium")
    ax.set_aspect("equal")
    ax.set_axis_off()
plt.show()

# %%
# How many points are needed
# --------------------------
# The MMD of random points decreases with the square root of their number. Greedily chosen points
# are better by a growing factor, and thinned ones are better still. Weights help further: the best
# ones that sum to one come from a small linear system.

sizes = [5, 10, 20, 50, 100, 200]
curves = {
    "at random": [
        np.mean([distance_of_means(k, X[rng.choice(2500, m)], X) for _ in range(5)]) for m in sizes
    ],
    "herding": [compress(X, m, k, method="herding").mmd for m in sizes],
    "thinning": [compress(X, m, k, rng=0).mmd for m in sizes],
    "thinning, weights >= 0": [compress(X, m, k, weights="nonnegative", rng=0).mmd for m in sizes],
    "thinning, any weights": [compress(X, m, k, weights=True, rng=0).mmd for m in sizes],
}
fig, ax = plt.subplots(figsize=(5.6, 3.8), layout="constrained")
colours = ["0.6", "#ddaa33", "#4477aa", "#228833", "#cc6677"]
for (name, distances), colour in zip(curves.items(), colours, strict=True):
    ax.loglog(sizes, distances, "o-", color=colour, markersize=4, label=name)
ax.set(xlabel="number of points", ylabel="MMD to the sample")
ax.legend(frameon=False, fontsize="small")
plt.show()
