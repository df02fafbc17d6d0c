"""
Causes from independence
========================

Cold makes it rain, and rain and a sprinkler make the grass wet. Which variables are independent of
each other, and given others, tells the directions of some edges; those that may go either way are
grey.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import causal_graph

rng = np.random.default_rng(1)
cold, sprinkler, e1, e2 = rng.normal(size=(4, 200))
rain = np.tanh(2 * cold) + 0.5 * e1
wet = 1.5 * np.abs(sprinkler) + rain + 0.3 * e2
data = np.column_stack([cold, sprinkler, rain, wet])
names = ["cold", "sprinkler", "rain", "wet"]
found = causal_graph(data, names=names, n_permutations=99, rng=0)
print(found)

# %%
# The partial correlation does not see what the sprinkler does: its effect has no direction.
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
found.plot(left)
causal_graph(data, names=names, test="linear").plot(right)
left.set_title("kernel tests")
right.set_title("partial correlations")
fig.tight_layout()
