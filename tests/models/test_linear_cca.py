"""Classical canonical correlation analysis against scikit-learn and the textbook."""

import numpy as np
import pandas as pd
import pytest
import scipy.linalg as sla
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cross_decomposition import CCA as Theirs
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import CCA, load, save
from mercer.exceptions import NumericalWarning


@pytest.fixture
def views(rng):
    shared = rng.normal(size=(200, 2))
    X = np.column_stack([shared, rng.normal(size=(200, 2))]) @ rng.normal(size=(4, 4)) + 5
    Y = np.column_stack([shared, rng.normal(size=(200, 1))]) + rng.normal(size=(200, 3))
    Z = 100 * (shared[:, :1] + rng.normal(size=(200, 2)))
    return [X, Y, Z]


def angles(X, Y):
    Q, S = (np.linalg.qr(V - V.mean(axis=0))[0] for V in (X, Y))
    return np.linalg.svd(Q.T @ S, compute_uv=False)


def test_scikit_learn(views):
    X, Y, _ = views
    theirs = Theirs(n_components=2, tol=1e-12, max_iter=10_000).fit(X, Y)
    ours = CCA(n_components=2).fit(X, Y)
    a, b = theirs.transform(X, Y)
    expected = [np.corrcoef(a[:, c], b[:, c])[0, 1] for c in range(2)]
    np.testing.assert_allclose(ours.correlations_, expected, atol=1e-8)
    c, d = ours.transform(X, Y)
    for mine, other in ((c, a), (d, b)):
        np.testing.assert_allclose(np.abs([np.corrcoef(mine[:, i], other[:, i])[0, 1]
                                           for i in range(2)]), 1, atol=1e-8)  # fmt: skip


def test_angles_between_subspaces(views):
    X, Y, _ = views
    for scale in (True, False):
        model = CCA(3, scale=scale).fit(X, Y)
        np.testing.assert_allclose(model.correlations_, angles(X, Y), atol=1e-10)
        np.testing.assert_allclose(model.correlations(X, Y), angles(X, Y), atol=1e-10)


def test_scores_are_white(views):
    """Variance one, uncorrelated within and, but for their partners, between views."""
    X, Y, _ = views
    model = CCA(3).fit(X, Y)
    a, b = model.transform(X, Y)
    np.testing.assert_allclose(a.T @ a / 200, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(b.T @ b / 200, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(a.T @ b / 200, np.diag(model.correlations_), atol=1e-10)
    np.testing.assert_allclose(a, (X - model.means_[0]) @ model.weights_[0], atol=1e-10)
    assert model.x_rotations_ is model.weights_[0]
    assert model.y_rotations_ is model.weights_[1]


@pytest.mark.parametrize("form", ["ridge", "squared"])
@pytest.mark.parametrize("M", [2, 3])
def test_generalised_eigenproblem(views, form, M):
    """The block matrix of covariances, whole, with regularised diagonal blocks."""
    views, r = views[:M], 0.4
    C = np.cov(np.hstack(views).T, ddof=0)
    ends = np.cumsum([V.shape[1] for V in views])
    blocks = [slice(e - V.shape[1], e) for e, V in zip(ends, views, strict=True)]
    B, A = np.zeros_like(C), C.copy()
    for part in blocks:
        inner = C[part, part]
        eye = np.eye(len(inner))
        half = inner + r / 2 * eye
        B[part, part] = inner + r * eye if form == "ridge" else half @ np.linalg.solve(inner, half)
        A[part, part] = 0
    values, W = sla.eigh(A, B)
    model = CCA(2, regularization=r, form=form, scale=False).fit(views)
    np.testing.assert_allclose(model.correlations_, values[::-1][:2] / (M - 1), atol=1e-10)
    weights = np.concatenate(model.weights_)
    expected = W[:, ::-1][:, :2] * np.sqrt(M)
    sign = np.sign(np.sum(weights * expected, axis=0))
    np.testing.assert_allclose(weights, expected * sign, atol=1e-8)


def test_scale_makes_ridge_independent_of_units(views):
    X, Y, _ = views
    one = CCA(2, regularization=0.5).fit(X, Y)
    two = CCA(2, regularization=0.5).fit(X * [1, 10, 100, 1000], Y / 7)
    np.testing.assert_allclose(one.correlations_, two.correlations_, rtol=1e-10)
    standard = [StandardScaler().fit_transform(V) for V in (X, Y)]
    three = CCA(2, regularization=0.5, scale=False).fit(standard)
    np.testing.assert_allclose(one.correlations_, three.correlations_, rtol=1e-10)


def test_ill_conditioned_columns(rng):
    """Nearly collinear columns: covariances alone would lose half of the digits."""
    X = rng.normal(size=(300, 3))
    Y = X[:, :1] + rng.normal(size=(300, 2))
    nearly = np.column_stack([X, X[:, 0] + 1e-6 * rng.normal(size=300)])
    np.testing.assert_allclose(CCA(2).fit(nearly, Y).correlations_, angles(nearly, Y), atol=1e-8)


def test_collinear_columns_and_more_columns_than_samples(rng):
    X = rng.normal(size=(50, 3))
    Y = X[:, :1] + rng.normal(size=(50, 2))
    twice = np.column_stack([X, X @ [1.0, 2.0, 3.0]])
    np.testing.assert_allclose(CCA(2).fit(twice, Y).correlations_, angles(X, Y), atol=1e-8)
    wide = rng.normal(size=(50, 120))
    model = CCA(1, regularization=1.0).fit(wide, Y)
    assert 0 < model.correlations_[0] < 1
    with pytest.warns(NumericalWarning, match="regularization > 0"):
        assert CCA(1).fit(wide, Y).correlations_[0] == pytest.approx(1)


def test_weights_count_samples(rng, views):
    weights = rng.integers(0, 3, 200)
    weighted = CCA(2, regularization=0.1).fit(views, sample_weight=weights)
    repeated = CCA(2, regularization=0.1).fit([np.repeat(V, weights, axis=0) for V in views])
    np.testing.assert_allclose(weighted.correlations_, repeated.correlations_, rtol=1e-10)
    np.testing.assert_allclose(weighted.weights_[1], repeated.weights_[1], atol=1e-10)
    assert CCA().fit(views, sample_weight=np.full(200, 3.0)).score(views) == CCA().fit(views).score(
        views
    )


def test_loadings_and_explained_variance(views):
    X, Y, _ = views
    model = CCA(2).fit(X, Y)
    a, _ = model.transform(X, Y)
    expected = np.corrcoef(X.T, a.T)[:4, 4:]
    np.testing.assert_allclose(model.loadings_[0], expected, atol=1e-10)
    shares, _ = model.explained_variance(X, Y)
    np.testing.assert_allclose(shares, np.mean(expected**2, axis=0), atol=1e-10)


def test_kinds_of_tables(views, rng):
    X, Y, _ = views
    model = CCA(2).fit(X, Y)
    frame = CCA(2).fit(pd.DataFrame(X, columns=list("abcd")), pd.DataFrame(Y))
    np.testing.assert_allclose(frame.correlations_, model.correlations_, rtol=1e-12)
    sparse = CCA(2).fit(sp.csr_matrix(X), Y.astype(np.float32))
    np.testing.assert_allclose(sparse.correlations_, model.correlations_, rtol=1e-5)
    one = CCA(1).fit(X, Y[:, 0])
    np.testing.assert_allclose(one.correlations_, angles(X, Y[:, :1]), rtol=1e-10)
    with pytest.raises(ValueError, match="feature names"):
        frame.transform(pd.DataFrame(X, columns=list("dcba")), pd.DataFrame(Y))


def test_contract(views, tmp_path):
    X, Y, _ = views
    model = CCA(2, regularization=0.1)
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        model.transform(X, Y)
    with pytest.raises(NotFittedError):
        model.x_rotations_
    search = GridSearchCV(CCA(1), {"regularization": [0.0, 1.0]}, cv=3).fit(X, Y)
    assert search.best_score_ > 0.5
    assert make_pipeline(StandardScaler(), model).fit(X, Y).transform(X).shape == (200, 2)
    save(model.fit(X, Y), tmp_path / "model.mercer")
    found = load(tmp_path / "model.mercer")
    for a, b in zip(found.transform(X, Y), model.transform(X, Y), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(found.explained_variance(X, Y), model.explained_variance(X, Y))


def test_bad_input(views):
    X, Y, _ = views
    with pytest.raises(ValueError, match="n_components must be at most 3"):
        CCA(4).fit(X, Y)
    with pytest.raises(ValueError, match="view 1 does not vary"):
        CCA(1).fit(X, np.ones((200, 2)))
    with pytest.raises(ValueError, match=r"view 0.*NaN"):
        CCA(1).fit(np.where(X > 6, np.nan, X), Y)
    with pytest.raises(ValueError, match="view 0"):
        CCA(1).fit([["a", "b"], ["c", "d"]], [1.0, 2.0])
    with pytest.raises(ValueError, match="same number of samples"):
        CCA(1).fit(X, Y[:3])
    constant = np.column_stack([X, np.ones(200)])
    np.testing.assert_allclose(CCA(2).fit(constant, Y).correlations_, angles(X, Y)[:2], atol=1e-8)


def test_offsets_and_constant_columns(views):
    """What varies is told from rounding by the numbers, not by their size."""
    X, Y, _ = views
    wanted = CCA(1).fit(X, Y)
    moved = CCA(1).fit(X + 1e9, Y - 1e9)
    np.testing.assert_allclose(moved.correlations_, wanted.correlations_, atol=1e-5)
    np.testing.assert_allclose(moved.project(X + 1e9), wanted.project(X), atol=1e-4)
    constant = CCA(1).fit(np.column_stack([X, np.full(200, 0.1)]), Y)
    np.testing.assert_allclose(constant.correlations_, wanted.correlations_, atol=1e-8)
    assert abs(constant.weights_[0][-1, 0]) < 1e-12
    with pytest.raises(ValueError, match="view 1 are so large that their squares overflow"):
        CCA(1).fit(X, 1e300 * Y)
