"""Dual coordinate descent against the decomposition, LIBLINEAR, and gaps by brute force."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC, LinearSVR

from mercer.gram.rows import FeatureRowGram
from mercer.solvers import coordinate
from mercer.solvers.box import BoxProblem, best_multiplier, bounds_of_optimum
from mercer.solvers.coordinate import balanced, solve_coordinate
from mercer.solvers.smo import solve_box
from mercer.solvers.watch import Watch


@pytest.fixture
def problems(rng):
    X = rng.standard_normal((400, 5))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(400) > 0.3, 1.0, -1.0)
    C = rng.uniform(0.5, 1, 400)
    zero = np.zeros(400)
    return X, {
        "classification": BoxProblem(y, np.where(y > 0, 0, -C), np.where(y > 0, C, 0), zero),
        "regression": BoxProblem(X @ np.ones(5) + 3, -C, C, zero, epsilon=0.3),
    }


def primal(X, problem, w, b):
    """The regularised loss itself: hinge or tube, sample by sample."""
    f = X @ w + b
    if problem.epsilon:
        loss = np.maximum(np.abs(problem.target - f) - problem.epsilon, 0)
    else:
        loss = np.maximum(1 - problem.target * f, 0)
    return w @ w / 2 + np.maximum(problem.upper, -problem.lower) @ loss


def dual(X, problem, beta):
    w = X.T @ beta
    return problem.target @ beta - problem.epsilon * np.abs(beta).sum() - w @ w / 2


def classes(y, C):
    C = np.broadcast_to(C, y.shape).astype(float)
    return BoxProblem(y, np.where(y > 0, 0, -C), np.where(y > 0, C, 0), np.zeros(len(y)))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, np.float32])
@pytest.mark.parametrize("name", ["classification", "regression"])
def test_optimal_feasible_and_certified(problems, name, form):
    X, named = problems
    problem, phi = named[name], form(X)
    found = solve_coordinate(phi, problem, tol=1e-7)
    assert found.converged
    assert found.message == "optimal"
    assert found.beta.sum() == pytest.approx(0, abs=1e-9)
    assert np.all((found.beta >= problem.lower) & (found.beta <= problem.upper))
    exact = solve_box(FeatureRowGram(X), problem, tol=1e-9)
    best = dual(X, problem, exact.beta)
    assert dual(X, problem, found.beta) == pytest.approx(best, rel=1e-6)
    # the gap is that of the machine itself
    F = phi.astype(np.float64)
    w = F.T @ found.beta
    value = primal(F, problem, w, -found.multiplier)
    assert value == pytest.approx(best, rel=1e-6)
    gap = value - dual(F, problem, found.beta)
    assert found.stats["gap"] == pytest.approx(gap, abs=1e-10 * best)
    ends = bounds_of_optimum(problem, found, [found.multiplier])
    assert ends == pytest.approx((value, value - gap))
    assert np.allclose(found.gradient, F @ w - problem.target)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_objective_of_liblinear(rng, loss):
    X = sp.random(500, 80, 0.1, format="csr", random_state=0)
    y = np.where(X @ rng.standard_normal(80) + 0.2 * rng.standard_normal(500) > 0, 1.0, -1.0)
    C = 2.0
    theirs = LinearSVC(C=C, loss=loss, fit_intercept=False, tol=1e-9, max_iter=10**5).fit(X, y)
    ridge = None
    problem = classes(y, C)
    if loss == "squared_hinge":
        problem, ridge = classes(y, np.inf), np.full(500, 1 / (2 * C))
    found = solve_coordinate(X, problem, ridge=ridge, intercept=False, tol=1e-8)

    def value(w):
        short = np.maximum(1 - y * (X @ w), 0)
        return w @ w / 2 + C * np.sum(short if loss == "hinge" else short**2)

    assert found.converged
    assert found.multiplier == 0
    ours = value(X.T @ found.beta)
    assert ours == pytest.approx(value(theirs.coef_[0]), rel=1e-6)
    assert found.stats["gap"] <= 1e-8 * ours
    if ridge is not None:
        assert np.allclose(found.gradient, X @ (X.T @ found.beta) + ridge * found.beta - y)


def test_objective_of_linear_svr(rng):
    X = rng.standard_normal((300, 6))
    t = X @ np.arange(6) + rng.standard_normal(300)
    theirs = LinearSVR(
        C=0.3, epsilon=0.5, fit_intercept=False, tol=1e-10, max_iter=10**6, random_state=0
    ).fit(X, t)
    bound = np.full(300, 0.3)
    problem = BoxProblem(t, -bound, bound, np.zeros(300), epsilon=0.5)
    found = solve_coordinate(X, problem, intercept=False, tol=1e-8)
    value = primal(X, problem, X.T @ found.beta, 0.0)
    assert value == pytest.approx(primal(X, problem, theirs.coef_, 0.0), rel=1e-6)


def test_sparse_is_dense_and_single_is_double(problems):
    X, named = problems
    X = np.where(np.abs(X) < 1, 0.0, X)
    for problem in named.values():
        dense = solve_coordinate(X, problem, tol=1e-9)
        sparse = solve_coordinate(sp.csr_matrix(X), problem, tol=1e-9)
        single = solve_coordinate(X.astype(np.float32), problem, tol=1e-6)
        assert np.allclose(X.T @ sparse.beta, X.T @ dense.beta, atol=1e-4)
        assert np.allclose(X.T @ single.beta, X.T @ dense.beta, atol=1e-2)
        assert dual(X, problem, single.beta) == pytest.approx(
            dual(X, problem, dense.beta), rel=2e-6
        )


def test_weights_are_repetitions(rng):
    X = rng.standard_normal((120, 4))
    y = np.where(X[:, 0] + rng.standard_normal(120) > 0, 1.0, -1.0)
    counts = rng.integers(1, 4, 120)
    weighted = solve_coordinate(X, classes(y, 0.5 * counts), tol=1e-9)
    twice = np.repeat(np.arange(120), counts)
    repeated = solve_coordinate(X[twice], classes(y[twice], 0.5), tol=1e-9)
    assert np.allclose(X.T @ weighted.beta, X[twice].T @ repeated.beta, atol=1e-4)
    assert weighted.multiplier == pytest.approx(repeated.multiplier, abs=1e-3)


def test_threads_and_seeds(problems):
    """The same answer with any number of threads, and an equally good one from any seed."""
    X, named = problems
    problem = named["classification"]
    one, two = (solve_coordinate(X, problem, workers=k) for k in (1, 2))
    assert np.array_equal(one.beta, two.beta)
    other = solve_coordinate(X, problem, tol=1e-8, seed=5)
    same = solve_coordinate(X, problem, tol=1e-8)
    assert dual(X, problem, other.beta) == pytest.approx(dual(X, problem, same.beta), rel=1e-7)


@pytest.mark.parametrize("C", [1e-6, 1e6])
def test_extreme_penalties_end(rng, C):
    X = rng.standard_normal((200, 3))
    y = np.where(X[:, 0] + rng.standard_normal(200) > 0, 1.0, -1.0)
    problem = classes(y, C)
    found = solve_coordinate(X, problem, max_iter=200 * 300)
    ends = bounds_of_optimum(problem, found, [found.multiplier])
    assert ends[0] - ends[1] == pytest.approx(found.stats["gap"], rel=1e-6, abs=1e-9 * C)
    assert found.converged == (found.stats["gap"] <= 1e-3 * ends[0])
    if not found.converged:
        assert "raise tol or max_iter" in found.message
    assert found.n_iter <= 201 * 300


def test_separable_classes_and_large_C(rng):
    X = np.vstack([rng.normal(-3, 1, (50, 2)), rng.normal(3, 1, (50, 2))])
    y = np.repeat([-1.0, 1.0], 50)
    found = solve_coordinate(X, classes(y, 1e6), tol=1e-4)
    w = X.T @ found.beta
    assert found.converged
    assert np.min(y * (X @ w - found.multiplier)) > 0.99


@pytest.mark.parametrize(
    "name", ["constant", "zero", "duplicates", "outlier", "sentinel", "offset", "units"]
)
def test_difficult_features(rng, name):
    X = rng.standard_normal((300, 3))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(300) > 0, 1.0, -1.0)
    X = {
        "constant": np.ones_like(X),
        "zero": np.zeros_like(X),
        "duplicates": X[np.arange(300) % 7],
        "outlier": np.where(np.arange(300)[:, None] == 5, 1e8, X),
        "sentinel": np.where(rng.random((300, 3)) < 0.02, -99999.0, X),
        "offset": X + 1e4,
        "units": X * [1e-5, 1.0, 1e5],
    }[name]
    problem = classes(y, 1.0)
    found = solve_coordinate(X, problem, max_iter=300 * 200)
    ends = bounds_of_optimum(problem, found, [found.multiplier])
    assert ends[0] - ends[1] == pytest.approx(found.stats["gap"], rel=1e-4, abs=1e-6 * ends[0])
    # hardly worse than the best constant
    assert ends[0] <= 2 * min(np.sum(y > 0), np.sum(y < 0)) * 1.001
    assert found.converged or "duality gap" in found.message


def test_what_is_not_finite_is_refused(rng):
    y = np.where(rng.random(50) < 0.5, 1.0, -1.0)
    for size in (1e160, np.inf, np.nan):
        with pytest.raises(ValueError, match="scale the data"):
            solve_coordinate(size * rng.standard_normal((50, 2)), classes(y, 1.0))


def test_few_samples():
    one = solve_coordinate(np.ones((1, 2)), classes(np.ones(1), 1.0))
    assert one.converged
    assert one.beta[0] == 0
    assert one.stats["gap"] == 0
    two = solve_coordinate(
        np.array([[1.0], [-1.0]]), classes(np.array([1.0, -1.0]), 10.0), tol=1e-9
    )
    assert two.beta == pytest.approx([0.5, -0.5])


def test_watched_and_stopped(problems):
    X, named = problems
    problem = named["classification"]
    errors = []
    watch = Watch(callback=lambda step: errors.append(step.error) or len(errors) >= 3)
    found = solve_coordinate(X, problem, tol=1e-9, watch=watch)
    assert not found.converged
    assert "callback" in found.message
    assert len(errors) == 3
    assert found.stats["sweeps"] == 3
    ends = bounds_of_optimum(problem, found, [found.multiplier])
    assert ends[0] - ends[1] == pytest.approx(found.stats["gap"])


def test_goes_on_from_a_checkpoint(problems, tmp_path):
    X, named = problems
    problem = named["classification"]
    file = tmp_path / "state.npz"

    def interrupt(step):
        if step.n_iter == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve_coordinate(X, problem, tol=1e-9, watch=Watch(interrupt, checkpoint=file))
    seen = []
    watch = Watch(lambda step: seen.append((step.n_iter, step.error)) and None, checkpoint=file)
    found = solve_coordinate(X, problem, tol=1e-9, watch=watch)
    cold = []
    solve_coordinate(X, problem, tol=1e-9, watch=Watch(lambda s: cold.append(s.error) and None))
    assert found.converged
    assert not file.exists()
    assert seen[0][0] == 7
    assert seen[0][1] < cold[0] / 2


def test_a_start_is_used(problems):
    X, named = problems
    problem = named["regression"]
    first = solve_coordinate(X, problem, tol=1e-6)
    problem.start = first.beta
    again = solve_coordinate(X, problem, tol=1e-5)
    assert again.stats["sweeps"] < first.stats["sweeps"]


@pytest.mark.parametrize("intercept", [True, False])
def test_variables_at_rest_are_visited_less_often(rng, monkeypatch, intercept):
    """With a large C and few support vectors, at the same certified gap."""
    X = rng.standard_normal((3000, 30))
    y = np.where(X[:, 0] + 0.3 * rng.standard_normal(3000) > 0.5, 1.0, -1.0)
    limit = 30.0 * y
    problem = BoxProblem(y, np.minimum(limit, 0.0), np.maximum(limit, 0.0), np.zeros(3000))
    how = {"intercept": intercept, "tol": 1e-2}
    found = solve_coordinate(X, problem, **how)
    monkeypatch.setattr(coordinate, "_MOST_INNER", 0)
    everywhere = solve_coordinate(X, problem, **how)
    assert found.converged
    assert everywhere.converged
    assert found.n_iter < 0.75 * everywhere.n_iter


@pytest.mark.parametrize("epsilon", [0.0, 0.4])
@pytest.mark.parametrize("soft", [False, True])
def test_best_multiplier_is_the_best(rng, epsilon, soft):
    g = rng.standard_normal(60)
    y = np.where(rng.random(60) < 0.5, 1.0, -1.0)
    C = rng.uniform(0.1, 1, 60)
    problem = BoxProblem(y, np.minimum(y, 0) * C, np.maximum(y, 0) * C, np.zeros(60), epsilon)
    ridge = rng.uniform(0.5, 2, 60) if soft else np.zeros(60)

    def value(m):
        grid = np.linspace(problem.lower, problem.upper, 401)
        terms = (m - g) * grid - epsilon * np.abs(grid) - ridge * grid**2 / 2
        return terms.max(axis=0).sum()

    m = best_multiplier(problem, g, ridge)
    near = min(value(t) for t in np.linspace(g.min() - 1, g.max() + 1, 801))
    assert value(m) <= near + 1e-6


def test_balanced_within_bounds(rng):
    lower, upper = -rng.uniform(0, 1, 30), rng.uniform(0, 1, 30)
    beta = np.clip(rng.standard_normal(30), lower, upper)
    for start in (beta, np.where(beta > 0, beta, 0.0)):
        found = balanced(start, lower, upper)
        assert abs(found.sum()) < 1e-12
        assert np.all((found >= lower) & (found <= upper))
    half = balanced(np.array([2.0, 0.0]), np.array([0.0, -np.inf]), np.array([np.inf, 0.0]))
    assert half.sum() == 0
    assert np.isfinite(half).all()


def test_nothing_is_said_aloud(problems):
    X, named = problems
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solve_coordinate(X, named["classification"])
