"""
Prediction bands with guaranteed coverage
=========================================

The 10 % and 90 % quantiles should have 80 % of new samples between them. Fitted to few samples,
they overfit, and the band is too narrow. :class:`mercer.ConformalRegressor` moves both
ends by an amount computed from held-out samples: the band then has the requested coverage, and
is still wide where the noise is large.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import ConformalRegressor, Gaussian, KernelQuantileRegressor, KernelRidge

rng = np.random.default_rng(4)


def draw(n):
    x = rng.uniform(0, 3, n)
    return x[:, None], np.sin(2 * x) + (0.05 + 0.35 * x) * rng.normal(size=n)


X, y = draw(120)
new, truth = draw(5000)
quantiles = KernelQuantileRegressor([0.1, 0.9], alpha=0.003, kernel=Gaussian(0.4))
quantiles.fit(X, y)
calibrated = ConformalRegressor(quantiles, level=0.8, random_state=0).fit(X, y)
constant = ConformalRegressor(KernelRidge(0.1, kernel=Gaussian(0.4)), level=0.8).fit(X, y)

# %%
# Three bands for 80 %, and the share of 5000 new samples that each contains.

line = np.linspace(0.02, 2.98, 200)[:, None]
bands = {
    "quantiles as fitted": quantiles.predict,
    "quantiles, calibrated": calibrated.predict_interval,
    "a mean, calibrated": constant.predict_interval,
}
fig, panels = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True, layout="constrained")
for ax, (name, band) in zip(panels, bands.items(), strict=True):
    ends, inside = band(line), band(new)
    share = np.mean((inside[:, 0] <= truth) & (truth <= inside[:, 1]))
    ax.fill_between(line[:, 0], ends[:, 0], ends[:, 1], color="C0", alpha=0.3)
    ax.plot(X[:, 0], y, ".", color="0.3", ms=4)
    ax.set(title=f"{name}\n{100 * share:.0f} % of new samples inside", xlabel="x")
panels[0].set_ylabel("y")
plt.show()
