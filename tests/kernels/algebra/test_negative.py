"""Negative definite functions and the kernels made of them, against formulas and known kernels."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import (
    SVC,
    Custom,
    Distance,
    EuclideanPower,
    Gaussian,
    GaussianProcessRegressor,
    HilbertianMetric,
    Induced,
    Laplacian,
    Linear,
    NegativeDefinite,
    Schoenberg,
    Spectrum,
    SquaredMetric,
    is_negative_definite,
    load,
    mmd,
    parse,
    save,
)
from mercer.exceptions import UnresolvedError
from mercer.testing import check_kernel

WORDS = ["abab", "abc", "cab", "bbb", "cccab", "a", "bca", "cacb"]


def differ(x, y):
    return float(len(set(x) ^ set(y)))


@pytest.fixture
def X(rng):
    return rng.normal(size=(30, 3))


def test_exponentials_are_the_known_kernels(X):
    assert Schoenberg(EuclideanPower(2.0), 0.3)(X) == pytest.approx(Gaussian.from_gamma(0.3)(X))
    assert Schoenberg(EuclideanPower(1.0), 0.5)(X) == pytest.approx(Laplacian(2.0)(X))
    assert Schoenberg(SquaredMetric(Linear()), 0.3)(X) == pytest.approx(
        Gaussian.from_gamma(0.3)(X), abs=1e-12
    )


@pytest.mark.parametrize("exponent", [0.3, 1.0, 1.7, 2.0])
def test_induced_kernels_are_those_of_distances(X, exponent):
    psi = EuclideanPower(exponent)
    assert Induced(psi)(X) == pytest.approx(Distance(exponent)(X), abs=1e-12)
    origin = X[3]
    assert Induced(psi, origin)(X) == pytest.approx(Distance(exponent, origin)(X), abs=1e-12)
    sparse = sp.csr_matrix(X)
    assert Induced(psi)(sparse) == pytest.approx(Distance(exponent)(X), abs=1e-12)


def test_psi_is_the_squared_metric_of_the_induced_kernel(X):
    for psi in (EuclideanPower(1.2), SquaredMetric(Gaussian())):
        k = Induced(psi, X[0])
        assert k.distance(X) ** 2 == pytest.approx(psi(X), abs=1e-7)
    again = SquaredMetric(Distance(1.2))
    assert again(X) == pytest.approx(EuclideanPower(1.2)(X), abs=1e-12)


def test_a_psi_that_is_not_0_on_the_diagonal(X):
    """psi(x, y) + a + b is as negative definite as psi."""

    def shifted(x, y):
        return float(np.abs(x - y).sum() + 0.7)

    k = Induced(shifted, X[0])
    assert k(X) == pytest.approx(Induced(NegativeDefinite(shifted), X[0])(X))
    K = k(X)
    assert K[0] == pytest.approx(np.zeros(30), abs=1e-12)
    assert np.linalg.eigvalsh(K)[0] > -1e-10
    assert Schoenberg(shifted, 2.0)(X)[3, 3] == pytest.approx(np.exp(-1.4))


def test_mmd_does_not_depend_on_the_origin(X):
    A, B = X[:12], X[12:] + 0.5
    values = [mmd(A, B, Induced(EuclideanPower(1.5), z)) for z in (None, X[0], 10 * X[1])]
    assert values == pytest.approx([values[0]] * 3)


def test_functions_of_users():
    K = Schoenberg(differ, 0.5)(WORDS)
    assert pytest.approx(np.exp(-0.5 * differ(WORDS[0], WORDS[4]))) == K[0, 4]
    assert Induced(differ, "")(WORDS)[0, 1] == 2  # a, b
    batch = NegativeDefinite(lambda X, Y: [[differ(x, y) for y in Y] for x in X], batch=True)
    assert Schoenberg(batch, 0.5)(WORDS) == pytest.approx(K)
    assert Schoenberg(differ).properties.psd.unknown
    assert Induced(differ, "").properties.psd.unknown


@pytest.mark.parametrize(
    "psi",
    [
        EuclideanPower(0.7),
        EuclideanPower(2.0),
        SquaredMetric(Gaussian(0.8)),
        SquaredMetric(Gaussian("median")),
        SquaredMetric(Linear() + Laplacian()),
    ],
    ids=repr,
)
def test_promises(psi, X):
    check_kernel(Schoenberg(psi, 0.4), X)
    check_kernel(Schoenberg(psi, "median"), X)
    check_kernel(Induced(psi, np.zeros(3)), X)
    check_kernel(Schoenberg(psi, 0.4), X.astype(np.float32))


def test_promises_on_strings():
    psi = SquaredMetric(Spectrum(2).normalize())
    check_kernel(Schoenberg(psi, "median"), WORDS)
    check_kernel(Induced(psi, "ab"), WORDS)
    check_kernel(Schoenberg(differ), WORDS)
    check_kernel(Induced(NegativeDefinite(differ), "c") + 1, WORDS)


def test_the_median(X):
    psi = EuclideanPower(1.0)
    k = Schoenberg(psi, "median").resolve(X)
    assert k.t == pytest.approx(1 / np.median(psi(X)[np.triu_indices(30, 1)]))
    assert Schoenberg(psi, "median").resolve(np.ones((4, 2))).t == 1.0
    with pytest.raises(UnresolvedError, match="median"):
        Schoenberg(psi, "median")(X[:4], X)


def test_what_is_known_of_them():
    gaussian = Schoenberg(EuclideanPower(2.0)).properties
    assert gaussian.universal
    assert gaussian.characteristic
    assert gaussian.stationary
    assert gaussian.bounded
    on_strings = Schoenberg(SquaredMetric(Spectrum(2))).properties
    assert on_strings.psd
    assert on_strings.bounded
    assert on_strings.strictly_pd.unknown
    assert Schoenberg(SquaredMetric(Gaussian())).properties.characteristic
    assert Induced(EuclideanPower(1.0)).properties.strictly_pd.no
    assert Schoenberg(SquaredMetric(Custom(differ))).properties.psd.unknown
    assert "Schoenberg" in Schoenberg(EuclideanPower()).explain()


def test_the_numerical_test(X, rng):
    assert is_negative_definite(EuclideanPower(1.9), X)
    assert is_negative_definite(HilbertianMetric(), np.abs(X))
    found = is_negative_definite(lambda x, y: np.linalg.norm(x - y) ** 3, X)
    assert not found
    assert found.max_eigenvalue > 0.1
    D = np.linalg.norm(X[:, None] - X, axis=2) ** 3
    c = found.witness
    assert abs(c.sum()) < 1e-10
    assert c @ D @ c == pytest.approx(found.max_eigenvalue)
    assert "not negative definite" in str(found)
    assert is_negative_definite(D**0.5)  # a matrix
    assert is_negative_definite((D ** (1 / 3)).astype(np.float32))
    assert "no evidence against" in str(is_negative_definite(D**0.5))
    assert "not symmetric" in str(is_negative_definite(rng.normal(size=(5, 5))))
    assert not is_negative_definite(-(D**0.5))
    assert is_negative_definite(np.full((4, 4), 3.0))  # constants are negative definite
    assert is_negative_definite([[0.0]])


def test_schoenberg_theorem_both_ways(rng):
    """exp(-t psi) is positive definite for all t exactly if psi is negative definite."""
    x = rng.uniform(-1, 1, 12)
    for power in (1.0, 2.0, 2.5, 4.0):
        D = np.abs(np.subtract.outer(x, x)) ** power
        lowest = min(np.linalg.eigvalsh(np.exp(-t * D))[0] for t in (1e-3, 0.1, 1, 10))
        assert bool(is_negative_definite(D)) == (power <= 2)
        assert (lowest > -1e-13) == (power <= 2)


def test_text_and_files(tmp_path, X):
    for k in (
        Schoenberg(EuclideanPower(0.5), 2.0),
        3 * Induced(HilbertianMetric(np.inf, 1.0)) + 1,
        Schoenberg(SquaredMetric(Gaussian(2.0) + Linear()), "median"),
        Induced(EuclideanPower(), [1.0, 2.0, 3.0]),
    ):
        assert parse(repr(k)) == k
        save(k, tmp_path / "k")
        assert load(tmp_path / "k") == k
    with pytest.raises(ValueError, match="a function"):
        save(Schoenberg(differ), tmp_path / "k")
    with pytest.raises(ValueError, match="is not a kernel"):
        parse("HilbertianMetric()")


def test_in_models(X, rng):
    y = X[:, 0] ** 2 - X[:, 1]
    model = GaussianProcessRegressor(Schoenberg(EuclideanPower(1.9), 0.5)).fit(X, y)
    assert model.score(X, y) > 0.9
    assert (
        SVC(Schoenberg(SquaredMetric(Spectrum(2)), "median"))
        .fit(WORDS, [0, 1] * 4)
        .score(WORDS, [0, 1] * 4)
        >= 0.5
    )


def test_bad_input(X):
    with pytest.raises(ValueError, match="psi must be"):
        Schoenberg(Gaussian())
    with pytest.raises(ValueError, match="psi must be"):
        Schoenberg(3.0)
    with pytest.raises(ValueError, match="t must be"):
        Schoenberg(EuclideanPower(), -1.0)
    with pytest.raises(ValueError, match="exponent must be"):
        EuclideanPower(2.5)
    with pytest.raises(ValueError, match="origin"):
        Induced(differ)(WORDS)
    with pytest.raises(ValueError, match="square"):
        is_negative_definite(X)
    with pytest.raises(ValueError, match="NaN"):
        is_negative_definite(np.full((3, 3), np.nan))
    with pytest.raises(ValueError, match="samples X"):
        is_negative_definite(differ)
    with pytest.raises(TypeError, match="SquaredMetric"):
        is_negative_definite(Gaussian(), X)
