"""Few samples that stand for all."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import Gaussian, Linear, Nystrom, Plan
from mercer.gram.span import independent_rows


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("rank", [1, 7, 40])
def test_independent_rows(form, rank, rng):
    """As many as the rank, and all others are combinations of them."""
    phi = rng.normal(size=(900, rank)) @ rng.normal(size=(rank, 40))
    phi[::3] = 0
    places = independent_rows(form(phi))
    assert len(places) == rank == len(set(places))
    found = np.linalg.lstsq(phi[places].T, phi.T, rcond=None)[0]
    np.testing.assert_allclose(found.T @ phi[places], phi, atol=1e-9)


def test_a_row_that_is_alone_is_found(rng):
    """Only one of many rows, unlikely to be drawn, has the last feature."""
    phi = np.column_stack([rng.normal(size=(20_000, 5)), np.zeros(20_000)])
    phi[12_345, 5] = 1e-9
    assert len(independent_rows(phi)) == 6
    assert 12_345 in independent_rows(phi)


def test_single_precision_and_nothing(rng):
    phi = rng.normal(size=(500, 3)) @ rng.normal(size=(3, 8))
    assert len(independent_rows(phi.astype(np.float32))) == 3
    assert len(independent_rows(np.zeros((50, 4)))) == 1


def test_functions_by_few_samples(rng):
    """Whatever the coefficients, the functions are the same."""
    X, new = rng.normal(size=(1200, 4)), rng.normal(size=(20, 4))
    C = rng.normal(size=(1200, 2))
    for kernel in (Linear(), Nystrom(Gaussian(2.0), rank=15)):
        gram = kernel.gram(X)
        span = gram.span()
        few = span.points(X)
        assert len(few) == gram.rank
        values = gram.kernel(new, few) @ span.express(C)
        np.testing.assert_allclose(values, gram.cross(new) @ C, rtol=1e-6, atol=1e-6)
        w = rng.uniform(size=1200)
        powers, axes = span.axes(span.moments(w))
        moments = gram.kernel(new, few) @ axes
        wanted = gram.cross(new) @ (w[:, None] * (gram @ np.eye(1200)[:, :20]))
        # Phi_new (Phi' W Phi) Phi_few', by its eigenvectors
        again = moments * powers @ (gram.kernel(X[:20], few) @ axes).T
        np.testing.assert_allclose(again, wanted, rtol=1e-6, atol=1e-6)


def test_where_all_are_needed(rng):
    X = rng.normal(size=(1200, 4))
    assert Gaussian().gram(X).span() is None
    assert Linear().gram(X, Plan(storage="tiled")).span() is None
    assert Linear().gram(X[:900]).span() is None  # few as they are
    assert Linear().gram(X).cross(X[1:]).span() is None
    assert Nystrom(Gaussian(), X[:50]).gram(X[:50], Plan(storage="lowrank")).span() is None
