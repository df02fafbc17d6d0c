"""Power series in the inner product against closed forms."""

from __future__ import annotations

from fractions import Fraction
from math import factorial

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import Taylor
from mercer.exceptions import DomainError, NotAKernelError

rng = np.random.default_rng(0)
X, Y = 0.3 * rng.normal(size=(8, 3)), 0.3 * rng.normal(size=(5, 3))
T = X @ Y.T


def geometric(n):
    return 1.0


def odd(n):
    return float(n % 2) / factorial(n)


ALL = [Taylor([1, 0, 2, 0.5]), Taylor(geometric, radius=1), Taylor(odd, radius=np.inf)]


@pytest.mark.parametrize(
    ("kernel", "wanted"),
    [
        (Taylor([1, 0, 2]), 1 + 2 * T**2),
        (Taylor(np.array([0.0, 3.0])), 3 * T),
        (Taylor(geometric, radius=1), 1 / (1 - T)),
        (Taylor(lambda n: 1 / factorial(n), radius=np.inf), np.exp(T)),
        (Taylor(odd, radius=np.inf), np.sinh(T)),
    ],
    ids=lambda v: repr(v) if not isinstance(v, np.ndarray) else "",
)
def test_formulas(kernel, wanted):
    assert np.allclose(kernel(X, Y), wanted, rtol=1e-12)


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_gram_types_and_gradient(kernel):
    K = kernel(X)
    assert np.array_equal(K, K.T)
    assert np.allclose(kernel.diag(kernel.prepare(X)), np.diag(kernel(X, X.copy())))
    assert np.linalg.eigvalsh(K)[0] > -1e-13 * np.trace(K)
    assert kernel(X.astype(np.float32)).dtype == np.float32
    S = sp.csr_matrix(np.where(X > 0, X, 0))
    assert np.allclose(kernel(S), kernel(S.toarray()), rtol=1e-13)
    W, h = rng.normal(size=(8, 5)), 1e-6
    step = np.array([h, 0, 0])
    wanted = (W * (kernel(X + step, Y) - kernel(X - step, Y))).sum(axis=1) / (2 * h)
    assert np.allclose(kernel.grad_input(X, Y, W)[:, 0], wanted, atol=1e-7)


# ---- radius and coefficients --------------------------------------------------------------
def test_radius():
    k = Taylor(geometric, radius=1)
    with pytest.raises(DomainError, match=r"sample 1 has \|\|x\|\|\^2 >= 1, .*rescale X"):
        k([[0.1, 0.1], [0.6, 0.8]])
    with pytest.raises(DomainError, match="sample 0"):
        k(sp.csr_matrix([[1.0, 0.0]]))
    assert Taylor([1, 1], radius=4)([[1.9]]).item() == pytest.approx(4.61)
    with pytest.raises(DomainError):
        Taylor([1, 1], radius=4)([[2.0]])


def test_series_close_to_its_radius(monkeypatch):
    k = Taylor(geometric, radius=1)
    assert k([[np.sqrt(0.99)]]).item() == pytest.approx(100, rel=1e-9)
    monkeypatch.setattr(Taylor, "_most_terms", 1000)
    with pytest.raises(DomainError, match="not converged to tol=1e-15 after 1000 terms"):
        k([[np.sqrt(0.99)]])


def test_negative_coefficients():
    with pytest.raises(NotAKernelError, match="every coefficient must be >= 0"):
        Taylor([1, -1])
    with pytest.raises(NotAKernelError, match="every coefficient must be >= 0"):
        Taylor([1]).set_params(coefficients=[-1])
    with pytest.raises(NotAKernelError, match="coefficient a_2 = -1 must be >= 0"):
        Taylor(lambda n: 1.0 - n, radius=1)(X)


@pytest.mark.parametrize("bad", [[], [[1.0]], ["a"], [np.nan], [np.inf], 3, None])
def test_bad_coefficients(bad):
    with pytest.raises(ValueError, match="coefficients must be a list of finite numbers >= 0"):
        Taylor(bad)


def test_radius_is_needed():
    with pytest.raises(ValueError, match="radius must be given for an infinite series"):
        Taylor(geometric)
    with pytest.raises(ValueError, match="radius must be given for an infinite series"):
        Taylor(geometric, radius=1).set_params(radius=None)(X)
    for radius in (0, -1.0, "a"):
        with pytest.raises(ValueError, match="radius must be positive"):
            Taylor([1], radius=radius)


def test_tolerance_is_not_tuned():
    assert len(Taylor([1, 2]).theta) == 0


# ---- large inner products --------------------------------------------------------------------
def _exponential(n):
    return Fraction(1, factorial(n))


@pytest.mark.parametrize("t", [0.5, 30.0, 200.0, 700.0])
def test_large_powers_meet_small_coefficients(t):
    X = np.array([[0.0], [np.sqrt(t)]])
    got = Taylor(_exponential, radius=np.inf)(X)
    assert np.allclose(got, np.exp(X @ X.T), rtol=1e-12)


def test_coefficients_that_become_zero_too_soon_are_noticed():
    def rounded(n):
        return 1 / factorial(n) if n <= 170 else 0.0

    def even(n):
        return 0.0 if n % 2 else rounded(n)

    for coefficients, value in ((rounded, np.exp), (even, np.cosh)):
        kernel = Taylor(coefficients, radius=np.inf)
        assert kernel([[5.0]])[0, 0] == pytest.approx(value(25.0), rel=1e-12)
        with pytest.raises(DomainError, match="too small for a float"):
            kernel([[10.0]])


@pytest.mark.parametrize("coefficients", [_exponential, [1, 0, 2]])
def test_values_beyond_floating_point_numbers_are_refused(coefficients):
    with pytest.raises(DomainError, match="too large to be represented"):
        Taylor(coefficients, radius=np.inf)([[1e90]])
    with pytest.raises(DomainError, match="too large to be represented"):
        Taylor(coefficients, radius=np.inf)(np.array([[1e18]], dtype="f4"))
