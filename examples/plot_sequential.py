"""
Evidence that grows
===================

Two streams are compared while they come. The wealth of a gambler who bets that they differ grows
only if they do; the test may be stopped whenever it has reached 20, and is right 19 times of 20.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SequentialTwoSampleTest

rng = np.random.default_rng(0)
fig, ax = plt.subplots(figsize=(7, 4))
for shift, label in ((0.0, "the same"), (0.3, "means 0.3 apart"), (0.6, "means 0.6 apart")):
    test = SequentialTwoSampleTest()
    for _ in range(50):
        test.update(rng.normal(0, 1, (10, 2)), rng.normal(shift, 1, (10, 2)))
    print(label, test)
    test.plot(ax)
    ax.lines[-3 if test.rejected else -2].set_label(label)
ax.set_ylim(-2, 8)
ax.legend(frameon=False)
fig.tight_layout()
