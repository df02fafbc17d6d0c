"""Canonical correlations of curves against a dense eigenproblem, and their two limits."""

import warnings

import numpy as np
import pytest
import scipy.linalg as sla
import scipy.sparse as sp
from scipy.integrate import trapezoid
from scipy.interpolate import CubicSpline

from mercer import CCA, FunctionalCCA, load, save
from mercer.exceptions import DomainError, NumericalWarning
from mercer.models.functional_cca import quadrature, spline_basis


@pytest.fixture
def curves(rng):
    """Two sets of 60 noisy curves with a common part, at points with uneven steps."""
    t = np.sort(rng.uniform(2, 5, 12))
    u = np.sort(rng.uniform(-1, 0, 9))
    level = rng.normal(size=(60, 2))
    X = level @ np.array([np.sin(t), np.cos(2 * t)]) + 0.5 * rng.normal(size=(60, 12)) + 3
    Y = level @ np.array([np.exp(u), u**2]) + 0.5 * rng.normal(size=(60, 9))
    return t, u, X, Y


def roughness(t):
    """The matrix of the integral of f'' squared, from scipy's natural splines through unit vectors.

    f'' is piecewise linear: on a step h with ends p and q, f'' g'' integrates to
    h (2 p p* + p q* + q p* + 2 q q*) / 6.
    """
    D = CubicSpline(t, np.eye(len(t)), bc_type="natural")(t, 2)
    p, q, h = D[:-1], D[1:], np.diff(t)[:, None] / 6
    return (h * p).T @ (2 * p + q) + (h * q).T @ (p + 2 * q)


def dense(views, points, penalties, k):
    """The largest generalised eigenvalues and vectors, from matrices written out."""
    scores = [(X - X.mean(axis=0)) * quadrature(t) for X, t in zip(views, points, strict=True)]
    Z = np.hstack(scores)
    C = Z.T @ Z / len(Z)
    B = sla.block_diag(
        *(S.T @ S / len(S) + r * roughness(t)
          for S, t, r in zip(scores, points, penalties, strict=True))
    )  # fmt: skip
    A = C - sla.block_diag(*(S.T @ S / len(S) for S in scores))
    values, vectors = sla.eigh(A, B)
    vectors = vectors[:, ::-1][:, :k] * np.sqrt(len(views))
    ends = np.cumsum([len(t) for t in points])[:-1]
    return values[::-1][:k] / (len(views) - 1), np.split(vectors, ends)


def same_up_to_sign(found, expected, rtol):
    signs = np.sign(np.sum(found * expected, axis=0))
    np.testing.assert_allclose(found, expected * signs, rtol=0, atol=rtol * np.abs(expected).max())


@pytest.mark.parametrize("penalties", [[1e-3, 1e-3], [1e-6, 0.1], [10.0, 1e-2]])
def test_dense_eigenproblem(curves, penalties):
    t, u, X, Y = curves
    model = FunctionalCCA(3, points=[t, u], regularization=penalties).fit(X, Y)
    values, vectors = dense([X, Y], [t, u], penalties, 3)
    np.testing.assert_allclose(model.correlations_, values, atol=1e-9)
    for found, expected in zip(model.weights_, vectors, strict=True):
        same_up_to_sign(found, expected, 1e-6)


def test_three_views(curves, rng):
    t, u, X, Y = curves
    V = X[:, ::2] + rng.normal(size=(60, 6))
    points, penalties = [t, u, t[::2]], [1e-2, 1e-3, 0.1]
    model = FunctionalCCA(2, points=points, regularization=penalties).fit([X, Y, V])
    values, vectors = dense([X, Y, V], points, penalties, 2)
    np.testing.assert_allclose(model.correlations_, values, atol=1e-9)
    for found, expected in zip(model.weights_, vectors, strict=True):
        same_up_to_sign(found, expected, 1e-6)


@pytest.mark.parametrize("T", [3, 12, 60])
def test_penalty_of_the_basis(rng, T):
    t = np.sort(rng.uniform(0, 7, T))
    B = spline_basis(t, 2)
    expected = np.diag([0.0, 0.0, *np.ones(T - 2)])
    np.testing.assert_allclose(B.T @ roughness(t) @ B, expected, atol=1e-6)


def test_without_a_penalty_it_is_ordinary_cca(curves):
    t, u, X, Y = curves
    model = FunctionalCCA(3, points=[t, u], regularization=0).fit(X, Y)
    ordinary = CCA(3).fit(X, Y)
    np.testing.assert_allclose(model.correlations_, ordinary.correlations_, atol=1e-9)
    for found, expected in zip(model.transform(X, Y), ordinary.transform(X, Y), strict=True):
        same_up_to_sign(found, expected, 1e-6)


def test_a_large_penalty_leaves_lines(curves):
    """Weights are then lines: CCA of the integrals of each curve, and of the curve times t."""
    t, u, X, Y = curves
    model = FunctionalCCA(2, points=[t, u], regularization=1e12).fit(X, Y)
    moments = [
        V @ (quadrature(z)[:, None] * np.column_stack([np.ones(len(z)), z]))
        for V, z in ((X, t), (Y, u))
    ]
    ordinary = CCA(2).fit(*moments)
    np.testing.assert_allclose(model.correlations_, ordinary.correlations_, atol=1e-7)
    for z, a in zip((t, u), model.weights_, strict=True):
        line = np.polynomial.Polynomial.fit(z, a[:, 0], 1)(z)
        np.testing.assert_allclose(a[:, 0], line, atol=1e-5 * np.abs(a[:, 0]).max())


def test_other_orders(curves):
    """Order 1 and a large penalty leave constants, and with them one component."""
    t, u, X, Y = curves
    model = FunctionalCCA(points=[t, u], regularization=1e12, order=1).fit(X, Y)
    means = [X @ quadrature(t), Y @ quadrature(u)]
    assert model.correlations_[0] == pytest.approx(abs(np.corrcoef(*means)[0, 1]), abs=1e-7)
    np.testing.assert_allclose(model.weights_[0], model.weights_[0][0, 0], rtol=1e-6)


def test_curves_are_natural_splines(curves):
    t, u, X, Y = curves
    model = FunctionalCCA(2, points=[t, u], regularization=1e-3).fit(X, Y)
    for z, a, curve in zip((t, u), model.weights_, model.curves_, strict=True):
        fine = np.linspace(z[0], z[-1], 101)
        spline = CubicSpline(z, a, bc_type="natural")
        size = np.abs(a).max()
        np.testing.assert_allclose(curve.predict(fine), spline(fine), atol=1e-6 * size)
        slopes = np.abs(spline(fine, 1)).max()
        found = curve.predict(fine, derivative=1)
        np.testing.assert_allclose(found, spline(fine, 1), atol=1e-6 * slopes)
        assert curve.predict([z[-1] + 1.0]).shape == (1, 2)  # beyond the data, too


def test_scores_are_integrals_and_have_the_correlations(curves):
    t, u, X, Y = curves
    model = FunctionalCCA(2, points=[t, u], regularization=1e-3).fit(X, Y)
    a, b = model.transform(X, Y)
    expected = trapezoid((X - X.mean(axis=0))[:, :, None] * model.weights_[0], t, axis=1)
    np.testing.assert_allclose(a, expected, atol=1e-10 * np.abs(a).max())
    variance = np.diag(a.T @ a / 60 + 1e-3 * model.weights_[0].T @ roughness(t) @ model.weights_[0])
    np.testing.assert_allclose(variance, 1, atol=1e-8)
    np.testing.assert_allclose(np.diag(a.T @ b / 60), model.correlations_, atol=1e-8)


def test_weights_count_samples(curves):
    t, u, X, Y = curves
    weights = np.arange(60) % 3
    one = FunctionalCCA(points=[t, u], regularization=1e-2).fit(X, Y, sample_weight=weights)
    rows = np.repeat(np.arange(60), weights)
    two = FunctionalCCA(points=[t, u], regularization=1e-2).fit(X[rows], Y[rows])
    np.testing.assert_allclose(one.correlations_, two.correlations_, atol=1e-9)
    same_up_to_sign(one.weights_[0], two.weights_[0], 1e-6)


def smooth_pair(rng, n=80, T=100):
    """More points than samples: one common bump, much noise."""
    t = np.linspace(0, 1, T)
    level = rng.normal(size=(n, 1))
    X = level * np.exp(-100 * (t - 0.3) ** 2) + rng.normal(size=(n, T))
    return t, X, level * np.exp(-100 * (t - 0.6) ** 2) + rng.normal(size=(n, T))


def test_cross_validation_chooses_what_it_scores_best(rng):
    t, X, Y = smooth_pair(rng)
    model = FunctionalCCA(points=t, cv=4).fit(X[:40], Y[:40])
    means = model.cv_scores_.mean(axis=1)
    assert model.cv_scores_.shape == (len(model.regularizations_), 4)
    np.testing.assert_array_equal(model.regularization_, model.regularizations_[means.argmax()])
    one = FunctionalCCA(points=t, regularization=model.regularization_.tolist())
    fold = one.fit(X[10:40], Y[10:40]).correlations(X[:10], Y[:10])[0]
    assert fold == pytest.approx(model.cv_scores_[means.argmax(), 0], abs=1e-8)
    rough = FunctionalCCA(points=t, regularization=1e-12).fit(X[:40], Y[:40])
    assert rough.correlations_[0] > 0.99
    assert model.score(X[40:], Y[40:]) > 0.7 > rough.score(X[40:], Y[40:])


@pytest.mark.parametrize("offset", [1e6, 1e9])
def test_an_offset_of_the_curves_does_not_matter(curves, offset):
    """Whole numbers, so that they are the same ones beside the offset."""
    t, u, X, Y = curves
    X, Y = np.round(20 * X), np.round(20 * Y)
    options = {"points": [t, u], "regularization": [1e-2, 1e-2]}
    one = FunctionalCCA(2, **options).fit(X, Y)
    far = FunctionalCCA(2, **options).fit(X + offset, Y - offset)
    np.testing.assert_allclose(far.correlations_, one.correlations_, rtol=1e-5)
    np.testing.assert_allclose(far.transform(X + offset), one.transform(X), atol=1e-4)


def test_units_do_not_matter(rng):
    """Other units of curves and points: the same weight functions, in their units."""
    t, X, Y = smooth_pair(rng)
    one = FunctionalCCA(points=t).fit(X, Y)
    two = FunctionalCCA(points=1e3 * t - 7).fit(1e8 * X + 1e8, 1e-6 * Y)
    np.testing.assert_allclose(two.correlations_, one.correlations_, rtol=1e-6)
    for a, b in zip(one.weights_, two.weights_, strict=True):
        a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
        same_up_to_sign(b, a, 1e-4)


@pytest.mark.parametrize("change", ["float32", "sparse", "list"])
def test_containers(curves, change):
    t, u, X, Y = curves
    made = {"float32": np.float32, "sparse": sp.csr_array, "list": np.ndarray.tolist}[change]
    one = FunctionalCCA(points=[t, u], regularization=0.01).fit(X, Y)
    two = FunctionalCCA(points=[t, u], regularization=0.01).fit(made(X), made(Y))
    np.testing.assert_allclose(one.correlations_, two.correlations_, rtol=1e-4)


def test_a_number_beside_a_curve(curves):
    """A single point is a number: the correlation is that of a penalised regression on curves."""
    t, _, X, Y = curves
    r, y = 1e-2, Y[:, 0] - Y[:, 0].mean()
    model = FunctionalCCA(points=[t, [0.0]], regularization=r).fit(X, Y[:, 0])
    S = (X - X.mean(axis=0)) * quadrature(t)
    B = S.T @ S / 60 + r * roughness(t)
    c = S.T @ y / 60
    expected = np.sqrt(c @ np.linalg.solve(B, c) / np.mean(y**2))
    assert model.correlations_[0] == pytest.approx(expected, abs=1e-9)
    assert model.curves_[1].predict([3.0]).shape == (1, 1)


def test_duplicates_constants_and_outliers(curves):
    t, u, X, Y = curves
    X, Y = X.copy(), Y.copy()
    X[:, 3] = 5.0  # a point where all curves agree
    Y[0] = 1e8
    X[10:20], Y[10:20] = X[30:40], Y[30:40]
    model = FunctionalCCA(points=[t, u]).fit(X, Y)
    assert np.all(np.isfinite(model.weights_[0]))
    assert 0 <= model.correlations_[0] <= 1 + 1e-9


def test_free_directions_that_do_not_vary(curves):
    """Curves whose integrals are all the same have no variance along constants."""
    t, u, X, Y = curves
    X = X - np.outer(X @ quadrature(t), np.ones(len(t))) / (t[-1] - t[0])
    model = FunctionalCCA(points=[t, u], regularization=1e-2).fit(X, Y)
    S = [(V - V.mean(axis=0)) * quadrature(z) for V, z in ((X, t), (Y, u))]
    B = [V.T @ V / 60 + 1e-2 * roughness(z) for V, z in zip(S, (t, u), strict=True)]
    C = S[0].T @ S[1] / 60
    squares = np.linalg.eigvals(np.linalg.pinv(B[0], rcond=1e-11) @ C @ np.linalg.solve(B[1], C.T))
    assert model.correlations_[0] == pytest.approx(np.sqrt(squares.real.max()), abs=1e-7)


def test_saved(curves, tmp_path):
    t, u, X, Y = curves
    model = FunctionalCCA(2, points=[t, u]).fit(X, Y)
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    for a, b in zip(model.transform(X, Y), again.transform(X, Y), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(again.curves_[0].predict(t), model.curves_[0].predict(t))


def test_trivial_correlations_are_told(rng):
    t, X, Y = smooth_pair(rng, n=20, T=30)
    with pytest.warns(NumericalWarning, match="regularization > 0"):
        FunctionalCCA(points=t, regularization=0).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FunctionalCCA(points=t).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"regularization": "gcv"}, 'regularization must be "cv"'),
        ({"regularization": -1.0}, "regularization must be >= 0"),
        ({"order": 0}, "order must be an integer >= 1"),
        ({"points": [[1.0, 2.0]]}, r"one per view \(2\), got 1"),
        ({"points": np.arange(4)}, "points of view 0 must have one entry for each of its 12"),
        ({"points": np.zeros(12)}, "points of view 0 must be finite and strictly increasing"),
        ({"points": "times"}, "points of view 0 must"),
        ({"points": 1e200 * np.arange(12)}, "view 0: points span .* divide them by a constant"),
        ({"n_components": 0}, "n_components must be an integer >= 1"),
    ],
)
def test_errors_name_the_parameter(curves, options, message):
    _, _, X, _ = curves
    with pytest.raises(ValueError, match=message):
        FunctionalCCA(**options).fit(X, X)


def test_errors_about_data(curves):
    _, _, X, Y = curves
    with pytest.raises(ValueError, match="view 1 does not vary"):
        FunctionalCCA(regularization=1.0).fit(X, np.ones((60, 4)))
    with pytest.raises(ValueError, match="at least 2 samples"):
        FunctionalCCA().fit(X[:1], Y[:1])
    with pytest.raises(DomainError, match="view 0 are so large that their squares overflow"):
        FunctionalCCA(regularization=1.0).fit(1e200 * X, Y)
    with pytest.raises(ValueError, match="NaN"):
        FunctionalCCA().fit(np.where(X > 3, np.nan, X), Y)
