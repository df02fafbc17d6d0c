r"""
Dependence beyond correlation
=============================

Two variables can depend on each other and be uncorrelated. The Hilbert-Schmidt independence
criterion (HSIC) sees any kind of dependence, and a permutation test says whether it is more than
chance.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian, coco, hsic, independence_test
from mercer.plots.dependence import plot_coco

rng = np.random.default_rng(0)
n = 300


def circle():
    t = rng.uniform(0, 2 * np.pi, n)
    return np.cos(t) + 0.15 * rng.normal(size=n), np.sin(t) + 0.15 * rng.normal(size=n)


def waves():
    x = rng.uniform(-3, 3, n)
    return x, np.cos(3 * x) + 0.6 * rng.normal(size=n)


def fan():
    x = rng.uniform(0, 2, n)
    return x, x * rng.normal(size=n)


def nothing():
    return rng.normal(size=(2, n))


samples = {"circle": circle(), "waves": waves(), "fan": fan(), "independent": nothing()}
fig, panels = plt.subplots(1, 4, figsize=(10.4, 2.9), layout="constrained")
for ax, (name, (x, y)) in zip(panels, samples.items(), strict=True):
    result = independence_test(x, y, rng=0)
    correlation = np.corrcoef(x, y)[0, 1]
    ax.scatter(x, y, s=6, color="#4477aa" if result.pvalue <= 0.05 else "0.6", linewidth=0)
    ax.set(title=f"{name}\ncorrelation {correlation:.2f}, p = {result.pvalue:.3f}")
    ax.set(xticks=[], yticks=[])
    print(f"{name:12s} HSIC {hsic(x, y):.5f}, p-value {result.pvalue:.3f}")
plt.show()

# %%
# How do they depend?
# -------------------
# The constrained covariance (COCO) finds a function of each variable such that their covariance is
# as large as possible. For the waves, f follows the cosine, and g turns it into a line.

x, y = samples["waves"]
plot_coco(coco(x, y, Gaussian(0.5), Gaussian("median")), x, y)
plt.show()

# %%
# The null distribution
# ---------------------
# The statistics of all permuted samples come from a few Fourier transforms; the observed one is far
# outside their range.

independence_test(x, y, kernels=Gaussian(0.5), rng=0).plot()
plt.show()
