"""Cross-validation by conjugate gradients, against eigendecompositions."""

import numpy as np
import pytest

from mercer import Gaussian, KernelRidgeCV, Plan
from mercer.models import ridge_cv
from mercer.solvers import resampled
from mercer.solvers.eigen import RidgeSpectrum
from mercer.solvers.resampled import RidgeSystems

TILED = Plan(storage="tiled")
ALPHAS = [0.01, 0.3, 10.0]


@pytest.fixture
def data(rng):
    X = rng.standard_normal((200, 3))
    Y = np.stack([np.sin(2 * X[:, 0]), X[:, 1] ** 2], axis=1)
    return X, Y + 0.1 * rng.standard_normal((200, 2))


@pytest.mark.parametrize("weighted", [False, True])
def test_folds(data, rng, weighted):
    X, Y = data
    weights = rng.integers(0, 3, 200).astype(float) if weighted else None
    folds = np.array_split(rng.permutation(200), 4)
    ours = RidgeSystems(Gaussian().gram(X, TILED), weights).held_out(Y, ALPHAS, folds)
    exact = RidgeSpectrum(Gaussian().gram(X), weights).held_out(Y, ALPHAS, folds)
    for a in range(len(ALPHAS)):
        for V, found, expected in zip(folds, ours[a], exact[a], strict=True):
            counts = np.ones(len(V), bool) if weights is None else weights[V] > 0
            np.testing.assert_allclose(found[counts], expected[counts], atol=1e-4)


def test_in_batches(data, rng, monkeypatch):
    X, Y = data
    folds = np.array_split(rng.permutation(200), 4)
    gram = Gaussian().gram(X, TILED)
    whole = RidgeSystems(gram).held_out(Y, ALPHAS, folds)
    monkeypatch.setattr(resampled, "free_memory", lambda: 5e5)
    assert len(RidgeSystems(gram)._batches(list(range(12)), 2)) > 1
    parts = RidgeSystems(gram).held_out(Y, ALPHAS, folds)
    for a in range(len(ALPHAS)):
        for one, other in zip(whole[a], parts[a], strict=True):
            np.testing.assert_allclose(one, other, atol=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
def test_generalised_cross_validation(data, rng, weighted):
    X, Y = data
    weights = rng.integers(0, 3, 200).astype(float) if weighted else np.ones(200)
    used = weights > 0
    root = np.sqrt(weights[used])
    K = root[:, None] * Gaussian()(X[used]) * root
    systems = RidgeSystems(Gaussian().gram(X, TILED), weights if weighted else None)
    path, held_out = systems.path(Y, ALPHAS), systems.left_out(Y, ALPHAS)
    for alpha, (coef, trace), F in zip(ALPHAS, path, held_out, strict=True):
        G = np.linalg.inv(K + alpha * np.eye(len(K)))
        np.testing.assert_allclose(
            coef[used], root[:, None] * (G @ (root[:, None] * Y[used])), atol=1e-3
        )
        assert trace == pytest.approx(np.trace(G), rel=0.1)
        residual = weights[used, None] * (Y[used] - F[used])
        np.testing.assert_allclose(residual, coef[used] * len(K) / trace, rtol=0.1, atol=1e-6)
        np.testing.assert_array_equal(F[~used], Y[~used])


@pytest.fixture
def many(monkeypatch):
    """Samples are many as soon as they are ten."""
    monkeypatch.setattr(ridge_cv, "_FEW", 10)


def test_models_choose_by_folds_as_with_a_stored_matrix(data, many):
    X, Y = data
    grid = {"kernel__lengthscale": [0.2, 1.0, 5.0]}
    tiled, stored = (
        KernelRidgeCV(ALPHAS, kernel=Gaussian(), param_grid=grid, cv=5, plan=plan).fit(X, Y)
        for plan in (TILED, None)
    )
    assert tiled.best_params_ == stored.best_params_
    scores = (model.cv_results_["split_test_scores"] for model in (tiled, stored))
    np.testing.assert_allclose(*scores, rtol=1e-4)
    np.testing.assert_allclose(tiled.predict(X), stored.predict(X), atol=1e-4)


def test_models_choose_by_generalised_cross_validation(data, many):
    X, Y = data
    model = KernelRidgeCV(ALPHAS, kernel=Gaussian(), plan=TILED).fit(X, Y)
    spectrum = RidgeSpectrum(Gaussian().gram(X))
    expected = [-spectrum.gcv(Y, alpha) / 2 for alpha in ALPHAS]  # a mean over two targets
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], expected, rtol=0.2)
    assert model.alpha_ == ALPHAS[int(np.argmax(expected))]
