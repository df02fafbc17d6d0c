"""Products of blocks that are added to others."""

import numpy as np
import pytest

from mercer.engine.calls import At, Score
from mercer.engine.products import add_product, product_calls


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 3, 1), (5, 3, 4), (30, 41, 7), (30, 41, 1)])
def test_against_numpy(rng, shape, transposed):
    rows, inner, columns = shape
    A, before = (
        rng.standard_normal((rows, inner)),
        np.ones((inner if transposed else rows, columns)),
    )
    B = rng.standard_normal((rows if transposed else inner, columns))
    out = before.copy()
    add_product(out, A, B, transposed=transposed)
    np.testing.assert_allclose(out, before + (A.T if transposed else A) @ B, atol=1e-12)


@pytest.mark.parametrize("shape", [(0, 3, 2), (3, 0, 2), (3, 2, 0)])
def test_of_nothing(shape):
    rows, inner, columns = shape
    out = np.ones((rows, columns))
    add_product(out, np.ones((rows, inner)), np.ones((inner, columns)))
    assert np.all(out == 1)


@pytest.mark.parametrize("columns", [1, 5])
def test_the_same_bits_in_a_table(rng, columns):
    A, B = rng.standard_normal((4, 20, 30)), rng.standard_normal((30, columns))
    one, score, at = np.ones((4, 20, columns)), Score(np.float64), np.arange(4)
    two = one.copy()
    for out, block in zip(one, A, strict=True):
        add_product(out, block, B)
    shape = np.full(4, 20), np.full(4, 30), columns
    score.phase(product_calls(score, shape, At(0, 20 * columns * at), At(1, 600 * at), At(2)))
    score.perform(two, A, B)
    assert np.array_equal(one, two)
