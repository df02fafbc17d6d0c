"""
What string kernels see
=======================

Six ways to compare the same twelve strings: three families, each with its own motif in random
surroundings, with one letter changed and another inserted.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import (
    SVC,
    BlendedSpectrum,
    LocalAlignment,
    Mismatch,
    Spectrum,
    Subsequence,
    WeightedDegree,
)

rng = np.random.default_rng(3)
LETTERS = list("ACGT")


def member(motif):
    """The motif somewhere in a random string, with one letter changed and one put in."""
    letters = list(motif)
    letters[rng.integers(len(letters))] = rng.choice(LETTERS)
    letters.insert(rng.integers(1, len(letters)), rng.choice(LETTERS))
    before = rng.integers(2, 12)
    surround = rng.choice(LETTERS, 24)
    return "".join([*surround[:before], *letters, *surround[before:]])


motifs = ["".join(rng.choice(LETTERS, 14)) for _ in range(3)]
families = np.repeat([0, 1, 2], 30)
strings = [member(motifs[f]) for f in families]
some = np.r_[0:4, 30:34, 60:64]

# %%
# Gram matrices of twelve strings, normalised so that the diagonal is 1. The kernels compare windows
# that match exactly, or up to one letter; subsequences with gaps; and alignments. A kernel that
# compares position by position sees less, since the motifs move. The score is the accuracy on new
# strings.

kernels = {
    "Spectrum(3)": Spectrum(3),
    "BlendedSpectrum(5)": BlendedSpectrum(5),
    "Mismatch(5, 1)": Mismatch(5, 1),
    "Subsequence(4)": Subsequence(4, decay=0.5),
    "LocalAlignment()": LocalAlignment(beta=0.5, scores=(1.0, -1.0)),
    "WeightedDegree(3)": WeightedDegree(3),
}
new = np.arange(90) % 30 >= 15
train = [s for s, n in zip(strings, new, strict=True) if not n]
test = [s for s, n in zip(strings, new, strict=True) if n]
fig, panels = plt.subplots(2, 3, figsize=(8.4, 6), layout="constrained")
for ax, (name, kernel) in zip(panels.flat, kernels.items(), strict=True):
    kernel = kernel.normalize()
    score = SVC(kernel, C=10).fit(train, families[~new]).score(test, families[new])
    K = kernel([strings[i] for i in some])
    ax.imshow(K, cmap="cividis", vmin=np.min(K), vmax=np.sort(K.ravel())[-13])
    ax.set(title=f"{name}: {score:.0%} right", xticks=[], yticks=[])
plt.show()
