"""Passes on a device, against the dense matrix: what is computed, sent and kept."""

import gc
import pickle
import weakref

import numpy as np
import pytest
from scipy.special import expit

from mercer import (
    Gaussian,
    KernelLogisticRegression,
    KernelRidge,
    Laplacian,
    Linear,
    Matern,
    Plan,
    Polynomial,
    stream,
)
from mercer.chunks import ArrayChunks, Chunk
from mercer.exceptions import DeviceError, DeviceWarning, DomainError
from mercer.gram.device import cards, passes
from mercer.gram.device.lanes import Lane
from mercer.gram.device.slabs import slabs
from mercer.gram.factors import HostFactor
from mercer.gram.phi import StreamedPhi
from mercer.gram.streamed import Centres, Pass, StreamedGram, as_they_are, there
from mercer.solvers.falkon import Errors

torch = pytest.importorskip("torch")
DEVICE = "torch-cpu"
SEVERAL = "torch-cpu,torch-cpu,torch-cpu"
RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 3)).astype(np.float32)
Z = X[::15].copy()
Y = RNG.standard_normal((300, 2))
W = RNG.random(300)
V = RNG.standard_normal((20, 2))
KERNELS = [
    Gaussian(1.3),
    Gaussian([1.0, 2.0, 0.5]),
    2 * Gaussian(1.0).on([0, 2]) * Laplacian(2.0).on(1) + Linear(),
    (Polynomial(degree=2) + 1).normalize(),
]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Slabs of 70 rows, of which the host works on 40 at a time."""
    monkeypatch.setattr(passes, "_SLAB", 70)
    monkeypatch.setattr(passes, "_LEAST", 10)
    monkeypatch.setattr(cards, "_STRIP", 40)


def dense(kernel, data=X):
    return kernel(data.astype(float), Z.astype(float))


def operator(kernel=KERNELS[0], device=DEVICE, data=X, rows=90, **options):
    return StreamedGram(Centres(kernel, Z, device), ArrayChunks(data, Y, W, rows=rows), **options)


def slope(F, chunk):
    return chunk.weight[:, None] * (expit(F) - chunk.y), (chunk.weight.sum(), F.sum(axis=0))


def close(found, A, U, tol=1e-5):
    """Errors are those of single precision, of what is added up."""
    bound = tol * (np.abs(A).T @ np.abs(U)).max()
    np.testing.assert_allclose(found, A.T @ U, rtol=0, atol=bound)


@pytest.mark.parametrize("device", [DEVICE, SEVERAL])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_passes_are_those_of_the_matrix(kernel, device, route):
    K, A = operator(kernel, device), dense(kernel)
    np.testing.assert_allclose(K @ V, A @ V, atol=1e-5 * (np.abs(A) @ np.abs(V)).max())
    for _ in range(2):  # what was kept gives the same
        close(K.normal(V), A, W[:, None] * (A @ V))
        product, (total, scores) = K.through(V, slope, 2)
        close(product, A, W[:, None] * (expit(A @ V) - Y))
        assert total == pytest.approx(W.sum())
        np.testing.assert_allclose(scores, (A @ V).sum(axis=0), rtol=1e-4, atol=1e-3)
        product, (squares, whole) = K.through(V, Errors(), 4)
        E = Y - A @ V
        close(product, A, W[:, None] * np.hstack([E, Y]))
        np.testing.assert_allclose(squares, W @ E**2, rtol=1e-4)
        np.testing.assert_allclose(whole, W @ Y**2, rtol=1e-6)
    product, _ = K.through(None, lambda F, chunk: (chunk.y[:, :1], ()), 1)
    close(product, A, Y[:, :1])
    assert bool(K._kept.columns.get(DEVICE)) == (route == "fused")


def test_a_constant_and_a_factor_beside(route):
    A = dense(KERNELS[0])
    L = np.linalg.cholesky(KERNELS[0](Z.astype(float)) + 1e-6 * np.eye(20))
    phi = StreamedPhi(operator(), HostFactor(L), intercept=True)
    B = np.column_stack([np.linalg.solve(L, A.T).T, np.ones(300)])
    C = RNG.standard_normal((21, 2))
    product, _ = phi.through(C, slope, 2)
    close(product, B, W[:, None] * (expit(B @ C) - Y), 1e-3)


def test_chunks_of_any_size_are_cut_into_the_same_slabs():
    cut = [
        [(slab.number, *slab.place, len(slab)) for slab in slabs(ArrayChunks(X, rows=rows), 70)]
        for rows in (13, 70, 90, 300)
    ]
    assert (
        cut == [[(i, 70 * i, min(70 * i + 70, 300), min(70, 300 - 70 * i)) for i in range(5)]] * 4
    )
    slab = next(slabs(ArrayChunks(X, rows=13), 70))
    np.testing.assert_array_equal(slab.raw(Lane(DEVICE)), X[:70])


# ---- what stays ------------------------------------------------------------------------------
@pytest.fixture
def sent(monkeypatch):
    """The shapes of arrays that are sent to the device."""
    shapes, send = [], Lane.send
    monkeypatch.setattr(
        Lane,
        "send",
        lambda lane, array, to=None: shapes.append(array.shape) or send(lane, array, to),
    )
    return shapes


def samples_in(shapes):
    return sum(shape[0] for shape in shapes if len(shape) == 2 and shape[1] == 3)


@pytest.mark.parametrize("device", [DEVICE, SEVERAL])
def test_samples_are_sent_once(device, sent, interpreter):
    K = StreamedGram(Centres(KERNELS[0], Z, device), ArrayChunks(X, rows=90))
    first = K.normal(V)
    devices = device.count(",") + 1
    assert 300 + 20 <= samples_in(sent) <= 300 + 20 * devices
    sent.clear()
    np.testing.assert_array_equal(K.normal(V), first)
    assert not sent
    close(
        K.through(V, lambda F, chunk: (np.tanh(F), ()), 2)[0],
        A := dense(KERNELS[0]),
        np.tanh(A @ V),
    )
    assert not sent  # not even where the host works on the scores


@pytest.mark.parametrize(("samples", "again"), [(0, 300), (300, 0), (150, 300 - 2 * 70)])
def test_without_room_they_are_sent_again(samples, again, sent, interpreter, monkeypatch):
    """12 bytes are what a sample takes as it is, and operands of it take more."""
    monkeypatch.setattr(Lane, "free", lambda lane: 12.0 * samples)
    K, A = operator(), dense(KERNELS[0])
    for expected in (300 + 20, again, again):
        sent.clear()
        close(K.normal(V), A, W[:, None] * (A @ V))
        assert samples_in(sent) == expected


def test_others_at_the_same_place_are_noticed(interpreter):
    data = X.copy()
    K = operator(data=data)
    K.normal(V)
    data[:] = X[::-1]
    A = dense(KERNELS[0], data)
    close(K.normal(V), A, W[:, None] * (A @ V))


def test_it_stays_no_longer_than_the_operator(interpreter):
    K = operator()
    K.normal(V)
    kept = weakref.ref(K._kept)
    assert kept()._slabs
    del K
    gc.collect()
    assert kept() is None


def test_workers_are_sent_the_job_alone(interpreter):
    K = operator()
    K.normal(V)
    job = there(Pass(K.columns, V, as_they_are, 2), K._kept)
    other = pickle.loads(pickle.dumps(job))
    assert other.kept is None
    assert job.kept is K._kept
    A = dense(KERNELS[0])
    for chunk in K.chunks:
        rows = slice(chunk.start, chunk.start + len(chunk))
        close(other(chunk)[0], A[rows], W[rows, None] * (A[rows] @ V))
    assert len(other.kept.columns) == 1
    assert not other.kept._slabs


def test_files_are_read_in_every_pass(tmp_path, route):
    path = tmp_path / "X.npy"
    np.save(path, X)
    mapped, A = np.load(path, mmap_mode="r"), dense(KERNELS[0])
    K = operator(data=mapped)
    close(K.normal(V), A, W[:, None] * (A @ V))
    plan = Plan(rank=15, device=DEVICE)
    there = KernelRidge(alpha=1e-2, kernel=Gaussian(1.0), plan=plan).fit(mapped, Y)
    here = KernelRidge(alpha=1e-2, kernel=Gaussian(1.0), plan=Plan(rank=15)).fit(X, Y)
    np.testing.assert_allclose(there.predict(X), here.predict(X), atol=5e-3)


# ---- what goes wrong -------------------------------------------------------------------------
def test_no_room_is_met_by_smaller_slabs(interpreter, monkeypatch):
    from mercer.gram.device.fused import Fused

    product, most = Fused.__call__, []

    def short_of_memory(self, V, rows=None):
        most.append(self.shape[0])
        if self.shape[0] > 20:
            raise torch.OutOfMemoryError("no room")
        return product(self, V, rows)

    monkeypatch.setattr(Fused, "__call__", short_of_memory)
    K, A = operator(), dense(KERNELS[0])
    close(K.normal(V), A, W[:, None] * (A @ V))
    assert most[0] == 70
    assert most[-1] <= 20
    assert not K._kept._slabs
    monkeypatch.setattr(passes, "_LEAST", 30)
    with pytest.raises(DeviceError, match="does not suffice"):
        operator().normal(V)


@pytest.mark.parametrize("device", [DEVICE, SEVERAL])
def test_where_triton_fails_products_are_plain(device, interpreter, monkeypatch):
    def broken(source, name):
        raise RuntimeError("Failed to find C compiler.\nMore of it")

    monkeypatch.setattr("mercer.gram.device.triton_.compiled", broken)
    K, A = operator(device=device), dense(KERNELS[0])
    with pytest.warns(DeviceWarning, match=r"Failed to find C compiler\.\)"):
        close(K.normal(V), A, W[:, None] * (A @ V))
    close(K.normal(V), A, W[:, None] * (A @ V))  # without another try
    with pytest.warns(DeviceWarning, match="Failed"):  # of sums that need no scores, too
        found = operator(device=device).through(None, lambda F, chunk: (chunk.y, ()), 2)[0]
    close(found, A, Y)


@pytest.mark.parametrize("device", [DEVICE, SEVERAL])
def test_errors_come_through(device, route):
    def refuse(F, chunk):
        raise LookupError("not these")

    with pytest.raises(LookupError, match="not these"):
        operator(device=device).through(V, refuse, 2)
    bad = X.copy()
    bad[250] = np.nan
    with pytest.raises(ValueError, match="is nan"):
        operator(device=device, data=bad).normal(V)
    job = there(Pass(Centres(KERNELS[0], Z, device), V, as_they_are, 2), None)
    with pytest.raises(DomainError, match="NaN or infinity"):
        job(Chunk(bad))
    with pytest.raises(DomainError, match="not finite"):
        operator(device=device).normal(np.full((20, 1), np.inf))


# ---- models ----------------------------------------------------------------------------------
@pytest.mark.parametrize("precision", [None, "fp64", "fp32"])
def test_models_through_landmarks(precision, route):
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    plan = Plan(rank=20, device=DEVICE, precision=precision)
    for model, target in (
        (KernelRidge(alpha=1e-2, kernel=Gaussian(1.5), solver="falkon"), y),
        (KernelLogisticRegression(kernel=Matern(2.0, nu=2.5)), y > 0),
    ):
        expected = model.set_params(plan=Plan(rank=20)).fit(X, target)
        expected = getattr(expected, "decision_function", expected.predict)(X)
        found = model.set_params(plan=plan).fit(X, target)
        found = getattr(found, "decision_function", found.predict)(X)
        np.testing.assert_allclose(found, expected, atol=3e-3 * np.abs(expected).max())


def test_predictions_of_many_samples(interpreter, monkeypatch):
    from mercer.models import kept

    monkeypatch.setattr(kept, "_AT_ONCE", 100)
    plan = Plan(rank=20, device=DEVICE, precision="fp32")
    model = KernelRidge(alpha=1e-2, kernel=Gaussian(1.5), plan=plan).fit(X, Y)
    f = model.rkhs_function_
    np.testing.assert_allclose(model.predict(X), f(X.astype(float)), atol=1e-4)
    np.testing.assert_allclose(model.predict(stream(X, rows=77)), model.predict(X), atol=1e-5)


def test_where_triton_fails_operators_are_plain(interpreter, monkeypatch):
    def broken(source, name):
        raise RuntimeError("no compiler")

    monkeypatch.setattr("mercer.gram.device.triton_.compiled", broken)
    A = KERNELS[0](X.astype(float))
    for product in ("__matmul__", "normal", "apply"):
        K = Plan(device=DEVICE).gram(KERNELS[0], X)
        given = torch.tensor(A[:, :2]) if product == "apply" else A[:, :2]
        with pytest.warns(DeviceWarning, match="no compiler"):
            found = getattr(K, product)(given)
        expected = A @ A @ A[:, :2] if product == "normal" else A @ A[:, :2]
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        assert "tile by tile (RuntimeError: no compiler)" in K.explain()
    K = Plan(device=DEVICE).gram(KERNELS[0], X)
    with pytest.warns(DeviceWarning, match="no compiler"):
        slopes = K.slopes(A[:, :2], A[:, :2], np.zeros(300))
    P = KERNELS[0].prepare(X.astype(float))
    expected = KERNELS[0].grad_theta(P, P, A[:, :2] @ A[:, :2].T)
    np.testing.assert_allclose(slopes, expected, rtol=1e-5)


def test_large_numbers_are_scaled_for_single_precision():
    K = Plan(device=DEVICE).gram(KERNELS[0], X)
    A, given = KERNELS[0](X.astype(float)), np.ones(300) * 1e36
    np.testing.assert_allclose(K.normal(given), A @ A @ given, rtol=1e-5)


def test_no_room_for_products_says_what_to_do(interpreter, monkeypatch):
    def full(source, name):
        raise torch.OutOfMemoryError("no room")

    monkeypatch.setattr("mercer.gram.device.triton_.compiled", full)
    with pytest.raises(DeviceError, match="300 x 300 samples; free some"):
        Plan(device=DEVICE).gram(KERNELS[0], X) @ np.ones(300)
