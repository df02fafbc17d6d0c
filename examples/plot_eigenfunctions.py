r"""
Eigenfunctions of the Gaussian kernel
=====================================

Under a normal distribution mu on the line, the Gaussian kernel has a Mercer expansion:

.. math:: k(x, y) = \sum_k \lambda_k\, e_k(x)\, e_k(y), \qquad
          \int k(x, y)\, e_k(y)\, d\mu(y) = \lambda_k\, e_k(x)

with eigenvalues that fall like a geometric series and eigenfunctions made of Hermite polynomials.
:class:`mercer.MercerExpansion` is this sum, truncated; it is itself a kernel.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian, MercerExpansion

expansion = MercerExpansion(lengthscale=1.0, measure_scale=1.0, n_terms=30)
x = np.linspace(-3.5, 3.5, 500)
e = expansion.eigenfunctions(x)
density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)

fig, (left, right) = plt.subplots(
    1, 2, figsize=(9.6, 3.4), width_ratios=(3, 2), layout="constrained"
)
left.fill_between(x, density, color="0.9", label=r"density of $\mu$")
for k, hue in enumerate(["#4477aa", "#cc6677", "#228833"]):
    left.plot(x, e[:, k], color=hue, linewidth=2, label=f"$e_{k}$")
left.axhline(0, color="0.8", linewidth=0.8, zorder=0)
left.set(title="the first three eigenfunctions", xlabel="$x$", xlim=(-3.5, 3.5))
left.legend(frameon=False, ncols=4, loc="upper center")
left.set_ylim(-1.7, 2.8)
right.semilogy(expansion.eigenvalues, "o", color="#4477aa", markersize=4)
right.set(title=r"eigenvalues $\lambda_k$", xlabel="$k$")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# They are orthonormal in L2(mu), which Gauss-Hermite quadrature confirms.

nodes, weights = np.polynomial.hermite_e.hermegauss(80)
at_nodes = expansion.eigenfunctions(nodes)[:, :3]
print((at_nodes.T @ (weights[:, None] / weights.sum() * at_nodes)).round(6))

# %%
# How many terms are enough? The expansion becomes accurate first where mu has its mass; the sum of
# the omitted eigenvalues is the average error of k(x, x).

exact = Gaussian(lengthscale=1.0)
fig, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
ax.fill_between(x, density / density.max(), color="0.9", label=r"density of $\mu$, rescaled")
for m, hue in ((2, "#cc6677"), (5, "#ccbb44"), (10, "#228833")):
    truncated = MercerExpansion(lengthscale=1.0, n_terms=m)
    label = f"{m} terms, {truncated.remainder:.1g} left out"
    ax.plot(x, truncated.diag(truncated.prepare(x)), color=hue, linewidth=2, label=label)
ax.plot(x, exact.diag(exact.prepare(x)), color="#222222", linestyle="--", label="Gaussian kernel")
ax.set(xlabel="$x$", ylabel="$k(x, x)$", xlim=(-3.5, 3.5), ylim=(0, 1.3))
ax.legend(frameon=False, ncols=2, loc="upper center", fontsize="small")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
