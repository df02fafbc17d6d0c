"""
Ballots
=======

Voters rank candidates, and most of them stop after a few. The Kendall kernel compares two
ballots by the pairs of candidates that both put in the same order, so complete ballots, ties and
top-k lists can be used in any method.
"""

from itertools import combinations, permutations

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, Kendall, KernelPCA, Mallows, rankings_from_orders, two_sample_test

rng = np.random.default_rng(0)

# %%
# All rankings of four candidates
# -------------------------------
# In the first three principal components, all 24 rankings of A, B, C and D are the corners of a
# solid, the permutohedron: along an edge, two neighbours change places. Two towns vote. In one,
# half of the voters prefer ABCD, or something close to it, and the other half DCBA; in the other,
# all voters choose at random. The size of a corner shows by how much its numbers of votes in the
# two towns differ.

corners = np.array(list(permutations(range(4))))
names = ["".join("ABCD"[i] for i in np.argsort(corner)) for corner in corners]
solid = KernelPCA(3, kernel=Kendall()).fit_transform(corners)
turned, _ = np.linalg.qr(solid[[names.index(name) for name in ("ABCD", "BADC", "ACBD")]].T)
solid = solid @ turned  # ABCD and DCBA on the first axis
apart = np.rint(-np.log(Mallows(1.0)(corners)))  # pairs in opposite order


def votes(centre, spread, n):
    """Rankings near a centre: the Mallows model."""
    chances = np.exp(-apart[names.index(centre)] / spread)
    return corners[rng.choice(24, n, p=chances / chances.sum())]


divided = np.concatenate([votes("ABCD", 1.5, 150), votes("DCBA", 1.5, 150)])
chance = votes("ABCD", 1e9, 300)
for kernel in (Kendall(), Mallows(0.3)):
    found = two_sample_test(divided, chance, kernel=kernel, rng=0)
    print(f"{kernel!r:22} p = {found.pvalue:.3f}")

# %%
# The Kendall kernel does not see the difference, since opposite ballots cancel: each candidate is
# ahead of any other as often as behind. The Mallows kernel tells all distributions apart.

fig = plt.figure(figsize=(11, 4.6), layout="constrained")
ax = fig.add_subplot(1, 2, 1, projection="3d")
for i, j in combinations(range(24), 2):
    if apart[i, j] == 1:
        ax.plot(*solid[[i, j]].T, color="0.75", lw=1, zorder=0)
counts = [np.array([(town == corner).all(axis=1).sum() for corner in corners])
          for town in (divided, chance)]  # fmt: skip
more = counts[0] - counts[1]
colors = np.where(more > 0, "C0", "C3")
ax.scatter(*solid.T, s=8 * np.abs(more) + 4, c=colors, depthshade=False)
for name, point, extra in zip(names, solid, more, strict=True):
    ax.text(*(1.2 * point), name, ha="center", va="center", fontsize=7 + 2 * (extra > 15))
ax.set_title("more votes (blue) or fewer (red)\nin the divided town than by chance")
ax.set_axis_off()
ax.view_init(20, -76)
ax.set_box_aspect(np.ptp(solid, axis=0), zoom=1.5)

# %%
# Incomplete ballots
# ------------------
# There are twelve candidates of three parties. Voters name the best few, mostly those of their own
# party first. How well can a classifier predict their party from a ballot of k candidates? The
# others rank behind those that are named; treating them as unseen loses this information.

parties = np.repeat([0, 1, 2], 4)
party = rng.integers(0, 3, 600)
merit = rng.normal(0, 0.8, 12) + 1.3 * (parties == party[:, None]) + rng.gumbel(size=(600, 12))
order = np.argsort(-merit, axis=1)
sizes = np.arange(1, 13)
ways = {
    "behind the others": ("last", Kendall().normalize()),
    "not seen": ("missing", Kendall().normalize()),
    "anywhere": ("missing", Kendall("average").normalize()),
}
ax = fig.add_subplot(1, 2, 2)
for label, (rest, kernel) in ways.items():
    scores = []
    for k in sizes:
        ballots = rankings_from_orders(order[:, :k], 12, rest=rest)
        machine = SVC(kernel, C=1.0).fit(ballots[:300], party[:300])
        scores.append(machine.score(ballots[300:], party[300:]))
    ax.plot(sizes, scores, "o-", label=label)
ax.axhline(1 / 3, color="0.6", ls=":")
ax.set(xlabel="candidates named", ylabel="accuracy", xticks=sizes, ylim=(0.3, 0.9))
ax.legend(title="candidates that are not named are")
ax.set_title("party, from a ballot")
plt.show()
