"""
A trend, quantiles and expectiles
=================================

Two extensions of regression: a parametric part that is not penalised, and the tails of a
distribution.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import (
    LSSVR,
    Gaussian,
    KernelExpectileRegressor,
    KernelQuantileRegressor,
    SemiparametricRidge,
)

rng = np.random.default_rng(2)

# %%
# Extrapolation
# -------------
# An unpenalised straight line, plus a function in the space. Far from the data the line continues;
# a kernel machine alone returns to its intercept.

x = np.sort(rng.uniform(0, 8, 70))[:, None]
y = 0.6 * x[:, 0] + np.sin(2 * x[:, 0]) + 0.2 * rng.normal(size=70)
t = np.linspace(-3, 12, 300)[:, None]
trend = SemiparametricRidge(Gaussian(0.8), basis="linear", alpha=0.1).fit(x, y)
plain = LSSVR(Gaussian(0.8), C=10).fit(x, y)

fig, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
ax.plot(x, y, ".", color="0.5")
ax.plot(t, trend.predict(t), color="#4477aa", label="function + line")
ax.plot(t, plain.predict(t), "--", color="#cc6677", label="function + number")
ax.set(xlabel="x", ylabel="y")
ax.legend()

# %%
# Tails of a distribution
# -----------------------
# Quantiles depend on how many samples lie on either side; expectiles on how far away they lie, so
# outliers move them. Both are fitted for all levels at once, and do not cross.

x = np.sort(rng.uniform(0, 4, 400))[:, None]
y = np.sin(2 * x[:, 0]) + (0.1 + 0.3 * x[:, 0]) * (rng.exponential(size=400) - 1)
t, levels = np.linspace(0, 4, 200)[:, None], [0.1, 0.5, 0.9]
kinds = {"quantiles": KernelQuantileRegressor, "expectiles": KernelExpectileRegressor}
fig, panels = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained", sharey=True)
for ax, (name, kind) in zip(panels, kinds.items(), strict=True):
    curves = kind(levels, alpha=0.5, kernel=Gaussian(0.7)).fit(x, y).predict(t)
    ax.plot(x, y, ".", color="0.7", ms=3)
    for level, curve in zip(levels, curves.T, strict=True):
        ax.plot(t, curve, label=f"{level:.0%}", lw=1 + (level == 0.5))
    ax.set(title=name, xlabel="x", ylim=(-2.5, 4))
panels[1].legend()
plt.show()
