"""Kernels written for scikit-learn: functions, of samples or data sets, and its kernel objects."""

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC as TheirSVC

from mercer import SVC, Custom, Gaussian, KernelPCA, KernelRidge, Linear, Periodic, two_sample_test
from mercer.kernels.given.foreign import from_function
from mercer.kernels.notation.named import as_kernel

STRINGS = ["abc", "abd", "xyz", "abz", "cde", "xab", "b", "yza"]


@pytest.fixture
def X(rng):
    return rng.normal(size=(8, 3))


# ---- functions -------------------------------------------------------------------------------
def shared(x, y):
    """Of two samples."""
    return float(len(set(x) & set(y)))


def all_shared(A, B):
    """Of two data sets."""
    return np.array([[shared(x, y) for y in B] for x in A])


def distance(x, y):
    return np.exp(-np.sum((x - y) ** 2))


@pytest.mark.parametrize(
    ("function", "batch"),
    [
        (lambda A, B: A @ B.T, True),
        (lambda A, B: rbf_kernel(A, B, gamma=0.3), True),
        (lambda x, y: x @ y, False),  # with three columns, a block can be multiplied too
        (lambda x, y: float(np.minimum(x, y).sum()), False),
        (distance, False),
    ],
)
@pytest.mark.parametrize("n", [1, 2, 8])
def test_functions_of_vectors(X, function, batch, n):
    kernel = from_function(function, X[:n])
    assert kernel.batch is batch
    if batch:
        np.testing.assert_allclose(kernel(X), function(X, X), rtol=1e-12)
    else:
        expected = [[function(x, y) for y in X] for x in X]
        np.testing.assert_allclose(kernel(X), expected, rtol=1e-12)


def test_functions_of_strings():
    assert from_function(shared, STRINGS) == Custom(shared)
    assert from_function(all_shared, STRINGS) == Custom(all_shared, batch=True)
    assert from_function(all_shared, ["a", "b"]) == Custom(all_shared, batch=True)


def test_a_callable_means_what_it_does_in_scikit_learn(X, rng):
    y = rng.integers(0, 2, size=8)

    def kernel(A, B):
        return rbf_kernel(A, B, gamma=0.3)

    ours, theirs = SVC(kernel=kernel, tol=1e-8), TheirSVC(kernel=kernel, tol=1e-8)
    np.testing.assert_allclose(
        ours.fit(X, y).decision_function(X), theirs.fit(X, y).decision_function(X), atol=1e-6
    )


@pytest.mark.parametrize("function", [shared, all_shared])
def test_models_of_strings_with_a_function(function):
    y = np.arange(8.0)
    K = all_shared(STRINGS, STRINGS)
    model = KernelRidge(kernel=function, alpha=0.5).fit(STRINGS, y)
    expected = K @ np.linalg.solve(K + 0.5 * np.eye(8), y)
    np.testing.assert_allclose(model.predict(STRINGS), expected, rtol=1e-9)
    assert SVC(kernel=function, C=100).fit(STRINGS, y > 3).score(STRINGS, y > 3) == 1
    assert KernelPCA(2, kernel=function).fit(STRINGS).transform(STRINGS).shape == (8, 2)


def test_an_error_of_the_function_itself_is_seen(X):
    def broken(x, y):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        KernelRidge(kernel=broken).fit(X, np.zeros(8))


# ---- kernel objects --------------------------------------------------------------------------
OBJECTS = [
    gp.RBF(0.7),
    gp.RBF([0.5, 1.0, 2.0]),
    gp.Matern(0.7, nu=2.5),
    gp.Matern(0.7, nu=0.8),
    gp.Matern(0.7, nu=np.inf),
    gp.RationalQuadratic(0.7, alpha=0.4),
    gp.DotProduct(0.3),
    gp.ConstantKernel(2.5),
    2.0 * gp.RBF(0.7) + gp.DotProduct(0.3) * gp.Matern(nu=1.5),
    gp.RBF(0.7) ** 2,
    gp.ExpSineSquared(0.9, periodicity=2.0),  # of distances in R^3, which is no kernel of ours
    gp.PairwiseKernel(metric="laplacian", gamma=0.4),
]


@pytest.mark.parametrize("theirs", OBJECTS, ids=str)
def test_the_same_values(X, theirs):
    kernel = as_kernel(theirs, X)
    np.testing.assert_allclose(kernel(X), theirs(X), rtol=1e-9)
    np.testing.assert_allclose(kernel(X[:3], X[3:]), theirs(X[:3], X[3:]), rtol=1e-9)


def test_counterparts_are_kernels_of_ours(X):
    assert as_kernel(2.0 * gp.RBF(0.7) + 1.0, X) == 2.0 * Gaussian(0.7) + 1.0
    assert as_kernel(gp.DotProduct(0.5), X) == Linear() + 0.25
    line = X[:, :1]
    theirs = gp.ExpSineSquared(0.9, periodicity=2.0)
    assert as_kernel(theirs, line) == Periodic(0.9, period=2.0)
    np.testing.assert_allclose(as_kernel(theirs, line)(line), theirs(line), rtol=1e-9)


def test_models_and_tests_take_them(X):
    y = X[:, 0] ** 2
    a, b = (KernelRidge(kernel=k, alpha=0.1).fit(X, y) for k in (gp.RBF(0.7), Gaussian(0.7)))
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
    p = two_sample_test(X, X + 1, gp.RBF(0.7), rng=0).pvalue
    assert p == two_sample_test(X, X + 1, Gaussian(0.7), rng=0).pvalue


def test_noise_is_no_kernel(X):
    with pytest.raises(ValueError, match=r"WhiteKernel is noise.*alpha"):
        KernelRidge(kernel=gp.RBF() + gp.WhiteKernel(0.1)).fit(X, X[:, 0])
