"""
A causal graph from independence tests
======================================

A sprinkler and rain make the grass wet, and wet grass is slippery. Tests of independence, alone and
given other variables, show which variables are adjacent in the causal graph, and some of the
directions. Sprinkler and rain are independent, but dependent given the grass: so both are causes of
wet grass.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import causal_graph

rng = np.random.default_rng(0)
sprinkler, rain, e1, e2 = rng.normal(size=(4, 250))
wet = sprinkler**2 + 1.5 * np.abs(rain) + 0.2 * e1
slippery = wet + 1.5 * e2
data = np.column_stack([sprinkler, rain, wet, slippery])
names = ["sprinkler", "rain", "wet", "slippery"]
found = causal_graph(data, names=names, n_permutations=199, rng=0)
print(found)

# %%
# Partial correlations miss these causes, whose effects are not monotone.
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
found.plot(left)
causal_graph(data, names=names, test="linear").plot(right)
left.set_title("kernel tests")
right.set_title("partial correlations")
fig.tight_layout()
