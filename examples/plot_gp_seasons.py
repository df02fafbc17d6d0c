r"""
A trend and a season
====================

A sum of kernels is the covariance of a sum of independent functions. So a kernel for a slow trend
plus a kernel for a season is a model of a time series, and its parts can be told apart again: with
k = k_1 + k_2 and the coefficients c of the whole, the posterior mean of the first part is
k_1(x, X) c. :meth:`mercer.GaussianProcessRegressor.parts` returns the parts, each with its own
uncertainty.

The series below is synthetic: monthly values over twelve years, with a curved trend, a season
that grows, and noise. The last two years are held out as a test set.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Fourier, Gaussian, GaussianProcessRegressor
from mercer.plots.regression import plot_fit

rng = np.random.default_rng(0)
years = np.arange(144) / 12
trend = 340 + 1.6 * years + 0.08 * years**2
season = (2.5 + 0.1 * years) * np.sin(2 * np.pi * years) + np.sin(4 * np.pi * years + 1)
y = trend + season + rng.normal(0, 0.4, 144)
X = years[:, None]
train, test = years < 10, years >= 10

# %%
# The model
# ---------
# A season is a sum of a few waves. The first Fourier coefficient is zero: the level belongs to the
# trend, and both could not be told apart if the season had one as well. Multiplied by a wide
# Gaussian kernel, the season may change over the years. All weights and lengthscales are initial
# guesses for the maximisation of the marginal likelihood; the period is known, and stays fixed.

slow = 10.0 * Gaussian(10.0)
yearly = 1.0 * Fourier([0.0, 1.0, 0.5, 0.2], period=1.0) * Gaussian(10.0)
model = GaussianProcessRegressor(slow + yearly, fixed=("right__left__right__period",))
model.fit(X[train], y[train])
for h in model.kernel_.hyperparameters():
    print(f"{h.name:28}{h.value:8.2f}")
print(f"standard deviation of the noise: {np.sqrt(model.alpha_):.2f}")

# %%
# The band below is for new values, noise included. It should contain 90% of them.

mean, std = model.predict(X[test], return_std=True, include_noise=True)
print(f"in the band: {np.mean(np.abs(y[test] - mean) < 1.645 * std):.0%}")

ax = plot_fit(model, X[train], y[train], where=(0, 13), noise=True)
ax.plot(years[test], y[test], "o", color="#cc6677", markersize=4, label="not seen in training")
ax.set(xlabel="year", ylabel="value")
ax.legend(frameon=False)
plt.show()

# %%
# The parts
# ---------
# They and the mean of y add up to the prediction. Dotted lines are the truth.

parts = model.parts()
middle = y[train].mean()
print(np.allclose(sum(part.predict(X) for part in parts) + middle, model.predict(X)))

fig, panels = plt.subplots(1, 2, figsize=(9.6, 3.4), layout="constrained")
truths = {"trend": trend - middle, "season": season}
for ax, part, (name, truth) in zip(panels, parts, truths.items(), strict=True):
    plot_fit(part, X[train], ax=ax, where=(0, 13))
    ax.plot(years, truth, ":", color="0.2", linewidth=1.6, label="truth", zorder=4)
    ax.set(xlabel="year", ylabel="", title=name)
    ax.legend(frameon=False, loc="upper left", ncols=3)
panels[1].set_ylim(-6, 7)
plt.show()
