"""
Fisher kernels: similarity from a generative model
==================================================

A mixture of normal distributions is fitted to points without labels. The score of a point, the
gradient of log p(x) with respect to the parameters of the mixture, says how the model would have to
change to fit that point better. The inner product of two scores is the Fisher kernel: a similarity
that has learned the shape of the data before it sees any label.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.mixture import GaussianMixture

from mercer import SVC, DiscreteHMM, Fisher, Gaussian, KernelPCA, Marginalized

# %%
# What the model sees
# -------------------
# Three groups of points. The arrows are the part of the score that belongs to the means, one colour
# for each component: which mean a point pulls, and in which direction.

rng = np.random.default_rng(0)
shapes = [((0, 0), (2.0, 0.25)), ((0.5, 1.8), (2.0, 0.25)), ((6.5, 1), (0.3, 1.2))]
X = np.concatenate([rng.normal(m, s, (120, 2)) for m, s in shapes])
group = np.repeat([0, 1, 2], 120)
mixture = GaussianMixture(3, n_init=20, init_params="random_from_data", random_state=0).fit(X)

few = X[rng.permutation(len(X))[:60]]
pulls = Fisher(mixture, "identity", parts=["means"]).scores(few).reshape(len(few), 3, 2)
fig, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
ax.scatter(*X.T, s=6, color="0.8")
for k in range(3):
    color = f"C{k}"
    strong = np.linalg.norm(pulls[:, k], axis=1) > 0.1
    ax.quiver(*few[strong].T, *pulls[strong, k].T, color=color, angles="xy", scale=70, width=0.004)
    ax.plot(*mixture.means_[k], "o", color=color, ms=10, mec="k")
ax.set(title="scores for the means: how points pull on the model", aspect="equal")

# %%
# Few labels
# ----------
# The mixture was fitted to all points, but only nine of them have a label. A Gaussian kernel has to
# guess the shape of the groups from these. Derivatives with respect to the component weights are
# given by the probabilities that a point belongs to each component, which the mixture knows without
# any label.

known = np.concatenate([rng.choice(np.flatnonzero(group == g), 3, replace=False) for g in range(3)])
kernels = {
    "Gaussian kernel": Gaussian("median"),
    "Fisher kernel": Fisher(mixture, parts=["weights"]).resolve(X),
}
grid = np.stack(np.meshgrid(np.linspace(-8, 8.5, 150), np.linspace(-2, 4, 100)), axis=-1)
fig, panels = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", sharey=True)
for (name, kernel), ax in zip(kernels.items(), panels, strict=True):
    machine = SVC(kernel=kernel, C=10).fit(X[known], group[known])
    regions = machine.predict(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    ax.contourf(grid[..., 0], grid[..., 1], regions, levels=[-0.5, 0.5, 1.5, 2.5], alpha=0.2,
                colors=["C0", "C1", "C2"])  # fmt: skip
    ax.scatter(*X.T, s=6, c=[f"C{g}" for g in group])
    ax.scatter(*X[known].T, s=60, facecolors="none", edgecolors="k")
    ax.set(title=f"{name}: {machine.score(X, group):.0%} of all points right", aspect="equal")

# %%
# Sequences
# ---------
# The same works for anything that has a likelihood. A hidden Markov model of strings has learned
# that letters come in blocks; strings with the same letters in random order would change it in
# another direction. Below are the first two kernel principal components of the strings, with the
# Fisher kernel, and with a kernel that counts letters together with the hidden states they come
# from.

blocks = DiscreteHMM([0.5, 0.5], [[0.95, 0.05], [0.05, 0.95]], [[0.85, 0.15], [0.15, 0.85]], "ab")
ordered = [blocks.sample(80, rng=i) for i in range(80)]
shuffled = ["".join(rng.permutation(list(x))) for x in ordered]
model = DiscreteHMM.fit(ordered, n_states=2, rng=0)
fig, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for kernel, ax in zip((Fisher(model), Marginalized(model).normalize()), panels, strict=True):
    points = KernelPCA(2, kernel=kernel).fit_transform(ordered + shuffled)
    ax.scatter(*points[:80].T, s=14, label="blocks")
    ax.scatter(*points[80:].T, s=14, marker="x", label="shuffled")
    ax.set(xticks=[], yticks=[], title=f"{repr(kernel).split('(')[0]} kernel")
panels[0].legend()

plt.show()
