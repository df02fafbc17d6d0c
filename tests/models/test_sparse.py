"""SparseKernelMachine: the lasso of scikit-learn on columns of K, and optimality conditions."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Gaussian, Linear, Plan, SparseKernelMachine, Spectrum, load, save
from mercer.exceptions import ConvergenceWarning
from mercer.losses import Huber, Logistic, Poisson, SquaredHinge
from mercer.solvers.lasso import solve_lasso


@parametrize_with_checks(
    [
        SparseKernelMachine(),
        SparseKernelMachine(loss="logistic"),
    ],
    expected_failed_checks=lambda _: dict.fromkeys(
        [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")],
        "a sample that is repeated is one basis function more, of which either may be used",
    ),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def data(rng, n=80):
    X = rng.uniform(-2, 2, (n, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_lasso_of_scikit_learn(rng, intercept):
    X, y = data(rng)
    w = rng.uniform(0.5, 2, 80)
    K = Gaussian(1.0)(X)
    model = SparseKernelMachine(Gaussian(1.0), alpha=1.0, fit_intercept=intercept, tol=1e-9)
    model.fit(X, y, w)
    theirs = Lasso(1 / w.sum(), fit_intercept=intercept, tol=1e-10, max_iter=10**6)
    theirs.fit(K, y, w)
    np.testing.assert_allclose(model.predict(X), theirs.predict(K), atol=1e-3)

    def objective(predicted, coef):
        return w @ (y - predicted) ** 2 / 2 + np.abs(coef).sum()

    ours = objective(model.predict(X), model.dual_coef_)
    assert ours <= objective(theirs.predict(K), theirs.coef_) * (1 + 1e-8)
    assert model.solution_.stats["objective"] == pytest.approx(ours)
    assert len(model.support_) < 40


def test_logistic_regression_of_scikit_learn(rng):
    X, y = data(rng)
    K = Gaussian(1.0)(X)
    model = SparseKernelMachine(Gaussian(1.0), "logistic", alpha=1.0, tol=1e-9).fit(X, y > 0)
    options = {"solver": "saga", "C": 1.0, "tol": 1e-6, "max_iter": 10**5, "random_state": 0}
    with warnings.catch_warnings():  # scikit-learn has changed how the penalty is called
        warnings.simplefilter("ignore")
        theirs = LogisticRegression(penalty="l1", **options).fit(K, y > 0)
    np.testing.assert_allclose(model.decision_function(X), theirs.decision_function(K), atol=1e-2)


@pytest.mark.parametrize("loss", [Huber(0.2), Logistic(), SquaredHinge(), Poisson()])
def test_optimality(rng, loss):
    """Slopes along coefficients are alpha with the sign of those that are not zero."""
    X, y = data(rng)
    y = {"sign": np.where(y > 0, 1.0, -1.0), "count": rng.poisson(np.exp(y))}.get(loss.targets, y)
    w, K = rng.uniform(0.5, 2, 80), Gaussian(1.0)(X)
    found = solve_lasso(Gaussian(1.0).gram(X), y, loss, 0.7, w, tol=1e-8)
    c, b = found.coef[:, 0], found.intercept
    slopes = K @ (w * loss.slope(np.asarray(y, dtype=float), K @ c + b))
    assert np.abs(slopes).max() <= 0.7 * (1 + 1e-3)
    np.testing.assert_allclose(slopes[c != 0], -0.7 * np.sign(c[c != 0]), rtol=1e-3)
    assert found.converged
    assert 0 < np.count_nonzero(c) < 40


def test_classes_strings_and_files(rng, tmp_path):
    X, y = data(rng, 150)
    labels = np.digitize(y, [-1, 1])
    model = SparseKernelMachine(Gaussian(1.0), "logistic", alpha=0.5).fit(X, labels)
    assert model.score(X, labels) > 0.85
    assert len(model.X_fit_) == len(model.support_) == len(model.dual_coef_)
    np.testing.assert_allclose(
        model.rkhs_function_(X) + model.intercept_, model.decision_function(X)
    )
    save(model, tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(X), model.predict(X))
    words = ["".join(rng.choice(list(letters), 12)) for letters in ("ab", "ac") for _ in range(20)]
    strings = SparseKernelMachine(Spectrum(2), "logistic", alpha=1.0)
    assert strings.fit(words, np.repeat([0, 1], 20)).score(words, np.repeat([0, 1], 20)) == 1


def test_a_large_penalty_leaves_nothing(rng):
    X, y = data(rng)
    model = SparseKernelMachine(Gaussian(1.0), alpha=1e4).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y.mean())
    assert not model.dual_coef_.any()


def test_refusals(rng):
    X, y = data(rng)
    with pytest.raises(ValueError, match="smooth"):
        SparseKernelMachine(loss="absolute").fit(X, y)
    with pytest.raises(ValueError, match="without rank"):
        SparseKernelMachine(plan=Plan(rank=10)).fit(X, y)
    with pytest.raises(AttributeError, match="leave_one_out"):
        SparseKernelMachine(Linear()).fit(X, y).leave_one_out()


def test_no_progress_ends_the_search(rng):
    X = rng.normal(size=(60, 3))
    X[5, 0] = 1e8
    with pytest.warns(ConvergenceWarning, match="raise alpha, tol or max_iter, or scale the data"):
        model = SparseKernelMachine("linear").fit(X, np.sin(X[:, 1]))
    assert model.n_iter_ < 100
    assert np.all(np.isfinite(model.predict(X)))
