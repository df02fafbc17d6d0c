r"""
Are the probabilities calibrated?
=================================

When a classifier says 80%, it should be right in four cases out of five. Logistic regression is
trained for this: its loss is minus the logarithm of the probability of the observed class. A
support vector machine has no probabilities of its own; its scores are converted to probabilities by
a curve fitted to the scores of held-out samples (``probability=True``). A Gaussian process averages
over the posterior of the function.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

from mercer import SVC, Gaussian, GaussianProcessClassifier, KernelLogisticRegression
from mercer.plots.calibration import plot_reliability

rng = np.random.default_rng(0)


def draw(n):
    """Points of the plane, the probability of a label, and labels drawn with it."""
    X = rng.normal(0, 1.5, (n, 2))
    p = 1 / (1 + np.exp(-2 * (X[:, 0] - np.sin(2 * X[:, 1]))))
    return X, p, np.where(rng.random(n) < p, "red", "blue")


X, _, y = draw(300)
X_new, p_new, y_new = draw(4000)

# %%
# Reliability
# -----------
# New samples are sorted by the predicted probability of "red" and divided into ten groups. The plot
# shows the share of red samples in each group against the mean probability: on the diagonal they
# agree. The first model has almost no penalty, and is far too confident.

models = {
    "logistic, alpha = 1e-4": KernelLogisticRegression(1e-4, kernel=Gaussian()),
    "logistic, alpha = 0.3": KernelLogisticRegression(0.3, kernel=Gaussian()),
    "support vectors": SVC(C=1.0, kernel=Gaussian(), probability=True),
    "Gaussian process": GaussianProcessClassifier(random_state=0),
}
fig, panels = plt.subplots(1, 2, figsize=(9.6, 4.6), layout="constrained")
for number, (name, model) in enumerate(models.items()):
    plot_reliability(model.fit(X, y), X_new, y_new, panels[number // 2], label=name)
plt.show()

# %%
# Logarithmic loss
# ----------------
# The logarithmic loss penalises wrong probabilities, above all confident ones. On average, no model
# can be better than the probabilities from which the labels were drawn.

for name, model in models.items():
    P = model.predict_proba(X_new)
    print(f"{name:24} accuracy {model.score(X_new, y_new):.3f}, loss {log_loss(y_new, P):.3f}")
truth = np.column_stack([1 - p_new, p_new])
print(f"{'the truth':24} accuracy {np.mean((p_new > 0.5) == (y_new == 'red')):.3f}, ", end="")
print(f"loss {log_loss(y_new, truth):.3f}")

# %%
# Where models are uncertain
# --------------------------
# Probabilities in the plane. Near the data, those of three models are close to the truth; far away
# they revert to what is known without data. Those of the model with almost no penalty jump around
# single samples.

a = np.linspace(-4, 4, 121)
grid = np.stack([u.ravel() for u in np.meshgrid(a, a)], axis=1)
maps = {name: model.predict_proba(grid)[:, 1] for name, model in models.items()}
maps["the truth"] = 1 / (1 + np.exp(-2 * (grid[:, 0] - np.sin(2 * grid[:, 1]))))
fig, panels = plt.subplots(1, 5, figsize=(9.6, 2.5), sharey=True, layout="constrained")
for ax, (name, p) in zip(panels, maps.items(), strict=True):
    image = ax.pcolormesh(
        a, a, p.reshape(len(a), -1), cmap="RdBu_r", vmin=0, vmax=1, rasterized=True
    )
    ax.contour(a, a, p.reshape(len(a), -1), levels=[0.5], colors="0.2", linewidths=1)
    ax.set_title(name, fontsize="small")
    ax.set(aspect="equal", xticks=[], yticks=[])
fig.colorbar(image, ax=panels, label="probability of red", shrink=0.7)
plt.show()
