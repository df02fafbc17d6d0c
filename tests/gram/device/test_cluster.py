"""Workers of a cluster, each with a device of its own: the sums of one."""

import numpy as np
import pytest

from mercer import Gaussian, KernelRidge, Plan, stream
from mercer.gram.streamed import Centres, StreamedGram, as_they_are
from mercer.solvers.falkon import Errors

pytest.importorskip("torch")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

DEVICE = "torch-cpu"
RNG = np.random.default_rng(0)
X = RNG.standard_normal((900, 3)).astype(np.float32)
Y = np.sin(X[:, 0])
KERNEL = Gaussian(1.5)


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def chunks(client):
    return stream(da.from_array(X, chunks=(200, 3)), target=Y, client=client)


@pytest.mark.parametrize("precision", [None, "fp64"])
def test_passes_are_those_of_one_device(client, precision):
    centres = Centres(KERNEL, X[:20].copy(), DEVICE, precision)
    there, here = StreamedGram(centres, chunks(client)), StreamedGram(centres, stream(X, target=Y))
    V, A = RNG.standard_normal((20, 1)), KERNEL(X.astype(float), X[:20].astype(float))
    for between, outputs in ((as_they_are, 1), (Errors(), 2)):
        found, sums = there.through(V, between, outputs)
        expected, known = here.through(V, between, outputs)
        size = (A.T @ np.abs(A @ V) + A.T @ np.abs(Y[:, None])).max()
        np.testing.assert_allclose(found, expected, atol=1e-5 * size)
        for a, b in zip(sums, known, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5)
    np.testing.assert_allclose(there @ V, A @ V, atol=1e-5 * np.abs(V).sum())


def test_a_model_is_the_same(client):
    plan = Plan(rank=20, device=DEVICE)
    model = KernelRidge(alpha=1e-2, kernel=KERNEL, plan=plan)
    found = model.fit(chunks(client)).predict(X)
    expected = model.fit(stream(X, target=Y)).predict(X)
    np.testing.assert_allclose(found, expected, atol=1e-4)
