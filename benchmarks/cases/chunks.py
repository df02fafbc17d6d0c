"""Passes over data in chunks: from a file beside an array in memory, by two workers beside one.

A pass is the product K'K V with M centres and five right-hand sides, which is what a solver of a
large-scale model does many times. Files are made in a temporary folder; they stay in the cache of
the system, so it is reading and checking that is measured, not the disk.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..harness import MERCER, Accuracy, Case, Contest, Target, Unavailable

ARRAY, SKLEARN, ONE = "mercer, array in memory", "scikit-learn", "mercer, one worker"
_D, _OUTPUTS = 10, 5


def _relative(outputs: Mapping[str, Any]) -> dict[str, float]:
    first = outputs[MERCER]
    scale = float(np.abs(first).max())
    return {name: float(np.abs(found - first).max()) / scale for name, found in outputs.items()}


def _product(chunks: Any, Z: np.ndarray) -> np.ndarray:
    from mercer import Gaussian
    from mercer.gram.streamed import Centres, StreamedGram

    V = np.random.default_rng(1).normal(size=(len(Z), _OUTPUTS))
    return StreamedGram(Centres(Gaussian(3.0), Z), chunks).normal(V)


@cache
def _folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="mercer-chunks-")


def _samples(n: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, _D))


def passes(n: int, M: int, form: str) -> Contest:
    from mercer import stream

    X, path = _samples(n), Path(_folder().name, f"X-{n}.{form}")
    if form == "npy":
        np.save(path, X)
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(_D)}), path)
    calls = {
        MERCER: lambda: _product(stream(path), X[:M]),
        ARRAY: lambda: _product(stream(X), X[:M]),
    }
    return Contest(calls, _relative)


def svmlight(n: int) -> Contest:
    import scipy.sparse as sp
    from sklearn.datasets import dump_svmlight_file, load_svmlight_file

    from mercer import stream

    path = Path(_folder().name, f"{n}.svm")
    A = sp.random(n, 10_000, 0.005, format="csr", random_state=0)
    A.data = np.round(A.data, 6)  # as files have them
    dump_svmlight_file(A, np.ones(n), str(path), zero_based=False)
    weights = np.linspace(1.0, 2.0, 10_000)

    def read() -> np.ndarray:
        return np.concatenate([chunk.X @ weights for chunk in stream(path, n_features=10_000)])

    def known() -> np.ndarray:
        return load_svmlight_file(str(path), n_features=10_000)[0] @ weights

    return Contest({MERCER: read, SKLEARN: known}, _relative)


@cache
def _cluster(workers: int) -> Any:
    from distributed import Client, LocalCluster

    before = dict(os.environ)
    cluster = LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0"
    )
    os.environ.clear()  # of OMP_NUM_THREADS=1, which is for the workers, and stays here
    os.environ.update(before)
    return Client(cluster, set_as_default=False)


def cluster(n: int, M: int, parts: int) -> Contest:
    try:
        import dask.array as da
        import distributed  # noqa: F401
    except ImportError:
        raise Unavailable("dask is not installed") from None

    from mercer import stream

    Z = _samples(M)

    def on(workers: int) -> Any:
        client = _cluster(workers)
        sizes = np.diff(np.linspace(0, n, parts + 1).astype(int))
        random = da.random.default_rng(0).normal(size=(n, _D), chunks=((*map(int, sizes),), _D))
        kept = client.persist(random)
        chunks = stream(kept, client=client)
        len(chunks)
        return chunks

    two, one = on(2), on(1)
    return Contest({MERCER: lambda: _product(two, Z), ONE: lambda: _product(one, Z)}, _relative)


CASES = [
    Case(
        "chunks.npy",
        "a pass K'KV, {M} centres, n={n:,} rows of a .npy file",
        lambda n, M: passes(n, M, "npy"),
        {"n": 1_000_000, "M": 300},
        {"n": 200_000, "M": 100},
        {"n": 3_000, "M": 20},
        time=Target(cost=1.2),
        memory=Target(),
        accuracy=Accuracy("relative difference of products", 1e-10),
        rounds=3,
    ),
    Case(
        "chunks.parquet",
        "a pass K'KV, {M} centres, n={n:,} rows of a Parquet file",
        lambda n, M: passes(n, M, "parquet"),
        {"n": 1_000_000, "M": 300},
        {"n": 200_000, "M": 100},
        {"n": 3_000, "M": 20},
        time=Target(cost=1.5),
        memory=Target(),
        accuracy=Accuracy("relative difference of products", 1e-10),
        rounds=3,
    ),
    Case(
        "chunks.svmlight",
        "n={n:,} sparse rows with 50 numbers each, from text, in two passes",
        svmlight,
        {"n": 50_000},
        {"n": 5_000},
        {"n": 100},
        time=Target(speed=1.0),
        memory=Target(),
        accuracy=Accuracy("relative difference of sums of rows", 1e-12),
        rounds=3,
    ),
    Case(
        "chunks.cluster",
        "a pass K'KV, {M} centres, n={n:,} in {parts} partitions, two Dask workers",
        cluster,
        {"n": 2_000_000, "M": 300, "parts": 16},
        {"n": 200_000, "M": 300, "parts": 8},
        {"n": 2_000, "M": 20, "parts": 4},
        time=Target(speed=2 / 1.3),  # 1.3 times the ideal
        accuracy=Accuracy("relative difference of products", 1e-10),
        rounds=3,
    ),
]
