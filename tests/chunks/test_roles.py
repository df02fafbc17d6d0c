"""Columns of samples as features, targets and weights."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import stream

X = np.arange(20.0).reshape(5, 4)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_columns_of_arrays(form):
    def dense(A):
        return A.toarray() if sp.issparse(A) else A

    (chunk,) = stream(form(X), target=-1, weight=0)
    np.testing.assert_array_equal(dense(chunk.X), X[:, 1:3])
    np.testing.assert_array_equal(chunk.y, X[:, 3])
    np.testing.assert_array_equal(chunk.weight, X[:, 0])
    (chunk,) = stream(form(X), target=[0, 3], columns=[2, 0])
    np.testing.assert_array_equal(dense(chunk.X), X[:, [2, 0]])
    np.testing.assert_array_equal(chunk.y, X[:, [0, 3]])


def test_columns_of_tables():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"], "c": [3, 4], "w": [0.5, 1.5]})
    (chunk,) = stream(table, target="b", weight="w")
    assert list(chunk.X.columns) == ["a", "c"]
    assert chunk.y.tolist() == ["x", "y"]
    assert chunk.y.dtype.kind == "U"
    (chunk,) = stream(table, target="c", columns=["b"])
    assert chunk.y.dtype.kind == "i"
    assert list(chunk.X.columns) == ["b"]


def test_targets_that_are_there_stay():
    (chunk,) = stream(X, target=np.arange(5)).select([1])
    np.testing.assert_array_equal(chunk.y, np.arange(5))
    np.testing.assert_array_equal(chunk.X, X[:, [1]])


def test_what_is_not_there_is_named():
    with pytest.raises(ValueError, match="no column 4; there are 0, 1, 2, 3"):
        list(stream(X, target=4))
    with pytest.raises(ValueError, match="no column 'y'"):
        list(stream(X, target="y"))
    with pytest.raises(ValueError, match="numbered from 0"):
        list(stream(np.zeros((2, 99)), target=99))
    with pytest.raises(ValueError, match="if the samples have named columns"):
        list(stream(["a", "b"], target=0))
    with pytest.raises(ValueError, match="no column is left"):
        list(stream(X[:, :1], target=0))
    with pytest.raises(ValueError, match="row 4: the weight 0 is negative"):
        list(stream(12 - X, weight=0, rows=2))
