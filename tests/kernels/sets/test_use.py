"""Sets wherever samples go: models, tests, searches, tables, files."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from mercer import (
    SVC,
    Convolution,
    Gaussian,
    GaussianProcessRegressor,
    Intersection,
    Jaccard,
    KernelPCA,
    Minimax,
    MultiInstance,
    Spectrum,
    SymmetricDifference,
    load,
    parse,
    save,
    two_sample_test,
)


@pytest.fixture
def cases(rng):
    """A kernel, samples of two classes, and a parameter to search."""
    y = np.repeat([0, 1], 20)
    bags = [rng.normal(2 * label, 1, (rng.integers(1, 5), 2)) for label in y]
    sets = [set(rng.integers(0, 6, 4).tolist()) | {10 + label} for label in y]
    starts = rng.uniform(0, 1, 40) + y
    intervals = [(float(a), float(a) + 1) for a in starts]
    masks = rng.random((40, 5, 5)) < 0.3 + 0.4 * y[:, None, None]
    texts = ["".join(rng.choice(list(("aab", "abb")[label]), 6)) for label in y]
    return y, [
        (MultiInstance(Gaussian(1.0), normalization="diagonal"), bags, "kernel__lengthscale"),
        (Minimax(Gaussian(1.0)), bags, "kernel__lengthscale"),
        (SymmetricDifference(lengthscale=1.0), sets, "lengthscale"),
        (SymmetricDifference(lengthscale=1.0), intervals, "lengthscale"),
        (SymmetricDifference(lengthscale=1.0), masks, "lengthscale"),
        (0.5 * Jaccard() + Intersection().normalize(), sets, "left__left__value"),
        (Convolution("splits", [Spectrum(1), Spectrum(1)]).normalize(), texts, None),
    ]


def test_models(cases):
    y, kernels = cases
    for k, X, name in kernels:
        assert SVC(k).fit(X, y).score(X, y) > 0.7
        assert KernelPCA(2, kernel=k).fit_transform(X).shape == (40, 2)
        process = GaussianProcessRegressor(k, alpha=0.1).fit(X, y)
        assert process.score(X, y) > 0.2
        if name:
            search = GridSearchCV(SVC(k), {f"kernel__{name}": [0.5, 1.0]}, cv=2).fit(X, y)
            assert search.best_score_ > 0.6
        first, second = ([x for x, label in zip(X, y, strict=True) if label == c] for c in (0, 1))
        assert two_sample_test(first, second, kernel=k, n_permutations=99, rng=0).pvalue < 0.1


def test_texts_tables_and_files(cases, tmp_path):
    y, kernels = cases
    for k, X, _ in kernels:
        assert parse(repr(k)) == k == clone(k)
        table = pd.DataFrame({"x": list(X), "y": y})
        assert k.on("x")(table) == pytest.approx(k(X))
        model = SVC(k.on("x")).fit(table, y)
        save(model, tmp_path / "model")
        back = load(tmp_path / "model")
        assert back.decision_function(table) == pytest.approx(model.decision_function(table))


def test_lengthscales_are_learned(cases):
    y, kernels = cases
    k, X, _ = kernels[2]
    tuned = GaussianProcessRegressor(k, alpha=0.1).fit(X, y)
    assert tuned.kernel_.lengthscale != 1.0
