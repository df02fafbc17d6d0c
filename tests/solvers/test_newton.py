import numpy as np
import pytest

from mercer import Gaussian, losses
from mercer.solvers import newton
from mercer.solvers.newton import Preconditioner, dense_system
from mercer.solvers.representer import solve_representer


@pytest.fixture
def problem(rng):
    X = rng.uniform(-2, 2, (1100, 3))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    return X, np.where(f + rng.logistic(size=1100) > 0, 1.0, -1.0), np.digitize(f, [-0.5, 0.5])


@pytest.mark.parametrize("several", [False, True])
def test_a_factor_in_single_precision_leads_to_the_same_solution(problem, several, monkeypatch):
    X, signs, codes = problem
    loss, y = (losses.Multinomial(), codes) if several else (losses.Logistic(), signs)
    used = []
    factor = newton.CholeskyFactor
    monkeypatch.setattr(newton, "CholeskyFactor", lambda A: used.append(A.dtype) or factor(A))
    quick = solve_representer(Gaussian().gram(X), y, loss, 0.1)
    assert set(used) == {np.dtype(np.float32)}
    used.clear()
    exact = solve_representer(Gaussian().gram(X), y, loss, 0.1, tol=1e-9)
    assert set(used) == {np.dtype(np.float64)}
    assert quick.converged
    assert quick.stats["violation"] <= 1e-6
    assert quick.stats["objective"] == pytest.approx(exact.stats["objective"], rel=1e-9)
    np.testing.assert_allclose(quick.coef, exact.coef, atol=1e-4)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_preconditioner_solves_its_system(rng, intercept):
    B = rng.standard_normal((30, 30))
    K, h, alpha = B @ B.T, rng.uniform(0, 1, 30), 0.3
    h[4] = 0
    R = rng.standard_normal((30, 2))
    R[4] = 0
    s = R.sum(axis=0) - alpha * rng.standard_normal(2)
    c, b = Preconditioner(dense_system(K), h, alpha, intercept, exact=True)(R, s)
    np.testing.assert_allclose(alpha * c + h[:, None] * (K @ c + b), R, atol=1e-9)
    if intercept:
        np.testing.assert_allclose((h[:, None] * (K @ c + b)).sum(axis=0), s, atol=1e-8)


@pytest.mark.parametrize("n", [40, 60, 100, 173])
@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_samples_that_are_all_alike(n, alpha):
    """K sees nothing of the residuals once they add up to zero: lengths of steps were rounding."""
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    gram = Gaussian().gram(np.ones((n, 2)))
    found = solve_representer(gram, y, losses.Logistic(), alpha, tol=1e-10)
    assert found.converged
    share = np.mean(y > 0)
    scores = found.coef.sum() + found.intercept
    np.testing.assert_allclose(scores, np.log(share / (1 - share)), rtol=1e-9)
    assert np.ptp(found.coef[y > 0]) < 1e-8 / alpha
