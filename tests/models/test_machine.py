from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SVC, SVR, Gaussian, KernelRidge, Plan, Spectrum
from mercer.exceptions import ConvergenceWarning, IndefiniteKernelWarning
from mercer.losses import EpsilonInsensitive, Huber, Loss, Quantile
from mercer.models.machine import KernelMachine


@parametrize_with_checks(
    [
        KernelMachine(),
        KernelMachine(loss="huber", tol=1e-9),
        KernelMachine(loss="epsilon_insensitive", tol=1e-9),
        KernelMachine(loss="poisson", tol=1e-9),
        KernelMachine(loss="hinge", tol=1e-9),
        KernelMachine(loss="logistic", tol=1e-9),
        KernelMachine(loss="multinomial", tol=1e-9, kernel=Gaussian()),
        KernelMachine(kernel="precomputed", alpha=10.0),
    ],
    expected_failed_checks=lambda estimator: (
        {"check_positive_only_tag_during_fit": "its data are no kernel matrix"}
        if estimator.kernel == "precomputed"
        else {}
    ),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def data(rng):
    X = rng.standard_normal((80, 2))
    f = np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(80)
    return X, f, np.where(f > 0, "up", "down")


def reloaded(model):
    """What mercer.load leaves of a model: parameters, the saved state, and what it restores."""
    new = clone(model)
    for name in model.saved_state:
        if hasattr(model, name):
            setattr(new, name, getattr(model, name))
    new._restore()
    return new


def scores(model, X):
    """f + b, whatever is predicted from it."""
    return model.rkhs_function_(X) + model.intercept_


def test_squared_loss_is_ridge_regression(data, rng):
    X, y, _ = data
    w = rng.uniform(0, 2, 80)
    ours = KernelMachine(Gaussian(), alpha=0.4, fit_intercept=False).fit(X, y, w)
    ridge = KernelRidge(0.4, kernel=Gaussian()).fit(X, y, w)
    np.testing.assert_allclose(ours.dual_coef_, ridge.dual_coef_, atol=1e-9)
    np.testing.assert_allclose(ours.predict(X), ridge.predict(X), atol=1e-9)
    assert ours.intercept_ == 0


def test_hinge_and_epsilon_are_support_vector_machines(data, rng):
    X, y, labels = data
    w = rng.uniform(0, 2, 80)
    ours = KernelMachine(Gaussian(), "hinge", alpha=0.5, tol=1e-8).fit(X, labels, w)
    theirs = SVC(kernel=Gaussian(), C=2.0, tol=1e-8).fit(X, labels, sample_weight=w)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    ours = KernelMachine(Gaussian(), EpsilonInsensitive(0.2), alpha=0.5, tol=1e-8).fit(X, y, w)
    theirs = SVR(kernel=Gaussian(), C=2.0, epsilon=0.2, tol=1e-8).fit(X, y, w)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-5)


@pytest.mark.parametrize("loss", ["huber", "logistic", "absolute", "hinge", "poisson"])
def test_weights_are_repetitions(data, rng, loss):
    X, y, labels = data
    y = {"logistic": labels, "hinge": labels, "poisson": np.exp(y)}.get(loss, y)
    times = rng.integers(0, 3, 80)
    model = KernelMachine(Gaussian(), loss, alpha=0.5, tol=1e-9)
    weighted = scores(model.fit(X, y, times), X)
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted, scores(repeated, X), atol=1e-5)


def test_what_is_predicted_depends_on_the_loss(data, rng):
    X, y, labels = data
    assert is_regressor(KernelMachine())
    assert is_classifier(KernelMachine(loss="hinge"))
    counts = rng.poisson(np.exp(1 + np.sin(2 * X[:, 0])))
    poisson = KernelMachine(Gaussian(), "poisson", alpha=0.5).fit(X, counts)
    np.testing.assert_allclose(poisson.predict(X), np.exp(scores(poisson, X)))
    assert poisson.predict(X).sum() == pytest.approx(counts.sum(), rel=1e-5)  # score of b is 0
    assert 0.3 < poisson.score(X, counts) < 1
    robust = KernelMachine(Gaussian(), Huber(0.5), alpha=0.5).fit(X, y)
    np.testing.assert_allclose(robust.predict(X), scores(robust, X))
    assert not hasattr(robust, "decision_function")
    hinge = KernelMachine(Gaussian(), "hinge", alpha=0.5).fit(X, labels)
    assert set(hinge.predict(X)) == {"up", "down"}
    assert hinge.score(X, labels) > 0.85


def test_several_classes(data):
    X, y, _ = data
    three = np.digitize(y, [-0.5, 0.5])
    rest = KernelMachine(Gaussian(), "squared_hinge", alpha=0.1).fit(X, three)
    joint = KernelMachine(Gaussian(), "multinomial", alpha=0.1).fit(X, three)
    for model in (rest, joint):
        assert model.dual_coef_.shape == (80, 3)
        assert model.decision_function(X).shape == (80, 3)
        assert model.score(X, three) > 0.8
    one = KernelMachine(Gaussian(), "squared_hinge", alpha=0.1).fit(X, three == 2)
    np.testing.assert_allclose(
        rest.decision_function(X)[:, 2], one.decision_function(X), atol=1e-10
    )


def test_leave_one_out(data):
    X, y, labels = data
    squared = KernelMachine(Gaussian(), "squared", alpha=0.3, fit_intercept=False).fit(X, y)
    ridge = KernelRidge(0.3, kernel=Gaussian()).fit(X, y)
    np.testing.assert_allclose(squared.leave_one_out(), ridge.leave_one_out(), atol=1e-8)
    three = np.digitize(y, [-0.5, 0.5])
    rest = KernelMachine(Gaussian(), "logistic", alpha=1.0).fit(X, three)
    one = KernelMachine(Gaussian(), "logistic", alpha=1.0).fit(X, three == 2)
    np.testing.assert_allclose(rest.leave_one_out()[:, 2], one.leave_one_out(), atol=1e-10)
    two = KernelMachine(Gaussian(), "multinomial", alpha=2.0, tol=1e-8).fit(X, labels)
    one = KernelMachine(Gaussian(), "logistic", alpha=1.0, tol=1e-8).fit(X, labels)
    np.testing.assert_allclose(two.leave_one_out(), one.leave_one_out(), atol=1e-5)
    np.testing.assert_array_equal(reloaded(one).leave_one_out(), one.leave_one_out())
    with pytest.raises(ValueError, match="need a smooth loss"):
        KernelMachine(Gaussian(), "hinge").fit(X, labels).leave_one_out()


def test_absolute_loss_resists_outliers(data):
    X, y, _ = data
    clean = np.sin(2 * X[:, 0])
    y = clean.copy()
    y[::6] += 20
    errors = {
        loss: np.abs(KernelMachine(Gaussian(), loss, alpha=0.1).fit(X, y).predict(X) - clean).mean()
        for loss in ("squared", "absolute", "huber")
    }
    assert errors["absolute"] < errors["huber"] < errors["squared"]


def test_function_certificate_and_files(data):
    X, y, labels = data
    for loss, target in (("huber", y), ("hinge", labels), ("multinomial", labels)):
        model = KernelMachine(Gaussian("median"), loss, alpha=0.3).fit(X, target)
        K = Gaussian(model.kernel_.lengthscale)(X)
        np.testing.assert_allclose(
            scores(model, X), K @ model.dual_coef_ + model.intercept_, atol=1e-10
        )
        assert model.solution_.stats["violation"] <= 1.01e-5
        assert abs(model.solution_.stats["gap"]) < 1e-2
        np.testing.assert_array_equal(reloaded(model).predict(X), model.predict(X))


def test_strings_tables_pipelines_and_grid_search(data):
    texts = ["abab", "abba", "bbbb", "aaaa", "abcab", "cabca", "bcbc", "ccab"] * 4
    counts = np.array([t.count("ab") for t in texts], dtype=float)
    search = GridSearchCV(
        KernelMachine(Spectrum(1), Huber(0.1), alpha=0.01),
        {"kernel__k": [1, 2], "loss__delta": [0.1, 1.0]},
        cv=4,
    ).fit(texts, counts)
    assert search.best_params_["kernel__k"] == 2
    assert len(set(search.cv_results_["mean_test_score"].round(8))) >= 3
    labels = np.where(counts > 0, "yes", "no")
    hinge = KernelMachine(Spectrum(2), "hinge", alpha=0.01).fit(texts, labels)
    assert hinge.score(texts, labels) == 1
    frame = pd.DataFrame({"text": texts, "size": np.arange(32) / 10.0})
    kernel = Gaussian().on("size") + Spectrum(2).on("text")
    median = KernelMachine(kernel, Quantile(0.5), alpha=0.01).fit(frame, counts)
    assert median.score(frame, counts) > 0.9
    X, y, _ = data
    model = make_pipeline(StandardScaler(), KernelMachine(Gaussian(), "huber", alpha=0.1))
    assert model.fit(X, y).score(X, y) > 0.7


def test_plans_agree(data):
    X, y, _ = data
    for loss in ("huber", "absolute"):
        dense = KernelMachine(Gaussian(), loss, tol=1e-8).fit(X, y).predict(X)
        tiled = KernelMachine(Gaussian(), loss, tol=1e-8, plan=Plan(storage="tiled"))
        np.testing.assert_allclose(tiled.fit(X, y).predict(X), dense, atol=1e-5)
    double = KernelMachine(Gaussian(), "huber").fit(X, y).predict(X)
    single = KernelMachine(Gaussian(), "huber").fit(X.astype(np.float32), y)
    np.testing.assert_allclose(single.predict(X.astype(np.float32)), double, atol=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0}, "alpha must be > 0"),
        ({"alpha": np.inf}, "alpha must be > 0 and finite"),
        ({"tol": 0}, "tol must be > 0"),
        ({"max_iter": 0}, "max_iter must be None or an integer >= 1"),
        ({"loss": "cubic"}, "loss must be a mercer loss or one of"),
        ({"solver": "magic"}, "solver must be one of"),
        ({"solver": "newton", "loss": "absolute"}, "needs a smooth loss"),
        ({"kernel": "gauss"}, "kernel must be a mercer kernel"),
        ({"loss": "poisson"}, "y must be >= 0"),
    ],
)
def test_bad_parameters(data, options, message):
    X, y, _ = data
    with pytest.raises(ValueError, match=message):
        KernelMachine(**options).fit(X, y)


def test_bad_data(data):
    X, y, _ = data
    with pytest.raises(ValueError, match="number of classes"):
        KernelMachine(loss="hinge").fit(X, np.ones(80))
    with pytest.raises(ValueError, match="all samples of class 'up' have weight 0"):
        KernelMachine(loss="hinge").fit(X, data[2], (data[2] == "down").astype(float))
    with pytest.raises(ValueError, match="sample_weight must be >= 0"):
        KernelMachine().fit(X, y, -np.ones(80))
    with pytest.raises(ValueError, match="0 everywhere"):
        KernelMachine(loss="poisson").fit(X, np.zeros(80))
    with pytest.warns(ConvergenceWarning, match="raise alpha, tol or max_iter"):
        KernelMachine(loss="huber", solver="admm", max_iter=2).fit(X, y)


def test_labels_of_an_earlier_fit_are_forgotten(rng):
    X = rng.standard_normal((30, 1))
    model = KernelMachine("rbf", "hinge").fit(X, X[:, 0] > 0)
    assert model.predict(X).dtype == bool
    model.set_params(loss="squared", alpha=0.01).fit(X, X[:, 0])
    np.testing.assert_allclose(model.predict(X), X[:, 0], atol=0.1)


@dataclass(eq=False, repr=False)
class GammaLoss(Loss):
    """y exp(-f) + f, for positive numbers with mean exp(f)."""

    smooth = True

    def value(self, y, f):
        return y * np.exp(-f) + f

    def check_targets(self, y, weights=None, intercept=True):
        if np.any(y <= 0):
            raise ValueError("y must be > 0.")

    def prediction(self, f):
        return np.exp(f)


def test_a_loss_says_which_targets_it_takes_and_what_it_predicts(rng):
    X = rng.uniform(0, 3, (80, 1))
    y = np.exp(np.sin(X[:, 0])) * rng.gamma(20.0, 1 / 20, 80)
    model = KernelMachine("rbf", GammaLoss(), alpha=0.1).fit(X, y)
    np.testing.assert_allclose(model.predict(X), np.exp(np.sin(X[:, 0])), rtol=0.3)
    assert model.score(X, y) > 0.5
    with pytest.raises(ValueError, match="y must be > 0"):
        model.fit(X, y - y.min())


@pytest.mark.parametrize("unit", [1e-90, 1e-20, 1e90])
@pytest.mark.parametrize("loss", ["squared", "absolute", Quantile(0.3)], ids=str)
def test_units_of_targets_do_not_matter(loss, unit, rng):
    """Where the penalty has the same unit as the loss; for a linear loss, alpha has that of 1/y."""
    X = rng.normal(size=(60, 2))
    y = np.sin(X[:, 0])
    alpha = 1.0 if loss == "squared" else 1 / unit
    wanted = KernelMachine(loss=loss, kernel=Gaussian()).fit(X, y).predict(X)
    found = KernelMachine(loss=loss, kernel=Gaussian(), alpha=alpha).fit(X, unit * y).predict(X)
    assert np.allclose(found / unit, wanted, atol=1e-5)


@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive", "absolute"])
def test_indefinite_matrices_are_named(loss, rng):
    """A user's matrix: the gap of the dual proves nothing where it has negative eigenvalues."""
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] > 0, 1, -1) if loss == "hinge" else X[:, 0]
    machine = KernelMachine(loss=loss, kernel="precomputed")
    with pytest.warns(IndefiniteKernelWarning, match="not positive semi-definite"):
        machine.fit(X @ np.diag([1.0, 1.0, -2.0]) @ X.T, y)
    machine.fit(X @ X.T, y)
