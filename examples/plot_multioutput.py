r"""
Multi-output regression with missing targets
============================================

Four sensors record the same two sources, mixed in different ways, and two of them fail halfway.
Ridge regression with one function per sensor reverts to its prior where targets are missing. An
operator-valued kernel k(x, y) B says how the outputs depend on each other: B is a covariance matrix
of outputs, and the sensors that still work help to predict the others.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian, MultiOutputKernelRidge
from mercer.plots.regression import plot_fit

rng = np.random.default_rng(1)
x = np.linspace(0, 12, 150)
X = x[:, None]
sources = np.stack([np.sin(x), np.cos(1.7 * x) * np.exp(-0.05 * x)], axis=1)
mixing = np.array([[1.0, 0.0], [0.2, 1.0], [0.9, -0.5], [-0.6, 0.7]])
truth = sources @ mixing.T
Y = truth + rng.normal(0, 0.15, truth.shape)
Y[60:, 2] = np.nan
Y[75:110, 3] = np.nan

# %%
# Alone, and together
# -------------------
# Missing targets are NaN. With ``output="identity"`` the sensors are independent. With
# ``output="learn"`` the matrix B is found by maximising the marginal likelihood, on the samples
# where all sensors work.

alone = MultiOutputKernelRidge(0.1, kernel=Gaussian(0.8)).fit(X, Y)
together = MultiOutputKernelRidge(0.1, kernel=Gaussian(0.8), output="learn").fit(X, Y)
names = {"each sensor alone": alone, "B is learned": together}

fig, panels = plt.subplots(2, 1, figsize=(9.6, 6.4), sharex=True, sharey=True, layout="constrained")
for ax, (name, model) in zip(panels, names.items(), strict=True):
    plot_fit(model, X, Y, ax, where=(0, 12), label="sensor")
    ax.plot(x, truth[:, 2:], ":", color="0.2", linewidth=1.4, zorder=4)
    missing = np.isnan(Y)
    error = np.sqrt(np.mean((model.predict(X) - truth)[missing] ** 2))
    ax.set_title(f"{name}: error {error:.2f} where targets are missing", fontsize="medium")
    ax.legend(frameon=False, ncols=4, loc="upper center")
    ax.set_ylim(-2.4, 2.9)
    ax.label_outer()
plt.show()

# %%
# The matrix
# ----------
# B is learned up to a factor. Scaled to correlations, it is close to the correlations of the
# outputs: since the sources are independent, these are those of the mixing matrix times its
# transpose.


def correlations(B):
    """A covariance matrix with ones on its diagonal."""
    size = np.sqrt(np.diag(B))
    return B / np.outer(size, size)


matrices = {"learned": together.output_, "the mixing of the sources": mixing @ mixing.T}
fig, panels = plt.subplots(1, 2, figsize=(7.2, 3.2), layout="constrained")
for ax, (name, B) in zip(panels, matrices.items(), strict=True):
    R = correlations(B)
    image = ax.imshow(R, cmap="RdBu_r", vmin=-1, vmax=1)
    for (i, j), r in np.ndenumerate(R):
        ax.text(
            j, i, f"{r:.2f}", ha="center", va="center", size=8, color="w" if abs(r) > 0.6 else "k"
        )
    ax.set_title(name, fontsize="medium")
    ax.set(xticks=range(4), yticks=range(4), xticklabels=range(1, 5), yticklabels=range(1, 5))
fig.colorbar(image, ax=panels, label="correlation")
plt.show()
