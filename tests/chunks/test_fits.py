"""Models fitted to chunks: the same whatever the samples come from."""

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from mercer import Gaussian, KernelLogisticRegression, KernelRidge, Plan, stream
from mercer.chunks import standardized

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3000, 3))
Y = np.sin(X[:, 0]) + X[:, 1] ** 2
LABELS = np.where(Y > 1, "high", "low")
PLAN = Plan(rank=40)


def ridge():
    return KernelRidge(1e-2, kernel=Gaussian(2.0), plan=PLAN)


@pytest.fixture(params=["npy", "svmlight", "function", "part"])
def source(request, tmp_path):
    if request.param == "npy":
        np.save(tmp_path / "X.npy", np.column_stack([X, Y]))
        return stream(tmp_path / "X.npy", target=-1, rows=700)
    if request.param == "svmlight":
        dump_svmlight_file(X, Y, str(tmp_path / "X.svm"), zero_based=False)
        return stream(tmp_path / "X.svm", rows=500)
    if request.param == "function":
        return stream(lambda: ((X[i : i + 900], Y[i : i + 900]) for i in range(0, 3000, 900)))
    return stream(X, target=Y, rows=999).apply(np.copy)


def test_ridge_regression_is_the_same_from_any_source(source):
    known = ridge().fit(stream(X, target=Y))
    found = ridge().fit(source)
    np.testing.assert_allclose(found.predict(X[:200]), known.predict(X[:200]), atol=1e-6)
    np.testing.assert_allclose(found.predict(source)[:200], found.predict(X[:200]), atol=1e-9)
    assert known.score(X, Y) > 0.95


def test_tables_with_labels(tmp_path):
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    T = pd.DataFrame(X, columns=["a", "b", "c"])
    T.assign(level=LABELS).to_parquet(tmp_path / "t.parquet")
    kernel = Gaussian(2.0).on(["a", "b"])
    model = KernelLogisticRegression(kernel=kernel, plan=PLAN)
    model.fit(stream(tmp_path / "t.parquet", target="level", rows=800))
    assert model.classes_.tolist() == ["high", "low"]
    known = KernelLogisticRegression(kernel=Gaussian(2.0), plan=PLAN)
    known.fit(stream(X[:, :2], target=LABELS))
    np.testing.assert_allclose(
        model.predict_proba(T[:200]), known.predict_proba(X[:200, :2]), atol=1e-4
    )


def test_scaled_samples_and_samples_held_out():
    train, held_out = stream(1000 * X, target=Y, rows=400).split(0.2, rng=0)
    scaled, scaler = standardized(train)
    model = ridge().fit(scaled)
    tests = held_out.apply(scaler.transform)
    error = model.predict(tests) - np.concatenate([chunk.y for chunk in tests])
    assert np.mean(error**2) < 0.05 * np.var(Y)
