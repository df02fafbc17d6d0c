import numpy as np
import pytest
from scipy.optimize import minimize

from mercer import Gaussian
from mercer.gram.row_loops import add_rows, scatter
from mercer.gram.rows import RowGram
from mercer.solvers import smo, smo_state, working_set
from mercer.solvers.smo import BoxProblem, solve_box
from mercer.solvers.smo_loops import BLOCKED, compact, mirror, refill, slopes


def blocks(K):
    return RowGram(lambda rows, cols: K[rows][:, cols].copy(), np.diag(K))


def reference(K, problem):
    """The same programme by a general-purpose optimiser, beta = up - down."""
    n = len(problem)
    groups = np.zeros(n, int) if problem.groups is None else problem.groups

    def value(v):
        b = v[:n] - v[n:]
        return b @ K @ b / 2 - problem.target @ b + problem.epsilon * v.sum()

    def slope(v):
        g = K @ (v[:n] - v[n:]) - problem.target
        return np.concatenate([g + problem.epsilon, -g + problem.epsilon])

    sums = [
        {
            "type": "eq",
            "fun": lambda v, g=g: np.sum((v[:n] - v[n:] - problem.start)[groups == g]),
            "jac": lambda v, g=g: np.concatenate([groups == g, -(groups == g).astype(float)]),
        }
        for g in np.unique(groups)
    ]
    bounds = [(0, max(u, 0)) for u in problem.upper] + [(0, max(-l, 0)) for l in problem.lower]
    start = np.concatenate([np.maximum(problem.start, 0), np.maximum(-problem.start, 0)])
    found = minimize(
        value, start, jac=slope, bounds=bounds, constraints=sums, method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )  # fmt: skip
    return found.fun


def objective(K, problem, beta):
    return beta @ K @ beta / 2 - problem.target @ beta + problem.epsilon * np.abs(beta).sum()


def problems(rng, n=40):
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    zero, C = np.zeros(n), rng.uniform(0.5, 2, n)
    nu = np.zeros(n)
    nu[y > 0], nu[y < 0] = 0.2, -0.2 * (y > 0).sum() / (y < 0).sum()
    return {
        "classification": BoxProblem(y, np.where(y > 0, 0, -C), np.where(y > 0, C, 0), zero),
        "regression": BoxProblem(rng.standard_normal(n), -C, C, zero, epsilon=0.2),
        "novelty": BoxProblem(zero, zero, np.ones(n), np.full(n, 0.3)),
        "nu": BoxProblem(
            zero, np.where(y > 0, 0, -1), np.where(y > 0, 1, 0), nu, groups=(y > 0).astype(int)
        ),
    }


@pytest.mark.parametrize("name", ["classification", "regression", "novelty", "nu"])
@pytest.mark.parametrize("direct", [0, 1000])
@pytest.mark.parametrize("largest", [8, 512])
def test_optimum_equals_a_general_optimiser(rng, monkeypatch, name, direct, largest):
    monkeypatch.setattr(smo_state, "_DIRECT", direct)
    monkeypatch.setattr(working_set, "_LARGEST", largest)
    monkeypatch.setattr(working_set, "_FIRST", 4)
    K = Gaussian()(rng.standard_normal((40, 2)))
    problem = problems(rng)[name]
    solution = solve_box(blocks(K), problem, tol=1e-8)
    assert solution.converged
    assert objective(K, problem, solution.beta) <= reference(K, problem) + 1e-7
    assert np.all(solution.beta >= problem.lower)
    assert np.all(solution.beta <= problem.upper)
    groups = np.zeros(40, int) if problem.groups is None else problem.groups
    for g in np.unique(groups):
        change = (solution.beta - problem.start)[groups == g].sum()
        assert change == pytest.approx(0, abs=1e-10)
    np.testing.assert_allclose(solution.gradient, K @ solution.beta - problem.target, atol=1e-9)


def classification(rng, n, C):
    X = rng.standard_normal((n, 2))
    y = np.where(np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)
    K = Gaussian(0.7)(X)
    return K, BoxProblem(y, np.where(y > 0, 0, -C), np.where(y > 0, C, 0), np.zeros(n))


def rounded(K):
    """Rows in single precision, products in double."""
    return RowGram(
        lambda rows, cols: K[rows][:, cols].astype(np.float32),
        np.diag(K),
        product=lambda rows, cols, weights: K[np.ix_(rows, cols)] @ weights,
        dtype=np.float32,
    )


@pytest.mark.parametrize("direct", [0, 1000])
@pytest.mark.parametrize("form", [blocks, rounded])
def test_shrinking_and_a_small_cache_change_nothing(rng, monkeypatch, form, direct):
    monkeypatch.setattr(smo_state, "_DIRECT", direct)
    monkeypatch.setattr(working_set, "_LARGEST", 32)
    monkeypatch.setattr(working_set, "_FIRST", 8)
    monkeypatch.setattr(working_set, "SMALLEST", 16)
    monkeypatch.setattr(smo, "_SHRINK_EVERY", 3)
    K, problem = classification(rng, 600, 5.0)
    plain = solve_box(form(K), problem, tol=1e-4, shrinking=False)
    shrunk = solve_box(form(K), problem, tol=1e-4, cache=600 * form(K).dtype.itemsize * 50)
    assert shrunk.stats["shrunk"] > 0
    assert shrunk.stats["reconstructions"] > 0
    for solution in (plain, shrunk):
        assert solution.converged
        exact = K @ solution.beta - problem.target
        np.testing.assert_allclose(solution.gradient, exact, atol=1e-5)
    assert objective(K, problem, shrunk.beta) == pytest.approx(
        objective(K, problem, plain.beta), rel=1e-6
    )


@pytest.mark.parametrize("direct", [0, 1000])
def test_rounded_rows_do_not_spoil_the_certificate(rng, monkeypatch, direct):
    """At large C the gradient has to be computed anew, more than once, to reach tol at all."""
    monkeypatch.setattr(smo_state, "_DIRECT", direct)
    K, problem = classification(rng, 400, 1e5)
    solution = solve_box(rounded(K), problem, tol=1e-3)
    assert solution.converged
    assert solution.stats["reconstructions"] > 0
    g = K @ solution.beta - problem.target
    rise, fall = np.empty(400), np.empty(400)
    low, high = slopes(g, solution.beta, problem.lower, problem.upper, 0.0, rise, fall)
    assert high - low == pytest.approx(solution.violation, abs=2e-4)
    np.testing.assert_allclose(solution.gradient, g, atol=1e-4)


def test_many_steps_do_not_spoil_the_gradient(rng):
    """Two hulls near to each other, far from the origin: rounding of many steps adds up."""
    X = rng.uniform(-1, 1, (60, 2))
    X[:, 0] += np.sign(X[:, 0]) * 5e-4
    X[:4] = [[5e-4, -1], [5e-4, 1], [-5e-4, -1], [-5e-4, 1]]
    y = np.sign(X[:, 0])
    K = (X + 1e3) @ (X + 1e3).T
    start = np.where(y > 0, 1 / np.sum(y > 0), -1 / np.sum(y < 0))
    bounds = np.minimum(2 * y, 0), np.maximum(2 * y, 0)
    problem = BoxProblem(np.zeros(60), *bounds, start, groups=(y > 0).astype(int))
    found = solve_box(blocks(K), problem, tol=2e-10, max_iter=500_000)
    assert found.n_iter > 10**4
    np.testing.assert_allclose(found.gradient, K @ found.beta, atol=1e-8)


def test_warm_start_saves_steps(rng):
    K, problem = classification(rng, 300, 1.0)
    cold = solve_box(blocks(K), problem)
    problem.start = cold.beta
    warm = solve_box(blocks(K), problem)
    assert warm.n_iter < cold.n_iter / 10


def test_says_when_it_stops_early(rng):
    K, problem = classification(rng, 300, 100.0)
    solution = solve_box(blocks(K), problem, max_iter=20)
    assert not solution.converged
    assert solution.n_iter == 20
    assert "raise tol or max_iter" in solution.message
    assert solution.violation > 1e-3


def test_unreachable_accuracy_is_reported_not_looped_on(rng):
    K, problem = classification(rng, 200, 1.0)
    solution = solve_box(blocks(K), problem, tol=1e-300)  # it ends, with or without luck
    assert solution.converged == (solution.violation < 1e-300)
    assert solution.violation < 1e-9


def test_threads_do_not_change_the_answer(rng):
    K, problem = classification(rng, 300, 1.0)
    one = solve_box(blocks(K), problem, workers=1)
    two = solve_box(blocks(K), problem, workers=3)
    np.testing.assert_array_equal(one.beta, two.beta)


def test_slopes(rng):
    g, beta = rng.standard_normal(7), np.array([0.0, 1.0, 0.5, -1.0, -0.5, 0.0, 1.0])
    lower, upper = np.full(7, -1.0), np.ones(7)
    lower[5] = upper[5] = 0.0
    rise, fall = np.empty(7), np.empty(7)
    ends = slopes(g, beta, lower, upper, 0.1, rise, fall)
    sign = np.array([1, 0, 1, -1, -1, 0, 0]) * 0.1
    np.testing.assert_allclose(rise, np.where(beta < upper, g + sign, BLOCKED))
    sign = np.array([-1, 1, 1, 0, -1, 0, 1]) * 0.1
    np.testing.assert_allclose(fall, np.where(beta > lower, g + sign, -BLOCKED))
    assert ends == (rise.min(), fall.max())


def test_loops(rng):
    cache = rng.standard_normal((6, 20))
    slots, columns = np.array([4, 1]), np.array([0, 3, 19])
    part = cache[np.ix_(slots, columns)]
    target = np.zeros((6, 20))
    scatter(part, target, slots, 5)
    np.testing.assert_array_equal(target[slots, 5:8], part)
    g, weights = np.zeros(20), rng.standard_normal(6)
    add_rows(g, cache, np.arange(6), weights, 2, 17)
    np.testing.assert_allclose(g[2:17], weights @ cache[:, 2:17])
    assert not g[:2].any()
    memory, rows = cache.ravel().copy(), np.array([1, 4])
    compact(memory, rows, 20, columns)
    np.testing.assert_array_equal(memory[:6], cache[np.ix_(rows, columns)].ravel())


def test_only_new_members_are_filled_into_the_block(rng):
    K = rng.standard_normal((30, 30))
    K = K + K.T
    members = rng.permutation(30)[:20]
    block = np.full((20, 36), np.nan)
    block[:20, :20] = K[np.ix_(members, members)]
    new = np.array([3, 17, 4])
    members[new] = np.setdiff1d(np.arange(30), members)[:3]
    slots = rng.permutation(30)  # where the cache has which row
    cache = np.empty_like(K)
    cache[slots] = K
    refill(block, new, cache, slots[members[new]], members, np.argsort(members))
    rank = np.full(20, -1)
    rank[new] = np.arange(3)
    for r in range(3):
        mirror(block, new, rank, r, r + 1)
    np.testing.assert_array_equal(block[:, :20], K[np.ix_(members, members)])


def test_of_two_new_members_one_row_counts(rng):
    """Whoever mirrors first, the block is symmetric and the same."""
    rows, new = rng.standard_normal((6, 6)), np.array([4, 1, 3])
    rank = np.full(6, -1)
    rank[new] = np.arange(3)
    found = []
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        block = rows.copy()
        for r in order:
            mirror(block, new, rank, r, r + 1)
        found.append(block)
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])
    np.testing.assert_array_equal(found[0][:, new], found[0][new].T)
    np.testing.assert_array_equal(found[0][3], np.where(np.arange(6) == 3, rows[3, 3], rows[3]))


class TestEnds:
    """Whatever the blocks say, the solver comes to an end, and says how far it came."""

    def noisy(self, K, noise, seed=0, fixed=True, dtype=np.float32):
        """Rows with errors, the same at each call or not; products of the exact matrix."""
        rng = np.random.default_rng(seed)
        errors = noise * rng.standard_normal(K.shape)

        def block(rows, cols):
            E = errors if fixed else noise * rng.standard_normal(K.shape)
            return (K + E)[rows][:, cols].astype(dtype)

        return RowGram(
            block,
            np.diag(K),
            product=lambda rows, cols, weights: K[np.ix_(rows, cols)] @ weights,
            dtype=dtype,
        )

    @pytest.mark.parametrize("name", ["classification", "regression", "novelty", "nu"])
    @pytest.mark.parametrize("direct", [0, 1000])
    @pytest.mark.parametrize("noise", [1e-3, 1.0])
    @pytest.mark.parametrize("fixed", [True, False])
    def test_on_wrong_rows(self, rng, monkeypatch, name, direct, noise, fixed):
        monkeypatch.setattr(smo_state, "_DIRECT", direct)
        K = Gaussian()(rng.standard_normal((120, 2)))
        problem = problems(rng, 120)[name]
        found = solve_box(self.noisy(K, noise, fixed=fixed), problem, tol=1e-3)
        exact = K @ found.beta - problem.target
        np.testing.assert_allclose(found.gradient, exact, atol=1e-4 + 1e-12 * np.abs(exact).max())
        rise, fall = np.empty(120), np.empty(120)
        slopes(exact, found.beta, problem.lower, problem.upper, problem.epsilon, rise, fall)
        groups = np.zeros(120, int) if problem.groups is None else problem.groups
        true = max(fall[groups == g].max() - rise[groups == g].min() for g in np.unique(groups))
        assert true == pytest.approx(found.violation, abs=3e-4)
        assert found.converged == (found.violation < 1e-3)
        if not found.converged:
            assert f"violation of {found.violation:.2e}" in found.message
        if not problem.start.any():  # never worse than where it began
            assert objective(K, problem, found.beta) <= 1e-9

    def test_rows_that_contradict_products_are_named(self, rng):
        K, problem = classification(rng, 150, 10.0)
        found = solve_box(self.noisy(K, 1.0), problem)
        assert not found.converged
        assert "not accurate enough" in found.message
        assert found.n_iter < 10**7

    @pytest.mark.parametrize("direct", [0, 1000])
    def test_on_asymmetric_and_indefinite_matrices(self, rng, monkeypatch, direct):
        monkeypatch.setattr(smo_state, "_DIRECT", direct)
        monkeypatch.setattr(smo, "_STEPS", 30_000)
        for K in (rng.standard_normal((80, 80)), np.tri(80), -np.ones((80, 80))):
            for problem in problems(rng, 80).values():
                found = solve_box(blocks(K), problem)
                assert np.isfinite(found.beta).all()
                assert found.n_iter <= 80_000 + 100 * 80

    def test_there_is_a_limit_of_steps(self, rng, monkeypatch):
        monkeypatch.setattr(smo, "_STEPS", 50)
        monkeypatch.setattr(smo, "_EACH", 0)
        K, problem = classification(rng, 200, 1e6)
        found = solve_box(blocks(K), problem, tol=1e-9)
        assert found.n_iter == 50
        assert "raise tol or max_iter" in found.message

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("where", ["diagonal", "row", "entry"])
    @pytest.mark.parametrize("direct", [0, 1000])
    def test_what_is_not_finite_is_refused(self, rng, monkeypatch, value, where, direct):
        monkeypatch.setattr(smo_state, "_DIRECT", direct)
        for problem in problems(rng, 80).values():
            K = Gaussian()(rng.standard_normal((80, 2)))
            if where == "diagonal":
                K[7, 7] = value
            elif where == "row":
                K[5, 6:] = K[6:, 5] = value
            else:
                K[np.arange(79), np.arange(1, 80)] = K[np.arange(1, 80), np.arange(79)] = value
            with pytest.raises(ValueError, match="not finite"):
                solve_box(blocks(K), problem)
