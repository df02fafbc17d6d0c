"""Kinds of data are registered: the library's in their folders, others by whoever has them."""

from dataclasses import dataclass, fields

import numpy as np
import pytest

from mercer import Categorical, Gaussian, Kernel, KernelRidge, MeanEmbedding, Spectrum, load, save
from mercer.exceptions import FileFormatError
from mercer.kernels import Domain, Kind, Stored, register_kind
from mercer.kernels.calculus.domains import ANY, joint, subset
from mercer.kernels.strings.kind import STRINGS
from mercer.kinds import _KINDS, hints, kind_of, register, registered
from mercer.tables.candidates import on_table
from mercer.testing import check_kernel


@dataclass(frozen=True)
class Interval:
    """A kind of sample that the library has never heard of."""

    low: float
    high: float


def _interval(low, high):
    if not low <= high:
        raise ValueError("an interval that ends before it begins")
    return Interval(low, high)


INTERVALS = Kind(
    "intervals",
    "bounded intervals of the line",
    hint="SharedLength()",
    infinite=True,
    faithful=True,
    hashable=True,
    stored=(
        Stored(
            "interval",
            (f"{__name__.partition('.')[0]}.Interval",),
            lambda x: {"low": x.low, "high": x.high},
            _interval,
        ),
    ),
)


@dataclass(eq=False, repr=False)
class SharedLength(Kernel):
    """The length of the intersection."""

    because = "it is the inner product of indicator functions"

    def pairwise(self, X, Y):
        pairs = [[(min(x.high, y.high) - max(x.low, y.low)) for y in Y] for x in X]
        return np.maximum(np.array(pairs, dtype=float), 0.0)

    @property
    def domain(self):
        return Domain("intervals")


@pytest.fixture
def intervals():
    yield register_kind(INTERVALS)
    _KINDS.pop("intervals", None)


@pytest.fixture
def X():
    low = np.random.default_rng(0).uniform(0, 3, 20)
    return [Interval(float(a), float(a) + 1 + i / 10) for i, a in enumerate(low)]


def test_the_library_registers_its_own():
    names = [kind.name for kind in registered()]
    listed = ["strings", "labels", "series", "trees", "graphs", "sets", "bags", "vectors"]
    assert names[:8] == listed
    assert {"ball", "interval", "circle", "columns", "subset", "everything", "any"} <= set(names)


@pytest.mark.parametrize(
    ("kernel", "fact"),
    [(Spectrum(2), "discrete"), (Categorical(), "hashable"), (Gaussian(), "euclidean")],
    ids=repr,
)
def test_facts_of_the_domain_of_a_kernel(kernel, fact):
    assert getattr(kernel.domain.facts, fact)


def test_distributions_are_not_told_apart_by_their_samples():
    domain = MeanEmbedding(Gaussian()).domain
    assert str(domain) == "distributions, given by samples of vectors in R^d"
    assert (domain.infinite, domain.faithful, domain.discrete) == (True, False, False)


def test_a_kind_of_ones_own(intervals, X):
    assert str(intervals) == "bounded intervals of the line"
    assert intervals.infinite
    assert intervals.faithful
    assert not intervals.discrete
    assert joint(intervals, STRINGS) == subset(ANY)
    assert joint(intervals, ANY) == subset(intervals)
    assert "for intervals SharedLength()" in hints()
    check_kernel(SharedLength(), X)
    with pytest.raises(ValueError, match=r"of something else\. .*for intervals SharedLength\(\)"):
        Gaussian()(X)


def test_samples_go_to_files_and_back(intervals, X, tmp_path):
    model = KernelRidge(0.1, kernel=SharedLength()).fit(X, np.arange(20.0))
    save(model, tmp_path / "model")
    back = load(tmp_path / "model")
    assert back.X_fit_ == X
    np.testing.assert_array_equal(back.predict(X), model.predict(X))


def test_files_of_a_kind_that_is_not_there(intervals, X, tmp_path):
    save(X, tmp_path / "data")
    del _KINDS["intervals"]
    with pytest.raises(FileFormatError, match=r"'interval', .* module that registers it"):
        load(tmp_path / "data")
    with pytest.raises(ValueError, match="it is a Interval, and only numbers"):
        save(X, tmp_path / "data")


def test_damaged_samples_are_named(intervals, tmp_path):
    save([Interval(2.0, 1.0)], tmp_path / "data")
    with pytest.raises(FileFormatError, match="holds an interval that ends before it begins"):
        load(tmp_path / "data")


def test_tags_of_the_files_themselves_are_taken(X, tmp_path):
    own = Stored("array", INTERVALS.stored[0].types, lambda x: {"low": x.low}, _interval)
    register(Kind("intervals", "intervals", stored=(own,)))
    try:
        with pytest.raises(ValueError, match="the tag 'array' of its kind"):
            save(X, tmp_path / "data")
    finally:
        del _KINDS["intervals"]


def test_a_table_is_told_where_samples_are(intervals):
    with pytest.raises(ValueError, match=r"works on bounded intervals .* \.on\('column'\)"):
        on_table(SharedLength(), {"a": "number"})


def test_registering_twice(intervals):
    register_kind(INTERVALS)  # the module was loaded again
    other = Kind("intervals", "something else")
    with pytest.raises(ValueError, match="already is a kind of data with the name 'intervals'"):
        register_kind(other)
    clash = Kind("spans", "the same under another name", stored=INTERVALS.stored)
    with pytest.raises(ValueError, match="intervals are stored as 'interval' already"):
        register_kind(clash)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Kind("two words", "x"), "must be one word"),
        (Kind("sets", ""), "kind 'sets' needs words"),
    ],
)
def test_refuses_nonsense(kind, message):
    with pytest.raises(ValueError, match=message):
        register_kind(kind)


def test_domains_of_unknown_kinds_are_refused():
    with pytest.raises(ValueError, match="there is no kind of data with the name 'nothing'"):
        Domain("nothing")


def test_every_fact_is_documented():
    for field in fields(Kind):
        assert f"\n    {field.name} : " in Kind.__doc__
    assert kind_of("strings").hint == "Spectrum(k)"
