"""Gaussian processes of many samples: through landmarks, and from products with K."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Gaussian, GaussianProcessRegressor, Linear, Plan, Spectrum, load, save, tune

TILED = Plan(storage="tiled")


@pytest.fixture
def data(rng):
    X = rng.uniform(-2, 2, (300, 2))
    return X, np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.standard_normal(300)


REPEATED = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "noise that is learned is not that of repeated samples",
)


@parametrize_with_checks(
    [GaussianProcessRegressor(landmarks=8), GaussianProcessRegressor(plan=TILED)],
    expected_failed_checks=lambda model: REPEATED,
)
def test_contract(estimator, check):
    check(estimator)


# ---- landmarks ---------------------------------------------------------------------------------
def test_landmarks_that_are_all_samples_are_the_exact_process(data, rng):
    X, y = data
    new = rng.uniform(-2, 2, (9, 2))
    options = {"alpha": 0.02, "optimizer": None}
    exact = GaussianProcessRegressor(Gaussian(0.8), **options).fit(X, y)
    few = GaussianProcessRegressor(Gaussian(0.8), landmarks=X, **options).fit(X, y)
    for kind in ("return_std", "return_cov"):
        for one, other in zip(
            exact.predict(new, **{kind: True}), few.predict(new, **{kind: True}), strict=True
        ):
            np.testing.assert_allclose(one, other, atol=1e-4)
    assert few.log_marginal_likelihood() == pytest.approx(
        exact.log_marginal_likelihood_value_, abs=0.01
    )


def test_few_landmarks_learn_almost_the_same(data, rng):
    X, y = data
    kernel = 1 * Gaussian(np.ones(2))
    exact = GaussianProcessRegressor(kernel, random_state=0).fit(X, y)
    few = GaussianProcessRegressor(kernel, landmarks=40, random_state=0).fit(X, y)
    held = GaussianProcessRegressor(kernel, landmarks=40, fixed=("landmarks",), random_state=0).fit(
        X, y
    )
    best = exact.log_marginal_likelihood_value_
    assert held.log_marginal_likelihood_value_ <= few.log_marginal_likelihood_value_ + 1e-3
    assert best - 5 < few.log_marginal_likelihood_value_ <= best + 1e-6
    assert few.alpha_ == pytest.approx(exact.alpha_, rel=0.1)
    new = rng.uniform(-2, 2, (20, 2))
    for one, other in zip(
        few.predict(new, return_std=True), exact.predict(new, return_std=True), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=0.05)
    assert few.landmarks_.shape == (40, 2)
    assert any((held.landmarks_[0] == X).all(axis=1))
    assert not hasattr(few, "X_train_")
    assert "landmarks" in few.gram_.explain()


def test_a_file_holds_landmarks_only(data, tmp_path):
    X, y = data
    X, y = np.tile(X, (20, 1)), np.tile(y, 20)
    model = GaussianProcessRegressor(Gaussian(0.8), landmarks=20, alpha=0.1, optimizer=None)
    model.fit(X, np.column_stack([y, 100 * y]))
    save(model, tmp_path / "m.mercer")
    assert (tmp_path / "m.mercer").stat().st_size < 20_000
    again = load(tmp_path / "m.mercer")
    for one, other in zip(
        again.predict(X[:5], return_std=True), model.predict(X[:5], return_std=True), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-8)
    assert again.predict_interval(X[:3]).shape == (3, 2, 2)
    assert again.sample_y(X[:3], 4).shape == (3, 2, 4)


def test_strings_and_sparse_rows_have_landmarks_that_stay(rng):
    words = ["".join(rng.choice(list("abc"), 8)) for _ in range(150)]
    y = np.array([w.count("ab") for w in words], dtype=float)
    model = GaussianProcessRegressor(1 * Spectrum(2), landmarks=30).fit(words, y)
    assert set(model.landmarks_) <= set(words)
    assert model.score(words, y) > 0.95


def test_parts_add_up(data):
    X, y = data
    kernel = 1 * Gaussian(0.7) + 1 * Linear()
    model = GaussianProcessRegressor(kernel, landmarks=40, alpha=0.02, optimizer=None).fit(X, y)
    parts = sum(part.predict(X[:9]) for part in model.parts())
    np.testing.assert_allclose(parts + y.mean(), model.predict(X[:9]), atol=1e-8)
    with pytest.raises(ValueError, match="keeps only its landmarks"):
        model.posterior_kernel()
    with pytest.raises(ValueError, match="keeps only its landmarks"):
        model.log_marginal_likelihood(np.zeros(4))


@pytest.mark.parametrize("way", [{"landmarks": 60}, {"plan": TILED}, {}])
def test_weights_are_repetitions_where_nothing_is_learned(data, rng, way):
    X, y = data[0][:60], data[1][:60]
    weights = rng.integers(0, 4, 60)
    options = {"alpha": 0.05, "optimizer": None, **way}
    if "landmarks" in way:
        options["landmarks"] = X
    weighted = GaussianProcessRegressor(Gaussian(0.8), **options).fit(X, y, weights)
    rows = np.repeat(np.arange(60), weights)
    repeated = GaussianProcessRegressor(Gaussian(0.8), **options).fit(X[rows], y[rows])
    for one, other in zip(
        weighted.predict(X[:9] + 0.1, return_std=True, include_noise=True),
        repeated.predict(X[:9] + 0.1, return_std=True, include_noise=True),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, atol=1e-3)


@pytest.mark.parametrize("way", [{"landmarks": 20}, {"plan": TILED}])
def test_difficult_data(data, rng, way):
    """Duplicates, one outlier, constants, next to no noise, single precision, one sample."""
    X, y = data
    model = GaussianProcessRegressor(1 * Gaussian("median"), random_state=0, **way)
    for A, b in (
        (np.repeat(X[:60], 5, axis=0), np.repeat(y[:60], 5)),
        (X, np.full(300, 2.5)),
        (X.astype(np.float32), y),
        (X[:1], y[:1]),
        (X + 1e6, y),
        (X, np.sin(X[:, 0])),
    ):
        mean, std = model.fit(A, b).predict(A[:20], return_std=True)
        assert np.all(np.isfinite([mean, std]))
        assert np.abs(mean - b[:20]).max() < 1
    outlier = X.copy()
    outlier[0] = 1e8
    few = GaussianProcessRegressor(Gaussian(0.7), alpha=0.05, optimizer=None, **way)
    np.testing.assert_allclose(few.fit(outlier, y).predict(X[1:]), y[1:], atol=1.0)


def test_more_landmarks_than_samples_and_only_one(data):
    X, y = data
    exact = GaussianProcessRegressor(Gaussian(0.7), alpha=0.1, optimizer=None).fit(X[:30], y[:30])
    many = GaussianProcessRegressor(Gaussian(0.7), alpha=0.1, optimizer=None, landmarks=99)
    np.testing.assert_allclose(many.fit(X[:30], y[:30]).predict(X), exact.predict(X), atol=1e-4)
    one = GaussianProcessRegressor(landmarks=1, random_state=0).fit(X, y)
    assert len(one.landmarks_) == 1
    assert np.isfinite(one.predict(X, return_std=True)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"landmarks": 0}, "landmarks must be an integer >= 1"),
        ({"landmarks": 2.5}, "landmarks must be an integer >= 1"),
        ({"landmarks": True}, "landmarks must be an integer >= 1"),
        ({"landmarks": 5, "plan": Plan(rank=5)}, "two approximations"),
        ({"landmarks": np.zeros((3, 5))}, "5 features"),
        ({"landmarks": 5, "kernel": "precomputed"}, "not a precomputed matrix"),
    ],
)
def test_bad_landmarks(data, options, message):
    X, y = data
    X = Gaussian()(X) if options.get("kernel") else X
    with pytest.raises(ValueError, match=message):
        GaussianProcessRegressor(**options).fit(X, y)


def test_tune_gives_each_feature_a_lengthscale(data):
    X, y = data
    model = tune(GaussianProcessRegressor(landmarks=30), X, y, ard=True, random_state=0)
    assert np.size(model.kernel_.right.lengthscale) == 2
    assert model.score(X, y) > 0.95


# ---- products with K ---------------------------------------------------------------------------
def test_without_k_it_is_almost_the_exact_process(data, rng):
    X, y = data
    Y = np.column_stack([y, np.cos(X[:, 1])])
    new = rng.uniform(-2, 2, (9, 2))
    for alpha in (0.02, np.linspace(0.01, 0.05, 300)):
        options = {"alpha": alpha, "optimizer": None}
        exact = GaussianProcessRegressor(Gaussian(0.8), **options).fit(X, Y)
        tiled = GaussianProcessRegressor(Gaussian(0.8), plan=TILED, **options).fit(X, Y)
        (mean, std), (rough, above) = (m.predict(new, return_std=True) for m in (exact, tiled))
        np.testing.assert_allclose(rough, mean, atol=1e-4)
        assert np.all(above >= std - 1e-5)
        np.testing.assert_allclose(above, std, rtol=0.1)
        value = exact.log_marginal_likelihood_value_
        assert tiled.log_marginal_likelihood_value_ == pytest.approx(value, abs=10)
    assert tiled.solution_.stats["residual"] < 1e-5
    assert "conjugate gradients" in tiled.gram_.explain()


def test_hyper_parameters_from_estimates_are_near_the_best(rng):
    X = rng.standard_normal((1500, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(1500)
    model = GaussianProcessRegressor(1 * Gaussian(np.ones(2)), plan=TILED, random_state=0).fit(X, y)
    cov = model.kernel_(X) + model.alpha_ / y.var() * np.eye(1500)
    found = multivariate_normal(cov=cov).logpdf((y - y.mean()) / y.std())
    exact = GaussianProcessRegressor(1 * Gaussian(np.ones(2)), random_state=0).fit(X, y)
    assert exact.log_marginal_likelihood_value_ - found < 2e-3 * 1500
    value, slope = model.log_marginal_likelihood(eval_gradient=True)
    assert value == pytest.approx(found, abs=10)
    assert np.abs(slope).max() < 0.02 * 1500


def test_a_plan_without_room_for_k_still_learns(data):
    X, y = data
    model = GaussianProcessRegressor(plan=Plan(memory="1 MB"), random_state=0).fit(X, y)
    assert model.gram_.explain().startswith("TiledGram")
    assert model.score(X, y) > 0.95
