"""
Canonical correlations of curves
================================

Two sets of noisy curves share the heights of a bump, which is early in the first set and late in
the second. With fewer samples than points, canonical correlation analysis finds weights that
correlate almost perfectly and mean little. :class:`mercer.FunctionalCCA` penalises the roughness of
the weights, and chooses the penalty by the correlation on held-out samples.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import FunctionalCCA

rng = np.random.default_rng(0)
t = np.linspace(0, 1, 100)
heights = rng.normal(size=(160, 1))
X = heights * np.exp(-60 * (t - 0.3) ** 2) + rng.normal(size=(160, 100))
Y = heights * np.exp(-60 * (t - 0.7) ** 2) + rng.normal(size=(160, 100))
train, test = slice(0, 60), slice(60, None)

models = {
    "hardly any penalty": FunctionalCCA(points=t, regularization=1e-10),
    "chosen by cross-validation": FunctionalCCA(points=t),
    "so large that lines are left": FunctionalCCA(points=t, regularization=1e6),
}
fine = np.linspace(0, 1, 1000)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharex=True, layout="constrained")
for ax, (title, model) in zip(axes, models.items(), strict=True):
    model.fit(X[train], Y[train])
    names = ("a, of the early curves", "b, of the late curves")
    for curve, name in zip(model.curves_, names, strict=True):
        ax.plot(fine, curve.predict(fine)[:, 0], label=name)
    ax.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    found = model.correlations(X[train], Y[train])[0], model.correlations(X[test], Y[test])[0]
    ax.set_title(
        f"{title}\ncorrelation {found[0]:.2f} in training, {found[1]:.2f} held out", fontsize=9
    )
    ax.set_xlabel("t")
axes[0].set_ylabel("weight")
axes[1].legend(fontsize=8)
plt.show()
