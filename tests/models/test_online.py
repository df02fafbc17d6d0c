import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import SVC, Gaussian, KernelMachine, Linear, OnlineKernelMachine, Spectrum
from mercer.engine.limits import within
from mercer.losses import EpsilonInsensitive, Loss
from mercer.solvers.online_curvature import ARRAYS

STEPS = "a weight makes one step longer; a repetition makes one more"
FAILED = {
    "check_sample_weight_equivalence_on_dense_data": STEPS,
    "check_sample_weight_equivalence_on_sparse_data": STEPS,
}


@parametrize_with_checks(
    [
        OnlineKernelMachine(),
        OnlineKernelMachine(loss="epsilon_insensitive", nu=0.3, eta=3.0),
        OnlineKernelMachine(loss="poisson"),
        OnlineKernelMachine(loss="hinge", budget=50, removal="smallest"),
        OnlineKernelMachine(loss="logistic", update="explicit", average=False),
        OnlineKernelMachine(loss="multinomial", kernel=Gaussian()),
        OnlineKernelMachine(loss="hinge", budget=50, update="newton"),
    ],
    expected_failed_checks=lambda _: FAILED,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def data(rng):
    X = rng.uniform(-1, 1, (700, 2))
    f = np.sin(3 * X[:, 0]) * X[:, 1] + 0.05 * rng.standard_normal(700)
    return X, f, np.where(f > 0, "up", "down")


def in_chunks(model, X, y, sizes, weights=None, **options):
    start = 0
    for size in sizes:
        part = slice(start, start + size)
        given = None if weights is None else weights[part]
        model.partial_fit(X[part], y[part], sample_weight=given, **options)
        start += size
    return model


@pytest.mark.parametrize("removal", ["merge", "oldest", "smallest"])
@pytest.mark.parametrize("loss", ["huber", "hinge", "multinomial"])
def test_where_a_stream_is_cut_makes_no_difference(data, rng, removal, loss):
    X, f, _ = data
    y = f if loss == "huber" else np.digitize(f, [-0.2, 0.2])
    weights = rng.choice([0.0, 1.0, 1.5], 700)
    options = {"update": "implicit", "schedule": "sqrt"}
    model = OnlineKernelMachine(Gaussian(0.5), loss, budget=40, removal=removal, **options)
    whole = clone(model).fit(X, y, weights)
    pieces = in_chunks(clone(model), X, y, [100, 1, 1, 298, 300], weights)
    np.testing.assert_allclose(pieces.X_fit_, whole.X_fit_)
    np.testing.assert_allclose(pieces.dual_coef_, whole.dual_coef_, atol=1e-8)
    np.testing.assert_allclose(pieces.intercept_, whole.intercept_, atol=1e-8)
    assert len(whole.X_fit_) == 40
    assert pieces.n_samples_seen_ == 700


def test_weight_zero_is_absence(data, rng):
    X, y, _ = data
    weights = rng.choice([0.0, 1.0], 700)
    model = OnlineKernelMachine(Gaussian(0.5), budget=30)
    weighted = clone(model).fit(X, y, weights).predict(X)
    kept = weights > 0
    np.testing.assert_allclose(weighted, clone(model).fit(X[kept], y[kept]).predict(X), atol=1e-6)
    with pytest.raises(ValueError, match="not all zero"):
        clone(model).fit(X, y, np.zeros(700))
    with pytest.raises(ValueError, match=">= 0"):
        clone(model).fit(X, y, np.full(700, -1.0))


@pytest.mark.parametrize("loss", ["hinge", "logistic", "multinomial", "squared", "absolute"])
def test_near_the_batch_solution(data, loss):
    X, f, labels = data
    y = f if loss in ("squared", "absolute") else labels
    online = OnlineKernelMachine(Gaussian(0.5), loss, budget=150)
    for _ in range(3):  # three passes
        online.partial_fit(X[:500], y[:500])
    batch = KernelMachine(Gaussian(0.5), loss, alpha=0.005).fit(X[:500], y[:500])
    assert online.score(X[500:], y[500:]) > batch.score(X[500:], y[500:]) - 0.04


def test_many_steps_approach_the_minimum(rng):
    """Of the regularised risk itself, which the batch solver knows, with steps 1 / (alpha t)."""
    X = rng.uniform(-1, 1, (60, 1))
    y = np.sin(3 * X[:, 0])
    alpha = 0.05
    model = OnlineKernelMachine(
        Gaussian(0.5), alpha=alpha, schedule="inverse", budget=60, fit_intercept=False
    )
    for _ in range(150):
        order = rng.permutation(60)
        model.partial_fit(X[order], y[order])
    exact = KernelMachine(Gaussian(0.5), alpha=60 * alpha, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=0.01)
    distance = model.rkhs_function_.distance(exact.rkhs_function_)
    assert distance < 0.05 * exact.rkhs_function_.norm()


def test_quantiles(rng):
    X = rng.uniform(-1, 1, (4000, 1))
    y = X[:, 0] + rng.standard_normal(4000)
    model = OnlineKernelMachine(Gaussian(0.7), mercer.Quantile(0.9), budget=60).fit(X, y)
    assert 0.86 < np.mean(y <= model.predict(X)) < 0.94


def test_a_tube_that_adapts(rng):
    X = rng.uniform(-1, 1, (4000, 1))
    y = X[:, 0] + rng.standard_normal(4000)
    model = OnlineKernelMachine(Gaussian(0.7), EpsilonInsensitive(0.5), nu=0.4, eta=1.0, budget=60)
    model.fit(X, y)
    assert 0.33 < np.mean(np.abs(y - model.predict(X)) > model.epsilon_) < 0.47
    assert clone(model).set_params(nu=None).fit(X, y).epsilon_ == 0.5
    with pytest.raises(ValueError, match="epsilon_insensitive"):
        OnlineKernelMachine(loss="huber", nu=0.3).fit(X, y)
    with pytest.raises(ValueError, match="nu must be in"):
        OnlineKernelMachine(loss="epsilon_insensitive", nu=1.5).fit(X, y)


def test_probabilities(data):
    X, f, labels = data
    three = np.digitize(f, [-0.2, 0.2])
    for loss, y in (("logistic", labels), ("logistic", three), ("multinomial", three)):
        model = OnlineKernelMachine(Gaussian(0.5), loss, budget=100).fit(X, y)
        p = model.predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1)
        np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
        assert p.shape == (700, len(model.classes_))
        assert model.score(X, y) > 0.8
    assert not hasattr(OnlineKernelMachine(loss="hinge"), "predict_proba")
    assert not hasattr(OnlineKernelMachine(), "decision_function")
    assert is_classifier(OnlineKernelMachine(loss="hinge"))
    assert is_regressor(OnlineKernelMachine())


def test_classes_that_come_later(data):
    X, _, labels = data
    model = OnlineKernelMachine(Gaussian(0.5), "hinge", budget=50)
    up = labels == "up"
    with pytest.raises(ValueError, match="classes="):
        model.partial_fit(X[up], labels[up])
    assert not hasattr(model, "classes_")
    model.partial_fit(X[up][:20], labels[up][:20], classes=["up", "down", "never"])
    model.partial_fit(X, labels)
    assert set(model.predict(X)) == {"up", "down"}
    assert model.decision_function(X).shape == (700, 3)
    before = model.dual_coef_
    with pytest.raises(ValueError, match="'sideways'"):
        model.partial_fit(X[:2], ["up", "sideways"])
    with pytest.raises(ValueError, match="those of the first call"):
        model.partial_fit(X[:2], labels[:2], classes=["up", "down"])
    assert model.dual_coef_ is before


def test_drift_is_followed(rng):
    """The labels turn around half way."""
    X = rng.uniform(-1, 1, (6000, 2))
    y = (X[:, 0] > 0) ^ (np.arange(6000) >= 3000)
    model = OnlineKernelMachine(
        Gaussian(0.5), "hinge", 1e-3, eta=1.0, schedule="constant", average=500, budget=100
    )
    right = []
    for start in range(0, 6000, 200):
        part = slice(start, start + 200)
        if start:
            right.append(model.score(X[part], y[part]))
        model.partial_fit(X[part], y[part], classes=[False, True])
    assert right[12] > 0.93  # before
    assert right[14] < 0.2  # the first chunk after
    assert min(right[-5:]) > 0.93


@pytest.mark.parametrize("update", ["implicit", "newton"])
def test_memory_is_bounded(rng, update):
    X = rng.standard_normal((20_000, 5))
    y = X[:, 0] > 0
    model = OnlineKernelMachine(Gaussian(1.0), "hinge", update=update, budget=50)
    model.partial_fit(X[:1000], y[:1000])
    tracemalloc.start()
    for start in range(1000, 20_000, 1000):
        model.partial_fit(X[start : start + 1000], y[start : start + 1000])
    grown, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(model.X_fit_) == 50
    assert grown < 2e5
    assert peak < 3e6  # blocks of 50 x 100 kernel values, and the chunk that is checked


def test_a_budget_in_words(rng):
    X = rng.standard_normal((2000, 10))
    y = X[:, 0]
    for removal in ("merge", "oldest"):
        model = OnlineKernelMachine(Gaussian(), removal=removal, budget="300 kB").fit(X, y)
        assert 40 < len(model.X_fit_) < 200
    with pytest.raises(ValueError, match="single sample"):
        OnlineKernelMachine(budget="1 kB").fit(X, y)
    with pytest.raises(ValueError, match="number of samples"):
        OnlineKernelMachine(Spectrum(2), budget="1 MB").fit(["ab", "ba"], [0.0, 1.0])
    for budget in (0, 1.5, None, True):
        with pytest.raises(ValueError, match="budget must be"):
            OnlineKernelMachine(budget=budget).fit(X, y)
    with pytest.raises(ValueError, match="at least 100"):
        OnlineKernelMachine(budget=100).fit(X, y).set_params(budget=99).partial_fit(X, y)
    assert len(OnlineKernelMachine(budget=1).fit(X, y).X_fit_) == 1


@pytest.mark.parametrize(
    ("kernel", "samples"),
    [
        (Spectrum(2), ["abab", "cdcd", "abba", "dcdc", "baba", "ccdd"] * 10),
        (
            mercer.WeisfeilerLehman(2),
            [mercer.Graph([(0, 1), (1, 2)]), mercer.Graph([(0, 1), (1, 2), (2, 0)])] * 30,
        ),
        (mercer.SubsetTree(), ["(S (A x) (B y))", "(T (C z))"] * 30),
        (
            Gaussian().on("a") * Spectrum(1).on("b"),
            pd.DataFrame({"a": np.tile([0.0, 5.0], 30), "b": ["xy", "yz"] * 30}),
        ),
    ],
)
def test_any_kind_of_data(kernel, samples):
    y = np.arange(60) % 2
    model = OnlineKernelMachine(kernel, "hinge", budget=5).fit(samples, y)
    assert model.score(samples, y) == 1
    cut = (slice(0, 7), slice(7, 8), slice(8, 60))
    parts = OnlineKernelMachine(kernel, "hinge", budget=5)
    for part in cut:
        some = samples.iloc[part] if hasattr(samples, "iloc") else samples[part]
        parts.partial_fit(some, y[part], classes=[0, 1])
    assert parts.score(samples, y) == 1
    np.testing.assert_allclose(
        parts.decision_function(samples), model.decision_function(samples), atol=0.5
    )


def test_sparse_and_single_precision(data):
    X, y, _ = data
    dense = OnlineKernelMachine(Gaussian(0.5), budget=40).fit(X, y)
    sparse = clone(dense).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(sparse.predict(sp.csr_matrix(X)), dense.predict(X), atol=1e-8)
    single = clone(dense).fit(X.astype(np.float32), y)
    assert single.X_fit_.dtype == np.float32
    assert np.mean((single.predict(X) - dense.predict(X)) ** 2) < 0.01


def test_a_loss_of_the_user(data):
    class LogCosh(Loss):
        smooth = True

        def value(self, y, f):
            return np.logaddexp(f - y, y - f)

    X, y, _ = data
    model = OnlineKernelMachine(Gaussian(0.5), LogCosh(), budget=40).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.8


@pytest.mark.parametrize("update", ["implicit", "explicit"])
def test_outliers_and_sentinels(data, update):
    """Losses with bounded slopes hardly notice them; nothing becomes infinite."""
    X, y, labels = data
    X, y = X.copy(), y.copy()
    X[::50], y[3::50] = 1e8, -99999
    for loss, targets in (("absolute", y), ("hinge", labels), ("logistic", labels)):
        model = OnlineKernelMachine(Gaussian(0.5), loss, update=update, budget=60).fit(X, targets)
        kept = np.abs(X[:, 0]) < 2
        if loss == "absolute":
            assert np.median(np.abs(model.predict(X[kept]) - y[kept])) < 0.3
        else:
            assert model.score(X[kept], labels[kept]) > 0.8


def test_kernels_of_any_scale(data):
    """An implicit step never goes too far, where explicit ones diverge."""
    X = data[0]
    far = 1e4 * X + 1e6
    model = OnlineKernelMachine(Linear(), budget=30).fit(far, X[:, 0])
    assert np.all(np.isfinite(model.predict(far)))
    with pytest.raises(FloatingPointError, match="diverge"):
        clone(model).set_params(update="explicit").fit(far, X[:, 0])
    scaled = make_pipeline(StandardScaler(), clone(model)).fit(far, X[:, 0])
    assert scaled.score(far, X[:, 0]) > 0.99


def test_duplicates_constants_and_one_sample():
    X = np.ones((50, 2))
    model = OnlineKernelMachine(Gaussian(), budget=3).fit(X, np.full(50, 7.0))
    np.testing.assert_allclose(model.predict(X[:1]), 7.0, atol=0.1)
    one = OnlineKernelMachine(Gaussian()).fit([[1.0, 2.0]], [3.0])
    assert one.predict([[1.0, 2.0]])[0] == pytest.approx(3, rel=0.1)
    zero = OnlineKernelMachine(Gaussian(), fit_intercept=False).fit(X, np.zeros(50))
    np.testing.assert_array_equal(zero.predict(X), 0)
    nothing = OnlineKernelMachine(0 * Linear() + 0 * Gaussian(), budget=3, fit_intercept=False)
    np.testing.assert_array_equal(nothing.fit(X, np.arange(50.0)).predict(X), 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0}, "alpha must be > 0"),
        ({"eta": -1}, 'eta must be "auto", or > 0'),
        ({"schedule": "fast"}, "schedule must be one of"),
        ({"update": "lazy"}, "update must be one of"),
        ({"removal": "random"}, "removal must be one of"),
        ({"average": 0.5}, "average must be a bool"),
        ({"eta": 10.0, "alpha": 0.2, "update": "explicit"}, "eta \\* alpha must be < 1"),
        ({"kernel": "precomputed"}, "needs the kernel itself"),
        ({"loss": "zero-one"}, "loss must be"),
    ],
)
def test_parameters_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        OnlineKernelMachine(**options).fit(np.eye(2), [0.0, 1.0])


def test_a_refused_chunk_changes_nothing(data):
    X, y, _ = data
    model = OnlineKernelMachine(Gaussian(0.5), budget=30).fit(X[:300], y[:300])
    other = clone(model).fit(X[:300], y[:300])
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((3, 2), np.nan), y[:3])
    model.set_params(update="explicit", eta=1e200, alpha=1e-300)
    with pytest.raises(FloatingPointError):
        model.partial_fit(X[:300], y[:300])
    model.set_params(**other.get_params())
    np.testing.assert_array_equal(model.predict(X), other.predict(X))
    expected = other.partial_fit(X[300:], y[300:]).predict(X)
    np.testing.assert_allclose(model.partial_fit(X[300:], y[300:]).predict(X), expected, atol=1e-9)


def test_parameters_may_change_along_the_stream(data):
    """Averages begin and end, budgets grow, removals change; a budget too large is refused."""
    X, y, _ = data
    model = OnlineKernelMachine(Gaussian(0.5), budget=20)
    for options in (
        {"average": False}, {"average": 50.0}, {"removal": "oldest"}, {"budget": 35},
        {"average": False, "removal": "merge"}, {"average": True}, {"schedule": "constant"},
    ):  # fmt: skip
        model.set_params(**options).partial_fit(X, y)
        assert np.all(np.isfinite(model.predict(X)))
    assert len(model.X_fit_) == 35
    with pytest.raises(ValueError, match="other targets"):
        model.set_params(loss="hinge").partial_fit(X, y > 0)
    model.set_params(loss="huber").partial_fit(X, y)
    with pytest.raises(MemoryError, match="merge"):
        model.set_params(budget=10**8).partial_fit(X, y)


def test_the_callers_data_may_change(data):
    X, y, _ = data
    given = X.copy()
    model = OnlineKernelMachine(Gaussian(0.5), budget=30).fit(given, y)
    before = model.predict(X)
    given[:] = 0
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("average", [True, False, 100])
def test_a_stream_goes_on_after_a_file(data, tmp_path, average):
    X, y, _ = data
    model = OnlineKernelMachine(Gaussian("median"), "huber", budget=30, average=average)
    model.fit(X[:300], y[:300])
    mercer.save(model, tmp_path / "m")
    loaded = mercer.load(tmp_path / "m")
    expected = model.partial_fit(X[300:], y[300:]).predict(X)
    np.testing.assert_allclose(loaded.partial_fit(X[300:], y[300:]).predict(X), expected, atol=1e-9)
    assert loaded.n_samples_seen_ == 700


def test_predictions_while_it_learns(data):
    X, y, _ = data
    model = OnlineKernelMachine(Gaussian(0.5), budget=30).fit(X[:10], y[:10])
    errors, done = [], threading.Event()

    def predict():
        while not done.is_set():
            try:
                assert np.all(np.isfinite(model.predict(X[:5])))
            except Exception as error:
                errors.append(error)

    thread = threading.Thread(target=predict)
    thread.start()
    for start in range(10, 700, 5):
        model.partial_fit(X[start : start + 5], y[start : start + 5])
    done.set()
    thread.join()
    assert not errors


def test_within_three_points_of_batch_on_real_data(shared_data):
    """a9a: a machine with an exact solver has 85 %."""
    file = shared_data / "vectors" / "a9a.npz"
    if not file.exists():
        pytest.skip("a9a is not available")
    data = np.load(file)
    n, X, y = int(data["n_train"]), data["X"].astype(float), data["y"]
    order = np.random.default_rng(0).permutation(n)[:20_000]
    model = OnlineKernelMachine(Gaussian.from_gamma(0.05), "hinge").fit(X[order], y[order])
    assert model.score(X[n : n + 5000], y[n : n + 5000]) > 0.835


def test_lengths_of_steps_go_on_after_a_file_and_may_change(data, tmp_path):
    X, _, y = data
    model = OnlineKernelMachine(Gaussian(0.5), "hinge", update="implicit", budget=50)
    model.fit(X[:300], y[:300])
    assert model.eta_ in (3.75, 15.0, 60.0, 240.0)
    assert len(model._state.coef) == 4
    mercer.save(model, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    assert again.eta_ == model.eta_
    for each in (model, again):
        each.partial_fit(X[300:600], y[300:600])
    np.testing.assert_allclose(again.dual_coef_, model.dual_coef_, atol=1e-12)
    before, f = model.eta_, model.decision_function(X)
    model.set_params(eta=before).partial_fit(X[:1], y[:1], sample_weight=[1e-9])
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-5)
    assert len(model._state.coef) == 1
    assert model.score(X, y) > 0.85


@pytest.mark.filterwarnings("ignore::mercer.exceptions.NumericalWarning")
@pytest.mark.parametrize("outlier", [1e200, 1e308])
def test_squares_that_overflow_stay_in_files(data, tmp_path, outlier):
    X, y, _ = data
    model = OnlineKernelMachine(Gaussian()).fit(X[:50], np.append(outlier, y[1:50]))
    assert np.isfinite(model.predict(X)).all()
    mercer.save(model, tmp_path / "m")
    np.testing.assert_array_equal(mercer.load(tmp_path / "m").predict(X), model.predict(X))


# ---- second order --------------------------------------------------------------------------------
def clusters(rng, n, centres):
    codes = rng.integers(len(centres), size=n)
    return 1.3 * rng.standard_normal((n, 6)) + centres[codes], codes % 8


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "multinomial", "logistic"])
def test_newton_steps_learn_many_classes_in_one_pass(rng, loss):
    centres = rng.uniform(-3, 3, (24, 6))
    X, y = clusters(rng, 4000, centres)
    new, truth = clusters(rng, 2000, centres)
    kernel = Gaussian(2.5)
    exact = SVC(kernel).fit(X, y).score(new, truth)
    model = OnlineKernelMachine(kernel, loss, update="newton", budget=300).fit(X, y)
    first = OnlineKernelMachine(kernel, loss, budget=300, update="implicit").fit(X, y)
    assert len(model.X_fit_) == 300
    assert model.score(new, truth) > exact - 0.03
    assert model.score(new, truth) > first.score(new, truth) - 0.01


def test_newton_steps_of_numbers_weights_and_pieces(data, rng, tmp_path):
    X, y, _ = data
    options = {"update": "newton", "budget": 80}
    model = OnlineKernelMachine(Gaussian(0.5), "squared", 1e-8, **options)
    whole = clone(model).fit(X, y)
    assert np.sqrt(np.mean((whole.predict(X) - y) ** 2)) < 0.08  # of which 0.05 is noise
    pieces = in_chunks(clone(model), X, y, [100, 7, 300, 293])
    np.testing.assert_allclose(pieces.predict(X), whole.predict(X), atol=0.1)
    np.testing.assert_array_equal(whole.X_fit_, X[:80])
    w = np.where(rng.random(700) < 0.3, 0.0, 1.0)
    known = clone(model).fit(X[w > 0], y[w > 0])
    np.testing.assert_allclose(
        clone(model).fit(X, y, sample_weight=w).predict(X), known.predict(X), atol=0.1
    )
    half = clone(model).fit(X[:350], y[:350])
    mercer.save(half, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    for each in (half, again):
        each.partial_fit(X[350:], y[350:])
    np.testing.assert_allclose(again.predict(X), half.predict(X), atol=1e-3)


def test_newton_steps_follow_single_ones(data):
    X, _, y = data
    model = OnlineKernelMachine(Gaussian(0.5), "hinge", update="implicit", budget=60)
    model.fit(X[:400], y[:400])
    model.set_params(update="newton").partial_fit(X[400:], y[400:])
    curves = model._curvature.curves
    assert curves.count == 700
    assert curves.time == pytest.approx(700)
    assert model.score(X, y) > 0.85
    assert len(model.X_fit_) == 60
    model.set_params(update="implicit").partial_fit(X[400:], y[400:])
    assert model.score(X, y) > 0.85


def test_what_newton_steps_refuse(data):
    X, _, y = data
    with pytest.raises(ValueError, match="'inverse' divides by alpha"):
        OnlineKernelMachine(update="newton", schedule="inverse").fit(X, y)


def test_newton_steps_without_averages(data):
    X, y, _ = data
    model = OnlineKernelMachine(Gaussian(0.5), update="newton", average=False, budget=80)
    assert model.fit(X[:500], y[:500]).score(X[500:], y[500:]) > 0.8
    model.set_params(average=True).partial_fit(X[500:], y[500:])
    assert model.score(X, y) > 0.8


# ---- what is right for a stream ------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "update"),
    [
        ({}, "newton"),
        ({"schedule": "sqrt"}, "newton"),
        ({"schedule": "constant"}, "implicit"),
        ({"schedule": "inverse"}, "implicit"),
        ({"eta": 10.0}, "implicit"),
        ({"average": False}, "implicit"),
        ({"average": 100}, "implicit"),
        ({"average": np.True_}, "newton"),
        ({"removal": "oldest"}, "implicit"),
        ({"budget": 2001}, "implicit"),
        ({"update": "implicit"}, "implicit"),
        ({"update": "explicit"}, "explicit"),
        ({"update": "newton", "eta": 0.1}, "newton"),
    ],
)
def test_the_kind_of_steps(data, options, update):
    X, y, _ = data
    model = OnlineKernelMachine(Gaussian(0.5), **{"budget": 50, **options}).fit(X[:100], y[:100])
    assert model.update_ == update
    assert model.partial_fit(X[100:], y[100:]).update_ == update


def followed(model, X, y):
    """The share of right labels in each chunk before it is learned from."""
    right = []
    for start in range(0, len(X), 200):
        part = slice(start, start + 200)
        if start:
            right.append(model.score(X[part], y[part]))
        model.partial_fit(X[part], y[part], classes=[False, True])
    return np.array(right)


@pytest.mark.parametrize("update", ["auto", "implicit"])
def test_the_default_follows_labels_that_turn_round(rng, update):
    X = rng.uniform(-1, 1, (8000, 2))
    y = (X[:, 0] > 0) ^ (np.arange(8000) >= 4000)
    model = OnlineKernelMachine(Gaussian(0.5), "hinge", update=update, budget=100)
    right = followed(model, X, y)
    assert right[18] > 0.95  # before
    assert right[19] < 0.1  # the first chunk after
    assert right[25:].min() > 0.95
    stays = clone(model).set_params(schedule="sqrt")
    assert followed(stays, X, y)[25:].min() < 0.5


def test_the_default_follows_samples_that_move_away(rng):
    X = rng.uniform(-1, 1, (8000, 2))
    y = np.sin(3 * X[:, 0]) * X[:, 1] > 0
    X[4000:, 0] += 6.0
    model = OnlineKernelMachine(Gaussian(0.5), "hinge", budget=100)
    right = followed(model, X, y)
    assert model.update_ == "newton"
    assert right[15:19].min() > 0.9
    assert right[-5:].min() > 0.9
    assert len(model.X_fit_) == 100
    assert np.mean(model.X_fit_[:, 0] > 3) >= 0.5


def test_nothing_begins_anew_on_a_stream_that_stays(rng):
    X = rng.uniform(-1, 1, (8000, 2))
    y = (X[:, 0] * X[:, 1] > 0) ^ (rng.random(8000) < 0.2)
    for update in ("auto", "implicit"):
        model = OnlineKernelMachine(Gaussian(0.5), "hinge", update=update, budget=100).fit(X, y)
        assert model._state.time > 4000
        np.testing.assert_array_equal(model.X_fit_[:50], X[:50]) if update == "auto" else None


def test_kernels_without_features_take_single_steps(data):
    X, y, _ = data

    def indefinite(x, z):
        return np.tanh(2 * x @ z - 1)

    model = OnlineKernelMachine(indefinite, budget=30)
    with pytest.warns(mercer.exceptions.IndefiniteKernelWarning, match="single steps"):
        model.fit(X[:200], y[:200])
    assert model.update_ == "implicit"
    assert np.all(np.isfinite(model.partial_fit(X[200:300], y[200:300]).predict(X)))
    with pytest.raises(ValueError, match="positive semi-definite"):
        clone(model).set_params(update="newton").fit(X[:200], y[:200])


def test_without_memory_for_second_order(data, tmp_path):
    X, y, _ = data
    model = OnlineKernelMachine(Gaussian(0.5), budget=1000)
    with (
        within(None, 5e7),
        pytest.warns(mercer.exceptions.NumericalWarning, match="single steps"),
    ):
        model.fit(X[:100], y[:100])
    assert model.update_ == "implicit"
    mercer.save(model, tmp_path / "m")
    assert mercer.load(tmp_path / "m").partial_fit(X[100:], y[100:]).update_ == "implicit"
    assert clone(model).fit(X, y).update_ == "newton"


def test_samples_one_by_one(data):
    X, y, _ = data
    model = OnlineKernelMachine(Gaussian(0.5), budget=60)
    whole = clone(model).fit(X[:500], y[:500])
    for i in range(500):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    assert len(model.X_fit_) == 60
    assert model.score(X[500:], y[500:]) > whole.score(X[500:], y[500:]) - 0.05
    assert whole.score(X[500:], y[500:]) > 0.85


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_targets_far_from_zero(data, loss):
    X, y, _ = data
    model = OnlineKernelMachine(Gaussian(0.5), loss, budget=60)
    near = clone(model).fit(X[:300], y[:300]).predict(X[300:])
    far = model.fit(X[:300], y[:300] + 100).predict(X[300:])
    np.testing.assert_allclose(far - 100, near, atol=0.1)


def test_a_stream_of_second_order_goes_on_after_a_file(rng, tmp_path):
    """Where some of what was kept has been given up, and steps of the penalty are due."""
    X = rng.uniform(-1, 1, (3000, 2))
    y = np.sin(3 * X[:, 0]) * X[:, 1]
    X[1500:, 0] += 6.0
    model = OnlineKernelMachine(Gaussian(0.5), "squared", 1e-4, budget=50)
    for start in range(0, 2100, 100):
        model.partial_fit(X[start : start + 100], y[start : start + 100])
    assert model.X_fit_[:, 0].max() > 4
    mercer.save(model, tmp_path / "m")
    loaded = mercer.load(tmp_path / "m")
    for each in (model, loaded):
        each.partial_fit(X[2100:], y[2100:])
    np.testing.assert_allclose(loaded.predict(X), model.predict(X), atol=1e-6)
    assert loaded.update_ == "newton"


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_newton_steps_go_by_ratios_of_weights(data, rng, factor):
    X, y, _ = data
    w = rng.random(700)
    model = OnlineKernelMachine(Gaussian(0.5), alpha=1e-12, budget=60)
    whole = clone(model).fit(X, y, w).predict(X)
    np.testing.assert_allclose(clone(model).fit(X, y, factor * w).predict(X), whole, atol=1e-3)


def test_words_that_move_away(rng):
    """Samples of any kind take the place of others."""
    words = ["".join(rng.choice(list("abc" if i < 1500 else "xyz"), 8)) for i in range(3000)]
    y = np.array([w.count(w[0]) > 2 for w in words])
    model = OnlineKernelMachine(Spectrum(2).normalize(), "hinge", budget=8)
    for start in range(0, 3000, 100):
        model.partial_fit(words[start : start + 100], y[start : start + 100], classes=[False, True])
    assert model.update_ == "newton"
    assert len(model.X_fit_) == 8
    assert sum(set(w) <= set("xyz") for w in model.X_fit_) >= 4


def test_second_order_takes_the_memory_it_asks_for(rng):
    X = rng.uniform(-1, 1, (3000, 2))
    y = np.sin(3 * X[:, 0]) * X[:, 1]
    X[1500:, 0] += 6.0
    model = OnlineKernelMachine(Gaussian(0.5), budget=400)
    tracemalloc.start()
    for start in range(0, 3000, 500):
        model.partial_fit(X[start : start + 500], y[start : start + 500])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.X_fit_[:, 0].max() > 4
    assert peak < 8 * ARRAYS * 400**2 + 7e6  # of blocks of 256 samples


def test_files_of_before_there_was_a_choice():
    old = mercer.load(Path(__file__).parents[1] / "io" / "files" / "OnlineKernelMachine-0.1.zip")
    assert (old.update_, old.eta_) == ("implicit", 15.0)
    assert old.partial_fit(np.eye(2), [0.0, 1.0]).update_ == "implicit"
