r"""
Multiple kernel learning: several views of digits
=================================================

Handwritten digits can be described in many ways: by their pixels, by the amount of ink in each row
and column, by the size of their Fourier coefficients. :class:`mercer.MultipleKernelMachine` has one
kernel for each view and learns their weights together with the function

.. math:: \min_{\eta \ge 0,\, \sum \eta = 1}\; \min_{f, b}\; \sum_i L(y_i, f(x_i) + b)
          + \tfrac{\alpha}{2} \|f\|_\eta^2, \qquad k_\eta = \sum_m \eta_m k_m

Uninformative views get no weight, and the upper and lower bounds on the objective show when to
stop.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer import Gaussian, MultipleKernelMachine

images, y = load_digits().images / 16, load_digits().target
rng = np.random.default_rng(0)
views = {
    "pixels": images.reshape(len(images), -1),
    "ink per row\nand column": np.hstack([images.sum(axis=1), images.sum(axis=2)]),
    "Fourier": np.abs(np.fft.rfft2(images)).reshape(len(images), -1),
    "edges": np.diff(images, axis=2).reshape(len(images), -1),
    "noise": rng.normal(size=(len(images), 20)),
    "more noise": rng.normal(size=(len(images), 60)),
}
X = np.hstack(list(views.values()))
ends = np.cumsum([0, *(V.shape[1] for V in views.values())])
kernels = [Gaussian("median").on(slice(*ends[m : m + 2].tolist())) for m in range(len(views))]

# %%
# Models are trained on a tenth of the digits: first each view alone, then all of them.

order = rng.permutation(len(y))
train, test = order[:180], order[180:]
alone = [
    MultipleKernelMachine([k], "squared_hinge").fit(X[train], y[train]).score(X[test], y[test])
    for k in kernels
]
model = MultipleKernelMachine(kernels, "squared_hinge").fit(X[train], y[train])
together = model.score(X[test], y[test])

fig, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
names, places = list(views), np.arange(len(views))
left.bar(places, alone, color="0.7")
left.axhline(together, color="C3", label=f"all views: {together:.3f}")
left.set(ylim=(0, 1.15), title="accuracy of each view alone")
left.legend(loc="upper right")
middle.bar(places, model.weights_, color="C0")
middle.set(title="weights $\\eta$ that were learned")
for ax in (left, middle):
    ax.set_xticks(places, names, rotation=40, ha="right")
uppers, lowers = np.array(model.weighing_.history).T
steps = np.arange(1, len(uppers) + 1)
right.plot(steps, uppers, ".-", color="C3", label="objective")
right.plot(steps, lowers, ".-", color="C0", label="lower bound for all weights")
right.set(title=f"the gap is {100 * model.gap_:.2f} %", xlabel="problems solved")
right.legend()
plt.show()
