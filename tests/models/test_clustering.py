"""KernelKMeans and SpectralClustering: scikit-learn's contract, and independent computations."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.cluster import SpectralClustering as Peer
from sklearn.datasets import make_blobs, make_circles
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Gaussian, KernelKMeans, Linear, Plan, SpectralClustering, Spectrum, load, save
from mercer.exceptions import IndefiniteKernelWarning


@parametrize_with_checks(  # with so many starts, the best of them are the same for repeated samples
    [KernelKMeans(3, n_init=10), SpectralClustering(3, n_init=10, kernel=Gaussian(10.0))]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_the_linear_kernel_is_k_means():
    X, _ = make_blobs(300, centers=6, random_state=1)
    ours = KernelKMeans(6, kernel=Linear(), random_state=0).fit(X)
    theirs = KMeans(6, n_init=20, random_state=0).fit(X)
    assert ours.inertia_ <= theirs.inertia_ * (1 + 1e-9)
    assert -ours.score(X) == pytest.approx(ours.inertia_)
    np.testing.assert_array_equal(ours.predict(X), ours.labels_)
    centers = np.array([X[ours.labels_ == c].mean(axis=0) for c in range(6)])
    distances = np.linalg.norm(X[:, None] - centers, axis=2)
    np.testing.assert_allclose(ours.transform(X), distances, atol=1e-6)


def test_centres_are_means_of_features(rng):
    X = rng.standard_normal((40, 2))
    model = KernelKMeans(3, kernel=Gaussian(1.0), random_state=0).fit(X)
    new, k = rng.standard_normal((7, 2)), Gaussian(1.0)
    for c in range(3):
        mean = k(new, X[model.labels_ == c]).mean(axis=1)
        np.testing.assert_allclose(model.cluster_centers_[c](new), mean)


def test_weights_are_repetitions(rng):
    X = rng.standard_normal((25, 2))
    w = rng.integers(1, 4, 25)
    weighted = KernelKMeans(3, kernel=Gaussian(1.0), random_state=0, n_init=30)
    repeated = KernelKMeans(3, kernel=Gaussian(1.0), random_state=0, n_init=30)
    weighted.fit(X, sample_weight=w)
    repeated.fit(np.repeat(X, w, axis=0))
    assert weighted.inertia_ == pytest.approx(repeated.inertia_, rel=1e-6)
    assert weighted.lower_bound_ == pytest.approx(repeated.lower_bound_, rel=1e-6)


def test_strings_and_landmarks(rng):
    words = ["".join(rng.choice(list(letters), 12)) for letters in ("ab", "cd") for _ in range(30)]
    model = KernelKMeans(2, kernel=Spectrum(2).normalize(), random_state=0).fit(words)
    assert adjusted_rand_score(np.repeat([0, 1], 30), model.labels_) == 1
    X, y = make_blobs(3000, centers=4, random_state=0)
    few = KernelKMeans(4, kernel=Gaussian(3.0), plan=Plan(rank=40), random_state=0).fit(X)
    assert len(few.X_fit_) == 40
    assert adjusted_rand_score(few.labels_, few.predict(X)) == 1
    assert adjusted_rand_score(y, few.labels_) > 0.8


def cut(labels, K, w):
    """The normalised cut from its definition."""
    A, total = w[:, None] * K * w, 0.0
    for c in np.unique(labels):
        inside = labels == c
        total += A[inside][:, ~inside].sum() / A[inside].sum()
    return total


def test_normalised_cuts(rng):
    X, y = make_circles(300, factor=0.4, noise=0.03, random_state=0)
    model = SpectralClustering(2, kernel=Gaussian(0.12), random_state=0).fit(X)
    K = Gaussian(0.12)(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert model.cut_ == pytest.approx(cut(model.labels_, K, np.ones(300)), abs=1e-9)
    s = np.linalg.eigvalsh(K / np.sqrt(np.outer(K.sum(axis=0), K.sum(axis=0))))
    assert model.cut_bound_ == pytest.approx(2 - s[-2:].sum(), abs=1e-8)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_cuts_are_no_worse_than_those_of_scikit_learn(rng):
    for seed in range(3):
        X, _ = make_blobs(150, centers=5, cluster_std=2.0, random_state=seed)
        w = rng.uniform(0.5, 2, 150)
        K = Gaussian(1.0)(X)
        ours = SpectralClustering(5, kernel=Gaussian(1.0), random_state=0).fit(X)
        theirs = Peer(5, affinity="precomputed", random_state=0).fit_predict(K)
        assert ours.cut_ <= cut(theirs, K, np.ones(150)) + 1e-9
        weighted = SpectralClustering(5, kernel=Gaussian(1.0), random_state=0)
        weighted.fit(X, sample_weight=w)
        assert weighted.cut_ == pytest.approx(cut(weighted.labels_, K, w), abs=1e-8)
        assert weighted.cut_bound_ <= weighted.cut_


def test_cuts_through_landmarks():
    X, y = make_circles(1500, factor=0.4, noise=0.03, random_state=0)
    model = SpectralClustering(2, kernel=Gaussian(0.15), plan=Plan(rank=150), random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
    assert model.cut_ == pytest.approx(cut(y, Gaussian(0.15)(X), np.ones(1500)), abs=1e-3)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert len(model.X_fit_) == 150
    with pytest.raises(ValueError, match="raise the rank"):
        SpectralClustering(2, kernel=Gaussian(1e-3), plan=Plan(rank=5)).fit(X)


def test_graphs_as_matrices():
    A = np.kron(np.eye(3), np.ones((4, 4)))
    A[0, 4] = A[4, 0] = A[4, 8] = A[8, 4] = 0.1
    model = SpectralClustering(3, kernel="precomputed", random_state=0).fit(A)
    assert adjusted_rand_score(np.repeat([0, 1, 2], 4), model.labels_) == 1


def test_refusals(rng):
    X = rng.standard_normal((20, 2))
    with pytest.raises(ValueError, match="negative values"):
        SpectralClustering(2, kernel=Linear()).fit(X)
    with pytest.raises(ValueError, match="n_clusters=30 is more"):
        KernelKMeans(30).fit(X)
    with pytest.raises(ValueError, match="n_init must be an integer"):
        KernelKMeans(3, n_init=0).fit(X)


@pytest.mark.parametrize("model", [KernelKMeans(3), SpectralClustering(3)])
def test_files(model, rng, tmp_path):
    X = rng.standard_normal((40, 2))
    model.set_params(random_state=0).fit(X)
    save(model, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.labels_, model.labels_)
    np.testing.assert_allclose(again.transform(X), model.transform(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hard_data(dtype, rng):
    X = np.vstack([rng.standard_normal((30, 3)), np.full((1, 3), -99999.0)]).astype(dtype)
    for model in (KernelKMeans(3, kernel=Gaussian(1.0)), SpectralClustering(3, kernel=Gaussian())):
        found = model.set_params(random_state=0).fit(X)
        assert np.isfinite(found.transform(X)).all()
        np.testing.assert_array_equal(found.predict(X), found.labels_)
    assert (found.labels_ == found.labels_[-1]).sum() == 1  # nothing is cut by leaving it alone


def test_negative_squared_distances_are_named(rng):
    X = rng.normal(size=(60, 3))
    model = KernelKMeans(3, kernel="precomputed", random_state=0)
    with pytest.warns(IndefiniteKernelWarning, match="squared distances from means"):
        model.fit(X @ np.diag([1.0, 1.0, -2.0]) @ X.T)
    model.fit(X @ X.T)
