"""Newton steps in the span of kept samples, against the formula in dense matrices."""

from dataclasses import replace

import numpy as np
import pytest

from mercer import Gaussian
from mercer.losses import Squared, as_loss
from mercer.solvers.online import Expansion
from mercer.solvers.online_budget import OLDEST
from mercer.solvers.online_curvature import Curvature, Span
from mercer.solvers.online_loops import Rule
from mercer.solvers.online_newton import constants, take_in_newton

KERNEL = Gaussian(1.0)
ONES = np.ones


def rule(alpha=1e-9, window=0.0, lengths=(0.01,), intercept=False):
    scale = np.array(lengths)
    return Rule(scale, 0.5, alpha, True, intercept, 0.0, -1.0, window, False, 30, OLDEST)


def dense(K):
    return K + 1e-7 * np.eye(len(K))


@pytest.fixture
def begun(rng):
    """30 samples that are kept, of 40 that were seen."""
    Z, rest = rng.standard_normal((30, 2)), rng.standard_normal((10, 2))
    w = rng.random(40) + 0.5
    K, cross = KERNEL(Z), KERNEL(np.vstack([Z, rest]), Z)
    curvature = Curvature.empty().grown(K, 1.0).later(cross, w, ONES(40), known=True).remade(1e-3)
    state = replace(Expansion.empty(1), time=float(w.sum()))
    return Z, K, (cross.T * w) @ cross / w.sum(), curvature, state, rng.standard_normal((1, 30))


def test_features_are_those_of_the_preconditioned_kernel(begun, rng):
    Z, K, A, curvature, _, _ = begun
    cross = KERNEL(rng.standard_normal((5, 2)), Z)
    F = curvature.features(cross)
    penalty = 1e-3 + 1 / 40
    assert curvature.penalty == pytest.approx(penalty)
    q = cross @ np.linalg.solve(A + penalty * dense(K), cross.T)
    np.testing.assert_allclose(F @ F.T, q, rtol=1e-5)


def test_functions_by_either_coefficients(begun, rng):
    Z, _, _, curvature, _, c = begun
    cross = KERNEL(rng.standard_normal((5, 2)), Z)
    on_features = curvature.coordinates(c)
    np.testing.assert_allclose(curvature.features(cross) @ on_features.T, cross @ c.T, atol=1e-8)
    back = curvature.coefficients(on_features)
    np.testing.assert_allclose(cross @ back.T, cross @ c.T, atol=1e-8)
    later = replace(curvature, time=1e6).remade(0.3)
    moved = later.carried(on_features, curvature)
    np.testing.assert_allclose(later.features(cross) @ moved.T, cross @ c.T, atol=1e-8)


def test_one_step_is_the_formula(begun, rng):
    Z, K, A, curvature, state, c = begun
    x, y, w = rng.standard_normal((1, 2)), np.array([[0.7]]), np.array([1.3])
    k, t = KERNEL(x, Z), state.time
    functions = [curvature.coordinates(c)]
    after, functions, steps = take_in_newton(
        state, functions, curvature, rule(), Squared(), y, w, k
    )
    whole = A + curvature.penalty * dense(K)
    eta = w[0] * 0.01 * ((t + w[0]) * t / 40) ** -0.5  # t / 40 is the mean weight
    q = (k @ np.linalg.solve(whole, k.T)).item()
    u = (k @ c[0] - y[0, 0]).item() / (1 + eta * q)  # at the end of the step
    expected = c[0] - eta * u * np.linalg.solve(whole, k[0])
    np.testing.assert_allclose(curvature.coefficients(functions[0]) @ K, [expected @ K], atol=1e-6)
    assert after.time == pytest.approx(t + w[0])
    np.testing.assert_allclose(steps, 1e-9 * eta)


def test_the_penalty_shrinks_and_never_turns_round(begun):
    _, K, A, curvature, _, c = begun
    on_features = curvature.coordinates(c)
    for step in (1e-6, 1e-2, 1e6):
        after = curvature.coefficients(curvature.shrunk(on_features, np.array([step])))
        assert 0 <= (after @ K @ after.T).item() < (c @ K @ c.T).item()
        assert (after @ K @ c.T).item() > 0
    after = curvature.coefficients(curvature.shrunk(on_features, np.array([1e-6])))
    slope = np.linalg.solve(A + curvature.penalty * dense(K), K @ c[0])
    np.testing.assert_allclose((after - c)[0] @ K, -1e-6 * slope @ K, rtol=1e-3, atol=1e-10)


def test_averages_weigh_iterates_by_time(begun, rng):
    Z, _, _, curvature, state, c = begun
    mean = rng.standard_normal((1, 30))
    state = replace(state, span=state.time)
    functions = [curvature.coordinates(c), curvature.coordinates(mean)]
    args = rule(window=np.inf), Squared(), np.array([[0.2]]), ONES(1), KERNEL(rng.random((1, 2)), Z)
    _, after, _ = take_in_newton(state, functions, curvature, *args)
    share = 2 / (state.time + 2)
    np.testing.assert_allclose(after[1], (1 - share) * functions[1] + share * after[0], atol=1e-9)


def test_more_samples_make_the_factors_of_all(rng):
    """In pieces and at once; what has not been measured together counts as uncorrelated."""
    X, w = rng.standard_normal((30, 2)), rng.random(30) + 0.5
    K = KERNEL(X)
    whole = Curvature.empty().grown(K, 1.0).later(K, w, ONES(30), known=True).remade(1e-3)
    pieces = Curvature.empty()
    for rows in (slice(0, 1), slice(1, 12), slice(12, 30)):
        pieces = pieces.grown(K[rows, : rows.stop], 1.0)
        assert pieces.whole == pytest.approx(pieces.low @ pieces.inner)
        pieces = pieces.later(K[rows, : rows.stop], w[rows], ONES(30)[rows], known=True)
    np.testing.assert_allclose(pieces.low, whole.low, atol=1e-9)
    np.testing.assert_allclose(pieces.remade(1e-3).inner, whole.inner, atol=1e-4)


def test_a_share_of_the_samples_is_measured(begun, rng):
    Z, _, _, curvature, _, _ = begun
    X = rng.standard_normal((2000, 2))
    blocks = [curvature, curvature]
    for i, size in enumerate((200, 7)):
        for start in range(0, 2000, size):
            cross = KERNEL(X[start : start + size], Z)
            n = len(cross)
            blocks[i] = blocks[i].later(cross, ONES(n), ONES(n))
    for new in blocks:
        assert new.time == pytest.approx(curvature.time + 2000)
        assert 500 < new.measured < 800
        table, numbers = new.told()
        mean = np.tril(table[:, :-1]) / new.measured
        K = KERNEL(X, Z)
        whole = np.linalg.inv(new.low) @ (K.T @ K / 2000) @ np.linalg.inv(new.low).T
        np.testing.assert_allclose(mean, np.tril(whole), atol=0.05)
        assert numbers[5] == 2040


def test_half_of_what_is_kept_holds_the_projection(begun, rng):
    _, K, A, curvature, _, c = begun
    new, (moved,) = curvature.halved([curvature.coordinates(c)], 1e-3)
    found = new.coefficients(moved)
    near = np.linalg.solve(dense(K[15:, 15:]), K[15:] @ c[0])  # of all functions of these samples
    np.testing.assert_allclose(K[:, 15:] @ found[0], K[:, 15:] @ near, atol=1e-4)
    # second moments, of the projections of features on that span
    project = np.linalg.solve(dense(K[15:, 15:]), K[15:]).T
    inside = K[15:, 15:] @ project.T @ np.linalg.solve(dense(K), A)
    inside = inside @ np.linalg.solve(dense(K), project @ K[15:, 15:])
    seen = np.tril(new.seen) + np.tril(new.seen, -1).T
    np.testing.assert_allclose(new.low @ seen @ new.low.T / new.measured, inside, atol=1e-4)
    assert new.count == 30
    assert new.time == pytest.approx(curvature.time * 30 / 40)


def test_samples_that_move_away_are_noticed():
    near, far = np.full(50, 0.1), np.full(50, 0.9)
    span = Span()
    for _ in range(10):
        span = span.after(near, 200.0)
    assert span.expected == pytest.approx(0.1)
    assert not span.outgrown(200.0)
    span = span.after(far, 200.0)
    assert span.outgrown(200.0)
    half = span.begun()
    assert half.turned
    assert half.expected == pytest.approx(0.1)
    for _ in range(4):
        half = half.after(far, 200.0)
    assert half.outgrown(200.0)  # the other half goes, too, and then this is how it is
    rest = half.begun()
    for _ in range(10):
        rest = rest.after(far, 200.0)
    assert not rest.outgrown(200.0)
    assert rest.expected == pytest.approx(0.9)
    back = span.begun()
    for _ in range(10):
        back = back.after(near, 200.0)
    assert not back.outgrown(200.0)
    assert not back.turned


def test_constants_to_begin_with(rng):
    y = 100 + rng.standard_normal((200, 1))
    state = Expansion.empty(1).of_lengths(2)
    both = rule(lengths=(0.1, 0.2), intercept=True)
    for name in ("squared", "absolute", "huber"):
        b = constants(state, both, as_loss(name), y, ONES(200))
        np.testing.assert_allclose(b, [100, 100], atol=0.5)
    counts = rng.poisson(50, (200, 1)).astype(float)
    b = constants(state, both, as_loss("poisson"), counts, ONES(200))
    np.testing.assert_allclose(np.exp(b), counts.mean(), rtol=0.02)


def test_what_is_told_is_restored(begun):
    _, K, _, curvature, _, _ = begun
    again = Curvature.restored(*curvature.told(), K)
    np.testing.assert_allclose(again.whole, curvature.whole, atol=1e-8)
    np.testing.assert_allclose(again.remade(0.1).inner, curvature.remade(0.1).inner, atol=1e-8)
    assert (again.time, again.measured, again.span) == (
        curvature.time, curvature.measured, curvature.span,
    )  # fmt: skip


def test_kernels_that_are_none(begun):
    _, K, _, curvature, _, _ = begun
    with pytest.raises(ValueError, match="positive semi-definite"):
        Curvature.empty().grown(-K, 1.0)
    with pytest.raises(ValueError, match="positive semi-definite"):
        curvature.grown(np.full((1, 31), 5.0), 1.0)
