"""Ridge regression through landmarks from one pass: what it finds, and what it may cost."""

from itertools import pairwise

import numpy as np
import pytest

from mercer import Plan, load, save, stream
from mercer.chunks import Chunk
from mercer.exceptions import MemoryPlanError
from mercer.tables.landmarks import affordable, in_one_pass
from mercer.tables.metric import Profile


@pytest.mark.parametrize(
    ("kind", "landmarks"), [("m52", 60), ("l2", 40), ("l1", 40), ("linear", 4), ("linear", 2)]
)
@pytest.mark.parametrize("outputs", [1, 3])
def test_the_minimum_of_the_objective(kind, landmarks, outputs, rng, tmp_path):
    X = rng.normal(size=(900, 3))
    y = np.sin(X @ rng.normal(size=(3, outputs))) + 0.1 * rng.normal(size=(900, outputs))
    profile = Profile(kind)
    source = stream(X[:700].astype(np.float32), target=y[:700], rows=150)
    some = X[:300].astype(np.float32)
    model = in_one_pass(source, profile, landmarks, 0.05, some, Chunk(X[700:], y[700:]))
    Z = np.asarray(model.X_fit_, dtype=float)
    k = profile.kernel
    A, B = k(X[:700].astype(np.float32).astype(float), Z), k(Z)
    c = np.linalg.lstsq(
        np.vstack([A, np.sqrt(model.alpha) * _root(B)]),
        np.vstack([y[:700], np.zeros((len(Z), outputs))]),
        rcond=None,
    )[0]
    expected, found = k(X[700:], Z) @ c, model.predict(X[700:])
    np.testing.assert_allclose(found, expected, atol=2e-3 * np.abs(expected).max())
    save(model, tmp_path / "m")
    np.testing.assert_allclose(load(tmp_path / "m").predict(X[700:]), found, atol=1e-6)
    assert model.n_samples_seen_ == 700


def test_the_penalty_is_that_which_predicts_others_best(rng):
    X = rng.normal(size=(2000, 2))
    y = np.sin(X[:, :1]) + rng.normal(size=(2000, 1))
    source = stream(X[:300].astype(np.float32), target=y[:300])
    parts = Profile("m52"), 80, 1e-3, X[:300].astype(np.float32), Chunk(X[1000:], y[1000:])
    model = in_one_pass(source, *parts)
    assert model.alpha == pytest.approx(0.1)  # the largest, of much noise


def test_more_time_means_more_of_both():
    times = (1, 5, 20, 100, 1000, 10**5)
    sizes = [affordable(Profile("m52"), 10**7, 20, s) for s in times]
    assert sizes[0] is not None
    for less, more in pairwise(sizes):
        assert more.landmarks >= less.landmarks
        assert more.rows >= less.rows
    assert all(size.seconds <= s for size, s in zip(sizes, times, strict=True))
    assert sizes[-1].rows == 10**7
    assert affordable(Profile("m52"), 10**7, 20, 0.01) is None
    assert affordable(Profile("l1"), 10**6, 200, 5).landmarks < sizes[1].landmarks
    assert affordable(Profile("m52"), 10**6, 20, 100, memory=1e6).landmarks <= 100
    assert affordable(Profile("linear"), 10**6, 20, 100).landmarks == 21


def test_a_plan_bounds_memory(rng):
    X = rng.normal(size=(500, 2)).astype(np.float32)
    y = X[:, :1].astype(float)
    plan = Plan(memory="1 MB", workers=1)
    model = in_one_pass(
        stream(X, target=y), Profile("l2"), 50, 1e-3, X, Chunk(X[:99], y[:99]), plan
    )
    assert model.score(X, y) > 0.9
    with pytest.raises(MemoryPlanError, match="the plan allows"):
        in_one_pass(stream(X, target=y), Profile("l2"), 400, 1e-3, X, Chunk(X, y), plan)


def _root(B):
    s, U = np.linalg.eigh(B)
    return np.sqrt(np.maximum(s, 0))[:, None] * U.T
