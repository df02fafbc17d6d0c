"""Kernels between samples against brute-force means over all pairs of points."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.model_selection import StratifiedKFold, cross_val_score

from mercer import (
    SVC,
    Categorical,
    Custom,
    EmbeddingGaussian,
    Gaussian,
    KernelRidge,
    Laplacian,
    Linear,
    MeanEmbedding,
    Plan,
    Polynomial,
    Spectrum,
    distance_of_means,
    load,
    parse,
    save,
)
from mercer.exceptions import DomainError, UnresolvedError
from mercer.testing import check_kernel

POINTS = [Gaussian(0.8), Laplacian(), Linear(), Polynomial(2)]


def brute(k, A, B):
    return np.array([[k(a, b).mean() for b in B] for a in A])


@pytest.fixture
def bags(rng):
    return [rng.normal(rng.normal(), 1, (rng.integers(1, 9), 2)) for _ in range(30)]


@pytest.fixture
def large(rng):
    """Bags that begin, end and lie across the borders of tiles of 500 points."""
    return [rng.normal(size=(n, 2)) for n in (700, 3, 1201, 1, 499, 501, 500, 95)]


@pytest.fixture
def texts(rng):
    return [
        ["".join(rng.choice(list("ab"), 6)) for _ in range(rng.integers(1, 5))] for _ in range(20)
    ]


@pytest.mark.parametrize("k", POINTS, ids=repr)
def test_means_over_all_pairs(k, bags, large):
    for X in (bags, large):
        wanted = brute(k, X, X)
        assert MeanEmbedding(k)(X) == pytest.approx(wanted, rel=1e-10, abs=1e-12)
        assert MeanEmbedding(k)(X[:3], X[2:]) == pytest.approx(wanted[:3, 2:], abs=1e-10)
        m = MeanEmbedding(k)
        assert m.diag(m.prepare(X)) == pytest.approx(np.diagonal(wanted))


@pytest.mark.parametrize("k", POINTS, ids=repr)
def test_gaussian_of_the_distance_of_means(k, bags):
    X = bags[:8]
    D = np.array([[distance_of_means(k, a, b) for b in X] for a in X])
    assert EmbeddingGaussian(k, 0.6)(X) == pytest.approx(np.exp(-(D**2) / (2 * 0.36)), abs=1e-9)
    resolved = EmbeddingGaussian(k).resolve(X)
    assert resolved.lengthscale == pytest.approx(np.median(D[np.triu_indices(8, 1)]), rel=1e-6)


@pytest.mark.parametrize("k", [*POINTS, Gaussian("median")], ids=repr)
def test_promises(k, bags, large):
    for kernel in (MeanEmbedding(k), MeanEmbedding(k).normalize(), EmbeddingGaussian(k, 0.7)):
        check_kernel(kernel, bags)
    if k == POINTS[0]:
        check_kernel(MeanEmbedding(k), large)


def test_promises_of_other_points(bags, texts):
    for kernel in (MeanEmbedding(Spectrum(2)), EmbeddingGaussian(Spectrum(2).normalize())):
        check_kernel(kernel, texts)
    single = [bag.astype(np.float32) for bag in bags]
    check_kernel(MeanEmbedding(Gaussian()), single)
    check_kernel(EmbeddingGaussian(Gaussian()), single)
    check_kernel(2 * MeanEmbedding(Linear()) + EmbeddingGaussian(Gaussian("median")), bags)


def test_bags_of_strings(texts):
    k = Spectrum(2)
    assert MeanEmbedding(k)(texts) == pytest.approx(brute(k, texts, texts))
    m = MeanEmbedding(k)
    phi = m.features(m.prepare(texts))
    assert sp.issparse(phi)
    dense = m.gram(texts, Plan(storage="dense")).to_dense()
    assert m.gram(texts, Plan(storage="lowrank")).to_dense() == pytest.approx(dense)


def test_forms_of_bags(rng):
    array = rng.normal(size=(5, 4, 3))
    wanted = brute(Gaussian(), array, array)
    k = MeanEmbedding(Gaussian())
    assert k(array) == pytest.approx(wanted)
    assert k([bag.tolist() for bag in array]) == pytest.approx(wanted)
    assert k([sp.csr_matrix(bag) for bag in array]) == pytest.approx(wanted)
    assert k([pd.DataFrame(bag) for bag in array]) == pytest.approx(wanted)
    boxed = np.empty(5, dtype=object)
    boxed[:] = list(array)
    assert k(boxed) == pytest.approx(wanted)
    line = [bag[:, 0] for bag in array]
    assert k(line) == pytest.approx(brute(Gaussian(), line, line))
    table = pd.DataFrame({"bag": list(array), "size": range(5)})
    assert k.on("bag")(table) == pytest.approx(wanted)
    sets = [{"a", "b"}, {"b"}, {"c"}]
    assert MeanEmbedding(Categorical())(sets)[0] == pytest.approx([0.5, 0.5, 0])


def test_parameters_are_resolved_on_all_points(bags):
    k = MeanEmbedding(Gaussian("median")).resolve(bags)
    assert k.kernel == Gaussian("median").resolve(np.concatenate(bags))
    with pytest.raises(UnresolvedError, match="depends on the data"):
        EmbeddingGaussian(Gaussian())(bags[:3], bags)
    same = [bags[0], bags[0]]
    assert EmbeddingGaussian(Gaussian()).resolve(same).lengthscale == 1.0


def test_distribution_regression(rng):
    """The spread of a distribution, learned from samples of it: linear methods cannot see it."""
    spread = rng.uniform(0.5, 3, 150)
    X = [rng.normal(0, s, (rng.integers(30, 60), 1)) for s in spread]
    for kernel in (EmbeddingGaussian(Gaussian("median")), MeanEmbedding(Gaussian("median"))):
        model = KernelRidge(alpha=1e-3, kernel=kernel).fit(X[:100], spread[:100])
        assert model.score(X[100:], spread[100:]) > 0.85
    by_mean = KernelRidge(alpha=1e-3, kernel=EmbeddingGaussian(Linear()))
    assert by_mean.fit(X[:100], spread[:100]).score(X[100:], spread[100:]) < 0.6


def test_multi_instance_classification(shared_data):
    path = shared_data / "sets" / "musk1.npz"
    if not path.exists():
        pytest.skip("musk1 is not available")
    data = np.load(path)
    X = data["X"].astype(float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    bags = [X[a:b] for a, b in zip(data["bag_ptr"][:-1], data["bag_ptr"][1:], strict=True)]
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    model = SVC(kernel=EmbeddingGaussian(Gaussian(5.0)), C=10)
    assert cross_val_score(model, bags, data["y"], cv=folds).mean() > 0.84


def test_what_is_known_of_them():
    k = MeanEmbedding(Gaussian())
    assert str(k.domain) == "distributions, given by samples of vectors in R^d"
    assert k.properties.strictly_pd.no
    assert k.properties.characteristic.no
    assert k.properties.bounded
    assert k.properties.positive_diag
    assert MeanEmbedding(Linear()).properties.bounded.no
    assert MeanEmbedding(Linear()).properties.finite_dim
    assert MeanEmbedding(Linear()).properties.continuous.unknown  # one far point moves the mean
    g = EmbeddingGaussian(Gaussian()).properties
    assert g.universal
    assert g.characteristic
    assert "Christmann" in g.universal.because
    assert EmbeddingGaussian(Linear()).properties.universal.unknown
    assert EmbeddingGaussian(Polynomial(2)).properties.strictly_pd.unknown
    assert (k + EmbeddingGaussian(Gaussian())).properties.universal
    doubtful = MeanEmbedding(Custom(lambda a, b: 1.0)).properties
    assert doubtful.psd.unknown
    assert doubtful.strictly_pd.unknown
    assert "distributions" in EmbeddingGaussian(Gaussian()).explain()


def test_a_mixture_makes_the_gram_matrix_singular(rng):
    P, Q = rng.normal(size=(4, 2)), rng.normal(size=(4, 2))
    X = [P, Q, np.concatenate([P, Q])]
    assert np.linalg.eigvalsh(MeanEmbedding(Gaussian())(X))[0] == pytest.approx(0, abs=1e-12)
    assert np.linalg.eigvalsh(EmbeddingGaussian(Gaussian(), 0.1)(X))[0] > 1e-3


def test_text_and_files(tmp_path, bags):
    k = EmbeddingGaussian(Gaussian(2.0), lengthscale=0.5) + 3 * MeanEmbedding(Linear()).normalize()
    assert parse(repr(k)) == k
    save(k, tmp_path / "k.mercer")
    assert load(tmp_path / "k.mercer") == k
    model = KernelRidge(kernel=k).fit(bags, np.arange(30.0))
    save(model, tmp_path / "model.mercer")
    assert load(tmp_path / "model.mercer").predict(bags) == pytest.approx(model.predict(bags))


def test_bad_input(bags):
    k = MeanEmbedding(Gaussian())
    with pytest.raises(ValueError, match="kernel must be"):
        MeanEmbedding("rbf")
    with pytest.raises(ValueError, match="lengthscale must be"):
        EmbeddingGaussian(Gaussian(), -1.0)
    with pytest.raises(DomainError, match=r"X\[:, :, None\]"):
        k(np.zeros((5, 2)))
    with pytest.raises(DomainError, match=r"\.on\(column\)"):
        k(pd.DataFrame({"a": [1.0]}))
    with pytest.raises(DomainError, match="no samples"):
        k([])
    with pytest.raises(DomainError, match="bag 1 is empty"):
        k([bags[0], np.zeros((0, 2))])
    with pytest.raises(DomainError, match="sample 0 is a str"):
        MeanEmbedding(Spectrum(2))(["abc", "abd"])
    with pytest.raises(DomainError, match="sample 0 is a float"):
        k([1.0, 2.0])
    with pytest.raises(DomainError, match="same features"):
        k([bags[0], np.zeros((2, 3))])
    with pytest.raises(ValueError, match="features"):
        k(bags, [np.zeros((2, 3))])
    with pytest.raises(DomainError, match="NaN"):
        k([bags[0], np.full((2, 2), np.nan)])
