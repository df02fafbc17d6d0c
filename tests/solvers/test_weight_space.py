import numpy as np
import pytest
import scipy.sparse as sp

from mercer import Gaussian, Linear
from mercer.exceptions import MemoryPlanError
from mercer.solvers.cholesky import CholeskyFactor
from mercer.solvers.weight_space import FeatureFactor, factors_of, pays


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_it_is_a_factor_of_the_whole_matrix(rng, kind):
    phi, noise = rng.standard_normal((40, 5)), rng.uniform(0.5, 2, 40)
    few, whole = FeatureFactor(kind(phi), noise), CholeskyFactor(phi @ phi.T + np.diag(noise))
    Y, new = rng.standard_normal((40, 3)), rng.standard_normal((6, 5))
    np.testing.assert_allclose(few.solve(Y), whole.solve(Y), atol=1e-10)
    np.testing.assert_allclose(few.solve(Y[:, 0]), whole.solve(Y[:, 0]), atol=1e-10)
    assert few.logdet() == pytest.approx(whole.logdet())
    root, half = few.root(kind(new)), whole.half_solve(phi @ new.T)
    np.testing.assert_allclose(root.T @ root, new @ new.T - half.T @ half, atol=1e-9)


def test_few_features_pay_and_must_fit_the_plan(rng):
    X = rng.standard_normal((50, 4))
    plain, many = Linear().gram(X), Gaussian().gram(X)
    assert pays(plain)
    assert not pays(many)
    noise = np.full((50, 2), 0.1)
    for gram, kind in ((plain, FeatureFactor), (many, CholeskyFactor)):
        assert [type(factor) for factor in factors_of(gram, noise)] == [kind] * 2
        gram.limit = 1000.0
        with pytest.raises(MemoryPlanError, match="the plan allows 1 kB"):
            factors_of(gram, noise)


@pytest.mark.parametrize("noise", [1e-2, 1e-4, 1e-6])
def test_a_trend_over_years_with_little_noise(rng, noise):
    """Weights by an orthogonal factorisation; K is 1e14 times the noise."""
    n = 200
    phi = np.column_stack([np.linspace(1950, 2020, n), np.ones(n)])
    y = 0.02 * (phi[:, 0] - 1980) + np.sqrt(noise) * rng.standard_normal(n)
    rows = np.vstack([phi, np.sqrt(noise) * np.eye(2)])
    wanted = phi @ np.linalg.lstsq(rows, np.append(y, np.zeros(2)), rcond=None)[0]
    coef = FeatureFactor(phi, np.full(n, noise)).solve(y)
    assert np.allclose(phi @ (phi.T @ coef), wanted, atol=1e-2 * np.sqrt(noise) + 1e-5)
