r"""
Learning from a stream that drifts
==================================

:class:`mercer.OnlineKernelMachine` sees each sample once, takes one step, and keeps no more
samples than its budget allows. With steps :math:`\eta / \sqrt t` it converges, which is right
for a stationary distribution. By default, the clock t goes back when the last iterate predicts
better than the average of all, which means that the distribution has changed. With constant steps
and a penalty it forgets what it saw some 1 / (alpha eta) samples ago, changes or not.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian, OnlineKernelMachine

rng = np.random.default_rng(0)
n, chunk = 24_000, 200
X = rng.uniform(-1, 1, (n, 2))
angle = np.where(np.arange(n) < n // 3, 0.0, np.pi / 2)  # a jump at one third, then a slow turn
angle += np.maximum(np.arange(n) - 2 * n // 3, 0) / (n / 3) * np.pi
side = X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle) + 0.3 * np.sin(4 * X[:, 0])
y = (side > 0) ^ (rng.random(n) < 0.02)

# %%
# Each chunk is predicted before it is learned from
# -------------------------------------------------

kernel = Gaussian(0.5)
models = {
    r"steps $\propto 1/\sqrt{t}$, averaged": OnlineKernelMachine(
        kernel, "hinge", budget=100, update="implicit", schedule="sqrt"
    ),
    "the default": OnlineKernelMachine(kernel, "hinge", budget=100),
    "constant steps, forgetting": OnlineKernelMachine(
        kernel, "hinge", 1e-3, eta=1.0, schedule="constant", average=500, budget=100
    ),
}
right = {name: [] for name in models}
for start in range(0, n, chunk):
    part = slice(start, start + chunk)
    for name, model in models.items():
        if start:
            right[name].append(model.score(X[part], y[part]))
        model.partial_fit(X[part], y[part], classes=[False, True])

fig, ax = plt.subplots(figsize=(8.4, 3.6), layout="constrained")
for (name, scores), hue in zip(right.items(), ("#4477aa", "#228833", "#cc6677"), strict=True):
    smooth = np.convolve(np.pad(scores, 2, mode="edge"), np.ones(5) / 5, mode="valid")
    ax.plot(np.arange(1, n // chunk) * chunk, smooth, color=hue, linewidth=2, label=name)
for place, word in ((n // 3, "jump"), (2 * n // 3, "slow turn begins")):
    ax.axvline(place, color="0.6", linewidth=1, linestyle=":")
    ax.text(place + 150, 0.23, word, color="0.3", fontsize=9)
ax.set(xlabel="samples seen", ylabel="accuracy", ylim=(0.2, 1.0), xlim=(0, n))
ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 0.12))
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The samples that are kept, and the final boundary
# -------------------------------------------------

grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 81)] * 2), axis=-1)
fig, panels = plt.subplots(1, 3, figsize=(8.4, 3.2), layout="constrained")
for ax, (name, model) in zip(panels, models.items(), strict=True):
    f = model.decision_function(grid.reshape(-1, 2)).reshape(81, 81)
    ax.contourf(grid[..., 0], grid[..., 1], f > 0, levels=1, colors=["#f3dfe2", "#dfe7f1"])
    ax.contour(grid[..., 0], grid[..., 1], f, levels=[0], colors="0.2", linewidths=1.5)
    ax.scatter(*model.X_fit_.T, s=12, c=np.sign(model.dual_coef_), cmap="RdBu", edgecolors="0.4")
    ax.set_title(name, fontsize=9)
    ax.set(aspect="equal", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
plt.show()
