"""
A table with numbers and text
=============================

A row of a table is a point of a product space, and each column can have the kernel that suits it:
a Gaussian on numbers, a word histogram on text, equality on labels. Sums and products of them are
kernels on rows. There is no encoder to fit and no column to drop.

The table below is synthetic: flats with a size, a year, a district and an advertisement, and a rent
that depends on all four.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import GridSearchCV, train_test_split

from mercer import Categorical, Gaussian, KernelRidge, Words

rng = np.random.default_rng(0)
n = 300
extras = {
    "balcony": 80,
    "garden": 140,
    "lift": 40,
    "parquet": 50,
    "renovated": 120,
    "noisy": -110,
    "basement": -130,
    "view": 90,
}
district = rng.choice(["harbour", "hill", "old town", "station"], n)
area = rng.uniform(25, 130, n)
built = rng.integers(1900, 2024, n)
has = rng.random((n, len(extras))) < 0.3
phrases = [
    ["bright flat", "close to shops", "free from May", "quiet owner"][i % 4] for i in range(n)
]
text = [
    f"{phrases[i]}, " + ", ".join(w for w, there in zip(extras, has[i], strict=True) if there)
    for i in range(n)
]
per_square_metre = pd.Series(district).map(
    {"harbour": 14, "hill": 17, "old town": 19, "station": 11}
)
rent = (
    200
    + per_square_metre * area**0.95
    + 220 * ((built - 1960) / 60) ** 2
    + has @ np.array(list(extras.values()))
    + rng.normal(0, 60, n)
).to_numpy()
flats = pd.DataFrame({"area": area, "built": built, "district": district, "text": text})
print(flats.head(3).to_string())

# %%
# One kernel per column
# ---------------------
# The size of a flat matters differently in each district, so those two are multiplied; the year and
# the advertisement add their own terms.

size = Gaussian("median").on("area")
where = Categorical().on("district")
year = Gaussian("median").on("built")
words = Words().normalize().on("text")

candidates = {
    "size": 10 * size,
    "... in its district": 10 * (size + size * where),
    "... and the year": 10 * (size + size * where + year),
    "... and the text": 10 * (size + size * where + year + words),
}
centred = rent - rent.mean()
errors = {}
for name, kernel in candidates.items():
    model = KernelRidge(0.1, kernel=kernel).fit(flats, centred)
    errors[name] = np.sqrt(np.mean((model.leave_one_out() - centred) ** 2))

fig, ax = plt.subplots(figsize=(7.2, 2.8), layout="constrained")
bars = ax.barh(list(errors), list(errors.values()), color="#4477aa", height=0.6)
ax.bar_label(bars, fmt="%.0f", padding=4)
ax.axvline(60, color="#cc6677", linestyle="--", linewidth=1.4, label="noise in the data")
ax.legend(frameon=False, loc="lower right")
ax.invert_yaxis()
ax.set_xlabel("root mean squared error of the rent, leave-one-out")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# What the model is made of
# -------------------------
# The kernel prints as it was written, and every parameter inside has a name that scikit-learn's
# searches understand.

kernel = candidates["... and the text"]
print(kernel)
train, test, y, y_test = train_test_split(flats, centred, test_size=100, random_state=0)
search = GridSearchCV(
    KernelRidge(kernel=kernel),
    {"alpha": [0.03, 0.1, 0.3], "kernel__left__value": [3.0, 30.0]},
    cv=3,
).fit(train, y)
print(search.best_params_)

# %%

model = search.best_estimator_
predicted = model.predict(test)
fig, ax = plt.subplots(figsize=(4.8, 4.4), layout="constrained")
low, high = rent.min() - 50, rent.max() + 50
ax.plot([low, high], [low, high], color="0.7", linewidth=1)
ax.plot(
    y_test + rent.mean(), predicted + rent.mean(), "o", color="#4477aa", markersize=4, alpha=0.8
)
ax.set(xlabel="rent", ylabel="predicted", xlim=(low, high), ylim=(low, high), aspect="equal")
ax.set_title(
    f"100 flats not seen in training: $R^2$ = {model.score(test, y_test):.3f}", fontsize="medium"
)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
