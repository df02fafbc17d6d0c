"""Views as they are given, and correlations of scores."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import CCA, FunctionalCCA, Gaussian, KernelCCA, KernelCCACV
from mercer.models.multiview import as_column, as_views, correlate, in_view, mean_correlation

PAIRS = dict.fromkeys(
    ["check_transformer_general", "check_transformer_data_not_an_array"],
    "fit_transform(X, y) gives the scores of both views, as scikit-learn's CCA does",
)


def refused_checks(estimator):
    """scikit-learn knows by its name that a CCA returns pairs; of others it does not."""
    pairs = {} if isinstance(estimator, CCA) else PAIRS
    return {"check_fit1d": "numbers in one dimension are a view of one column"} | pairs


@parametrize_with_checks(
    [CCA(1), KernelCCA(kernels=Gaussian()), KernelCCACV(kernels=Gaussian())],
    expected_failed_checks=refused_checks,
)
@pytest.mark.filterwarnings("ignore::mercer.exceptions.NumericalWarning")  # few samples
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "model", [CCA(1), FunctionalCCA(), KernelCCA(), KernelCCACV(cv=3)], ids=str
)
def test_columns_of_the_first_view(model, rng):
    X, Y = pd.DataFrame(rng.normal(size=(20, 3)), columns=list("abc")), rng.normal(size=(20, 2))
    assert not hasattr(model, "n_features_in_")
    model.fit(X, Y)
    assert model.n_features_in_ == 3
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert not hasattr(model.fit(Y, X), "feature_names_in_")
    with pytest.raises(ValueError, match=rf"view 0: X has 3 features, but {type(model).__name__}"):
        model.transform(X.to_numpy())
    with pytest.raises(ValueError, match=r"view 0: .* Reshape your data"):
        model.transform(Y[0])


def test_views_of_every_sparse_format(rng):
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    expected = KernelCCA(kernels=Gaussian()).fit(X, y).correlations_
    for form in ("csr", "csc", "coo", "dok", "lil"):
        found = KernelCCA(kernels=Gaussian()).fit(sp.csr_array(X).asformat(form), y)
        np.testing.assert_allclose(found.correlations_, expected, rtol=1e-6)


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
    assert as_column(np.array([1, 2.5], dtype=object)).shape == (2, 1)


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
