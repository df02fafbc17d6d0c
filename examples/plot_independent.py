"""
Unmixing signals: independent components
========================================

Three signals are recorded by three microphones, each of which hears all of them. Principal
components are uncorrelated and still mixtures. :class:`mercer.KernelICA` rotates them until a
kernel measure of dependence is smallest, and finds the signals, up to order and scale. Two of the
sources here are difficult on purpose: one jumps between two values, one is skewed.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelICA

rng = np.random.default_rng(1)
n = 1000
t = np.arange(n) / 100
sources = np.column_stack([
    np.sin(2 * np.pi * 0.7 * t),
    np.sign(np.sin(2 * np.pi * 0.31 * t + 1)) + 0.1 * rng.normal(size=n),
    rng.exponential(size=n),
])  # fmt: skip
mixing = np.array([[1.0, 0.6, 0.4], [0.5, 1.0, -0.4], [0.3, -0.5, 1.0]])
heard = sources @ mixing.T

model = KernelICA(random_state=0).fit(heard)
found = model.transform(heard)

# %%
# Signals and components, each beside the one it is most correlated with.

correlations = np.corrcoef(sources.T, found.T)[:3, 3:]
match = np.abs(correlations).argmax(axis=1)
fig, panels = plt.subplots(3, 3, figsize=(11, 5), sharex=True, layout="constrained")
for j in range(3):
    panels[j, 0].plot(t, sources[:, j], color="C0", lw=0.8)
    panels[j, 1].plot(t, heard[:, j], color="0.4", lw=0.8)
    sign = np.sign(correlations[j, match[j]])
    panels[j, 2].plot(t, sign * found[:, match[j]], color="C3", lw=0.8)
    panels[j, 2].set_title(f"correlation {abs(correlations[j, match[j]]):.3f}", fontsize=9)
panels[0, 0].set_title("sources")
panels[0, 1].set_title("microphones")
for ax in panels[-1]:
    ax.set_xlabel("time")
plt.show()
