"""Ridge regression by passes, against the normal equations."""

import numpy as np
import pytest

from mercer import Gaussian, Nystrom, RandomFourier
from mercer.chunks import ArrayChunks
from mercer.exceptions import MemoryPlanError
from mercer.gram.factors import HostCurvatures
from mercer.gram.implicit import ImplicitGram
from mercer.solvers.falkon import direct, solve_falkon
from mercer.solvers.sampled import Preconditioner, conjugate_gradients
from mercer.solvers.watch import Watch

RNG = np.random.default_rng(0)
X = RNG.standard_normal((1500, 3))
Y = np.column_stack([np.sin(X.sum(axis=1)), X[:, 0] ** 2]) + 0.1 * RNG.standard_normal((1500, 2))
W = RNG.random(1500)
KERNELS = {
    "landmarks": Nystrom(Gaussian(1.5), X[:80]),
    "duplicates": Nystrom(Gaussian(1.5), np.repeat(X[:40], 2, axis=0)),
    "random features": Gaussian(1.5).approximate(RandomFourier(60)).resolve(X),
}


def stream(kernel, X=X, Y=Y, W=None, rows=400):
    return ImplicitGram(kernel, ArrayChunks(X, rows=rows), X).stream(Y, W)


def solve(phi, alphas, **options):
    options = {"tol": 1e-22, **options}
    return solve_falkon(phi, np.asarray(alphas, float), rng=np.random.default_rng(0), **options)


def exactly(phi, alphas, w=None):
    P = phi.sample(10**6, np.random.default_rng(0)).array.astype(float)
    w = np.ones(len(P)) if w is None else w
    A, y = P.T @ (w[:, None] * P), phi.chunks.y.reshape(len(P), -1)
    columns = zip(alphas, y.T, strict=True)
    eye = np.eye(len(A))
    return P, np.stack([np.linalg.solve(A + a * eye, P.T @ (w * t)) for a, t in columns], axis=1)


@pytest.mark.parametrize("method", ["falkon", "primal"])
@pytest.mark.parametrize("name", KERNELS)
def test_it_solves_the_normal_equations(name, method):
    alphas = [1.0, 0.01]
    phi = stream(KERNELS[name], W=W)
    found = solve(phi, alphas, method=method)
    P, V = exactly(phi, alphas, W)
    np.testing.assert_allclose(P @ found.weights, P @ V, atol=1e-6)
    assert found.converged
    assert found.stats["method"] == method
    objective = sum(
        W @ (y - P @ v) ** 2 + a * v @ v for y, v, a in zip(Y.T, V.T, alphas, strict=True)
    )
    assert found.stats["objective"] == pytest.approx(objective, rel=1e-9)
    assert found.stats["residual"] < 1e-6


def test_the_certificate_bounds_the_excess():
    phi = stream(KERNELS["landmarks"], Y=Y[:, 0])
    P, V = exactly(phi, [0.1])

    def objective(v):
        return float(np.sum((Y[:, :1] - P @ v) ** 2) + 0.1 * np.sum(v * v))

    for steps in (1, 2, 4):
        found = solve(phi, [0.1], method="falkon", max_iter=steps)
        excess = objective(found.weights) - objective(V)
        assert found.stats["gap"] >= excess * (1 - 1e-6) - 1e-9
        explained = float(np.sum(Y[:, 0] ** 2)) - objective(V)
        assert found.stats["violation"] == pytest.approx(excess / explained, rel=0.9)
    assert not solve(phi, [0.1], method="falkon", max_iter=1).converged


def test_weights_are_repetitions_and_chunks_do_not_matter():
    times = RNG.integers(0, 3, len(X))
    again = np.repeat(np.arange(len(X)), times)
    kernel = KERNELS["landmarks"]
    one = solve(stream(kernel, W=times.astype(float)), [0.5, 0.5], method="falkon")
    for rows in (100, 10_000):
        phi = stream(kernel, X[again], Y[again], rows=rows)
        other = solve(phi, [0.5, 0.5], method="falkon")
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-6)


def test_single_precision_is_refined_to_what_samples_have():
    Z = X.astype(np.float32)
    phi = stream(Nystrom(Gaussian(1.5), Z[:60]), Z)
    found = solve(phi, [0.1, 0.1], method="falkon", tol=1e-6)
    P, V = exactly(phi, [0.1, 0.1])
    assert found.converged
    assert np.linalg.norm(P @ (found.weights - V)) < 2e-3 * np.linalg.norm(P @ V)


def test_nothing_to_explain():
    phi = stream(KERNELS["landmarks"], Y=np.zeros(len(X)))
    for method in ("falkon", "primal"):
        found = solve(phi, [1.0], method=method)
        assert found.converged
        assert not found.weights.any()


def test_one_sample_and_an_outlier():
    one = stream(Nystrom(Gaussian(), X[:1]), X[:1], Y[:1, 0])
    assert solve(one, [1.0]).weights[0, 0] == pytest.approx(Y[0, 0] / 2)
    far, y = X.copy(), Y[:, 0].copy()
    far[0], y[1] = 1e8, -99999.0
    phi = stream(Nystrom(Gaussian(1.5), far[1:60]), far, y)
    found = solve(phi, [0.1], method="falkon")
    P, V = exactly(phi, [0.1])
    np.testing.assert_allclose(P @ found.weights, P @ V, rtol=1e-4, atol=1e-3)


def test_the_matrix_is_formed_where_that_is_less_work():
    assert direct(stream(KERNELS["landmarks"]), 1)

    class Large:
        size, n = 5000, 10**6

    assert not direct(Large, 1)


def test_memory_is_refused_before_work():
    with pytest.raises(MemoryPlanError, match="plan allows"):
        solve(stream(KERNELS["landmarks"]), [1.0, 1.0], method="falkon", limit=1000)


# ---- what goes on beside -------------------------------------------------------------------------
def test_a_callback_sees_errors_fall_and_may_stop_it():
    seen = []
    phi = stream(KERNELS["landmarks"])
    solve(phi, [0.1, 0.1], method="falkon", watch=Watch(lambda step: seen.append(step.error)))
    assert len(seen) > 3
    assert seen[-1] < 1e-3 * seen[0]
    found = solve(phi, [0.1, 0.1], method="falkon", watch=Watch(lambda step: step.n_iter == 2))
    assert found.n_iter == 2
    assert "callback" in found.message


def test_a_checkpoint_goes_on(tmp_path):
    path, phi = tmp_path / "state.npz", stream(KERNELS["landmarks"])
    whole = solve(phi, [0.1, 0.1], method="falkon")

    def interrupt(step):
        if step.n_iter == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(phi, [0.1, 0.1], method="falkon", watch=Watch(interrupt, path))
    assert path.exists()
    with pytest.raises(ValueError, match="another problem"):
        solve(phi, [0.2, 0.2], method="falkon", watch=Watch(None, path))
    again = solve(phi, [0.1, 0.1], method="falkon", watch=Watch(None, path))
    np.testing.assert_allclose(again.weights, whole.weights, atol=1e-6)
    assert again.n_iter > 3
    assert not path.exists()


def test_a_checkpoint_goes_on_in_the_same_directions(tmp_path):
    """Which steps come after an interruption does not depend on it, and no pass is taken twice."""
    path, phi, stop = tmp_path / "state.npz", stream(KERNELS["landmarks"]), {}

    def until(steps):
        return Watch(lambda step: step.n_iter == steps, **stop)

    whole = solve(phi, [0.1, 0.1], method="falkon", watch=until(7))

    def interrupt(step):
        if step.n_iter == 3:
            raise KeyboardInterrupt

    stop["checkpoint"] = path
    with pytest.raises(KeyboardInterrupt):
        solve(phi, [0.1, 0.1], method="falkon", watch=Watch(interrupt, path))
    passes, through = [], phi.gram.through
    phi.gram.through = lambda *args: passes.append(1) or through(*args)
    again = solve(phi, [0.1, 0.1], method="falkon", watch=until(7))
    assert again.n_iter == whole.n_iter == 7
    scale = np.abs(whole.weights).max()
    np.testing.assert_allclose(again.weights, whole.weights, atol=1e-10 * scale)
    assert len(passes) == 4 + 1  # steps, and the certificate


def test_a_checkpoint_of_another_kernel_is_refused(tmp_path):
    path = tmp_path / "state.npz"

    def interrupt(step):
        raise KeyboardInterrupt

    phi, other = (stream(Nystrom(Gaussian(scale), X[:10])) for scale in (1.5, 1.6))
    with pytest.raises(KeyboardInterrupt):
        solve(phi, [0.1, 0.1], method="falkon", watch=Watch(interrupt, path))
    with pytest.raises(ValueError, match="another problem"):
        solve(other, [0.1, 0.1], method="falkon", watch=Watch(None, path))


# ---- conjugate gradients -------------------------------------------------------------------------
def test_columns_stop_on_their_own_and_joint_ones_are_one_system():
    rng = np.random.default_rng(5)
    A = rng.standard_normal((12, 12))
    A = A @ A.T + np.eye(12)
    R = np.column_stack([A[:, 0], rng.standard_normal(12)])

    class Plain:
        intercept = False

        def penalty(self, alpha):
            return np.full((12, 1), alpha)

    P = Preconditioner(Plain(), [HostCurvatures(np.diag(np.diagonal(A)))], np.array([0.0, 0.0]))
    asked = []

    def product(D, at):
        asked.append(len(at))
        return A @ D

    found, n_iter = conjugate_gradients(product, P, R, np.full(2, 1e-24), 100)
    np.testing.assert_allclose(A @ found, R, atol=1e-9)
    assert n_iter == len(asked) <= 30
    joint, _ = conjugate_gradients(
        lambda D, at: A @ D + 0.1 * D.sum(axis=1, keepdims=True), P, R, np.full(2, 1e-24), 100,
        joint=True,
    )  # fmt: skip
    np.testing.assert_allclose(A @ joint + 0.1 * joint.sum(axis=1, keepdims=True), R, atol=1e-9)
