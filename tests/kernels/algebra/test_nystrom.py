import numpy as np
import pytest

from mercer import (
    SVC,
    Gaussian,
    KernelRidge,
    Linear,
    Nystrom,
    Plan,
    Polynomial,
    Precomputed,
    Spectrum,
    load,
    parse,
    save,
)
from mercer.exceptions import UnresolvedError
from mercer.testing import check_kernel, check_properties


@pytest.fixture
def X(rng):
    return rng.standard_normal((60, 2))


@pytest.fixture
def Z(rng):
    return rng.standard_normal((8, 2))


@pytest.mark.parametrize("kernel", [Gaussian(), Linear() + 1, Polynomial(degree=3)], ids=repr)
def test_is_the_projection_onto_the_span_of_the_landmarks(kernel, X, Z):
    k = Nystrom(kernel, Z)
    inverse = np.linalg.pinv(kernel(Z), rcond=1e-12, hermitian=True)
    np.testing.assert_allclose(k(X[:5], X), kernel(X[:5], Z) @ inverse @ kernel(Z, X), atol=1e-8)
    np.testing.assert_allclose(k(Z), kernel(Z), atol=1e-10)  # nothing is lost there
    left = kernel.diag(kernel.prepare(X)) - k.diag(k.prepare(X))
    assert left.min() > -1e-12
    P = k.prepare(X)
    np.testing.assert_allclose(k.features(P) @ k.features(P).T, k(X), atol=1e-12)


def test_shipped_checks(X, Z):
    check_kernel(Nystrom(Gaussian(0.8), Z), X)
    check_kernel(Nystrom(Gaussian("median") + Linear(), rank=5).resolve(X), X)
    check_kernel(Nystrom(Spectrum(2), ["abab", "ba", "ccab"]), ["ab", "abc", "cba", "bcab", "a"])
    check_properties(Nystrom(Gaussian(), Z), X)
    assert Nystrom(Gaussian(), Z).properties.finite_dim


@pytest.mark.parametrize("kernel", [Gaussian(0.8), Gaussian(2.0) + Linear()], ids=repr)
def test_gradients_agree_with_differences(kernel, X, Z, rng):
    k = Nystrom(kernel, Z)
    few, W = X[:4], rng.standard_normal((4, 60))
    step, theta = 1e-5, k.theta
    found = k.grad_theta(k.prepare(few), k.prepare(X), W)
    for i, exact in enumerate(found):
        move = step * (np.arange(len(theta)) == i)
        up, down = (np.vdot(W, k.with_theta(theta + s * move)(few, X)) for s in (1, -1))
        assert exact == pytest.approx((up - down) / (2 * step), rel=1e-5)
    gradient = k.grad_input(k.prepare(few), k.prepare(X), W)
    for j in range(2):
        move = np.zeros((4, 2))
        move[:, j] = step
        change = np.sum(W * (k(few + move, X) - k(few - move, X)), axis=1) / (2 * step)
        np.testing.assert_allclose(gradient[:, j], change, rtol=1e-5, atol=1e-6)


def test_dependent_landmarks_are_dropped(X):
    k = Nystrom(Linear(), X)
    assert k.dropped == 58
    np.testing.assert_allclose(k(X), X @ X.T, atol=1e-12)
    assert k.n_features(k.prepare(X)) == 2
    twice = Nystrom(Gaussian(), np.repeat(X[:5], 2, axis=0))
    assert twice.dropped == 5
    single = Nystrom(Gaussian(10.0), X.astype(np.float32))
    assert single.dropped > 20  # what single precision cannot tell apart
    assert np.abs(single(X.astype(np.float32)) - Gaussian(10.0)(X)).max() < 1e-4
    with pytest.raises(ValueError, match="zero at all"):
        Nystrom(Linear(), np.zeros((3, 2)))(X)


def test_single_precision_drops_no_more_landmarks_than_it_must(rng):
    """Pivots of these go down to 50 roundings: features of all of them are still worth having."""
    Z = rng.standard_normal((300, 6)).astype(np.float32)
    k = Nystrom(Gaussian(3.0), Z)
    exact = Gaussian(3.0)(Z.astype(np.float64))
    assert 1e-6 < np.linalg.eigvalsh(exact)[0] < 1e-5
    assert k.dropped == 0
    assert k(Z).dtype == np.float32
    assert np.abs(k(Z) - exact).max() < 1e-5


def test_features_are_orthonormal_functions(X, Z, rng):
    k = Nystrom(Gaussian(), Z)
    f = k.combine(np.eye(8))
    np.testing.assert_allclose(f.inner(f), np.eye(8), atol=1e-11)
    np.testing.assert_allclose(f(X), k.features(k.prepare(X)), atol=1e-11)
    w = rng.standard_normal(8)
    assert k.combine(w).norm() == pytest.approx(np.linalg.norm(w))
    dropped = Nystrom(Linear(), X).combine(np.eye(2))
    np.testing.assert_allclose(dropped.inner(dropped), np.eye(2), atol=1e-12)


def test_landmarks_are_chosen_from_the_data(X):
    k = Nystrom(Gaussian("median"), rank=10)
    assert Nystrom(Gaussian(1.0), rank=10).unresolved == "reference=None"
    with pytest.raises(UnresolvedError, match="resolve"):
        k(X, X[:3])
    found = k.resolve(X)
    assert found.reference.shape == (10, 2)
    np.testing.assert_array_equal(found.reference, k.resolve(X).reference)
    assert found.resolve(X[:20]).reference is found.reference
    by_share = Nystrom(Gaussian(), rank=0.01).resolve(X)
    assert np.trace(Gaussian()(X) - by_share(X)) <= 0.01 * 60
    assert len(by_share.reference) < 60
    words = Nystrom(Spectrum(2), rank=2).resolve(["abab", "baba", "cc", "abba"])
    assert len(words.reference) == 2
    with pytest.raises(ValueError, match="landmarks need the kernel"):
        Nystrom(Precomputed(), rank=3).resolve(Gaussian()(X))
    for bad in (0, -3, 1.5, "many", True):
        with pytest.raises(ValueError, match="rank must be"):
            Nystrom(Gaussian(), rank=bad)


def test_a_change_of_the_kernel_is_seen(X, Z):
    k = Nystrom(Gaussian(), Z)
    k(X)
    k.kernel.set_params(lengthscale=3.0)
    np.testing.assert_array_equal(k(X), Nystrom(Gaussian(3.0), Z)(X))
    k.reference = X[:3]
    np.testing.assert_array_equal(k(X), Nystrom(Gaussian(3.0), X[:3])(X))


def test_models_use_the_features(X, Z):
    y = np.sin(X[:, 0])
    k = Nystrom(Gaussian(), Z)
    phi, new = k.features(k.prepare(X)), X[:7] + 0.1
    w = np.linalg.solve(phi.T @ phi + 0.1 * np.eye(8), phi.T @ y)
    model = KernelRidge(alpha=0.1, kernel=k).fit(X, y)
    assert model.solution_.stats["method"] == "primal"
    np.testing.assert_allclose(model.predict(new), k.features(k.prepare(new)) @ w, atol=1e-10)
    svc = SVC(kernel=Nystrom(Gaussian(), rank=20)).fit(X, y > 0)
    assert svc.score(X, y > 0) > 0.9


def test_plan_with_a_rank(X):
    y = np.sin(X[:, 0])
    plan = Plan(rank=15)
    gram = Gaussian().gram(X, plan)
    assert gram.rank == 15
    assert isinstance(gram.kernel, Nystrom)
    model = KernelRidge(alpha=0.1, kernel=Gaussian(), plan=plan).fit(X, y)
    same = KernelRidge(alpha=0.1, kernel=gram.kernel).fit(X, y)
    np.testing.assert_allclose(model.predict(X + 0.1), same.predict(X + 0.1), atol=1e-10)


def test_printing_and_files(X, tmp_path):
    k = Nystrom(Gaussian(0.5), [[0.0, 1.0], [2.0, 3.0]])
    assert (
        repr(k) == "Nystrom(kernel=Gaussian(lengthscale=0.5), reference=[[0.0, 1.0], [2.0, 3.0]])"
    )
    assert parse(repr(k)) == k
    chosen = Nystrom(Gaussian(), rank=5).resolve(X)
    save(chosen, tmp_path / "k.mercer")
    np.testing.assert_array_equal(load(tmp_path / "k.mercer")(X), chosen(X))


def test_one_landmark_and_all_that_matter(rng):
    X = rng.normal(size=(30, 1))
    one, more = (Nystrom(Gaussian(2.0), rank=r).resolve(X)(X) for r in (1, 1e-3))
    assert np.linalg.matrix_rank(one) == 1
    assert np.linalg.matrix_rank(more, tol=1e-6) > 2
