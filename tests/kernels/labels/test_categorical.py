"""Categorical against Python's own equality."""

import datetime as dt
import subprocess
import sys
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction

import numpy as np
import pytest

from mercer import Categorical, Gaussian, Plan
from mercer.exceptions import DomainError
from mercer.gram.stored import LowRankGram
from mercer.testing import check_gram, check_kernel

NAN = float("nan")


class Colour(Enum):
    RED = 1
    BLUE = 2


class Size(IntEnum):
    SMALL = 1
    LARGE = 2


LABELS = [
    *["red", "blue", "red", "", "1", "missing", "None", "str:red"],
    *[1, 2, -1, 2**54, 2**60, 2**60 + 1, 10**30, 0.5, 2.0, -0.0, 0, float("inf"), -1e30],
    *[True, False, b"red", dt.date(2020, 1, 1), dt.date(2020, 1, 2), Colour.RED, Colour.BLUE],
    *[Size.LARGE, Fraction(1, 2), Fraction(4, 2), np.int8(2), np.float64(0.5), np.str_("red")],
]


def equality(X, Y):
    return np.array([[float(x == y) for y in Y] for x in X])


def test_is_pythons_equality():
    np.testing.assert_array_equal(Categorical()(LABELS), equality(LABELS, LABELS))
    np.testing.assert_array_equal(Categorical()(LABELS[:9], LABELS), equality(LABELS[:9], LABELS))


def test_missing_is_one_label():
    pd = pytest.importorskip("pandas")
    X = [None, NAN, np.float64("nan"), pd.NA, pd.NaT, Decimal("nan")]
    np.testing.assert_array_equal(Categorical()(X), np.ones((6, 6)))
    np.testing.assert_array_equal(Categorical()(X, ["missing", "nan", 0]), np.zeros((6, 3)))
    numbers = np.array([1.0, NAN, NAN])
    np.testing.assert_array_equal(Categorical()(numbers, [None, 1]), [[0, 1], [1, 0], [1, 0]])


@pytest.mark.parametrize(
    "X",
    [LABELS, np.array([3, 1, 3, 2]), np.array(["a", "b", "a"]), ["a", None, "b", NAN, "a"]],
    ids=["mixed", "integers", "text", "missing"],
)
def test_contract(X):
    check_kernel(Categorical(), X)


def test_any_container_of_one_column():
    pd = pytest.importorskip("pandas")
    words = ["a", "b", "a", "c"]
    expected = equality(words, words)
    table = pd.DataFrame({"x": words})
    for X in (words, np.array(words), np.array(words)[:, None], [[w] for w in words], tuple(words)):
        np.testing.assert_array_equal(Categorical()(X), expected)
    for X in (table, table["x"], table["x"].astype("category"), table["x"].astype("string")):
        np.testing.assert_array_equal(Categorical()(X, words), expected)


def test_columns_of_a_table():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(
        {
            "city": ["Rome", "Oslo", "Rome", None],
            "level": pd.Categorical(["low", "low", "high", "low"]),
            "code": [1, 1, 2, 1],
            "flag": [True, False, True, True],
            "age": [1.0, 2.0, 3.0, 4.0],
        }
    )
    k = Categorical()
    city, level, code, flag = (
        equality(list(table[c]), list(table[c])) for c in ("city", "level", "code", "flag")
    )
    city[3, 3] = 1
    product = k.on("city") * k.on("level") * k.on("code") * k.on("flag")
    np.testing.assert_array_equal(product(table), city * level * code * flag)
    np.testing.assert_array_equal((k.on("city") + k.on("code"))(table), city + code)
    check_kernel(Gaussian().on("age") * k.on("city"), table)
    one_row = table.iloc[[2]]
    np.testing.assert_array_equal(product(one_row, table), product(table)[[2]])


def test_gram_is_low_rank_and_meets_new_labels():
    words = ["a", "b", "a", "c"]
    gram = Plan().gram(Categorical(), words)
    assert isinstance(gram, LowRankGram)
    assert gram.rank == 3
    new = ["c", "unseen", None]
    check_gram(gram, equality(words, words), new, equality(new, words))


def test_codes_are_the_same_in_every_process():
    code = (
        "from mercer import Categorical;"
        "print(Categorical().prepare(['red', 7, None, 0.5]).tolist())"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == str(Categorical().prepare(["red", 7, NAN, 0.5]).tolist())


def test_properties():
    p = Categorical().properties
    for name in ("bounded", "continuous", "strictly_pd", "universal", "characteristic"):
        assert getattr(p, name), name
    assert p.finite_dim.unknown
    k = Categorical().on("a") * Categorical().on("b")
    assert k.properties.strictly_pd
    assert k.properties.universal


def test_mmd_is_the_distance_of_probabilities():
    """The reason given for characteristic: MMD^2 = sum (p - q)^2."""
    x, y = list("aabbbc"), list("abcccd")
    k = Categorical()
    mmd2 = k(x).mean() + k(y).mean() - 2 * k(x, y).mean()
    p = np.array([x.count(c) for c in "abcd"]) / 6
    q = np.array([y.count(c) for c in "abcd"]) / 6
    assert np.isclose(mmd2, np.sum((p - q) ** 2))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("red", r"single str; wrap it: \[x\]"),
        ([], "no samples"),
        (np.zeros((0, 1)), "no samples"),
        (np.zeros((3, 2)), r"X has 2; .*Categorical\(\)\.on\(0\) \* Categorical\(\)\.on\(1\)"),
        ([("a", "b"), ("a", "c")], "X has 2"),
        ([{"a": 1}], "hashable"),
        ([frozenset("ab")], "not of type frozenset"),
        ([object()], "not of type object"),
    ],
)
def test_bad_data(X, message):
    with pytest.raises(DomainError, match=message):
        Categorical()(X)


def test_no_word_is_a_number():
    """Codes of whole numbers, and of everything else, lie in two ranges that do not meet."""
    numbers = [0, 1, -1, 112, 2**54, -(2**54), 12345]
    words = [f"label {i}" for i in range(2000)] + [2.5, -0.25]
    k = Categorical()
    codes = k.prepare(words)
    assert codes.min() > k.prepare(numbers).max()
    assert len(np.unique(codes)) == len(words)
    assert k.n_features(codes) > codes.max()
