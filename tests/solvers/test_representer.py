from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer import Gaussian, Linear, Plan
from mercer.exceptions import ConvergenceWarning
from mercer.losses import (
    LOSSES,
    Absolute,
    Expectile,
    Huber,
    Logistic,
    Loss,
    Quantile,
    SmoothedHinge,
    Squared,
)
from mercer.solvers import newton
from mercer.solvers.representer import choose_solver, solve_representer, spread_of
from mercer.solvers.representer_dual import _blocks

N = 40
EVERY = {**{name: kind() for name, kind in LOSSES.items()}, "q80": Quantile(0.8),
         "asymmetric": Expectile(0.8), "robust": Huber(0.2)}  # fmt: skip
CASES = [
    (name, solver)
    for name, loss in EVERY.items()
    for solver in ("newton", "dual", "admm")
    if (solver != "newton" or loss.smooth)
    and (solver != "dual" or name not in ("logistic", "poisson", "multinomial", "asymmetric"))
    and (solver != "admm" or name != "multinomial")
]


@pytest.fixture
def data(rng):
    X = rng.standard_normal((N, 2))
    truth = np.sin(2 * X[:, 0])
    y = {
        "real": 3 + truth + 0.3 * rng.standard_normal(N),
        "sign": np.where(truth + 0.5 * rng.standard_normal(N) > 0, 1.0, -1.0),
        "count": rng.poisson(np.exp(1 + truth)).astype(float),
        "classes": np.digitize(truth + 0.3 * rng.standard_normal(N), [-0.5, 0.5]),
    }
    weights = rng.uniform(0.2, 2, N)
    weights[:2] = 0
    return X, y, weights


def objective(K, y, loss, alpha, weights, coef, b):
    F = K @ coef + b
    F = F[:, 0] if loss.targets != "classes" else F
    return weights @ loss.value(y, F) + alpha * np.sum(coef * (K @ coef)) / 2


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("name", "solver"), CASES)
def test_optimality_conditions_hold(data, name, solver, intercept):
    X, targets, w = data
    loss, alpha, tol = EVERY[name], 0.3, 1e-7
    y, K = targets[loss.targets], Gaussian()(X)
    found = solve_representer(
        Gaussian().gram(X), y, loss, alpha, w, intercept=intercept, solver=solver, tol=tol,
        max_iter=100_000,
    )  # fmt: skip
    assert found.converged, found.message
    F = K @ found.coef + found.intercept
    Y = y if loss.targets == "classes" else y[:, None]
    low, _ = loss.subgradient_range(Y, F - 1e-6)
    _, high = loss.subgradient_range(Y, F + 1e-6)
    u = -alpha * found.coef
    scale = np.abs(u).max()
    assert np.all(u >= w[:, None] * low - 1e-5 * scale)
    assert np.all(u <= w[:, None] * high + 1e-5 * scale)
    assert np.all(found.coef[w == 0] == 0)
    if intercept:
        assert np.all(np.abs(found.coef.sum(axis=0)) < 1e-5 * np.abs(found.coef).sum())
    else:
        np.testing.assert_array_equal(found.intercept, 0)
    value = objective(K, y, loss, alpha, w, found.coef, found.intercept)
    assert found.stats["objective"] == pytest.approx(value)
    if solver != "admm":
        assert abs(found.stats["gap"]) < 1e-5 * max(1, abs(value))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", [n for n, l in EVERY.items() if l.smooth])
def test_smooth_optimum_equals_a_general_optimiser(data, name, intercept):
    X, targets, w = data
    loss, alpha = EVERY[name], 0.3
    y, K = targets[loss.targets], Gaussian()(X)
    t = 3 if loss.targets == "classes" else 1
    s, U = np.linalg.eigh(K)
    phi = U * np.sqrt(np.maximum(s, 0))  # K = phi phi', and ||f|| is the length of its weights

    def value(v):
        a, b = v[: N * t].reshape(N, t), v[N * t :] * intercept
        F = phi @ a + b
        G = w[:, None] * loss.slope(y if t > 1 else y[:, None], F)
        total = w @ loss.value(y, F if t > 1 else F[:, 0]) + alpha * np.sum(a * a) / 2
        return total, np.append(phi.T @ G + alpha * a, G.sum(axis=0) * intercept)

    best = minimize(
        value, np.zeros((N + 1) * t), jac=True, method="L-BFGS-B",
        options={"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-9},
    )  # fmt: skip
    found = solve_representer(Gaussian().gram(X), y, loss, alpha, w, intercept=intercept)
    assert found.stats["objective"] == pytest.approx(best.fun, rel=1e-6)
    assert found.stats["objective"] <= best.fun + 1e-7 * abs(best.fun)


PIECES = {  # slopes and offsets of the straight lines whose maximum is the loss, in r = f - y
    "absolute": [(1, 0), (-1, 0)],
    "quantile": [(0.5, 0), (-0.5, 0)],
    "q80": [(0.2, 0), (-0.8, 0)],
    "epsilon_insensitive": [(0, 0), (1, -0.1), (-1, -0.1)],
    "hinge": [(0, 0), (-1, 0)],  # in y (f - y) = y f - 1
}


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", PIECES)
def test_piecewise_linear_optimum_equals_a_quadratic_programme(data, name, intercept):
    X, targets, w = data
    m, alpha, loss = 18, 0.3, EVERY[name]
    X, w, y = X[:m], w[:m], targets[loss.targets][:m]
    K = Gaussian()(X)
    sign = y if name == "hinge" else np.ones(m)

    def split(v):
        return v[:m], v[m], v[m + 1 :]

    def value(v):
        c, _, cost = split(v)
        return w @ cost + alpha * c @ K @ c / 2

    def slope(v):
        return np.concatenate([alpha * K @ split(v)[0], [0.0], w])

    above = [
        {
            "type": "ineq",
            "fun": lambda v, s=s, o=o: (
                split(v)[2] - s * sign * (K @ split(v)[0] + intercept * v[m] - y) - o
            ),
            "jac": lambda v, s=s: np.hstack(
                [-s * sign[:, None] * K, -s * intercept * sign[:, None], np.eye(m)]
            ),
        }
        for s, o in PIECES[name]
    ]
    start = np.concatenate([np.zeros(m + 1), np.full(m, 10.0)])
    best = minimize(value, start, jac=slope, constraints=above, method="SLSQP",
                    options={"maxiter": 500, "ftol": 1e-12})  # fmt: skip
    for solver in ("dual", "admm"):
        found = solve_representer(
            Gaussian().gram(X), y, loss, alpha, w, intercept=intercept, solver=solver
        )
        assert found.stats["objective"] == pytest.approx(best.fun, rel=1e-5)


@pytest.mark.parametrize("storage", ["dense", "tiled", "lowrank"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", ["squared", "robust", "logistic", "absolute", "hinge",
                                  "multinomial", "squared_hinge"])  # fmt: skip
def test_every_operator_gives_the_same(data, name, storage, intercept):
    X, targets, w = data
    loss = EVERY[name]
    y, kernel = targets[loss.targets], Linear() + 0.5
    gram = Plan(storage=storage).gram(kernel, X)
    found = solve_representer(gram, y, loss, 0.3, w, intercept=intercept, tol=1e-8)
    plain = solve_representer(
        Plan(storage="dense").gram(kernel, X), y, loss, 0.3, w, intercept=intercept, tol=1e-8
    )
    assert found.converged
    F = (gram @ found.coef) + found.intercept
    expected = (gram @ plain.coef) + plain.intercept
    np.testing.assert_allclose(F, expected, atol=1e-4)
    if storage == "tiled" and name == "absolute":
        with pytest.raises(ValueError, match="needs K in memory"):
            solve_representer(gram, y, loss, 0.3, solver="admm")


@dataclass(eq=False, repr=False)
class LogCosh(Loss):
    def value(self, y, f):
        r = np.abs(f - y)
        return r + np.log1p(np.exp(-2 * r))


@dataclass(eq=False, repr=False)
class SmoothLogCosh(LogCosh):
    smooth = True


@dataclass(eq=False, repr=False)
class Skewed(Loss):
    def value(self, y, f):
        return np.where(f > y, np.exp(f - y) - 1, 0.5 * (y - f))


def test_losses_of_the_user(data):
    X, targets, w = data
    gram, y = Gaussian().gram(X), targets["real"]
    assert choose_solver(LogCosh()) == "admm"
    first = solve_representer(gram, y, LogCosh(), 0.3, w, tol=1e-5)
    second = solve_representer(gram, y, SmoothLogCosh(), 0.3, w, tol=1e-5)
    assert first.converged
    assert second.converged
    assert second.stats["method"] == "newton"
    assert "gap" not in first.stats
    assert first.stats["objective"] == pytest.approx(second.stats["objective"], rel=1e-6)
    kinked = solve_representer(gram, y, Skewed(), 0.3, w, tol=1e-4)
    assert kinked.converged
    near = np.random.default_rng(1)
    for _ in range(20):  # convex, so no better point nearby is none at all
        coef = kinked.coef + 1e-2 * near.standard_normal((N, 1))
        b = kinked.intercept + 1e-2 * near.standard_normal(1)
        other = objective(Gaussian()(X), y, Skewed(), 0.3, w, coef, b)
        assert other > kinked.stats["objective"] - 1e-6


def test_ridge_is_one_newton_step(data):
    X, targets, _ = data
    found = solve_representer(Gaussian().gram(X), targets["real"], Squared(), 0.3, intercept=False)
    assert found.n_iter == 1
    expected = np.linalg.solve(Gaussian()(X) + 0.3 * np.eye(N), targets["real"])
    np.testing.assert_allclose(found.coef[:, 0], expected, atol=1e-10)


@pytest.mark.parametrize("name", ["logistic", "robust", "multinomial", "squared_hinge"])
def test_a_first_guess_from_a_quarter_and_kept_factors_change_nothing(rng, monkeypatch, name):
    monkeypatch.setattr(newton, "_LARGE", 10_000)
    X, loss = rng.standard_normal((400, 2)), EVERY[name]
    f = np.sin(2 * X[:, 0]) + 0.5 * rng.standard_normal(400)
    y = {"real": f, "sign": np.sign(f), "classes": np.digitize(f, [-0.5, 0.5])}[loss.targets]
    plain = solve_representer(Gaussian().gram(X), y, loss, 0.3, solver="newton", tol=1e-9)
    factors = []
    build = newton._by_cholesky
    monkeypatch.setattr(
        newton, "_by_cholesky", lambda K, *a: factors.append(len(K)) or build(K, *a)
    )
    monkeypatch.setattr(newton, "_LARGE", 100)
    guessed = solve_representer(Gaussian().gram(X), y, loss, 0.3, solver="newton", tol=1e-9)
    assert guessed.converged
    np.testing.assert_allclose(guessed.coef, plain.coef, atol=1e-6)
    assert 25 in factors  # a quarter of a quarter
    if name == "logistic":
        assert factors.count(400) < guessed.n_iter


def test_hard_starts(rng):
    """Far from the optimum, where nothing curves, and with almost no penalty."""
    x = np.linspace(0, 1, 30)
    y = np.where(x < 0.5, -100.0, 100.0)
    for loss in (Huber(0.01), Huber(1.0)):
        found = solve_representer(Gaussian(0.2).gram(x), y, loss, 1e-3, tol=1e-8)
        assert found.converged, found.message
    labels = np.sign(y)
    found = solve_representer(Gaussian(0.2).gram(x), labels, Logistic(), 1e-8)
    assert found.converged
    counts = np.exp(10 * x).round()
    found = solve_representer(
        Gaussian(0.2).gram(x), counts, LOSSES["poisson"](), 1e-2, intercept=False
    )
    assert found.converged


def test_a_loss_that_is_almost_not_smooth_gets_the_dual(rng):
    X = rng.standard_normal((300, 3))
    y = np.sign(X[:, 0])
    found = solve_representer(Gaussian().gram(X), y, SmoothedHinge(1e-3), 1e-5)
    assert found.converged
    assert found.stats["method"] == "dual"


def test_limits_and_misuse(data):
    X, targets, _ = data
    gram, y = Gaussian().gram(X), targets["real"]
    found = solve_representer(gram, y, Absolute(), 0.01, solver="admm", max_iter=3)
    assert not found.converged
    with pytest.warns(ConvergenceWarning, match="raise alpha, tol or max_iter"):
        found.warn()
    with pytest.raises(ValueError, match='solver="dual" cannot be used with Logistic'):
        solve_representer(gram, targets["sign"], Logistic(), 1.0, solver="dual")
    with pytest.raises(ValueError, match='solver="admm" cannot be used with Multinomial'):
        solve_representer(gram, targets["classes"], EVERY["multinomial"], 1.0, solver="admm")


def test_blocks_of_samples_that_the_kernel_does_not_see():
    """Without an intercept two of them stand beside the others, sometimes alone in a tile."""
    X, ridge = np.random.default_rng(0).standard_normal((6, 2)), np.arange(6.0)
    wanted = np.zeros((8, 8))
    wanted[:6, :6] = Gaussian()(X) + np.diag(ridge)
    for storage in ("tiled", "dense"):
        blocks = _blocks(Gaussian().gram(X, Plan(storage=storage)), ridge, 2)
        for rows in (np.arange(8), np.arange(3), np.array([6, 7])):
            for cols in (np.arange(8), np.array([5, 6]), np.array([6, 7])):
                found = blocks.block(rows, cols)
                np.testing.assert_allclose(found, wanted[np.ix_(rows, cols)], atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("alpha", [1e-6, 1e-3, 1.0])
def test_smooth_losses_on_few_features_take_newton_steps_at_any_alpha(rng, alpha, dtype):
    """Against reweighted least squares on the weights; dual steps would be millions."""
    n = 3000
    X = rng.standard_normal((n, 3)).astype(dtype)
    y = X @ np.array([1.0, -2.0, 0.5]) + 0.1 * rng.standard_t(2, n)
    rows, w = np.column_stack([X.astype(float), np.ones(n)]), np.zeros(4)
    penalty = np.diag([alpha, alpha, alpha, 0.0])
    for _ in range(200):
        h = 1 / np.maximum(np.abs(y - rows @ w), 1)
        w = np.linalg.solve(rows.T @ (h[:, None] * rows) + penalty, rows.T @ (h * y))
    found = solve_representer(Linear().gram(X), y, Huber(1.0), alpha)
    assert found.converged
    assert found.stats["method"] == "newton"
    f = X.astype(float) @ (X.T.astype(float) @ found.coef) + found.intercept
    assert np.allclose(f[:, 0], rows @ w, atol=1e-5)


@pytest.mark.parametrize("far", [1e4, 1e9, 1e12])
@pytest.mark.parametrize(
    ("loss", "solver"),
    [(Huber(0.3), "dual"), (Absolute(), "dual"), (Absolute(), "admm"), (Quantile(0.3), "dual")],
    ids=lambda v: v if isinstance(v, str) else type(v).__name__,
)
def test_one_target_far_off_costs_no_accuracy(loss, solver, far):
    """Beyond the others its slope is the same everywhere, and so is what is fitted."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=40)
    K = Gaussian(1.3).gram(X)
    fitted = []
    for value in (100.0, far):
        y[7] = value
        found = solve_representer(K, y, loss, 1.0, solver=solver, tol=1e-5)
        assert found.converged
        fitted.append(K @ found.coef + found.intercept)
    np.testing.assert_allclose(fitted[1], fitted[0], atol=1e-3)


def test_targets_without_weight_do_not_matter():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(42, 2)), rng.normal(size=42)
    y[40:] = 1e12, -1e12
    w = np.where(np.arange(42) < 40, 1.0, 0.0)
    K = Gaussian(1.3).gram(X)
    found = solve_representer(K, y, Absolute(), 1.0, w, tol=1e-6)
    alone = solve_representer(Gaussian(1.3).gram(X[:40]), y[:40], Absolute(), 1.0, tol=1e-6)
    np.testing.assert_allclose(found.coef[:40], alone.coef, atol=1e-4)


@pytest.mark.parametrize(
    ("y", "spread"),
    [
        ([1.0, 2, 3, 4, 5], 1.0),
        ([0.0, 0, 0, 0, 0, 2, -4, 1e9], 4.0),  # most are at the median
        ([7.0, 7, 7], 1.0),
        ([0.3, 0.1 + 0.2, 0.3, 0.3], 1.0),  # but for rounding
        ([-1e308, 0.0, 1e308], 1e308),
    ],
)
def test_how_far_targets_are_apart(y, spread):
    assert spread_of(np.array(y)) == pytest.approx(spread)
