import numpy as np
import pytest

from mercer.gram.given import GivenColumns


def test_columns_of_new_rows(rng):
    K = rng.standard_normal((6, 10))
    gram = GivenColumns(np.array([7, 2, 3]), "as it was given")
    cross = gram.cross(K)
    assert cross.shape == (6, 3)
    np.testing.assert_array_equal(cross.to_dense(), K[:, [7, 2, 3]])
    np.testing.assert_array_equal(cross.block(np.array([4, 0]), slice(1, 3)), K[[4, 0]][:, [2, 3]])
    np.testing.assert_allclose(cross @ np.ones(3), K[:, [7, 2, 3]].sum(axis=1))
    assert gram.explain() == (
        "GivenColumns: 3 columns of a matrix that is not kept\n  as it was given"
    )
    with pytest.raises(TypeError, match="call cross"):
        gram.to_dense()
