"""Rounded corners: how they become narrower, and samples drawn where their curvature is."""

import numpy as np
import pytest

from mercer import Gaussian, Nystrom
from mercer.chunks import ArrayChunks
from mercer.gram.implicit import ImplicitGram
from mercer.losses import Hinge, Quantile
from mercer.solvers.corners import Near, Path
from mercer.solvers.task import Task

RNG = np.random.default_rng(0)
N = 4000
X = RNG.standard_normal((N, 2))
R = np.sin(X.sum(axis=1)) + 0.3 * RNG.standard_normal(N)
KERNEL = Nystrom(Gaussian(1.5), X[:20])


def stream(y, rows=700, weight=None):
    return ImplicitGram(KERNEL, ArrayChunks(X, rows=rows), X).stream(y, weight, True)


def test_each_problem_has_a_width_that_becomes_narrower_a_limited_number_of_times():
    path, task = Path(np.array([1.0, 1.0, 1.0]), 1e-3), Task([Hinge()], width=np.ones(3))
    corners, violation = np.array([1e-1, 1e-1, 1e-4]), np.array([1e-3, 1.0, 1e-3])
    assert path.narrow(task, violation, corners).tolist() == [0]  # the others: not solved, narrow
    assert 0.25 <= path.width[0] < 0.51
    assert path.width[1:].tolist() == [1.0, 1.0]
    assert task.width is path.width
    for _ in range(100):
        path.narrow(task, np.zeros(3), np.ones(3))
    assert not len(path.narrow(task, np.zeros(3), np.ones(3)))
    assert np.all(path.width > 0)


@pytest.mark.parametrize("weight", [None, RNG.random(N) + 0.1])
def test_drawn_samples_have_the_curvature_of_all(weight):
    """Their matrix, against that of all samples; samples drawn with equal odds are far off."""
    y = np.where(R > 0, 1.0, -1.0)
    width = np.array([0.01, 0.02])
    task = Task([Hinge()], width=width)
    V = 0.5 * np.random.default_rng(1).standard_normal((21, 2))
    phi = stream(y, weight=weight)
    whole = phi.sample(N, np.random.default_rng(0))
    H = task.curvature(whole.chunk, whole.scores(V))
    near = Near(phi, phi.sample(400, np.random.default_rng(2)), np.random.default_rng(3))
    some, h, new = near.samples(task, V)
    assert new
    assert some.n < 800

    def spectrum(some, h, j):
        """Eigenvalues of the matrix of few samples against that of all."""
        A = whole.array.T @ (H[:, j, None] * whole.array) + np.eye(21)
        B = some.array.T @ (h[:, j, None] * some.array) + np.eye(21)
        values = np.linalg.eigvals(np.linalg.solve(A, B)).real
        return values.max() / values.min()

    equal = near.few
    for j in range(2):
        plain = 10 * task.curvature(equal.chunk, equal.scores(V))
        assert spectrum(some, h, j) < 5
        assert spectrum(some, h, j) < spectrum(equal, plain, j)
    assert not near.samples(task, V)[2]  # the same scores: the same samples
    assert near.samples(task.rounded(width / 20), V)[2]


def test_samples_drawn_do_not_depend_on_chunks():
    V = np.random.default_rng(1).standard_normal((21, 1))
    task = Task([Quantile(0.3)], width=np.array([0.05]))
    found = []
    for rows in (150, 4000):
        phi = stream(R, rows)
        near = Near(phi, phi.sample(300, np.random.default_rng(2)), np.random.default_rng(3))
        found.append(near.samples(task, V))
    np.testing.assert_array_equal(found[0][0].chunk.y, found[1][0].chunk.y)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-6)


def test_all_samples_are_drawn_once():
    phi = stream(R)
    near = Near(phi, phi.sample(N, np.random.default_rng(0)), np.random.default_rng(0))
    task = Task([Quantile(0.3)], width=np.array([0.05]))
    some, h, new = near.samples(task, np.zeros((21, 1)))
    assert not new
    np.testing.assert_allclose(h, task.curvature(some.chunk, some.scores(np.zeros((21, 1)))))
