"""Two-variable steps and sums of rows by Triton, in its interpreter, beside compiled loops."""

import numpy as np
import pytest

from mercer import Gaussian
from mercer.solvers.box import BoxProblem, largest_violation
from mercer.solvers.smo_loops import take_steps

torch = pytest.importorskip("torch")
from mercer.solvers.device_steps import add_rows_there, on_triton, take_all_steps  # noqa: E402

W = 16


def tensor(rows, dtype=np.float64):
    return torch.tensor(np.asarray(rows, dtype))


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_steps_as_in_compiled_loops(groups, epsilon, dtype, rng, interpreter):
    assert on_triton(torch.device("cpu"))
    X, y = rng.standard_normal((2, W, 2)), np.sign(rng.standard_normal((2, W)))
    K = np.stack([Gaussian(1.0)(x) for x in X]).astype(dtype)
    group = rng.integers(0, groups, (2, W))
    lower, upper = np.minimum(y, -epsilon), np.maximum(y, epsilon)
    beta, goal = tensor(np.zeros((2, W))), tensor([1e-2, 1e-3])
    limit = torch.tensor([1000, 5])
    taken = take_all_steps(
        tensor(K, dtype), tensor(-y, dtype), beta, tensor(lower), tensor(upper),
        tensor(group, np.int64), groups, epsilon, goal.to(tensor(K, dtype).dtype), limit,
    ).numpy()  # fmt: skip
    for p in range(2):
        g, b = -y[p], np.zeros(W)
        steps = take_steps(
            K[p].astype(np.float64), np.arange(W), np.diagonal(K[p]).astype(np.float64), g, b,
            lower[p], upper[p], epsilon, group[p], groups, float(goal[p]), int(limit[p]),
        )  # fmt: skip
        b_there = beta[p].numpy()
        if dtype == np.float64:  # rounding may settle which of two is the better step
            assert taken[p] == steps
            np.testing.assert_allclose(b_there, b, atol=1e-9)
        problem = BoxProblem(y[p], lower[p], upper[p], np.zeros(W), epsilon, group[p])
        violation = largest_violation(problem, b_there, K[p] @ b_there - y[p])
        assert violation < float(goal[p]) + 1e-5 or taken[p] == limit[p]


def test_sums_of_rows(rng, interpreter):
    K = rng.standard_normal((40, 40)).astype(np.float32)
    rows, columns = rng.integers(0, 40, (2, W)), rng.integers(0, 40, (2, 150))
    weights, count, g = rng.standard_normal((2, W)), [W, 3], rng.standard_normal((2, 150))
    found = tensor(g)
    add_rows_there(
        tensor(K, np.float32), tensor(rows, np.int64), tensor(weights), tensor(count, np.int64),
        tensor(columns, np.int64), found,
    )  # fmt: skip
    for p in range(2):
        some = slice(0, count[p])
        expected = g[p] + weights[p, some] @ K[np.ix_(rows[p, some], columns[p])].astype(float)
        np.testing.assert_allclose(found[p].numpy(), expected, atol=1e-12)
