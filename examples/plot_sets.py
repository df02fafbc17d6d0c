"""
Sets as data
============

Two uses of kernels on sets: learning from bags of instances of which one decides, and finding out
which inputs of a simulation influence its set-valued output.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, Gaussian, MultiInstance, SymmetricDifference, sensitivity_indices

rng = np.random.default_rng(0)

# %%
# Bags of points
# --------------
# Each bag holds two to six points of the plane. A bag is positive if one of them lies in a certain
# disc; neither the point nor the disc is known to the model.

bags = [rng.uniform(-2, 2, (rng.integers(2, 7), 2)) for _ in range(300)]
inside = [np.linalg.norm(bag - [0.8, 0.5], axis=1) < 0.7 for bag in bags]
y = np.array([each.any() for each in inside])

machine = SVC(MultiInstance(Gaussian(0.5)), C=10).fit(bags[:200], y[:200])
print(f"right for {machine.score(bags[200:], y[200:]):.0%} of new bags")

# %%
# The decision values of bags with a single point show which region the SVM has found to be
# decisive.

side = np.linspace(-2, 2, 60)
points = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 1, 2)
fig, ax = plt.subplots(figsize=(5.4, 4.4), layout="constrained")
image = ax.contourf(
    side, side, machine.decision_function(points).reshape(60, 60), levels=20, cmap="RdBu_r"
)
fig.colorbar(image, ax=ax, label="decision about a bag of one point")
for bag, label in zip(bags[:60], y[:60], strict=True):
    ax.plot(*bag.T, "o-", ms=3, lw=0.5, color="k" if label else "0.6")
ax.add_patch(plt.Circle((0.8, 0.5), 0.7, fill=False, ls="--", lw=1.5))
ax.set(title="bags; black ones are positive", aspect="equal")

# %%
# Which inputs influence a set?
# -----------------------------
# A plate is heated at a point (a, b) with power p; a fourth input has no effect. The output is the
# set of all points that get hot, as a mask on a grid.

inputs = rng.uniform(size=(200, 4))
grid = np.stack(np.meshgrid(np.linspace(0, 1, 25), np.linspace(0, 1, 25)), axis=-1)
a, b, power, _ = inputs.T[:, :, None, None]
squares = (grid[..., 0] - (0.35 + 0.3 * a)) ** 2 + (grid[..., 1] - (0.45 + 0.1 * b)) ** 2
hot = (0.5 + power) * np.exp(-squares / 0.05) > 0.5

found = sensitivity_indices(inputs, hot, SymmetricDifference(), n_permutations=199, rng=0)
print(found)

fig, panels = plt.subplots(1, 4, figsize=(11, 3), layout="constrained", width_ratios=[1, 1, 1, 1.6])
for ax, row in zip(panels, np.argsort(inputs[:, 2])[[5, 100, 195]], strict=False):
    ax.imshow(hot[row], origin="lower", cmap="Oranges", extent=(0, 1, 0, 1))
    ax.set(title=f"power {inputs[row, 2]:.2f}", xticks=[], yticks=[])
found.plot(panels[3])
panels[3].set_xticks(range(4), ["a", "b", "power", "nothing"])
plt.show()
