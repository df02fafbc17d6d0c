"""Hilbertian metrics on histograms against their closed forms and the limits of the family."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import jensenshannon
from sklearn.metrics.pairwise import additive_chi2_kernel
from sklearn.model_selection import GridSearchCV

from mercer import (
    SVC,
    HilbertianMetric,
    Induced,
    KernelPCA,
    Schoenberg,
    is_negative_definite,
    load,
    save,
    two_sample_test,
)
from mercer.exceptions import DomainError
from mercer.testing import check_kernel

NAMES = ["hellinger", "chi2", "jensen-shannon", "total variation"]
FAMILY = [
    (1, 0.5), (1, -1), (1, 1), (inf, 1), (2, 1), (2, 0.7), (3, 3), (1.5, -2), (1, -inf),
    (inf, 0.5), (inf, -1), (inf, -inf), (inf, inf), (40, 40), (7.5, 7.4999), (0.9999 + 1, 1.9),
]  # fmt: skip


def formula(x, y, a, b):
    """As Hein and Bousquet write it, up to sign and factor; for finite and different exponents."""
    mean = [((x**g + y**g) / 2) ** (1 / g) for g in (a, b)]
    lone = [2 ** (-1 / g) if g > 0 else 0.0 for g in (a, b)]
    return (mean[0] - mean[1]) / (lone[0] - lone[1])


@pytest.fixture
def P(rng):
    P = rng.dirichlet(np.full(7, 0.4), 25)
    P[P < 0.03] = 0
    P[5] = P[6]
    return P / P.sum(axis=1, keepdims=True)


def test_named_members(P):
    p, q = P[0], P[1]
    values = {name: HilbertianMetric.from_name(name)(P) for name in NAMES}
    assert values["hellinger"][0, 1] == pytest.approx(np.sum((np.sqrt(p) - np.sqrt(q)) ** 2))
    assert values["chi2"] == pytest.approx(-additive_chi2_kernel(P), abs=1e-14)
    assert values["total variation"][0, 1] == pytest.approx(np.abs(p - q).sum())
    divergence = jensenshannon(p, q, base=2) ** 2
    assert values["jensen-shannon"][0, 1] == pytest.approx(2 * divergence)


@pytest.mark.parametrize(
    ("a", "b"), [(2, 1), (2, 0.7), (1.5, -2), (1, -1), (1, 0.5), (30, -40), (2, 1.985)]
)
def test_the_formula(a, b, rng):
    x, y = rng.uniform(0.1, 2, (2, 40))
    psi = HilbertianMetric(a, b)
    for i in range(40):
        found = psi(x[[i], None], y[[i], None])[0, 0]
        assert found == pytest.approx(formula(x[i], y[i], a, b), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("limit", "near"),
    [
        ((1, 1), (1 + 1e-6, 1 - 1e-6)),
        ((3, 3), (3 + 1e-6, 3 - 1e-6)),
        ((1 + 2e-3, 1), (1 + 2e-3, 1 - 1e-8)),
        ((inf, 1), (1e4, 1)),
        ((inf, -1), (1e4, -1)),
        ((1, -inf), (1, -1e4)),
        ((inf, -inf), (1e4, -1e4)),
    ],
)
def test_limits(limit, near, P):
    assert HilbertianMetric(*limit)(P) == pytest.approx(HilbertianMetric(*near)(P), abs=2e-4)


@pytest.mark.parametrize(("a", "b"), FAMILY)
def test_the_family(a, b, P):
    psi = HilbertianMetric(a, b)
    D = psi(P)
    assert is_negative_definite(psi, P), str(is_negative_definite(psi, P))
    assert D[5, 6] == pytest.approx(0, abs=1e-14)
    assert D.max() <= 2 + 1e-12
    assert psi(np.eye(4)) == pytest.approx(2 - 2 * np.eye(4))
    assert psi(3 * P, 3 * P) == pytest.approx(3 * D, abs=1e-12)  # homogeneous
    assert psi(sp.csr_matrix(P)) == pytest.approx(D, abs=1e-13)
    zero = np.zeros((1, 7))
    assert psi(P, zero)[:, 0] == pytest.approx(P.sum(axis=1))
    check_kernel(Schoenberg(psi, 0.7), P)
    check_kernel(Induced(psi), P)


def test_induced_kernels(P):
    p, q = P[0], P[1]
    kernels = {name: Induced(HilbertianMetric.from_name(name)) for name in NAMES}
    assert kernels["total variation"](P)[0, 1] == pytest.approx(np.minimum(p, q).sum())
    assert kernels["hellinger"](P)[0, 1] == pytest.approx(np.sqrt(p * q).sum())
    total = np.where(p + q > 0, p + q, 1)
    assert kernels["chi2"](P)[0, 1] == pytest.approx((2 * p * q / total).sum())


@pytest.mark.parametrize("name", NAMES)
def test_promises_of_other_forms(name, P):
    psi = HilbertianMetric.from_name(name)
    check_kernel(Schoenberg(psi, "median"), P.astype(np.float32))
    check_kernel(Schoenberg(psi, 2.0), sp.csr_matrix(P))
    check_kernel(Induced(psi).normalize(), P)
    assert Schoenberg(psi)(P.astype(np.float32)).dtype == np.float32


def test_more_bins_than_stay_in_cache(rng):
    P = rng.dirichlet(np.full(40_000, 0.1), 5)
    D = HilbertianMetric.from_name("jensen-shannon")(P)
    assert D[0, 1] == pytest.approx(2 * jensenshannon(P[0], P[1], base=2) ** 2)
    places = rng.integers(0, 10**6, (30, 10))
    row = np.repeat(np.arange(30), 10)
    thin = sp.csr_matrix((rng.uniform(size=300), (row, places.ravel())), (30, 10**6))
    D = HilbertianMetric()(thin)
    i, j = 2, 9
    dense = thin[[i, j]].toarray()
    assert D[i, j] == pytest.approx(HilbertianMetric()(dense)[0, 1])


def test_extreme_numbers():
    tiny, huge = 1e-300, 1e300
    for a, b in FAMILY:
        D = HilbertianMetric(a, b)([[tiny, huge], [huge, tiny], [0.0, 0.0], [huge, huge]])
        assert np.all(np.isfinite(D)), (a, b)
        assert D[0, 1] == pytest.approx(2 * huge)
        assert D[2, 0] == pytest.approx(huge)


def test_what_is_known_of_them():
    p = Schoenberg(HilbertianMetric()).properties
    assert p.universal
    assert p.strictly_pd
    assert p.characteristic
    assert str(p.domain) == "histograms: vectors of numbers >= 0"
    jump = Schoenberg(HilbertianMetric(inf, inf)).properties
    assert jump.strictly_pd
    assert jump.universal.unknown


def test_in_models(rng, tmp_path):
    a = rng.dirichlet(np.full(5, 0.5), 40)
    b = rng.dirichlet([2, 1, 0.5, 0.5, 0.5], 40)
    X, y = np.concatenate([a, b]), np.repeat([0, 1], 40)
    k = Schoenberg(HilbertianMetric.from_name("chi2"), "median")
    search = GridSearchCV(SVC(k), {"kernel__t": [0.1, 1.0], "kernel__psi__beta": [-1.0, 0.5]}, cv=3)
    model = search.fit(X, y).best_estimator_
    assert model.score(X, y) > 0.7
    save(model, tmp_path / "m")
    assert load(tmp_path / "m").predict(X).tolist() == model.predict(X).tolist()
    assert two_sample_test(a, b, k, rng=0).pvalue < 0.05
    assert KernelPCA(2, kernel=Induced(HilbertianMetric())).fit_transform(X).shape == (80, 2)


def test_bad_input(P):
    with pytest.raises(ValueError, match="alpha must be"):
        HilbertianMetric(0.5, 0.5)
    with pytest.raises(ValueError, match="beta must be"):
        HilbertianMetric(1, 0.2)
    with pytest.raises(ValueError, match="beta must be at most alpha"):
        HilbertianMetric(1, 2)(P)
    with pytest.raises(ValueError, match="name must be one of"):
        HilbertianMetric.from_name("euclid")
    with pytest.raises(DomainError, match="numbers >= 0"):
        HilbertianMetric()(-P)
    with pytest.raises(DomainError, match="NaN"):
        HilbertianMetric()([[np.nan, 1.0]])
    with pytest.raises(ValueError, match="features"):
        HilbertianMetric()(P, P[:, :3])
    with pytest.raises(DomainError, match="no samples"):
        HilbertianMetric()(P[:0])
