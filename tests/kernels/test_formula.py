"""Formulas against the kernels that state them, and kernels that must not inherit one."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from mercer import (
    SVC,
    Binomial,
    Constant,
    Custom,
    Distance,
    Exponential,
    Gaussian,
    GaussianProcessRegressor,
    KernelRidge,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Taylor,
    hsic,
    independence_test,
    two_sample_test,
)
from mercer.kernels.evaluator import Evaluator, exponents
from mercer.kernels.formula import Atom, columns_step
from mercer.kernels.formula_nodes import Number, Plus, Times
from mercer.kernels.vectors.distances import SquaredDistances
from mercer.testing import check_kernel

EVERYTHING = slice(None)


def halve(X):
    return X / 2


def first(X):
    return X[:, 0]


STATED = [
    Gaussian(0.7),
    Gaussian([0.5, 1.0, 2.0]),
    Laplacian(2.0),
    Laplacian(2.0, p=1),
    *(Matern(1.5, nu=nu) for nu in (0.5, 1.5, 2.5, 0.8)),
    RationalQuadratic(0.5),
    RationalQuadratic(0.5, alpha=2.5),
    Linear(),
    Polynomial(3, offset=0.5, scale=0.2),
    Exponential(0.1),
    Taylor([1.0, 0.0, 2.0]),
    Binomial(2.0).pullback(lambda X: X / 10),
    2 * Gaussian() + 1,
    Constant(2.0),
    Constant(2.0) + 1,
    (Gaussian(1.0) + 0.5 * Matern(2.0)) ** 3,
    Gaussian().on(0) * Laplacian(p=1).on([1, 2]),
    (Linear() + 1).normalize(),
    (Gaussian() + Linear()).modulate(first),
    Constant(2.0).modulate(first),
    Gaussian().pullback(halve),
    Gaussian().restrict(lambda X: np.isfinite(X[:, 0])),
]


@pytest.fixture
def X(rng):
    return rng.standard_normal((30, 3))


@dataclass(eq=False, repr=False)
class TwoScales(Gaussian):
    """A subclass whose values are no longer those of the formula of its parent."""

    def tiles(self, X, Y):
        inner = super().tiles(X, Y)

        def tile(rows, cols):
            K = inner(rows, cols)
            return (K + K**9) / 2

        return tile

    def slope(self, R2):
        K = np.exp(-R2 / 2)
        return -(K + 9 * K**9) / 4


@dataclass(eq=False, repr=False)
class ByPairs(Gaussian):
    """The same by ``pairwise`` alone."""

    def pairwise(self, X, Y):
        K = np.exp(-cdist(X, Y, "sqeuclidean") / 2)
        return (K + K**9) / 2

    def slope(self, R2):
        return TwoScales.slope(self, R2)


def two_scales(X, Y):
    """k of both, from raw samples, with the lengthscale 1."""
    K = np.exp(-cdist(X, Y, "sqeuclidean") / 2)
    return (K + K**9) / 2


BRUTE = Custom(two_scales, batch=True)


# ---- values --------------------------------------------------------------------------------
@pytest.mark.parametrize("kernel", STATED, ids=repr)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_evaluator_gives_the_kernel(kernel, dtype, X):
    X = X.astype(dtype)
    Y = X[::-1][:20] + dtype(0.25)
    P, Q = kernel.prepare(X), kernel.prepare(Y)
    f, g = kernel.formula(P), kernel.formula(Q)
    wanted = kernel.pairwise(P, Q)
    (K,) = Evaluator([f], [g])(EVERYTHING, EVERYTHING)
    tol = 200 * np.finfo(dtype).eps
    np.testing.assert_allclose(np.broadcast_to(K, wanted.shape), wanted, rtol=tol, atol=tol)
    assert K.dtype == wanted.dtype
    np.testing.assert_allclose(np.broadcast_to(f.diag(), 30), kernel.diag(P), rtol=tol, atol=tol)
    some = np.array([4, 1, 7])
    (part,) = Evaluator([f.take(some)], [g])(slice(0, 2), slice(3, 9))
    part = np.broadcast_to(part, (2, 6))
    np.testing.assert_allclose(part, wanted[some[:2], 3:9], rtol=tol, atol=tol)


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Laplacian(p=1), Polynomial(2), Matern() + 1])
def test_sparse_vectors(kernel, X):
    S = sp.csr_matrix(np.where(X > 0, X, 0))
    P = kernel.prepare(S)
    (K,) = Evaluator([kernel.formula(P)])(slice(3, 9), slice(0, 30))
    np.testing.assert_allclose(K, kernel(S.toarray())[3:9], rtol=1e-12, atol=1e-12)


def test_distances_are_shared(X, monkeypatch):
    kernels = [
        Gaussian(1.0),
        Gaussian([2.0, 2.0, 2.0]),
        Matern(3.0) * RationalQuadratic(0.5) + 2,
        Gaussian(1.5).normalize(),
        Laplacian(2.0) ** 2,
    ]
    known = {}
    formulas = [k.formula(k.prepare(X)).shared(known) for k in kernels]
    assert len(known) == 1
    computed = []
    product = SquaredDistances._product
    monkeypatch.setattr(
        SquaredDistances, "_product", lambda *where: computed.append(1) or product(*where)
    )
    found = list(Evaluator(formulas)(slice(2, 20), EVERYTHING))
    assert len(computed) == 1
    for kernel, K in zip(kernels, found, strict=True):
        np.testing.assert_allclose(K, kernel(X)[2:20], rtol=1e-12)
    known = {}
    apart = [
        Gaussian().on(0),
        Gaussian().on(1),
        Gaussian().on([0, 1]),
        Gaussian().on(slice(0, 2)),
        Gaussian(),
        Gaussian([1.0, 1.0, 2.0]),
        Gaussian().pullback(halve),
        Laplacian(p=1),
        Linear(),
    ]
    for kernel in apart:
        kernel.formula(kernel.prepare(X)).shared(known)
    assert len(known) == len(apart)


def test_a_formula_may_contain_a_part_twice(X):
    kernel = Gaussian(1.3)
    f = kernel.formula(kernel.prepare(X))
    (twice,) = Evaluator([Plus(f, Times(f, Number(2.0)))])(EVERYTHING, EVERYTHING)
    np.testing.assert_allclose(twice, 3 * kernel(X), rtol=1e-12)


def test_labels_of_columns_are_told_apart():
    keys = [1, True, 1.0, "1", [1], [True], ["1"], slice(1), slice(1, None), (1,)]
    assert len({columns_step(key) for key in keys}) == len(keys)
    assert columns_step(np.array([0, 2])) == columns_step([0, 2])


def test_a_formula_does_not_change_with_its_kernel(X):
    kernel = Matern(np.array([1.0, 2.0, 3.0]), nu=1.5)
    formula, wanted = kernel.formula(kernel.prepare(X)), kernel(X)
    kernel.lengthscale[:] = 7.0
    kernel.nu = 2.5
    (K,) = Evaluator([formula])(EVERYTHING, EVERYTHING)
    np.testing.assert_allclose(K, wanted, rtol=1e-12)
    assert formula.profile.parameters == (("nu", 1.5),)
    np.testing.assert_array_equal(formula.scale, [1.0, 2.0, 3.0])


def test_what_is_far_away_is_0_in_single_precision(rng):
    X = rng.standard_normal((6, 2))
    X[3] *= 1e30
    known = {}
    kernels = [Gaussian(1.0), Matern(1.0), Matern(nu=2.5), Laplacian(p=1)]
    formulas = [k.formula(k.prepare(X)).shared(known) for k in kernels]
    for K, k in zip(
        Evaluator(formulas, dtypes=[np.float32] * 4)(EVERYTHING, EVERYTHING), kernels, strict=True
    ):
        assert K.dtype == np.float32
        np.testing.assert_allclose(K, k(X), rtol=1e-5, atol=1e-12)


# ---- who states one ------------------------------------------------------------------------
@pytest.mark.parametrize("odd", [TwoScales(), ByPairs()], ids=["tiles", "pairwise"])
def test_a_subclass_with_values_of_its_own_has_no_formula(odd, X):
    check_kernel(odd, X)
    P = odd.prepare(X)
    assert odd.formula(P) is None
    np.testing.assert_allclose(odd(X), two_scales(X, X), rtol=1e-12)
    for made in (odd + 1, 2 * odd, odd**2, odd.normalize(), odd.on([0, 1]), Gaussian() * odd):
        assert made.formula(made.prepare(X)) is None


def test_a_subclass_may_state_one_again(X):
    class Plain(TwoScales):
        def tiles(self, X, Y):
            return Gaussian.tiles(self, X, Y)

        def formula(self, X):
            return Gaussian.formula(self, X)

    class Mixin:
        def diag(self, X):
            return np.ones(len(X))

    class Mixed(Mixin, Gaussian):
        pass

    class Renamed(Gaussian):
        def resolve(self, X):
            return self

    class Below(Plain):
        pass

    P = Gaussian().prepare(X)
    assert isinstance(Plain().formula(P), Atom)
    assert isinstance(Below().formula(P), Atom)
    assert isinstance(Renamed().formula(P), Atom)
    assert Mixed().formula(P) is None


def test_other_coordinates_are_not_shared(X):
    class Logarithms(Gaussian):
        def prepare(self, X):
            return super().prepare(np.exp(X))

        def formula(self, X):
            return super().formula(X)

    known = {}
    for kernel in (Gaussian(), Logarithms(), Logarithms(2.0)):
        kernel.formula(kernel.prepare(X)).shared(known)
    assert len(known) == 3


def test_a_profile_of_its_own_is_not_taken_for_another(X):
    class Steep(Gaussian):
        def profile(self, D):
            return np.exp(D) ** 2

    kernel = Steep()
    formula = kernel.formula(kernel.prepare(X))
    assert formula.profile.name.endswith("Steep")
    assert exponents(formula, formula) is None
    (K,) = Evaluator([formula])(EVERYTHING, EVERYTHING)
    np.testing.assert_allclose(K, np.exp(-cdist(X, X, "sqeuclidean")), rtol=1e-12)


def test_kernels_without_a_formula(X):
    for kernel in (Distance(), Exponential(0.1).normalize(), Gaussian().center(X)):
        assert kernel.formula(kernel.prepare(X)) is None


def test_exponents(X):
    def of(kernel):
        formula = kernel.formula(kernel.prepare(X))
        return exponents(formula, formula)

    for kernel in (Gaussian(2.0), Gaussian([1.0, 2.0, 3.0]), Gaussian().on([0, 2])):
        np.testing.assert_allclose(of(kernel).exp(EVERYTHING, EVERYTHING), kernel(X), rtol=1e-12)
    for kernel in (Matern(), Laplacian(p=1), Exponential(), 2 * Gaussian(), Gaussian() + 1):
        assert of(kernel) is None
    kernel, far = Gaussian().on([0, 2]), X + 1e4
    f, g = (kernel.formula(kernel.prepare(V)) for V in (far, far[:7]))
    rounded = exponents(f, g, np.float32)
    assert rounded.left.dtype == rounded.right.dtype == np.float32
    wanted = kernel(far, far[:7])
    np.testing.assert_allclose(rounded.exp(EVERYTHING, EVERYTHING), wanted, rtol=1e-4, atol=1e-6)


def test_check_kernel_reads_formulas(X):
    class Wrong(Gaussian):
        def formula(self, X):
            return Matern().formula(X)

    with pytest.raises(AssertionError, match="the formula differs from pairwise"):
        check_kernel(Wrong(), X)

    class OnlyInDouble(Gaussian):
        def formula(self, X):
            return super().formula(X) if X.dtype == np.float64 else Matern().formula(X)

    with pytest.raises(AssertionError, match="in float32"):
        check_kernel(OnlyInDouble(), X)


# ---- users, against brute force --------------------------------------------------------------
@pytest.mark.parametrize("odd", [TwoScales(), ByPairs()], ids=["tiles", "pairwise"])
def test_tests_of_a_subclass(odd, rng):
    X, Y = rng.standard_normal((40, 2)), rng.standard_normal((50, 2)) + 1.0
    K, L, M = two_scales(X, X), two_scales(Y, Y), two_scales(X, Y)
    unbiased = (
        (K.sum() - np.trace(K)) / (40 * 39) + (L.sum() - np.trace(L)) / (50 * 49) - 2 * M.mean()
    )
    found = two_sample_test(X, Y, odd, n_permutations=99, rng=0)
    assert found.statistic == pytest.approx(unbiased, rel=1e-5)
    beside = two_sample_test(X, Y, [Gaussian(), odd], n_permutations=99, rng=0)
    brute = two_sample_test(X, Y, [Gaussian(), BRUTE], n_permutations=99, rng=0)
    assert beside.statistic == pytest.approx(brute.statistic, rel=1e-5)
    Z = X + 0.5 * rng.standard_normal(X.shape)
    found = independence_test(X, Z, kernels=[odd, odd], n_permutations=99, rng=0)
    brute = independence_test(X, Z, kernels=[BRUTE, BRUTE], n_permutations=99, rng=0)
    assert found.statistic == pytest.approx(brute.statistic, rel=1e-5)
    assert found.statistic == pytest.approx(hsic(X, Z, BRUTE, BRUTE), rel=1e-5)


@pytest.mark.parametrize("odd", [TwoScales(), ByPairs()], ids=["tiles", "pairwise"])
def test_models_of_a_subclass(odd, rng):
    X, new = rng.standard_normal((80, 2)), rng.standard_normal((20, 2))
    y = X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(80)
    K, C = two_scales(X, X), two_scales(new, X)
    wanted = C @ np.linalg.solve(K + 0.1 * np.eye(80), y)
    process = GaussianProcessRegressor(odd, alpha=0.1, optimizer=None, normalize_y=False)
    for model in (KernelRidge(0.1, kernel=odd), process):
        np.testing.assert_allclose(model.fit(X, y).predict(new), wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("odd", [TwoScales(), ByPairs()], ids=["tiles", "pairwise"])
def test_machines_of_a_subclass(odd, rng):
    X = rng.standard_normal((1100, 2))  # so many that kernel values are kept in single precision
    y = np.where(X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(1100) > 0, 1, -1)
    new = rng.standard_normal((50, 2))
    found = SVC(kernel=odd).fit(X, y)
    wanted = SVC(kernel="precomputed").fit(two_scales(X, X), y)
    np.testing.assert_allclose(
        found.decision_function(new), wanted.decision_function(two_scales(new, X)), atol=0.02
    )
    assert found.fit_status_ == 0


def test_machines_on_columns(rng):
    """Exponents in single precision, of columns of samples that are in double."""
    X = rng.standard_normal((1100, 3)) + [0.0, 1e4, 0.0]
    y = np.where((X[:, 0] * (X[:, 1] - 1e4)) > 0, 1, -1)
    new = X[:50] + 0.1
    found = SVC(kernel=Gaussian(0.8).on([0, 1])).fit(X, y)
    wanted = SVC(kernel="precomputed").fit(Gaussian(0.8)(X[:, :2]), y)
    np.testing.assert_allclose(
        found.decision_function(new),
        wanted.decision_function(Gaussian(0.8)(new[:, :2], X[:, :2])),
        atol=0.02,
    )
    assert found.fit_status_ == 0
