r"""
Two samples: do they differ, and where?
=======================================

Two samples have the same mean and variance; one is normal, the other Laplacian. A test that
compares means or variances sees no difference. The maximum mean discrepancy compares everything: it
is the distance between the mean embeddings of the samples in the space of the kernel, and the
difference of the embeddings, the witness function, shows where the samples differ.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian, Linear, two_sample_test
from mercer.plots.two_sample import plot_witness

rng = np.random.default_rng(0)
X = rng.normal(0, 1, 400)
Y = rng.laplace(0, np.sqrt(0.5), 400)
result = two_sample_test(X, Y, rng=0)
print(result)
print(two_sample_test(X, Y, Linear(), rng=0))

fig, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.6), layout="constrained")
plot_witness(X, Y, Gaussian(0.5), ax=left)
left.set_title("where they differ")
result.plot(ax=right)
right.set_title(f"null distribution: p = {result.pvalue:.3f}")
plt.show()

# %%
# Patterns finer than the data
# ----------------------------
# Both samples below are nine blobs on a grid; those of the first are round, those of the second are
# tilted ellipses. At a coarse scale the samples are the same, and a kernel as wide as the data
# finds no difference. Without a kernel the test tries all widths at once, and its p-value accounts
# for that.

centres = rng.integers(0, 3, (2, 800, 2))
round_ = centres[0] + 0.15 * rng.normal(size=(800, 2))
tilt = np.linalg.cholesky(0.15**2 * np.array([[1, 0.8], [0.8, 1]]))
tilted = centres[1] + rng.normal(size=(800, 2)) @ tilt.T

everything = two_sample_test(round_, tilted, rng=0)
median = two_sample_test(round_, tilted, Gaussian("median"), rng=0)
print(f"all widths: p = {everything.pvalue:.3f}; the median width: p = {median.pvalue:.3f}")

fig, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.0), layout="constrained")
plot_witness(round_, tilted, Gaussian(0.15), ax=left)
left.set_title("the witness of a narrow kernel")
gaussians = [k for k in everything.kernel if isinstance(k, Gaussian)]
widths = [float(np.mean(k.lengthscale)) for k in gaussians]
right.loglog(widths, everything.details["pvalues"][: len(widths)], "o-", color="#4477aa")
right.axvline(float(median.kernel.lengthscale), color="#cc6677", label="the median distance")
right.axhline(0.05, color="0.7", linewidth=0.8)
right.set(xlabel="width of the kernel", ylabel="p-value of that kernel alone")
right.legend(frameon=False)
plt.show()

# %%
# Null distributions
# ------------------
# Permutations are exact. For one kernel, the distribution of the MMD under the null hypothesis can
# also be computed from the spectrum of the kernel, or as a Pearson curve with the exact moments
# over all permutations.

x, y = X[:80], Y[:80]
fig, panels = plt.subplots(1, 3, figsize=(9.6, 3.2), layout="constrained")
for ax, null in zip(panels, ("permutation", "spectrum", "pearson"), strict=True):
    found = two_sample_test(x, y, Gaussian(1.0), null=null, rng=0)
    found.plot(ax=ax)
    ax.set_title(f"{null}: p = {found.pvalue:.3f}")
    ax.set(ylabel="density" if ax is panels[0] else "")
    ax.get_legend().remove()
plt.show()
