"""Conjugate gradients on many systems with one K."""

import threading

import numpy as np
import pytest
from sklearn.base import clone

from mercer import Gaussian, KernelRidge, Laplacian, Linear, Matern, Plan
from mercer.exceptions import ConvergenceWarning
from mercer.solvers import cg
from mercer.solvers.auto import solve_ridge
from mercer.solvers.cg import Systems, solve_systems
from mercer.solvers.watch import Watch

TILED = Plan(storage="tiled")


def solve_cg(gram, Y, noise, **options):
    """(K + diag(noise))^-1 Y."""
    alpha = float(noise.min())
    root = None if np.all(noise == alpha) else np.sqrt(alpha / noise)
    return solve_systems(gram, Systems.of(Y, np.full(Y.shape[1], alpha)), root, **options)


@pytest.fixture
def problem(rng):
    X = rng.standard_normal((150, 3))
    return X, rng.standard_normal((150, 3))


@pytest.fixture
def single(monkeypatch):
    """Small problems, too, are solved by products in single precision."""
    monkeypatch.setattr(cg, "_FEW", 10)


def dense(kernel, X, noise):
    return kernel(X.astype(float)) + noise * np.eye(len(X))


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Laplacian(3.0), Matern(2.0) + Linear()])
@pytest.mark.parametrize("tol", [1e-6, 1e-11])
def test_single_precision_products_reach_double_precision_residuals(problem, single, kernel, tol):
    X, Y = problem
    gram, noise = kernel.gram(X, TILED), np.full(len(X), 0.05)
    found = solve_cg(gram, Y, noise, tol=tol, rank=10, rng=np.random.default_rng(0))
    A = dense(kernel, X, noise)
    residual = np.linalg.norm(Y - A @ found.coef, axis=0) / np.linalg.norm(Y, axis=0)
    assert found.converged
    assert residual.max() <= tol
    assert found.stats["residual"] == pytest.approx(residual.max(), rel=1e-2, abs=1e-13)


def test_each_column_may_have_its_penalty_and_its_part(problem, rng):
    X, Y = problem
    parts = rng.random((2, len(X))) < 0.7
    alphas, part = np.array([0.1, 3.0, 0.1]), np.array([0, 1, 1])
    root = rng.uniform(0.5, 2, len(X))
    root[:5] = 0
    found = solve_systems(
        Gaussian().gram(X, TILED), Systems(Y, alphas, part, parts), root, tol=1e-10, rng=rng
    )
    K = Gaussian()(X)
    for j in range(3):
        used = np.flatnonzero(parts[part[j]] & (root > 0))
        A = K[np.ix_(used, used)] + np.diag(alphas[j] / root[used] ** 2)
        expected = np.zeros(len(X))
        expected[used] = np.linalg.solve(A, Y[used, j])
        np.testing.assert_allclose(found.coef[:, j], expected, atol=1e-7)


def test_a_group_of_columns_needs_fewer_products(rng):
    X = rng.standard_normal((400, 3))
    Y = rng.standard_normal((400, 20))
    gram, alphas, part = Gaussian(1.5).gram(X), np.full(20, 1e-3), np.zeros(20, dtype=int)
    together, apart = (
        solve_systems(
            gram, Systems(Y, alphas, part, group=g), rank=20, rng=np.random.default_rng(0)
        )
        for g in (20, 1)
    )
    assert together.converged
    assert apart.converged
    assert together.n_iter < apart.n_iter / 2
    np.testing.assert_allclose(together.coef, apart.coef, atol=1e-4)


def test_targets_that_depend_on_each_other(problem):
    X, Y = problem
    Y = np.stack([Y[:, 0], 2 * Y[:, 0], np.zeros(len(X)), Y[:, 0] + Y[:, 1], Y[:, 1]], axis=1)
    found = solve_cg(
        Gaussian().gram(X), Y, np.full(len(X), 0.01), rank=5, rng=np.random.default_rng(0)
    )
    assert found.converged
    expected = np.linalg.solve(dense(Gaussian(), X, np.full(len(X), 0.01)), Y)
    np.testing.assert_allclose(found.coef, expected, atol=1e-5)
    assert not found.coef[:, 2].any()


@pytest.mark.parametrize("size", [2.0**-990, 2.0**990])
def test_targets_of_any_size(problem, single, size):
    X, Y = problem
    usual, other = (
        solve_cg(
            Gaussian().gram(X, TILED), y, np.full(len(X), 0.1), rng=np.random.default_rng(0)
        ).coef
        for y in (Y, size * Y)
    )
    np.testing.assert_allclose(other / size, usual, rtol=1e-6)


@pytest.mark.parametrize(
    "change",
    [
        lambda X: np.repeat(X[:30], 5, axis=0),  # K is singular
        lambda X: np.zeros_like(X),  # and of rank 1
        lambda X: np.where(np.arange(len(X))[:, None] == 7, 1e8, X),
        lambda X: np.where(X > 1, -99999.0, X),
        lambda X: X + 1e6,
        lambda X: X * [1e-6, 1.0, 1e6],
        lambda X: X.astype(np.float32),
    ],
)
@pytest.mark.parametrize("alpha", [1.0, 1e-3])
def test_difficult_samples(problem, single, change, alpha):
    X, Y = problem
    X = change(X)
    noise = np.full(len(X), alpha)
    found = solve_cg(Gaussian().gram(X, TILED), Y, noise, rng=np.random.default_rng(0))
    assert found.converged
    R = Y - dense(Gaussian(), X, noise) @ found.coef
    assert np.linalg.norm(R, axis=0).max() <= 1e-6 * np.linalg.norm(Y, axis=0).max()


def test_a_tiny_penalty_is_solved_or_said_not_to_be(problem, single):
    X, Y = problem
    noise = np.full(len(X), 1e-10)
    found = solve_cg(Gaussian(3.0).gram(X, TILED), Y, noise, rng=np.random.default_rng(0))
    R = Y - dense(Gaussian(3.0), X, noise) @ found.coef
    residual = (np.linalg.norm(R, axis=0) / np.linalg.norm(Y, axis=0)).max()
    assert found.stats["residual"] == pytest.approx(residual, rel=0.5, abs=1e-5)
    assert found.converged == (found.message == "solved")
    assert np.all(np.isfinite(found.coef))


def test_targets_in_single_precision_are_taken_as_they_are(problem):
    X, Y = problem
    Y = Y.astype(np.float32)
    noise = np.full(len(X), 0.1)
    found = solve_cg(Gaussian().gram(X, TILED), Y, noise, tol=1e-12, rng=np.random.default_rng(0))
    R = Y - dense(Gaussian(), X, noise) @ found.coef
    assert np.linalg.norm(R, axis=0).max() <= 1e-11 * np.linalg.norm(Y, axis=0).max()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_samples(rng, n):
    X, y = rng.standard_normal((n, 2)), rng.standard_normal(n)
    model = KernelRidge(0.5, kernel=Gaussian(), plan=TILED).fit(X, y)
    assert model.solution_.stats["method"] == "cg"
    np.testing.assert_allclose(model.dual_coef_, np.linalg.solve(dense(Gaussian(), X, 0.5), y))


def test_a_kernel_of_zeros(rng):
    model = KernelRidge(0.5, kernel=Linear() * Linear(), solver="cg", plan=TILED)
    y = rng.standard_normal(30)
    np.testing.assert_allclose(model.fit(np.zeros((30, 2)), y).dual_coef_, 2 * y)


def test_constant_targets(problem):
    X, _ = problem
    model = KernelRidge(1e-2, kernel=Gaussian(), plan=TILED).fit(X, np.full(len(X), 3.0))
    expected = np.linalg.solve(dense(Gaussian(), X, np.full(len(X), 1e-2)), np.full(len(X), 3.0))
    np.testing.assert_allclose(model.dual_coef_, expected, atol=1e-4)


def test_an_indefinite_matrix_is_refused(rng):
    X = rng.standard_normal((60, 2))
    K = Gaussian().gram(X) * 1.0 + Linear().gram(X) * -1.0
    K = K.shift(np.full(60, np.abs(np.sum(X**2, axis=1)).max()))  # its diagonal is positive
    with pytest.raises(ValueError, match="not positive semi-definite"):
        solve_cg(K, X, np.full(60, 1e-3), rng=rng)


def test_one_penalty_for_each_target_in_one_pass(problem):
    X, Y = problem
    alphas = [0.1, 1.0, 10.0]
    model = KernelRidge(alphas, kernel=Gaussian(), plan=TILED).fit(X, Y)
    assert model.solution_.coef.shape == Y.shape
    for j, alpha in enumerate(alphas):
        alone = KernelRidge(alpha, kernel=Gaussian()).fit(X, Y[:, j])
        np.testing.assert_allclose(model.dual_coef_[:, j], alone.dual_coef_, atol=1e-6)


def test_results_do_not_depend_on_threads(rng, single):
    X, Y = rng.standard_normal((700, 3)), rng.standard_normal((700, 2))
    one, two = (
        solve_ridge(Gaussian().gram(X, Plan(storage="tiled", workers=w)), Y, 0.1).coef
        for w in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_models_may_be_fitted_at_once(problem, single):
    X, Y = problem
    model = KernelRidge(0.1, kernel=Gaussian(), plan=TILED, random_state=0)
    expected, found = clone(model).fit(X, Y).dual_coef_, {}

    def fit(i):
        found[i] = clone(model).fit(X, Y).dual_coef_

    threads = [threading.Thread(target=fit, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for coef in found.values():
        np.testing.assert_array_equal(coef, expected)


# ---- what goes on beside --------------------------------------------------------------------
def test_an_interrupted_fit_goes_on_where_it_was(problem, tmp_path):
    X, Y = problem
    file, seen = tmp_path / "state.npz", []

    def interrupt(step):
        if step.n_iter == 4:
            raise KeyboardInterrupt

    options = {"rank": 3, "rng": np.random.default_rng(0), "tol": 1e-9}
    gram, noise = Gaussian(2.0).gram(X, TILED), np.linspace(0.01, 0.1, len(X))
    with pytest.raises(KeyboardInterrupt):
        solve_cg(gram, Y, noise, watch=Watch(interrupt, file), **options)
    assert file.exists()
    watch = Watch(lambda step: seen.append(step.n_iter), file)
    found = solve_cg(gram, Y, noise, watch=watch, **options)
    assert seen[0] == 5
    assert found.converged
    exact = np.linalg.solve(dense(Gaussian(2.0), X, noise), Y)
    bound = 1e-9 * np.linalg.norm(Y, axis=0).max() / noise.min()  # tol, times |A^-1|
    np.testing.assert_allclose(found.coef, exact, atol=bound)
    assert not file.exists()


def test_a_callback_sees_coefficients_and_may_stop(problem):
    X, Y = problem
    steps = []

    def stop(step):
        steps.append(step)
        return step.error < 1e-2

    model = KernelRidge(0.1, kernel=Gaussian(), plan=TILED, callback=stop)
    with pytest.warns(ConvergenceWarning, match="stopped by the callback"):
        model.fit(X, Y)
    np.testing.assert_array_equal(steps[-1].state["coef"], model.dual_coef_)
    assert model.solution_.stats["residual"] < 1e-2


def test_early_stopping_returns_the_best_state(problem):
    X, Y = problem
    scores = iter([3.0, 1.0, 2.0, 2.0, 2.0, 2.0])
    kept = []

    def validation(state):
        kept.append(state["coef"].copy())
        return next(scores)

    watch = Watch(validation=validation, patience=2)
    found = solve_cg(
        Gaussian(2.0).gram(X), Y, np.full(len(X), 1e-3), rank=3, rng=np.random.default_rng(0),
        watch=watch,
    )  # fmt: skip
    np.testing.assert_allclose(found.coef, kept[1], rtol=1e-12)
    R = Y - dense(Gaussian(2.0), X, np.full(len(X), 1e-3)) @ kept[1]
    worst = (np.linalg.norm(R, axis=0) / np.linalg.norm(Y, axis=0)).max()
    assert found.stats["residual"] == pytest.approx(worst, rel=1e-6)
