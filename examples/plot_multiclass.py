r"""
One-vs-one and one-vs-rest
==========================

A support vector machine tells two classes apart. For M classes there are two ways to combine
several:

* *one-vs-one*: a machine for each of the M (M - 1) / 2 pairs, trained on these two classes
  only. Each has a vote.
* *one-vs-rest*: a machine for each class, trained on all samples. The largest score wins.

:class:`mercer.SVC` does the former, as scikit-learn does; ``multiclass="ovr"`` does the latter.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC
from mercer.plots.svm import plot_decision

HUES = ["#cc6677", "#4477aa", "#228833", "#ccbb44"]
WAYS = {
    "one against one": {"decision_function_shape": "ovo"},
    "one against the rest": {"multiclass": "ovr"},
}


def compare(X, y):
    """The regions of both, and the line f = 0 of every machine."""
    fig, panels = plt.subplots(1, 2, figsize=(9.6, 5.7), sharey=True, layout="constrained")
    for ax, (title, options) in zip(panels, WAYS.items(), strict=True):
        model = SVC(C=10.0, kernel="linear", **options).fit(X, y)
        plot_decision(model, X, y, ax=ax, resolution=400)
        for line, (w, b) in enumerate(zip(model.coef_, model.intercept_, strict=True)):
            hue = "0.35" if title == "one against one" else HUES[line]
            ax.axline(-b * w / (w @ w), slope=-w[0] / w[1], color=hue, linewidth=1.2)
        ax.set(title=f"{title}: {len(model.coef_)} machines", aspect="equal")
        ax.get_legend().remove()
        print(f"{title}: {model.score(X, y):.0%} of the samples are right")
    panels[1].set_ylabel("")
    handles = panels[0].get_legend_handles_labels()
    fig.legend(*handles, loc="outside lower center", ncols=4, frameon=False)
    plt.show()


# %%
# Three classes
# -------------
# On the left, every boundary is part of the line of one machine, and the three lines need not meet
# in one point: between them is a small triangle in which each class has one vote (the tie goes to
# the first class). On the right, a boundary is where two scores are equal; the lines of the
# machines, in the colours of their classes, are elsewhere.

rng = np.random.default_rng(5)
centres = np.array([[0, 1.9], [-1.8, -1.1], [1.8, -1.1], [0, 0]])
X = np.repeat(centres[:3], 30, axis=0) + rng.normal(0, 0.5, (90, 2))
compare(X, np.repeat(["a", "b", "c"], 30))

# %%
# A class in the middle
# ---------------------
# No line separates the class in the middle from all others together. On the right, its machine
# predicts the constant score -1, and no line is drawn for it; its region is where the other three
# scores are even lower. Each pair is easy to separate, but that takes six machines. With a
# nonlinear kernel, both ways work.

X = np.repeat(centres, 30, axis=0) + rng.normal(0, 0.5, (120, 2))
compare(X, np.repeat(["a", "b", "c", "d"], 30))
