"""Small problems: the same steps in NumPy and compiled, and the same optimum as of large ones."""

import numpy as np
import pytest

from mercer import Gaussian, NuSVC
from mercer.gram.rows import FeatureRowGram, RowGram
from mercer.solvers import smo_dense
from mercer.solvers.smo import BoxProblem, solve_box
from mercer.solvers.smo_loops import steps_guided_by


def problem(name, rng, n=120):
    X = rng.standard_normal((n, 3))
    y = np.where(np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)
    K, zero = Gaussian(0.8)(X), np.zeros(n)
    if name == "regression":
        return K, BoxProblem(np.sin(X[:, 0]), zero - 3, zero + 3, zero, epsilon=0.1)
    if name == "novelty":
        return K, BoxProblem(zero, zero, zero + 1, np.full(n, 0.2))
    if name == "nu":
        start = np.where(y > 0, 0.2, -0.2 * (y > 0).sum() / (y < 0).sum())
        bounds = np.where(y > 0, 0, -1.0), np.where(y > 0, 1.0, 0)
        return K, BoxProblem(zero, *bounds, start, groups=(y > 0).astype(int))
    return K, BoxProblem(y, np.where(y > 0, 0, -10.0), np.where(y > 0, 10.0, 0), zero)


NAMES = ["classification", "regression", "novelty", "nu"]


@pytest.mark.parametrize("name", NAMES)
def test_same_bits_in_numpy_and_compiled(rng, name):
    K, task = problem(name, rng)
    bounds = task.lower, task.upper, task.epsilon, *task.grouping()
    found = []
    for steps, more in ((smo_dense.plain_steps, ()), (steps_guided_by, (np.arange(len(K)),))):
        beta, g = task.start.copy(), K @ task.start - task.target
        last = (None,) * len(more)
        count = steps(g, K, *more, np.diag(K).copy(), beta, *bounds, 1e-6, 10_000, *last)
        found.append((count, beta, g))
    (count, beta, g), (again, *others) = found
    assert count == again > 50
    np.testing.assert_array_equal([beta, g], others)


@pytest.mark.parametrize("name", NAMES)
def test_same_optimum_as_by_decomposition(rng, name):
    K, task = problem(name, rng)
    by_rows = RowGram(lambda rows, cols: K[rows][:, cols], np.diag(K))
    small, large = solve_box(RowGram.stored(K), task, tol=1e-6), solve_box(by_rows, task, tol=1e-6)
    assert small.converged
    assert small.stats["rows"] == len(K)
    np.testing.assert_allclose(small.gradient, K @ small.beta - task.target, atol=1e-12)
    for beta in (small.beta, large.beta):
        assert np.all((task.lower <= beta) & (beta <= task.upper))
    value = [b @ K @ b / 2 - task.target @ b + task.epsilon * np.abs(b).sum()
             for b in (small.beta, large.beta)]  # fmt: skip
    assert value[0] == pytest.approx(value[1], rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_few_samples_with_features_are_multiplied_out(rng, name):
    _, task = problem(name, rng)
    phi = rng.standard_normal((len(task), 4)) + 5.0  # which are centred where sums are fixed
    found = solve_box(FeatureRowGram(phi), task, tol=1e-6)
    assert found.converged
    assert (found.stats["rounds"], found.stats["rows"]) == (1, len(task))
    exact = phi @ (phi.T @ found.beta) - task.target
    np.testing.assert_allclose(found.gradient, exact, atol=1e-9)


def test_steps_beyond_what_it_is_worth_are_compiled(rng, monkeypatch):
    K, task = problem("classification", rng)
    whole = smo_dense.solve(K, task, 1e-3)
    monkeypatch.setattr(steps_guided_by, "_dispatcher", None)
    monkeypatch.setattr(smo_dense, "_patience", whole.n_iter // 2)
    both = smo_dense.solve(K, task, 1e-3)
    assert smo_dense._patience == 0
    assert both.n_iter == whole.n_iter
    np.testing.assert_allclose(both.beta, whole.beta, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("value", [np.inf, np.nan, 1e308])
def test_values_that_are_not_finite(rng, value):
    K, task = problem("classification", rng, 30)
    K[3, 7] = K[7, 3] = value
    with pytest.raises(ValueError, match="not finite"):
        solve_box(RowGram.stored(K), task)


def test_what_takes_long_is_left_to_the_other_solver(rng, monkeypatch):
    monkeypatch.setattr(smo_dense, "_MOST", 20)
    K, task = problem("classification", rng)
    assert smo_dense.solve(K, task, 1e-6) is None
    assert solve_box(RowGram.stored(K), task, tol=1e-6).converged
    cut = solve_box(RowGram.stored(K), task, tol=1e-6, max_iter=0)
    assert not cut.converged
    assert cut.n_iter == 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", [1.0, 1e-7])
def test_newton_steps_end_where_all_between_their_bounds_have_one_slope(
    rng, monkeypatch, name, scale
):
    monkeypatch.setattr(smo_dense, "_NEWTON", 500)  # no bound is the last
    _, task = problem(name, rng)
    X = rng.normal(size=(len(task), 2))
    K = np.exp(-scale * ((X[:, None] - X[None]) ** 2).sum(axis=-1))
    start = smo_dense.solve(K, task, tol=0.05 * scale).beta  # some at bounds, some between

    def objective(beta):
        return beta @ K @ beta / 2 - task.target @ beta + task.epsilon * np.abs(beta).sum()

    beta, g = start.copy(), K @ start - task.target
    smo_dense._newton_steps(K, g, beta, task)
    known = objective(start)
    assert objective(beta) <= known + 1e-13 * abs(known)
    assert np.all((task.lower <= beta) & (beta <= task.upper))
    np.testing.assert_allclose(g, K @ beta - task.target, atol=1e-12 * np.abs(beta).sum())
    groups = task.grouping()[0]
    free = (task.lower < beta) & (beta < task.upper) & (beta != (0 if task.epsilon else np.inf))
    for t in range(groups.max() + 1):
        assert abs((groups == t) @ (beta - start)) < 1e-12 * np.abs(beta).sum()
        slopes = (g + task.epsilon * np.sign(beta))[free & (groups == t)]
        assert not len(slopes) or np.ptp(slopes) < 1e-6 * scale + 1e-13 * np.abs(beta).sum()


@pytest.mark.parametrize("seed", range(6))
def test_hulls_that_all_but_meet(seed):
    """One outlier makes all other samples alike: 20 million steps, and no proof in the end."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + 0.5 * rng.normal(size=60) > 0
    X[7, -1] = 1e4
    machine, refusal = NuSVC(nu=0.2, gamma="scale", max_iter=200_000), ""
    try:
        machine.fit(X, y)
    except ValueError as error:
        refusal = str(error)
    if refusal:  # they meet
        assert "leaves no margin" in refusal
        return
    report = machine.reports_[0]
    assert report.n_iter < 100_000
    assert report.gap < report.rho * len(X)
    assert machine.fit_status_ == 0
