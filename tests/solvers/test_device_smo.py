"""Problems solved together on a device, by PyTorch on the processor."""

import numpy as np
import pytest

from mercer import Gaussian, Matern
from mercer.solvers.box import BoxProblem, bounds_of_optimum, largest_violation, multiplier
from mercer.solvers.smo import solve_box

torch = pytest.importorskip("torch")
from mercer.gram.device import rows as card_module  # noqa: E402
from mercer.gram.device.rows import DeviceMatrix, DeviceRowGram  # noqa: E402
from mercer.solvers import device_smo as module  # noqa: E402
from mercer.solvers.device_smo import solve_boxes  # noqa: E402

DEVICE = "torch-cpu"


def task(rng, n=160):
    X = rng.standard_normal((n, 3))
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)


def rows_of(kernel, X, dtype=np.float32):
    return DeviceRowGram(DeviceMatrix(kernel, kernel.prepare(X), None, DEVICE, dtype))


def classifier(y, C=5.0):
    return BoxProblem(y, np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0), np.zeros(len(y)))


def regression(y, C=2.0):
    bound = np.full(len(y), C)
    return BoxProblem(y, -bound, bound, np.zeros(len(y)), epsilon=0.1)


def nu_classifier(y, share=0.2):
    start = np.zeros(len(y))
    for sign in (1.0, -1.0):
        start[np.flatnonzero(y == sign)[: int(share * len(y))]] = sign
    box = np.minimum(y, 0.0), np.maximum(y, 0.0)
    return BoxProblem(np.zeros(len(y)), *box, start, groups=(y > 0).astype(int))


def novelty(y, nu=0.3):
    start = (np.arange(len(y)) < nu * len(y)).astype(float)
    return BoxProblem(np.zeros(len(y)), np.zeros(len(y)), np.ones(len(y)), start)


def check(K, problem, solution, tol=1e-3, rounding=1e-10):
    """Feasible, with the gradient and the violation that it says, and next to the optimum."""
    beta = solution.beta
    assert np.all((beta >= problem.lower) & (beta <= problem.upper))
    groups, count = problem.grouping()
    for t in range(count):
        np.testing.assert_allclose(
            beta[groups == t].sum(), problem.start[groups == t].sum(), atol=1e-9
        )
    g = K @ beta - problem.target
    np.testing.assert_allclose(solution.gradient, g, atol=rounding * max(1, np.abs(g).max()))
    assert largest_violation(problem, beta, g) < tol
    assert solution.converged
    assert solution.message == "optimal"
    ends = [multiplier(problem, solution, t) for t in range(count)]
    primal, dual = bounds_of_optimum(problem, solution, ends)
    assert primal - dual <= tol * np.abs(beta).sum() + tol * np.abs(problem.upper).sum()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [classifier, regression, nu_classifier, novelty])
def test_several_problems_at_once(make, dtype, rng):
    X, y = task(rng)
    kernel = Gaussian(1.2)
    parts = [np.arange(160), np.arange(0, 160, 2), np.arange(20, 90), rng.permutation(160)[:50]]
    problems = [make(y[part]) for part in parts]
    found = solve_boxes(rows_of(kernel, X, dtype), problems, parts)
    for part, problem, solution in zip(parts, problems, found, strict=True):
        check(kernel(X[part]), problem, solution)
        other = solve_box(rows_of(kernel, X[part], np.float64), problem)
        check(kernel(X[part]), problem, other)
        assert abs(solution.beta @ solution.gradient - other.beta @ other.gradient) < 0.2


def test_samples_that_occur_twice_and_problems_in_several_lots(rng, monkeypatch):
    X = task(rng, 60)[0]
    twice, kernel = np.tile(np.arange(60), 2), Gaussian(1.0)
    monkeypatch.setattr(module, "_AT_ONCE", 2)
    monkeypatch.setattr(module, "_finished", None)  # not handed over
    parts = [twice, twice[30:90], twice[:70]]
    problems = [regression(np.sin(np.arange(len(part)))) for part in parts]
    found = solve_boxes(rows_of(kernel, X), problems, parts)
    for part, each, solution in zip(parts, problems, found, strict=True):
        check(kernel(X[part]), each, solution)


def test_working_sets_smaller_than_the_problem_and_no_room_for_k(rng, monkeypatch):
    X, y = task(rng, 300)
    K, kernel = rows_of(Gaussian(1.0), X), Gaussian(1.0)
    monkeypatch.setattr(module, "_LARGEST", 32)
    whole = solve_boxes(K, [classifier(y)])[0]
    assert whole.stats["rounds"] > 3
    check(kernel(X), classifier(y), whole)
    monkeypatch.setattr(card_module, "_SHARE", 0.0)
    tiles = solve_boxes(rows_of(kernel, X), [classifier(y)])[0]
    check(kernel(X), classifier(y), tiles)


def test_a_tight_tolerance_needs_double_precision(rng):
    X, y = task(rng)
    found = solve_boxes(rows_of(Gaussian(1.0), X, np.float64), [classifier(y)], tol=1e-9)[0]
    check(Gaussian(1.0)(X), classifier(y), found, 1e-9)


def test_a_start_and_large_targets(rng):
    X, y = task(rng)
    problem = regression(1e5 * y + X[:, 0], C=1e4)
    found = solve_boxes(rows_of(Gaussian(1.0), X, np.float64), [problem], tol=1.0)[0]
    check(Gaussian(1.0)(X), problem, found, 1.0)
    again = regression(1e5 * y + X[:, 0], C=1e4)
    again.start = found.beta
    warm = solve_boxes(rows_of(Gaussian(1.0), X, np.float64), [again], tol=1.0)[0]
    assert warm.n_iter == 0


def test_what_gets_no_further_is_finished_by_the_processor(rng, monkeypatch):
    X, y = task(rng)
    monkeypatch.setattr(module, "_LARGEST", 16)
    monkeypatch.setattr(module, "_ROUNDS", 2)
    found = solve_boxes(rows_of(Gaussian(1.0), X), [classifier(y)])[0]
    check(Gaussian(1.0)(X), classifier(y), found, rounding=1e-5)


def test_few_steps_are_said_to_be_too_few(rng):
    X, y = task(rng)
    found = solve_boxes(rows_of(Gaussian(1.0), X), [classifier(y)], max_iter=7)[0]
    assert not found.converged
    assert found.n_iter <= 7
    assert "stopped after 7 steps" in found.message
    assert abs(found.beta.sum()) < 1e-12


def test_values_that_are_not_finite_are_refused(rng):
    X, y = task(rng)
    K = rows_of(Matern(1.0), X, np.float64)
    K.diagonal[3] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        solve_boxes(K, [classifier(y)])
    K = rows_of(Gaussian(1.0), X, np.float64)
    K.card.whole[4, 5] = np.inf
    with pytest.raises(ValueError, match="not finite"):
        solve_boxes(K, [classifier(y)])
