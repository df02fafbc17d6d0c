"""
Sequence labelling
==================

A machine idles, runs and spins, for a while each and in this order. Two noisy sensors observe it.
A classifier of single time points only uses the sensor values at that time;
:class:`mercer.SequenceLabeller` also uses what comes before and after.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian, SequenceLabeller

rng = np.random.default_rng(1)
names = np.array(["idle", "run", "spin"])


def record(length=120):
    """States that last for 12 steps on average, and what the sensors read."""
    state = np.cumsum(rng.random(length) < 1 / 12) % 3
    return np.column_stack([state == 1, state == 2]) + 0.6 * rng.normal(size=(length, 2)), state


records = [record() for _ in range(10)]
X, y = np.vstack([X for X, _ in records]), names[np.concatenate([y for _, y in records])]
groups = np.repeat(np.arange(10), 120)

together = SequenceLabeller(kernel=Gaussian(1.5)).fit(X, y, groups)
alone = SequenceLabeller(kernel=Gaussian(1.5), transition_weight=0).fit(X, y, groups)

# %%
# A new recording. Each row of colours is a labelling, and the curves are the probabilities of
# the three states given the whole sequence.

new, truth = record()
labellings = {
    "true": names[truth],
    f"one by one: {alone.score(new, names[truth]):.0%} right": alone.predict(new),
    f"together: {together.score(new, names[truth]):.0%} right": together.predict(new),
}
colours = dict(zip(names, ["#0072B2", "#E69F00", "#CC79A7"], strict=True))
fig, (signal, rows, curves) = plt.subplots(
    3, 1, figsize=(8, 6), sharex=True, height_ratios=[2, 1.3, 2], layout="constrained"
)
signal.plot(new[:, 0], color="#444444", lw=1, label="sensor 1")
signal.plot(new[:, 1] - 5, color="#999999", lw=1, label="sensor 2, shifted")
signal.set(title="what the sensors read", yticks=[])
signal.legend(frameon=False, ncols=2, loc="center", bbox_to_anchor=(0.5, 0.5))
for height, labels in enumerate(labellings.values()):
    for t, label in enumerate(labels):
        rows.barh(-height, 1, left=t - 0.5, height=0.8, color=colours[label])
rows.set_yticks([0, -1, -2], labellings)
rows.tick_params(left=False)
for name, p in zip(together.classes_, together.predict_proba(new).T, strict=True):
    curves.plot(p, color=colours[name], label=name)
curves.set(xlabel="time", ylabel="probability", xlim=(-0.5, 119.5))
curves.legend(frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.2))
for ax in (signal, rows, curves):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
