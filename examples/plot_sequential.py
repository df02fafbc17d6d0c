"""
Sequential testing by betting
=============================

Two streams are compared as they arrive. A gambler bets that they differ, and only if they do can
the wealth be expected to grow. The test may be stopped as soon as the wealth reaches 20; if the
streams do not differ, this happens with a probability of at most 0.05.
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
