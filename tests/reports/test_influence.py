import numpy as np
import pytest

from mercer import SVC, Gaussian, GaussianProcessRegressor, KernelRidge
from mercer.reports.influence import _coefficients, without_each
from mercer.reports.subject import Clock, subject_of


def refitted(model, X, y):
    """The same by brute force: fit without each row."""
    from sklearn.base import clone

    full, found = model.predict(X), []
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        other = clone(model).fit(X[rest], y[rest])
        found.append(np.sqrt(np.mean((full - other.predict(X)) ** 2)))
    return np.array(found)


@pytest.mark.parametrize(
    "model",
    [
        KernelRidge(0.3, kernel=Gaussian(1.0)),
        GaussianProcessRegressor(1 * Gaussian(1.0), alpha=0.2, optimizer=None, normalize_y=False),
    ],
    ids=["ridge", "process"],
)
def test_influence_is_that_of_leaving_rows_out(wave, model):
    X, y = wave[0][:40], wave[1][:40]
    y[7] += 5
    subject = subject_of(model.fit(X, y), X, y, Clock(60))
    found = without_each(subject)
    np.testing.assert_allclose(found, refitted(model, X, y), rtol=1e-6, atol=1e-10)
    assert found.argmax() == 7


def test_support_vectors_have_their_coefficients(rng):
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    model = SVC(kernel=Gaussian(1.0)).fit(X, y)
    found = _coefficients(subject_of(model, X, y, Clock(60)))
    np.testing.assert_allclose(found[model.support_], np.abs(model.dual_coef_[0]))
    assert np.flatnonzero(found).tolist() == sorted(model.support_)
