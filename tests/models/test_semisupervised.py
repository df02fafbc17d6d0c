"""Few labels and many samples."""

import numpy as np
import pytest
import sklearn.svm
from sklearn.datasets import make_moons
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    SVC,
    Gaussian,
    GaussianProcessRegressor,
    KernelLogisticRegression,
    KernelRidge,
    SemiSupervised,
    Spectrum,
    load,
    save,
)

REFUSED = {
    "check_classifiers_classes": "-1 means that there is no label",
    "check_sample_weight_equivalence_on_dense_data": "weights do not change where samples are",
    "check_sample_weight_equivalence_on_sparse_data": "weights do not change where samples are",
}


@parametrize_with_checks(
    [SemiSupervised(SVC()), SemiSupervised(KernelRidge(kernel="rbf"))],
    expected_failed_checks=lambda model: REFUSED,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def rings(rng):
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.vstack([ring, 2 * ring]) + 0.03 * rng.normal(size=(120, 2))
    truth = np.repeat([0, 1], 60)
    y = np.full(120, -1)
    y[[0, 20, 80, 100]] = truth[[0, 20, 80, 100]]
    return X, y, truth


def manifold(K, strength, neighbors):
    """M of the penalty f'Mf, edge by edge."""
    n = len(K)
    D = np.diag(K)[:, None] + np.diag(K) - 2 * K
    edges = {
        tuple(sorted((i, j)))
        for i in range(n)
        for j in sorted((j for j in range(n) if j != i), key=lambda j: D[i, j])[:neighbors]
    }
    M = np.zeros((n, n))
    for i, j in edges:
        e = np.zeros(n)
        e[i], e[j] = 1, -1
        M += np.outer(e, e)
    return strength / len(edges) * M


def test_laplacian_regularised_least_squares(rings):
    """The formula of Belkin, Niyogi & Sindhwani: (JK + alpha I + alpha M K) c = Y."""
    X, y, _ = rings
    k, alpha = Gaussian(0.5), 0.1
    targets = np.where(y >= 0, 2.0 * y - 1, np.nan)
    model = SemiSupervised(KernelRidge(alpha, kernel=k), strength=3.0, neighbors=4).fit(X, targets)
    K, M = k(X), manifold(k(X), 3.0, 4)
    J = np.diag((y >= 0).astype(float))
    c = np.linalg.solve(J @ K + alpha * (np.eye(120) + M @ K), np.nan_to_num(targets))
    np.testing.assert_allclose(model.predict(X), K @ c, atol=1e-8)
    new = X + 0.1
    np.testing.assert_allclose(model.predict(new), k(new, X) @ c, atol=1e-8)
    np.testing.assert_allclose(model.transduction_, model.predict(X))
    np.testing.assert_array_equal(model.labelled_, y >= 0)


def test_laplacian_support_vector_machine(rings):
    X, y, truth = rings
    k = Gaussian(0.5)
    model = SemiSupervised(SVC(C=10.0, kernel=k, tol=1e-6), strength=50.0, neighbors=4).fit(X, y)
    K, M = k(X), manifold(k(X), 50.0, 4)
    tilde = K - K @ np.linalg.solve(np.eye(120) + M @ K, M) @ K
    known = np.flatnonzero(y >= 0)
    other = sklearn.svm.SVC(C=10.0, kernel="precomputed", tol=1e-8)
    other.fit(tilde[np.ix_(known, known)], y[known])
    np.testing.assert_allclose(
        model.decision_function(X), other.decision_function(tilde[:, known]), atol=1e-4
    )
    alone = SVC(C=10.0, kernel=k).fit(X[known], y[known])
    assert model.score(X, truth) > alone.score(X, truth) + 0.1


def test_without_strength_it_is_the_model_itself(rings):
    X, y, _ = rings
    known = y >= 0
    model = SemiSupervised(SVC(kernel=Gaussian()), strength=0.0).fit(X, y)
    expected = SVC(kernel=Gaussian()).fit(X[known], y[known]).decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-8)


@pytest.mark.parametrize(
    "inner", [KernelLogisticRegression(kernel=Gaussian(0.3)), SVC(kernel="rbf", gamma=5.0)]
)
def test_other_machines_names_and_files(rings, inner, tmp_path):
    X, y, truth = rings
    model = SemiSupervised(inner, strength=1e3, neighbors=4).fit(X, y)
    assert model.score(X, truth) > 0.9
    save(model, tmp_path / "m")
    found = load(tmp_path / "m")
    np.testing.assert_allclose(found.decision_function(X), model.decision_function(X), atol=1e-10)
    assert hasattr(model, "predict_proba") == hasattr(inner, "predict_proba")


def test_processes_and_words():
    X = np.linspace(0, 6, 40)[:, None]
    y = np.full(40, np.nan)
    y[::8] = np.sin(X[::8, 0])
    process = GaussianProcessRegressor(Gaussian(), alpha=0.01, optimizer=None)
    model = SemiSupervised(process, strength=0.1).fit(X, y)
    assert np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.5
    words = ["abab", "baba", "ababa", "cdcd", "dcdc", "cdcdc"]
    labels = ["first", None, None, "second", None, None]
    found = SemiSupervised(SVC(kernel=Spectrum(2)), neighbors=2).fit(
        words, np.array(labels, object)
    )
    assert found.predict(words).tolist() == ["first"] * 3 + ["second"] * 3


def test_weights(rings, rng):
    X, y, _ = rings
    targets = np.where(y >= 0, 2.0 * y - 1, np.nan)
    weights = rng.integers(1, 4, 120).astype(float)
    model = SemiSupervised(KernelRidge(0.1, kernel=Gaussian()))
    found = model.fit(X, targets, sample_weight=weights).predict(X)
    kernel = Gaussian().along(X)
    rows = np.repeat(np.flatnonzero(y >= 0), weights[y >= 0].astype(int))
    expected = KernelRidge(0.1, kernel=kernel).fit(X[rows], targets[rows]).predict(X)
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_in_a_grid_search(rings):
    X, y, truth = rings
    grid = {"strength": [0.0, 1e3], "estimator__C": [1.0, 10.0]}
    inner = SemiSupervised(SVC(kernel=Gaussian(0.3)), neighbors=4)
    train = np.arange(120)
    search = GridSearchCV(inner, grid, scoring=lambda m, X, y: m.score(X, truth[: len(X)]),
                          cv=[(train, train)]).fit(X, y)  # fmt: skip
    assert search.best_params_["strength"] == 1e3


@pytest.mark.parametrize("gap", [None, np.nan, -1])
def test_labels_in_any_container(rings, gap):
    X, y, truth = rings
    words = np.array(["inside", "outside"])[truth]
    expected = SemiSupervised(SVC(kernel=Gaussian())).fit(X, y).predict(X)
    gappy = [word if known else gap for word, known in zip(words, y >= 0, strict=True)]
    model = SemiSupervised(SVC(kernel=Gaussian())).fit(X, gappy)
    assert model.classes_.tolist() == ["inside", "outside"]
    np.testing.assert_array_equal(model.predict(X) == "outside", expected == 1)
    pd = pytest.importorskip("pandas")
    numbers = [t if known else pd.NA for t, known in zip(truth.tolist(), y >= 0, strict=True)]
    model.fit(X, pd.Series(numbers, dtype="Int64"))
    assert model.classes_.tolist() == [0, 1]
    if gap is not None:
        return
    for kind in ("string", "category"):
        model.fit(X, pd.Series(gappy).astype(kind))
        np.testing.assert_array_equal(model.predict(X) == "outside", expected == 1)
    model.fit(X, pd.Series([None if v is None else v == "outside" for v in gappy], dtype="boolean"))
    assert model.classes_.tolist() == [False, True]


def test_scores_are_of_samples_with_labels(rings):
    X, y, _ = rings
    model = SemiSupervised(SVC(C=100.0, kernel=Gaussian(0.3)), strength=1e3, neighbors=4).fit(X, y)
    assert model.score(X, y) == 1
    assert model.score(X, y, sample_weight=np.arange(120.0)) == 1
    targets = np.where(y >= 0, 2.0 * y - 1, np.nan)
    model = SemiSupervised(KernelRidge(1e-3, kernel=Gaussian(0.3))).fit(X, targets)
    assert model.score(X, targets) > 0.5
    with pytest.raises(ValueError, match="no labels at all"):
        model.score(X[1:5], targets[1:5])


def test_processes_with_and_without_a_kernel(rings):
    X, y, _ = rings
    targets = np.where(y >= 0, 2.0 * y - 1, np.nan)
    found = SemiSupervised(GaussianProcessRegressor(alpha=0.1, optimizer=None)).fit(X, targets)
    given = GaussianProcessRegressor(1 * Gaussian("median"), alpha=0.1, optimizer=None)
    np.testing.assert_allclose(
        found.predict(X), SemiSupervised(given).fit(X, targets).predict(X), atol=1e-10
    )
    with pytest.raises(ValueError, match="optimizer=None"):
        SemiSupervised(GaussianProcessRegressor(Gaussian())).fit(X, targets)


def test_the_graph_is_the_model_s_own(rings):
    X, y, _ = rings
    graph = np.ones((120, 120))
    model = SemiSupervised(SVC(kernel=Gaussian()), graph=graph).fit(X, y)
    before = model.decision_function(X)
    graph[:] = 0
    model.estimator_.kernel_.__dict__.pop("_made")
    np.testing.assert_allclose(model.decision_function(X), before, atol=1e-12)


def test_what_is_refused(rings):
    X, y, _ = rings
    with pytest.raises(ValueError, match="missing labels have become strings"):
        SemiSupervised(SVC()).fit(X, y.astype(str))
    with pytest.raises(ValueError, match="estimator must be a classifier or regressor"):
        SemiSupervised(SVC(kernel="precomputed")).fit(X, y)
    with pytest.raises(ValueError, match="estimator must be a classifier or regressor"):
        SemiSupervised(sklearn.svm.SVC()).fit(X, y)
    with pytest.raises(ValueError, match="no labels at all"):
        SemiSupervised(SVC()).fit(X, np.full(120, -1))
    with pytest.raises(ValueError, match="use other names for classes"):
        SemiSupervised(SVC()).fit(X, np.where(y >= 0, 1, -1))
    with pytest.raises(ValueError, match="strength must be"):
        SemiSupervised(SVC(), strength=-1.0).fit(X, y)
    hidden = np.ma.array(y, mask=np.arange(120) == 3)
    with pytest.raises(ValueError, match="y has 1 masked entries"):
        SemiSupervised(SVC()).fit(X, hidden)


def test_labels_spread_among_rounded_samples():
    """Most samples have copies: neighbours are distinct ones, else each value is an island."""
    X, y = make_moons(400, noise=0.05, random_state=0)
    X = X.round(1)
    labels = np.full(len(y), -1)
    labels[[np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]]] = 0, 1
    model = SemiSupervised(SVC(Gaussian(0.2), C=100.0), strength=1e3).fit(X, labels)
    assert len(np.unique(X, axis=0)) < len(X) / 2
    assert np.mean(model.predict(X) == y) > 0.95
