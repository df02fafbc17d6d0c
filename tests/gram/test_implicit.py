"""K as a product of features that are never stored, against the dense matrix."""

import pickle
import tracemalloc

import numpy as np
import pytest

from mercer import Gaussian, Landmarks, Linear, Nystrom, Plan, RandomFourier, Spectrum
from mercer.chunks import ArrayChunks
from mercer.exceptions import MemoryPlanError
from mercer.gram.implicit import ImplicitGram
from mercer.gram.phi import Shifted
from mercer.gram.streamed import as_they_are
from mercer.testing import check_gram

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 3))
STRINGS = ["".join(RNG.choice(list("ab"), 6)) for _ in range(60)]
CASES = {
    "landmarks": (Nystrom(Gaussian(1.5), X[::10]), X),
    "twice the same": (Nystrom(Gaussian(1.5), np.repeat(X[::30], 2, axis=0)), X),
    "random features": (Gaussian(1.5).approximate(RandomFourier(40)).resolve(X), X),
    "own features": (Linear(), X),
    "strings": (Nystrom(Spectrum(2), STRINGS[:8]), STRINGS),
}


@pytest.mark.parametrize("rows", [300, 77])
@pytest.mark.parametrize("name", CASES)
def test_it_is_the_matrix(name, rows):
    kernel, data = CASES[name]
    K, dense = ImplicitGram(kernel, ArrayChunks(data, rows=rows), data), kernel(data)
    check_gram(K, dense)
    rng = np.random.default_rng(1)
    V = rng.standard_normal((len(data), 2))
    scale = 1e-10 * np.abs(dense).sum()
    np.testing.assert_allclose(K @ V, dense @ V, atol=scale)
    np.testing.assert_allclose(K.diag(), np.diagonal(dense), atol=1e-10 * dense.max())
    np.testing.assert_allclose(K.cross(data[:5]) @ V, dense[:5] @ V, atol=scale)
    assert K.streamed
    assert "never stored" in K.explain()
    phi = K.features  # for methods that store them
    np.testing.assert_allclose(phi @ phi.T, dense, atol=1e-10 * dense.max())
    K = ImplicitGram(kernel, ArrayChunks(data, rows=rows), data)
    K.limit = 10.0
    with pytest.raises(MemoryPlanError, match="stores"):
        _ = K.features


@pytest.mark.parametrize("name", CASES)
def test_few_samples_stand_for_all(name):
    kernel, data = CASES[name]
    K = ImplicitGram(kernel, ArrayChunks(data, rows=50), data)
    C = np.random.default_rng(2).standard_normal((len(data), 2))
    span = K.span()
    points = span.points(data)
    assert len(points) <= 60
    np.testing.assert_allclose(kernel(data, points) @ span.express(C), K @ C, atol=1e-7)


@pytest.mark.parametrize("name", ["landmarks", "random features"])
def test_features_have_the_norm_of_their_functions(name):
    kernel, data = CASES[name]
    rng = np.random.default_rng(3)
    w = rng.random(len(data))
    phi = ImplicitGram(kernel, ArrayChunks(data, rows=70), data).stream(w, w, intercept=True)
    some = phi.sample(10**6, rng)
    P = some.array[:, :-1]
    np.testing.assert_allclose(P @ P.T, kernel(data), atol=1e-10)
    np.testing.assert_array_equal(some.array[:, -1], 1)
    np.testing.assert_allclose(phi.moments(), P.T @ (w[:, None] * P), atol=1e-9)
    np.testing.assert_allclose(
        some.moments(w, single=False), some.array.T @ (w[:, None] * some.array), atol=1e-9
    )
    V = rng.standard_normal((phi.size, 2))
    product, _ = phi.through(V, as_they_are, 2)
    expected = some.array.T @ (w[:, None] * (some.array @ V))
    np.testing.assert_allclose(product, expected, atol=1e-9)
    np.testing.assert_allclose(some.through(V, as_they_are, 2)[0], expected, atol=1e-9)
    np.testing.assert_array_equal(phi.penalty(2.0)[-2:, 0], [2.0, 0.0])


def test_what_a_pass_carries_can_be_sent():
    job = Shifted(as_they_are, np.ones(2))
    again = pickle.loads(pickle.dumps(job))
    np.testing.assert_array_equal(again.offset, job.offset)


# ---- the plan ------------------------------------------------------------------------------------
def test_a_plan_streams_what_does_not_fit():
    big = np.zeros((100_000, 2))
    plan = Plan(rank=100, memory="50 MB")
    assert "over the budget" in plan.explain(Gaussian(), big)
    assert not Plan(rank=100, memory="1 GB").streams(Gaussian(), big)
    assert not Plan(rank=100, memory="50 MB", storage="lowrank").streams(Gaussian(), big)
    assert "not in memory" in plan.explain(Gaussian(), ArrayChunks(big))
    assert "requested" in Plan(rank=5, storage="streamed").explain(Gaussian(), X)
    assert Plan(storage="streamed").gram(Linear(), X).rank == 3


def test_streamed_and_stored_agree():
    for rule in (Landmarks(20), Landmarks(20, choose="kmeans"), RandomFourier(30)):
        stored, streamed = (
            Plan(features=rule, storage=storage).gram(Gaussian(1.0), X)
            for storage in ("lowrank", "streamed")
        )
        np.testing.assert_allclose(streamed.to_dense(), stored.to_dense(), atol=1e-10)


def test_kernels_without_few_features_are_refused():
    for kernel in (Gaussian(), Spectrum(9)):
        data = X if kernel == Gaussian() else STRINGS
        with pytest.raises(ValueError, match="Plan\\(rank=1000\\)"):
            Plan().gram(kernel, ArrayChunks(data))


def test_landmarks_are_chosen_without_all_samples_or_features():
    many = np.random.default_rng(4).standard_normal((200_000, 2)).astype(np.float32)
    tracemalloc.start()
    K = Plan(rank=200).gram(Gaussian(), ArrayChunks(many))
    K.stream(many[:, 0]).through(np.ones((K.rank, 1)), as_they_are, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.8 * 200_000 * 200 * 4  # bytes of the features in single precision
