"""
Inspecting a classifier
=======================

Is a tumour malignant, judging by six measurements of its cells? Four plots of one classifier, on
new patients: at each threshold, how many malignant tumours are found and how many
others are mistaken for them (ROC); how often positive predictions are right (precision and recall);
how much the accuracy drops when a column is shuffled; and how the predicted probability depends on
one column with all others unchanged.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import Gaussian, KernelLogisticRegression
from mercer.plots import plot_curve, plot_importance, plot_partial

data = load_breast_cancer()
names = np.array([f"{data.target_names[c]}" for c in data.target])
some = [20, 21, 23, 24, 26, 27]  # six of the measurements
X, X_new, y, y_new = train_test_split(data.data[:, some], names, random_state=0)
model = make_pipeline(StandardScaler(), KernelLogisticRegression(kernel=Gaussian(3.0))).fit(X, y)

# %%
# Tables would name their columns in the pictures; here they are numbered.

fig, axes = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
plot_curve(model, X_new, y_new, axes[0, 0])
axes[0, 0].set(title="ROC")
plot_curve(model, X_new, y_new, axes[0, 1], curve="pr")
axes[0, 1].set(title="precision and recall")
plot_importance(model, X_new, y_new, axes[1, 0], n_repeats=5)
plot_partial(model, X_new, 1, axes[1, 1], grid=30)
axes[1, 1].set(xlabel=f"x2, {data.feature_names[21]}", ylabel="probability of malignant")
plt.show()
