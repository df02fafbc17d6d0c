r"""
Which columns matter: weights of a sum of kernels
=================================================

A table has groups of columns, and each group can have its own kernel. How much should each count?
The weights of the sum

.. math:: k = w_1 k_1 + \dots + w_p k_p

are numbers in the kernel like any other, so :func:`mercer.tune` finds them along the gradient of
the marginal likelihood, together with the penalty (multiple-kernel learning). Uninformative
groups get almost no weight.

The data are 442 patients: age, sex, body mass index, blood pressure, six blood values, and the
progression of diabetes within a year. Four columns of noise are added.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes

from mercer import Gaussian, GaussianProcessRegressor, KernelRidge, tune
from mercer.plots.regression import plot_fit

table, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
rng = np.random.default_rng(0)
noise = pd.DataFrame(rng.normal(size=(len(table), 4)), columns=[f"noise {i}" for i in range(4)])
table = pd.concat([table, noise], axis=1)
table = (table - table.mean()) / table.std()
y = y.to_numpy() - y.mean()

groups = {
    "age and sex": ["age", "sex"],
    "body mass": ["bmi"],
    "blood pressure": ["bp"],
    "cholesterol": ["s1", "s2", "s3", "s4"],
    "triglycerides": ["s5"],
    "sugar": ["s6"],
    "noise": list(noise.columns),
}

# %%
# Learning the weights
# --------------------
# All kernels are Gaussian, with a fixed lengthscale that grows with the number of columns. Only
# weights and penalty are tuned.

kernels = [Gaussian(2 * np.sqrt(len(columns))).on(columns) for columns in groups.values()]
start = sum(1.0 * k for k in kernels)
names = [h.name for h in start.hyperparameters()]
lengthscales = tuple(name for name in names if name.endswith("lengthscale"))

ridge = KernelRidge(alpha=10.0, kernel=start)
learned = tune(ridge, table, y, fixed=lengthscales)
weights = [h.value for h in learned.kernel.hyperparameters() if h.name.endswith("value")]

fig, ax = plt.subplots(figsize=(7.2, 3.0), layout="constrained")
bars = ax.barh(list(groups), weights, color="#4477aa", height=0.6)
ax.bar_label(bars, fmt="%.2g", padding=4)
ax.invert_yaxis()
ax.set_xlabel("learned weight; all started at 1")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Is it better?
# -------------
# Leave-one-out errors of one kernel on all columns, of the sum with equal weights (each with its
# best penalty), and of the sum with learned weights.

every = KernelRidge(alpha=10.0, kernel=Gaussian(2 * np.sqrt(table.shape[1])))
one = tune(every, table, y, fixed=("lengthscale",))
equal = tune(ridge, table, y, fixed=tuple(names))
for name, model in {"one kernel": one, "equal weights": equal, "learned weights": learned}.items():
    error = np.sqrt(np.mean((model.leave_one_out() - y) ** 2))
    print(f"{name:16} {error:.1f}")

# %%
# The functions in the sum
# ------------------------
# The parts of a Gaussian process with the same sum show what each group adds, with its uncertainty.
# Centred kernels (``k.center(table)``) span functions whose mean over the patients is zero; without
# that, a constant could move from one part to another, and none would be well determined. The
# figure shows the parts of single columns, and that of the noise columns along one of them. Grey
# dots are the targets minus all other parts.

process = GaussianProcessRegressor(learned.kernel, fixed=lengthscales).fit(table, y)
weights = [h.value for h in process.kernel_.hyperparameters() if h.name.endswith("value")]
centred = sum(w * k.center(table) for w, k in zip(weights, kernels, strict=True))
process = GaussianProcessRegressor(centred, alpha=process.alpha_, optimizer=None).fit(table, y)
parts = dict(zip(groups, process.parts(), strict=True))
residuals = y - process.predict(table)

fig, panels = plt.subplots(1, 4, figsize=(9.6, 3.0), sharey=True, layout="constrained")
for ax, name in zip(panels, ("body mass", "triglycerides", "sugar", "noise"), strict=True):
    plot_fit(parts[name], table, column=groups[name][0], ax=ax)
    here = parts[name].predict(table) + residuals
    ax.plot(table[groups[name][0]], here, "o", color="0.8", markersize=1.5, zorder=0)
    ax.set_title(name, fontsize="medium")
    ax.set(xlabel="standard deviations", ylabel="", ylim=(-150, 150))
    ax.get_legend().remove()
panels[0].set_ylabel("progression of the disease")
plt.show()
