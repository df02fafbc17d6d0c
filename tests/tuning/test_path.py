import numpy as np
import pytest

from mercer import Gaussian, KernelRidge, ridge_path


@pytest.fixture
def data(rng):
    X = rng.uniform(0, 6, (60, 1))
    return X, np.sin(X[:, 0]) + 0.1 * rng.standard_normal(60)


def test_path_equals_separate_fits(data):
    X, y = data
    alphas = [1e-3, 0.1, 10.0]
    path = ridge_path(Gaussian(), X, y, alphas)
    for i, alpha in enumerate(alphas):
        model = KernelRidge(alpha, kernel=Gaussian()).fit(X, y)
        np.testing.assert_allclose(path.coefs[i], model.dual_coef_, rtol=1e-6, atol=1e-8)
        assert path.loo[i] == pytest.approx(np.mean((y - model.leave_one_out()) ** 2))
    assert np.all(np.diff(path.dof) < 0)
    assert path.best_alpha == alphas[int(np.argmin(path.loo))]


def test_weights_and_outputs(data):
    X, y = data
    w = np.linspace(0.1, 1, len(y))
    path = ridge_path(Gaussian(), X, np.column_stack([y, 2 * y]), [0.1], sample_weight=w)
    assert path.coefs.shape == (1, 60, 2)
    model = KernelRidge(0.1, kernel=Gaussian()).fit(X, y, w)
    np.testing.assert_allclose(path.coefs[0, :, 0], model.dual_coef_, rtol=1e-6, atol=1e-8)


def test_bad_input(data):
    X, y = data
    with pytest.raises(ValueError, match="alphas must be > 0"):
        ridge_path(Gaussian(), X, y, [0.0])
    with pytest.raises(ValueError, match="59 targets, but X has 60 samples"):
        ridge_path(Gaussian(), X, y[:-1], [1.0])


def test_plot(data):
    pytest.importorskip("matplotlib").use("agg")
    X, y = data
    ax = ridge_path(Gaussian(), X, y, np.logspace(-3, 2, 9)).plot()
    assert ax.get_xlabel() == "penalty alpha"
