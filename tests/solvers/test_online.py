from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import expit, softmax

from mercer.losses import Loss, as_loss
from mercer.solvers import online_budget, online_slopes
from mercer.solvers.online import REMOVALS, Expansion, schedule, take_in
from mercer.solvers.online import _targets as take_targets
from mercer.solvers.online_loops import Rule

SIGNS = ("hinge", "squared_hinge", "smoothed_hinge", "logistic")
NUMBERS = (
    "squared", "absolute", "huber", "quantile", "expectile", "epsilon_insensitive",
    "squared_epsilon_insensitive", "poisson",
)  # fmt: skip


@dataclass(eq=False, repr=False)
class LogCosh(Loss):
    """A loss of somebody else's, by its values alone."""

    smooth = True

    def value(self, y, f):
        return np.logaddexp(f - y, y - f)

    def slope(self, y, f):
        return np.tanh(f - y)


class Slow:
    """NORMA and its implicit form with lists of terms: nothing is shared with the library."""

    def __init__(self, kernel, loss, rule, nu=None):
        self.kernel, self.loss, self.rule, self.nu = kernel, loss, rule, nu
        self.terms = []  # [point, coefficient, averaged coefficient], oldest first
        self.b = self.b_mean = self.time = self.span = 0.0
        self.leads, self.loss = [], loss

    def inner(self, x, z):
        return float(self.kernel(x, z))

    def __call__(self, x, averaged=False):
        place = 2 if averaged else 1
        b = self.b_mean if averaged else self.b
        return sum(term[place] * self.inner(term[0], x) for term in self.terms) + b

    def step(self, x, y, w=1.0):
        rule, y = self.rule, np.array([y])
        self.time += w
        self.span += w
        if rule.renews:
            self.doubt(x, y, w)
        eta = w * rule.scale[0] / self.time**rule.power
        self.b -= eta * rule.lean
        if rule.implicit:
            shrink = 1 / (1 + eta * rule.alpha)
            v = (self(x) - self.b) * shrink + self.b
            reach = eta * (self.inner(x, x) * shrink + rule.intercept)
            u = (v - float(self.loss.prox(y, np.array([v]), reach)[0])) / reach
            new = -eta * u * shrink
        else:
            shrink = 1 - eta * rule.alpha
            u = float(self.loss.slope(y, np.array([self(x)]))[0])
            new = -eta * u
        self.b -= eta * u * rule.intercept
        for term in self.terms:
            term[1] *= shrink
        if u != 0 or not self.terms:
            self.terms.append([x, new, 0.0])
        if rule.window:
            share = min(1, max(2 * w / (self.span + w), w / rule.window))
            self.b_mean += share * (self.b - self.b_mean)
            for term in self.terms:
                term[2] += share * (term[1] - term[2])
        if len(self.terms) > rule.budget:
            self.remove()

    def doubt(self, x, y, w):
        """Whether the last iterate has predicted better than the average, for long and surely."""
        at = [np.array([self(x, averaged)]) for averaged in (True, False)]
        lead = w * float(self.loss.value(y, at[0])[0] - self.loss.value(y, at[1])[0])
        self.leads.append((lead, w))
        sums = np.cumsum([lead for lead, _ in self.leads][::-1])[::-1]
        if sums[0] <= 0:
            self.leads = []
            return
        if sums[0] ** 2 > 25 * sum(lead**2 for lead, _ in self.leads):
            since = sum(w for _, w in self.leads)
            self.time = min(self.time, max(self.time / 4, since))
            self.span, self.leads, self.b_mean = 0.0, [], self.b
            for term in self.terms:
                term[2] = term[1]

    def size(self, term):
        return (term[1] ** 2 + term[2] ** 2) * self.inner(term[0], term[0])

    def remove(self):
        if self.rule.removal == online_budget.OLDEST:
            del self.terms[0]
            return
        other = min(self.terms[:-1], key=self.size)
        if self.rule.removal == online_budget.SMALLEST:
            self.terms = [t for t in self.terms if t is not other]
            return
        found = []
        for gone in (self.terms[-1], other):

            def cosine(term, gone=gone):
                own = self.inner(term[0], term[0]) * self.inner(gone[0], gone[0])
                return self.inner(term[0], gone[0]) ** 2 / own

            near = max((t for t in self.terms if t is not gone), key=cosine)
            found.append((self.size(gone) * (1 - cosine(near)), gone, near))
        _, gone, near = min(found, key=lambda each: each[0])
        ratio = self.inner(gone[0], near[0]) / self.inner(near[0], near[0])
        near[1] += ratio * gone[1]
        near[2] += ratio * gone[2]
        self.terms = [t for t in self.terms if t is not gone]


def gaussian(x, z):
    return np.exp(-np.sum((x - z) ** 2))


def linear(x, z):
    return 0.1 + x @ z


def rule_of(budget=10**6, removal="oldest", update="implicit", name="sqrt", eta=0.7, alpha=0.05,
            window=0.0, intercept=True, lean=0.0, outside=-1.0, renews=False):  # fmt: skip
    scale, power = schedule(name, eta, alpha)
    return Rule(np.array([scale]), power, alpha, update == "implicit", intercept, lean, outside,
                window, renews, budget, REMOVALS[removal])  # fmt: skip


def fast(kernel, loss, rule, X, y, weights, step=7, outputs=1, tube=None, lengths=1):
    """The library's function of the same stream, in blocks of some length."""
    if tube is None:
        dual = loss.dual(np.zeros((1, 1)))
        tube = 0.0 if dual is None else dual.epsilon
    state, kept = Expansion.empty(outputs, tube, lengths), X[:0]
    if rule.removal == online_budget.MERGE:
        state = state.known(np.zeros((0, 0)), rule.budget)
    K = np.array([[kernel(a, b) for b in X] for a in X])
    index = np.zeros(0, dtype=int)
    for start in range(0, len(X), step):
        rows = np.arange(start, min(start + step, len(X)))
        state, places = take_in(
            state, rule, loss, y[rows], weights[rows],
            K[np.ix_(rows, [*index, *rows])], np.diag(K)[rows],
        )  # fmt: skip
        index = np.concatenate([index, rows])[places]
        kept = X[index]
    return state, kept


@pytest.fixture
def stream(rng):
    X = rng.standard_normal((60, 2))
    f = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(60)
    return X, f, rng.choice([0.0, 0.5, 1.0, 2.0], 60)


def targets_for(name, f):
    if name in SIGNS:
        return np.where(f > 0, 1.0, -1.0)
    return np.round(np.exp(f)) if name == "poisson" else f


@pytest.mark.parametrize("update", ["implicit", "explicit"])
@pytest.mark.parametrize("name", [*SIGNS, *NUMBERS, "own"])
def test_every_loss_is_the_slow_loop(stream, name, update):
    X, f, weights = stream
    loss = LogCosh() if name == "own" else as_loss(name)
    y, rule = targets_for(name, f), rule_of(update=update, eta=0.3)
    slow = Slow(gaussian, loss, rule)
    for x, target, w in zip(X, y, weights, strict=True):
        if w > 0:
            slow.step(x, target, w)
    state, kept = fast(gaussian, loss, rule, X, y[:, None], weights)
    np.testing.assert_allclose(kept, [term[0] for term in slow.terms])
    np.testing.assert_allclose(state.coef[0], [term[1] for term in slow.terms], atol=2e-6)
    np.testing.assert_allclose(state.intercept, slow.b, atol=2e-6)


@pytest.mark.parametrize("kernel", [gaussian, linear])
@pytest.mark.parametrize("window", [0.0, 20.0, np.inf])
@pytest.mark.parametrize("removal", ["oldest", "smallest", "merge"])
@pytest.mark.parametrize("name", ["sqrt", "constant", "inverse"])
def test_budgets_schedules_and_averages_are_the_slow_loop(stream, kernel, window, removal, name):
    X, y, weights = stream
    rule = rule_of(9, removal, window=window, name=name)
    slow = Slow(kernel, as_loss("squared"), rule)
    for x, target, w in zip(X, y, weights, strict=True):
        if w > 0:
            slow.step(x, target, w)
    state, kept = fast(kernel, as_loss("squared"), rule, X, y[:, None], weights)
    assert len(kept) == 9
    np.testing.assert_array_equal(kept, [term[0] for term in slow.terms])
    np.testing.assert_allclose(state.coef[0], [term[1] for term in slow.terms], atol=1e-9)
    if window:
        np.testing.assert_allclose(state.mean[0], [term[2] for term in slow.terms], atol=1e-9)
        np.testing.assert_allclose(state.mean_intercept, slow.b_mean, atol=1e-9)


@pytest.mark.parametrize("removal", ["oldest", "smallest", "merge"])
def test_blocks_make_no_difference(stream, removal):
    X, y, weights = stream
    rule = rule_of(8, removal, window=np.inf)
    found = [fast(gaussian, as_loss("huber"), rule, X, y[:, None], weights, n) for n in (1, 13, 60)]
    for state, kept in found[1:]:
        np.testing.assert_array_equal(kept, found[0][1])
        np.testing.assert_allclose(state.coef, found[0][0].coef, atol=1e-12)
        np.testing.assert_allclose(state.mean, found[0][0].mean, atol=1e-12)


def test_the_implicit_step_is_a_minimum(rng):
    """Of the objective itself, over f = p f_old + q k(x, .) and b, by a general minimiser."""
    X, y, alpha = rng.standard_normal((2, 1)), np.array([0.7, -1.3]), 0.4
    rule = rule_of(name="constant", eta=0.6, alpha=alpha)
    before, _ = fast(gaussian, as_loss("squared"), rule, X[:1], y[:1, None], np.ones(1))
    after, _ = fast(gaussian, as_loss("squared"), rule, X, y[:, None], np.ones(2))
    c, b, k = before.coef[0, 0], before.intercept[0], gaussian(X[0], X[1])

    def norm(p, q):
        return p * p + q * q + 2 * p * q * k

    def objective(at):
        p, q, shift = at
        f = p * k + q + shift
        return (
            norm(p - c, q) / 2
            + (shift - b) ** 2 / 2
            + 0.6 * ((f - y[1]) ** 2 / 2 + alpha / 2 * norm(p, q))
        )

    found = minimize(objective, np.zeros(3), tol=1e-12).x
    np.testing.assert_allclose([*after.coef[0], after.intercept[0]], found, atol=1e-6)


@pytest.mark.parametrize("reach", [1e-8, 0.3, 50.0, 1e8])
@pytest.mark.parametrize("v", [-40.0, -1.0, 0.0, 3.0, 700.0])
def test_slopes_where_a_step_ends(reach, v):
    for y in (-1.0, 1.0):
        p = brentq(lambda p, y=y: p - expit(-(y * v + reach * p)), 0, 1, xtol=1e-300, rtol=1e-14)
        assert online_slopes.logistic_slope(y, v, reach) == pytest.approx(
            -y * p, rel=1e-9, abs=1e-300
        )
    for y in (0.0, 3.0, 1e5):
        end = v - reach * online_slopes.poisson_slope(y, v, reach)
        expected = as_loss("poisson").prox(np.array([y]), np.array([v]), reach)[0]
        assert end == pytest.approx(expected, rel=1e-9, abs=1e-13 * (1 + abs(v) + reach * y))


@pytest.mark.parametrize("reach", [0.0, 1e-6, 0.5, 30.0, 1e6])
def test_joint_slopes_where_a_step_ends(rng, reach):
    for scale in (0.1, 3.0, 100.0):
        v, u = scale * rng.standard_normal(5), np.empty(5)
        online_slopes.joint_slopes(v, 2, reach, u)
        p = softmax(v - reach * u)
        p[2] -= 1
        np.testing.assert_allclose(u, p, atol=1e-8)


def test_a_tube_holds_its_share(rng):
    X = rng.uniform(-1, 1, (400, 1))
    y = X[:, :1] + rng.standard_normal((400, 1))
    for update in ("implicit", "explicit"):
        rule = rule_of(40, "merge", update=update, eta=1.0, alpha=1e-3, outside=0.3)
        state, kept = fast(
            gaussian, as_loss("epsilon_insensitive"), rule, X, y, np.ones(400), 50, tube=0.1
        )
        K = np.array([[gaussian(a, b) for b in kept] for a in X])
        outside = np.abs(y[:, 0] - K @ state.coef[0] - state.intercept[0]) > state.tube
        assert 0.2 < outside.mean() < 0.4


def test_what_diverges_is_refused(stream):
    X, y = np.tile(stream[0], (5, 1)), np.tile(stream[1], 5)[:, None]
    rule = rule_of(update="explicit", name="constant", eta=1e5, alpha=1e-9)
    with pytest.raises(FloatingPointError, match="update='implicit'"):
        fast(gaussian, as_loss("squared"), rule, X, y, np.ones(300), 300)


LENGTHS = (0.1, 0.7, 3.0)


@pytest.mark.parametrize("window", [0.0, 20.0, np.inf])
@pytest.mark.parametrize("name", ["hinge", "squared", "logistic", "own"])
def test_lengths_of_steps_are_streams_of_their_own(stream, name, window):
    X, f, weights = stream
    loss = LogCosh() if name == "own" else as_loss(name)
    y = targets_for(name, f)
    rule = rule_of(window=window)._replace(scale=np.array(LENGTHS))
    state, kept = fast(gaussian, loss, rule, X, y[:, None], weights, lengths=3)
    told = []
    for j, eta in enumerate(LENGTHS):
        slow, average = Slow(gaussian, loss, rule_of(window=window, eta=eta)), 0.0
        for x, target, w in zip(X, y, weights, strict=True):
            if w > 0:
                before = float(loss.value(np.array([target]), np.array([slow(x, window > 0)]))[0])
                slow.step(x, target, w)
                share = max(2 * w / (slow.time + w), w / window if window else 0.0)
                average += min(share, 1.0) * (before - average)
        at = [int(np.flatnonzero((kept == term[0]).all(axis=1))[0]) for term in slow.terms]
        np.testing.assert_allclose(state.coef[j, at], [t[1] for t in slow.terms], atol=1e-5)
        assert np.abs(state.coef[j]).sum() == pytest.approx(np.abs(state.coef[j, at]).sum())
        told.append(average)
    np.testing.assert_allclose(state.losses, told, atol=1e-5)
    assert state.best == int(np.argmin(told))


@pytest.mark.parametrize("removal", ["oldest", "smallest", "merge"])
def test_lengths_within_a_budget(stream, removal):
    X, y, weights = stream
    rule = rule_of(8, removal, window=np.inf)._replace(scale=np.array(LENGTHS))
    found = [
        fast(gaussian, as_loss("huber"), rule, X, y[:, None], weights, n, lengths=3)
        for n in (1, 13, 60)
    ]
    for state, kept in found:
        assert state.coef.shape == state.mean.shape == (3, 8) == (3, len(kept))
        np.testing.assert_array_equal(kept, found[0][1])
        np.testing.assert_allclose(state.mean, found[0][0].mean, atol=1e-12)
        np.testing.assert_allclose(state.losses, found[0][0].losses, atol=1e-12)
    state = found[0][0]
    alone = state.of_lengths(1)
    assert np.array_equal(alone.mean[0], state.mean[state.best])
    assert np.array_equal(alone.of_lengths(2).coef, np.repeat(alone.coef, 2, axis=0))
    assert state.of_lengths(3) is state


def losses_of(targets, F, tube):
    out = np.empty((len(F), 1))
    for i, scores in enumerate(F):
        online_slopes.find_losses(targets, -1.0, i, scores, np.array([tube]), out[i])
    return out[:, 0]


@pytest.mark.parametrize("name", [*SIGNS, *NUMBERS])
def test_values_of_losses(rng, name):
    loss, f = as_loss(name), 3 * rng.standard_normal(50)
    y = targets_for(name, rng.standard_normal(50))
    dual = loss.dual(y[:, None])
    targets = take_targets(loss, y[:, None])
    tube = 0.0 if dual is None else float(dual.epsilon)
    values = losses_of(targets, f[:, None], tube)
    constant = values - loss.value(y, f)
    if name == "poisson":  # what depends on y only may differ
        constant = losses_of(targets, f[:, None] + 1, tube) - values
        constant -= loss.value(y, f + 1) - loss.value(y, f)
    np.testing.assert_allclose(constant, 0, atol=1e-12 * np.exp(np.abs(f)).max())


def test_values_of_joint_losses(rng):
    loss, F, y = as_loss("multinomial"), 5 * rng.standard_normal((20, 4)), rng.integers(0, 4, 20)
    targets = take_targets(loss, y[:, None].astype(float))
    np.testing.assert_allclose(losses_of(targets, F, 0.0), loss.value(y, F), atol=1e-12)


@pytest.mark.parametrize("name", ["hinge", "squared", "own"])
def test_the_clock_goes_back_where_averages_fall_behind(rng, name):
    X = rng.standard_normal((400, 2))
    f = 3 * X[:, 0] * np.where(np.arange(400) < 200, 1, -1)
    loss, y = LogCosh() if name == "own" else as_loss(name), targets_for(name, f)
    rule, weights = rule_of(window=np.inf, renews=True, eta=5.0), rng.choice([0.5, 1.0], 400)
    slow = Slow(gaussian, loss, rule)
    for x, target, w in zip(X, y, weights, strict=True):
        slow.step(x, target, w)
    assert slow.span < weights.sum() - 50
    assert slow.time < weights.sum()
    state, kept = fast(gaussian, loss, rule, X, y[:, None], weights, step=90)
    np.testing.assert_allclose(kept, [term[0] for term in slow.terms])
    np.testing.assert_allclose(state.coef[0], [term[1] for term in slow.terms], atol=1e-4)
    np.testing.assert_allclose(state.mean[0], [term[2] for term in slow.terms], atol=1e-4)
    assert state.time == pytest.approx(slow.time)
    assert state.span == pytest.approx(slow.span)


def test_outliers_do_not_turn_the_clock_back(rng):
    """One sample speaks against the average with any strength: that is one sample."""
    X, y = rng.standard_normal((300, 2)), rng.standard_normal(300)
    y[150] = 1e160
    rule = rule_of(window=np.inf, renews=True, eta=0.1)
    state, _ = fast(gaussian, as_loss("squared"), rule, X, y[:, None], np.ones(300))
    assert state.time == 300
