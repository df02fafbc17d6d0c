import numpy as np
import pytest

from mercer import Gaussian, KernelRidge, Spectrum
from mercer.tuning import tune


def wave(rng, n=120):
    X = np.sort(rng.uniform(0, 6, n))[:, None]
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("by", ["marginal_likelihood", "loo", "gcv", "validation"])
def test_a_bad_start_becomes_a_good_model(rng, by):
    X, y = wave(rng)
    start = KernelRidge(alpha=10.0, kernel=Gaussian(20.0))
    restarts = 4 if by == "validation" else 0  # from here its gradient leads to a poor minimum
    model = tune(start, X, y, by=by, n_restarts=restarts, random_state=0)
    new = np.linspace(0.2, 5.8, 200)[:, None]
    error = np.sqrt(np.mean((model.predict(new) - np.sin(2 * new[:, 0])) ** 2))
    assert error < 0.06
    assert model.tuning_.converged
    assert start.alpha == 10.0
    assert start.kernel == Gaussian(20.0)


def test_leave_one_out_is_stationary_and_no_grid_point_is_better(rng):
    X, y = wave(rng)
    model = tune(KernelRidge(alpha=1.0, kernel=Gaussian()), X, y, by="loo")
    assert np.mean((model.leave_one_out() - y) ** 2) == pytest.approx(model.tuning_.value)
    for alpha in np.geomspace(1e-3, 10, 15):
        for lengthscale in np.geomspace(0.1, 5, 15):
            other = KernelRidge(alpha=alpha, kernel=Gaussian(lengthscale)).fit(X, y)
            value = np.mean((other.leave_one_out() - y) ** 2)
            assert value > model.tuning_.value * (1 - 1e-6)


def test_fixed_parameters_stay(rng):
    X, y = wave(rng)
    start = KernelRidge(alpha=0.3, kernel=Gaussian(2.0))
    held = tune(start, X, y, by="loo", fixed=("alpha",))
    assert held.alpha == pytest.approx(0.3)
    assert held.kernel.lengthscale != 2.0
    held = tune(start, X, y, by="loo", fixed=("kernel__lengthscale",))
    assert held.kernel.lengthscale == pytest.approx(2.0)
    with pytest.raises(ValueError, match="lengthscale, alpha"):
        tune(start, X, y, fixed=("gamma",))
    with pytest.raises(ValueError, match="all are fixed"):
        tune(start, X, y, fixed=("alpha", "kernel__lengthscale"))


def test_weights_of_a_sum_tell_useful_columns_from_noise(rng):
    X = rng.standard_normal((150, 3))
    y = np.sin(2 * X[:, 0]) + 0.05 * rng.standard_normal(150)
    parts = [Gaussian().on(j) for j in range(3)]
    kernel = 1.0 * parts[0] + 1.0 * parts[1] + 1.0 * parts[2]
    model = tune(KernelRidge(alpha=0.1, kernel=kernel), X, y)
    weights = [h.value for h in model.kernel.hyperparameters() if h.name.endswith("value")]
    assert weights[0] > 50 * max(weights[1:])


def test_columns_and_strings_are_combined(rng):
    words = ["".join(rng.choice(list("ab"), 8)) for _ in range(90)]
    numbers = rng.standard_normal(90)
    pairs = [sum(w[i : i + 2] == "aa" for i in range(7)) for w in words]
    y = np.array(pairs) + 0.05 * rng.standard_normal(90)
    kernel = 1.0 * Spectrum(2).on(0) + 1.0 * Gaussian().on(1)
    model = tune(KernelRidge(alpha=0.1, kernel=kernel), list(zip(words, numbers, strict=True)), y)
    # only the word matters
    predicted = model.predict([(w, -v) for w, v in zip(words, numbers, strict=True)])
    assert np.corrcoef(predicted, y)[0, 1] > 0.99


def test_weights_of_samples_are_like_repetitions(rng):
    X, y = wave(rng, 40)
    repeat = rng.integers(1, 3, 40)
    start = KernelRidge(alpha=0.5, kernel=Gaussian(0.7))
    one = tune(start, X, y, by="gcv", fixed=("kernel__lengthscale",), sample_weight=np.ones(40))
    two = tune(start, X, y, by="gcv", fixed=("kernel__lengthscale",))
    assert one.alpha == pytest.approx(two.alpha)
    weighted = tune(start, X, y, by="loo", sample_weight=repeat.astype(float))
    assert weighted.tuning_.converged


def test_many_samples_begin_with_some_of_them(rng):
    X, y = wave(rng, 1200)
    model = tune(KernelRidge(alpha=1.0, kernel=Gaussian(5.0)), X, y, random_state=0)
    assert model.tuning_.n_evaluations < 15
    assert model.score(X, np.sin(2 * X[:, 0])) > 0.995


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "luck"}, "by must be one of"),
        ({"by": "validation", "test_size": 1.0}, "test_size must be"),
    ],
)
def test_bad_options(rng, options, message):
    X, y = wave(rng, 20)
    with pytest.raises(ValueError, match=message):
        tune(KernelRidge(kernel=Gaussian()), X, y, **options)


def test_alpha_must_be_positive_to_begin_with(rng):
    X, y = wave(rng, 20)
    with pytest.raises(ValueError, match="alpha must be one number > 0"):
        tune(KernelRidge(alpha=0.0, kernel=Gaussian()), X, y)
