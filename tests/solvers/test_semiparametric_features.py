"""Few features beside free functions, against the same K as a matrix."""

import tracemalloc

import numpy as np
import pytest

from mercer import Gaussian, Linear, Plan, RandomFourier, SemiparametricRidge
from mercer.exceptions import NumericalWarning
from mercer.solvers.semiparametric import SemiparametricProblem
from mercer.solvers.semiparametric_features import FeatureProblem, Thin, problem_of


@pytest.fixture(params=[False, True], ids=["each its own", "points that repeat"])
def problems(request, rng):
    n = 60
    X = rng.standard_normal((n, 3))
    kernel = Gaussian(1.5).approximate(RandomFourier(12)).resolve(X)
    P = np.column_stack([np.ones(n), X[:, 0]])
    rows = rng.integers(0, n - 10, 90) if request.param else np.arange(n)
    Y, w = rng.standard_normal((len(rows), 2)), rng.choice([0.0, 0.4, 1.0, 2.0], len(rows))
    gram = kernel.gram(X)
    assert gram.features is not None
    data = (P, Y, w, rows)
    dense = SemiparametricProblem(kernel.gram(X, Plan(storage="dense")), *data)
    return problem_of(gram, *data), dense


@pytest.mark.parametrize("alpha", [1e-3, 0.3, 50.0])
def test_features_are_the_matrix_that_they_make(problems, alpha):
    few, dense = problems
    assert isinstance(few, FeatureProblem)
    one, other = few.factor(alpha), dense.factor(alpha)
    assert isinstance(one, Thin)
    found, wanted = one.solve(), other.solve()
    assert found.converged
    np.testing.assert_allclose(found.coef, wanted.coef, atol=1e-8)
    np.testing.assert_allclose(found.null_coef, wanted.null_coef, atol=1e-8)
    assert one.dof() == pytest.approx(other.dof(), rel=1e-8)
    assert one.gcv() == pytest.approx(other.gcv(), rel=1e-8)
    assert one.trace == pytest.approx(other.trace, rel=1e-8)
    np.testing.assert_allclose(one.leave_one_out(), other.leave_one_out(), atol=1e-7)
    assert one.loo() == pytest.approx(other.loo(), rel=1e-6)


def test_without_a_penalty_it_is_not_unique(problems):
    few, dense = problems
    with pytest.warns(NumericalWarning, match="singular"):
        one = few.factor(0.0)
    assert one.dropped
    assert np.isnan(one.leave_one_out()).all()
    other = dense.at(0.0)
    np.testing.assert_allclose(one.solve().coef, other.solve().coef, atol=1e-6)


@pytest.mark.parametrize("alpha", ["gcv", "loo", 0.2])
@pytest.mark.parametrize("kernel", [Gaussian(1.0).approximate(RandomFourier(20)), Linear()])
def test_models_through_features(rng, alpha, kernel):
    X = rng.standard_normal((80, 3))
    y = 2 + X[:, 0] + np.sin(X[:, 1]) + 0.1 * rng.standard_normal(80)
    model = SemiparametricRidge(kernel, alpha=alpha).fit(X, y)
    exact = Plan(storage="dense")
    dense = SemiparametricRidge(model.kernel_, alpha=model.alpha_, plan=exact).fit(X, y)
    np.testing.assert_allclose(model.predict(X), dense.predict(X), atol=1e-5)
    np.testing.assert_allclose(model.leave_one_out(), dense.leave_one_out(), atol=1e-5)


def test_memory_does_not_grow_with_the_square(rng):
    X = rng.standard_normal((3000, 2))
    model = SemiparametricRidge(Gaussian(), plan=Plan(features=RandomFourier(20)))
    tracemalloc.start()
    model.fit(X, X[:, 0])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3000 * 20 * 8 * 12


def test_a_small_alpha_and_many_samples_do_not_cost_digits(rng):
    """Against least squares in the space of the features, by an orthogonal factorisation."""
    n, alpha = 30_000, 1e-5
    X = rng.standard_normal((n, 3))
    y = 5 + X @ np.array([1.0, 2.0, 3.0]) + 0.1 * rng.standard_normal(n)
    penalty = np.sqrt(alpha) * np.eye(4)[:3]
    rows = np.vstack([np.column_stack([X, np.ones(n)]), penalty])
    wanted = np.linalg.lstsq(rows, np.append(y, np.zeros(3)), rcond=None)[0]
    model = SemiparametricRidge(Linear(), alpha=alpha).fit(X, y)
    assert np.allclose(model.predict(X[:9]), X[:9] @ wanted[:3] + wanted[3], atol=1e-6)
