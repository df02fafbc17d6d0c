"""Kernels along a graph of samples."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import Gaussian, Linear, Spectrum, parse
from mercer.kernels.algebra import neighbors
from mercer.kernels.algebra.deformed import Deformed
from mercer.kernels.algebra.neighbors import neighbor_graph
from mercer.testing import check_kernel


def graph_by_distances(K, count):
    """Neighbours one by one."""
    n = len(K)
    W = np.zeros((n, n))
    for i in range(n):
        others = [j for j in range(n) if j != i]
        others.sort(key=lambda j: K[i, i] + K[j, j] - 2 * K[i, j])
        W[i, others[:count]] = 1
    return np.maximum(W, W.T)


def laplacian(W, strength):
    return strength / (W.sum() / 2) * (np.diag(W.sum(axis=1)) - W)


def test_the_closed_form(rng):
    X, Z = rng.normal(size=(6, 2)), rng.normal(size=(9, 2))
    k = Gaussian()
    kernel = k.along(Z, strength=3.0, neighbors=2)
    K = k(Z)
    M = laplacian(graph_by_distances(K, 2), 3.0)
    S = np.linalg.solve(np.eye(9) + M @ K, M)
    np.testing.assert_allclose(kernel(X), k(X) - k(X, Z) @ S @ k(Z, X), atol=1e-10)
    np.testing.assert_allclose(
        kernel.diag(kernel.prepare(X)), np.diag(k(X) - k(X, Z) @ S @ k(Z, X)), atol=1e-10
    )
    np.testing.assert_allclose(kernel(Z), np.linalg.inv(np.linalg.inv(K) + M), atol=1e-9)


def test_the_norm_of_its_space(rng):
    """For f in the span of k(z, .), the inner product with k~(z, .) is f(z)."""
    Z = rng.normal(size=(8, 2))
    k = Gaussian()
    kernel = k.along(Z, strength=5.0, neighbors=3)
    K, tilde = k(Z), kernel(Z)
    M = laplacian(graph_by_distances(K, 3), 5.0)
    c = rng.normal(size=8)
    f = K @ c
    a = np.linalg.solve(K, tilde)  # k~(z_j, .) as sums of k(z_i, .)
    inner = c @ K @ a + f @ M @ tilde
    np.testing.assert_allclose(inner, f, atol=1e-8)


def test_it_is_a_kernel(rng):
    X, Z = rng.normal(size=(12, 2)), rng.normal(size=(8, 2))
    check_kernel(Gaussian().along(Z, strength=2.0, neighbors=3), X)


def test_graphs_of_users(rng):
    Z = rng.normal(size=(5, 2))
    W = np.zeros((5, 5))
    W[0, 1] = W[1, 0] = 2.0
    W[2, 3] = W[3, 2] = 1.0
    k = Gaussian()
    K, M = k(Z), laplacian(W, 1.0)
    exact = K - K @ np.linalg.solve(np.eye(5) + M @ K, M) @ K
    for graph in (W, sp.csr_array(W), W.tolist(), W + np.eye(5)):  # loops change nothing
        np.testing.assert_allclose(k.along(Z, graph=graph)(Z), exact, atol=1e-10)
    np.testing.assert_allclose(k.along(Z, graph=np.zeros((5, 5)))(Z), K)
    np.testing.assert_allclose(k.along(Z, strength=0.0)(Z), K)
    with pytest.raises(ValueError, match="one row for each of the 5 samples"):
        k.along(Z, graph=np.zeros((4, 4)))(Z)
    for wrong in (np.triu(np.ones((3, 3))), -np.eye(3), np.ones(3), [1.0]):
        with pytest.raises(ValueError, match="symmetric matrix of weights"):
            k.along(Z, graph=wrong)
    with pytest.raises(ValueError, match="strength must be"):
        k.along(Z, strength=-1.0)


def test_one_sample_and_more_neighbours_than_there_are(rng):
    Z = rng.normal(size=(3, 2))
    np.testing.assert_allclose(Gaussian().along(Z[:1])(Z), Gaussian()(Z))
    full = np.ones((3, 3)) - np.eye(3)
    np.testing.assert_allclose(
        Gaussian().along(Z, neighbors=50)(Z), Gaussian().along(Z, graph=full)(Z), atol=1e-12
    )


def test_training_data_by_default_and_strings():
    words = ["abab", "baba", "cdcd", "dcdc"]
    kernel = Spectrum(2).along(strength=10.0, neighbors=1).resolve(words)
    assert kernel.reference == words
    K = kernel.normalize()(words)
    assert K[0, 1] > Spectrum(2).normalize()(words)[0, 1] + 0.1


def test_properties():
    found = Gaussian().along([[0.0], [1.0]]).properties
    assert found.universal
    assert found.strictly_pd
    assert found.stationary.unknown or not found.stationary
    assert Linear().along([[0.0]]).properties.finite_dim


def test_printing_and_reading_back():
    for kernel in (Gaussian().along(), Gaussian(2.0).along([[0.5]], strength=3.0, neighbors=4)):
        assert parse(repr(kernel)) == kernel


def test_the_graph_of_nearest_neighbours(rng):
    K = Gaussian()(rng.normal(size=(30, 2)))
    np.testing.assert_array_equal(neighbor_graph(K, 3).toarray(), graph_by_distances(K, 3))


def test_strips_of_distances(rng, monkeypatch):
    K = Gaussian()(rng.normal(size=(30, 2)))
    monkeypatch.setattr(neighbors, "_STRIP", 100)
    np.testing.assert_array_equal(neighbor_graph(K, 3).toarray(), graph_by_distances(K, 3))


def test_what_is_far_from_all_has_no_neighbours(rng):
    """Its distances are all the same, and any neighbours would be chance."""
    X = rng.normal(size=(30, 2))
    X[3] = 1e8
    W = neighbor_graph(Gaussian()(X), 4).toarray()
    assert not W[3].any()
    inside = np.delete(np.delete(W, 3, axis=0), 3, axis=1)
    expected = neighbor_graph(Gaussian()(np.delete(X, 3, axis=0)), 4).toarray()
    np.testing.assert_array_equal(inside, expected)
    assert not neighbor_graph(np.eye(20), 4).nnz


def graph_of_copies(X, count):
    """Neighbours among distinct samples; the i-th copy with the i-th, and so on."""
    values, code = np.unique(X, axis=0, return_inverse=True)
    code = code.ravel()
    order = np.argsort(-Gaussian()(values), axis=1)
    W = np.zeros((len(X), len(X)))
    for a in range(len(values)):
        ours = np.flatnonzero(code == a)
        for b in [b for b in order[a] if b != a][:count]:
            theirs = np.flatnonzero(code == b)
            for i, sample in enumerate(ours):
                W[sample, theirs[i % len(theirs)]] = 1
    return np.maximum(W, W.T)


def test_copies_count_once(rng, monkeypatch):
    X = rng.normal(size=(15, 2))[rng.integers(0, 15, 120)]
    expected = graph_of_copies(X, 3)
    np.testing.assert_array_equal(neighbor_graph(Gaussian()(X), 3).toarray(), expected)
    monkeypatch.setattr(neighbors, "_STRIP", 1000)
    np.testing.assert_array_equal(neighbor_graph(Gaussian()(X), 3).toarray(), expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_data_that_are_repeated_have_the_same_kernel(rng, dtype):
    Z, X = rng.normal(size=(20, 3)).astype(dtype), rng.normal(size=(6, 3))
    often = np.tile(Z, (15, 1))[rng.permutation(300)]
    once = Gaussian(0.5).along(Z, 10.0, neighbors=3)(X)
    np.testing.assert_allclose(Gaussian(0.5).along(often, 10.0, neighbors=3)(X), once, atol=1e-6)


def test_one_value_and_two(rng):
    X = rng.normal(size=(5, 2))
    np.testing.assert_array_equal(Gaussian().along(np.ones((50, 2)))(X), Gaussian()(X))
    two = np.repeat([[0.0, 0.0], [1.0, 2.0]], [40, 3], axis=0)
    np.testing.assert_allclose(
        Gaussian().along(two)(X), Gaussian().along(two[[0, -1]])(X), atol=1e-12
    )


def test_one_value_with_most_samples(rng):
    X = np.concatenate([np.zeros(900), rng.normal(size=100)])[:, None]
    W = neighbor_graph(Gaussian()(X), 5)
    assert W.nnz <= 2 * 5 * len(X)
    assert np.all(W.sum(axis=1) >= 5)
    assert not W[:900, :900].nnz


@pytest.mark.parametrize("size", [1e8, 1e150])
def test_values_of_any_size(rng, size):
    Z = rng.normal(size=(20, 2))
    found = Linear().along(size * Z, strength=2.0, neighbors=3)(size * Z) / size**2
    M = laplacian(graph_by_distances(Linear()(Z), 3), 2.0)
    assert np.isfinite(found).all()
    # what is left of Z Z' is what M, many times as strong, leaves of it
    left = Z @ np.linalg.inv(Z.T @ M @ Z) @ Z.T / size**2
    np.testing.assert_allclose(found, left, atol=1e-10)


def test_strength_beyond_all_numbers(rng):
    Z = rng.normal(size=(20, 2))
    strong = Gaussian().along(Z, strength=1e12)(Z)
    for strength in (1e15, 1e100, 1e300):
        np.testing.assert_allclose(Gaussian().along(Z, strength=strength)(Z), strong, atol=1e-3)


def test_parts_that_all_but_fall_apart(rng):
    Z = rng.normal(size=(20, 2))
    K, W = Gaussian()(Z), np.kron(np.eye(2), np.ones((10, 10)))
    weak = W.copy()
    weak[3, 15] = weak[15, 3] = 1e-17
    for graph in (W, weak, 10.0 ** -np.abs(np.subtract.outer(np.arange(20), np.arange(20)))):
        M = laplacian(graph - np.diag(np.diag(graph)), 5.0)
        exact = K - K @ np.linalg.solve(np.eye(20) + M @ K, M @ K)
        np.testing.assert_allclose(Gaussian().along(Z, 5.0, graph=graph)(Z), exact, atol=1e-9)


def test_made_once(rng, monkeypatch):
    Z = rng.normal(size=(20, 2))
    kernel = Gaussian().along(Z)
    expected = kernel(Z)
    calls = []
    monkeypatch.setattr(Deformed, "_make", lambda self: calls.append(1))
    np.testing.assert_array_equal(kernel(Z), expected)
    assert not calls
    kernel.strength = 2.0
    with pytest.raises(TypeError):
        kernel(Z)
    assert calls
