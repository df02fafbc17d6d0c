"""Views as they are given, and correlations of scores."""

import numpy as np
import pandas as pd
import pytest

from mercer.models.multiview import as_column, as_views, correlate, in_view, mean_correlation


def test_views_as_a_list_or_a_pair(rng):
    X, Y = rng.normal(size=(2, 5, 3))
    for views in (as_views([X, Y]), as_views((X, Y)), as_views(X, Y)):
        assert len(views) == 2
        assert views[0] is X
        assert views[1] is Y
    assert as_views(["ab", "cd"], ["x", "y"]) == [["ab", "cd"], ["x", "y"]]  # two views of strings


@pytest.mark.parametrize("views", [None, 3.0, [], [[1, 2]], "ab", ["ab", "cd"], [{}, {}]])
def test_what_is_no_list_of_views(views):
    with pytest.raises(ValueError, match="list of two or more data sets"):
        as_views(views)


def test_columns():
    assert as_column(np.arange(3)).shape == (3, 1)
    assert as_column(pd.Series([1.0, 2.0])).shape == (2, 1)
    words = np.array(["a", "b"])
    assert as_column(words) is words


def test_errors_name_the_view():
    class OwnError(ValueError):
        pass

    with pytest.raises(OwnError, match="view 2: what"), in_view(2):
        raise OwnError("what")


def test_correlations(rng):
    scores = rng.normal(size=(3, 20, 2))
    R = correlate(list(scores))
    for c in range(2):
        np.testing.assert_allclose(R[c], np.corrcoef(scores[:, :, c]), atol=1e-14)
    np.testing.assert_allclose(
        mean_correlation(R),
        [np.corrcoef(scores[:, :, c])[np.triu_indices(3, 1)].mean() for c in (0, 1)],
    )
    scores[0] = 1.0
    assert np.all(correlate(list(scores))[:, 0, 1:] == 0)
