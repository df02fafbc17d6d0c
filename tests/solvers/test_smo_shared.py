"""What all threads share in a round of a decomposition."""

import numpy as np
import pytest

from mercer import SVC, SVR, Gaussian, Plan
from mercer.gram.exponential import Factors
from mercer.gram.rows import RowGram
from mercer.kernels.evaluator import exponents
from mercer.solvers import smo_shared, smo_state
from mercer.solvers.smo_shared import SharedWork


def rows_of(kind, rng, n=700):
    """K in double precision, and its rows as a machine has them, of coordinates or of bits."""
    X = rng.standard_normal((n, 3)) if kind == "coordinates" else rng.random((n, 70)) < 0.3
    X, kernel = X.astype(np.float64), Gaussian(1.5 if kind == "coordinates" else 6.0)
    formula = kernel.formula(kernel.prepare(X.astype(np.float32)))
    found = exponents(formula, formula, np.float32)
    assert (found.left.dtype.kind == "u") == (kind == "bits")
    factors = Factors(found.left, found.right, np.float32(found.unit))
    K = kernel(X)
    return K, RowGram(lambda r, c: K[r][:, c], np.diagonal(K), factors=factors, dtype=np.float32)


@pytest.mark.parametrize("kind", ["coordinates", "bits"])
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("part", [False, True])
def test_changes_of_the_gradient(rng, monkeypatch, kind, workers, part):
    monkeypatch.setattr(smo_shared, "_EACH", 1)
    monkeypatch.setattr(smo_shared, "_AT_ONCE", 1)  # 500 rows that are not kept at a time
    whole, gram = rows_of(kind, rng, 900)
    if part:  # two runs of consecutive samples, as of a pair of classes
        some = np.concatenate([np.arange(100, 400), np.arange(450, 850)])
        whole, gram = whole[np.ix_(some, some)], gram.subset(some)
    n = len(whole)
    memory = np.full(40 * n, np.nan, np.float32)
    work = SharedWork(gram, n, memory, workers)
    try:
        for size in (n, 500, 130, 3):
            active = np.sort(rng.choice(n, size, replace=False))
            work.activate(active)
            variables = rng.permutation(n)[: min(n, 620)]
            once, missing = len(variables) - 30, 12
            slots = rng.permutation(40)[:30]
            rows = memory[: 40 * size].reshape(40, size)
            rows[slots[missing:]] = whole[np.ix_(variables[once + missing :], active)]
            weights, g = rng.standard_normal(len(variables)), rng.standard_normal(size)
            before = g.copy()
            work.add(g, variables, weights, once, missing, slots)
            expected = before + weights @ whole[np.ix_(variables, active)]
            np.testing.assert_allclose(g, expected, atol=1e-4)
            kept = whole[np.ix_(variables[once:], active)]
            np.testing.assert_allclose(rows[slots], kept, atol=1e-5)
            others = g.copy()
            work.add(others, variables[:0], weights[:0], 0, 0, slots[:0])
            np.testing.assert_array_equal(others, g)
    finally:
        work.team.dismiss()


def test_values_that_are_not_kept_are_not_written(rng):
    _, gram = rows_of("coordinates", rng)
    memory = np.full(10 * 700, np.nan, np.float32)
    work = SharedWork(gram, 64, memory, 1)
    work.activate(np.arange(700))
    work.add(np.zeros(700), np.arange(20), np.ones(20), 18, 2, np.array([4, 7]))
    assert np.array_equal(
        np.isfinite(memory).reshape(10, 700).all(axis=1), np.isin(range(10), [4, 7])
    )
    assert np.isnan(memory).sum() == 8 * 700


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((3200, 4))
    return X, np.sin(X[:, 0]) + X[:, 1] ** 2 / 2 + 0.3 * rng.standard_normal(len(X))


@pytest.mark.parametrize("machine", [SVC(), SVC(C=50.0), SVR()], ids=["SVC", "C=50", "SVR"])
def test_same_bits_for_any_number_of_threads(monkeypatch, problem, machine):
    monkeypatch.setattr(smo_state, "_DIRECT", 500)
    monkeypatch.setattr(smo_shared, "_EACH", 5000)
    X, y = problem
    y = y if isinstance(machine, SVR) else y > 0.5
    found = []
    for workers in (1, 2, 5, 16):
        machine.set_params(plan=Plan(workers=workers)).fit(X, y)
        found.append((machine.dual_coef_.tobytes(), machine.intercept_.tobytes()))
        assert machine.reports_[0].violation < 1e-3
    assert len(set(found)) == 1


def test_threads_leave_when_a_fit_is_interrupted(monkeypatch, problem):
    X, y = problem
    monkeypatch.setattr(smo_state, "_DIRECT", 500)
    monkeypatch.setattr(smo_shared, "_EACH", 5000)
    dismissed, rounds = [], []
    team = smo_shared.Team

    class Watched(team):
        def run(self, *args):
            rounds.append(1)
            if len(rounds) > 8:
                raise KeyboardInterrupt
            super().run(*args)

        def dismiss(self):
            dismissed.append(self._started)
            super().dismiss()

    monkeypatch.setattr(smo_shared, "Team", Watched)
    with pytest.raises(KeyboardInterrupt):
        SVC(plan=Plan(workers=3)).fit(X, y > 0.5)
    assert dismissed[-1] == 2
