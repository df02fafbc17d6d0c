import numpy as np
import pytest

from mercer import (
    Gaussian,
    KernelRidge,
    Linear,
    MultiOutputKernelRidge,
    Plan,
    Polynomial,
)
from mercer.engine.limits import within
from mercer.exceptions import ConvergenceWarning, NumericalWarning
from mercer.solvers import cholesky
from mercer.solvers.auto import choose, solve_ridge
from mercer.solvers.base import Solution
from mercer.solvers.cg import Systems, solve_systems
from mercer.solvers.cholesky import CholeskyFactor, NotPositiveDefiniteError, factor
from mercer.solvers.eigen import RidgeSpectrum


@pytest.fixture
def problem(rng):
    X = rng.standard_normal((120, 3))
    return X, rng.standard_normal((120, 2)), rng.uniform(0.2, 2, 120)


def solve_cg(kernel, X, Y, alpha, **options):
    """(K + alpha I)^-1 Y."""
    return solve_systems(kernel.gram(X), Systems.of(Y, np.full(Y.shape[1], alpha)), **options)


def reference(K, Y, alpha, weights):
    """The normal equations, solved by brute force."""
    W = np.eye(len(K)) if weights is None else np.diag(weights)
    return np.linalg.solve(W @ K + alpha * np.eye(len(K)), W @ Y)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("solver", "storage"), [("cholesky", "dense"), ("cg", "tiled"), ("primal", "lowrank")]
)
def test_every_solver_solves_the_normal_equations(problem, solver, storage, weighted):
    X, Y, weights = problem
    weights = weights if weighted else None
    kernel = Polynomial(degree=2)
    gram = kernel.gram(X, Plan(storage=storage))
    solution = solve_ridge(gram, Y, 0.3, weights, solver=solver, tol=1e-12)
    assert solution.converged
    assert solution.stats["method"] == solver
    expected = reference(kernel(X), Y, 0.3, weights)
    np.testing.assert_allclose(solution.coef, expected, rtol=1e-7, atol=1e-9)


def test_conjugate_gradients_leave_out_samples_of_weight_zero(problem):
    X, Y, weights = problem
    weights[::3] = 0
    gram = Gaussian().gram(X, Plan(storage="tiled"))
    found = solve_ridge(gram, Y, 0.3, weights, tol=1e-12)
    assert found.stats["method"] == "cg"
    assert not found.coef[::3].any()
    expected = reference(Gaussian()(X), Y, 0.3, weights)
    np.testing.assert_allclose(found.coef, expected, rtol=1e-7, atol=1e-9)


def test_optimality_of_the_objective(problem, rng):
    """The gradient of sum w (y - Kc)^2 + alpha c'Kc vanishes."""
    X, Y, weights = problem
    K = Gaussian()(X)
    C = solve_ridge(Gaussian().gram(X), Y, 0.1, weights).coef
    gradient = -2 * K @ (weights[:, None] * (Y - K @ C)) + 2 * 0.1 * K @ C
    assert np.abs(gradient).max() < 1e-10


def test_chooses_by_the_operator(problem):
    X, _, _ = problem
    assert choose(Gaussian().gram(X), 1.0) == "cholesky"
    assert choose(Gaussian().gram(X, Plan(storage="tiled")), 1.0) == "cg"
    assert choose(Linear().gram(X), 1.0) == "primal"
    assert choose(Linear().gram(X), 1e-12) == "cholesky"  # too small for (y - Phi w) / alpha


def test_singular_systems_get_the_smallest_least_squares_solution(problem):
    X, Y, _ = problem
    with pytest.warns(NumericalWarning, match="Raise alpha"):
        coef = solve_ridge(Linear().gram(X), Y, 0.0).coef
    fit = X @ np.linalg.lstsq(X, Y, rcond=None)[0]
    np.testing.assert_allclose(X @ (X.T @ coef), fit, atol=1e-8)


def test_cg_reports_what_it_did_not_reach(problem, rng):
    X, Y, _ = problem
    solution = solve_cg(Gaussian(5.0), X, Y, 1e-8, tol=1e-12, max_iter=1, rank=2, rng=rng)
    assert not solution.converged
    assert "raise alpha or tol" in solution.message
    with pytest.warns(ConvergenceWarning, match="relative residual"):
        solution.warn()


def test_cg_certificate_is_the_true_residual(problem, rng):
    X, Y, _ = problem
    solution = solve_cg(Gaussian(), X, Y, 0.1, tol=1e-4, rng=rng)
    R = Y - (Gaussian()(X) + 0.1 * np.eye(len(X))) @ solution.coef
    worst = (np.linalg.norm(R, axis=0) / np.linalg.norm(Y, axis=0)).max()
    assert solution.stats["residual"] == pytest.approx(worst, rel=1e-6)


def test_preconditioner_saves_iterations(rng):
    X = rng.standard_normal((400, 2))
    Y = rng.standard_normal((400, 1))
    plain, helped = (
        solve_cg(Gaussian(2.0), X, Y, 1e-3, rank=rank, rng=np.random.default_rng(0))
        for rank in (1, 100)
    )
    assert helped.n_iter < plain.n_iter / 3


def test_cg_needs_a_penalty(problem):
    X, Y, _ = problem
    with pytest.raises(ValueError, match="alpha > 0"):
        solve_ridge(Gaussian().gram(X), Y, 0.0, solver="cg")


def test_primal_needs_features(problem):
    X, Y, _ = problem
    with pytest.raises(ValueError, match="finite feature map"):
        solve_ridge(Gaussian().gram(X), Y, 1.0, solver="primal")


class TestCholeskyFactor:
    @pytest.fixture
    def A(self, rng):
        B = rng.standard_normal((300, 300))
        return B @ B.T + 300 * np.eye(300)

    @pytest.mark.parametrize("order", ["C", "F"])
    def test_solves_and_measures(self, A, rng, order):
        b = rng.standard_normal((300, 2))
        f = CholeskyFactor(A.copy(order))
        np.testing.assert_allclose(f.solve(b), np.linalg.solve(A, b), rtol=1e-9)
        assert f.logdet() == pytest.approx(np.linalg.slogdet(A)[1])
        quadratic = np.sum(f.half_solve(b) ** 2, axis=0)
        np.testing.assert_allclose(quadratic, np.diag(b.T @ np.linalg.solve(A, b)), rtol=1e-9)
        np.testing.assert_allclose(f.inverse_diag(), np.diag(np.linalg.inv(A)), rtol=1e-9)

        inverse = CholeskyFactor(A.copy(order)).inverse()
        np.testing.assert_allclose(np.tril(inverse), np.tril(np.linalg.inv(A)), atol=1e-12)

    def test_works_in_the_memory_it_is_given(self, A):
        work = A.copy()
        CholeskyFactor(work)
        np.testing.assert_allclose(np.tril(work), np.linalg.cholesky(A), rtol=1e-9)

    @pytest.fixture
    def panels(self, monkeypatch):
        """Panels of a few columns, as if 300 rows were many."""
        for name, size in (("SHARED", 10), ("SOLVED", 10), ("ROWS", 20), ("ACROSS", 48)):
            monkeypatch.setattr(cholesky, f"_{name}", size)
        monkeypatch.setattr(cholesky, "_BLOCK", 70)
        monkeypatch.setattr(cholesky, "_PANELS", ((np.inf, 32, 64, 48, 32),))

    def test_panel_by_panel(self, A, panels, rng):
        self.test_works_in_the_memory_it_is_given(A)
        self.test_solves_and_measures(A, rng, "C")
        bad = A.copy()
        bad[200, 200] = -1
        with pytest.raises(NotPositiveDefiniteError, match="order 201"):
            CholeskyFactor(bad)
        many = rng.standard_normal((300, 150))
        f = CholeskyFactor(A.copy())
        np.testing.assert_allclose(f.solve(many), np.linalg.solve(A, many), rtol=1e-9, atol=1e-12)
        single = CholeskyFactor(A.astype(np.float32))
        assert single.solve(many[:, 0].astype(np.float32)).dtype == np.float32
        inverse = np.linalg.inv(A)
        np.testing.assert_allclose(single.inverse_diag(), np.diag(inverse), rtol=1e-4)
        np.testing.assert_allclose(np.tril(single.inverse()), np.tril(inverse), atol=1e-6)

    @pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 129])
    def test_of_any_size(self, n, panels, rng):
        B = rng.standard_normal((n, n))
        A = B @ B.T + n * np.eye(n)
        f, inverse = CholeskyFactor(A.copy()), np.linalg.inv(A)
        np.testing.assert_allclose(f.solve(np.ones(n)), inverse.sum(axis=1), atol=1e-10)
        np.testing.assert_allclose(f.inverse_diag(), np.diag(inverse), rtol=1e-9)
        np.testing.assert_allclose(np.tril(f.inverse()), np.tril(inverse), atol=1e-12)

    def test_does_not_depend_on_the_number_of_threads(self, A, panels, rng):
        b, found = rng.standard_normal((300, 2)), []
        for workers in (1, 2, 5):
            with within(workers, np.inf):
                f = CholeskyFactor(A.copy())
                parts = f.solve(b), f.inverse_diag(), np.tril(f.inverse())
            found.append(np.concatenate([part.ravel() for part in parts]))
        np.testing.assert_array_equal(found[0], found[1])
        np.testing.assert_array_equal(found[0], found[2])

    def test_a_row_of_zeros_has_no_inverse(self, A, panels):
        f = CholeskyFactor(A)
        f._L[100, 100] = 0
        with pytest.raises(np.linalg.LinAlgError, match="singular"):
            f.solve(np.ones(300))
        with pytest.raises(NotPositiveDefiniteError, match="singular"):
            f.inverse()

    def test_refuses_indefinite_matrices(self):
        with pytest.raises(NotPositiveDefiniteError, match="not positive definite"):
            CholeskyFactor(np.array([[1.0, 2.0], [2.0, 1.0]]))

    def test_factor_of_a_gram_uses_it_up(self, rng):
        X = rng.standard_normal((30, 2))
        gram = Gaussian().gram(X)
        f = factor(gram, np.linspace(1, 2, 30))
        K = Gaussian()(X) + np.diag(np.linspace(1, 2, 30))
        np.testing.assert_allclose(f.solve(np.eye(30)), np.linalg.inv(K), rtol=1e-9)
        assert "array" not in vars(gram)


class TestRidgeSpectrum:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("kernel", [Gaussian(), Linear()])
    def test_every_alpha_from_one_decomposition(self, problem, kernel, weighted):
        X, Y, weights = problem
        weights = weights if weighted else None
        spectrum = RidgeSpectrum(kernel.gram(X), weights)
        for alpha in (1e-2, 1.0, 100.0):
            expected = reference(kernel(X), Y, alpha, weights)
            np.testing.assert_allclose(spectrum.coef(Y, alpha), expected, rtol=1e-7, atol=1e-9)

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("kernel", [Gaussian(), Linear()])
    def test_held_out_predictions_equal_refitting(self, problem, rng, kernel, weighted):
        X, Y, weights = problem
        weights = weights if weighted else None
        K = kernel(X)
        spectrum = RidgeSpectrum(kernel.gram(X), weights)
        folds = np.array_split(rng.permutation(len(X)), 4)
        for V, predicted in zip(folds, spectrum.held_out(Y, [1.0, 0.2], folds)[1], strict=True):
            T = np.setdiff1d(np.arange(len(X)), V)
            c = reference(K[np.ix_(T, T)], Y[T], 0.2, None if weights is None else weights[T])
            np.testing.assert_allclose(predicted, K[np.ix_(V, T)] @ c, rtol=1e-8, atol=1e-9)
        loo = spectrum.leave_one_out(Y, 0.2)
        for i in (0, 17, 119):
            T = np.delete(np.arange(len(X)), i)
            c = reference(K[np.ix_(T, T)], Y[T], 0.2, None if weights is None else weights[T])
            np.testing.assert_allclose(loo[i], K[i, T] @ c, rtol=1e-8, atol=1e-9)

    def test_degrees_of_freedom(self, problem):
        X, Y, _ = problem
        K = Gaussian()(X)
        spectrum = RidgeSpectrum(Gaussian().gram(X))
        hat = K @ np.linalg.inv(K + 0.5 * np.eye(len(X)))
        assert spectrum.dof(0.5) == pytest.approx(np.trace(hat))
        n = len(X)
        gcv = n * np.sum((Y - hat @ Y) ** 2) / (n - np.trace(hat)) ** 2
        assert spectrum.gcv(Y, 0.5) == pytest.approx(gcv)

    def test_needs_alpha_when_singular(self, problem):
        X, Y, _ = problem
        with pytest.raises(ValueError, match="alpha must be > 0"):
            RidgeSpectrum(Linear().gram(X)).coef(Y, 0.0)

    def test_singular_is_relative_to_the_largest_eigenvalue(self):
        Y = np.ones((2, 1))
        with pytest.raises(ValueError, match="alpha must be > 0"):
            RidgeSpectrum(Linear().gram(np.diag([1e4, 1e-4]))).coef(Y, 0.0)
        small = np.diag([1e-8, 1e-9])
        assert np.allclose(RidgeSpectrum(Gaussian().gram(1e9 * small)).coef(Y, 0.0), 1)


def by_hand(gram, Y, alpha, weights, *, tol, rng):
    return Solution(reference(gram.to_dense(), Y, alpha, weights), stats={"method": "by hand"})


def test_a_solver_of_ones_own(problem):
    X, Y, weights = problem
    found = KernelRidge(0.3, kernel=Gaussian(), solver=by_hand).fit(X, Y, weights)
    usual = KernelRidge(0.3, kernel=Gaussian()).fit(X, Y, weights)
    np.testing.assert_allclose(found.dual_coef_, usual.dual_coef_, rtol=1e-8)
    assert found.solution_.stats["method"] == "by hand"


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (lambda Y: Y, "solver=wrong must return a mercer.solvers.Solution, got a ndarray"),
        (lambda Y: Solution(Y[:, 0]), r"coefficients of shape \(120, 2\)"),
        (lambda Y: Solution(Y.astype(int)), "floating point numbers"),
    ],
)
def test_what_a_solver_returns_is_checked(problem, bad, message):
    X, Y, _ = problem

    def wrong(gram, Y, alpha, weights, *, tol, rng):
        return bad(Y)

    with pytest.raises(ValueError, match=message):
        solve_ridge(Gaussian().gram(X), Y, 1.0, solver=wrong)
    with pytest.raises(ValueError, match="or a function, got 'lu'"):
        KernelRidge(solver="lu").fit(X, Y)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_small_alpha_and_many_samples_do_not_cost_digits(rng, dtype, weighted):
    """Against least squares in the space of the features, by an orthogonal factorisation."""
    n, alpha = 30_000, 1e-6
    X = rng.standard_normal((n, 3)).astype(dtype)
    y = X @ np.array([1.0, 2.0, 3.0]) + 0.1 * rng.standard_normal(n)
    weights = rng.uniform(0.5, 2, n) if weighted else None
    root = np.ones((n, 1)) if weights is None else np.sqrt(weights)[:, None]
    rows = np.vstack([root * X, np.sqrt(alpha) * np.eye(3)])
    wanted = np.linalg.lstsq(rows, np.append(root[:, 0] * y, np.zeros(3)), rcond=None)[0]
    gram = Linear().gram(X)
    assert choose(gram, alpha) == "primal"
    found = X.T.astype(float) @ solve_ridge(gram, y[:, None], alpha, weights).coef[:, 0]
    assert np.allclose(found, wanted, atol=1e-6)
    if dtype == np.float64:
        found = X.T @ RidgeSpectrum(gram, weights).coef(y[:, None], alpha)[:, 0]
        assert np.allclose(found, wanted, atol=1e-6)
    tol = 1e-6 if dtype == np.float64 else 1e-4
    model = KernelRidge(alpha, kernel=Linear()).fit(X, y, weights)
    assert np.allclose(model.predict(X[:9]), X[:9] @ wanted, atol=tol)
    outputs = MultiOutputKernelRidge(kernel=Linear(), alpha=alpha).fit(X, np.column_stack([y, -y]))
    if not weighted:
        assert np.allclose(outputs.predict(X[:9])[:, 0], X[:9] @ wanted, atol=tol)
