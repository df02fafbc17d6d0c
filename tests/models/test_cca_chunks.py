"""Canonical correlations of views in chunks: those of the same features in memory."""

import numpy as np
import pytest

import mercer
from mercer import Gaussian, KernelCCA, Linear, Nystrom, Plan
from mercer.chunks import ArrayChunks

RNG = np.random.default_rng(0)
N = 700
T = RNG.uniform(0, 2 * np.pi, N)
X = np.column_stack([np.cos(T), np.sin(T)]) + RNG.normal(0, 0.2, (N, 2))
Y = np.column_stack([np.sin(2 * T), np.cos(2 * T)]) + RNG.normal(0, 0.2, (N, 2)) + 50
Z = np.column_stack([T, T**2]) + RNG.normal(0, 0.3, (N, 2))
W = RNG.random(N)
KERNELS = [Nystrom(Gaussian(0.7), X[:25]), Nystrom(Gaussian(0.7), Y[:30]), Linear()]


@pytest.mark.parametrize("views", [2, 3])
@pytest.mark.parametrize("weights", [None, W])
@pytest.mark.parametrize("form", ["ridge", "squared"])
def test_the_same_as_in_memory(views, weights, form, tmp_path):
    data = [X, Y, Z][:views]
    model = KernelCCA(2, kernels=KERNELS[:views], regularization=0.05, form=form)
    known = model.fit(data, sample_weight=weights)
    correlations, scores = known.correlations_, known.transform(data)
    chunks = [
        ArrayChunks(V, None, weights, rows=r) for V, r in zip(data, (130, 99, 700), strict=False)
    ]
    found = model.fit(chunks)
    np.testing.assert_allclose(found.correlations_, correlations, rtol=1e-6)
    for mine, theirs in zip(found.transform(data), scores, strict=True):
        signs = np.sign(np.sum(mine * theirs, axis=0))
        np.testing.assert_allclose(mine * signs, theirs, atol=1e-4)
    for mine, theirs in zip(found.transform(chunks), found.transform(data), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-9)
    assert [len(points) for points in found.points_][:2] == [25, 30]
    mercer.save(found, tmp_path / "model")
    np.testing.assert_allclose(
        mercer.load(tmp_path / "model").transform(data)[0], found.transform(data)[0]
    )


def test_landmarks_of_a_plan_or_a_rank():
    for model in (KernelCCA(plan=Plan(rank=20)), KernelCCA(rank=20)):
        found = model.fit(ArrayChunks(X, rows=200), Y)
        assert len(found.points_[0]) == 20
        assert found.correlations_[0] > 0.5
        assert np.all((found.left_out_ > 0) & (found.left_out_ < 0.5))


def test_what_is_refused():
    with pytest.raises(ValueError, match="omit it"):
        KernelCCA().fit(ArrayChunks(X), ArrayChunks(Y), sample_weight=W)
    with pytest.raises(ValueError, match="view 1 does not vary"):
        KernelCCA(kernels=Linear()).fit(ArrayChunks(X), ArrayChunks(np.ones((N, 1))))
    with pytest.raises(ValueError, match="same number of samples"):
        KernelCCA().fit(ArrayChunks(X), ArrayChunks(Y[1:]))
    with pytest.raises(ValueError, match="not all zero"):
        KernelCCA(rank=5).fit(ArrayChunks(X, None, 0 * W), ArrayChunks(Y))
