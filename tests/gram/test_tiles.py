import threading
import time

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_info

from mercer import Gaussian, Linear, Matern
from mercer.gram import tiles


@pytest.fixture
def X(rng):
    return rng.standard_normal((301, 4))


@pytest.mark.parametrize("tile", [7, 64, 1000])
@pytest.mark.parametrize("workers", [1, 3])
def test_evaluate_is_the_kernel_matrix_for_any_tiling(X, tile, workers):
    k = Gaussian.from_gamma(0.3)
    P = k.prepare(X)
    K = tiles.evaluate(k, P, P, tile=tile, workers=workers)
    np.testing.assert_allclose(K, rbf_kernel(X, gamma=0.3), atol=1e-14)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diagonal(K), 1.0)


def test_rectangular_blocks(X, rng):
    Y = rng.standard_normal((57, 4))
    k = Gaussian.from_gamma(0.3)
    K = tiles.evaluate(k, k.prepare(X), k.prepare(Y), tile=16)
    np.testing.assert_allclose(K, rbf_kernel(X, Y, gamma=0.3), atol=1e-14)


@pytest.mark.parametrize("columns", [1, 3])
def test_multiply_equals_the_dense_product(X, rng, columns):
    k = Matern(nu=2.5) + Linear()
    V = rng.standard_normal((301, columns))
    P = k.prepare(X)
    np.testing.assert_allclose(tiles.multiply(k, P, P, V, tile=50), k(X) @ V, rtol=1e-12)


def test_multiply_without_symmetry(X, rng, monkeypatch):
    monkeypatch.setattr(tiles, "_ACCUMULATORS", 0)
    k = Matern(nu=2.5)
    V = rng.standard_normal((301, 2))
    P = k.prepare(X)
    np.testing.assert_allclose(tiles.multiply(k, P, P, V, tile=50), k(X) @ V, rtol=1e-12)


def test_results_do_not_depend_on_the_number_of_threads(X, rng):
    k = Gaussian()
    P = k.prepare(X)
    V = rng.standard_normal((301, 1))
    one = tiles.multiply(k, P, P, V, tile=32, workers=1)
    many = tiles.multiply(k, P, P, V, tile=32, workers=4)
    np.testing.assert_array_equal(one, many)


def test_errors_in_a_worker_reach_the_caller():
    def fail(item):
        raise RuntimeError(f"item {item}")

    with pytest.raises(RuntimeError, match="item"):
        tiles.run(fail, range(4), workers=2)


def test_after_an_error_no_item_is_begun():
    begun, barrier = [], threading.Barrier(2, timeout=5)

    def job(i):
        begun.append(i)
        barrier.wait()
        if i == 0:
            raise KeyError("no such thing")
        time.sleep(0.1)

    with pytest.raises(KeyError, match="no such thing"):
        tiles.run(job, range(50), workers=2)
    assert sorted(begun) == [0, 1]
    done = []
    tiles.run(done.append, range(3), workers=2)  # the pool is as it was
    assert sorted(done) == [0, 1, 2]


def test_the_caller_takes_part():
    barrier, names = threading.Barrier(2, timeout=5), set()

    def job(i):
        names.add(threading.current_thread().name)
        assert tiles.on_pool()
        barrier.wait()  # two threads are here at once

    tiles.run(job, range(4), workers=2)
    assert threading.current_thread().name in names
    assert len(names) == 2
    assert not tiles.on_pool()


def test_a_busy_pool_is_not_waited_for():
    """The caller does all of the work if the other threads have other things to do."""
    go = threading.Event()
    busy = tiles._pool(1).submit(go.wait, 10)
    done = []
    tiles.run(done.append, range(5), workers=2)
    assert sorted(done) == list(range(5))
    assert not busy.done()
    go.set()


@pytest.mark.parametrize("workers", [1, 2])
def test_blas_is_held_to_one_thread(workers):
    def blas_threads():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    before, inside = blas_threads(), []
    tiles.run(lambda i: inside.append(blas_threads()), range(2), workers=workers)
    assert inside == [{1}, {1}]
    assert blas_threads() == before
    with tiles.one_blas_thread(), tiles.one_blas_thread():
        assert blas_threads() == {1}
    assert blas_threads() == before


def test_float32_products_accumulate_in_float64(rng):
    X = rng.standard_normal((3000, 3)).astype(np.float32)
    v = np.ones((3000, 1))
    k = Gaussian()
    P = k.prepare(X)
    exact = rbf_kernel(X.astype(float), gamma=0.5) @ v
    np.testing.assert_allclose(tiles.multiply(k, P, P, v), exact, rtol=2e-6)


def test_nested_runs_do_not_wait_for_each_other():
    done = []

    def outer(i):
        tiles.run(lambda j: done.append((i, j)), range(3), workers=2)

    tiles.run(outer, range(4), workers=2)
    assert sorted(done) == [(i, j) for i in range(4) for j in range(3)]


# ---- contractions of derivatives ----------------------------------------------------------
def symmetric(rng, n):
    W = rng.standard_normal((n, n))
    return W + W.T


@pytest.mark.parametrize("tile", [7, 64, 1000])
def test_contract_is_the_dense_sum(X, rng, tile):
    k = 2 * Gaussian([0.5, 1.0, 2.0, 3.0]) + Matern().on(0) * Linear()
    W, P = symmetric(rng, 301), k.prepare(X)
    got = tiles.contract(k, P, lambda rows, cols: W[rows, cols], tile=tile)
    assert got.shape == k.theta.shape == (6,)
    np.testing.assert_allclose(got, k.grad_theta(P, P, W), rtol=1e-10)


def test_contract_does_not_depend_on_the_number_of_threads(X, rng):
    k = Gaussian([0.5, 1.0, 2.0, 3.0]) + 1
    W, P = symmetric(rng, 301), k.prepare(X)
    one, many = (
        tiles.contract(k, P, lambda rows, cols: W[rows, cols], tile=32, workers=workers)
        for workers in (1, 4)
    )
    np.testing.assert_array_equal(one, many)


def test_contract_asks_for_the_upper_triangle_only(X):
    asked = []

    def ones(rows, cols):
        asked.append((rows.start, cols.start))
        return np.ones((rows.stop - rows.start, cols.stop - cols.start))

    k = Gaussian()
    got = tiles.contract(k, k.prepare(X), ones, tile=100, workers=1)
    assert asked == [(r, c) for r in range(0, 301, 100) for c in range(r, 301, 100)]
    assert got.shape == (1,)


def test_contract_without_hyperparameters(X):
    k = Linear()
    assert tiles.contract(k, k.prepare(X), lambda rows, cols: None).shape == (0,)
