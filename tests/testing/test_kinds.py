"""Every kind of data of the library passes; what is wrong with a bad one is named."""

from dataclasses import dataclass, replace
from xml.etree import ElementTree

import numpy as np
import pytest

from mercer import (
    Categorical,
    Gaussian,
    GlobalAlignment,
    Kernel,
    MeanEmbedding,
    Spectrum,
    Spline,
    SubsetTree,
)
from mercer.kernels import Domain, Kind, Stored, register_kind
from mercer.kinds import _KINDS, register
from mercer.testing import check_kind

RNG = np.random.default_rng(0)
TREES = ["(S (A a) (B b))", "(S (A a) (A b))", "(S (B b))", "(T (S (A a)))"]
GOOD = {
    "strings": (["abab", "babb", "cab", "aabb"], Spectrum(2)),
    "labels": (["red", "blue", "green", "red"], Categorical()),
    "series": ([RNG.standard_normal((n, 2)) for n in (5, 7, 4, 6)], GlobalAlignment()),
    "trees": (TREES, SubsetTree()),
    "bags": ([RNG.standard_normal((n, 2)) for n in (5, 7, 4, 6)], MeanEmbedding(Gaussian())),
    "vectors": (RNG.standard_normal((20, 2)), Gaussian()),
    "interval": (RNG.uniform(0, 1, (20, 1)), Spline()),
}


@pytest.mark.parametrize("name", GOOD)
def test_kinds_of_the_library(name):
    X, kernel = GOOD[name]
    check_kind(name, X, kernel)
    check_kind(kernel.domain, X)


def test_trees_of_other_packages_go_to_files():
    check_kind("trees", [ElementTree.fromstring("<a><b/>x</a>"), ElementTree.fromstring("<a/>")])


@dataclass(frozen=True)
class Pair:
    """A sample of a kind of its own."""

    first: str
    second: str


PAIRS = Kind(
    "pairs",
    "pairs of words",
    hint="SharedWords()",
    discrete=True,
    faithful=True,
    hashable=True,
    stored=(
        Stored(
            "pair",
            (f"{__name__.partition('.')[0]}.Pair",),
            lambda x: {"first": x.first, "second": x.second},
            lambda first, second: Pair(first, second),
        ),
    ),
)
X = [Pair("a", "b"), Pair("b", "c"), Pair("b", "a"), Pair("a", "b")]


@dataclass(eq=False, repr=False)
class SharedWords(Kernel):
    """The number of words that two pairs share."""

    because = "an inner product of indicators"

    def pairwise(self, X, Y):
        sets = [[{x.first, x.second} for x in part] for part in (X, Y)]
        return np.array([[float(len(a & b)) for b in sets[1]] for a in sets[0]])

    @property
    def domain(self):
        return Domain("pairs")


@pytest.fixture(autouse=True)
def _forget():
    yield
    _KINDS.pop("pairs", None)


def test_a_kind_of_ones_own():
    check_kind(register_kind(PAIRS), X, SharedWords())
    check_kind(PAIRS, X)


(STORED,) = PAIRS.stored
BAD = {
    "said to be numeric and discrete": {"numeric": True},
    "said to be euclidean and discrete": {"euclidean": True},
    "role is 'words'": {"role": "words"},
    "there is no kernel 'Overlapping'": {"hint": "Overlapping(2)"},
    "there is no kernel 'Plan'": {"hint": "Plan()"},
    "samples cannot be saved to files": {"stored": ()},
    "cannot be loaded from files": {
        "stored": (replace(STORED, build=lambda first: Pair(first, first)),)
    },
    "came back are not the same": {
        "stored": (replace(STORED, build=lambda first, second: Pair(first, first)),)
    },
}


@pytest.mark.parametrize("problem", BAD)
def test_a_broken_kind_is_caught(problem):
    kind = register(replace(PAIRS, **BAD[problem]))
    with pytest.raises(AssertionError, match=problem):
        check_kind(kind, X)


def test_samples_that_cannot_be_hashed():
    register(PAIRS)
    with pytest.raises(AssertionError, match="said to be hashable, but sample 0 is not"):
        check_kind("pairs", [["a"], ["b"]])

    class Restless:
        def __eq__(self, other):
            return False

        __hash__ = object.__hash__

    with pytest.raises(AssertionError, match="sample 0 differs from its copy"):
        check_kind("pairs", [Restless(), Restless()])


def test_kernels_and_kinds_that_do_not_fit():
    register(PAIRS)
    with pytest.raises(AssertionError, match="is of kind 'strings', not 'pairs'"):
        check_kind("pairs", X, Spectrum(2))
    with pytest.raises(AssertionError, match="there is no kind of data with the name 'nothing'"):
        check_kind("nothing", X)
    with pytest.raises(AssertionError, match="at least two samples"):
        check_kind("pairs", X[:1])
