"""Plans of tests: what they ask for is done, or refused in one sentence."""

import numpy as np
import pytest

from mercer import (
    Gaussian,
    Gram,
    Hashing,
    Landmarks,
    Linear,
    Plan,
    RandomFourier,
    Spectrum,
    coco,
    conditional_independence_test,
    goodness_of_fit_test,
    independence_test,
    k_sample_test,
    two_sample_test,
)
from mercer.data import length
from mercer.exceptions import DenseWarning, MemoryPlanError
from mercer.gram.tiles import evaluate
from mercer.stats.bank import Bank
from mercer.stats.planned import PlannedBank, bank_of


class Own(Gram):
    """Blocks, and nothing else."""

    def __init__(self, kernel, X, *, workers=None):
        self.kernel, self.X = kernel, X
        self.shape, self.dtype = (length(X), length(X)), np.dtype(float)

    def block(self, rows, cols):
        return evaluate(self.kernel, self.X[rows], self.X[cols])


@pytest.fixture
def pair(rng):
    X = rng.standard_normal((60, 2))
    return X, X + rng.standard_normal((60, 2))


@pytest.mark.parametrize("storage", ["dense", Own])
def test_banks_of_operators(rng, pair, storage):
    X, order = pair[0], rng.permutation(60)
    kernels = [Gaussian(0.7), Linear()]
    usual, asked = (bank_of(kernels, X, order, p) for p in (Plan(), Plan(storage=storage)))
    assert (type(usual), type(asked)) == (Bank, PlannedBank)
    np.testing.assert_allclose(asked.diag(), usual.diag())
    one, other = (dict(bank.tiles()(slice(3, 20), slice(10, 50))) for bank in (usual, asked))
    for place in (0, 1):
        np.testing.assert_allclose(one[place], other[place], atol=1e-5)
    assert len(asked.eps()) == 2


@pytest.mark.parametrize("storage", ["tiled", "dense", Own])
@pytest.mark.parametrize("kernel", [None, Gaussian(1.0)])
def test_storage_does_not_change_a_test(pair, storage, kernel):
    X, Y = pair
    plan = Plan(storage=storage)
    for test in (
        lambda plan: two_sample_test(X, Y, kernel, rng=0, n_permutations=99, plan=plan),
        lambda plan: k_sample_test([X, Y, X + 1], kernel, rng=0, n_permutations=99, plan=plan),
        lambda plan: independence_test(X, Y, kernels=kernel, rng=0, n_permutations=59, plan=plan),
    ):
        usual, asked = test(None), test(plan)
        assert asked.pvalue == usual.pvalue
        assert asked.statistic == pytest.approx(usual.statistic, rel=1e-4)
        words = {"tiled": "tile by tile, never stored", "dense": "stored as", Own: "of a Own"}
        assert words[storage] in asked.explain()
        assert "tile by tile" in usual.explain()


def test_a_rank_is_the_number_of_landmarks(pair):
    X, Y = pair
    for found in (
        two_sample_test(X, Y, Gaussian(), rng=0, plan=Plan(rank=20)),
        independence_test(X, Y, kernels=Gaussian(), rng=0, plan=Plan(rank=20)),
    ):
        assert "features from 20 landmarks" in found.method
        assert any("approximated from 20 landmarks" in note for note in found.notes)
    limit = two_sample_test(X, Y, Gaussian(), null="gamma", rng=0, plan=Plan(rank=20))
    usual = two_sample_test(X, Y, Gaussian(), null="gamma", rng=0)
    assert limit.statistic != usual.statistic
    assert limit.pvalue == pytest.approx(usual.pvalue, abs=0.05)
    with pytest.raises(ValueError, match="needs the number of landmarks"):
        two_sample_test(X, Y, rng=0, plan=Plan(rank=0.01))
    with pytest.raises(ValueError, match="no finite feature map"):
        two_sample_test(X, Y, Gaussian(), rng=0, plan=Plan(storage="lowrank"))
    with pytest.raises(ValueError, match="use a plan without rank"):
        conditional_independence_test(X, Y, X[:, 0], rng=0, plan=Plan(rank=20))


def test_what_is_stored_is_said(pair):
    X, Y = pair
    for null in ("gamma", "pearson", "spectrum"):
        with pytest.warns(DenseWarning, match="needs all of K"):
            found = two_sample_test(X, Y, Gaussian(), null=null, rng=0, plan=Plan(storage="tiled"))
        assert "stored as an array" in found.explain()
        with pytest.raises(ValueError, match="storage=Own was requested"):
            two_sample_test(X, Y, Gaussian(), null=null, rng=0, plan=Plan(storage=Own))
    with pytest.warns(DenseWarning):
        independence_test(X, Y, kernels=Gaussian(), null="gamma", plan=Plan(storage="tiled"))
    with pytest.warns(DenseWarning):
        conditional_independence_test(X, Y, X[:, 0], rng=0, plan=Plan(storage="tiled"))
    with pytest.raises(ValueError, match="computed from factors of K"):
        independence_test(
            X, Y, kernels=Gaussian(), statistic="coco", rng=0, plan=Plan(storage="dense")
        )


def test_memory_is_refused_before_matrices_are_made(rng):
    X = rng.standard_normal((700, 1))
    Y = X + rng.standard_normal((700, 1))
    plan = Plan(memory="2 MB")  # ten of them are needed in any case
    for test in (
        lambda: two_sample_test(X, Y, Gaussian(), null="gamma", plan=plan),
        lambda: two_sample_test(X, Y, Gaussian(), plan=plan.replace(storage="dense")),
        lambda: independence_test(X, Y, kernels=Gaussian(), null="pearson", plan=plan),
        lambda: independence_test(X, Y, X, kernels=Gaussian(), plan=plan),
        lambda: conditional_independence_test(X, Y, X, rng=0, plan=plan),
        lambda: goodness_of_fit_test(X, lambda x: -x, rng=0, plan=plan),
    ):
        with pytest.raises(MemoryPlanError, match="the plan allows"):
            test()


def test_a_plan_is_a_plan(pair):
    with pytest.raises(TypeError, match="plan must be a mercer"):
        two_sample_test(*pair, plan="1 GB")


@pytest.mark.parametrize("rule", [RandomFourier(400), Landmarks(50)], ids=["fourier", "landmarks"])
def test_features_of_a_plan_see_what_the_kernel_sees(rng, rule):
    X, Y = rng.standard_normal((600, 2)), rng.standard_normal((600, 2)) + [0.4, 0]
    plan = Plan(features=rule)
    found = two_sample_test(X, Y, Gaussian(1.5), plan=plan, rng=0)
    exact = two_sample_test(X, Y, Gaussian(1.5), rng=0)
    assert found.pvalue < 0.01
    assert found.statistic == pytest.approx(exact.statistic, rel=0.2)
    assert "approximated" in " ".join(found.notes)
    x = rng.standard_normal(600)
    y = x**2 + 0.3 * rng.standard_normal(600)
    assert independence_test(x, y, kernels=Gaussian(0.7), plan=plan, rng=0).pvalue < 0.01
    assert k_sample_test([X[:300], X[300:]], plan=plan, rng=0).pvalue > 0.01


def test_a_test_through_random_features_is_that_of_the_kernel_they_make(rng):
    X, Y = rng.standard_normal((90, 2)), rng.standard_normal((110, 2))
    rule = RandomFourier(30)
    through = Gaussian(1.0).approximate(rule).resolve(np.concatenate([X, Y]))
    one = two_sample_test(X, Y, Gaussian(1.0), plan=Plan(features=rule), rng=0)
    other = two_sample_test(X, Y, through, rng=0)
    assert one.statistic == pytest.approx(other.statistic)
    assert one.pvalue == other.pvalue
    strings = ["".join(rng.choice(list("ab"), 8)) for _ in range(60)]
    hashed = two_sample_test(
        strings[:30], strings[30:], Spectrum(3), plan=Plan(features=Hashing(64)), rng=0
    )
    assert 0 < hashed.pvalue <= 1


def test_features_that_a_measure_cannot_use_are_refused(pair):
    with pytest.raises(ValueError, match="uses landmarks"):
        coco(*pair, plan=Plan(features=RandomFourier(50)))
    few = two_sample_test(*pair, Linear(), plan=Plan(features=RandomFourier(50)), rng=0)
    assert not any("approximated" in note for note in few.notes)  # it has fewer of its own
