"""Gaussian processes of samples in chunks: the same as through the same landmarks in memory."""

import numpy as np
import pytest

import mercer
from mercer import Gaussian, GaussianProcessRegressor
from mercer.chunks import ArrayChunks

RNG = np.random.default_rng(0)
N = 900
X = RNG.uniform(-3, 3, (N, 2))
R = 20 + 5 * np.sin(X[:, 0]) * X[:, 1] + 0.3 * RNG.standard_normal(N)
BOTH = np.column_stack([R, 0.1 * X[:, 0] + 0.02 * RNG.standard_normal(N)])
W = RNG.random(N) * (RNG.random(N) > 0.1)
NEW = RNG.uniform(-3, 3, (40, 2))


@pytest.mark.parametrize("approximation", ["variational", "fitc"])
@pytest.mark.parametrize(("y", "weights"), [(R, None), (BOTH, W)])
@pytest.mark.parametrize("alpha", [None, 0.05])
@pytest.mark.parametrize("normalize", [True, False])
def test_the_same_as_in_memory(approximation, y, weights, alpha, normalize, tmp_path):
    model = GaussianProcessRegressor(
        1.5 * Gaussian(1.0), alpha=alpha, optimizer=None, normalize_y=normalize,
        landmarks=X[:30] + 0.01, approximation=approximation,
    )  # fmt: skip
    if alpha is None and not normalize:
        model.set_params(alpha=1.0)
    model.fit(X, y, weights)
    value, (mean, std) = model.log_marginal_likelihood_value_, model.predict(NEW, return_std=True)
    noisy = model.predict(NEW, return_std=True, include_noise=True)[1]
    model.fit(ArrayChunks(X, y, weights, rows=130))
    assert model.log_marginal_likelihood_value_ == pytest.approx(value, rel=1e-7)
    found = model.predict(ArrayChunks(NEW, rows=7), return_std=True)
    np.testing.assert_allclose(found[0], mean, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(found[1], std, rtol=1e-5)
    np.testing.assert_allclose(
        model.predict(NEW, return_std=True, include_noise=True)[1], noisy, rtol=1e-5
    )
    mercer.save(model, tmp_path / "model")
    np.testing.assert_allclose(mercer.load(tmp_path / "model").predict(NEW), mean, rtol=1e-6)


def test_numbers_and_landmarks_are_learned_from_some():
    model = GaussianProcessRegressor(landmarks=15, random_state=0).fit(ArrayChunks(X, R, rows=200))
    assert np.sqrt(np.mean((model.predict(X) - R) ** 2)) < 0.5
    assert model.landmarks_.shape == (15, 2)
    assert model.predict(ArrayChunks(NEW)).shape == (40,)
    assert 0.2 < np.sqrt(model.alpha_) < 0.5


def test_what_is_refused():
    chunks = ArrayChunks(X, R)
    with pytest.raises(ValueError, match="landmarks=500"):
        GaussianProcessRegressor().fit(chunks)
    with pytest.raises(ValueError, match="must be a single number"):
        GaussianProcessRegressor(landmarks=5, alpha=np.ones(N)).fit(chunks)
    with pytest.raises(ValueError, match="must be None"):
        GaussianProcessRegressor(landmarks=5).fit(chunks, R)
    model = GaussianProcessRegressor(landmarks=5, optimizer=None).fit(chunks)
    with pytest.raises(ValueError, match="not available for chunks"):
        model.predict(chunks, return_cov=True)
