import numpy as np
import pytest

from mercer.solvers.hessian import Hessian

N = 12


class Dense:
    """The same quantities from matrices of size kn, with constants as further unknowns."""

    def __init__(self, K, D, intercept):
        n, k = D.shape
        W = np.zeros((k, n, k, n))
        for i in range(n):
            W[:, i, :, i] = np.diag(D[i])
            if k > 1 and D[i].any():
                W[:, i, :, i] -= np.outer(D[i], D[i]) / D[i].sum()
        self.W = W.reshape(k * n, k * n)
        prior = np.kron(np.eye(k), np.linalg.inv(K))
        ones = np.kron(np.eye(k), np.ones((n, 1)))[:, : k if intercept else 0]
        A = np.block([
            [prior + self.W, self.W @ ones],
            [ones.T @ self.W, ones.T @ self.W @ ones],
        ])  # fmt: skip
        maps = np.hstack([np.eye(k * n), ones])
        self.S = maps @ np.linalg.pinv(A, rcond=1e-11) @ maps.T
        inner = np.eye(k * n) + np.kron(np.eye(k), K) @ self.W
        self.logdet = np.linalg.slogdet(inner)[1]
        self.G = self.W @ np.linalg.inv(inner)


@pytest.fixture(params=[1, 3], ids=["one score", "three scores"])
def problem(rng, request):
    k = request.param
    B = rng.standard_normal((N, N))
    K, w = B @ B.T / N + 0.1 * np.eye(N), rng.uniform(0.5, 2, N)
    w[[2, 5]] = 0
    shares = rng.dirichlet(np.ones(k), N) if k > 1 else rng.uniform(0.05, 0.25, (N, 1))
    return K, w[:, None] * shares


def centred(V, axis):
    """What matters of scores: with several, not what they have in common."""
    return V - V.mean(axis=axis, keepdims=True) if V.shape[axis] > 1 else V


@pytest.mark.parametrize("intercept", [False, True])
def test_everything_agrees_with_large_matrices(rng, problem, intercept):
    K, D = problem
    k = D.shape[1]
    ours, dense = Hessian(K, D, intercept), Dense(K, D, intercept)
    blocks = np.einsum("cidi->icd", dense.S.reshape(k, N, k, N))
    np.testing.assert_allclose(
        centred(centred(ours.blocks(), 1), 2), centred(centred(blocks, 1), 2), atol=1e-10
    )
    V = centred(rng.standard_normal((k, N, 4)), 0)
    pulled, b = ours.pull(V)
    flat = V.reshape(k * N, 4)
    np.testing.assert_allclose(
        pulled, (flat - dense.W @ dense.S @ flat).reshape(V.shape), atol=1e-10
    )
    SV = K @ pulled + b[:, None]
    np.testing.assert_allclose(
        centred(SV, 0), centred((dense.S @ flat).reshape(V.shape), 0), atol=1e-10
    )
    G = dense.G.reshape(k, N, k, N)
    np.testing.assert_allclose(ours.sum_of_curves(), np.einsum("cicj->ij", G), atol=1e-10)
    np.testing.assert_allclose(ours.blocks(free=False), Hessian(K, D, False).blocks())
    assert ours.logdet == pytest.approx(dense.logdet, abs=1e-10)


@pytest.mark.parametrize("intercept", [False, True])
def test_one_column_per_sample(rng, problem, intercept):
    K, D = problem
    ours, k = Hessian(K, D, intercept), D.shape[1]
    q = rng.standard_normal((N, k))
    V = np.zeros((k, N, N))
    V[:, np.arange(N), np.arange(N)] = q.T
    for found, expected in zip(ours.pull_diagonal(q), ours.pull(V), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)
