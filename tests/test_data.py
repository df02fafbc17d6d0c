"""Data of any kind: length, take, join, columns and the check of vectors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from mercer import Gaussian, GlobalAlignment, Kendall, KernelRidge, Spectrum, two_sample_test
from mercer.data import (
    Zipped,
    as_vectors,
    column_key,
    columns,
    evenly,
    is_frame,
    join,
    length,
    take,
)
from mercer.exceptions import DomainError

FRAME = pd.DataFrame({"a": [1, 2, 3], "b": [0.5, 1.5, 2.5], "s": ["x", "y", "x"]})
KINDS = {
    "array": np.arange(12.0).reshape(4, 3),
    "line": np.arange(4.0),
    "csr": sp.csr_matrix(np.arange(12.0).reshape(4, 3)),
    "frame": pd.DataFrame(np.arange(12.0).reshape(4, 3)),
    "series": pd.Series([3.0, 2.0, 1.0, 0.0]),
    "list": ["a", "bb", "ccc", "dddd"],
    "tuple": ("a", "bb", "ccc", "dddd"),
    "zipped": Zipped(np.arange(4), ["a", "b", "c", "d"]),
}


def plain(X):
    """Any data as a nested list."""
    if isinstance(X, Zipped):
        return [plain(part) for part in X.parts]
    if sp.issparse(X):
        return X.toarray().tolist()
    if hasattr(X, "iloc"):
        return X.values.tolist()
    return X.tolist() if isinstance(X, np.ndarray) else list(X)


@pytest.mark.parametrize("X", KINDS.values(), ids=KINDS)
def test_length_take_join(X):
    assert length(X) == 4
    picked = take(X, [2, 0])
    sliced = take(X, slice(1, 3))
    assert length(picked) == length(sliced) == 2
    whole = plain(X)
    if isinstance(X, Zipped):
        assert plain(picked) == [[part[2], part[0]] for part in whole]
        return
    assert plain(picked) == [whole[2], whole[0]]
    assert plain(sliced) == whole[1:3]
    assert plain(take(X, np.array([3]))) == [whole[3]]
    assert plain(join(X, picked)) == whole + [whole[2], whole[0]]
    assert join(X) is X


def test_join_keeps_the_kind():
    assert isinstance(join(KINDS["array"], KINDS["array"]), np.ndarray)
    assert join(KINDS["csr"], KINDS["csr"]).format == "csr"
    frame = join(KINDS["frame"], KINDS["frame"])
    assert is_frame(frame)
    assert frame.index.tolist() == list(range(8))


# ---- columns ------------------------------------------------------------------------------
def test_columns_of_a_frame():
    assert columns(FRAME, "a").tolist() == [[1.0], [2.0], [3.0]]
    assert columns(FRAME, "a").dtype == float
    assert columns(FRAME, ["b", "a"]).tolist() == [[0.5, 1.0], [1.5, 2.0], [2.5, 3.0]]
    assert columns(FRAME, slice(0, 2)).tolist() == [[1.0, 0.5], [2.0, 1.5], [3.0, 2.5]]
    assert columns(FRAME, "s") == ["x", "y", "x"]
    flags = pd.DataFrame({"f": [True, False], "c": pd.Categorical(["u", "v"])})
    assert columns(flags, "f").tolist() == [[1.0], [0.0]]
    assert columns(flags, "c") == ["u", "v"]


def test_columns_of_an_array():
    X = np.arange(6.0).reshape(2, 3)
    assert columns(X, 1).tolist() == [[1.0], [4.0]]
    assert columns(X, -1).tolist() == [[2.0], [5.0]]
    assert columns(X, [2, 0]).tolist() == [[2.0, 0.0], [5.0, 3.0]]
    assert columns(X, slice(1, None)).tolist() == [[1.0, 2.0], [4.0, 5.0]]
    assert columns(X.astype("f4"), 1).dtype == np.float32
    S = columns(sp.coo_matrix(X), [1, 2])
    assert sp.issparse(S)
    assert S.toarray().tolist() == [[1.0, 2.0], [4.0, 5.0]]
    mixed = np.array([["u", 1.0], ["v", 2.0]], dtype=object)
    assert columns(mixed, 0) == ["u", "v"]
    assert columns(mixed, 1).tolist() == [[1.0], [2.0]]
    assert columns(np.array([["u", "p"], ["v", "q"]]), 1) == ["p", "q"]


def test_columns_of_lists():
    pairs = [(0.5, "ab"), (1, "cd")]
    assert columns(pairs, 0).tolist() == [[0.5], [1.0]]
    assert columns(pairs, 1) == ["ab", "cd"]
    assert columns([(1, 2, 3), (4, 5, 6)], [2, 0]).tolist() == [[3.0, 1.0], [6.0, 4.0]]
    assert columns([(1, 2, 3), (4, 5, 6)], slice(0, 2)).tolist() == [[1.0, 2.0], [4.0, 5.0]]
    records = [{"x": 1.0, "t": "ab"}, {"x": 2.0, "t": "cd"}]
    assert columns(records, "x").tolist() == [[1.0], [2.0]]
    assert columns(records, "t") == ["ab", "cd"]
    vectors = columns([(np.ones(2), "a"), (np.zeros(2), "b")], 0)
    assert [v.tolist() for v in vectors] == [[1.0, 1.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("X", "key", "message"),
    [
        (FRAME, "z", "the table has no column 'z'; it has: 'a', 'b', 's'."),
        (FRAME, ["a", "z"], "no column 'z'"),
        (FRAME, ["a", "s"], "column 's' does not contain numbers; give it its own kernel"),
        (np.zeros((2, 3)), 3, ".on(3): X has 3 columns"),
        (np.zeros((2, 3)), "a", ".on('a'): X has 3 columns"),
        (np.zeros((2, 3)), [0, 7], "X has 3 columns"),
        (sp.csr_matrix(np.eye(2)), 5, ".on(5): X has 2 columns"),
        (np.zeros(3), 0, ".on(0) needs a 2-d array, got 1-d"),
        ([(1, 2)], 2, ".on(2): samples have no such entry"),
        ([{"a": 1}], "b", ".on('b'): samples have no such entry"),
        ([1.0, 2.0], 0, ".on(0): samples have no such entry"),
        ([("u", 1.0)], [0, 1], "not all of these entries are numbers"),
    ],
)
def test_columns_refuses(X, key, message):
    with pytest.raises(DomainError) as error:
        columns(X, key)
    assert message in str(error.value)


# ---- vectors ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("X", "dtype", "shape"),
    [
        ([[1, 2], [3, 4]], np.float64, (2, 2)),
        ([1, 2, 3], np.float64, (3, 1)),
        (np.array([1, 2], np.int8), np.float64, (2, 1)),
        (np.array([[True, False]]), np.float64, (1, 2)),
        (np.ones((2, 2), np.float32), np.float32, (2, 2)),
        (np.ones((2, 2), np.float16), np.float64, (2, 2)),
        (np.asfortranarray(np.ones((3, 2))), np.float64, (3, 2)),
        (pd.DataFrame({"a": [1, 2], "b": [0.5, 1]}), np.float64, (2, 2)),
        (pd.Series([1.0, 2.0]), np.float64, (2, 1)),
        (np.array([[1, 2.5]], dtype=object), np.float64, (1, 2)),
        ([(1.0, 2), np.array([3, 4])], np.float64, (2, 2)),
    ],
)
def test_as_vectors(X, dtype, shape):
    V = as_vectors(X, "k")
    assert V.dtype == dtype
    assert V.shape == shape
    assert V.flags.c_contiguous


def test_as_vectors_sparse():
    for X in (
        sp.coo_matrix(np.eye(2)),
        sp.csc_matrix(np.eye(2, dtype=int)),
        sp.csr_array(np.eye(2)),
    ):
        V = as_vectors(X, "k")
        assert V.format == "csr"
        assert V.dtype == np.float64
    assert as_vectors(sp.csr_matrix(np.eye(2, dtype=np.float32)), "k").dtype == np.float32


def test_as_vectors_does_not_copy_what_is_fine():
    X = np.ones((3, 2))
    assert as_vectors(X, "k") is X


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (["a", "b"], "Gaussian works on vectors: an (n, d) array of numbers, got a list"),
        ([["a", 1.0]], "works on vectors"),
        ([[1.0, 2.0], [3.0]], "an (n, d) array of numbers"),
        ([{"a": 1}], "works on vectors"),
        (np.zeros((2, 2), complex), "works on vectors"),
        (sp.csr_matrix(1j * np.eye(2)), "works on real numbers"),
        (np.zeros((2, 2, 2)), "works on (n, d) arrays, got 3 dimensions"),
        ([], "X has no samples"),
        (np.zeros((0, 3)), "X has no samples (shape (0, 3))"),
        (np.zeros((3, 0)), "X has 0 feature(s)"),
        ([[1.0, np.nan]], "X contains NaN or infinity; fill or drop those rows first"),
        ([[1.0, np.inf]], "NaN or infinity"),
        (sp.csr_matrix([[np.nan, 0.0]]), "NaN or infinity"),
        (FRAME, "column 's' does not contain numbers; select columns with .on([...])"),
    ],
)
def test_as_vectors_refuses(X, message):
    with pytest.raises(DomainError) as error:
        as_vectors(X, "Gaussian")
    assert message in str(error.value)


def test_huge_numbers_are_not_taken_for_infinity():
    X = np.full((4, 2), 1e308)
    assert as_vectors(X, "k") is X


# ---- how columns are named -------------------------------------------------------------------
@pytest.mark.parametrize(
    ("given", "key"),
    [
        (FRAME.columns[:2], ["a", "b"]),
        (np.array([0, 1]), [0, 1]),
        (np.array(["a", "b"]), ["a", "b"]),
        (np.array([True, False, True]), [0, 2]),
        (range(2), [0, 1]),
        (pd.Series(["a", "b"]), ["a", "b"]),
        (np.int64(1), 1),
        (["a"], ["a"]),
        ("a", "a"),
        (slice(0, 2), slice(0, 2)),
    ],
)
def test_several_columns_are_a_list(given, key):
    assert column_key(given) == key
    assert type(column_key(given)) is type(key)
    assert Gaussian().on(given) == Gaussian().on(key)
    assert repr(Gaussian().on(given)) == repr(Gaussian().on(key))


def test_arrays_of_columns():
    X = np.arange(6.0).reshape(2, 3) / 5
    expected = Gaussian()(X[:, :2])
    for key in ([0, 1], np.array([0, 1]), range(2), (0, 1), np.array([True, True, False])):
        np.testing.assert_array_equal(Gaussian().on(key)(X), expected)
    np.testing.assert_array_equal(
        Gaussian().on(FRAME.columns[:2])(FRAME), Gaussian()(FRAME[["a", "b"]])
    )
    pairs = pd.DataFrame(X, columns=pd.MultiIndex.from_tuples([("u", 1), ("u", 2), ("v", 1)]))
    np.testing.assert_array_equal(Gaussian().on(("v", 1))(pairs), Gaussian()(X[:, 2:]))


# ---- what holds no samples -------------------------------------------------------------------
@pytest.mark.parametrize("x", ["abc", b"abc"])
def test_one_string_is_no_list_of_samples(x):
    kernel, f = Spectrum(2), Spectrum(2).at("abc")
    model = KernelRidge(kernel=kernel).fit(["abc", "abd"], [0.0, 1.0])
    for use in (
        lambda: kernel(x),
        lambda: kernel(["abc"], x),
        lambda: Gaussian()(x),
        lambda: f(x),
        lambda: model.predict(x),
        lambda: KernelRidge(kernel=kernel).fit(x, [0.0, 1.0, 2.0]),
    ):
        with pytest.raises(DomainError, match=r"a single (str|bytes); wrap it: \[x\]"):
            use()


MASKED = np.ma.masked_greater(np.arange(8.0).reshape(4, 2), 6)


def test_masked_values_are_refused():
    full = np.ma.array(np.arange(8.0).reshape(4, 2))
    plain = np.arange(8.0).reshape(4, 2)
    y = np.arange(4.0)
    model = KernelRidge(kernel="rbf").fit(full, y)
    for use in (
        lambda X: Gaussian()(X),
        lambda X: Gaussian()(plain, X),
        lambda X: Gaussian().on(1)(X),
        lambda X: Gaussian().at(plain[0])(X),
        lambda X: model.predict(X),
        lambda X: KernelRidge(kernel="rbf").fit(X, y).predict(plain),
        lambda X: KernelRidge(kernel=Gaussian()).fit(X, y).predict(plain),
        lambda X: two_sample_test(X, plain + 1, rng=0).pvalue,
    ):
        np.testing.assert_array_equal(use(full), use(plain))
        with pytest.raises(DomainError, match=r"1 masked entries.*X.filled"):
            use(MASKED)
        with pytest.raises(DomainError, match=r"X\[3\] has 1 masked entries.*X\[3\].filled"):
            use(list(MASKED))
        np.testing.assert_array_equal(use(list(full)), use(plain))


def test_masked_series_in_a_list_are_refused():
    series = np.ma.masked_greater([1.0, 2.0, 9.0], 5)
    for kernel in (GlobalAlignment(1.0), Kendall()):
        with pytest.raises(DomainError, match=r"X\[1\] has 1 masked"):
            kernel([series.data, series])


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="strings of NumPy 2")
def test_arrays_of_strings_of_numpy():
    words = ["abc", "abd", "xyz"]
    X = np.array(words, dtype=np.dtypes.StringDType())
    table = np.column_stack([X, X])
    np.testing.assert_array_equal(Spectrum(2)(X), Spectrum(2)(words))
    np.testing.assert_array_equal(Spectrum(2).on(1)(table), Spectrum(2)(words))
    assert columns(table, 0) == words
    with pytest.raises(DomainError, match="For strings use Spectrum"):
        Gaussian()(X)
    model = KernelRidge(kernel=Spectrum(2)).fit(X, np.arange(3.0))
    expected = KernelRidge(kernel=Spectrum(2)).fit(words, np.arange(3.0)).predict(words)
    np.testing.assert_array_equal(model.predict(X), expected)


def test_numbers_of_any_class():
    expected = np.array([[1.0], [2.5]])
    for X in (
        np.array([[1], [2.5]], dtype=object),
        [[np.float32(1)], [2.5]],
        np.array([[True], [2.5]], dtype=object),
    ):
        np.testing.assert_array_equal(as_vectors(X, ""), expected)
    assert as_vectors(np.eye(2, dtype=bool), "").tolist() == [[1, 0], [0, 1]]
    flags, numbers = np.array([[True], [False]]), np.array([[0.5], [1.5]])
    assert join(flags, numbers).tolist() == [[1], [0], [0.5], [1.5]]
    with pytest.raises(DomainError, match="array of numbers"):
        as_vectors(np.ones((2, 2)) + 1j, "Gaussian")


def test_rows_evenly_spaced():
    assert evenly(9, 3).tolist() == [0, 4, 8]
    assert evenly(3, 9).tolist() == [0, 1, 2]
    assert evenly(5, 1).tolist() == [0]
    assert evenly(0, 9).tolist() == []
    for n in range(2, 60):
        rows = evenly(n, 7)
        assert len(rows) == min(n, 7)
        assert rows[0] == 0
        assert rows[-1] == n - 1
        assert np.ptp(np.diff(rows)) <= 1
