"""Columns, normalisation, modulation, pullback, restriction and limits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import KernelCenterer

from mercer import (
    Constant,
    Exponential,
    Gaussian,
    Limit,
    Linear,
    Matern,
    Modulated,
    Plan,
    Polynomial,
    Spectrum,
)
from mercer.exceptions import DomainError, UnresolvedError

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
FRAME = pd.DataFrame({"u": X[:, 0], "v": X[:, 1], "w": X[:, 2], "s": list("abcabc")})


# ---- on -----------------------------------------------------------------------------------
def test_on_takes_columns():
    assert np.allclose(Gaussian().on([0, 2])(X, Y), Gaussian()(X[:, [0, 2]], Y[:, [0, 2]]))
    assert np.allclose(Gaussian().on(1)(X), Gaussian()(X[:, 1]))
    assert np.allclose(Gaussian().on(slice(1, None))(X), Gaussian()(X[:, 1:]))
    assert np.allclose(Gaussian().on(["u", "w"])(FRAME), Gaussian()(X[:, [0, 2]]))
    assert np.allclose(Gaussian().on(1)(sp.csr_matrix(X)), Gaussian()(X[:, 1]))
    assert np.allclose(Gaussian().on("t").on(0)([({"t": 1.0},), ({"t": 3.0},)])[0, 1], np.exp(-2))


def test_on_table_of_everything():
    k = Gaussian().on(["u", "v"]) * Spectrum(1).on("s") + Linear().on("w")
    same = np.array([[a == b for b in FRAME["s"]] for a in FRAME["s"]])
    wanted = Gaussian()(X[:, :2]) * same + np.outer(X[:, 2], X[:, 2])
    assert np.allclose(k(FRAME), wanted)
    assert np.allclose(k(FRAME, FRAME.iloc[[5, 2]]), wanted[:, [5, 2]])
    records = FRAME.to_dict("records")
    assert np.allclose(k(records), wanted)


def test_on_resolves_on_its_columns():
    k = Gaussian("median").on(["u", "v"]).resolve(FRAME)
    assert k.kernel.lengthscale == Gaussian("median").resolve(X[:, :2]).lengthscale
    assert k.columns == ["u", "v"]


def test_on_errors():
    with pytest.raises(DomainError, match="no column 'z'"):
        Gaussian().on("z")(FRAME)
    with pytest.raises(DomainError, match="works on vectors"):
        Gaussian().on("s")(FRAME)
    with pytest.raises(DomainError, match=r"X has 3 columns"):
        Gaussian().on(3)(X)


def test_on_prints_as_written():
    assert repr(Gaussian().on("u")) == "Gaussian().on('u')"
    assert repr(Gaussian().on(["u", "v"])) == "Gaussian().on(['u', 'v'])"
    assert repr(Gaussian().on(0)) == "Gaussian().on(0)"
    assert eval(repr(Gaussian().on(slice(0, 2))), {"Gaussian": Gaussian}).columns == slice(0, 2)


# ---- normalize ----------------------------------------------------------------------------
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(degree=2), Exponential(), Gaussian()])
def test_normalize(kernel):
    d = np.sqrt(np.outer(np.diag(kernel(X)), np.diag(kernel(Y))))
    k = kernel.normalize()
    assert np.allclose(k(X, Y), kernel(X, Y) / d)
    assert np.array_equal(np.diag(k(X)), np.ones(6))
    assert np.array_equal(k.diag(k.prepare(X)), np.ones(6))
    phi = k.features(k.prepare(X))
    if phi is not None:
        assert np.allclose(phi @ phi.T, k(X))


def test_normalize_where_the_diagonal_vanishes():
    Z = np.array([[0.0, 0.0], [3.0, 4.0]])
    assert np.array_equal(Linear().normalize()(Z), [[0, 0], [0, 1]])
    S = sp.csr_matrix(Z)
    k = Linear().normalize()
    phi = k.features(k.prepare(S))
    assert np.allclose(phi.toarray(), [[0, 0], [0.6, 0.8]])
    assert np.array_equal(S.toarray(), Z)


def test_normalize_twice_changes_nothing():
    k = Polynomial(degree=2).normalize()
    assert np.allclose(k.normalize()(X), k(X))


# ---- modulate -----------------------------------------------------------------------------
def first(Z):
    return np.asarray(Z)[:, 0]


def test_modulate():
    k = Gaussian().modulate(first)
    assert np.allclose(k(X, Y), np.outer(X[:, 0], Y[:, 0]) * Gaussian()(X, Y))
    assert np.allclose(k.diag(k.prepare(X)), X[:, 0] ** 2)
    rank_one = Constant(2).modulate(first)
    phi = rank_one.features(rank_one.prepare(X))
    assert np.allclose(phi @ phi.T, 2 * np.outer(X[:, 0], X[:, 0]))
    assert repr(k) == "Gaussian().modulate(first)"


def test_gaussian_is_a_modulated_exponential():
    k = Exponential(0.5).modulate(lambda Z: np.exp(-0.25 * (Z**2).sum(axis=1)))
    assert np.allclose(k(X, Y), Gaussian.from_gamma(0.25)(X, Y))


def test_modulate_errors():
    with pytest.raises(
        ValueError, match="one number per sample, shape \\(6,\\), got shape \\(6, 3"
    ):
        Gaussian().modulate(lambda Z: Z)(X)
    with pytest.raises(ValueError, match="factor must be a function"):
        Modulated(Gaussian(), 3)


# ---- pullback -----------------------------------------------------------------------------
def test_pullback():
    k = Gaussian().pullback(np.tanh)
    assert np.allclose(k(X, Y), Gaussian()(np.tanh(X), np.tanh(Y)))
    lengths = Linear().pullback(lambda words: [[len(w)] for w in words])
    assert lengths(["a", "bcd"]).tolist() == [[1, 3], [3, 9]]
    resolved = Gaussian("median").pullback(np.tanh).resolve(X)
    assert resolved.kernel.lengthscale == Gaussian("median").resolve(np.tanh(X)).lengthscale
    assert repr(k) == "Gaussian().pullback(np.tanh)"
    with pytest.raises(
        ValueError, match="map must return one value per sample, got 2 values for 6"
    ):
        Gaussian().pullback(lambda Z: Z[:2])(X)


# ---- restrict -----------------------------------------------------------------------------
def small(Z):
    return np.abs(np.asarray(Z)).max(axis=1) < 10


def test_restrict():
    k = Gaussian().restrict(small)
    assert np.array_equal(k(X), Gaussian()(X))
    with pytest.raises(DomainError, match="sample 1 does not satisfy the condition small"):
        k([[0.0], [11.0], [12.0]])
    with pytest.raises(DomainError, match="sample 0"):
        k(X, 100 + Y)
    assert repr(k) == "Gaussian().restrict(small)"


# ---- limit --------------------------------------------------------------------------------
def test_limit():
    k = Limit(lambda n: (Linear() / n + 1) ** n, tol=1e-4)
    assert np.allclose(k(0.5 * X), Exponential()(0.5 * X), atol=1e-3)
    with pytest.raises(ValueError, match="has not converged to tol=1e-10 at n=4; raise max_n"):
        Limit(lambda n: n * Linear(), max_n=4)(X)
    assert len(k.theta) == 0


# ---- all of them --------------------------------------------------------------------------
TRANSFORMED = [
    Gaussian().on([0, 1]),
    Polynomial(degree=2).normalize(),
    Matern().modulate(first),
    Linear().pullback(np.tanh),
    Gaussian().restrict(small),
]


@pytest.mark.parametrize("kernel", TRANSFORMED, ids=repr)
def test_grams_agree(kernel):
    K = kernel(X)
    v = rng.normal(size=6)
    assert np.linalg.eigvalsh(K)[0] > -1e-12
    for storage in ("dense", "tiled"):
        gram = kernel.gram(X, Plan(storage=storage))
        assert np.allclose(gram.to_dense(), K)
        assert np.allclose(gram @ v, K @ v)
        assert np.allclose(gram.cross(Y).to_dense(), kernel(Y, X))
        assert np.allclose(gram.center().to_dense(), KernelCenterer().fit_transform(K))


@pytest.mark.parametrize("kernel", TRANSFORMED, ids=repr)
def test_float32(kernel):
    K = kernel(X.astype(np.float32))
    assert K.dtype == np.float32
    assert np.allclose(K, kernel(X), atol=1e-5)


def test_nothing_inside_but_kernels():
    for build in (lambda: Gaussian.normalize(3), lambda: Modulated(3, first)):
        with pytest.raises(ValueError, match="kernel must be a kernel, got 3"):
            build()


def test_unresolved_inside():
    for k in (Gaussian("scale").normalize(), Gaussian("scale").on([0, 1])):
        assert k.unresolved == 'kernel__lengthscale="scale"'
        with pytest.raises(UnresolvedError):
            k(X, Y)
