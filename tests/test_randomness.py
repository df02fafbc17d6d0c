"""Seeds and generators of either kind, and what is neither."""

import numpy as np
import pytest

from mercer import SVCCV, Gaussian, GaussianProcessRegressor, KernelICA, KernelPCA, two_sample_test
from mercer.randomness import as_generator, as_random_state

SOURCES = {
    "None": lambda: None,
    "int": lambda: 3,
    "NumPy int": lambda: np.int8(3),
    "several": lambda: [1, 2],
    "Generator": lambda: np.random.default_rng(3),
    "RandomState": lambda: np.random.RandomState(3),
    "BitGenerator": lambda: np.random.PCG64(3),
    "SeedSequence": lambda: np.random.SeedSequence(3),
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_is_understood_by_both(name):
    for make, kind in (
        (as_generator, np.random.Generator),
        (as_random_state, np.random.RandomState),
    ):
        first, second = make(SOURCES[name]()), make(SOURCES[name]())
        assert isinstance(first, kind)
        same = np.array_equal(first.normal(size=4), second.normal(size=4))
        assert same == (name != "None")


@pytest.mark.parametrize("make", [as_generator, as_random_state])
def test_a_generator_goes_on(make):
    for source in (np.random.default_rng(0), np.random.RandomState(0)):
        assert not np.array_equal(make(source).normal(size=4), make(source).normal(size=4))


@pytest.mark.parametrize("wrong", ["a", -1, 1.5, np.nan, True, {}, [], object(), 1j])
def test_what_is_no_source_is_named(wrong, rng):
    X = rng.normal(size=(10, 2))
    with pytest.raises(ValueError, match=r"^rng must be None, an integer >= 0, a numpy"):
        two_sample_test(X, X + 1, rng=wrong)
    with pytest.raises(ValueError, match=r"^random_state must be None"):
        KernelPCA(2, random_state=wrong).fit(X)


def test_models_take_generators(rng):
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=40)
    for model in (
        GaussianProcessRegressor(kernel=Gaussian(), n_restarts_optimizer=1),
        KernelICA(),
        SVCCV([1.0, 10.0], cv=3),
    ):
        target = y > 0 if isinstance(model, SVCCV) else y
        for source in (np.random.default_rng(0), np.random.RandomState(0)):
            model.set_params(random_state=source).fit(X, target)
