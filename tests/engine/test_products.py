"""Products of blocks that are added to others."""

import numpy as np
import pytest

from mercer.engine.products import add_product, product_calls
from mercer.engine.schedule import At, Schedule


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
    one, schedule, at = np.ones((4, 20, columns)), Schedule(np.float64), np.arange(4)
    two = one.copy()
    for out, block in zip(one, A, strict=True):
        add_product(out, block, B)
    shape = np.full(4, 20), np.full(4, 30), columns
    schedule.add_phase(
        product_calls(schedule, shape, At(0, 20 * columns * at), At(1, 600 * at), At(2))
    )
    schedule.execute(two, A, B)
    assert np.array_equal(one, two)


@pytest.mark.parametrize(
    ("out", "A", "B"), [((4, 2), (4, 3), (2, 2)), ((3, 2), (4, 3), (3, 2)), ((4,), (4, 3), (3,))]
)
def test_shapes_that_do_not_fit(out, A, B):
    with pytest.raises(ValueError, match="do not fit a product"):
        add_product(np.zeros(out), np.ones(A), np.ones(B))


def test_arrays_that_cannot_be_read_in_place():
    A, B = np.ones((4, 4)), np.ones((4, 3))
    for arrays in ((A.T[:, :3], B[:3]), (A, np.ones((4, 6))[:, ::2])):
        with pytest.raises(ValueError, match="C-contiguous"):
            add_product(np.zeros((4, 3)), *arrays)
    with pytest.raises(TypeError, match="float64 cannot use"):
        add_product(np.zeros((4, 3)), A.astype(np.float32), B)
