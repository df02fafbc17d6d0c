"""Centring on a reference sample, and kernels through points."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import KernelCenterer

from mercer import Gaussian, Linear, Matern, Plan, Polynomial, Spectrum
from mercer.exceptions import UnresolvedError

rng = np.random.default_rng(0)
X, Y, Z = rng.normal(size=(7, 2)), rng.normal(size=(4, 2)), rng.normal(size=(5, 2))


def centred(kernel, X, Y, Z):
    """The definition, one pair at a time."""
    one = lambda x, y: kernel(x[None], y[None])[0, 0]  # noqa: E731
    grand = np.mean([[one(a, b) for a in Z] for b in Z])
    return np.array(
        [
            [
                one(x, y)
                - np.mean([one(x, z) for z in Z])
                - np.mean([one(z, y) for z in Z])
                + grand
                for y in Y
            ]
            for x in X
        ]
    )


@pytest.mark.parametrize(
    "kernel", [Gaussian(), Polynomial(degree=2), Matern() + Linear()], ids=repr
)
def test_centred_on_a_reference(kernel):
    k = kernel.center(Z)
    assert np.allclose(k(X, Y), centred(kernel, X, Y, Z))
    assert np.allclose(k.diag(k.prepare(X)), np.diag(k(X, X.copy())))
    H = np.eye(5) - 1 / 5
    assert np.allclose(k(Z), H @ kernel(Z) @ H)


@pytest.mark.parametrize("kernel", [Gaussian(), Linear(), Polynomial(degree=2)], ids=repr)
def test_centred_on_the_training_data(kernel):
    k = kernel.center()
    assert k.unresolved == "reference=None"
    resolved = k.resolve(X)
    centerer = KernelCenterer().fit(kernel(X))
    assert np.allclose(k(X), centerer.transform(kernel(X)))
    assert np.allclose(resolved(Y, X), centerer.transform(kernel(Y, X)))
    assert np.allclose(k.gram(X).cross(Y).to_dense(), centerer.transform(kernel(Y, X)))
    assert np.abs(k(X).sum(axis=0)).max() < 1e-12


def test_centred_features():
    k = Polynomial(degree=2).center(Z)
    P = k.prepare(X)
    phi = k.features(P)
    assert phi.shape == (7, k.n_features(P))
    assert np.allclose(phi @ phi.T, k(X))
    assert np.allclose(k.gram(X, Plan(storage="lowrank")).to_dense(), k(X))


def test_centred_sparse_features_stay_out():
    """A sparse map minus its mean is dense: better none at all."""
    k = Spectrum(2).center(["abab", "bc"])
    P = k.prepare(["ab", "abc", "cc"])
    assert k.features(P) is None
    assert k.n_features(P) is None
    S = sp.csr_matrix(np.where(X > 0, X, 0))
    assert np.allclose(Linear().center(S)(S), Linear().center(S.toarray())(S.toarray()))


def test_median_is_resolved_inside():
    k = Gaussian("median").center().resolve(X)
    assert k.kernel.lengthscale == Gaussian("median").resolve(X).lengthscale
    assert k.reference is X
    given = Gaussian("median").center(Z)
    assert given.resolve(X).reference is Z


@pytest.mark.parametrize("kernel", [Gaussian(), Linear() + 1], ids=repr)
def test_through(kernel):
    k = kernel.through(Z)
    wanted = kernel(X, Z) @ kernel(Z, Y)
    assert np.allclose(k(X, Y), wanted)
    assert np.allclose(k.diag(k.prepare(X)), np.diag(kernel(X, Z) @ kernel(Z, X)))
    assert np.allclose(kernel.through()(X), kernel(X) @ kernel(X))
    P = k.prepare(X)
    assert np.allclose(k.features(P), kernel(X, Z))
    assert k.n_features(P) == 5
    assert np.allclose(k.gram(X, Plan(storage="lowrank")).cross(Y).to_dense(), wanted.T)


@pytest.mark.parametrize("build", [Gaussian().center, Gaussian().through])
def test_unresolved(build):
    k = build()
    for use in (lambda: k(X, Y), lambda: k.prepare(X)):
        with pytest.raises(UnresolvedError, match="resolve"):
            use()


def test_printing():
    assert repr(Linear().center()) == "Linear().center()"
    assert repr(Linear().center([[1.0], [3.0]])) == "Linear().center([[1.0], [3.0]])"
    assert (
        repr(Linear().through(np.zeros((100, 2)))) == "Linear().through(<array of shape (100, 2)>)"
    )


def test_float32_keeps_its_type_and_digits():
    shifted = (X + 100).astype(np.float32)
    K = Linear().center()(shifted)
    assert K.dtype == np.float32
    assert np.abs(K - Linear().center()(shifted.astype(float))).max() < 0.05  # of about 20000


def test_slopes_of_a_centred_kernel_with_more_anchors_than_a_tile(monkeypatch):
    rng = np.random.default_rng(3)
    X, Z, W = rng.normal(size=(5, 2)), rng.normal(size=(23, 2)), rng.normal(size=(5, 5))
    k = Gaussian(1.3).center(Z)
    P = k.prepare(X)
    whole = k.grad_theta(P, P, W), k.grad_theta_diag(P, W[0])
    monkeypatch.setattr("mercer.gram.tiles.TILE", 4)
    assert np.allclose(k.grad_theta(P, P, W), whole[0], rtol=1e-12)
    assert np.allclose(k.grad_theta_diag(P, W[0]), whole[1], rtol=1e-12)
    H = np.r_[np.eye(5), np.zeros((23, 5))] - np.r_[np.zeros((5, 5)), np.ones((23, 5))] / 23
    both = np.r_[X, Z]
    up, down = (H.T @ Gaussian(1.3 * np.exp(h))(both) @ H for h in (1e-5, -1e-5))
    assert np.sum(W * (up - down)) / 2e-5 == pytest.approx(whole[0][0], rel=1e-6)
