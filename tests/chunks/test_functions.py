"""Chunks that a function yields."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import stream
from mercer.chunks import Chunk, FunctionChunks


def test_what_a_function_may_yield():
    X = np.arange(6.0).reshape(3, 2)

    def items():
        yield X, [1, 2, 3], [0.5, 0.5, 1]
        yield X, np.array([4, 5, 6]), np.ones(3)
        yield Chunk(X, np.array([7, 8, 9]), np.ones(3))

    chunks = list(stream(items))
    assert [c.start for c in chunks] == [0, 3, 6]
    np.testing.assert_array_equal(np.concatenate([c.y for c in chunks]), np.arange(1, 10))
    assert chunks[0].weight.dtype == float
    assert [len(c) for c in stream(items, rows=4)] == [4, 4, 1]
    (found,) = stream(lambda: [sp.coo_matrix(X)])
    assert found.X.format == "csr"
    (texts,) = stream(lambda: [["a", "bc"]])
    assert texts.X == ["a", "bc"]


def test_what_can_be_read_only_once_is_refused():
    generator = (np.zeros((2, 1)) for _ in range(3))
    for once in (generator, iter([np.zeros((2, 1))])):
        with pytest.raises(TypeError, match="only once"):
            stream(once)
        with pytest.raises(TypeError, match="only once"):
            FunctionChunks(once)
    used = iter([np.zeros((2, 1))])
    twice = stream(lambda: used)
    assert len(twice) == 2
    with pytest.raises(ValueError, match="no samples"):
        list(twice)


def test_a_function_that_returns_something_else_is_refused():
    with pytest.raises(TypeError, match="returned a int"):
        list(FunctionChunks(lambda: 3))
    with pytest.raises(TypeError, match="got 4 parts"):
        list(FunctionChunks(lambda: [(1, 2, 3, 4)]))
