"""Pre-images: exact recovery, stationarity, safeguards, refusals, and brute force."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from mercer import (
    Binomial,
    Constant,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Monomials,
    Periodic,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    RKHSFunction,
    Spectrum,
    Spline,
    Taylor,
    Theta,
    preimage,
)
from mercer.exceptions import ConvergenceWarning
from mercer.rkhs.attraction import attraction, is_radial
from mercer.rkhs.preimage_search import Goal
from mercer.rkhs.trilateration import locate

RADIAL = [
    Gaussian(1.5),
    Gaussian([1.0, 2.0, 3.0]),
    Matern(2.0, nu=2.5),
    Matern(2.0, nu=1.5),
    Matern(2.0, nu=0.8),
    Laplacian(2.0),
    RationalQuadratic(1.3, alpha=0.7),
    2 * Gaussian() + Gaussian(3.0) + 1,
    Gaussian() * Matern(nu=2.5),
    (Gaussian(2.0) + 0.5) ** 2,
]
SMOOTH = [k for k in RADIAL if not isinstance(k, Laplacian) and getattr(k, "nu", 2) > 1]
DOT = [Linear(), Polynomial(3), Polynomial(2), Exponential(0.3), Linear() + Gaussian()]
LOCATED = [k for k in RADIAL if type(k).__name__ not in ("Sum", "Product", "Power")] + [
    3 * Gaussian(2.0),
    Linear(),
    Polynomial(3),
    Exponential(0.3),
    Exponential(0.3) * 2,
]


@pytest.fixture
def X(rng):
    return rng.normal(size=(40, 3))


@pytest.fixture
def mixtures(X, rng):
    """Functions that no sample has as its feature: positive mixtures of some neighbours."""
    coef = np.zeros((40, 6))
    for t in range(6):
        near = np.argsort(np.sum((X - X[t]) ** 2, axis=1))[:5]
        coef[near, t] = rng.uniform(0.1, 0.4, 5)
    return coef


def squared_distance(k, psi, t, z):
    """||phi(z) - psi_t||^2, as a double sum."""
    c, P = psi.coef[:, t], np.asarray(psi.points)
    return float(k(z[None])[0, 0] - 2 * c @ k(P, z[None])[:, 0] + c @ k(P) @ c)


# ---- exact recovery ------------------------------------------------------------------------
def features_of(k, X, x0):
    """The features of x0, written with other centres around."""
    coef = np.zeros((len(X) + len(x0), len(x0)))
    coef[len(X) :] = np.eye(len(x0))
    return RKHSFunction(k, np.vstack([X, x0]), coef)


@pytest.mark.parametrize(
    ("method", "k"),
    [("fixed_point", k) for k in RADIAL]
    + [("gradient", k) for k in SMOOTH + DOT]
    + [("distances", k) for k in LOCATED]
    + [("nearest", k) for k in (Gaussian(), Polynomial(2))]
    + [("auto", k) for k in RADIAL + DOT],
    ids=str,
)
def test_features_of_samples_are_recognised(method, k, X, rng):
    x0 = X[:5] + 0.1 * rng.normal(size=(5, 3))
    found = preimage(features_of(k, X, x0), method, tol=1e-7)
    np.testing.assert_allclose(found.x, x0, atol=1e-5)
    assert found.converged.all()
    assert found.distance.max() < 1e-9 * k(x0).max()


@pytest.mark.parametrize("k", LOCATED, ids=str)
def test_trilateration_of_samples_that_are_no_centres(k, X, rng):
    """From exact values at some neighbours: more of them than dimensions."""
    x0 = rng.uniform(-0.5, 0.5, size=(4, 3))
    near = np.stack([rng.permutation(40)[:7] for _ in x0])
    values = np.stack([k(x0[i : i + 1], X[rows])[0] for i, rows in enumerate(near)])
    found = locate(k, X, near, values, np.diagonal(k(x0)))
    np.testing.assert_allclose(found, x0, atol=1e-9)


def test_trilateration_stays_in_the_span_of_the_neighbours(X):
    """Two neighbours know where on their line the point is, and nothing else."""
    k, x0 = Gaussian(2.0), np.array([[0.3, -0.2, 0.1]])
    values = k(x0, X[:2])
    found = locate(k, X, np.array([[0, 1]]), values, np.ones(1))[0]
    line = X[1] - X[0]
    foot = X[0] + line * ((x0[0] - X[0]) @ line) / (line @ line)
    np.testing.assert_allclose(found, foot, atol=1e-9)


def test_start_does_not_matter_for_a_single_bump(X):
    psi = RKHSFunction(Gaussian(2.0), X[:1], [3.0])
    for start in (X[5], X[5] * 4, None):
        np.testing.assert_allclose(preimage(psi, start=start).x, X[0], atol=1e-9)


# ---- stationarity --------------------------------------------------------------------------
@pytest.mark.parametrize("k", SMOOTH + DOT, ids=str)
def test_gradient_of_the_objective(k, X, mixtures):
    """E and its gradient against central differences of the double sum."""
    psi = RKHSFunction(k, X, mixtures)
    goal = Goal(k, X, mixtures.T)
    Z = X[:6] + 0.3
    f, g = goal.descent(Z, np.arange(6))
    for t in range(6):
        offset = mixtures[:, t] @ k(X) @ mixtures[:, t]
        assert f[t] * goal.unit + offset == pytest.approx(squared_distance(k, psi, t, Z[t]))
        for j, e in enumerate(1e-5 * np.eye(3)):
            up, down = (squared_distance(k, psi, t, Z[t] + s * e) for s in (1, -1))
            assert g[t, j] * goal.unit == pytest.approx((up - down) / 2e-5, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(
    "k", [*RADIAL, Gaussian([1.0, 2.0, 0.5]) + Matern([2.0, 4.0, 1.0], nu=2.5)], ids=str
)
def test_attraction(k, X):
    """Kernel values, and their gradients as pulls along the line to each centre."""
    Z = X[:4] + 0.5
    assert is_radial(k, X)
    K, A = attraction(k, k.prepare(Z), k.prepare(X))
    np.testing.assert_allclose(K, k(Z, X), atol=1e-12)
    scale = next(k.formula(k.prepare(X)).atoms()).scale
    pull = A[:, :, None] * (X[None] - Z[:, None]) * (np.ravel(scale)[0] / scale) ** 2
    for j, e in enumerate(1e-6 * np.eye(3)):
        np.testing.assert_allclose(pull[..., j], (k(Z + e, X) - k(Z - e, X)) / 2e-6, atol=1e-6)


def test_what_is_not_radial(X):
    apart = Gaussian([1.0, 2.0, 0.5]) + Gaussian([1.0, 1.0, 0.5])
    for k in (apart, Gaussian().on([0, 1]), Laplacian(p=1), Linear() + Gaussian(), Constant(1.0)):
        assert not is_radial(k, X)
    assert not is_radial(Gaussian().on("a"), X)


def test_a_subclass_with_values_of_its_own(X):
    """Nothing of the formula of its parent is used."""

    class Narrow(Gaussian):
        def tiles(self, X, Y):
            inner = super().tiles(X, Y)
            return lambda rows, cols: inner(rows, cols) ** 4

        def slope(self, R2):
            return -2 * np.exp(-2 * R2)

        grad_input = Gaussian.grad_input  # by the slope

    psi, same = (RKHSFunction(k, X, np.full(len(X), 1.0)) for k in (Narrow(2.0), Gaussian(1.0)))
    with pytest.raises(ValueError, match="function of the Euclidean distance"):
        preimage(psi, "fixed_point")
    with pytest.raises(ValueError, match="determine distances"):
        preimage(psi, "distances")
    found, wanted = preimage(psi, start=X[0]), preimage(same, "gradient", start=X[0])
    np.testing.assert_allclose(found.x, wanted.x, atol=1e-5)


@pytest.mark.parametrize("k", SMOOTH, ids=str)
def test_fixed_point_gradient_and_scipy_agree(k, X, mixtures):
    psi = RKHSFunction(k, X, mixtures)
    fixed = preimage(psi, "fixed_point", tol=1e-8, max_iter=2000)
    steep = preimage(psi, "gradient", start=fixed.x + 1e-3, tol=1e-9)
    np.testing.assert_allclose(fixed.x, steep.x, atol=1e-5)
    np.testing.assert_allclose(fixed.distance, steep.distance, atol=1e-10)
    for t in range(6):
        theirs = minimize(
            lambda z, t=t: squared_distance(k, psi, t, z), fixed.x[t] + 1e-3, tol=1e-12
        )
        assert theirs.fun == pytest.approx(fixed.distance[t], abs=1e-9)


def test_median_is_the_pre_image_under_a_cusp(rng):
    """Wide Laplacian: E is the sum of distances, so the fixed point is the geometric median."""
    X, k = rng.normal(size=(9, 2)), Laplacian(1e4)
    found = preimage(RKHSFunction(k, X, np.full(9, 1 / 9)), tol=1e-9, max_iter=5000)
    median = minimize(lambda z: np.linalg.norm(X - z, axis=1).sum(), X.mean(axis=0), tol=1e-12).x
    np.testing.assert_allclose(found.x, median, atol=1e-3)


@pytest.mark.parametrize("method", ["fixed_point", "gradient", "auto"])
@pytest.mark.filterwarnings("ignore::mercer.exceptions.ConvergenceWarning")
def test_distance_never_grows(method, X, rng):
    """Also with coefficients of both signs, where the plain iteration may jump anywhere."""
    k, coef = Gaussian(1.2), rng.normal(size=(40, 30))
    psi, start = RKHSFunction(k, X, coef), rng.normal(size=(30, 3))
    before = np.array([squared_distance(k, psi, t, start[t]) for t in range(30)])
    for max_iter in (1, 3, 100):
        found = preimage(psi, method, start=start, max_iter=max_iter)
        assert np.all(found.distance <= before + 1e-9)
        before = np.minimum(before, found.distance) if max_iter == 100 else before


@pytest.mark.parametrize("k", [Gaussian(), Polynomial(2), Exponential(0.2)], ids=str)
def test_distance_is_the_double_sum(k, X, mixtures):
    psi = RKHSFunction(k, X, mixtures)
    for method in ("auto", "nearest"):
        found = preimage(psi, method)
        wanted = [squared_distance(k, psi, t, z) for t, z in enumerate(found.x)]
        np.testing.assert_allclose(found.distance, wanted, atol=1e-9)


def test_one_function_is_one_of_a_family(X, mixtures):
    k = Gaussian()
    family = preimage(RKHSFunction(k, X, mixtures))
    alone = preimage(RKHSFunction(k, X, mixtures[:, 2]))
    np.testing.assert_allclose(alone.x, family.x[2], atol=1e-9)
    assert alone.distance == pytest.approx(family.distance[2])
    assert (alone.converged, type(alone.n_iter)) == (True, int)


def test_same_answer_in_strips(X, mixtures, monkeypatch):
    psi = RKHSFunction(Gaussian(), X, mixtures)
    for method in ("fixed_point", "gradient", "distances", "nearest"):
        whole = preimage(psi, method)
        with monkeypatch.context() as patch:
            for name in ("preimages._VALUES", "preimages._STRIP", "preimage_search._BLOCK"):
                patch.setattr(f"mercer.rkhs.{name}", 80)
            parts = preimage(psi, method)
            np.testing.assert_allclose(parts.x, whole.x, atol=1e-7)
            np.testing.assert_allclose(parts.distance, whole.distance, atol=1e-9)


# ---- break-downs ---------------------------------------------------------------------------
def test_a_start_far_away_is_begun_anew(X):
    psi = RKHSFunction(Gaussian(0.5), X[:1], [1.0])
    for method in ("fixed_point", "gradient"):
        found = preimage(psi, method, start=X[0] + 100)
        np.testing.assert_allclose(found.x, X[0], atol=1e-4)
        with pytest.warns(ConvergenceWarning, match="1 of 1 pre-images broke down"):
            stuck = preimage(psi, method, start=X[0] + 100, n_restarts=0)
        assert not stuck.converged


def test_a_vanishing_denominator_is_begun_anew():
    """Halfway between a centre and its opposite, the weights cancel exactly."""
    psi = RKHSFunction(Gaussian(), [[0.0], [2.0]], [1.0, -1.0])
    with pytest.warns(ConvergenceWarning, match="weights of the centres cancel"):
        assert preimage(psi, start=[[1.0]], n_restarts=0).x == pytest.approx([1.0])
    found = preimage(psi, start=[[1.0]])
    assert found.converged
    best = minimize(lambda z: -psi(z[None])[0], [0.0], tol=1e-10).x
    np.testing.assert_allclose(found.x, best, atol=1e-4)


def test_what_has_no_pre_image_is_reported(X):
    """-k(x, .) is approached at infinity, and nowhere else."""
    psi = RKHSFunction(Gaussian(), X[:3], -np.ones((3, 2)))
    for method in ("fixed_point", "gradient"):
        with pytest.warns(ConvergenceWarning, match="2 of 2 pre-images"):
            found = preimage(psi, method, max_iter=50)
        assert not found.converged.any()
        assert "method=" in found.message


def test_max_iter_is_reported(X, mixtures):
    psi = RKHSFunction(Gaussian(), X, mixtures)
    with pytest.warns(ConvergenceWarning, match=r"did not converge in max_iter=1"):
        found = preimage(psi, max_iter=1, tol=1e-12, start=X[10:16])
    assert (found.n_iter == 1).all()


def test_slow_fixed_points_are_finished_by_gradients(rng):
    """Two bumps that have just merged: the plain iteration creeps."""
    psi = RKHSFunction(Gaussian(), [[-1.0, 0.0], [1.0, 0.0]], [1.0, 1.0])
    start = np.column_stack([rng.uniform(0.1, 0.9, 10), rng.uniform(-0.5, 0.5, 10)])
    family = RKHSFunction(psi.kernel, psi.points, np.ones((2, 10)))
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        slow = preimage(family, "fixed_point", start=start, tol=1e-6)
    fast = preimage(family, start=start, tol=1e-6)
    assert fast.converged.all()
    assert fast.n_iter.max() < 150
    assert np.abs(fast.x).max() < np.abs(slow.x).max()


def test_restarts_follow_the_seed(X, rng):
    psi = RKHSFunction(Gaussian(0.3), X, rng.normal(size=(40, 20)))
    start = np.full((20, 3), 50.0)
    a, b = (preimage(psi, start=start, rng=3, n_restarts=3) for _ in range(2))
    np.testing.assert_array_equal(a.x, b.x)


# ---- any data ------------------------------------------------------------------------------
def test_strings_by_brute_force(rng):
    words = ["".join(rng.choice(list("ab"), 8)) for _ in range(25)]
    k = Spectrum(3)
    coef = rng.normal(size=(25, 7))
    psi = RKHSFunction(k, words, coef)
    found = preimage(psi)
    K = k(words)
    far = np.diagonal(K)[:, None] - 2 * K @ coef + np.einsum("it,ij,jt->t", coef, K, coef)
    assert found.method == "nearest"
    assert found.x == [words[i] for i in far.argmin(axis=0)]
    np.testing.assert_allclose(found.distance, far.min(axis=0), atol=1e-9)
    assert preimage(RKHSFunction(k, words, coef[:, 0])).x == found.x[0]


def test_tables_sparse_rows_numbers_and_matrices(X):
    table = pd.DataFrame(X, columns=list("abc"))
    k = Gaussian().on(["a", "b"])
    found = preimage(RKHSFunction(k, table, np.eye(40)[:, :3]))
    pd.testing.assert_frame_equal(found.x, table.iloc[:3])
    assert "has no gradients" in found.message
    assert preimage(RKHSFunction(k, table, np.eye(40)[0])).distance == pytest.approx(0)
    sparse = RKHSFunction(Gaussian(), sp.csr_matrix(X), np.eye(40)[:, :3])
    np.testing.assert_allclose(preimage(sparse).x, X[:3], atol=1e-9)
    single = RKHSFunction(Gaussian(), X.astype(np.float32), np.eye(40)[:, :3])
    np.testing.assert_allclose(preimage(single).x, X[:3], atol=1e-6)
    line = RKHSFunction(Gaussian(), [0.0, 1.0], [1.0, 0.0])
    assert preimage(line).x == pytest.approx([0.0], abs=1e-9)
    K = Gaussian()(X)
    assert preimage(RKHSFunction(Precomputed(), K, np.eye(40)[:, 4])).index == 4


@pytest.mark.parametrize(
    "k", [Spline(), Spline(3), Periodic(), Theta(), Monomials(3), Taylor([1, 1, 0.5])], ids=str
)
def test_kernels_of_one_number(k):
    """Between the centres, inside of the interval, and as low as a fine grid can find."""
    x, grid = np.linspace(0.05, 0.95, 20)[:, None], np.linspace(0, 0.99, 2000)[:, None]
    psi = RKHSFunction(k, x, np.array([0.3, 0.3, 0.4] + [0] * 17))
    found = preimage(psi)
    values = np.diagonal(k(grid)) - 2 * psi(grid) + psi.norm() ** 2
    assert found.method == "gradient"
    assert found.distance == pytest.approx(values.min(), abs=1e-5)


def test_the_ball_is_not_left(rng):
    X = 0.6 * rng.uniform(-1, 1, size=(20, 2)) / np.sqrt(2)
    psi = RKHSFunction(Binomial(2.0), X, np.full((20, 1), 0.5))
    found = preimage(psi, "gradient")
    assert np.linalg.norm(found.x) < 1
    assert found.distance[0] <= preimage(psi, "nearest").distance[0]


# ---- refusals ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("k", "method", "message"),
    [
        (Polynomial(2), "fixed_point", 'function of the Euclidean distance.*"gradient"'),
        (Gaussian([1.0, 2, 3]) + Gaussian(), "fixed_point", "Euclidean distance"),
        (Laplacian(p=1), "fixed_point", "Euclidean distance"),
        (Laplacian(), "gradient", 'gradients.*"nearest"'),
        (Polynomial(2), "distances", "determine distances"),
        (Gaussian() + Linear(), "distances", "determine distances"),
        (Gaussian(), "newton", "method must be one of"),
    ],
    ids=str,
)
def test_what_cannot_work_is_refused(k, method, message, X):
    with pytest.raises(ValueError, match=message):
        preimage(RKHSFunction(k, X, np.ones(40)), method)


def test_other_refusals(X):
    words = RKHSFunction(Spectrum(2), ["ab", "ba"], [1.0, 0.0])
    for method in ("fixed_point", "gradient", "distances"):
        with pytest.raises(ValueError, match=r'works on vectors.*"nearest"'):
            preimage(words, method)
    psi = RKHSFunction(Gaussian(), X, np.ones((40, 2)))
    with pytest.raises(ValueError, match=r"start must have shape \(2, 3\)"):
        preimage(psi, start=X[:3])
    for options in ({"max_iter": 0}, {"n_restarts": -1}, {"n_neighbors": 0}, {"max_iter": 1.5}):
        with pytest.raises(ValueError, match=f"{next(iter(options))} must be an integer"):
            preimage(psi, **options)
    with pytest.raises(ValueError, match="tol must be > 0"):
        preimage(psi, tol=0)
    with pytest.raises(TypeError, match=r"RKHSFunction, such as KernelPCA\.project"):
        preimage(X)
