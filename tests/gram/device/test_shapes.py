"""Shapes of tiles fit the shared memory of a card; no PyTorch is needed."""

import pytest

from mercer.gram.device.shapes import shape_of

ROOM = 232_448  # bytes that a program may have


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("work", [16, 32, 48, 96, 144, 208, 288, 336, 384, 576, 1000])
@pytest.mark.parametrize("held", [0, 32, 128, 256, 384, 512, 768, 1024, 2048])
def test_operands_fit(work, held, few):
    shape = shape_of(work, few, held)
    assert 256 % shape.columns == 0
    assert shape.rows >= 32
    assert held * (shape.rows + shape.columns) < ROOM


def test_rows_are_fewer_where_more_is_held():
    rows = [shape_of(576, True, held).rows for held in (384, 768, 1536, 2048)]
    assert rows == sorted(rows, reverse=True)
    assert rows[0] > rows[-1]
