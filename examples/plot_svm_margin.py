r"""
Margins, hard and soft
======================

Of all planes that separate two classes, a support vector machine takes the one in the middle of
the widest margin. If no plane separates them, the soft margin charges C for every unit by which a
sample is on the wrong side of its margin:

.. math:: \min_{f, b} \tfrac12 \|f\|^2 + C \sum_i \max(0, 1 - y_i (f(x_i) + b))

The solution is a sum over support vectors. Those *on* the margin have a free coefficient, between
0 and C; those *beyond* it, inside the margin or misclassified, are at the bound C. All others could
be removed and nothing would change.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC
from mercer.plots.svm import plot_decision

rng = np.random.default_rng(2)
noise = rng.normal(0, 0.85, (80, 2))
shift = np.repeat([-1.0, 1.0], 40)[:, None] * [1.6, 1.2]
y = np.repeat(["left", "right"], 40)

# %%
# Many separating lines, one with the widest band
# -----------------------------------------------
# Lines of many directions separate the two classes. Each can be moved within a band that contains
# no sample, and is drawn in its middle; the wider the band, the darker the line.

separable = noise + 1.2 * shift
angles = np.linspace(-np.pi, np.pi, 1000)
directions = np.stack([np.cos(angles), np.sin(angles)])
along = separable @ directions
left, right = along[:40].max(axis=0), along[40:].min(axis=0)
width = right - left
some = np.flatnonzero(width > 0)
print(f"{len(some)} of 1000 directions separate, and the widest band is {width.max():.3f}")

# %%
# The hard margin
# ---------------
# ``C=inf`` allows no error: the SVM finds the widest band, whose width is 2/\|f\|. Two or three
# support vectors determine the whole solution.

hard = SVC(C=np.inf, kernel="linear").fit(separable, y)
report = hard.decision_path()[0]
print(f"{report.free} support vectors, a margin {report.margin:.3f} wide")

fig, (lines, margin) = plt.subplots(1, 2, figsize=(9.6, 5.6), sharey=True, layout="constrained")
for j in some[:: len(some) // 14]:
    foot = (left[j] + right[j]) / 2 * directions[:, j]
    slope = directions[::-1, j] * (-1, 1)
    lines.axline(foot, foot + slope, color=str(0.9 - 0.9 * width[j] / width.max()), linewidth=1)
for side, mark, hue in (("left", "s", "#cc6677"), ("right", "o", "#4477aa")):
    lines.plot(*separable[y == side].T, mark, color=hue, markersize=4)
plot_decision(hard, separable, y, ax=margin)
margin.get_legend().remove()
fig.legend(*margin.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
margin.set(title="the one that an SVM finds", ylabel="", aspect="equal")
limits = {"xlim": margin.get_xlim(), "ylim": margin.get_ylim()}
lines.set(title="lines that separate", xlabel="$x_1$", ylabel="$x_2$", aspect="equal", **limits)
plt.show()

# %%
# When the classes overlap, there is no such plane, and the model says so.

overlapping = noise + 0.6 * shift
try:
    SVC(C=np.inf, kernel="linear").fit(overlapping, y)
except ValueError as error:
    print(error)

# %%
# The soft margin
# ---------------
# A small C tolerates errors: the margin is wide, and many support vectors are bounded. A large C
# narrows the margin until only a few samples determine it.

models = {C: SVC(C=C, kernel="linear").fit(overlapping, y) for C in (0.02, 0.2, 20)}
fig, panels = plt.subplots(1, 3, figsize=(9.6, 4.0), sharey=True, layout="constrained")
for ax, (C, model) in zip(panels, models.items(), strict=True):
    plot_decision(model, overlapping, y, ax=ax)
    ax.set(title=f"C = {C:g}: margin {model.decision_path()[0].margin:.2f}", ylabel="")
    ax.get_legend().remove()
panels[0].set_ylabel("$x_2$")
handles, labels = panels[1].get_legend_handles_labels()
fig.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
plt.show()

# %%
# The certificate
# ---------------
# Any dual value is a lower bound on the optimum, any primal value an upper bound. The solver
# returns both: the gap between them proves how good the solution is.

print("     C    primal      dual      gap  margin  free  bounded")
for C, model in models.items():
    r = model.decision_path()[0]
    print(f"{C:6g}  {r.primal:8.3f}  {r.dual:8.3f}  {r.gap:7.1e}  {r.margin:6.3f}", end="  ")
    print(f"{r.free:4}  {r.bounded:7}")
