import warnings

import numpy as np
import pytest

from mercer import (
    SVC,
    Custom,
    DynamicTimeWarping,
    Gaussian,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    GlobalAlignment,
    KernelLogisticRegression,
    KernelPCA,
    KernelRidge,
    OneClassSVM,
    Precomputed,
    change_points,
    mmd_interval,
)
from mercer.exceptions import IndefiniteKernelWarning
from mercer.kernels.indefinite import (
    is_negative,
    known_indefinite,
    warn_if_indefinite,
    why_no_factor,
)
from mercer.models.common import check_data
from mercer.solvers.cholesky import NotPositiveDefiniteError
from mercer.testing import check_psd

SERIES = [[0.0], [0.0, 0.0], [1.0], [1.0, 1.0, 2.0], [2.0, 0.0], [0.0, 2.0, 2.0]]
TARGET = np.array([0.0, 0.0, 1.0, 1.0, 0.0, 1.0])


@pytest.fixture
def indefinite(rng):
    """A symmetric matrix with eigenvalues from about -8 to 8."""
    K = rng.standard_normal((30, 30)) * 0.7
    return K + K.T


@pytest.mark.parametrize("gamma", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("band", [None, 2, 5])
def test_the_witness_against_time_warping(gamma, band):
    """(0), (0, 0), (1): the matrix [[1, 1, a], [1, 1, a^2], [a, a^2, 1]] has a determinant < 0."""
    k = DynamicTimeWarping(gamma, band)
    K = k([[0.0], [0.0, 0.0], [1.0]])
    a = np.exp(-gamma)
    np.testing.assert_allclose(K, [[1, 1, a], [1, 1, a * a], [a, a * a, 1]])
    assert k.properties.psd.no
    if gamma < 10:
        assert np.linalg.det(K) < 0


def test_a_band_of_one_compares_time_by_time(rng):
    """exp(-gamma |x - y|^2) for one length and 0 otherwise is a kernel."""
    X = [rng.standard_normal(T) for T in (3, 3, 4, 3, 4, 1, 1)]
    k = DynamicTimeWarping(0.3, band=1)
    brute = [
        [np.exp(-0.3 * np.sum((x - y) ** 2)) if len(x) == len(y) else 0.0 for y in X] for x in X
    ]
    np.testing.assert_allclose(k(X), brute)
    assert k.properties.psd
    assert check_psd(k, X)


@pytest.mark.parametrize(
    ("kernel", "known"),
    [
        (DynamicTimeWarping(), True),
        (DynamicTimeWarping().on("signal"), True),
        (2 * DynamicTimeWarping(), True),
        (DynamicTimeWarping() + Gaussian(), False),
        (DynamicTimeWarping().through(), False),
        (Custom(min), False),
        (GlobalAlignment(), False),
        ("sigmoid", False),
        (min, False),
    ],
)
def test_what_is_known(kernel, known):
    assert (known_indefinite(kernel) is not None) == known


class Estimator:
    if_indefinite = "nothing holds"


def test_the_warning_says_who_why_and_what_to_do():
    with pytest.warns(IndefiniteKernelWarning) as caught:
        warn_if_indefinite(2 * DynamicTimeWarping(), "Estimator", "nothing holds")
    (one,) = caught
    assert str(one.message).startswith("Estimator: 2 * DynamicTimeWarping() is not positive")
    assert "so nothing holds. Use" in str(one.message)
    assert "(2 * DynamicTimeWarping()).through()" in str(one.message)


def test_estimators_warn_when_they_are_fitted_only():
    with pytest.warns(IndefiniteKernelWarning, match="Estimator.*so nothing holds"):
        check_data(Estimator(), SERIES, DynamicTimeWarping(), reset=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_data(Estimator(), SERIES, DynamicTimeWarping(), reset=False)


@pytest.mark.parametrize(
    "model",
    [KernelRidge, KernelLogisticRegression, GaussianProcessClassifier, OneClassSVM, SVC],
)
def test_models_warn_of_what_is_known(model):
    match = f"{model.__name__}: DynamicTimeWarping"
    with pytest.warns(IndefiniteKernelWarning, match=match) as caught:
        model(kernel=DynamicTimeWarping(1.0)).fit(SERIES, TARGET)
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize(
    "model",
    [
        KernelLogisticRegression(kernel=Precomputed()),
        GaussianProcessRegressor(kernel=Precomputed(), optimizer=None),
        GaussianProcessClassifier(kernel=Precomputed(), optimizer=None),
    ],
    ids=lambda model: type(model).__name__,
)
def test_problems_without_a_solution_name_the_eigenvalue(model, indefinite, rng):
    y = rng.integers(0, 2, len(indefinite))
    smallest = np.linalg.eigvalsh(indefinite)[0]
    with pytest.raises(ValueError, match=r"smallest eigenvalue is -\d.*through\(\)") as caught:
        model.fit(indefinite, y)
    assert f"{smallest:.2g}" in str(caught.value)


def test_ridge_regression_names_it_and_solves_the_system(indefinite, rng):
    y, A = rng.standard_normal(len(indefinite)), indefinite + np.eye(len(indefinite))
    with pytest.warns(IndefiniteKernelWarning, match=r"smallest eigenvalue is -\d.*through\(\)"):
        model = KernelRidge(kernel="precomputed").fit(indefinite, y)
    np.testing.assert_allclose(A @ model.dual_coef_, y, atol=1e-8)


def test_components_with_negative_eigenvalues_are_named(indefinite):
    with pytest.warns(IndefiniteKernelWarning) as caught:
        KernelPCA(kernel=DynamicTimeWarping(1.0)).fit(SERIES)
    assert str(caught[0].message).startswith("KernelPCA: DynamicTimeWarping")
    with pytest.warns(IndefiniteKernelWarning, match="smallest eigenvalue is -"):
        KernelPCA(kernel="precomputed").fit(indefinite)


def test_a_large_penalty_makes_up_for_it(indefinite, rng):
    y = rng.standard_normal(len(indefinite))
    alpha = 1 - np.linalg.eigvalsh(indefinite)[0]
    model = KernelRidge(alpha=alpha, kernel="precomputed").fit(indefinite, y)
    expected = np.linalg.solve(indefinite + alpha * np.eye(len(y)), y)
    np.testing.assert_allclose(model.dual_coef_, expected)


def test_the_remedy_works(indefinite, rng):
    y = rng.integers(0, 2, len(indefinite))
    for model in (KernelRidge(alpha=1e-3), KernelLogisticRegression(), OneClassSVM()):
        kernel = Precomputed().through()
        fitted = model.set_params(kernel=kernel).fit(indefinite, y)
        assert np.isfinite(fitted.predict(indefinite)).all()
    np.testing.assert_allclose(kernel(indefinite), indefinite @ indefinite)


def test_why_there_is_no_factor(rng):
    A = rng.standard_normal((2500, 3))
    assert "singular" in why_no_factor(A @ A.T, 0.0)
    A[:, 0] *= 10
    assert "smallest eigenvalue is -" in why_no_factor((A * [1, 1, -1]) @ A.T, 0.1)
    assert "penalty" not in why_no_factor(np.diag([1.0, -1.0]))
    assert not is_negative(-1e-9, 1.0)
    assert issubclass(NotPositiveDefiniteError, ValueError)


def test_change_points_and_intervals_say_so(rng):
    series = [rng.standard_normal(4) for _ in range(20)]
    found = change_points(series, 1, DynamicTimeWarping())
    assert "costs of segments are not sums of squared distances" in found.notes[0]
    assert not change_points(series, 1, GlobalAlignment()).notes
    with pytest.warns(IndefiniteKernelWarning, match=r"mmd_interval: Dynamic.*so the estimate is"):
        mmd_interval(series[:10], series[10:], DynamicTimeWarping())
