"""Kernel plus free functions, against the dense saddle-point system and refitting."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.special import xlogy

from mercer import Gaussian, Spline
from mercer.exceptions import ConvergenceWarning, MemoryPlanError, NumericalWarning
from mercer.gram.base import Gram
from mercer.solvers import semiparametric
from mercer.solvers.semiparametric import SemiparametricProblem
from mercer.solvers.semiparametric_features import problem_of


class Matrix(Gram):
    """A matrix as a Gram operator."""

    matrix_free = False

    def __init__(self, K):
        self.K, self.shape, self.dtype = K, K.shape, K.dtype

    def block(self, rows, cols):
        return self.K[rows, cols]


def thin_plate(X):
    """Positive definite only beside 1, x, y: its diagonal is zero."""
    R = cdist(X, X)
    return xlogy(R**2, R)


def solve(gram, basis, Y, alpha, weights=None):
    return problem_of(gram, basis, Y, weights).factor(alpha).solve()


@pytest.fixture(params=["gaussian", "thin plate"])
def problem(request, rng):
    X = rng.standard_normal((40, 2))
    K = Gaussian(0.3)(X) if request.param == "gaussian" else thin_plate(X)
    P = np.column_stack([np.ones(40), X])
    return K, P, rng.standard_normal((40, 2)), rng.uniform(0.2, 3, 40)


def saddle(K, P, Y, alpha, weights=None):
    """c and d by brute force."""
    n, m = P.shape
    w = np.ones(n) if weights is None else weights
    A = np.block([[K + alpha * np.diag(1 / w), P], [P.T, np.zeros((m, m))]])
    both = np.linalg.solve(A, np.concatenate([Y, np.zeros((m, Y.shape[1]))]))
    return both[:n], both[n:]


def smoother_matrix(K, P, alpha, weights=None):
    """A of f = A y, column by column."""
    c, d = saddle(K, P, np.eye(len(K)), alpha, weights)
    return K @ c + P @ d


def held_out_by_refitting(K, P, Y, alpha, w):
    result = np.empty_like(Y)
    for i in range(len(Y)):
        T = np.delete(np.arange(len(Y)), i)
        c, d = saddle(K[np.ix_(T, T)], P[T], Y[T], alpha, w[T])
        result[i] = K[i, T] @ c + P[i] @ d
    return result


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 1e-3, 10.0])
def test_solves_the_saddle_point_system(problem, alpha, weighted):
    K, P, Y, weights = problem
    w = weights if weighted else None
    solution = solve(Matrix(K), P, Y, alpha, w)
    c, d = saddle(K, P, Y, alpha, w)
    np.testing.assert_allclose(solution.coef, c, rtol=1e-6, atol=1e-7 * np.abs(c).max())
    np.testing.assert_allclose(solution.null_coef, d, rtol=1e-6, atol=1e-8)
    assert solution.converged
    assert solution.stats["method"] == "cholesky"
    assert solution.stats["residual"] < 1e-10


@pytest.mark.parametrize("weighted", [False, True])
def test_one_decomposition_serves_every_alpha(problem, weighted, monkeypatch):
    K, P, Y, weights = problem
    calls = []
    eigh = semiparametric.eigh
    monkeypatch.setattr(semiparametric, "eigh", lambda *a, **k: calls.append(1) or eigh(*a, **k))
    p = SemiparametricProblem(Matrix(K), P, Y, weights if weighted else None)
    for alpha in (1e-4, 0.1, 100.0):
        one, all_ = p.factor(alpha), p.at(alpha)
        np.testing.assert_allclose(all_.solve().coef, one.solve().coef, atol=1e-7)
        np.testing.assert_allclose(all_.solve().null_coef, one.solve().null_coef, atol=1e-8)
        assert all_.solve().stats["method"] == "eigh"
        assert all_.dof() == pytest.approx(one.dof(), rel=1e-8)
        assert all_.gcv() == pytest.approx(one.gcv(), rel=1e-7)
        np.testing.assert_allclose(all_.leave_one_out(), one.leave_one_out(), atol=1e-7)
    assert len(calls) == 1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("path", ["factor", "at"])
def test_trace_and_gcv_of_the_explicit_smoother(problem, path, weighted):
    K, P, Y, weights = problem
    w = weights if weighted else np.ones(40)
    A = smoother_matrix(K, P, 0.3, w)
    smoother = getattr(SemiparametricProblem(Matrix(K), P, Y, w), path)(0.3)
    assert smoother.dof() == pytest.approx(np.trace(A), rel=1e-9)
    rss = np.sum(w[:, None] * (Y - A @ Y) ** 2)
    assert smoother.gcv() == pytest.approx(40 * rss / (40 - np.trace(A)) ** 2, rel=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 0.2])
@pytest.mark.parametrize("path", ["factor", "at"])
def test_leave_one_out_equals_refitting(problem, path, alpha):
    K, P, Y, w = problem
    smoother = getattr(SemiparametricProblem(Matrix(K), P, Y, w), path)(alpha)
    expected = held_out_by_refitting(K, P, Y, alpha, w)
    np.testing.assert_allclose(smoother.leave_one_out(), expected, rtol=1e-5, atol=1e-6)
    error = np.average(np.sum((Y - expected) ** 2, axis=1), weights=w)
    assert smoother.loo() == pytest.approx(error, rel=1e-5)


def test_interpolation_is_the_limit(problem):
    K, P, Y, w = problem
    p = SemiparametricProblem(Matrix(K), P, Y, w)
    solution = p.factor(0.0).solve()
    np.testing.assert_allclose(K @ solution.coef + P @ solution.null_coef, Y, atol=1e-8)
    assert p.factor(0.0).dof() == 40
    assert p.factor(0.0).gcv() == pytest.approx(p.factor(1e-9).gcv(), rel=1e-3)


def test_samples_at_the_same_point(problem, rng):
    """Merged points and the same matrix with equal rows tell the same story."""
    K, P, _, _ = problem
    rows = np.concatenate([np.arange(40), rng.integers(40, size=25)])
    Y, w = rng.standard_normal((65, 2)), rng.uniform(0.2, 3, 65)
    merged = SemiparametricProblem(Matrix(K), P, Y, w, rows).factor(0.4)
    full_K, full_P = K[np.ix_(rows, rows)], P[rows]
    full = SemiparametricProblem(Matrix(full_K), full_P, Y, w).factor(0.4)
    a, b = merged.solve(), full.solve()
    np.testing.assert_allclose(a.null_coef, b.null_coef, atol=1e-9)
    sums = np.zeros_like(a.coef)
    np.add.at(sums, rows, b.coef)
    np.testing.assert_allclose(a.coef, sums, atol=1e-8)
    assert merged.dof() == pytest.approx(full.dof(), rel=1e-9)
    assert merged.gcv() == pytest.approx(full.gcv(), rel=1e-9)
    np.testing.assert_allclose(merged.leave_one_out(), full.leave_one_out(), atol=1e-8)
    expected = held_out_by_refitting(full_K, full_P, Y, 0.4, w)
    np.testing.assert_allclose(merged.leave_one_out(), expected, atol=1e-7)


def test_samples_of_weight_zero_have_no_influence(problem):
    K, P, Y, w = problem
    w = w.copy()
    w[[3, 17]] = 0
    T = np.flatnonzero(w)
    smoother = SemiparametricProblem(Matrix(K), P, Y, w).factor(0.2)
    rest = SemiparametricProblem(Matrix(K[np.ix_(T, T)]), P[T], Y[T], w[T]).factor(0.2)
    a, b = smoother.solve(), rest.solve()
    np.testing.assert_allclose(a.coef[T], b.coef, atol=1e-10)
    assert not a.coef[[3, 17]].any()
    assert smoother.gcv() == pytest.approx(rest.gcv())
    assert smoother.loo() == pytest.approx(rest.loo())
    held_out = smoother.leave_one_out()
    np.testing.assert_allclose(held_out[T], rest.leave_one_out(), atol=1e-9)
    np.testing.assert_allclose(held_out[3], K[3, T] @ b.coef + P[3] @ b.null_coef, atol=1e-9)


def test_penalties_reach_from_interpolation_to_the_basis(problem):
    K, P, Y, _ = problem
    p = SemiparametricProblem(Matrix(K), P, Y)
    alphas = p.penalties()
    assert np.all(np.diff(alphas) > 0)
    assert p.at(alphas[0]).dof() > 38
    assert p.at(alphas[-1]).dof() == pytest.approx(3, abs=0.02)


def test_as_many_points_as_functions(rng):
    X = rng.standard_normal((3, 2))
    P, Y = np.column_stack([np.ones(3), X]), rng.standard_normal((3, 1))
    p = SemiparametricProblem(Matrix(thin_plate(X)), P, Y)
    for smoother in (p.factor(1.0), p.at(1.0)):
        solution = smoother.solve()
        np.testing.assert_allclose(P @ solution.null_coef, Y, atol=1e-12)
        assert not solution.coef.any()
        assert smoother.dof() == 3
        assert np.isnan(smoother.gcv())
        assert np.isnan(smoother.leave_one_out()).all()
        assert np.isnan(smoother.loo())


def test_points_that_others_do_not_determine(rng):
    """All points but one on a line: without that one the plane is not determined."""
    X = np.column_stack([np.arange(8.0), np.zeros(8)])
    X[5, 1] = 1
    P, Y = np.column_stack([np.ones(8), X]), rng.standard_normal((8, 1))
    smoother = SemiparametricProblem(Matrix(thin_plate(X)), P, Y).factor(0.5)
    undefined = np.isnan(smoother.leave_one_out()[:, 0])
    np.testing.assert_array_equal(undefined, np.arange(8) == 5)
    assert np.isfinite(smoother.loo())


def test_equal_rows_without_penalty_get_their_mean(rng):
    X = np.array([[0.0], [1.0], [1.0], [3.0]])
    K, P, Y = Gaussian()(X), np.ones((4, 1)), np.array([[0.0], [1.0], [2.0], [5.0]])
    p = SemiparametricProblem(Matrix(K), P, Y)
    with pytest.warns(NumericalWarning, match="Raise alpha"):
        smoother = p.factor(0.0)
    with pytest.warns(ConvergenceWarning, match="raise alpha"):
        solution = smoother.solve().warn()  # no solution interpolates, and it says so
    f = K @ solution.coef + P @ solution.null_coef
    np.testing.assert_allclose(f[:, 0], [0, 1.5, 1.5, 5], atol=1e-10)
    assert solution.stats["dropped"] == 1
    assert smoother.dof() == 3
    assert np.isnan(smoother.gcv())
    assert np.isnan(smoother.leave_one_out()).all()


def test_reports_what_rounding_leaves(rng):
    """400 values interpolated by splines of degree 5 are beyond double precision."""
    x = np.sort(rng.uniform(size=400))
    K = Spline(3, polynomial=False)(x)
    P, Y = x[:, None] ** np.arange(3), rng.standard_normal((400, 1))
    smoother = SemiparametricProblem(Matrix(K), P, Y).at(1e-16)
    solution = smoother.solve()
    rest = Y - K @ solution.coef - 1e-16 * solution.coef - P @ solution.null_coef
    expected = np.linalg.norm(rest) / np.linalg.norm(Y)
    assert solution.stats["residual"] == pytest.approx(expected, rel=1e-3)
    assert not solution.converged
    assert "a lower order" in solution.message


class TestBadInput:
    def test_too_few_points(self, rng):
        X = rng.standard_normal((2, 2))
        P = np.column_stack([np.ones(2), X])
        with pytest.raises(ValueError, match="at least 3 distinct points"):
            solve(Gaussian().gram(X), P, np.ones((2, 1)), 1.0)

    def test_dependent_functions(self, rng):
        t = np.linspace(0, 1, 20)
        X = np.column_stack([t, 0.1 + 3 * t])
        P = np.column_stack([np.ones(20), X])
        with pytest.raises(ValueError, match=r"linearly independent.*n_samples = 20, of rank 2"):
            solve(Gaussian().gram(X), P, np.ones((20, 1)), 1.0)

    def test_weights_that_leave_too_few_points(self, rng):
        x = np.arange(5.0)
        P = np.column_stack([np.ones(5), x])
        w = np.array([0, 0, 1.0, 0, 0])
        with pytest.raises(ValueError, match="of positive weight"):
            solve(Gaussian().gram(x), P, np.ones((5, 1)), 1.0, w)

    @pytest.mark.parametrize("basis", [np.ones(5), np.ones((4, 1)), np.ones((5, 0))])
    def test_shape_of_the_basis(self, basis):
        with pytest.raises(ValueError, match=r"basis must give an array of shape \(5, m\)"):
            solve(Gaussian().gram(np.arange(5.0)), basis, np.ones((5, 1)), 1.0)

    def test_values_of_the_basis(self):
        P = np.array([[1.0], [np.nan], [1.0]])
        with pytest.raises(ValueError, match="basis must be finite"):
            solve(Gaussian().gram(np.arange(3.0)), P, np.ones((3, 1)), 1.0)

    def test_more_points_than_fit_the_memory(self, monkeypatch):
        monkeypatch.setattr("mercer.engine.memory.free_memory", lambda: 1e8)
        gram = Gaussian().gram(np.arange(5000.0))
        with pytest.raises(MemoryPlanError, match="5000 points needs 1 GB"):
            solve(gram, np.ones((5000, 1)), np.ones((5000, 1)), 1.0)

    def test_kernels_of_the_wrong_sign(self, rng):
        X = rng.standard_normal((20, 2))
        P = np.column_stack([np.ones(20), X])
        with pytest.raises(
            ValueError, match="not positive definite on the complement of the basis"
        ):
            solve(Matrix(-thin_plate(X)), P, rng.standard_normal((20, 1)), 0.1)
