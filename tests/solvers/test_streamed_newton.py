"""Any loss by passes, against the solvers of stored features."""

import pickle

import numpy as np
import pytest

from mercer import Gaussian, Nystrom
from mercer.chunks import ArrayChunks
from mercer.gram.implicit import ImplicitGram
from mercer.gram.phi import StoredPhi
from mercer.gram.stored import LowRankGram
from mercer.losses import (
    Absolute,
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    Logistic,
    Multinomial,
    Poisson,
    Quantile,
    SmoothedHinge,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from mercer.losses.base import Loss
from mercer.solvers.representer import solve_representer
from mercer.solvers.streamed_gap import proven_gap
from mercer.solvers.streamed_newton import solve_streamed
from mercer.solvers.task import Bend, Rounded, Slope, Task
from mercer.solvers.watch import Watch

RNG = np.random.default_rng(0)
N = 600
X = RNG.standard_normal((N, 2))
R = np.sin(X.sum(axis=1)) + 0.3 * RNG.standard_normal(N)
S = np.where(R > 0, 1.0, -1.0)
C = RNG.poisson(np.exp(0.5 * R)).astype(float)
M = np.digitize(R, [-0.5, 0.5])
W = RNG.random(N) + 0.1
KERNEL = Nystrom(Gaussian(1.5), X[:30])
SMOOTH = [
    (Squared(), R),
    (Logistic(), S),
    (Multinomial(), M),
    (SquaredHinge(), S),
    (SmoothedHinge(), S),
    (Huber(0.2), R),
    (Poisson(), C),
    (Expectile(0.8), R),
    (SquaredEpsilonInsensitive(0.1), R),
]
CORNERS = [(Hinge(), S), (Quantile(0.9), R), (Absolute(), R), (EpsilonInsensitive(0.2), R)]


def stream(y, w=W, intercept=True, X=X, rows=250):
    return ImplicitGram(KERNEL, ArrayChunks(X, rows=rows), X).stream(y, w, intercept)


def stored(y, loss, w=W, intercept=True, tol=1e-9, alpha=1.0):
    K = LowRankGram(KERNEL, KERNEL.prepare(X))
    found = solve_representer(K, y, loss, alpha, w, intercept=intercept, tol=tol)
    return K @ found.coef + found.intercept, found.stats["objective"]


def scores(found):
    return KERNEL.features(KERNEL.prepare(X)) @ found.weights + found.intercept


def solve(y, losses, w=W, intercept=True, alpha=1.0, **options):
    return solve_streamed(stream(y, w, intercept), losses, alpha, **options)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("loss", "y"), SMOOTH, ids=lambda part: type(part).__name__)
def test_smooth_losses(loss, y, intercept):
    many = 3 if loss.targets == "classes" else None
    found = solve(y, [loss], intercept=intercept, scores=many, tol=1e-13)
    F, objective = stored(y, loss, intercept=intercept)
    assert found.converged
    np.testing.assert_allclose(scores(found), F, atol=1e-4)
    assert found.stats["objective"] == pytest.approx(objective, rel=1e-7)
    assert -1e-9 <= found.stats["gap"] < 1e-3


@pytest.mark.parametrize(("loss", "y"), CORNERS, ids=lambda part: type(part).__name__)
def test_corners_cost_less_than_is_asked_for(loss, y):
    found = solve(y, [loss], tol=1e-3)
    _, best = stored(y, loss, tol=1e-6)
    F = scores(found)
    value = float(W @ loss.value(y, F[:, 0]) + np.sum(found.weights**2) / 2)
    assert found.converged
    assert value - best <= 1.5e-3 * best
    assert value - best <= found.stats["gap"] + 1e-6 * best  # which is proven


def test_problems_share_passes():
    quantiles = [Quantile(0.2), Quantile(0.7)]
    both = solve(R, quantiles, tol=1e-3)
    for j, loss in enumerate(quantiles):
        _, best = stored(R, loss, tol=1e-6)
        value = W @ loss.value(R, scores(both)[:, j]) + np.sum(both.weights[:, j] ** 2) / 2
        assert value <= (1 + 2e-3) * best
    signs = np.where(M[:, None] == np.arange(3), 1, -1)
    rest = solve(signs, [Logistic()], scores=3, tol=1e-13)
    for j in range(3):
        F, _ = stored(signs[:, j].astype(float), Logistic())
        np.testing.assert_allclose(scores(rest)[:, j], F[:, 0], atol=1e-4)


def test_weights_are_repetitions():
    times = RNG.integers(0, 3, N)
    again = np.repeat(np.arange(N), times)
    one = solve(S, [Logistic()], times.astype(float), tol=1e-14)
    phi = stream(S[again], None, True, X[again], rows=100)
    other = solve_streamed(phi, [Logistic()], 1.0, tol=1e-14)
    np.testing.assert_allclose(one.weights, other.weights, atol=1e-4)


def test_a_start_from_another_penalty_takes_fewer_steps():
    path = solve(S, [Logistic()], alpha=1.0, tol=1e-8)
    start = np.vstack([path.weights, path.intercept])
    warm = solve(S, [Logistic()], alpha=1.0, tol=1e-7, start=start)
    assert warm.n_iter == 1  # which tells what its preconditioner is worth
    assert warm.n_iter < path.n_iter
    assert warm.converged


def test_separable_classes_and_outliers_end():
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    found = solve(y, [Logistic()], alpha=1e-6, tol=1e-6)
    assert np.mean(np.sign(scores(found)[:, 0]) == y) > 0.97
    wild = R.copy()
    wild[:3] = 1e8, -99999.0, 1e8
    found = solve(wild, [Huber(0.2)], tol=1e-10)
    P, F = KERNEL.features(KERNEL.prepare(X)), scores(found)
    slopes = W[:, None] * Huber(0.2).slope(wild[:, None], F)
    np.testing.assert_allclose(P.T @ slopes, -found.weights, atol=1e-3)
    assert abs(slopes.sum()) < 1e-3


def test_it_says_that_it_did_not_converge():
    found = solve(C, [Poisson()], tol=1e-14, max_iter=1)
    assert not found.converged
    assert "max_iter" in found.message


def test_a_callback_stops_it_and_a_checkpoint_goes_on(tmp_path):
    path, whole = tmp_path / "state.npz", solve(C, [Poisson()], tol=1e-12)

    def interrupt(step):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(C, [Poisson()], tol=1e-12, watch=Watch(interrupt, path))
    other = ImplicitGram(Nystrom(Gaussian(1.4), X[:30]), ArrayChunks(X, rows=250), X)
    with pytest.raises(ValueError, match="another problem"):
        solve_streamed(
            other.stream(C, W, True), [Poisson()], 1.0, tol=1e-12, watch=Watch(None, path)
        )
    again = solve(C, [Poisson()], tol=1e-12, watch=Watch(None, path))
    np.testing.assert_allclose(again.weights, whole.weights, atol=1e-4)
    assert not path.exists()
    stopped = solve(C, [Poisson()], tol=1e-12, watch=Watch(lambda step: True))
    assert stopped.n_iter == 1
    assert "callback" in stopped.message


# ---- certificates --------------------------------------------------------------------------------
def objective(loss, y, V, b, alpha):
    F = KERNEL.features(KERNEL.prepare(X)) @ V + b
    F = F if loss.targets == "classes" else F[:, 0]
    return float(W @ loss.value(y, F) + alpha / 2 * np.sum(V**2))


@pytest.mark.parametrize(("loss", "y"), SMOOTH + CORNERS, ids=lambda part: type(part).__name__)
@pytest.mark.parametrize("alpha", [1.0, 1e4])  # with the latter, all that matters is the constant
def test_the_gap_is_a_bound_wherever_it_is_computed(loss, y, alpha):
    t = 3 if loss.targets == "classes" else 1
    width = None if loss.smooth else np.full(t, 0.05)
    _, best = stored(y, loss, alpha=alpha, tol=1e-8)
    phi, rng = stream(y), np.random.default_rng(1)
    for size in (0.0, 0.3):
        V = size * rng.standard_normal((phi.size, t))
        gap = proven_gap(phi, Task([loss], t > 1, width), V, alpha)
        assert gap.shape == (1,)
        assert gap[0] >= objective(loss, y, V[:-1], V[-1], alpha) - best - 1e-6 * best
    near = solve(y, [loss], alpha=alpha, scores=t, tol=1e-6)
    value = objective(loss, y, near.weights, near.intercept, alpha)
    assert value - best <= near.stats["gap"] + 1e-6 * best
    assert near.stats["gap"] <= 0.05 * best  # and it is not far off


def test_a_gap_of_a_loss_whose_conjugate_is_not_known():
    class Quartic(Loss):
        smooth = True

        def value(self, y, f):
            return (f - y) ** 4

    phi = stream(R)
    assert proven_gap(phi, Task([Quartic()]), np.zeros((phi.size, 1)), 1.0) == [np.inf]


@pytest.mark.parametrize(("loss", "y"), [(Logistic(), S), *CORNERS])
def test_an_excess_is_not_hidden_by_a_preconditioner_that_is_too_large(monkeypatch, loss, y):
    true = StoredPhi.curvatures
    monkeypatch.setattr(
        StoredPhi, "curvatures", lambda phi, h, alpha: true(phi, 200 * h, 200 * alpha)
    )
    found = solve(y, [loss], tol=0.02)
    monkeypatch.undo()
    _, best = stored(y, loss, tol=1e-7)
    excess = objective(loss, y, found.weights, found.intercept, 1.0) - best
    unit = best if loss.targets == "real" or not loss.smooth else N * W.mean() * np.log(2) - best
    assert found.stats["violation"] >= 0.5 * excess / unit


# ---- tasks ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(("loss", "y"), CORNERS, ids=lambda part: type(part).__name__)
def test_rounding_raises_a_loss_by_little_and_its_slopes_are_differences(loss, y):
    f, h, width = 2 * RNG.standard_normal(N), 1e-6, 0.1
    rounded = Rounded(loss, width)
    more = rounded.value(y, f) - loss.value(y, f)
    assert more.min() > -1e-12
    assert more.max() <= 2 * width  # as slopes change by no more than 2
    slope = (rounded.value(y, f + h) - rounded.value(y, f - h)) / (2 * h)
    np.testing.assert_allclose(rounded.slope(y, f), slope, atol=1e-4)
    bend = (rounded.slope(y, f + h) - rounded.slope(y, f - h)) / (2 * h)
    np.testing.assert_allclose(rounded.curvature(y, f), bend, atol=1e-4)
    task = Task([loss]).rounded(np.array([width]))
    assert task.corners(y[:, None], f[:, None], W).min() >= -1e-9


def test_duplicates_and_ties_are_no_obstacle():
    """Corners of many samples at one score: curvature in few places, and none between them."""
    again = np.random.default_rng(1).integers(0, 30, N)
    for points, y in ((X[again], np.round(R[again], 1)), (X, np.round(R))):
        phi = stream(y, W, True, points)
        found = solve_streamed(phi, [Quantile(0.5)], 0.1, tol=1e-3)
        assert found.converged, found.message
        assert found.n_iter < 40


def test_what_a_pass_carries_can_be_sent():
    for job in (Slope(Task([Hinge()], width=np.array([0.1]))), Bend(Task([Logistic()]))):
        assert repr(pickle.loads(pickle.dumps(job)).task.losses) == repr(job.task.losses)
