"""Products with tiles that are all stored: those with tiles as they come, to the last bit."""

import numpy as np
import pytest

from mercer.engine import schedule as module
from mercer.gram.kept import kept_product
from mercer.gram.tiles import GROUPS, symmetric_product


@pytest.mark.parametrize("columns", [1, 3, 26])
@pytest.mark.parametrize(("n", "size"), [(1, 1), (5, 9), (60, 20), (131, 17), (200, 32)])
@pytest.mark.parametrize("compiled", [False, True])
def test_the_same_bits(rng, monkeypatch, n, size, columns, compiled):
    monkeypatch.setattr(module, "_compiled_pays", lambda work: compiled)
    monkeypatch.setattr(module, "_PER_THREAD", 1.0)
    K, V = rng.standard_normal((n, n)), rng.standard_normal((n, columns))
    K += K.T
    expected = symmetric_product(lambda r, c: K[r, c].copy(), np.diag(K), V, size=size, workers=1)
    np.testing.assert_allclose(expected, K @ V, atol=1e-10)
    starts = range(0, n, size)
    pairs = [(i, j) for i in starts for j in starts if j >= i]
    numbers = {pairs[k]: number for number, k in enumerate(rng.permutation(len(pairs)))}
    memory = np.full((len(pairs), size * size), np.nan)
    for (i, j), number in numbers.items():
        tile = K[i : i + size, j : j + size]
        memory[number, : tile.size] = tile.ravel()
    schedule = kept_product(n, size, columns, numbers)
    for workers in (1, 2, 7, 16):
        sums = np.zeros((min(GROUPS, len(pairs)), n, columns))
        schedule.execute(memory, V, sums, workers=workers)
        assert np.array_equal(sums[0], expected)
