"""
Goodness of fit, and conditional independence
=============================================

A test of a density that only needs its score, and a test of independence given a third variable.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import conditional_independence_test, goodness_of_fit_test, independence_test

rng = np.random.default_rng(1)

# %%
# Heavier tails than those of the model
# -------------------------------------
# Only the gradient of the log density is needed, so the model need not be normalised. The statistic
# is compared with what it would be if the model were true.

x = rng.standard_t(3, 400)
normal = goodness_of_fit_test(x, lambda x: -x, rng=0)
student = goodness_of_fit_test(x, lambda x: -4 * x / (3 + x**2), rng=0)
fig, panels = plt.subplots(1, 2, figsize=(8.4, 3), layout="constrained")
for ax, result, name in zip(panels, (normal, student), ("normal", "Student, 3"), strict=True):
    result.plot(ax)
    ax.set_title(f"{name}: p = {result.pvalue:.3f}")

# %%
# A common cause
# --------------
# Two variables follow a third one. They depend on each other, but not given the third, as their
# residuals show.

z = rng.normal(size=250)
x = np.sin(2 * z) + 0.2 * rng.normal(size=250)
y = z**2 + 0.2 * rng.normal(size=250)
plain, given = independence_test(x, y, rng=0), conditional_independence_test(x, y, z, rng=0)
fig, panels = plt.subplots(1, 2, figsize=(8.4, 3.2), layout="constrained")
dots = panels[0].scatter(x, y, c=z, cmap="cividis", s=14)
fig.colorbar(dots, ax=panels[0], label="z")
panels[0].set(title=f"x and y: p = {plain.pvalue:.3f}", xlabel="x", ylabel="y")
panels[1].plot(x - np.sin(2 * z), y - z**2, ".", color="#4477aa")
left = {"xlabel": "x without what z explains", "ylabel": "y without it"}
panels[1].set(title=f"given z: p = {given.pvalue:.2f}", **left)
plt.show()
