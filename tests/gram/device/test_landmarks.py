"""Landmark models with all matrices on a device, against those of the processor."""

import gc
import weakref
from functools import partial

import numpy as np
import pytest

from mercer import (
    Gaussian,
    KernelLogisticRegression,
    KernelMachine,
    KernelPCA,
    KernelQuantileRegressor,
    KernelRidge,
    KernelRidgeCV,
    Linear,
    Matern,
    Nystrom,
    Plan,
)
from mercer.chunks import ArrayChunks
from mercer.chunks.changes import uniform
from mercer.exceptions import DeviceError, NumericalWarning
from mercer.gram.device import landmarks, phi, triangles
from mercer.gram.implicit import ImplicitGram

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
DEVICE = "torch-cpu"
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(900, 3))
Y = np.column_stack([np.sin(3 * X).sum(axis=1), X[:, 0] * X[:, 1]])
Y += 0.1 * RNG.standard_normal(Y.shape)
W = RNG.random(900) + 0.1
KERNEL = Gaussian(0.8)
SAMPLES = {"few": X[:70], "duplicates": np.repeat(X[:35], 2, axis=0)}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(triangles, "SIDE", 16)


@pytest.fixture(params=["double", "split"])
def precision(request, monkeypatch):
    if request.param == "split":
        monkeypatch.setattr(landmarks, "_DOUBLE", 0)
    return request.param


@pytest.fixture(params=["samples", "landmarks"])
def preconditioner(request, monkeypatch):
    """Of what a preconditioner is made."""
    if request.param == "landmarks":
        monkeypatch.setattr(phi, "_PASSES", 0)
    return request.param


def gram(Z=SAMPLES["few"], places=None, data=X, kernel=KERNEL):
    chunks = ArrayChunks(data, rows=250)
    return ImplicitGram(Nystrom(kernel, Z), chunks, data, device=DEVICE, places=places)


@pytest.mark.parametrize("Z", SAMPLES.values(), ids=SAMPLES)
def test_features_are_those_of_the_kernel(Z, precision):
    K = gram(Z)
    assert "when it is needed" in K.explain()
    K.factor.solve(np.ones(70))
    assert "jitter" in K.explain()
    assert 0 < K.factor.jitter < {"double": 1e-11, "split": 1e-4}[precision]
    assert {"double": "double", "split": "single"}[precision] in K.factor.words()
    B = KERNEL(X, Z)
    exact = B @ np.linalg.solve(KERNEL(Z) + K.factor.jitter * np.eye(70), B.T)
    atol = {"double": 1e-4, "split": 1e-2}[precision]  # rounding, through a small jitter
    np.testing.assert_allclose(K.features @ K.features.T, exact, atol=atol)
    np.testing.assert_allclose(K.diag(), np.diagonal(exact), atol=atol)
    V = RNG.standard_normal((900, 2))
    np.testing.assert_allclose(K @ V, K.features @ (K.features.T @ V), atol=atol)
    weighted = K.features.T @ (W[:, None] * K.features)
    np.testing.assert_allclose(K.moments(W), weighted, atol=atol * 1e-1)
    if precision == "double":
        np.testing.assert_allclose(K.features @ K.features.T, Nystrom(KERNEL, Z)(X), atol=1e-4)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("of", ["samples", "landmarks"])
def test_systems_of_few_samples(of, intercept, precision):
    K = gram(places=np.arange(70))
    streamed = K.stream(Y, W, intercept)
    few = (
        phi.SamplePhi(K.factor, K.columns, streamed.chunks.sample(200), intercept)
        if of == "samples"
        else phi.LandmarkPhi(K.factor, streamed.chunks.take(K.places), intercept)
    )
    features = K.features_of(few.chunk)
    if intercept:
        features = np.column_stack([features, np.ones(few.n)])
    exact = precision == "double"
    V, h = RNG.standard_normal((few.size, 2)), few.chunk.weight * 3
    np.testing.assert_allclose(few.scores(V), features @ V, atol=1e-7 if exact else 5e-2)
    product, _ = few.through(V, lambda F, chunk: (F * chunk.y, ()), 2)
    np.testing.assert_allclose(
        product, features.T @ (few.scores(V) * few.chunk.y), atol=1e-6 if exact else 0.5
    )

    penalty = np.full(few.size, 0.1)
    penalty[-1] = 0.02 if intercept else 0.1
    matrix = few.curvatures(h, 0.1)
    first, other = matrix.factor(penalty, 0), matrix.factor(2 * penalty, 1)
    A = features.T @ (h[:, None] * features)
    for solve, times in ((first, 1), (other, 2), (first, 1)):
        expected = np.linalg.solve(A + times * np.diag(penalty), V)
        scale = np.abs(expected).max() * (1e-7 if exact else 2e-2)
        np.testing.assert_allclose(solve(V), expected, atol=scale)
    taken = few.curvatures(2 * h, 0.1).factor(penalty, 0)
    again = first(V)  # which has lost its place, and is made again
    np.testing.assert_allclose(again, np.linalg.solve(A + np.diag(penalty), V), atol=scale)
    np.testing.assert_allclose(taken(V), np.linalg.solve(2 * A + np.diag(penalty), V), atol=scale)


@pytest.mark.parametrize("intercept", [False, True])
def test_samples_are_drawn_by_their_scores(intercept, monkeypatch):
    K = gram()
    streamed = K.stream(Y, W, intercept)
    V = 0.1 * RNG.standard_normal((70 + intercept, 2))
    features = K.features_of(streamed.chunks.take(np.arange(900)))
    if intercept:
        features = np.column_stack([features, np.ones(900)])
    odds = np.minimum(np.abs(features @ V).sum(axis=1), 2.0)

    def by_scores(F, chunk):
        return np.minimum(np.abs(F).sum(axis=1), 2.0)

    some, share = streamed.drawn(V, by_scores, 5, 900)
    stay = np.flatnonzero(uniform(0, 900, 5) < odds)
    assert isinstance(some, phi.SamplePhi)
    np.testing.assert_array_equal(some.chunk.X, X[stay])
    np.testing.assert_allclose(share, np.minimum(odds[stay], 1.0), atol=1e-4)
    np.testing.assert_allclose(some.scores(V), features[stay] @ V, atol=1e-4)
    fewer, share = streamed.drawn(V, by_scores, 5, 40)
    assert fewer.n == len(share) == 40
    monkeypatch.setattr(phi, "free_on", lambda device: 1000.0)
    assert streamed.drawn(V, by_scores, 5, 900) is None


def test_a_matrix_of_moments_is_factorised_there():
    K = gram()
    streamed = K.stream(Y, W, True)
    A, V = streamed.moments(), RNG.standard_normal((70, 2))
    A = np.block([[A, A[:, :1]], [A[:1], np.full((1, 1), 500.0)]])  # any border will do
    V, penalty = RNG.standard_normal((71, 2)), np.append(np.full(70, 0.3), 0.01)
    found = streamed.of_moments(A).factor(penalty, 0)(V)
    np.testing.assert_allclose(found, np.linalg.solve(A + np.diag(penalty), V), atol=1e-8)


def models():
    ridge = partial(KernelRidge, kernel=KERNEL, solver="falkon", tol=1e-13)
    logistic = partial(KernelLogisticRegression, alpha=0.1, kernel=KERNEL, tol=1e-9)
    yield "ridge", ridge(1e-2), Y
    yield "penalties", ridge(np.array([1e-2, 1.0])), Y
    yield "primal", KernelRidge(1e-2, kernel=Matern(1.0), solver="primal", tol=1e-13), Y[:, 0]
    yield "logistic", logistic(), Y[:, 0] > 0
    yield "classes", logistic(), np.digitize(Y[:, 0], [-1, 1])
    yield "quantile", KernelQuantileRegressor(kernel=KERNEL, quantiles=0.8), Y[:, 0]
    yield "huber", KernelMachine(kernel=KERNEL, loss="huber", alpha=0.1, tol=1e-9), Y[:, 0]


@pytest.mark.parametrize("case", list(models()), ids=lambda case: case[0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_models_are_those_of_the_processor(case, dtype, precision, preconditioner):
    _, model, y = case
    data = X.astype(dtype)
    own = model.kernel
    here, there = Plan(rank=70, storage="streamed"), Plan(rank=70, device=DEVICE)
    found = model.set_params(plan=there).fit(data, y, sample_weight=W)
    kernel = Nystrom(own, found.X_fit_)  # through the same landmarks
    there = getattr(found, "decision_function", found.predict)(data[:80])
    other = model.set_params(plan=here, kernel=kernel).fit(data, y, sample_weight=W)
    expected = getattr(other, "decision_function", other.predict)(data[:80])
    model.set_params(kernel=own)
    atol = (1e-3 if precision == "split" or dtype == np.float32 else 3e-4) * np.abs(expected).max()
    if isinstance(model, KernelQuantileRegressor):
        atol *= 20  # whose minimum is flat
    np.testing.assert_allclose(there, expected, atol=atol)


def test_variances_and_components_are_those_of_the_processor():
    kernel = Nystrom(KERNEL, SAMPLES["few"])
    for make in (
        lambda plan: (
            KernelRidge(0.1, kernel=kernel, solver="primal", plan=plan)
            .fit(X, Y[:, 0])
            .posterior_variance(X[:40])
        ),
        lambda plan: KernelRidgeCV(kernel=kernel, plan=plan).fit(X, Y).predict(X[:40]),
        lambda plan: np.abs(KernelPCA(3, kernel=kernel, plan=plan).fit(X).transform(X[:40])),
    ):
        there, here = (make(Plan(storage="streamed", device=at)) for at in (DEVICE, "cpu"))
        np.testing.assert_allclose(there, here, atol=1e-4 * np.abs(here).max())


def test_a_fitted_model_leaves_nothing_on_the_device():
    kept = []
    init = triangles.Square.__init__

    def watched(self, *args, **options):
        init(self, *args, **options)
        kept.append(weakref.ref(self))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(triangles.Square, "__init__", watched)
        plan = Plan(rank=50, device=DEVICE)
        logistic = KernelLogisticRegression(kernel=KERNEL, plan=plan)
        model = KernelRidge(0.1, kernel=KERNEL, solver="falkon", plan=plan)
        gc.disable()
        try:
            logistic.fit(X, Y[:, 0] > 0)
            model.fit(X, Y[:, 0])
            assert len(kept) == 2
            assert all(ref() is None for ref in kept)  # without waiting for a collection
        finally:
            gc.enable()
    assert model.gram_.device == DEVICE
    np.testing.assert_allclose(
        model.predict(X[:30]), KERNEL(X[:30], model.X_fit_) @ model.dual_coef_, atol=1e-6
    )


def test_no_large_matrix_is_made_on_the_processor(monkeypatch):
    from mercer.kernels.algebra import nystrom

    monkeypatch.setattr(nystrom, "_make_basis", None)  # which would be called in vain
    monkeypatch.setattr(landmarks, "PIVOTED", 10)
    plan = Plan(rank=60, device=DEVICE)
    for model, y in (
        (KernelRidge(0.1, kernel=KERNEL, solver="falkon"), Y),
        (KernelLogisticRegression(kernel=KERNEL), Y[:, 0] > 0),
    ):
        fitted = model.set_params(plan=plan).fit(X, y)
        assert len(fitted.X_fit_) == 60
        assert fitted.score(X, y) > 0.8
    assert "drawn at random" in plan.explain(KERNEL, X)


def test_landmarks_are_samples_and_known_as_such(monkeypatch):
    chunks = ArrayChunks(X, Y, rows=200)
    for most in (2000, 10):
        monkeypatch.setattr(landmarks, "PIVOTED", most)
        K = Plan(rank=40, device=DEVICE).gram(KERNEL, chunks)
        np.testing.assert_array_equal(K.kernel.reference, X[K.places])
        assert len(set(K.places)) == 40
    share = Plan(rank=0.01, device=DEVICE).gram(KERNEL, chunks)
    assert share.kernel.error(X) < 0.02


def test_what_fails_is_said(monkeypatch):
    ramp = np.linspace(0, 1e-3, 60)[:, None]
    monkeypatch.setattr(landmarks, "_JITTER", 1e-6)
    with pytest.warns(NumericalWarning, match="was added to its diagonal"):
        assert gram(ramp, data=ramp, kernel=Gaussian(10.0)).factor.triangle.inverse
    zero = gram(np.zeros((5, 3)), kernel=Linear())
    with pytest.raises(ValueError, match="zero at all"):
        zero.factor.make()
    monkeypatch.setattr(landmarks, "free_on", lambda device: 1e4)
    with pytest.raises(DeviceError, match="take at most"):
        gram().factor.solve(np.ones(70))


def test_memory_that_does_not_suffice(monkeypatch):
    def full(*args):
        raise torch.OutOfMemoryError("no")

    K = gram()
    K.factor.make()
    monkeypatch.setattr(triangles.Triangle, "solve", full)
    with pytest.raises(DeviceError, match="take fewer"):
        K.factor.solve(np.ones(70))
