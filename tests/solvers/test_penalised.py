"""Other penalties than the squared norm: against a general-purpose optimiser."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Gaussian, KernelMachine, Plan, load, save
from mercer.exceptions import ConvergenceWarning, DomainError
from mercer.losses import NormBall, NormPower, Penalty
from mercer.solvers import penalised

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (25, 1))
Y = np.sin(2 * X[:, 0]) + 0.2 * RNG.standard_normal(25)
K = Gaussian(1.0)(X) + 1e-10 * np.eye(25)
ROOT = np.linalg.cholesky(K)  # f = ROOT z at the samples, with the norm |z|


@dataclass(eq=False, repr=False)
class Growing(Penalty):
    """One of a user: value only."""

    def value(self, t):
        return float(np.cosh(t))


@parametrize_with_checks([KernelMachine(penalty=NormBall(20.0))])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def brute(r, alpha, value):
    """min over z and b."""

    def objective(v):
        return value(ROOT @ v[:-1] + v[-1]) + alpha * r(np.linalg.norm(v[:-1]))

    starts = [RNG.standard_normal(26) for _ in range(3)]
    options = {"maxiter": 5000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-10}
    return min(minimize(objective, s, method="L-BFGS-B", options=options).fun for s in starts)


@pytest.mark.parametrize("penalty", [NormPower(1.0), NormPower(1.5), NormPower(4.0), Growing()])
@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_the_squared_loss_by_brute_force(penalty, alpha):
    model = KernelMachine(Gaussian(1.0), alpha=alpha, penalty=penalty, tol=1e-8).fit(X, Y)
    stats = model.solution_.stats
    theirs = brute(penalty.value, alpha, lambda f: np.sum((Y - f) ** 2) / 2)
    assert stats["objective"] == pytest.approx(theirs, rel=1e-5)
    assert stats["gap"] <= 1e-6 * stats["objective"]
    norm = model.rkhs_function_.norm()
    loss = np.sum((Y - model.predict(X)) ** 2) / 2
    assert stats["norm"] == pytest.approx(norm)
    assert stats["objective"] == pytest.approx(loss + alpha * penalty.value(norm))


@pytest.mark.parametrize("loss", ["squared", "absolute", "logistic", "hinge"])
def test_balls(loss):
    """On the sphere where the constraint holds f back; the multiplier makes f the usual one."""
    y = Y > 0 if loss in ("logistic", "hinge") else Y
    model = KernelMachine(Gaussian(1.0), loss, penalty=NormBall(0.7), tol=1e-7).fit(X, y)
    stats = model.solution_.stats
    assert 0.699 < stats["norm"] <= 0.7 * (1 + 1e-9)
    assert stats["gap"] <= 1e-4 * stats["objective"]
    usual = KernelMachine(Gaussian(1.0), loss, alpha=stats["multiplier"], tol=1e-6).fit(X, y)
    np.testing.assert_allclose(model.rkhs_function_(X), usual.rkhs_function_(X), atol=5e-3)


def test_a_ball_that_holds_nothing_back():
    """f interpolates a smooth function of a norm below the radius."""
    f = Gaussian(1.0).at(X[0])
    model = KernelMachine(Gaussian(1.0), penalty=NormBall(50.0)).fit(X, f(X))
    np.testing.assert_allclose(model.predict(X), f(X), atol=1e-3)
    assert model.solution_.converged


def test_the_norm_alone_can_be_zero():
    model = KernelMachine(Gaussian(1.0), alpha=100.0, penalty=NormPower(1.0)).fit(X, Y)
    assert model.rkhs_function_.norm() < 1e-6
    np.testing.assert_allclose(model.predict(X), Y.mean(), atol=1e-4)


def test_weights_classes_and_files(tmp_path):
    w = RNG.integers(1, 4, 25)
    model = KernelMachine(Gaussian(1.0), penalty=NormPower(1.5), tol=1e-8)
    repeated = np.repeat(X, w, axis=0), np.repeat(Y, w)
    found = model.fit(X, Y, w).predict(X)
    np.testing.assert_allclose(found, model.fit(*repeated).predict(X), atol=1e-5)
    labels = np.digitize(Y, [-0.5, 0.5])
    for loss in ("hinge", "multinomial"):
        model = KernelMachine(Gaussian(1.0), loss, penalty=NormBall(3.0)).fit(X, labels)
        assert model.score(X, labels) > 0.75
        save(model, tmp_path / loss)
        np.testing.assert_array_equal(load(tmp_path / loss).predict(X), model.predict(X))


def test_refusals():
    with pytest.raises(ValueError, match=r"penalty must be None"):
        KernelMachine(penalty=lambda t: t).fit(X, Y)
    with pytest.raises(ValueError, match="squared norm"):
        KernelMachine(penalty=NormBall(1.0)).fit(X, Y).leave_one_out()
    with pytest.raises(ValueError, match="streamed"):
        KernelMachine(penalty=NormBall(1.0), plan=Plan(rank=5, storage="streamed")).fit(X, Y)


def test_hard_problems_end_the_search(rng, monkeypatch):
    X, y = rng.normal(size=(30, 2)) + 1e7, rng.normal(size=30)
    asked, solve = [], penalised.solve_representer

    def counted(*args, **options):
        asked.append(args[3])
        return solve(*args, **options)

    monkeypatch.setattr(penalised, "solve_representer", counted)
    with pytest.warns(ConvergenceWarning, match="the multiplier of the penalty was not found"):
        model = KernelMachine("linear", penalty=NormBall(1.0)).fit(X, y)
    assert len(asked) < 20
    assert np.all(np.isfinite(model.predict(X)))
    assert model.solution_.stats["norm"] <= 1 + 1e-9


def test_a_problem_that_overflows_ends_the_search(rng, monkeypatch):
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    solve, asked = penalised.solve_representer, []

    def overflowing(*args, **options):
        asked.append(args[3])
        if len(set(asked)) > 2:
            raise DomainError("the kernel has values that are not finite")
        return solve(*args, **options)

    monkeypatch.setattr(penalised, "solve_representer", overflowing)
    with pytest.warns(ConvergenceWarning, match="the multiplier of the penalty was not found"):
        model = KernelMachine("linear", penalty=NormBall(1e-3)).fit(X, y)
    assert len(set(asked)) == 3
    assert model.solution_.stats["norm"] <= 1e-3 * (1 + 1e-9)
