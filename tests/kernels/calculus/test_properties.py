"""The calculus of properties: a table of answers, and a numerical witness for the traps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mercer import (
    Binomial,
    Categorical,
    Constant,
    Custom,
    Exponential,
    Fourier,
    Gaussian,
    Laplacian,
    Limit,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Spectrum,
    Spline,
    Taylor,
    Theta,
)
from mercer.kernels.calculus import facts as theorems
from mercer.kernels.calculus.domains import ANY, ball, circle, interval
from mercer.kernels.calculus.properties import (
    Fact,
    Properties,
    Smoothness,
    close,
    no,
    of_product,
    of_scaled,
    of_sum,
    yes,
)
from mercer.kernels.calculus.transformed import of_centered
from mercer.kernels.strings.kind import STRINGS
from mercer.kernels.vectors.kind import VECTORS

ORDER = (
    "bounded",
    "continuous",
    "analytic",
    "stationary",
    "strictly_pd",
    "universal",
    "characteristic",
    "integrally_pd",
    "finite_dim",
    "positive_diag",
)
G, L, M = Gaussian(), Linear(), Matern(nu=1.5)


def answers(kernel):
    """One letter per property, y, n or ?, in groups: regularity, separation, size."""
    p = kernel.properties
    letters = "".join({True: "y", False: "n", None: "?"}[getattr(p, f).value] for f in ORDER)
    return f"{letters[:4]} {letters[4:8]} {letters[8:]}"


#   bounded, continuous, analytic, stationary
#        strictly pd, universal, characteristic, integrally pd
#             finite dimension, positive diagonal
TABLE = [
    # leaves
    (G, "yyyy yyyy ny"),
    (Gaussian(lengthscale=[0.1, 2.0]), "yyyy yyyy ny"),
    (Gaussian(lengthscale="median"), "yyyy yyyy ny"),
    (Laplacian(), "yyny yyyy ny"),
    (Laplacian(p=1), "yyny yyyy ny"),
    (M, "yyny yyyy ny"),
    (RationalQuadratic(), "yyyy yyyy ny"),
    (L, "nyyn nnnn yn"),
    (Polynomial(degree=2), "nyyn nnnn yy"),
    (Polynomial(degree=2, offset=0), "nyyn nnnn yn"),
    (Exponential(), "nyyn yyyy ny"),
    (Binomial(), "nyyn yyyy ny"),
    (Taylor([1, 0, 2]), "nyyn nnnn yy"),
    (Taylor([0, 1]), "nyyn nnnn yn"),
    (Taylor([1, 1], radius=2), "yyyn nnnn yy"),
    (Taylor(lambda n: 1.0, radius=1), "?yy? ???? ?y"),
    (Constant(2), "yyyy nnnn yy"),
    (Constant(0), "yyyy nnnn yn"),
    (Periodic(), "yyyy yyyy ny"),
    (Theta(), "yyyy yyyy ny"),
    (Fourier([1, 1]), "yyyy nnnn yy"),
    (Categorical(), "yy?? yyyy ?y"),
    (Custom(min), "???? ???? ??"),
    # scalar multiples and shifts
    (2 * G, "yyyy yyyy ny"),
    (G / 3, "yyyy yyyy ny"),
    (0 * G, "yyyy nnnn yn"),
    (0 * G + L, "nyyn nnnn y?"),
    (0 * G + G, "yyyy yyyy ny"),
    (0 * L + G, "yyyy yyyy ny"),
    (0 * G * L, "?yy? nnnn yn"),
    (G + 1, "yyyy yyyy ny"),
    (L + 1, "nyyn nnnn yy"),
    (Constant(1) + Constant(2), "yyyy nnnn yy"),
    (Constant(2) * Constant(3) * G, "yyyy yyyy ny"),
    # sums and products on the same points
    (G + L, "nyyn yyyy ny"),
    (G + M, "yyny yyyy ny"),
    (M + Laplacian(), "yyny yyyy ny"),
    (L + L, "nyyn nnnn y?"),
    (L * L, "nyyn nnnn yn"),
    (L * Polynomial(degree=2), "?yy? nnnn yn"),
    (G * L, "nyyn nn?n ?n"),
    (G * (L + 1), "nyyn yyyy ny"),
    (G * Exponential(), "nyyn yyyy ny"),
    (G * M, "yyny yyyy ny"),
    (M * (L + 1), "nynn yyyy ny"),
    (G * G, "yyyy yyyy ny"),
    # powers
    (G**3, "yyyy yyyy ny"),
    (M**2, "yyny yyyy ny"),
    ((L + 1) ** 2, "nyyn nnnn yy"),
    (L**2, "nyyn nnnn yn"),
    (Constant(2) ** 3, "yyyy nnnn yy"),
    # columns
    (G.on("a"), "yyyy yyyy ny"),
    (G.on("a") + G.on("b"), "yyyy nnnn ny"),
    (G.on("a") + G.on("b") + 1, "yyyy nnnn ny"),
    (G.on("a") + 0 * G.on("b"), "yyyy nnnn ny"),
    (G.on("a") * G.on("b") + G.on("b") * G.on("c") + G.on("a") * G.on("c"), "yyyy nnnn ny"),
    (G.on("a") * G.on("b"), "yyyy yyyy ny"),
    (G.on(["a", "b"]) * G.on(["b", "c"]), "yyyy yyyy ny"),
    (G.on("a") * G.on("b") + G.on("b"), "yyyy yyyy ny"),
    (G.on("a") + L.on("a"), "nyyn yyyy ny"),
    (G.on("a") + L.on(["a"]), "nyyn yyyy ny"),
    (G.on("a") + L.on("b"), "nyyn nnnn ny"),
    (G.on("a") * L.on("b"), "nyyn nnnn ?n"),
    (M.on("a") * (L.on("b") + 1), "nynn nnnn ny"),
    (G.on("a") * L.on(["a", "b"]), "nyyn nn?n ?n"),
    (G.on("a") * (L.on("b") + G.on("b")), "nyyn yyyy ny"),
    ((G.on("a") + G.on("b")) * G.on("c"), "yyyy nnnn ny"),
    ((G.on("a") + G.on("b")) ** 2, "yyyy ???? ny"),
    (G + L.on(0), "nyyn yyyy ny"),
    (G.on(0) + L, "nyyn ???? ny"),
    (G.on(0) + G.on(-1), "yyyy ???? ny"),  # may be the same column
    (G.on(slice(0, 2)) + G.on(0), "yyyy ???? ny"),  # contains it
    (G.on(slice(0, 2)) * G.on(0), "yyyy yyyy ny"),
    (G.on(0) * Categorical().on(1), "yy?? yyyy ny"),
    (G.on(0) * Spectrum(2).on(1), "ny?n nnnn ?n"),
    # circles, balls, intervals
    (Periodic(period=1) + L, "nyyn ???? ny"),
    (Periodic(period=1) * G, "yyyy yyyy ny"),
    (Periodic(period=1) + Periodic(period=7), "yyyy ???? ny"),
    (Periodic(period=1) * Periodic(period=2), "yyyy ???? ny"),
    (Periodic().on("a") * Periodic().on("b"), "yyyy yyyy ny"),
    (Periodic().on("a") + Periodic().on("b"), "yyyy nnnn ny"),
    (Binomial() + G, "nyyn yyyy ny"),
    (Binomial() * G, "nyyn yyyy ny"),
    (Binomial() + L, "nyyn yyyy ny"),
    # transforms
    (G.normalize(), "yyyy yyyy ny"),
    ((G + L).normalize(), "yyy? yyyy ny"),
    (Exponential().normalize(), "yyy? yyyy ny"),
    (L.normalize(), "y??? nnnn yn"),
    (Polynomial(degree=2).normalize(), "yyy? nnnn yy"),
    (G.center(), "yyy? nnyn n?"),
    (L.center(), "nyyn nnnn y?"),
    (G.center() + 1, "yyy? ??y? ny"),
    (M.center(), "yyn? nnyn n?"),
    (G.through(), "yyy? nnnn y?"),
    (L.through(), "?yy? nnnn y?"),
    (G.pullback(np.sin), "y??? ???? ?y"),
    (L.pullback(np.sin), "???? ???? y?"),
    (G.modulate(np.ravel), "???? ???? ??"),
    (L.modulate(np.ravel), "???? nnnn y?"),
    (G.restrict(np.isfinite), "yyyy yyyy ?y"),
    (L.restrict(np.isfinite), "?yy? ???? y?"),
    (L + G.restrict(np.isfinite), "?yy? yyyy ?y"),
    (Limit(lambda n: G), "???? ???? ??"),
    # not known to be positive definite
    (Custom(min) + G, "???? ???? ??"),
    (0 * Custom(min) + G, "yyyy yyyy ?y"),
    (Custom(min).through(), "???? ???? y?"),
]


@pytest.mark.parametrize(("kernel", "wanted"), TABLE, ids=lambda v: repr(v)[:60])
def test_table(kernel, wanted):
    assert answers(kernel) == wanted


@pytest.mark.parametrize("kernel", [k for k, _ in TABLE], ids=lambda k: repr(k)[:60])
def test_reasons_and_consistency(kernel):
    p = kernel.properties
    for name, fact in p.facts().items():
        assert fact.unknown or fact.because not in ("", "nothing known"), name
    again = close(p)
    assert {n: f.value for n, f in again.facts().items()} == {
        n: f.value for n, f in p.facts().items()
    }
    for premises, conclusion, _ in theorems._THEOREMS:
        held = [
            p.facts()[q.lstrip("-")].value == (not q.startswith("-"))
            if q.lstrip("-") in p.facts()
            else getattr(p.domain, q)
            for q in premises.split()
        ]
        if p.psd and all(held):
            assert p.facts()[conclusion.lstrip("-")].value is (not conclusion.startswith("-"))


@pytest.mark.parametrize(
    ("kernel", "wanted"),
    [
        (G, "C^inf"),
        (Laplacian(), "C^0, no more"),
        (Matern(nu=0.5), "C^0, no more"),
        (Matern(nu=1), "C^0, no more"),
        (Matern(nu=1.5), "C^1, no more"),
        (Matern(nu=2), "C^1, no more"),
        (Matern(nu=2.5), "C^2, no more"),
        (Matern(nu=1.5) + Matern(nu=2.5), "C^1, no more"),
        (Matern(nu=1.5) + Matern(nu=1.5), "C^1, no more"),
        (Matern(nu=1.5) + L, "C^1, no more"),
        (Matern(nu=1.5) * Matern(nu=2.5), "C^1, no more"),
        (Matern(nu=1.5) * (L + 1), "C^1, no more"),
        (Matern(nu=1.5) * L, "C^1 at least"),
        (Matern(nu=1.5) ** 2, "C^1, no more"),
        (Matern(nu=1.5).center(), "C^1, no more"),
        (Matern(nu=1.5).on("a") * G.on("b"), "C^1, no more"),
        (Matern(nu=1.5).through(), "C^1 at least"),
        (Matern(nu=1.5) * Binomial(), "C^1 at least"),
        (G.pullback(np.abs), "unknown"),
    ],
    ids=repr,
)
def test_smoothness(kernel, wanted):
    assert str(kernel.properties.smooth) == wanted


def test_smoothness_answers():
    s = Smoothness(1, 2, "so it is")
    assert s.differentiable(1)
    assert s.differentiable(2).unknown
    assert s.differentiable(3).no
    assert s.differentiable(3).because == "so it is"
    assert str(Smoothness(-1, -1)) == "none"


def test_fact_is_truthy_only_when_yes():
    assert yes("proof")
    assert not no("counterexample")
    assert not Fact()
    assert Fact().unknown
    assert [str(f) for f in (yes("a"), no("b"), Fact())] == ["yes", "no", "unknown"]


# ---- the theorems -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("stated", "derived"),
    [
        (Properties(VECTORS, stationary=yes("")), "+bounded"),
        (Properties(VECTORS, bounded=no("")), "-stationary"),
        (Properties(interval(0, 1), continuous=yes("")), "+bounded"),
        (Properties(VECTORS, continuous=yes("")), "?bounded"),
        (Properties(VECTORS, continuous=no("")), "-analytic"),
        (Properties(VECTORS, smooth=Smoothness(3, 3)), "-analytic"),
        (Properties(VECTORS, smooth=Smoothness(0, 3)), "+continuous"),
        (Properties(STRINGS), "+continuous"),
        (Properties(STRINGS, strictly_pd=yes("")), "+universal"),
        (Properties(VECTORS, universal=yes("")), "+strictly_pd"),
        (Properties(VECTORS, universal=yes("")), "?characteristic"),  # sinc^2: not characteristic
        (Properties(ball(1), universal=yes(""), continuous=yes("")), "?characteristic"),
        (Properties(circle(1), universal=yes(""), continuous=yes("")), "+characteristic"),
        (Properties(circle(1), characteristic=no(""), continuous=yes("")), "-universal"),
        (Properties(VECTORS, strictly_pd=yes("")), "?universal"),
        (Properties(VECTORS, strictly_pd=no("")), "-universal"),
        (Properties(VECTORS, strictly_pd=no("")), "?characteristic"),  # centred kernels
        (Properties(VECTORS, strictly_pd=yes("")), "-finite_dim"),
        (Properties(ANY, strictly_pd=yes("")), "?finite_dim"),  # on finitely many objects
        (Properties(ANY, finite_dim=yes("")), "?strictly_pd"),
        (Properties(VECTORS, finite_dim=yes("")), "-characteristic"),
        (Properties(VECTORS, positive_diag=no("")), "-strictly_pd"),
        (Properties(VECTORS, integrally_pd=yes(""), continuous=yes("")), "+universal"),
        (Properties(VECTORS, integrally_pd=yes("")), "+characteristic"),
        (Properties(VECTORS, characteristic=yes(""), continuous=yes("")), "?strictly_pd"),
        (
            Properties(VECTORS, characteristic=yes(""), continuous=yes(""), stationary=yes("")),
            "+universal",
        ),
        (  # the coefficient of the constant functions may be zero on the circle
            Properties(circle(1), characteristic=yes(""), continuous=yes(""), stationary=yes("")),
            "?universal",
        ),
        (Properties(VECTORS, psd=Fact(), universal=yes("")), "?universal"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_theorems(stated, derived):
    fact = getattr(close(stated), derived[1:])
    assert fact.value is {"+": True, "-": False, "?": None}[derived[0]]


# ---- counterexamples and witnesses, with numbers ------------------------------------------
def smallest(K):
    return np.linalg.eigvalsh(K)[0]


def test_sum_over_columns_is_singular_on_a_rectangle():
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    K = (G.on(0) + G.on(1))(corners)
    signs = np.array([1, -1, -1, 1])
    assert abs(signs @ K @ signs) < 1e-14  # also MMD^2 of the two diagonals
    K = (G.on(0) * G.on(1))(corners)
    assert signs @ K @ signs > 0.1


def test_pairwise_interactions_are_singular_on_a_cube():
    cube = np.array([[a, b, c] for a in (0.0, 1) for b in (0.0, 1) for c in (0.0, 1)])
    k = G.on(0) * G.on(1) + G.on(1) * G.on(2) + G.on(0) * G.on(2) + 1
    signs = (-1.0) ** cube.sum(axis=1)
    assert abs(signs @ k(cube) @ signs) < 1e-13
    assert signs @ (k + G)(cube) @ signs > 0.1


def test_square_of_an_additive_kernel_is_not_singular_there():
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    assert smallest(((G.on(0) + G.on(1)) ** 2)(corners)) > 0.1


def test_two_circles_merge_points_of_the_line():
    k = Periodic(period=1) * Periodic(period=2)
    K = k(np.array([[0.25], [2.25]]))
    assert smallest(K) == pytest.approx(0, abs=1e-12)
    K = (Periodic(period=1) * G)(np.array([[0.25], [2.25]]))
    assert smallest(K) > 0.1


def test_centred_kernel_is_singular_on_its_reference():
    Z = np.array([[0.0], [1.0], [3.0]])
    K = G.center(Z)(Z)
    assert np.abs(K.sum(axis=1)).max() < 1e-15
    assert smallest((G.center(Z) + 1)(Z)) > 0.1  # so a sum with a constant may be regular


def test_normalised_exponential_is_the_gaussian():
    X = np.random.default_rng(0).normal(size=(8, 3))
    K = Exponential(scale=0.7).normalize()(X)
    assert np.allclose(K, Gaussian.from_gamma(0.35)(X))


def test_restricted_linear_kernel_can_be_regular():
    corners = np.eye(3)
    k = L.restrict(lambda X: (X == 0).sum(axis=1) == 2)
    assert k.properties.strictly_pd.unknown
    assert np.array_equal(k(corners), np.eye(3))


def test_modulation_by_zero_has_finite_dimension():
    k = G.modulate(lambda X: np.zeros(len(X)))
    assert not k.properties.finite_dim.no
    assert np.abs(k(np.ones((3, 2)))).max() == 0


def test_discontinuity_of_the_normalised_linear_kernel():
    k = L.normalize()
    assert not k.properties.continuous
    assert k([[0.0]], [[1.0]])[0, 0] == 0
    assert k([[1e-9]], [[1.0]])[0, 0] == pytest.approx(1)


def test_bounded_on_a_smaller_domain():
    assert L.properties.bounded.no
    assert (L + Taylor([1, 1], radius=1)).properties.bounded.unknown  # it is bounded on the ball


def test_labels_that_are_also_numbers_are_not_continuous():
    both = Categorical() + G
    assert both.properties.continuous.unknown
    assert both.properties.strictly_pd.unknown


def test_refutations_need_a_hilbert_space():
    """Two functions that are no kernels may cancel each other's jumps."""
    jumpy = Properties(VECTORS, psd=Fact(), continuous=no("it jumps"), stationary=no("k(0, 0) = 0"))
    assert of_sum(jumpy, jumpy).continuous.unknown
    assert of_product(jumpy, G.properties).continuous.unknown
    assert of_centered(jumpy).continuous.unknown
    assert of_scaled(jumpy, 2).continuous.no
    steady = replace(jumpy, psd=yes("features"))
    assert of_sum(steady, steady).continuous.no
    assert of_product(steady, G.properties).continuous.no
    assert of_centered(steady).continuous.no
    assert str(of_sum(steady, G.properties).smooth) == "none"


def test_reasons_are_told():
    p = (G + L).properties
    assert "unbounded" in p.bounded.because
    assert "summand is strictly positive definite" in p.strictly_pd.because
    additive = (G.on("a") + G.on("b")).properties
    assert "interaction" in additive.characteristic.because
    doubtful = (Custom(min) * G).properties
    assert doubtful.psd.unknown
    assert "not known to be positive definite" in doubtful.psd.because
    assert Spline(order=2).properties.psd


def test_domains_of_expressions():
    def shown(kernel):
        return str(kernel.properties.domain)

    assert shown(G + L) == "vectors in R^d"
    assert shown(G + Binomial()) == "vectors with norm < 1"
    assert shown(G.on("b") * L.on("a")) == "columns 'a', 'b'"
    assert shown(G.on(["a"]) * L.on("a")) == "column 'a'"
    assert shown(L.on(slice(0, 3))) == "column 0:3"
    assert shown(G.restrict(np.isfinite)) == "a subset of vectors in R^d"
    assert shown(Custom(min) + G) == "a subset of vectors in R^d"
    assert shown(Custom(min) + G.on("a")) == "the samples that all parts accept"
    assert shown(Constant(1) + 1) == "samples of any kind"
    assert shown(Periodic(period=2) + 1) == "the circle of circumference 2"
    assert shown(Periodic(period=2) * G) == "vectors in R^d"
