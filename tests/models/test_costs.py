"""What a fit will take: trials are continued by the right powers, and plans go by what they say."""

import numpy as np
import pytest

from mercer import SVC, Gaussian, KernelPCA, KernelRidge, Landmarks, Linear, Plan, RandomFourier
from mercer.chunks import ArrayChunks
from mercer.models import Forecast, costs, forecast
from mercer.models.costs import (
    _FACTORED,
    _NARROW,
    _PRECONDITIONED,
    _STORED,
    _TILED,
    Way,
    continued,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2500, 2))
Y = np.sin(X[:, 0])
RIDGE = KernelRidge(0.1, kernel=Gaussian(1.0))


def names(found):
    return [way.name for way in found.ways]


def test_all_ways_are_looked_at():
    found = forecast(RIDGE, X, Y)
    assert names(found) == ["stored", "in tiles", "300 landmarks", "1000 landmarks"]
    for way in found.ways:
        assert 0 < way.seconds < 600
        assert 1e5 < way.nbytes < 1e10
        assert way.exact == ("landmarks" not in way.name)
        RIDGE.set_params(plan=way.plan).fit(X[:50], Y[:50])
    RIDGE.set_params(plan=None)
    stored = found.ways[0]
    assert 8 * 2500**2 <= stored.nbytes <= 5 * 8 * 2500**2
    text = str(found)
    assert "2,500 samples" in text
    assert text.count("chosen") == 1


def test_a_plan_that_asks_for_one_way_is_looked_at_alone():
    for plan, name in (
        (Plan(rank=50), "50 landmarks"),
        (Plan(features=RandomFourier(40)), "40 features"),
        (Plan(features=Landmarks(30)), "30 features"),
        (Plan(storage="tiled"), "'tiled'"),
    ):
        found = forecast(RIDGE, X[:600], Y[:600], plan=plan)
        assert names(found) == [name]
        assert found.ways[0].plan == plan


def test_samples_in_chunks_and_models_without_targets():
    chunks = ArrayChunks(X[:1200], Y[:1200], rows=500)
    assert names(forecast(RIDGE, chunks, plan=Plan(rank=40))) == ["40 landmarks"]
    found = KernelPCA(2, kernel=Gaussian(1.0)).forecast(X[:500])
    assert found.best is not None
    with pytest.raises(ValueError, match="pass y as well"):
        forecast(SVC(), X[:100])


def test_what_a_model_refuses_is_told():
    def broken(a, b):
        raise ValueError("no such thing; ask elsewhere.")

    found = forecast(KernelRidge(kernel=broken), X[:100], Y[:100])
    assert all(way.why_not for way in found.ways)
    assert "refused: no such thing" in str(found)
    assert found.best is None
    assert "Nothing fits" in str(found)


@pytest.mark.parametrize("growth", [_FACTORED, _STORED, _TILED, _NARROW, _PRECONDITIONED])
def test_what_grows_as_it_should_is_continued(growth):
    factors = 1 + np.arange(len(growth.work(1, 1)), dtype=float)
    sizes = [(float(n), float(m)) for n in (1, 2, 4) for m in (1, 2, 4)]
    seen = [(size, float(factors @ growth.work(*size))) for size in sizes]
    found = continued(growth.work, seen, np.zeros(len(factors)), (100.0, 50.0))
    assert found == pytest.approx(factors @ growth.work(100.0, 50.0), rel=1e-4)


def test_nothing_is_faster_than_the_machine():
    def cubes(n, m):
        return (n**2, n**3)

    seen = [((1000.0, 0.0), 1.0), ((2000.0, 0.0), 4.0)]  # no cubes are to be seen
    assert continued(cubes, seen, np.zeros(2), (1e5, 0.0)) == pytest.approx(1e4, rel=1e-6)
    slow = continued(cubes, seen, np.array([0.0, 1e-10]), (1e5, 0.0))
    assert slow >= 1e-10 * 1e15
    assert continued(cubes, seen, np.zeros(2), (2000.0, 0.0)) >= 4.0


class Scripted(costs._Trial):
    """Fits that take no time: what they take, and the ranks of preconditioners, are given."""

    def __init__(self, seconds, rank=lambda n: 0.0, nbytes=lambda n: 8.0 * n**2):
        pool = ArrayChunks(np.zeros((8000, 1))).sample(8000, RNG)
        super().__init__(None, pool)
        self.seconds, self.ranks, self.nbytes = seconds, rank, nbytes
        self.sizes = []

    def _fit(self, plan, size):
        self.sizes.append(size)
        self.rank = self.ranks(size)
        return self.seconds(size)

    def _peak(self, plan, size):
        return self.nbytes(size)


def test_a_preconditioner_that_has_come_to_its_limit_is_told_from_k(monkeypatch):
    monkeypatch.setattr(costs, "_product", lambda: 1e-10)

    def rank(n):  # as that of conjugate gradients, up to 1000 for so few samples
        return min(0.6 * n, 1000.0)

    def seconds(n):  # 0.1, 0.37, 0.6 s: twice the samples once took almost four times as long
        return 2e-7 * rank(n) ** 2 + 0.9e-10 * n * rank(n) ** 2 + 0.5e-9 * n**2

    trial = Scripted(seconds, rank, nbytes=lambda n: 4e3 * n)
    candidate = costs._Candidate("in tiles", Plan(storage="tiled"), _TILED)
    way = costs._look(trial, candidate, 11_000)
    assert max(trial.sizes) == 4000
    assert way.seconds == pytest.approx(seconds(11_000), rel=0.2)
    assert costs._rank([(2000.0, 900.0), (4000.0, 1000.0)], 500_000) == int(6 * 500_000**0.5)


def test_memory_has_to_come_from_the_system_first():
    stored = costs._Candidate("stored", Plan(storage="dense"), _STORED)
    tiled = costs._Candidate("in tiles", Plan(storage="tiled"), _TILED)

    class First(Scripted):
        """The first fit of each size takes longer, by a nanosecond for each byte."""

        def _fit(self, plan, size):
            first = size not in self.sizes
            return super()._fit(plan, size) + 8e-9 * size**2 * first

    for candidate, new in ((stored, 8e-9 * 11_000**2), (tiled, 0.0)):
        said = [
            costs._look(trial(lambda n: 1e-9 * n**2), candidate, 11_000).seconds
            for trial in (Scripted, First)
        ]
        assert said[1] - said[0] == pytest.approx(new, rel=1e-3, abs=1e-6)


def ways(*figures):
    return [Way(f"{s}", Plan(), s, b, exact) for s, b, exact in figures]


def test_the_best_way():
    some = ways((100.0, 1e9, True), (200.0, 1e6, True), (1.0, 1e6, False), (5.0, 1e7, False))
    assert Forecast(some, 10, np.inf, np.inf).best is some[0]
    assert Forecast(some, 10, np.inf, 1e8).best is some[1]
    assert Forecast(some, 10, 50.0, 1e8).best is some[3]
    assert Forecast(some, 10, 2.0, 1e8).best is some[2]
    assert Forecast(some, 10, 0.5, 1e8).best is None


def test_a_budget_of_time(monkeypatch):
    few = ways((100.0, 1e6, True), (5.0, 1e6, False))
    few[1] = Way("20 landmarks", Plan(rank=20), 5.0, 1e6, False)

    def told(model, X, y=None, *, plan=None):
        return Forecast(few, len(X), 10.0, 1e9)

    monkeypatch.setattr("mercer.models.costs.forecast", told)
    plan = Plan(budget="10 s")
    model = KernelRidge(0.1, kernel=Gaussian(1.0), plan=plan).fit(X[:200], Y[:200])
    assert len(model.X_fit_) == 20
    assert model.plan is plan
    few[1] = few[0]
    with pytest.raises(ValueError, match="budget='10 s' is too short"):
        KernelRidge(0.1, kernel=Gaussian(1.0), plan=plan).fit(X[:200], Y[:200])


def test_a_budget_does_not_slow_down_streams(monkeypatch):
    def never(*args, **kwargs):
        raise AssertionError

    monkeypatch.setattr("mercer.models.costs.forecast", never)
    model = KernelRidge(0.1, kernel=Gaussian(1.0), plan=Plan(rank=20, budget="1 s"))
    assert model.partial_fit(X[:100], Y[:100]).partial_fit(X[100:200], Y[100:200]) is model


def test_a_budget_as_users_give_it():
    model = KernelRidge(0.1, kernel=Linear(), plan=Plan(budget="1 h")).fit(X[:300], Y[:300])
    assert model.plan.budget == "1 h"
    assert "300 samples" in Plan().explain(RIDGE, X[:300], Y[:300])
    for wrong in ("soon", -3, "10 parsec"):
        with pytest.raises(ValueError, match="budget must be"):
            Plan(budget=wrong)
