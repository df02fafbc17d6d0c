"""Kernels of pairs of series on a device, in the interpreter of Triton."""

import numpy as np
import pytest

from mercer import SVC, DynamicTimeWarping, GlobalAlignment, KernelRidge, Plan, Signature
from mercer.exceptions import DeviceWarning
from mercer.gram.device import pairs as module
from mercer.gram.device import torch_
from mercer.kernels.series import alignment_device, alignment_source
from mercer.testing import check_gram

torch = pytest.importorskip("torch")
DEVICE = "torch-cpu"
PLAN = Plan(device=DEVICE)


def series(rng, count, channels=1, longest=8):
    sizes = rng.integers(1, longest, count)
    return [np.cumsum(rng.standard_normal((size, channels)), axis=0) / 2 for size in sizes]


@pytest.mark.parametrize(
    ("band", "channels", "longest"), [(None, 1, 12), (3, 1, 12), (1, 2, 6), (2, 5, 7), (None, 4, 5)]
)
def test_values_are_those_of_the_processor(band, channels, longest, rng, interpreter, monkeypatch):
    """Of series that are longer than a strip."""
    X, Y = (series(rng, count, channels, longest) for count in (3, 2))
    monkeypatch.setattr(alignment_source, "_STRIPS", {1: 4, 2: 2, 3: 2})
    alignment_source.written.cache_clear()
    for double, error in ((True, 1e-12), (False, 5e-6)):
        monkeypatch.setattr(torch_, "quick_in_double", lambda _, quick=double: quick)
        for kernel in (GlobalAlignment(1.5, band=band), DynamicTimeWarping(0.3, band=band)):
            values = kernel.on_device(DEVICE)
            P, Q = kernel.prepare(X), kernel.prepare(Y)
            np.testing.assert_allclose(values(P, Q), kernel(X, Y), atol=error)
            found = values(P, P)
            np.testing.assert_allclose(found, kernel(X), atol=error)
            np.testing.assert_array_equal(found, found.T)
            assert found.dtype == (np.float64 if double else np.float32)
    alignment_source.written.cache_clear()


def test_a_sum_over_alignments_by_hand(interpreter):
    """Three alignments of two points with two points."""
    x, y, s = np.array([0.0, 1.0]), np.array([0.5, -0.5]), 0.8
    e = np.exp(-((x[:, None] - y) ** 2) / (2 * s**2))
    local = e / (2 - e)
    total = local[0, 0] * local[1, 1] * (1 + local[0, 1] + local[1, 0])
    kernel = GlobalAlignment(s)
    own = [np.exp(kernel.log_values([z])[0, 0]) for z in (x, y)]
    found = kernel.on_device(DEVICE)(kernel.prepare([x]), kernel.prepare([y]))
    np.testing.assert_allclose(found, total / np.sqrt(own[0] * own[1]), rtol=1e-12)


def test_nothing_overflows_however_long_series_are(rng, interpreter):
    """A sum over 5.8^60 alignments, and one over very small terms, in single precision."""
    alike = np.sin(np.arange(60) / 40)
    apart = np.concatenate([alike[:30], alike[30:] + 3.0])
    kernel = GlobalAlignment(1.0)
    P, Q = (kernel.prepare(some).parts[0] for some in ([alike], [alike, apart]))
    found = alignment_device.DeviceAlignments(None, False, DEVICE, double=False)(P, Q).numpy()
    np.testing.assert_allclose(found, kernel.log_values([alike], [alike, apart]), rtol=1e-6)
    assert found.max() > np.log(np.finfo(np.float32).max)


def test_points_far_from_their_centre_are_compared_in_double_precision(rng, interpreter):
    X = series(rng, 3)
    X[0][0] += 1e6
    X[1] += 1e6
    kernel = GlobalAlignment(1.0)
    P = kernel.prepare(X).parts[0]
    found = alignment_device.DeviceAlignments(None, False, DEVICE, double=False)(P, P).numpy()
    near = kernel.log_values(X)
    assert near[0, 1] < -1e9  # which is nothing
    np.testing.assert_allclose(np.exp(found), np.exp(near), rtol=1e-9)


@pytest.mark.parametrize(("order", "channels"), [(1, 2), (2, 1), (3, 2), (4, 4)])
def test_signatures_are_those_of_the_processor(order, channels, rng, interpreter):
    X, Y = series(rng, 3, channels, 12), [*series(rng, 1, channels, 6), np.ones((1, channels))]
    plain = Signature(order=order, lengthscale=2.0)
    for kernel in (plain, plain.normalize()):
        values = kernel.on_device(DEVICE)
        P, Q = kernel.prepare(X), kernel.prepare(Y)
        np.testing.assert_allclose(values(P, Q), kernel(X, Y), rtol=1e-12)
        np.testing.assert_allclose(values(P, P), kernel(X), rtol=1e-12)


def test_signatures_that_are_left_to_the_processor(interpreter):
    for kernel in (Signature(GlobalAlignment(1.0)), Signature(depth=2), Signature(order=5)):
        assert kernel.on_device(DEVICE) is None
    large = Signature(order=4)
    P = large.prepare([[0.0, 1e80]])
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="exceed"):
        large.on_device(DEVICE)(P, P)


@pytest.mark.parametrize("memory", [None, 100])
def test_a_plan_uses_the_device(memory, rng, interpreter, monkeypatch):
    monkeypatch.setattr(module, "_PAIRS", 20)
    X, kernel = series(rng, 9, longest=4), GlobalAlignment(1.0)
    plan = PLAN.replace(memory=memory)
    K, gram = kernel(X), plan.gram(kernel, X)
    assert gram.device == DEVICE
    name = "StoredPairs" if memory is None else "PairTiles"
    assert plan.explain(kernel, X).startswith(name)
    assert gram.explain().startswith(name)
    np.testing.assert_allclose(gram.to_dense(), K, atol=1e-12)
    np.testing.assert_allclose(gram @ np.ones(9), K.sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(gram.cross(X[:2]) @ np.ones(9), K[:2].sum(axis=1), atol=1e-12)
    part = np.array([4, 2])
    np.testing.assert_allclose(gram.subset(part).to_dense(), K[np.ix_(part, part)], atol=1e-12)
    check_gram(gram.subset(np.arange(4)), kernel(X[:4]))


def test_models_with_it(rng, interpreter):
    X, y = series(rng, 10, longest=4), np.arange(10) % 2
    kernel = GlobalAlignment(1.0)
    for model in (KernelRidge(kernel=kernel), SVC(kernel=kernel)):
        expected = model.fit(X, y).predict(X[:5])
        model.set_params(plan=PLAN)
        np.testing.assert_allclose(model.fit(X, y).predict(X[:5]), expected, atol=1e-9)
        assert model.gram_.device == DEVICE


def test_without_triton_the_processor_says_so(rng, monkeypatch):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    with pytest.warns(DeviceWarning, match="it needs Triton"):
        assert PLAN.gram(GlobalAlignment(1.0), series(rng, 3)).device == "cpu"


def test_values_of_ones_own_are_not_those_of_the_device():
    class Other(GlobalAlignment):
        def pairwise(self, X, Y):
            return super().pairwise(X, Y) / 2

    assert Other(1.0).on_device(DEVICE) is None
