"""Row-wise L-BFGS against scipy, row by row."""

import numpy as np
from scipy.optimize import minimize, rosen, rosen_der

from mercer.solvers.lbfgs import minimise_rows


def rosenbrock(X, rows):
    return np.array([rosen(x) for x in X]), np.array([rosen_der(x) for x in X])


def test_rosenbrock(rng):
    """Every row ends in one of the two minima in four dimensions, as scipy does."""
    X = rng.normal(size=(20, 4))
    found = minimise_rows(rosenbrock, X, tol=1e-8, max_iter=1000)
    assert found.converged.all()
    assert np.abs(rosenbrock(found.x, None)[1]).max() < 1e-5  # values are right to rounding
    starts = np.vstack([X, [[-0.8, 0.6, 0.4, 0.1]]])
    minima = {round(minimize(rosen, x, jac=rosen_der).fun, 4) for x in starts}
    assert minima == {0.0, 3.7014}
    assert set(found.value.round(4)) <= minima
    np.testing.assert_allclose(found.value, [rosen(x) for x in found.x])


def test_rows_do_not_know_of_each_other(rng):
    """Every row ends where it ends alone."""
    X = rng.normal(size=(7, 3))
    together = minimise_rows(rosenbrock, X, max_iter=25)
    for i in range(len(X)):
        alone = minimise_rows(rosenbrock, X[i : i + 1], max_iter=25)
        np.testing.assert_allclose(together.x[i], alone.x[0], rtol=1e-9)
        assert together.n_iter[i] == alone.n_iter[0]


def test_quadratics_are_solved_exactly(rng):
    A = rng.normal(size=(5, 6, 6))
    A = A @ A.transpose(0, 2, 1) + np.eye(6)
    b = rng.normal(size=(5, 6))

    def objective(X, rows):
        AX = np.einsum("ijk,ik->ij", A[rows], X)
        return np.sum(X * (AX / 2 - b[rows]), axis=1), AX - b[rows]

    found = minimise_rows(objective, np.zeros((5, 6)), tol=1e-10, max_iter=500)
    wanted = np.stack([np.linalg.solve(a, c) for a, c in zip(A, b, strict=True)])
    np.testing.assert_allclose(found.x, wanted, atol=1e-8)
    assert found.converged.all()


def test_walls_of_a_domain_are_respected():
    """log barriers: infinite beyond 0, and the first step would lead there."""

    def objective(X, rows):
        with np.errstate(invalid="ignore", divide="ignore"):
            f = np.where(X[:, 0] > 0, 5 * X[:, 0] - np.log(X[:, 0]), np.inf)
            return f, np.where(X > 0, 5 - 1 / X, 0.0)

    found = minimise_rows(objective, np.array([[3.0], [0.01]]), scale=100.0, tol=1e-9)
    np.testing.assert_allclose(found.x, 0.2, rtol=1e-6)


def test_too_few_steps_are_reported(rng):
    found = minimise_rows(rosenbrock, rng.normal(size=(3, 4)), max_iter=2)
    assert not found.converged.any()
    assert (found.n_iter == 2).all()


def test_values_never_grow(rng):
    X = rng.normal(size=(10, 3))
    before = [rosen(x) for x in X]
    for steps in (1, 3, 10):
        after = minimise_rows(rosenbrock, X, max_iter=steps).value
        assert np.all(after <= before)
        before = after
