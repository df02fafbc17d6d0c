"""
Changes in a sequence
=====================

The mean of this signal never changes, but first its spread does, and then the shape of its
distribution. The linear kernel sees neither change; the Gaussian kernel sees both.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Linear, change_points

rng = np.random.default_rng(0)
x = np.concatenate([rng.normal(0, 1, 150), rng.normal(0, 4, 120), rng.choice([-4.0, 4.0], 130)])
found = change_points(x)
print(found)
print(change_points(x, kernel=Linear()))

# %%
# Segments as bands, and the cost against the number of changes: beyond two, further changes reduce
# the cost only by fitting noise, and the penalty outweighs this.
fig, (signal, costs) = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=[2, 1])
signal.plot(x, ".", ms=3, color="#222222")
for part, colour in zip(found.segments, ["#4477aa", "#ccbb44", "#cc6677"], strict=False):
    signal.axvspan(part.start, part.stop, color=colour, alpha=0.2, lw=0)
signal.set(xlabel="sample", ylabel="value")
found.plot(costs)
fig.tight_layout()
