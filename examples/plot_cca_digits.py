"""
Which halves belong together?
=============================

Cut a picture of a digit in two, and there are two views of it: the left half and the right half.
What they have in common is the digit, and how it was written. Kernel canonical correlation analysis
finds functions of the left half and of the right half that agree; in the space of these scores,
the halves of one picture lie close to each other.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer import CCA, KernelCCA, KernelCCACV

pictures, digit = load_digits(return_X_y=True)
pictures = pictures.reshape(-1, 8, 8) / 16
left, right = (half.reshape(len(half), -1) for half in np.split(pictures, 2, axis=2))
order = np.random.default_rng(0).permutation(len(pictures))
train, test = order[:1000], order[1000:1300]

# %%
# The regularization lambda is chosen by cross-validation on a part of the training samples, by the
# correlation of the scores on held-out samples.

few = train[:400]
search = KernelCCACV([1e-6, 1e-5, 1e-4, 1e-3, 1e-2], 12).fit(left[few], right[few])
print("regularization:", search.regularization_)
kernel = KernelCCA(20, regularization=search.regularization_).fit(left[train], right[train])
linear = CCA(20, regularization=0.1).fit(left[train], right[train])

# %%
# The first scores of 300 pictures that were not used: the digits form groups, though no label was
# ever shown to the model.

scores, _ = kernel.transform(left[test], right[test])
fig, ax = plt.subplots(figsize=(5.6, 5.2), layout="constrained")
for label in range(10):
    at = digit[test] == label
    ax.scatter(*scores[at][:, [0, 1]].T, s=42, marker=f"${label}$", color=plt.cm.tab10(label))
ax.set(xlabel="first score of the left half", ylabel="second score of the left half")
ax.spines[["top", "right"]].set_visible(False)
plt.show()


# %%
# For each left half, all 300 right halves are ordered by the angle between their scores. By chance,
# the correct one would be among the first ten in 3 % of cases.


def similarity(model):
    a, b = (t / np.linalg.norm(t, axis=1, keepdims=True)
            for t in model.transform(left[test], right[test]))  # fmt: skip
    return a @ b.T


for name, model in {"linear": linear, "Gaussian": kernel}.items():
    S = similarity(model)
    better = np.sum(np.diag(S)[:, None] < S, axis=1)
    same = np.mean(digit[test][S.argmax(axis=1)] == digit[test])
    print(f"{name:9} first: {np.mean(better == 0):4.0%}   among the first ten: "
          f"{np.mean(better < 10):4.0%}   best is the same digit: {same:4.0%}")  # fmt: skip

# %%
# Some left halves, each with its own right half and the four that the model ranks highest.

S = similarity(kernel)
fig, panels = plt.subplots(5, 8, figsize=(8.4, 5.4), layout="constrained")
L, R = (half[test].reshape(-1, 8, 4) for half in (left, right))
for i, row in enumerate(panels.T):
    best = np.argsort(-S[i])[:4]
    for ax, j in zip(row, [i, *best], strict=True):
        ax.imshow(np.hstack([L[i], R[j]]), cmap="gray_r", vmin=0, vmax=1)
        ax.axvline(3.5, color="#cc6677", linewidth=0.8)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        if j == i and ax is not row[0]:
            ax.set_title("its own", fontsize=7, pad=2)
panels[0, 0].set_ylabel("as written")
panels[1, 0].set_ylabel("best")
panels[4, 0].set_ylabel("4th best")
plt.show()
