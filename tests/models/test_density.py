"""KernelDensity: scikit-learn's contract, closed forms, and densities from their definition."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import KernelDensity as Peer
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    Exponential,
    Gaussian,
    KernelDensity,
    Laplacian,
    Linear,
    LocalAlignment,
    Matern,
    Plan,
    RandomFourier,
    RationalQuadratic,
    Spectrum,
    load,
    save,
)
from mercer.exceptions import DomainError


@parametrize_with_checks([KernelDensity()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def held_out(K, w):
    """Densities of samples by all the others, from the definition; a weight counts copies."""
    found = []
    for i in range(len(K)):
        rest = w.copy()
        rest[i] = max(w[i] - 1, 0)
        found.append(rest @ K[i] / rest.sum())
    return np.array(found)


# ---- densities ---------------------------------------------------------------------------------
@pytest.mark.parametrize("d", [1, 3])
def test_the_gaussian_kernel_is_that_of_scikit_learn(d, rng):
    X, new, w = rng.normal(size=(60, d)), 5 * rng.normal(size=(9, d)), rng.uniform(0.1, 3, 60)
    for weights in (None, w):
        ours = KernelDensity(Gaussian(0.6)).fit(X, sample_weight=weights)
        theirs = Peer(bandwidth=0.6).fit(X, sample_weight=weights)
        np.testing.assert_allclose(ours.score_samples(new), theirs.score_samples(new), rtol=1e-10)
        assert ours.score(new) == pytest.approx(theirs.score(new))
        assert ours.is_density_


KERNELS = [
    Gaussian(0.7),
    Gaussian([0.5, 2.0]),
    Laplacian(0.3),
    Matern(0.4, nu=1.5),
    Matern(0.4, nu=0.8),
    RationalQuadratic(0.3, alpha=4.0),
    2 * Gaussian(0.5) + 0.5 * Laplacian(0.2),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_densities_integrate_to_one(kernel):
    model = KernelDensity(kernel).fit([[0.0, 0.0], [0.5, -0.5]])
    side = np.linspace(-20, 20, 401) + 0.03
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    total = np.exp(model.score_samples(grid)).sum() * (side[1] - side[0]) ** 2
    assert model.is_density_
    assert total == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("kernel", [RationalQuadratic(1.0, alpha=0.9), Linear() + 100], ids=repr)
def test_kernels_without_a_known_integral(kernel, rng):
    X = rng.normal(size=(20, 2))
    model = KernelDensity(kernel).fit(X)
    assert not model.is_density_
    np.testing.assert_allclose(model.score_samples(X), np.log(kernel(X).mean(axis=0)))


def test_nothing_vanishes_far_away():
    model = KernelDensity(Gaussian(1.0)).fit([[0.0], [1.0]])
    expected = -0.5 * 99.0**2 - np.log(2) - 0.5 * np.log(2 * np.pi)
    assert model.score_samples([[100.0]])[0] == pytest.approx(expected, rel=1e-12)
    inner = KernelDensity(Exponential()).fit([[1.0], [2.0]])
    assert inner.score_samples([[-1e3]])[0] == pytest.approx(-1e3 - np.log(2))
    long = KernelDensity(LocalAlignment()).fit(["ACGT" * 300, "ACCT" * 200, "GG" * 300])
    assert 1000 < long.leave_one_out_.max() < np.inf  # no number has this logarithm


def test_all_kinds_of_data(rng):
    words = ["abab", "abba", "baba", "cdcd"]
    k = Spectrum(2)
    model = KernelDensity(k, mass=0.75).fit(words)
    np.testing.assert_allclose(model.score_samples(words[:2]), np.log(k(words).mean(axis=0)[:2]))
    np.testing.assert_array_equal(model.predict([*words, "zz"]), [1, 1, 1, -1, -1])
    X = rng.normal(size=(30, 2))
    expected = KernelDensity(Gaussian(0.5)).fit(X).score_samples(X)
    for same, tol in ((sp.csr_matrix(X), 1e-9), (X.astype(np.float32), 1e-4)):
        found = KernelDensity(Gaussian(0.5)).fit(same).score_samples(same)
        np.testing.assert_allclose(found, expected, rtol=tol)
    K = Gaussian(0.5)(X)
    given = KernelDensity("precomputed").fit(K)
    np.testing.assert_allclose(given.score_samples(K[:5]), np.log(K[:5].mean(axis=1)))


# ---- without one sample, and level sets ----------------------------------------------------------
def test_leave_one_out(rng):
    X, w = rng.normal(size=(25, 2)), rng.uniform(0, 2, 25)
    w[3] = 0
    K = Gaussian(0.5)(X) / (2 * np.pi * 0.25)
    for weights in (np.ones(25), w):
        model = KernelDensity(Gaussian(0.5)).fit(X, sample_weight=weights)
        np.testing.assert_allclose(np.exp(model.leave_one_out_), held_out(K, weights))


def test_the_level_holds_its_share(rng):
    X = rng.normal(size=(200, 2))
    w = rng.uniform(0, 2, 200)
    before = np.ones(200, dtype=bool)
    for mass in (1.0, 0.9, 0.5, 0.1):
        model = KernelDensity(Gaussian(0.5), mass=mass).fit(X, sample_weight=w)
        inside = model.leave_one_out_ >= model.offset_
        assert w[inside].sum() / w.sum() >= mass * (1 - 1e-9)
        edge = model.leave_one_out_ > model.offset_  # any higher, and it is too little
        assert w[edge].sum() / w.sum() < mass
        now = model.predict(X) == 1
        assert not np.any(now & ~before)  # nested
        assert model.level(mass) == model.offset_
        before = now


def test_weights_are_repetitions(rng):
    X, w = rng.normal(size=(20, 2)), rng.integers(0, 4, 20)
    weighted = KernelDensity(Gaussian(0.5)).fit(X, sample_weight=w)
    repeated = KernelDensity(Gaussian(0.5)).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(weighted.score_samples(X), repeated.score_samples(X))
    np.testing.assert_allclose(np.repeat(weighted.leave_one_out_, w), repeated.leave_one_out_)
    assert weighted.offset_ == pytest.approx(repeated.offset_)


def test_few_samples_and_copies():
    alone = KernelDensity(Gaussian(1.0)).fit([[1.0]])
    assert alone.leave_one_out_ == [-np.inf]
    np.testing.assert_array_equal(alone.decision_function([[1.0], [9.0]]), [np.inf, np.inf])
    np.testing.assert_array_equal(alone.predict([[1.0], [9.0]]), [1, 1])
    same = KernelDensity(Gaussian(1.0)).fit(np.ones((5, 1)))
    np.testing.assert_allclose(same.leave_one_out_, -0.5 * np.log(2 * np.pi))
    np.testing.assert_array_equal(same.predict([[1.0], [1.1]]), [1, -1])
    one = KernelDensity(Gaussian(1.0)).fit([[1.0], [2.0]], sample_weight=[1.0, 0.0])
    assert one.leave_one_out_[0] == -np.inf
    assert np.isfinite(one.leave_one_out_[1])


def test_a_sample_far_away(rng):
    X = np.vstack([rng.normal(size=(50, 2)), [[1e8, -1e8]]])
    model = KernelDensity(Gaussian(0.5), mass=0.9).fit(X)
    usual = KernelDensity(Gaussian(0.5)).fit(X[:-1]).score_samples(X[:5])
    np.testing.assert_allclose(model.score_samples(X[:5]), usual + np.log(50 / 51))
    assert model.leave_one_out_[-1] < -1e16
    assert np.all(np.isfinite(model.leave_one_out_))


# ---- plans, files, refusals ----------------------------------------------------------------------
@pytest.mark.parametrize(
    "plan", [Plan(rank=90), Plan(features=RandomFourier(20_000)), Plan(storage="tiled")], ids=repr
)
def test_plans(plan, rng):
    X = rng.normal(size=(150, 2))
    exact = np.exp(KernelDensity(Gaussian(0.7)).fit(X).score_samples(X))
    model = KernelDensity(Gaussian(0.7), plan=plan).fit(X)
    np.testing.assert_allclose(np.exp(model.score_samples(X)), exact, atol=5e-3)
    assert model.is_density_ == (plan.few is None)


def test_values_below_zero_of_approximations_count_as_zero(rng):
    X = rng.normal(size=(80, 2))
    model = KernelDensity(Gaussian(0.3), plan=Plan(rank=10)).fit(X)
    K = np.maximum(model.gram_.to_dense(), 0) / (2 * np.pi * 0.09)
    assert np.any(model.gram_.to_dense() < -1e-6)
    np.testing.assert_allclose(np.exp(model.score_samples(X)), K.mean(axis=0), atol=1e-12)


def test_files_keep_densities_of_zero(tmp_path):
    model = KernelDensity(Spectrum(2), mass=0.5).fit(["abab", "baba", "cdcd"])
    assert model.leave_one_out_[2] == -np.inf
    save(model, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.leave_one_out_, model.leave_one_out_)
    np.testing.assert_array_equal(again.score_samples(["abba"]), model.score_samples(["abba"]))
    assert again.offset_ == model.offset_
    assert again.level(1.0) == -np.inf


def test_refusals(rng):
    X = rng.normal(size=(20, 2))
    for kernel in (Linear(), "linear", "cosine"):
        with pytest.raises(ValueError, match="negative values"):
            KernelDensity(kernel).fit(X)
    for mass in (0.0, 1.1, np.nan):
        with pytest.raises(ValueError, match=r"mass must be in \(0, 1\]"):
            KernelDensity(mass=mass).fit(X)
    with pytest.raises(ValueError, match="needs stored features"):
        KernelDensity(Gaussian(), plan=Plan(rank=5, storage="streamed")).fit(X)
    with pytest.raises(ValueError, match="sample_weight must be >= 0"):
        KernelDensity().fit(X, sample_weight=-np.ones(20))


def test_the_best_bandwidth_by_leave_one_out(rng):
    """Silverman's rule is near the optimum for normal samples; the criterion finds it."""
    X = rng.normal(size=(300, 1))
    scales = np.geomspace(0.02, 3, 25)
    means = [KernelDensity(Gaussian(s)).fit(X).leave_one_out_.mean() for s in scales]
    assert 0.15 < scales[np.argmax(means)] < 0.7
    peer = Peer(bandwidth=scales[10]).fit(X[1:]).score_samples(X[:1])
    mine = KernelDensity(Gaussian(scales[10])).fit(X).leave_one_out_[0]
    assert mine == pytest.approx(peer[0])


def test_values_beyond_logarithms_are_refused():
    model = KernelDensity(Exponential()).fit([[1.0], [2.0]])
    assert model.score_samples([[1e5]])[0] == pytest.approx(2e5 - np.log(2))
    with np.errstate(over="ignore"), pytest.raises(DomainError, match="not finite numbers"):
        model.decision_function([[1.5e308]])


@pytest.mark.parametrize("size", [1e8, 1e12, 1e100])
def test_large_values_by_their_logarithms(size, rng):
    """<x, y> is far below the squares of far samples: nothing may cancel."""
    X, Z = np.abs(rng.normal(size=(50, 2))), np.abs(rng.normal(size=(9, 2)))
    model = KernelDensity(Exponential(2.0)).fit(X)
    wanted = (2 * size * Z @ X.T).max(axis=1)  # the sum is that of its largest term
    np.testing.assert_allclose(model.score_samples(size * Z), wanted, rtol=1e-6)
    model = KernelDensity(Exponential(2.0)).fit(size * X)
    np.testing.assert_allclose(model.score_samples(Z), wanted, rtol=1e-6)


def test_logarithms_that_rounding_moves_are_refused(rng):
    X = 1e8 * np.abs(rng.normal(size=(50, 2)))
    with pytest.raises(DomainError, match="rounding would decide about densities"):
        KernelDensity(Exponential() ** 2).fit(X)
    model = KernelDensity(Exponential() ** 2).fit(X / 1e8)
    with pytest.raises(DomainError, match="rounding would decide about densities"):
        model.score_samples(X)
