"""The working set of a decomposition solver."""

import numpy as np
import pytest

from mercer import Gaussian
from mercer.gram.exponential import Factors
from mercer.gram.rows import RowGram
from mercer.kernels.evaluator import exponents
from mercer.solvers import smo_shared, working_set
from mercer.solvers.smo_shared import SharedWork
from mercer.solvers.working_set import WorkingSet


@pytest.fixture
def K(rng):
    return Gaussian()(rng.standard_normal((60, 2)))


@pytest.mark.parametrize("computed", [True, False])
@pytest.mark.parametrize("shared", [True, False])
def test_block_follows_its_members(rng, monkeypatch, computed, shared):
    """Gathered from rows, or computed as :mod:`mercer.solvers.smo_shared` does."""
    monkeypatch.setattr(working_set, "_FIRST", 4)
    monkeypatch.setattr(working_set, "_QUICKLY", 8)
    monkeypatch.setattr(working_set, "_SLOWLY", 3)
    monkeypatch.setattr(working_set, "SMALLEST", 8)
    if shared:
        monkeypatch.setattr(working_set, "_SHARED", 0)
        monkeypatch.setattr(working_set, "_LEAST", 2)
        monkeypatch.setattr(smo_shared, "_EACH", 1)
        monkeypatch.setattr(smo_shared, "_STRIP", 2)
    X, kernel = rng.standard_normal((60, 2)), Gaussian()
    K = kernel(X)
    factors = None
    if computed:
        formula = kernel.formula(X.astype(np.float32))
        found = exponents(formula, formula, np.float32)
        factors = Factors(found.left, found.right, np.float32(found.unit))
    blocks = RowGram(lambda rows, cols: K[rows][:, cols], np.diagonal(K), factors=factors)
    working = WorkingSet(blocks, 40, 3 if shared else None)
    assert working.computed == computed
    active = np.sort(rng.choice(60, 30, replace=False))
    working.restart(active)
    work = SharedWork(blocks, working.most, np.empty(0, np.float32), 3) if computed else None
    rows = np.ascontiguousarray(K[active][:, active])
    sizes = []
    for _ in range(8):
        outside = np.setdiff1d(np.arange(30), working.members)
        before = working.members.copy()
        new = np.sort(rng.choice(outside, min(working.wanted, len(outside)), replace=False))
        places = working.renew(new)
        assert np.array_equal(working.members[places], new)
        kept = np.setdiff1d(np.arange(len(before)), places)
        assert np.array_equal(working.members[kept], before[kept])
        assert len(np.unique(working.members)) == len(working.members) <= working.size
        if work is None:
            working.refill(places, rows, working.members)
        else:
            work.fill(working, places)
        V, m = active[working.members], len(working.members)
        np.testing.assert_allclose(working.block[:m, :m], K[np.ix_(V, V)], rtol=1e-5 * computed)
        assert np.array_equal(working.block[:m, :m], working.block[:m, :m].T)
        sizes.append(working.size)
        working.grow()
    if work is not None:
        work.team.dismiss()
    assert sizes == [4, 8, 11, 14, 17, 20, 20, 20]  # half of the rows there is room for


def test_the_oldest_leave_first(K):
    working = WorkingSet(RowGram(lambda r, c: K[r][:, c], np.diagonal(K)), 60, None)
    working.size = 6
    working.restart(np.arange(60))
    working.renew(np.arange(6))
    for k in range(6, 20, 2):
        working.renew(np.array([k, k + 1]))
        assert set(working.members) == set(range(k - 4, k + 2))


def test_a_block_that_is_computed_leaves_more_room(rng):
    """Rows are then needed of those that move, not of all members."""
    X, kernel = rng.standard_normal((3000, 2)).astype(np.float32), Gaussian()
    formula = kernel.formula(X)
    found = exponents(formula, formula, np.float32)
    factors = Factors(found.left, found.right, np.float32(found.unit))
    block, diagonal = kernel.tiles(X, X), np.ones(3000)
    sizes = {
        rows: [
            WorkingSet(RowGram(block, diagonal, factors=given), rows, None).most
            for given in (factors, None)
        ]
        for rows in (50, 300, 1500, 2500)
    }
    assert sizes == {50: [64, 64], 300: [300, 150], 1500: [1024, 750], 2500: [1250, 1250]}
