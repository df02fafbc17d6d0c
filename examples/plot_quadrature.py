r"""
Integrals from a few values
===========================

If a function is in the space of a kernel, its mean over a distribution P is its inner product with
the embedding :math:`\mu_P`. Weighted points whose embedding is close to it approximate all such
means:

.. math:: \left| \int f\, dP - \sum_i w_i f(x_i) \right|
          \le \left\| \mu_P - \sum_i w_i k(x_i, \cdot) \right\| \, \|f\|

:func:`mercer.kernel_quadrature` chooses points one by one, each so that this bound
decreases most, with the best weights for them.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from mercer import Gaussian, KnownEmbedding, kernel_quadrature

k, P = Gaussian(1.0), norm(0, 1)
BLUE, RED = "#4477aa", "#cc6677"

# %%
# Points and weights
# ------------------
# The embedding of the normal distribution is known exactly. Seven weighted kernels (red) add up to
# nearly the same function. Weights may be negative, where points are close to each other.

rule = kernel_quadrature(k, P, 7, rng=0)
x = np.linspace(-4, 4, 400)
fig, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.4), layout="constrained")
left.vlines(rule.points[:, 0], 0, rule.weights, color=BLUE)
left.plot(rule.points[:, 0], rule.weights, "o", color=BLUE, label="seven points, their weights")
left.plot(x, P.pdf(x), color="0.6", label="density")
left.legend(frameon=False, fontsize="small")
right.plot(x, KnownEmbedding(k, P)(x[:, None]), color="0.6", linewidth=4, label=r"$\mu_P$")
right.plot(x, rule.embedding(x[:, None]), color=BLUE, label="weighted points")
for point, weight in zip(rule.points, rule.weights, strict=True):
    right.plot(x, weight * k.at(point)(x[:, None]), color=RED, linewidth=0.6)
right.legend(frameon=False, fontsize="small")
plt.show()

# %%
# How fast the bound falls, and an error bar
# ------------------------------------------
# With equal weights at random points, the error decreases as one over the square root of their
# number. Random points with the best weights are better, and chosen points much better, since the
# kernel is smooth. Under a Gaussian process the integral has a normal distribution, so its estimate
# comes with a standard deviation.

rng = np.random.default_rng(0)
sizes = [2, 3, 4, 6, 8, 10, 12]
mu = KnownEmbedding(k, P)


def at_random(n):
    """The bound for n draws: with equal weights, and with the best ones."""
    draws = rng.normal(size=(n, 1))
    equal = mu.inner(mu) - 2 * np.mean(mu(draws)) + k(draws).mean()
    return np.sqrt(equal), kernel_quadrature(k, P, draws).error


random = np.array([np.mean([at_random(n) for _ in range(20)], axis=0) for n in sizes])
rules = [kernel_quadrature(k, P, n, rng=0) for n in sizes]
found = np.array([rule.integrate(lambda X: np.sin(X[:, 0]) + X[:, 0] ** 2) for rule in rules])

fig, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.4), layout="constrained")
left.loglog(sizes, random[:, 0], "o-", color="0.6", label="random points, equal weights")
left.loglog(sizes, random[:, 1], "o-", color=RED, label="random points, best weights")
left.loglog(sizes, [rule.error for rule in rules], "o-", color=BLUE, label="chosen points")
left.set(xlabel="number of points", ylabel="worst error for norm 1")
left.set_xticks(sizes, sizes)
left.minorticks_off()
left.legend(frameon=False, fontsize="small")
right.errorbar(sizes, found[:, 0], 2 * found[:, 1], fmt="o", color=BLUE, capsize=3)
right.axhline(1.0, color="0.6", linewidth=0.8)
right.set(xlabel="number of points", title="the mean of sin x + x², which is 1")
plt.show()
