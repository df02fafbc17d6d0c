import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer import (
    Gaussian,
    KernelLogisticRegression,
    KernelRidge,
    KernelRidgeCV,
    Linear,
    Nystrom,
    Plan,
    Polynomial,
    RandomFourier,
    Spectrum,
)


@pytest.fixture
def data(rng):
    X = rng.standard_normal((600, 2))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(600)
    return X, y, rng.integers(1, 3, 600).astype(float)


def streamed(model, X, y, sizes, weights=None, **options):
    start = 0
    for size in sizes:
        part = slice(start, start + size)
        given = None if weights is None else weights[part]
        model.partial_fit(X[part], y[part], sample_weight=given, **options)
        start += size
    return model


FEATURES = [
    {"kernel": Nystrom(Gaussian(1.0), np.random.default_rng(1).standard_normal((40, 2)))},
    {"kernel": Gaussian(1.0), "plan": Plan(rank=30)},
    {"kernel": Gaussian(1.0), "plan": Plan(features=RandomFourier(50))},
    {"kernel": Polynomial(degree=2)},
    {"kernel": "linear"},
]


@pytest.mark.parametrize("features", FEATURES)
def test_ridge_is_that_of_all_samples(data, features):
    X, y, weights = data
    model = streamed(KernelRidge(0.3, **features), X, y, [100, 1, 7, 492], weights)
    batch = KernelRidge(0.3, kernel=model.kernel_).fit(X, y, weights)
    np.testing.assert_allclose(model.predict(X), batch.predict(X), atol=1e-8)
    np.testing.assert_allclose(model.posterior_variance(X), batch.posterior_variance(X), atol=1e-7)
    assert len(model.X_fit_) <= 50
    assert model.n_samples_seen_ == 600
    assert model.solution_.stats["residual"] < 1e-10
    np.testing.assert_allclose(model.rkhs_function_(X[:9]), model.predict(X[:9]), atol=1e-8)


def test_weights_are_repetitions_and_targets_several(data):
    X, y, weights = data
    Y = np.column_stack([y, X[:, 0]])
    model = KernelRidge([0.1, 1.0], kernel=FEATURES[0]["kernel"])
    weighted = streamed(clone(model), X, Y, [300, 300], weights).predict(X)
    times = weights.astype(int)
    repeated = clone(model).partial_fit(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
    np.testing.assert_allclose(weighted, repeated.predict(X), atol=1e-9)
    with pytest.raises(ValueError, match="1 targets"):
        streamed(KernelRidge(1.0, kernel=Linear()).partial_fit(X, Y), X, y, [600])


def test_more_landmarks_than_samples(data, tmp_path):
    X, y, _ = data
    model = KernelRidge(0.3, kernel=Nystrom(Gaussian(), X[:50])).partial_fit(X[:5], y[:5])
    exact = KernelRidge(0.3, kernel=Gaussian()).fit(X[:5], y[:5])
    np.testing.assert_allclose(model.predict(X[:50]), exact.predict(X[:50]), atol=1e-7)
    np.testing.assert_allclose(
        model.posterior_variance(X[:50]), exact.posterior_variance(X[:50]), atol=1e-6
    )
    mercer.save(model, tmp_path / "m")
    loaded = mercer.load(tmp_path / "m")
    expected = model.partial_fit(X[5:], y[5:]).predict(X)
    np.testing.assert_allclose(loaded.partial_fit(X[5:], y[5:]).predict(X), expected, atol=1e-9)


def test_a_fit_begins_anew(data):
    X, y, _ = data
    model = KernelRidge(0.3, kernel=Linear()).partial_fit(X, y)
    model.fit(X[:50], -y[:50])
    expected = KernelRidge(0.3, kernel=Linear()).fit(X[:50], -y[:50])
    np.testing.assert_allclose(model.predict(X), expected.predict(X))
    np.testing.assert_allclose(model.leave_one_out(), expected.leave_one_out())
    again = model.partial_fit(X, y).predict(X)
    np.testing.assert_allclose(again, KernelRidge(0.3, kernel=Linear()).fit(X, y).predict(X))
    with pytest.raises(ValueError, match="keeps only the"):
        model.leave_one_out()


def test_what_a_stream_needs(data):
    X, y, _ = data
    model = KernelRidge(0.1, kernel=Gaussian()).partial_fit(X, y)
    assert isinstance(model.kernel_, Nystrom)
    exact = KernelRidge(0.1, kernel=Gaussian()).fit(X, y)
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=1e-4)
    assert not hasattr(KernelRidge(kernel="precomputed"), "partial_fit")
    with pytest.raises(ValueError, match="alpha > 0"):
        KernelRidge(0.0, kernel=Linear()).partial_fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        KernelRidge(kernel=Linear()).partial_fit(np.full((2, 2), np.nan), y[:2])
    assert not hasattr(KernelRidgeCV(), "partial_fit")
    words = ["ab", "ba", "abab", "bb"]
    model = KernelRidge(0.1, kernel=Nystrom(Spectrum(1), words)).partial_fit(words, np.arange(4))
    exact = KernelRidge(0.1, kernel=Spectrum(1)).fit(words, np.arange(4))
    np.testing.assert_allclose(model.predict(words), exact.predict(words), atol=1e-8)


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("edges", [[0.0], [-0.7, 0.7]])
@pytest.mark.parametrize("intercept", [True, False])
def test_one_chunk_is_logistic_regression(data, features, edges, intercept):
    X, y, weights = data
    labels = np.array(["low", "middle", "top"])[np.digitize(y, edges)]
    model = KernelLogisticRegression(0.3, fit_intercept=intercept, tol=1e-10, **features)
    model.partial_fit(X, labels, sample_weight=weights)
    batch = clone(model).set_params(kernel=model.kernel_, plan=None).fit(X, labels, weights)
    np.testing.assert_allclose(model.predict_proba(X), batch.predict_proba(X), atol=1e-5)
    assert model.solution_.stats["violation"] < 1e-6


@pytest.mark.parametrize("edges", [[0.0], [-0.7, 0.7]])
def test_chunks_come_near_to_logistic_regression(data, edges, tmp_path):
    X, y, _ = data
    labels = np.digitize(y, edges)
    order = np.argsort(labels[:100], kind="stable")  # the first chunks have one class only
    X[:100], labels[:100] = X[order], labels[order]
    model = KernelLogisticRegression(1.0, kernel=FEATURES[0]["kernel"])
    streamed(model, X, labels, [20] * 15, classes=np.unique(labels))
    mercer.save(model, tmp_path / "m")
    model = mercer.load(tmp_path / "m")
    streamed(model, X[300:], labels[300:], [20] * 15)
    batch = KernelLogisticRegression(1.0, kernel=FEATURES[0]["kernel"]).fit(X, labels)
    p, q = model.predict_proba(X), batch.predict_proba(X)
    assert np.mean(p.argmax(axis=1) == q.argmax(axis=1)) > 0.95
    assert np.mean(np.abs(p - q)) < 0.05
    with pytest.raises(ValueError, match="which is not among"):
        model.partial_fit(X[:1], [17])


def test_class_weights_of_a_stream(data):
    X, y, _ = data
    labels = y > 0
    model = KernelLogisticRegression(kernel=Linear(), class_weight={True: 3.0}, tol=1e-10)
    expected = clone(model).fit(X, labels).decision_function(X)
    found = model.partial_fit(X, labels).decision_function(X)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    with pytest.raises(ValueError, match="a dict of factors"):
        clone(model).set_params(class_weight="balanced").partial_fit(X, labels)
