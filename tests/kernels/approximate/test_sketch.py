"""Sketches and hashed features against the kernels that they stand for."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import (
    SVC,
    Binomial,
    Exponential,
    Gaussian,
    Hashing,
    Linear,
    Plan,
    Polynomial,
    Spectrum,
    SubsetTree,
    Subtree,
    TensorSketch,
)

KERNELS = [
    Polynomial(degree=2),
    Polynomial(degree=3, offset=0, scale=0.5),
    Linear() * Polynomial(degree=2),
    Polynomial(degree=2) * Gaussian(3.0) + 1,
    Exponential(0.2),
    Exponential(0.1) * Exponential(0.1).on([1]),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_unbiased(kernel):
    """The mean over 80 draws is within five standard errors of k, or what a series leaves out."""
    X = np.random.default_rng(1).standard_normal((10, 3))
    K = kernel(X)
    draws = np.array(
        [kernel.approximate(TensorSketch(120, seed=s)).resolve(X)(X) for s in range(80)]
    )
    error = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - K) <= 5 * error + 2e-3 * np.abs(K).max())


def test_linear_kernels_of_few_features_are_exact():
    X = np.random.default_rng(2).standard_normal((20, 4))
    kernel = (Linear() + 3).approximate(TensorSketch(10)).resolve(X)
    assert np.allclose(kernel(X), X @ X.T + 3)


def test_many_features_are_sketched():
    X = np.random.default_rng(3).standard_normal((30, 300)) / np.sqrt(300)
    kernel = Linear().approximate(TensorSketch(200)).resolve(X)
    assert kernel.prepare(X).parts[1].shape == (30, 200)
    assert kernel.error(X) < 0.5


def test_sparse_and_dense_samples_agree():
    X = np.random.default_rng(4).binomial(1, 0.2, (25, 40)).astype(float)
    rule = TensorSketch(150)
    kernel = Polynomial(degree=2).approximate(rule)
    dense, sparse = kernel.resolve(X)(X), kernel.resolve(sp.csr_matrix(X))(sp.csr_matrix(X))
    assert np.allclose(dense, sparse)


def test_other_functions_are_refused():
    with pytest.raises(ValueError, match="not binomial; use Landmarks"):
        Binomial().approximate(TensorSketch(10)).resolve(np.eye(3) / 2)


@pytest.mark.parametrize("kernel", [Spectrum(3), Subtree()], ids=repr)
def test_hashing_is_unbiased_and_depends_on_columns_alone(kernel):
    rng = np.random.default_rng(5)
    words = ["".join(rng.choice(list("ab"), 12)) for _ in range(20)]
    X = (
        words
        if isinstance(kernel, Spectrum)
        else [f"(S ({w[0]} {w[1]}) ({w[2]} {w[3]}))" for w in words]
    )
    K = kernel(X)
    found = {n: kernel.approximate(Hashing(n))(X) for n in (4096, 5)}
    assert np.abs(found[4096] - K).max() <= 2  # two columns at most that share a place
    assert np.linalg.norm(found[5] - K) > 0
    few = kernel.approximate(Hashing(64))
    assert np.allclose(few(X)[:4, :4], few(X[:4]))


def test_a_machine_on_hashed_features():
    rng = np.random.default_rng(6)
    X = ["".join(rng.choice(list("ACGT"), 30)) for _ in range(80)]
    y = np.array(["ACG" in x for x in X])
    model = SVC(Spectrum(3), plan=Plan(features=Hashing(256))).fit(X, y)
    assert model.score(X, y) > 0.95


def test_kernels_without_features_are_refused():
    with pytest.raises(ValueError, match="Hashing needs a kernel with features"):
        SubsetTree().approximate(Hashing(16))(["(S (A a) (B b))", "(S (A b) (B b))"])
