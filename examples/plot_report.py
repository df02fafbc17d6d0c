"""
A report on a model
===================

How good a model is on unseen rows, on one page; and plots of models and kernels.
"""

# %%
# Kernel ridge regression on the diabetes data, 442 patients and ten measurements. The report
# compares it with baselines, on the rows that were held out.

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import ConformalRegressor, KernelRidge, Linear, Matern, report
from mercer.plots import GramDisplay, PredictionDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X, X_test, y, y_test = train_test_split(X, y.to_numpy(), test_size=0.25, random_state=0)
kernel = Matern(6.0, nu=1.5) + 0.1 * Linear()
model = make_pipeline(StandardScaler(), ConformalRegressor(KernelRidge(0.5, kernel=kernel)))
page = report(model, X, y, test=(X_test, y_test), budget=10, max_rows=200, cv=3)
print(page)
for tile in page.tiles:
    print(f"{tile.name}: {tile.value} ({tile.words})")

# %%
# ``page.save("report.html")`` writes it, and a notebook displays it. Figures can also be drawn one
# by one: observed against predicted values, with intervals, and the kernel matrix of the patients,
# ordered by target.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
PredictionDisplay.from_estimator(model.fit(X, y), X_test, y_test, ax=left)
Z = model[0].transform(X)
GramDisplay.from_kernel(kernel.normalize(), Z[y.argsort()], ax=right)
right.set_title("patients by their target", fontsize="medium")
plt.show()

# %%
# A kernel at the end of a cell is displayed as its formula.

kernel  # noqa: B018
