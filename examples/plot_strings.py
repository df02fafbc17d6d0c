"""
A motif in DNA
==============

Some sequences contain a signal, TATAATGC, with at most one wrong letter, somewhere in the middle;
the others do not. String kernels find it from labels alone, and the model shows what it has found:
which substrings matter, and where they are in a sequence.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import (
    SVC,
    GappyKmer,
    Mismatch,
    Spectrum,
    WeightedDegree,
    kmer_weights,
    position_weights,
)

rng = np.random.default_rng(0)
motif = "TATAATGC"


def sequence(signal):
    """Forty random letters; with the signal, the motif begins at one of places 14 to 20."""
    letters = rng.choice(list("ACGT"), 40)
    if signal:
        copy = np.array(list(motif))
        copy[rng.integers(8)] = rng.choice(list("ACGT"))
        start = rng.integers(14, 21)
        letters[start : start + 8] = copy
    return "".join(letters)


y = np.repeat([1, 0], 100)
X = [sequence(label) for label in y]

# %%
# Similarities
# ------------
# The first hundred sequences contain the signal. Exact substrings connect copies of it that have
# their wrong letter at the same end; mismatches and gaps connect all of them.

kernels = {
    "Spectrum(6)": Spectrum(6),
    "Mismatch(6, 1)": Mismatch(6, 1),
    "GappyKmer(8, 6)": GappyKmer(8, 6),
}
fig, axes = plt.subplots(1, 3, figsize=(9.6, 3.5), layout="constrained")
for ax, (name, k) in zip(axes, kernels.items(), strict=True):
    K = k.normalize()(X)
    np.fill_diagonal(K, np.nan)
    ax.imshow(K, cmap="Blues", vmin=0, vmax=np.nanquantile(K, 0.995))
    ax.set_title(name, fontsize="medium")
    ax.set_xticks([0, 100, 199])
    ax.set_yticks([0, 100, 199])
plt.show()

# %%
# Substrings that matter
# ----------------------

model = SVC(C=10, kernel=GappyKmer(8, 6).normalize()).fit(X, y)
new = np.repeat([1, 0], 200)
print(f"accuracy on new sequences: {model.score([sequence(label) for label in new], new):.2f}")

best = kmer_weights(model, 14)[::-1]
fig, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
colours = ["#cc6677" if kmer.weight > 0 else "#4477aa" for kmer in best]
ax.barh([kmer.text for kmer in best], [kmer.weight for kmer in best], color=colours)
ax.axvline(0, color="0.3", lw=0.8)
ax.set_yticks(range(len(best)), [kmer.text for kmer in best], family="monospace")
ax.set_xlabel("contribution of one occurrence to the decision, before normalisation")
ax.spines[["top", "right", "left"]].set_visible(False)
plt.show()

# %%
# Positions that matter
# ---------------------
# The decision on a sequence is divided among its letters. Boxes show where the motif was put.


def starts(x):
    """Where the motif fits best."""
    matches = [sum(a == b for a, b in zip(x[i : i + 8], motif, strict=True)) for i in range(33)]
    return int(np.argmax(matches))


shown = [sequence(1) for _ in range(10)]
weights = np.array(position_weights(model, list(shown)))
fig, ax = plt.subplots(figsize=(9.6, 3.2), layout="constrained")
limit = np.abs(weights).max()
image = ax.imshow(weights, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
for row, x in enumerate(shown):
    for column, letter in enumerate(x):
        ax.text(column, row, letter, ha="center", va="center", fontsize=8, family="monospace")
    ax.add_patch(plt.Rectangle((starts(x) - 0.5, row - 0.5), 8, 1, fill=False, lw=1.2))
ax.set_xlabel("place")
ax.set_yticks([])
fig.colorbar(image, ax=ax, label="added to the decision")
plt.show()

# %%
# Position-dependent kernels
# --------------------------
# If the position of the signal matters, :class:`mercer.WeightedDegree` learns that, too. Here it
# may be shifted by up to four letters.

aligned = SVC(C=10, kernel=WeightedDegree(4, shift=4)).fit(X, y)
profile = np.mean(position_weights(aligned, X[:100]), axis=0)
other = np.mean(position_weights(aligned, X[100:]), axis=0)
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.plot(profile, color="#cc6677", label="with the signal")
ax.plot(other, color="#4477aa", label="without")
ax.axvspan(14, 27, color="0.92", zorder=0)
ax.axhline(0, color="0.3", lw=0.8)
ax.set_xlabel("place")
ax.set_ylabel("mean weight")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
