"""Chunks on a cluster: the same sums as here, also if a worker is lost."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from mercer import Gaussian, stream
from mercer.chunks import ArrayChunks, standardized
from mercer.gram.streamed import Centres, StreamedGram

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3000, 3))
Y = np.sin(X[:, 0])
W = RNG.random(3000)


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def arrays(rows=400):
    return da.from_array(X, chunks=(rows, 2)), da.from_array(Y, chunks=700)


def moments(chunk):
    return len(chunk), chunk.X.T @ chunk.X, chunk.y @ chunk.X, np.float32(chunk.weight.sum())


def test_sums_are_those_of_this_machine(client):
    A, b = arrays()
    chunks = stream(A, target=b, weight=W, client=client)
    assert len(chunks) == 3000
    for found, known in zip(
        chunks.reduce(moments), ArrayChunks(X, Y, W).reduce(moments), strict=True
    ):
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, known, rtol=1e-6)
    again = stream(A, target=b, weight=W, client=client).reduce(moments)
    assert all(np.array_equal(a, b) for a, b in zip(chunks.reduce(moments), again, strict=True))


def test_sums_do_not_depend_on_the_workers(client):
    A, b = arrays(113)
    here = stream(A, target=b, weight=W)
    here.client = None  # the threads of this process
    there = stream(A, target=b, weight=W, client=client)
    for a, b in zip(here.reduce(moments), there.reduce(moments), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_products_with_kernel_matrices(client):
    A, b = arrays()
    Z = X[::100]
    K = StreamedGram(Centres(Gaussian(1.0), Z), stream(A, target=b, client=client))
    known = StreamedGram(Centres(Gaussian(1.0), Z), ArrayChunks(X, Y))
    V = RNG.standard_normal((len(Z), 2))
    np.testing.assert_allclose(K.normal(V), known.normal(V), rtol=1e-12)
    np.testing.assert_allclose(K @ V, known @ V, rtol=1e-12)


def test_chunks_come_in_order_and_samples_are_the_same(client):
    A, b = arrays()
    chunks = stream(A, target=b, client=client)
    assert [c.start for c in chunks] == list(range(0, 3000, 400))
    np.testing.assert_array_equal(np.concatenate(list(chunks.map(lambda c: c.y))), Y)
    few, known = chunks.sample(20, 5), ArrayChunks(X, Y).sample(20, 5)
    np.testing.assert_array_equal(few.X, known.X)
    np.testing.assert_array_equal(few.y, known.y)


def test_parts_and_scales(client):
    A, b = arrays()
    train, held = stream(A, target=b, client=client).split(0.2, rng=3)
    here, there = ArrayChunks(X, Y, rows=77).split(0.2, rng=3)
    for found, known in ((train, here), (held, there)):
        assert len(found) == len(known)
        np.testing.assert_array_equal(
            np.concatenate([c.X for c in found]), np.concatenate([c.X for c in known])
        )
    _, scaler = standardized(train)
    _, known = standardized(here)
    np.testing.assert_allclose(scaler.scale_, known.scale_)


def test_tables_and_bags(client):
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    import dask.bag as db

    T = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y, "w": W})
    chunks = stream(dd.from_pandas(T, npartitions=5), "y", "w", client=client)
    assert len(chunks) == 3000
    (n, total), known = (
        chunks.reduce(lambda c: (c.weight.sum(), c.y @ c.X["a"])),
        (W.sum(), Y @ X[:, 0]),
    )
    np.testing.assert_allclose([n, total], known)
    words = ["ab", "abc", "b"] * 10
    bag = stream(db.from_sequence(words, npartitions=4), client=client)
    assert [x for chunk in bag for x in chunk.X] == words
    assert bag.reduce(lambda c: (sum(map(len, c.X)),))[0] == 60


def test_partitions_of_unknown_size_and_empty_ones(client):
    A, _ = arrays()
    some = A[A[:, 0] > 0.0]  # sizes are known to the workers only
    chunks = stream(some, client=client)
    assert len(chunks) == int((X[:, 0] > 0).sum())
    top = stream(da.from_array(np.sort(X, axis=0), chunks=(400, 3)), client=client)
    _, few = top.split(0.001, rng=0)
    assert sum(len(c) for c in few) == len(few)
    none = A[A[:, 0] > 99]
    with pytest.raises(ValueError, match="no samples"):
        stream(none, client=client).reduce(lambda c: (c.X.sum(),))


def test_errors_of_jobs_are_raised_here(client):
    A, _ = arrays()

    def job(chunk):
        raise ArithmeticError(f"in the chunk at {chunk.start}")

    with pytest.raises(ArithmeticError, match="in the chunk at"):
        stream(A, client=client).reduce(job)
    with pytest.raises(ValueError, match="3000 samples, but 10 entries in y"):
        stream(A, target=np.zeros(10), client=client)
    with pytest.raises(ValueError, match="3000 samples, but 10 entries in weight"):
        stream(A, weight=da.zeros(10), client=client)


def test_a_client_by_its_address(client):
    A, _ = arrays()
    chunks = stream(A, client=client.scheduler.address)
    assert len(list(chunks.map(len))) == 8
    chunks.client.close()


def slow_sums(chunk):
    time.sleep(0.05)
    return chunk.X.sum(axis=0), np.array(os.getpid())


@pytest.mark.parametrize("workers", [2, 1])  # with the only one, the job is lost, too
def test_a_worker_that_is_killed_changes_nothing(workers):
    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        chunks = stream(  # nobody else holds what is persistent
            da.from_array(X, chunks=(200, 3)).map_blocks(np.copy).persist(), client=client
        )
        known = chunks.reduce(slow_sums)[0]
        victim = next(iter(client.run(os.getpid).values()))
        killer = threading.Timer(0.2, os.kill, (victim, signal.SIGKILL))
        killer.start()
        found = [chunks.reduce(slow_sums)[0] for _ in range(2)]
        killer.join()
        assert victim not in client.run(os.getpid).values()
        for sums in found:
            np.testing.assert_allclose(sums, known, rtol=1e-12)
        np.testing.assert_array_equal(chunks.sample(9, 0).X, ArrayChunks(X).sample(9, 0).X)
