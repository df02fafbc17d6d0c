"""Gram matrices and factors as views: the same matrix A, the same functions."""

import numpy as np
import pytest

from mercer.solvers.views import FactorView, GramView, shrinkage, thin_decomposition


@pytest.fixture
def G(rng):
    return rng.normal(size=(30, 4)) + 3


def centered(G, p):
    n = len(G)
    F = np.sqrt(p)[:, None] * (G - p @ G)
    return F @ F.T, n


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("restricted", [False, True])
def test_spectra_agree_with_the_definition(rng, G, weighted, restricted):
    weights = rng.uniform(0, 2, 30) if weighted else None
    rows = np.arange(3, 25) if restricted else None
    at = slice(None) if rows is None else rows
    p = (np.ones(30) if weights is None else weights)[at]
    A, _ = centered(G[at], p / p.sum())
    for view in (GramView(G @ G.T, weights, rows), FactorView(G, weights, rows)):
        s, U = view.spectrum
        assert len(s) == 4
        np.testing.assert_allclose((U * s) @ U.T, A, atol=1e-12)
        np.testing.assert_allclose(U.T @ U, np.eye(4), atol=1e-12)
        variance, raw = view.scale()
        np.testing.assert_allclose(variance, np.trace(A))
        np.testing.assert_allclose(raw, (p / p.sum()) @ np.sum(G[at] ** 2, axis=1))


@pytest.mark.parametrize("form", ["ridge", "squared"])
@pytest.mark.parametrize("weighted", [False, True])
def test_smoothers(rng, G, form, weighted):
    """P = A^2 B^-1, and the function found has the values P u."""
    weights = rng.uniform(0.1, 2, 30) if weighted else None
    p = np.full(30, 1 / 30) if weights is None else weights / weights.sum()
    A, n = centered(G, p)
    r, u = 0.3, rng.normal(size=(30, 2))
    B = A @ A + r * A if form == "ridge" else np.linalg.matrix_power(A + r / 2 * np.eye(n), 2)
    P = A @ np.linalg.pinv(B) @ A
    for view in (GramView(G @ G.T, weights), FactorView(G, weights)):
        smoother = view.smoother(r, form)
        np.testing.assert_allclose(smoother.values(u), P @ u, atol=1e-11)
        coef = smoother.coef(u)
        values = view.evaluate(coef) - view.offset(coef)
        np.testing.assert_allclose(np.sqrt(p)[:, None] * values, P @ u, atol=1e-11)


@pytest.mark.parametrize("form", ["ridge", "squared"])
def test_coefficients_from_the_spectrum(rng, G, form):
    view, n = FactorView(G), 30
    s, U = view.spectrum
    E, w = rng.normal(size=(4, 2)), shrinkage(s, 0.1, form)
    expected = np.sqrt(n) * U @ (w[:, None] * E)
    gram = GramView(G @ G.T)
    rotated = np.sign(np.sum(gram.spectrum.U * U, axis=0))[:, None] * E
    for each, part in ((view, E), (gram, rotated)):
        coef = each.coef(part, w)
        np.testing.assert_allclose(each.evaluate(coef) - each.offset(coef), expected, atol=1e-10)
    np.testing.assert_allclose(gram.coef(rotated, w).sum(axis=0), 0, atol=1e-12)
    dual = view.dual(view.coef(E, w))
    np.testing.assert_allclose(dual, gram.coef(rotated, w), atol=1e-10)
    np.testing.assert_allclose(G.T @ dual, view.coef(E, w), atol=1e-10)


def test_functions_at_rows_left_out(rng, G):
    train, test = np.arange(20), np.arange(20, 30)
    u = rng.normal(size=(20, 1))
    values = []
    for whole in (GramView(G @ G.T), FactorView(G)):
        view = whole.restrict(train)
        coef = view.smoother(0.2, "ridge").coef(u)
        values.append(view.evaluate(coef, test) - view.offset(coef))
    np.testing.assert_allclose(values[0], values[1], atol=1e-10)


@pytest.mark.parametrize("shape", [(40, 6), (6, 40), (40, 40)])
@pytest.mark.parametrize("condition", [1e1, 1e5, 1e6])
def test_thin_decomposition(rng, shape, condition):
    r = min(shape)
    L, _ = np.linalg.qr(rng.normal(size=(shape[0], r)))
    R, _ = np.linalg.qr(rng.normal(size=(shape[1], r)))
    G = (L * np.geomspace(1, 1 / condition, r)) @ R.T
    s, U, V = thin_decomposition(G)
    assert len(s) == r
    np.testing.assert_allclose((U * np.sqrt(s)) @ V.T, G, atol=1e-13)
    np.testing.assert_allclose(U.T @ U, np.eye(r), atol=1e-9)
    np.testing.assert_allclose(V.T @ V, np.eye(r), atol=1e-9)
    np.testing.assert_allclose(np.sort(s), np.geomspace(1, 1 / condition, r)[::-1] ** 2, rtol=1e-6)


def test_thin_decomposition_drops_what_is_not_there(rng):
    G = rng.normal(size=(50, 3))
    s, U, V = thin_decomposition(np.hstack([G, G @ [[1.0], [2.0], [0.5]]]))
    assert len(s) == 3
    assert U.shape == (50, 3)
    assert V.shape == (4, 3)
    assert len(thin_decomposition(np.zeros((5, 2)))[0]) == 0
