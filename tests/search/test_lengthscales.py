import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from mercer import Gaussian, Linear, Matern, MeanEmbedding, Spectrum
from mercer.kernels.vectors.distances import SquaredDistances
from mercer.search.lengthscales import disparity, per_feature, spreads


@pytest.mark.parametrize("sparse", [False, True])
def test_lengthscales_begin_with_the_same_mean_distance(rng, sparse):
    X = rng.standard_normal((40, 3)) * [1.0, 5.0, 0.0]
    X = sp.csr_matrix(X) if sparse else X
    one = Gaussian(0.5)
    many = per_feature(one, X)
    assert many.lengthscale[2] == 0.5
    assert many.lengthscale[1] / many.lengthscale[0] > 2

    def mean(kernel):
        P = kernel.prepare(X)
        return SquaredDistances(P, P)(slice(None), slice(None)).mean()

    assert mean(many) == pytest.approx(mean(one))


def test_lengthscales_of_columns_and_parts():
    table = pd.DataFrame({"a": [0.0, 1.0, 3.0], "b": [1.0, 1.5, 0.0], "text": ["x", "xy", "y"]})
    kernel = 2 * Gaussian().on(["a", "b"]) + Matern(1.5).on("a") * Spectrum(1).on("text") + 1
    spread = per_feature(kernel, table)
    names = [(h.name, np.size(h.value)) for h in spread.hyperparameters()]
    assert ("left__left__right__kernel__lengthscale", 2) in names
    assert ("left__right__left__kernel__lengthscale", 1) in names
    logs = Gaussian().pullback(np.log)
    assert len(per_feature(logs, np.array([[1.0, 2.0], [3.0, 5.0]])).theta) == 2


def test_how_much_features_with_one_lengthscale_differ(rng):
    X = rng.standard_normal((200, 4)) * [1.0, 50.0, 0.0, 7.0]
    spread = X.std(axis=0)
    assert disparity(Gaussian(), X) == pytest.approx(spread[1] / spread[0])
    assert disparity(2 * Gaussian().on([0, 3]) + Linear(), X) == pytest.approx(
        spread[3] / spread[0]
    )
    assert disparity(Gaussian(np.ones(4)), X) == disparity(Gaussian().on(1), X) == 1.0
    assert disparity(Gaussian(), X[:1]) == 1.0
    assert disparity(MeanEmbedding(Gaussian()), [X, X[:3]]) == 1.0


@pytest.mark.parametrize("sparse", [False, True])
def test_constants_have_no_spread_and_offsets_do_not_matter(rng, sparse):
    """Of 57 times 0.1 the mean is not 0.1, and squares of times since 1970 cancel."""
    x = rng.normal(size=57)
    X = np.column_stack([x, np.full(57, 0.1), 1.7e9 + x, np.where(x > 1, x, 0)])
    X = sp.csc_matrix(X) if sparse else X
    one = np.where(x > 1, x, 0).std()
    np.testing.assert_allclose(spreads(X), [x.std(), 0, x.std(), one], rtol=1e-6)
    assert per_feature(Gaussian(0.5), X).lengthscale[1] == 0.5
    assert disparity(Gaussian(), X) == pytest.approx(x.std() / one, rel=1e-6)
