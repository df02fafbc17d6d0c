"""Learned pre-images, and pre-images of kernel PCA: inverse transform and denoising."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import KernelPCA as Peer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    Gaussian,
    KernelPCA,
    KernelRidge,
    LearnedPreImage,
    Linear,
    Matern,
    Plan,
    Polynomial,
    Spectrum,
    load,
    preimage,
    save,
)
from mercer.models.preimage import lengthened


@parametrize_with_checks([LearnedPreImage(), LearnedPreImage(Gaussian("median"), alphas=0.1)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def circle(rng):
    angle = rng.uniform(0, 2 * np.pi, 150)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def ten_clusters(n, seed):
    """20 features, noise of variance 1/4 on samples that spread as much around ten centres."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(10, 20))
    clean = centres[rng.integers(0, 10, n)] + 0.5 * rng.normal(size=(n, 20))
    return clean, clean + 0.5 * rng.normal(size=(n, 20))


# ---- learned -------------------------------------------------------------------------------
def test_settings_are_those_of_smallest_leave_one_out_error(circle):
    """One model per held-out sample, for every width and penalty."""
    X = circle[:30]
    scores, alphas = KernelPCA(3, kernel=Gaussian()).fit_transform(X), (1e-4, 1e-2, 1.0)
    model = LearnedPreImage(alphas=alphas).fit(scores, X)
    width = np.median(
        np.linalg.norm(scores[:, None] - scores[None], axis=2)[np.triu_indices(30, 1)]
    )
    errors = {}
    for factor in (0.25, 0.5, 1.0, 2.0, 4.0):
        for alpha in alphas:
            ridge, missed = KernelRidge(alpha, kernel=Gaussian(factor * width)), []
            for i in range(30):
                rest = np.arange(30) != i
                ridge.fit(scores[rest], X[rest] - X.mean(axis=0))
                missed.append(X[i] - X.mean(axis=0) - ridge.predict(scores[[i]])[0])
            errors[factor * width, alpha] = np.mean(np.square(missed))
    best = min(errors, key=errors.get)
    assert (model.kernel_.lengthscale, model.alpha_) == pytest.approx(best)
    assert model.leave_one_out_error_ == pytest.approx(errors[best], rel=1e-6)
    ridge = KernelRidge(best[1], kernel=Gaussian(best[0])).fit(scores, X - X.mean(axis=0))
    wanted = ridge.predict(scores) + X.mean(axis=0)
    np.testing.assert_allclose(model.predict(scores), wanted, atol=1e-8)


def test_units_of_the_coordinates_do_not_matter(circle):
    scores = KernelPCA(3, kernel=Gaussian()).fit_transform(circle)
    one, other = (LearnedPreImage().fit(c * scores, circle) for c in (1.0, 1e4))
    np.testing.assert_allclose(one.predict(scores), other.predict(1e4 * scores), atol=1e-6)


def test_learned_is_closer_than_scikit_learns(rng):
    clean, _ = ten_clusters(600, 0)
    theirs = Peer(20, kernel="rbf", fit_inverse_transform=True).fit(clean[:400])
    scores = theirs.transform(clean)
    ours = LearnedPreImage().fit(scores[:400], clean[:400]).predict(scores[400:])
    theirs = theirs.inverse_transform(scores[400:])
    assert np.mean((ours - clean[400:]) ** 2) < 0.7 * np.mean((theirs - clean[400:]) ** 2)


def test_learned_is_saved(circle, tmp_path):
    model = LearnedPreImage().fit(circle, circle)
    save(model, tmp_path / "learned.mercer")
    np.testing.assert_array_equal(
        load(tmp_path / "learned.mercer").predict(circle), model.predict(circle)
    )


@pytest.mark.parametrize("alphas", [0, [], [-1.0], [np.nan]])
def test_bad_penalties(alphas, circle):
    with pytest.raises(ValueError, match="alphas must be positive"):
        LearnedPreImage(alphas=alphas).fit(circle, circle)


# ---- inverse transform -----------------------------------------------------------------------
@pytest.mark.parametrize("kernel", [Gaussian(), Matern(nu=1.5), Polynomial(2), Linear()], ids=str)
def test_all_components_lose_nothing(kernel, circle):
    model = KernelPCA(kernel=kernel).fit(circle)
    np.testing.assert_allclose(model.inverse_transform(model.transform(circle)), circle, atol=1e-3)


def test_linear_inverse_is_that_of_pca(rng):
    from sklearn.decomposition import PCA

    X = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5)) + 3
    ours, theirs = KernelPCA(2, kernel=Linear()).fit(X), PCA(2).fit(X)
    wanted = theirs.inverse_transform(theirs.transform(X))
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(X)), wanted, atol=1e-4)
    np.testing.assert_allclose(ours.denoise(X), wanted, atol=1e-4)


def test_inverse_of_a_pipeline_and_options(circle):
    both = make_pipeline(StandardScaler(), KernelPCA(10, kernel=Gaussian())).fit(circle)
    np.testing.assert_allclose(both.inverse_transform(both.transform(circle)), circle, atol=0.02)
    model = clone(both[-1]).fit(circle)
    scores = model.transform(circle[:5])
    nearest = model.inverse_transform(scores, method="nearest")
    np.testing.assert_array_equal(nearest, circle[:5])
    located = model.inverse_transform(scores, method="distances", n_neighbors=20)
    np.testing.assert_allclose(located, circle[:5], atol=0.05)
    with pytest.raises(ValueError, match="X has 3 coordinates, but there are 10 components"):
        model.inverse_transform(scores[:, :3])


def test_inverse_of_landmarks_and_streams(circle):
    model = KernelPCA(8, kernel=Gaussian(), plan=Plan(rank=40)).fit(circle)
    np.testing.assert_allclose(model.inverse_transform(model.transform(circle)), circle, atol=0.05)
    stream = KernelPCA(8, kernel=Gaussian(), plan=Plan(rank=40)).partial_fit(circle[:100])
    stream.partial_fit(circle[100:])
    np.testing.assert_allclose(
        stream.inverse_transform(stream.transform(circle)), circle, atol=0.05
    )


def test_precomputed_has_no_samples(circle):
    K = Gaussian()(circle)
    model = KernelPCA(5, kernel="precomputed").fit(K)
    with pytest.raises(ValueError, match="there are no samples to return"):
        model.inverse_transform(model.transform(K))
    found = preimage(model.project(K[:3])).index
    direct = KernelPCA(5, kernel=Gaussian()).fit(circle).project(circle[:3])
    np.testing.assert_array_equal(found, preimage(direct, "nearest").index)


# ---- denoising -------------------------------------------------------------------------------
def test_lengthened_projections_have_the_mean_norm(circle, rng):
    model = KernelPCA(6, kernel=Gaussian(0.7)).fit(circle)
    new = circle + rng.normal(0, 0.5, circle.shape)
    usual = np.mean(model.project(circle).norm() ** 2)
    short = model.project(new).norm() ** 2
    variance = model.explained_variance_.sum()
    longer = lengthened(model.transform(new), model.subspace_.offset, variance)
    norms = model.subspace_.combine(longer).norm() ** 2
    np.testing.assert_allclose(norms, np.maximum(short, usual), rtol=1e-6)
    direction = longer / np.linalg.norm(longer, axis=1, keepdims=True)
    old = model.transform(new)
    np.testing.assert_allclose(direction, old / np.linalg.norm(old, axis=1, keepdims=True))
    assert np.array_equal(
        lengthened(np.zeros((1, 6)), model.subspace_.offset, 1.0), np.zeros((1, 6))
    )


def test_points_return_to_the_circle(circle, rng):
    noisy = circle + rng.normal(0, 0.15, circle.shape)
    model = KernelPCA(6, kernel=Gaussian(0.7)).fit(circle)
    found = model.denoise(noisy)
    off, before = (np.abs(np.linalg.norm(Z, axis=1) - 1) for Z in (found, noisy))
    assert off.mean() < 0.35 * before.mean()
    assert model.denoise(noisy.astype(np.float32)).dtype == np.float32
    table = model.denoise(pd.DataFrame(noisy))
    np.testing.assert_allclose(table, found, atol=1e-6)


def test_denoised_strings_are_training_strings(rng):
    words = ["".join(rng.choice(list("ab"), 12)) for _ in range(30)]
    model = KernelPCA(5, kernel=Spectrum(3).normalize()).fit(words)
    damaged = ["c" + word[1:] for word in words]
    found = model.denoise(damaged)
    assert set(found) <= set(words)
    assert np.mean([a == b for a, b in zip(found, words, strict=True)]) > 0.3


def test_ten_clusters():
    """Mean squared error at most 0.16, where scikit-learn's inverse transform has 0.2."""
    from mercer.kernels.vectors.distances import median_distance

    clean, noisy = ten_clusters(2000, 0)
    gamma = 1 / median_distance(clean) ** 2
    peer = Peer(20, kernel="rbf", gamma=gamma, fit_inverse_transform=True, random_state=0).fit(
        clean
    )
    theirs = peer.inverse_transform(peer.transform(noisy))
    assert 0.19 < np.mean((theirs - clean) ** 2) < 0.22
    model = KernelPCA(20, kernel="rbf", gamma=gamma, random_state=0).fit(clean)
    assert np.mean((model.denoise(noisy) - clean) ** 2) < 0.16
    assert np.mean((model.denoise(noisy, lengthen=False) - clean) ** 2) < 0.16


@pytest.mark.slow
def test_usps_digits(shared_data):
    """Clearly below linear PCA at its best, and below scikit-learn with settings that suit it."""
    with np.load(shared_data / "vectors" / "usps.npz") as file:
        X, end = file["X"].astype(float), int(file["n_train"])
    rng = np.random.default_rng(0)
    train, clean = X[rng.permutation(end)[:2000]], X[end:][:400]
    noisy = clean + 0.5 * rng.normal(size=clean.shape)

    def error(found):
        return np.mean((found - clean) ** 2)

    ours = KernelPCA(1200, kernel=Gaussian(9.0), random_state=0).fit(train).denoise(noisy)
    mean = train.mean(axis=0)
    axes = np.linalg.svd(train - mean, full_matrices=False)[2]
    linear = min(error(mean + (noisy - mean) @ axes[:q].T @ axes[:q]) for q in range(10, 120, 5))
    peer = Peer(
        256, kernel="rbf", gamma=1 / 800, alpha=1e-3, fit_inverse_transform=True, random_state=0
    ).fit(train)
    assert error(ours) < 0.65 * linear
    assert error(ours) < 0.85 * error(peer.inverse_transform(peer.transform(noisy)))
