import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor as Peer
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Gaussian, KernelRidge, Linear, Plan, Spectrum, load, save
from mercer.exceptions import MemoryPlanError, NumericalWarning
from mercer.models.gp import GaussianProcessRegressor


@pytest.fixture
def data(rng):
    X = rng.uniform(-2, 2, (60, 2))
    return X, np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.standard_normal(60)


REPEATED = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "noise that is learned is not that of repeated samples",
)


@parametrize_with_checks(
    [GaussianProcessRegressor()],
    expected_failed_checks=lambda model: REPEATED,
)
def test_contract(estimator, check):
    check(estimator)


def fixed(kernel, alpha, **options):
    return GaussianProcessRegressor(kernel, alpha=alpha, optimizer=None, **options)


def test_mean_and_variance_are_those_of_ridge_regression(rng, data):
    X, y = data
    new = rng.uniform(-2, 2, (15, 2))
    model = fixed(Gaussian(0.8), 0.2, normalize_y=False).fit(X, y)
    ridge = KernelRidge(alpha=0.2, kernel=Gaussian(0.8)).fit(X, y)
    mean, std = model.predict(new, return_std=True)
    np.testing.assert_allclose(mean, ridge.predict(new), atol=1e-10)
    np.testing.assert_allclose(std**2, ridge.posterior_variance(new), atol=1e-10)


def test_posterior_from_the_joint_normal_distribution(rng, data):
    X, y = data
    new = rng.uniform(-2, 2, (7, 2))
    kernel = 2 * Gaussian(0.8)
    K = kernel(np.concatenate([X, new]))
    A = K[:60, :60] + 0.2 * np.eye(60)
    mean, cov = fixed(kernel, 0.2, normalize_y=False).fit(X, y).predict(new, return_cov=True)
    np.testing.assert_allclose(mean, K[60:, :60] @ np.linalg.solve(A, y), atol=1e-10)
    exact = K[60:, 60:] - K[60:, :60] @ np.linalg.solve(A, K[:60, 60:])
    np.testing.assert_allclose(cov, exact, atol=1e-10)


def test_normalised_targets_shift_and_scale_with_y(rng, data):
    X, y = data
    one = fixed(Gaussian(0.8), 0.2).fit(X, y)
    two = fixed(Gaussian(0.8), 0.2 * 9).fit(X, 3 * y + 5)
    (mean, std), (mean2, std2) = (m.predict(X, return_std=True) for m in (one, two))
    np.testing.assert_allclose(mean2, 3 * mean + 5, atol=1e-8)
    np.testing.assert_allclose(std2, 3 * std, atol=1e-8)
    noisy = one.predict(X, return_std=True, include_noise=True)[1]
    np.testing.assert_allclose(noisy**2, std**2 + 0.2, atol=1e-9)


def test_likelihood_and_its_gradient(data):
    X, y = data
    model = fixed(2 * Gaussian(np.array([0.8, 1.5])), 0.2, normalize_y=False).fit(X, y)
    K = model.kernel_(X) + 0.2 * np.eye(60)
    exact = multivariate_normal(cov=K).logpdf(y)
    assert model.log_marginal_likelihood_value_ == pytest.approx(exact)
    assert model.log_marginal_likelihood() == pytest.approx(exact)
    theta = np.append(model.kernel_.theta, 0.3)
    slope = model.log_marginal_likelihood(theta, eval_gradient=True)[1]
    numeric = approx_fprime(theta, model.log_marginal_likelihood, 1e-6)
    np.testing.assert_allclose(slope, numeric, rtol=1e-4, atol=1e-4)


def test_at_least_as_likely_as_the_peer(data):
    X, y = data
    z = (y - y.mean()) / y.std()
    peer = Peer(ConstantKernel() * RBF(np.ones(2)) + WhiteKernel(0.1), n_restarts_optimizer=2,
                random_state=0).fit(X, z)  # fmt: skip
    ours = GaussianProcessRegressor(1 * Gaussian(np.ones(2)), n_restarts_optimizer=2,
                                    random_state=0).fit(X, y)  # fmt: skip
    assert ours.log_marginal_likelihood_value_ > peer.log_marginal_likelihood_value_ - 1e-3
    np.testing.assert_allclose(ours.predict(X), peer.predict(X) * y.std() + y.mean(), atol=2e-2)


def test_noise_known_for_each_sample(data):
    X, y = data
    noise = np.linspace(0.01, 1, 60)
    model = fixed(Gaussian(0.8), noise, normalize_y=False).fit(X, y)
    c = np.linalg.solve(Gaussian(0.8)(X) + np.diag(noise), y)
    np.testing.assert_allclose(model.dual_coef_, c, atol=1e-9)
    tuned = GaussianProcessRegressor(Gaussian(0.8), alpha=noise).fit(X, y)
    np.testing.assert_allclose(tuned.alpha_, noise)
    with pytest.raises(ValueError, match="the noise of each training sample"):
        tuned.predict(X, return_std=True, include_noise=True)


def test_samples_have_the_posterior_mean_and_covariance(data):
    X, y = data
    model = fixed(Gaussian(0.8), 0.2).fit(X, y)
    new = np.array([[0.0, 0.0], [0.3, 0.1], [1.9, -1.9]])
    mean, cov = model.predict(new, return_cov=True)
    draws = model.sample_y(new, 40_000, random_state=1)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=0.02)
    np.testing.assert_allclose(np.cov(draws), cov, atol=0.02)


def test_posterior_as_a_kernel(rng, data):
    X, y = data
    model = fixed(Gaussian(0.8), 0.2, normalize_y=False).fit(X, y)
    new = rng.uniform(-2, 2, (7, 2))
    np.testing.assert_allclose(
        model.posterior_kernel()(new), model.predict(new, return_cov=True)[1], atol=1e-10
    )


def test_several_targets(data):
    X, y = data
    Y = np.stack([y, -2 * y + 1], axis=1)
    model = GaussianProcessRegressor(1 * Gaussian(0.8), random_state=0).fit(X, Y)
    mean, std = model.predict(X[:5], return_std=True)
    assert mean.shape == std.shape == (5, 2)
    np.testing.assert_allclose(mean[:, 1], -2 * mean[:, 0] + 1, atol=1e-9)
    np.testing.assert_allclose(model.alpha_[1], 4 * model.alpha_[0])
    assert model.predict_interval(X[:5]).shape == (5, 2, 2)
    assert model.sample_y(X[:5], 3).shape == (5, 2, 3)
    assert model.predict(X[:5], return_cov=True)[1].shape == (5, 5, 2)


@pytest.mark.parametrize("known", [False, True])
def test_noise_in_units_of_y_is_that_of_every_output(data, known):
    """A number alpha means the same for outputs whose spreads differ by a thousand."""
    X, y = data
    Y = np.column_stack([y, 1000 * np.cos(X[:, 1]) + 5])
    alpha = np.linspace(0.01, 0.1, 60) if known else 0.02
    model = fixed(Gaussian(0.8), alpha).fit(X, Y)
    mean, std = model.predict(X[:5] + 0.3, return_std=True)
    cov = model.predict(X[:5] + 0.3, return_cov=True)[1]
    total = 0.0
    for j, scale in enumerate(Y.std(axis=0)):
        one = fixed(Gaussian(0.8), alpha).fit(X, Y[:, j])
        exact = np.linalg.solve(Gaussian(0.8)(X) + np.eye(60) * alpha / scale**2,
                                (Y[:, j] - Y[:, j].mean()) / scale)  # fmt: skip
        np.testing.assert_allclose(model.dual_coef_[:, j], exact, rtol=1e-6)
        expected = one.predict(X[:5] + 0.3, return_std=True)
        np.testing.assert_allclose((mean[:, j], std[:, j]), expected, rtol=1e-6)
        np.testing.assert_allclose(np.diag(cov[:, :, j]), std[:, j] ** 2, rtol=1e-5)
        total += one.log_marginal_likelihood_value_
    assert model.log_marginal_likelihood_value_ == pytest.approx(total)
    theta = np.append(model.kernel_.theta, 0.1)
    _, slope = model.log_marginal_likelihood(theta, eval_gradient=True)
    numeric = approx_fprime(theta, model.log_marginal_likelihood, 1e-6)
    np.testing.assert_allclose(slope, numeric, rtol=1e-4)
    with pytest.raises(ValueError, match="fit them one by one"):
        model.posterior_kernel()


def test_a_kernel_learned_beside_known_noise_of_several_outputs(data):
    X, y = data
    Y = np.column_stack([y, 50 * np.cos(X[:, 1])])
    model = GaussianProcessRegressor(Gaussian(0.5), alpha=0.02, fixed=("alpha",)).fit(X, Y)
    assert model.alpha_ == 0.02
    best = model.log_marginal_likelihood_value_
    for factor in (0.9, 1.1):
        other = fixed(Gaussian(factor * model.kernel_.lengthscale), 0.02).fit(X, Y)
        assert other.log_marginal_likelihood_value_ < best


@pytest.mark.parametrize("unit", [1e-8, 1e-3, 1.0, 1e3, 1e8])
def test_learning_does_not_depend_on_the_unit_of_y(data, unit):
    X, y = data
    for normalize in (True, False):
        model = GaussianProcessRegressor(1 * Gaussian(), normalize_y=normalize).fit(X, unit * y)
        assert model.score(X, unit * y) > 0.98
        assert model.alpha_ / unit**2 == pytest.approx(0.01, rel=0.5)
    # the mean of zero is all that differs: y has none here
    same = GaussianProcessRegressor(1 * Gaussian(), normalize_y=False).fit(X, y)
    np.testing.assert_allclose(model.predict(X) / unit, same.predict(X), atol=1e-3)


def test_a_process_that_cannot_be_as_large_as_y_is_a_warning(data):
    X, y = data
    with pytest.warns(NumericalWarning, match=r"add a weight \(1 \* kernel\)"):
        GaussianProcessRegressor(Gaussian(), normalize_y=False).fit(X, 1e3 * y)


@pytest.mark.parametrize("normalize", [True, False])
def test_targets_without_spread_need_no_process(data, normalize):
    X = data[0]
    for y in (np.zeros(60), np.full(60, 3.0)) if normalize else (np.zeros(60),):
        model = GaussianProcessRegressor(1 * Gaussian(), normalize_y=normalize).fit(X, y)
        assert model.tuning_.at_bounds == ()
        np.testing.assert_allclose(model.predict(X + 1), y, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_samples(n):
    X, y = np.array([[0.0], [1.0]])[:n], np.array([2.0, 5.0])[:n]
    model = GaussianProcessRegressor(Gaussian(), alpha=0.5, optimizer=None, normalize_y=False)
    mean, std = model.fit(X, y).predict([[0.5]], return_std=True)
    k = np.exp(-(0.5**2) / 2) * np.ones(n)
    A = np.exp(-((X - X.T) ** 2) / 2) + 0.5 * np.eye(n)
    np.testing.assert_allclose(mean, [k @ np.linalg.solve(A, y)])
    np.testing.assert_allclose(std**2, [1 - k @ np.linalg.solve(A, k)])
    learned = GaussianProcessRegressor(1 * Gaussian()).fit(X, y)
    assert np.isfinite(learned.predict(X, return_std=True)).all()


def test_targets_whose_square_overflows_are_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="divide it by a constant"):
        GaussianProcessRegressor().fit(X, 1e200 * y)


def test_a_given_weight_is_kept_whatever_y_is(data):
    X, y = data
    options = {"normalize_y": False, "fixed": ("left__value",)}
    model = GaussianProcessRegressor(2 * Gaussian(), **options).fit(X, 1e-3 * y)
    assert model.kernel_.left.value == 2
    assert model.score(X, 1e-3 * y) > 0.9


def test_intervals_hold_observations_and_the_band_of_f_does_not(rng):
    """Of 20 data sets, 95 % of new observations are in the intervals; of f, its values."""
    inside = []
    for _ in range(20):
        X, new = rng.uniform(0, 6, (60, 1)), rng.uniform(0, 6, (100, 1))
        y, f = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(60), np.sin(new[:, 0])
        seen = f + 0.3 * rng.standard_normal(100)
        model = GaussianProcessRegressor(random_state=0).fit(X, y)
        low, high = model.predict_interval(new, 0.95).T
        mean, std = model.predict(new, return_std=True)
        of_f = np.abs(seen - mean) < 1.96 * std
        inside.append([np.mean((low < seen) & (seen < high)), np.mean(of_f)])
    held, held_by_f = np.mean(inside, axis=0)
    assert 0.925 < held < 0.97
    assert held_by_f < 0.7


def test_predictions_in_strips_are_those_at_once(monkeypatch, data, rng):
    X, y = data
    new = rng.uniform(-2, 2, (700, 2))
    model = fixed(Gaussian(0.8), 0.1).fit(X, y)
    whole = model.predict(new, return_std=True)
    monkeypatch.setattr("mercer.gram.base._STRIP", 1)
    for one, other in zip(whole, model.predict(new, return_std=True), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


def test_strings(rng):
    words = ["".join(rng.choice(list("abc"), 10)) for _ in range(60)]
    y = np.array([w.count("ab") for w in words], dtype=float)
    model = GaussianProcessRegressor(1 * Spectrum(2)).fit(words, y)
    assert model.score(words, y) > 0.99
    mean, std = model.predict(["ababababab"], return_std=True)
    assert abs(mean[0] - 5) < 3 * std[0] + 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.0}, "alpha must be > 0"),
        ({"alpha": [1.0, 2.0]}, "one for each of the 60"),
        ({"optimizer": "adam"}, "optimizer must be"),
        ({"fixed": ("length",)}, "fixed names 'length'"),
    ],
)
def test_bad_options(data, options, message):
    X, y = data
    with pytest.raises(ValueError, match=message):
        GaussianProcessRegressor(**options).fit(X, y)


def test_both_kinds_of_uncertainty_at_once_are_refused(data):
    X, y = data
    model = fixed(Gaussian(), 0.1).fit(X, y)
    with pytest.raises(ValueError, match="at most one of return_std"):
        model.predict(X, return_std=True, return_cov=True)


def test_missing_targets_are_refused_with_a_remedy(data):
    X, y = data[:2]
    Y = np.column_stack([y, y])
    Y[0, 1] = np.nan
    with pytest.raises(ValueError, match="MultiOutputKernelRidge"):
        GaussianProcessRegressor().fit(X, Y)


def test_restarts_leave_a_poor_optimum(rng):
    x = np.linspace(0, 20, 60)[:, None]
    y = np.sin(3 * x[:, 0]) + 0.1 * rng.standard_normal(60)
    start = 1 * Gaussian(2.0)  # all is noise, from there
    once = GaussianProcessRegressor(start, random_state=0).fit(x, y)
    assert once.tuning_.unneeded[0].startswith("1e-05 * Gaussian(")
    again = GaussianProcessRegressor(start, n_restarts_optimizer=8, random_state=0).fit(x, y)
    assert again.log_marginal_likelihood_value_ > once.log_marginal_likelihood_value_ + 5
    assert again.kernel_.right.lengthscale < 1


def test_constant_targets_have_no_spread_of_rounding_errors(rng):
    X = rng.normal(size=(57, 1))
    stds = [
        GaussianProcessRegressor(Gaussian(), alpha=0.1, optimizer=None)
        .fit(X, np.full(57, value))
        .predict([[9.0]], return_std=True)[1]
        for value in (0.1, 1.0)  # of 57 times 0.1 the mean is not 0.1
    ]
    np.testing.assert_allclose(stds[0], stds[1])


def test_few_features_are_as_good_as_all_of_k(rng):
    """A process in the weights of a linear kernel is the one in the values of f."""
    X = rng.standard_normal((80, 3))
    Y = np.column_stack([X @ [1.0, -2.0, 0.5], X[:, 0]]) + 0.1 * rng.standard_normal((80, 2))
    new = rng.standard_normal((7, 3))
    kernel = 2.0 * Linear() + 0.3 * Linear()
    for alpha in (0.05, np.linspace(0.05, 0.2, 80)):
        few = fixed(kernel, alpha).fit(X, Y)
        all_of_it = fixed(kernel, alpha, plan=Plan(storage="dense")).fit(X, Y)
        assert few.gram_.explain().startswith("LowRankGram")
        assert all_of_it.gram_.explain().startswith("DenseGram")
        np.testing.assert_allclose(few.dual_coef_, all_of_it.dual_coef_, rtol=1e-7, atol=1e-9)
        assert few.log_marginal_likelihood_value_ == pytest.approx(
            all_of_it.log_marginal_likelihood_value_, rel=1e-10
        )
        for options in ({"return_std": True}, {"return_cov": True}):
            for one, other in zip(
                few.predict(new, **options), all_of_it.predict(new, **options), strict=True
            ):
                np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)
        for mine, theirs in zip(few.parts(), all_of_it.parts(), strict=True):
            for options in ({"return_std": True}, {"return_cov": True}):
                pairs = zip(
                    mine.predict(new, **options), theirs.predict(new, **options), strict=True
                )
                for one, other in pairs:
                    np.testing.assert_allclose(one, other, atol=1e-7)


def test_a_rank_approximates_and_stays_uncertain_where_it_sees_nothing(rng):
    X = rng.uniform(-2, 2, (700, 1))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(700)
    low = GaussianProcessRegressor(plan=Plan(rank=20), random_state=0).fit(X, y)
    whole = GaussianProcessRegressor(low.kernel_.kernel, alpha=low.alpha_, optimizer=None).fit(X, y)
    new = np.array([[0.3], [-1.5], [50.0]])
    for options in ({"return_std": True}, {"return_cov": True}):
        for one, other in zip(
            low.predict(new, **options), whole.predict(new, **options), strict=True
        ):
            np.testing.assert_allclose(one, other, atol=2e-3)
    told = low.gram_.explain()
    assert told.startswith("LowRankGram: 700 x 700")
    assert "hyper-parameters were chosen on 500 samples" in told
    assert f"{low.gram_.rank} features" in told
    with pytest.raises(ValueError, match="fit without a rank"):
        low.parts()


def test_a_rank_survives_a_file(rng, tmp_path):
    X = rng.uniform(-2, 2, (60, 1))
    model = fixed(Gaussian(0.5), 0.1, plan=Plan(rank=15)).fit(X, np.sin(X[:, 0]))
    save(model, tmp_path / "model.zip")
    again = load(tmp_path / "model.zip")
    assert again.gram_.explain() == model.gram_.explain()
    for one, other in zip(
        again.predict(X[:5], return_std=True), model.predict(X[:5], return_std=True), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize("optimizer", ["lbfgs", None])
def test_memory_is_refused_before_any_work(data, optimizer, monkeypatch):
    model = GaussianProcessRegressor(optimizer=optimizer, plan=Plan(memory="10 kB"))
    with pytest.raises(MemoryPlanError, match="the plan allows 10 kB"):
        model.fit(*data)


@pytest.mark.parametrize("size", [1e-140, 1e140])
def test_targets_of_any_size(size, rng):
    X = rng.normal(size=(20, 1))
    plain = GaussianProcessRegressor().fit(X, np.sin(X[:, 0])).predict(X)
    scaled = GaussianProcessRegressor().fit(X, np.sin(X[:, 0]) * size).predict(X)
    np.testing.assert_allclose(scaled / size, plain, rtol=1e-3)


@pytest.mark.parametrize(("size", "words"), [(1e-200, "multiply"), (1e200, "divide")])
def test_targets_whose_squares_are_no_numbers(size, words, rng):
    X = rng.normal(size=(20, 1))
    with pytest.raises(ValueError, match=f"{words} it by a constant"):
        GaussianProcessRegressor().fit(X, np.sin(X[:, 0]) * size)
