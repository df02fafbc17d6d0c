r"""
Prediction intervals with heteroscedastic noise
===============================================

How certain is a prediction? Three answers on data whose noise grows with x: the band of a Gaussian
process, which assumes normal noise of the same size everywhere; conformal intervals, which only
assume that new data are like the old; and quantiles, which are learned like any other function.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import (
    ConformalRegressor,
    Gaussian,
    GaussianProcessRegressor,
    KernelQuantileRegressor,
    KernelRidge,
)
from mercer.plots.calibration import plot_coverage
from mercer.plots.regression import plot_fit

rng = np.random.default_rng(0)


def draw(n):
    """Samples whose noise is exponential, and larger on the right."""
    x = np.sort(rng.uniform(0, 6, n))
    return x[:, None], np.sin(x) + (0.05 + 0.1 * x) * (rng.exponential(size=n) - 1)


X, y = draw(300)
X_new, y_new = draw(2000)

# %%
# Three models
# ------------
# The mean of the process and the ridge regression behind the conformal intervals are nearly the
# same curve. Their intervals are as wide on the left, where there is hardly any noise, as on the
# right. The quantiles follow the noise, and are asymmetric, as the noise is.

models = {
    "Gaussian process": GaussianProcessRegressor(random_state=0),
    "conformal": ConformalRegressor(KernelRidge(1.0, kernel=Gaussian())),
    "quantiles": KernelQuantileRegressor([0.05, 0.5, 0.95], alpha=1.0, kernel=Gaussian()),
}
fig, panels = plt.subplots(1, 3, figsize=(9.6, 3.6), sharey=True, layout="constrained")
for ax, (name, model) in zip(panels, models.items(), strict=True):
    plot_fit(model.fit(X, y), X, y, ax, noise=True)
    ax.set_title(name, fontsize="medium")
    ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    ax.label_outer()
plt.show()

# %%
# Do they cover?
# --------------
# On 2000 new samples, the fraction inside against the nominal level. Below the diagonal, intervals
# are too narrow; in the grey region the difference may be chance. The conformal intervals have the
# right coverage on average over x, whatever the noise (at least 2 level - 1 is guaranteed, and in
# practice it is close to the level). The band of the process is too wide at medium levels, because
# it assumes normal noise.

many = KernelQuantileRegressor(np.arange(1, 20) / 20, alpha=1.0, kernel=Gaussian())
models["quantiles"] = many.fit(X, y)
fig, ax = plt.subplots(figsize=(4.6, 4.4), layout="constrained")
for name, model in models.items():
    plot_coverage(model, X_new, y_new, ax, label=name)
plt.show()

# %%
# On average is not everywhere
# ----------------------------
# The guarantee holds on average over x. Where the noise is small, the same interval covers almost
# always; where it is large, too rarely. The coverage of quantiles is more even, but not guaranteed.

edges = np.linspace(0, 6, 7)
places = np.digitize(X_new[:, 0], edges) - 1
inside = {}
low, high = models["conformal"].predict_interval(X_new).T
inside["conformal"] = (low <= y_new) & (y_new <= high)
low, high = many.predict(X_new)[:, [0, -1]].T
inside["quantiles"] = (low <= y_new) & (y_new <= high)

fig, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
for (name, hits), hue in zip(inside.items(), ("#cc6677", "#228833"), strict=True):
    part = [hits[places == j].mean() for j in range(6)]
    ax.stairs(part, edges, baseline=None, color=hue, linewidth=2, label=name)
ax.axhline(0.9, color="0.5", linestyle="--", linewidth=1)
ax.set(xlabel="$x$", ylabel="fraction of targets inside", ylim=(0.7, 1.01))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="lower left")
plt.show()
