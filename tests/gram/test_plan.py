import numpy as np
import pytest
from sklearn.base import clone

from mercer import Gaussian, Gram, Linear, Plan, Spectrum
from mercer.engine.memory import free_memory, parse_memory
from mercer.gram.stored import DenseGram, LowRankGram, TiledGram


@pytest.fixture
def X(rng):
    return rng.standard_normal((200, 3))


def test_chooses_by_memory(X):
    assert isinstance(Plan(memory="1 MB").gram(Gaussian(), X), DenseGram)
    assert isinstance(Plan(memory="100 kB").gram(Gaussian(), X), TiledGram)
    half = X.astype(np.float32)
    assert isinstance(Plan(memory=200 * 200 * 4).gram(Gaussian(), half), DenseGram)
    assert isinstance(Plan(memory=200 * 200 * 4).gram(Gaussian(), X), TiledGram)


def test_uses_features_when_there_are_few(X):
    assert isinstance(Plan().gram(Linear(), X), LowRankGram)
    assert isinstance(Plan().gram(Linear(), X[:4]), DenseGram)
    assert isinstance(Plan().gram(Spectrum(2), ["ab", "bc"]), LowRankGram)


def test_says_what_it_will_do_before_doing_it(X):
    assert "over the budget of 100 kB" in Plan(memory="100 kB").explain(Gaussian(), X)
    assert "within the budget" in Plan(memory="1 MB").explain(Gaussian(), X)
    assert "finite feature map" in Plan().explain(Linear(), X)
    assert "200 x 200" in repr(Plan().gram(Gaussian(), X))


def test_resolves_the_kernel(X):
    gram = Plan().gram(Gaussian("median"), X)
    assert gram.kernel.unresolved is None


@pytest.mark.parametrize(
    ("text", "value"), [("2 GB", 2e9), ("1.5mb", 1.5e6), ("1 KiB", 1024), (12, 12)]
)
def test_memory_in_words(text, value):
    assert parse_memory(text) == value


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"memory": "lots"}, 'memory must be a number of bytes or a string like "2 GB"'),
        ({"memory": -1}, "memory must be"),
        ({"workers": 0}, "workers must be"),
        ({"workers": True}, "workers must be None or an integer >= 1"),
        ({"storage": "cloud"}, "storage must be one of"),
        ({"storage": int}, "or a subclass of mercer.Gram that has a block"),
        ({"storage": Gram}, "or a subclass of mercer.Gram that has a block"),
    ],
)
def test_refuses_nonsense(bad, message):
    with pytest.raises(ValueError, match=message):
        Plan(**bad)


def test_threads_may_be_counted_by_numpy():
    assert Gaussian().gram(np.zeros((5, 1)), Plan(workers=np.int64(2))).workers == 2


def test_lowrank_needs_features(X):
    with pytest.raises(ValueError, match="no finite feature map"):
        Plan(storage="lowrank").gram(Gaussian(), X)


def test_free_memory_is_sane():
    assert 1e6 < free_memory() < 1e15


def test_rank(X):
    plan = Plan(rank=20)
    assert "at most 20 features" in plan.explain(Gaussian(), X)
    gram = plan.gram(Gaussian("median"), X)
    assert isinstance(gram, LowRankGram)
    assert gram.shape == (200, 200)
    assert gram.rank == 20
    assert gram.cross(X[:3]).shape == (3, 200)
    assert plan.gram(gram.kernel, X).kernel == gram.kernel  # not approximated again
    assert isinstance(plan.gram(Linear(), X).kernel, Linear)  # three features are few
    error = np.trace(Gaussian()(X)) - gram.diag().sum()
    assert error > 0
    share = Plan(rank=0.05)
    assert "0.05" in share.explain(Gaussian(), X)
    lost = 1 - share.gram(Gaussian(), X).diag().mean()
    assert 0 < lost <= 0.05
    with pytest.raises(ValueError, match="rank=20"):
        Plan(rank=20, storage="dense").gram(Gaussian(), X)
    for bad in (0, 1.5, "all"):
        with pytest.raises(ValueError, match="rank must be"):
            Plan(rank=bad)


def test_what_is_computed_beside_a_matrix_counts():
    X = np.zeros((1000, 3))  # K takes 8 MB
    plan = Plan(memory="10 MB", workers=1)
    assert isinstance(plan.gram(Gaussian(), X), DenseGram)
    assert isinstance(plan.beside(1).gram(Gaussian(), X), DenseGram)
    assert isinstance(plan.beside(2).gram(Gaussian(), X), TiledGram)
    assert isinstance(plan.gram(Gaussian(), X.astype(np.float32)), DenseGram)
    assert isinstance(plan.beside(1).gram(Gaussian(), X.astype(np.float32)), TiledGram)
    said = Plan(memory="8.1 MB", workers=1).explain(Gaussian(), X)
    assert "including the tiles and factors beside it, over the budget of 8.1 MB" in said


def test_small_matrices_are_stored_without_asking_for_memory(monkeypatch):
    """Half a millisecond for what is free is longer than a fit of a hundred samples takes."""
    asked = []
    monkeypatch.setattr("mercer.gram.plan.free_memory", lambda: asked.append(1) or 1e6)
    assert isinstance(Plan().gram(Gaussian(), np.zeros((100, 3))), DenseGram)
    assert not asked
    assert isinstance(Plan().gram(Gaussian(), np.zeros((1200, 3))), TiledGram)
    assert isinstance(Plan(memory="1 kB").gram(Gaussian(), np.zeros((100, 3))), TiledGram)


class Plain(Gram):
    """As little as an operator of one's own needs."""

    def __init__(self, kernel, X, Y=None, *, workers=None):
        self.K, self.workers = kernel.pairwise(X, X if Y is None else Y), workers
        self.shape, self.dtype = self.K.shape, self.K.dtype

    def block(self, rows, cols):
        return self.K[rows][:, cols]


def test_an_operator_of_ones_own(X):
    plan = Plan(storage=Plain, workers=2, memory="1 GB")
    gram = plan.gram(Gaussian("median"), X)
    assert isinstance(gram, Plain)
    assert (gram.workers, gram.limit) == (2, 1e9)
    assert gram.kernel == Gaussian("median").resolve(X)  # set where the class does not keep it
    assert plan.explain(Gaussian(), X) == "Plain: requested by storage=Plain."
    assert repr(plan) == "Plan(memory='1 GB', workers=2, storage=Plain)"
    assert clone(plan) == plan
    with pytest.raises(ValueError, match="which storage=Plain excludes"):
        Plan(storage=Plain, rank=5).gram(Gaussian(), X)
