r"""
Time series with shifts and different lengths
=============================================

Three kinds of signals: a bump, a dip, and a bump before a dip. Each occurs at its own time and has
its own length. A kernel that compares values at the same time mostly sees when something happens;
kernels on series see what happens.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian, GlobalAlignment, LagEmbedding, PairHMM, Signature, SoftSubsequence

rng = np.random.default_rng(0)
KINDS = {"bump": [1.0], "dip": [-1.0], "both": [1.0, -1.0]}
COLORS = ["#4477aa", "#cc6677", "#ddaa33"]
LONGEST = 80


def signal(heights):
    """Bumps one after the other, from a random time on, with noise."""
    time = np.arange(rng.integers(60, LONGEST + 1))
    first = rng.uniform(8, len(time) - 10 - 14 * (len(heights) - 1))
    centres = first + 14 * np.arange(len(heights))
    bumps = [h * np.exp(-(((time - c) / 4) ** 2)) for h, c in zip(heights, centres, strict=True)]
    return 2 * np.sum(bumps, axis=0) + 0.15 * rng.normal(size=len(time))


kind = np.repeat(np.arange(3), 20)
X = [signal(heights) for heights in KINDS.values() for _ in range(20)]

fig, panels = plt.subplots(1, 3, figsize=(9.6, 2.8), sharex=True, sharey=True, layout="constrained")
for ax, name, at, color in zip(panels, KINDS, (0, 20, 40), COLORS, strict=True):
    for x in X[at : at + 4]:
        ax.plot(x, color=color, alpha=0.8, lw=1.2)
    ax.set(title=name, xlabel="time")
plt.show()

# %%
# What kernels see
# ----------------
# Gram matrices, with samples ordered by kind. The Gaussian kernel needs vectors, so series are
# padded with zeros. Alignments, windows and signatures find the blocks.

padded = np.array([np.pad(x, (0, LONGEST - len(x))) for x in X])
rule = GlobalAlignment().resolve(X)
grams = {
    "Gaussian, time by time": Gaussian("median")(padded),
    "global alignment": rule.replace(lengthscale=rule.lengthscale / 2)(X),
    "windows of 12": LagEmbedding(Gaussian(1.5), window=12).normalize()(X),
    "signature, with time": Signature(lengthscale="median", add_time=True).normalize()(X),
}
fig, panels = plt.subplots(1, 4, figsize=(11, 3.2), layout="constrained")
for ax, (title, K) in zip(panels, grams.items(), strict=True):
    ax.imshow(K, cmap="Blues", vmin=K.min(), vmax=np.quantile(K, 0.98))
    ax.set(title=title, xticks=(10, 30, 50), xticklabels=KINDS, yticks=())
    ax.tick_params(length=0)
plt.show()

# %%
# A map of the series
# -------------------
# The two largest eigenvectors of the centred Gram matrix place the series in the plane.

fig, panels = plt.subplots(1, 4, figsize=(11, 3.0), layout="constrained")
for ax, (title, K) in zip(panels, grams.items(), strict=True):
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    values, vectors = np.linalg.eigh(centred)
    places = vectors[:, -2:] * np.sqrt(values[-2:])
    for label, (name, color) in enumerate(zip(KINDS, COLORS, strict=True)):
        ax.scatter(*places[kind == label].T[::-1], s=18, color=color, label=name)
    ax.set(title=title, xticks=(), yticks=())
panels[0].legend(fontsize="small", frameon=False)
plt.show()

# %%
# A sensor that fails
# -------------------
# Now a part of every series is replaced by strong noise. An alignment has to use every point, and
# the worst of them dominate. Kernels that match points may leave them out.


def damaged(x):
    """Four points in a row overwritten."""
    y, start = x.copy(), rng.integers(len(x) - 4)
    y[start : start + 4] = rng.normal(0, 5, 4)
    return y


D = [damaged(x) for x in X]
grams = {
    "global alignment": rule.replace(lengthscale=rule.lengthscale / 2)(D),
    "pairs, with gaps": PairHMM(lengthscale=1.0)(D),
    "subsequences, with gaps": SoftSubsequence(lengthscale=0.6, length=3, decay=0.8).normalize()(D),
}
fig, panels = plt.subplots(1, 4, figsize=(11, 3.0), layout="constrained")
panels[0].plot(X[40], color="0.7", lw=3)
panels[0].plot(D[40], color=COLORS[2], lw=1)
panels[0].set(title="one of them", xlabel="time")
for ax, (title, K) in zip(panels[1:], grams.items(), strict=True):
    ax.imshow(K, cmap="Blues", vmin=K.min(), vmax=np.quantile(K, 0.98))
    ax.set(title=title, xticks=(10, 30, 50), xticklabels=KINDS, yticks=())
    ax.tick_params(length=0)
plt.show()
