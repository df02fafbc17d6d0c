"""Kernels on bags of instances against sums over all pairs, and against extremes."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from mercer import (
    Categorical,
    Gaussian,
    Linear,
    MeanEmbedding,
    Minimax,
    MultiInstance,
    Plan,
    Polynomial,
    Spectrum,
)
from mercer.exceptions import DomainError
from mercer.testing import check_kernel, check_kind

POINTS = [Gaussian("median"), Linear(), Polynomial(2)]


@pytest.fixture
def bags(rng):
    return [rng.normal(rng.normal(), 1, (rng.integers(1, 7), 2)) for _ in range(30)]


@pytest.mark.parametrize("power", [1, 2, 3])
@pytest.mark.parametrize("k", [Gaussian(0.8), Linear()], ids=repr)
def test_sums_over_all_pairs(k, power, bags):
    wanted = np.array([[(k(a, b) ** power).sum() for b in bags] for a in bags])
    sizes, norms = np.array([len(bag) for bag in bags]), np.sqrt(np.diagonal(wanted))
    assert MultiInstance(k, power)(bags) == pytest.approx(wanted, rel=1e-10)
    by_size = MultiInstance(k, power, "size")
    assert by_size(bags) == pytest.approx(wanted / np.multiply.outer(sizes, sizes), rel=1e-10)
    assert by_size(bags) == pytest.approx(MeanEmbedding(k**power)(bags))
    by_diagonal = MultiInstance(k, power, "diagonal")
    assert by_diagonal(bags) == pytest.approx(wanted / np.multiply.outer(norms, norms), rel=1e-9)
    assert by_diagonal(bags) == pytest.approx(MultiInstance(k, power).normalize()(bags))


def test_the_sum_of_two_by_hand():
    k = Gaussian()
    a, b, c = [0.0], [1.0], [3.0]
    assert MultiInstance(k)([[a, b]], [[c]])[0, 0] == k([a], [c])[0, 0] + k([b], [c])[0, 0]


def test_extremes(bags):
    table = np.array([[*bag.min(axis=0), *bag.max(axis=0)] for bag in bags])
    for k in (Polynomial(3), Gaussian(0.7)):
        assert Minimax(k)(bags) == pytest.approx(k(table))
    assert Minimax(Gaussian("median")).resolve(bags).kernel == Gaussian("median").resolve(table)
    assert Minimax(Linear())([sp.csr_matrix(b) for b in bags]) == pytest.approx(Linear()(table))
    both = Minimax(Gaussian(0.7)) + MultiInstance(Gaussian(0.7))
    assert both(bags) == pytest.approx(Gaussian(0.7)(table) + MultiInstance(Gaussian(0.7))(bags))


@pytest.mark.parametrize("k", POINTS, ids=repr)
def test_promises(k, bags):
    for normalization in (None, "size", "diagonal"):
        check_kernel(MultiInstance(k, 2, normalization), bags)
    check_kernel(Minimax(k), bags)
    check_kernel(MultiInstance(k), [bag.astype(np.float32) for bag in bags])
    check_kernel(Minimax(k), [bag.astype(np.float32) for bag in bags])


def test_promises_of_other_instances(rng):
    texts = [
        ["".join(rng.choice(list("ab"), 6)) for _ in range(rng.integers(1, 4))] for _ in "x" * 20
    ]
    check_kind("bags", texts, MultiInstance(Spectrum(2), normalization="diagonal"))
    m = MultiInstance(Spectrum(2))
    low = m.gram(texts, Plan(storage="lowrank")).to_dense()
    assert low == pytest.approx(m.gram(texts, Plan(storage="dense")).to_dense())
    assert MultiInstance(Categorical())([["a", "a", "b"], ["a"]])[0].tolist() == [5, 2]


def test_what_is_known_of_them():
    p = MultiInstance(Gaussian()).properties
    assert str(p.domain) == "bags of vectors in R^d"
    assert p.bounded.no
    assert p.strictly_pd.no
    assert p.positive_diag
    assert MultiInstance(Gaussian(), normalization="diagonal").properties.bounded
    assert MultiInstance(Linear()).properties.finite_dim
    assert Minimax(Gaussian()).properties.strictly_pd.no
    assert Minimax(Gaussian()).properties.bounded
    assert "sums of features" in MultiInstance(Gaussian()).explain()


def test_two_bags_together_are_singular(rng):
    P, Q = rng.normal(size=(2, 3, 2))
    K = MultiInstance(Gaussian())([P, Q, np.concatenate([P, Q])])
    assert np.linalg.eigvalsh(K)[0] == pytest.approx(0, abs=1e-12)


def test_bad_input(bags):
    with pytest.raises(ValueError, match="power must be an integer >= 1"):
        MultiInstance(Gaussian(), 0)
    with pytest.raises(ValueError, match="normalization must be one of"):
        MultiInstance(Gaussian(), normalization="sum")
    for k in (MultiInstance(Gaussian()), Minimax(Gaussian())):
        name = type(k).__name__
        with pytest.raises(DomainError, match=f"{name}: bag 1 is empty"):
            k([bags[0], np.zeros((0, 2))])
        with pytest.raises(DomainError, match=r"\.on\(column\)"):
            k(pd.DataFrame({"a": [1.0]}))
        with pytest.raises(DomainError, match="NaN"):
            k([np.full((2, 2), np.nan)])
        with pytest.raises(DomainError, match="same features"):
            k([bags[0], np.zeros((2, 3))])
    with pytest.raises(DomainError, match="vectors"):
        Minimax(Gaussian())([["a", "b"]])
