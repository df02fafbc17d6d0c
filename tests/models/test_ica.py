"""KernelICA: slopes by differences, sources that are known, and FastICA beside it."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.decomposition import FastICA
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Gaussian, KernelICA, Matern, hsic
from mercer.solvers.contrasts import CONTRASTS, Features, contrast


@parametrize_with_checks(
    [KernelICA(2, contrast="hsic", n_init=1, max_iter=20, random_state=0)],
    expected_failed_checks=lambda _: dict.fromkeys(
        [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")],
        "starts are chosen by some of the samples",
    ),
)
@pytest.mark.filterwarnings("ignore::mercer.exceptions.ConvergenceWarning")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def amari(P):
    """0 if P is a permutation with factors, at most 1."""
    P = np.abs(P)
    d = len(P)
    rows, columns = P / P.max(axis=1, keepdims=True), P / P.max(axis=0)
    return (rows.sum() + columns.sum() - 2 * d) / (2 * d * (d - 1))


def sources(rng, n):
    modes = rng.choice([-1.0, 1.0], n) + 0.3 * rng.standard_normal(n)
    return np.column_stack([rng.uniform(-1, 1, n), modes, rng.exponential(size=n)])


@pytest.mark.parametrize("name", CONTRASTS)
def test_slopes_by_differences(rng, name):
    Z, w = rng.standard_normal((50, 3)), rng.uniform(0.5, 2, 50)
    w /= w.sum()
    features, direction, h = Features(Gaussian(0.5)), rng.standard_normal((50, 3)), 1e-5
    value, slopes = contrast(Z, w, features, name, 1e-2)
    ends = [contrast(Z + s * h * direction, w, features, name, 1e-2)[0] for s in (1, -1)]
    assert np.sum(slopes * direction) == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-5)
    assert value > 0


def test_contrasts_by_definition(rng):
    """HSIC of samples, and canonical correlations by singular values."""
    Z = np.tanh(rng.standard_normal((60, 2)) @ [[1, 0.5], [0, 1]])
    w, features = np.full(60, 1 / 60), Features(Gaussian(0.5))
    expected = hsic(Z[:, 0], Z[:, 1], Gaussian(0.5), Gaussian(0.5), biased=True)
    assert contrast(Z, w, features, "hsic", 0.0)[0] == pytest.approx(expected, rel=1e-3)
    A, B = (features(z) - features(z).mean(axis=0) for z in Z.T)
    eye = 0.01 * np.eye(features.rank)
    roots = [np.linalg.inv(np.linalg.cholesky(V.T @ V / 60 + eye)) for V in (A, B)]
    s = np.linalg.svd(roots[0] @ (A.T @ B / 60) @ roots[1].T, compute_uv=False)
    kgv = contrast(Z, w, features, "kgv", 0.01)[0]
    assert kgv == pytest.approx(-np.sum(np.log(1 - s**2)) / 2, rel=1e-6)
    kcca = contrast(Z, w, features, "kcca", 0.01)[0]
    assert kcca == pytest.approx(-np.log(1 - s[0]) / 2, rel=1e-6)


@pytest.mark.parametrize("name", ["kgv", "hsic"])
def test_sources_are_found(name):
    """All of them are close, and by the generalised variance about as close as FastICA's."""
    ours, theirs = [], []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((3, 3))
        X = 1e4 + sources(rng, 500) @ A.T
        model = KernelICA(contrast=name, random_state=0).fit(X)
        ours.append(amari(model.components_ @ A))
        fast = FastICA(random_state=0, whiten="unit-variance", max_iter=1000).fit(X)
        theirs.append(amari(fast.components_ @ A))
        Z = model.transform(X)
        np.testing.assert_allclose(Z.T @ Z / 500, np.eye(3), atol=1e-6)
        np.testing.assert_allclose(model.inverse_transform(Z), X, rtol=1e-6)
        assert np.all(np.diff(np.sum(model.mixing_**2, axis=0)) <= 0)
    assert np.mean(ours) < 0.05
    assert name == "hsic" or np.mean(ours) < 1.2 * np.mean(theirs)


def test_outliers_count_little(rng):
    A = rng.standard_normal((2, 2))
    X = sources(rng, 600)[:, :2] @ A.T
    clean = KernelICA(random_state=0).fit(X)
    X[:6] *= 3
    assert amari(clean.components_ @ A) < 0.05
    assert amari(KernelICA(random_state=0).fit(X).components_ @ A) < 0.1


def test_weights_components_and_kernels(rng):
    A = rng.standard_normal((3, 3))
    X = sources(rng, 400) @ A.T
    w = np.repeat([1.0, 0.0], 200)
    half = KernelICA(random_state=0, n_init=1).fit(X[:200])
    same = KernelICA(random_state=0, n_init=1).fit(X, sample_weight=w)
    np.testing.assert_allclose(same.components_, half.components_, atol=1e-2)
    two = KernelICA(2, kernel=Matern(1.0, nu=2.5), random_state=0, n_init=1).fit(X)
    assert two.transform(X).shape == (400, 2)
    assert two.inverse_transform(two.transform(X)).shape == (400, 3)


def test_refusals(rng):
    X = rng.standard_normal((20, 2))
    with pytest.raises(ValueError, match="contrast must be one of"):
        KernelICA(contrast="mi").fit(X)
    with pytest.raises(ValueError, match="n_components must be an integer from 1 to 2"):
        KernelICA(3).fit(X)
    with pytest.raises(ValueError, match="nothing to separate"):
        KernelICA().fit(np.ones((5, 2)))


def test_units_do_not_matter(rng):
    S = np.column_stack([rng.uniform(-1, 1, 300), rng.laplace(size=300)])
    X = S @ [[1.0, 0.5], [0.4, 1.0]]
    units = np.array([1e-9, 1e9])
    plain, scaled = (KernelICA(random_state=0).fit(V) for V in (X, X * units))
    assert_allclose(scaled.contrast_, plain.contrast_, rtol=1e-6)
    back = scaled.inverse_transform(scaled.transform(X * units))
    assert_allclose(back / units, X, atol=1e-9)


def test_constant_and_dependent_features(rng):
    X = rng.laplace(size=(200, 2))
    wide = np.column_stack([X, 1e3 * X[:, 0] + X[:, 1], np.full(200, 0.1)])
    model = KernelICA(random_state=0).fit(wide)
    assert model.components_.shape == (2, 4)
    assert_allclose(model.inverse_transform(model.transform(wide)), wide, atol=1e-7)
    assert_allclose(model.mixing_, np.linalg.pinv(model.components_), atol=1e-7)
    with pytest.raises(ValueError, match="all samples are the same"):
        KernelICA().fit(np.full((20, 3), 3.3))


def test_sparse_samples(rng):
    X = np.where(rng.uniform(size=(150, 2)) < 0.5, rng.laplace(size=(150, 2)), 0)
    dense, few = (KernelICA(random_state=0).fit(V) for V in (X, sp.csr_array(X)))
    assert_allclose(few.components_, dense.components_)
    assert_allclose(few.transform(sp.csr_array(X)), dense.transform(X))
