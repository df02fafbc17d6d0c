r"""
Where the data are: level sets
==============================

A one-class SVM separates the data from the origin of feature space, with the widest possible
margin. In the plane, the result is a region that contains most of the data. The parameter nu is
the fraction that may lie outside: at most a fraction nu of the samples do, and at least a fraction
nu are support vectors.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian, OneClassSVM
from mercer.plots.svm import plot_decision

rng = np.random.default_rng(0)
angle = rng.uniform(0, 1.3 * np.pi, 130)
arc = 3 * np.stack([np.cos(angle), np.sin(angle)], axis=1) + rng.normal(0, 0.35, (130, 2))
blob = rng.normal((0.2, -0.4), 0.45, (50, 2))
X = np.concatenate([arc, blob])

fig, panels = plt.subplots(1, 3, figsize=(9.6, 3.9), sharey=True, layout="constrained")
for ax, nu in zip(panels, (0.02, 0.2, 0.5), strict=True):
    model = OneClassSVM(nu=nu, kernel=Gaussian(0.8)).fit(X)
    outside = np.mean(model.decision_function(X) < -model.tol)
    plot_decision(model, X, ax=ax)
    ax.set(title=f"nu = {nu:g}: {outside:.0%} outside", ylabel="")
    ax.get_legend().remove()
    support = len(model.support_) / len(X)
    print(f"nu = {nu:3.0%}: {outside:3.0%} outside, {support:3.0%} support vectors")
panels[0].set_ylabel("$x_2$")
handles, labels = panels[-1].get_legend_handles_labels()
fig.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
plt.show()

# %%
# From the outside in
# -------------------
# As nu grows, the region shrinks towards where the data are densest. With a Gaussian kernel its
# edges are estimates of level sets of the density.

t = np.linspace(-4.6, 4.6, 200)
grid = np.stack([u.ravel() for u in np.meshgrid(t, t)], axis=1)
fractions = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9)
shades = plt.get_cmap("Blues")(np.linspace(0.25, 0.95, len(fractions)))
fig, ax = plt.subplots(figsize=(5.2, 4.6), layout="constrained")
for nu, shade in zip(fractions, shades, strict=True):
    model = OneClassSVM(nu=nu, kernel=Gaussian(0.8)).fit(X)
    f = model.decision_function(grid).reshape(200, 200)
    ax.contourf(t, t, f, levels=[0, np.inf], colors=[shade])
    ax.plot([], [], "s", color=shade, label=f"nu = {nu:g}")
ax.scatter(*X.T, s=6, color="0.2", zorder=3)
ax.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
ax.legend(fontsize="small", loc="lower right", framealpha=0.85, edgecolor="none")
plt.show()
