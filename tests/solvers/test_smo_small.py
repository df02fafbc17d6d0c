import numpy as np
import pytest

from mercer import Gaussian
from mercer.gram.exponential import Factors
from mercer.gram.rows import RowGram
from mercer.kernels.vectors.distances import SquaredDistances
from mercer.solvers import smo, smo_state, working_set
from mercer.solvers.smo import BoxProblem, solve_box


def forms(X):
    """The same matrix, by blocks alone and with the factors that the compiled solver uses."""
    kernel = Gaussian(0.8)
    K = kernel(X)
    D = SquaredDistances(*[(X / 0.8).astype(np.float32)] * 2, weight=-0.5)
    how = {
        "product": lambda rows, cols, weights: K[np.ix_(rows, cols)] @ weights,
        "dtype": np.float32,
    }
    plain = RowGram(lambda rows, cols: K[rows][:, cols].astype(np.float32), np.diag(K), **how)
    return (
        K,
        plain,
        RowGram(plain.block, np.diag(K), factors=Factors(D.left, D.right, np.float32(1)), **how),
    )


def problem(name, rng, X):
    n = len(X)
    y = np.where(np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)
    zero = np.zeros(n)
    if name == "regression":
        return BoxProblem(np.sin(X[:, 0]) + X[:, 1], zero - 3, zero + 3, zero, epsilon=0.1)
    if name == "nu":
        start = np.where(y > 0, 0.2, -0.2 * (y > 0).sum() / (y < 0).sum())
        bounds = np.where(y > 0, 0, -1.0), np.where(y > 0, 1.0, 0)
        return BoxProblem(zero, *bounds, start, groups=(y > 0).astype(int))
    return BoxProblem(y, np.where(y > 0, 0, -10.0), np.where(y > 0, 10.0, 0), zero)


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("name", ["classification", "regression", "nu"])
def test_same_optimum_as_by_blocks(rng, monkeypatch, name, large):
    if large:  # a working set, and products with K in place of rows
        monkeypatch.setattr(smo_state, "_DIRECT", 50)
        monkeypatch.setattr(working_set, "_LARGEST", 64)
    X = rng.standard_normal((500, 3))
    task = problem(name, rng, X)
    K, plain, compiled = forms(X)

    def value(beta):
        return beta @ K @ beta / 2 - task.target @ beta + task.epsilon * np.abs(beta).sum()

    one, two = solve_box(plain, task, tol=1e-5), solve_box(compiled, task, tol=1e-5)
    assert two.converged
    assert large or two.stats["rounds"] <= one.stats["rounds"]
    assert not large or two.stats["rows"] < 500  # only of variables that change often
    assert value(two.beta) == pytest.approx(value(one.beta), rel=1e-7)
    # a tenth of tol, as far as it was probed
    np.testing.assert_allclose(two.gradient, K @ two.beta - task.target, atol=3e-6)
    assert np.all((two.beta >= task.lower) & (two.beta <= task.upper))
    groups = np.zeros(500, int) if task.groups is None else task.groups
    change = np.bincount(groups, two.beta - task.start)
    np.testing.assert_allclose(change, 0, atol=1e-9)


def test_parts_made_of_runs(rng):
    X = rng.standard_normal((600, 2))
    task = problem("classification", rng, X)
    K, plain, compiled = forms(X)
    index = np.concatenate([np.arange(50, 250), np.arange(400, 600)])
    part = BoxProblem(*(a[index] for a in (task.target, task.lower, task.upper, task.start)))
    one = solve_box(plain.subset(index), part, tol=1e-5)
    two = solve_box(compiled.subset(index), part, tol=1e-5)
    exact = K[np.ix_(index, index)] @ two.beta - part.target
    np.testing.assert_allclose(two.gradient, exact, atol=3e-6)
    np.testing.assert_allclose(two.beta, one.beta, atol=1e-2)


def test_few_support_vectors_need_few_rows(rng):
    X = np.concatenate([rng.standard_normal((400, 2)), rng.standard_normal((400, 2)) + 6])
    y = np.repeat([-1.0, 1.0], 400)
    task = BoxProblem(y, np.where(y > 0, 0, -1.0), np.where(y > 0, 1.0, 0), np.zeros(800))
    _, _, compiled = forms(X)
    solution = solve_box(compiled, task)
    assert solution.converged
    assert np.sum(solution.beta != 0) < 120
    assert solution.stats["rows"] < 550


def test_step_limit(rng):
    X = rng.standard_normal((300, 2))
    _, _, compiled = forms(X)
    solution = solve_box(compiled, problem("classification", rng, X), max_iter=25)
    assert not solution.converged
    assert solution.n_iter == 25


@pytest.mark.parametrize("name", ["classification", "regression", "nu"])
def test_rounds_that_are_cut_off_lose_no_variable(rng, monkeypatch, name):
    """Whoever was chosen when the limit was reached is chosen again in the next round."""
    X = rng.standard_normal((500, 3))
    task = problem(name, rng, X)
    K, _, compiled = forms(X)
    whole = solve_box(compiled, task, tol=1e-4)
    monkeypatch.setattr(smo._Decomposition, "_limit", lambda self, left: min(left, 7))
    short = solve_box(compiled, task, tol=1e-4)
    assert short.converged
    value = [b @ K @ b / 2 - task.target @ b + task.epsilon * np.abs(b).sum()
             for b in (whole.beta, short.beta)]  # fmt: skip
    assert value[1] == pytest.approx(value[0], rel=1e-6)
