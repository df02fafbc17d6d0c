"""Series in all forms that people hold them in."""

import numpy as np
import pandas as pd
import pytest

from mercer import (
    DilatedConvolution,
    GlobalAlignment,
    LagEmbedding,
    Linear,
    PairHMM,
    Signature,
    SoftSubsequence,
)
from mercer.exceptions import DomainError
from mercer.kernels.series.ragged import ragged


def test_all_forms_hold_the_same_series(rng):
    X = rng.normal(size=(5, 7, 2))
    padded = np.full((5, 9, 2), np.nan)
    padded[:, :7] = X
    as_list = [x.tolist() for x in X]
    for form in (X, padded, list(X), as_list, tuple(X), [x.astype(object) for x in X]):
        P = ragged(form, "test")
        np.testing.assert_array_equal(P.values.reshape(5, 7, 2), X)
        np.testing.assert_array_equal(P.size, 7)
    single = X.astype(np.float32)[:, :, 0]
    columns = [x[:, None] for x in single]
    for form in (single, list(single), columns, single[:, :, None]):
        P = ragged(form, "test")
        assert P.values.dtype == np.float64
        assert P.channels == 1
        np.testing.assert_array_equal(P.values.ravel(), single.ravel())
    np.testing.assert_array_equal(ragged(np.arange(6).reshape(2, 3), "").values.ravel(), range(6))


def test_series_of_many_lengths_and_parts_of_them():
    X = [[1, 2, 3], [4, np.nan, np.nan], [5, 6]]
    P = ragged(X, "test")
    np.testing.assert_array_equal(P.size, [3, 1, 2])
    Q = P[[2, 0]]
    assert len(Q) == 2
    np.testing.assert_array_equal(Q.values[Q.start], [[5], [1]])


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([[1.0, 2.0], [1.0, np.nan, 2.0]], "sample 1 holds NaN or infinity at time 1"),
        (np.array([[1.0, np.inf]]), "sample 0 holds NaN or infinity at time 1"),
        ([[[1.0, np.nan], [2.0, 3.0]]], "sample 0 holds NaN or infinity at time 0"),
        ([[1.0], []], "sample 1 is empty"),
        ([[np.nan, np.nan]], "sample 0 is empty"),
        (np.zeros((3, 0)), "sample 0 is empty"),
        ([np.zeros((3, 2)), np.zeros((3, 1))], "sample 1 has 1 channels"),
        ([np.zeros((3, 2, 1))], "sample 0 has 3 dimensions"),
        ([1.0, 2.0], r"sample 0 is 1.0, not a series: .* wrap a single series: \[x\]"),
        ([None, [1.0]], "sample 0 is None, not a series"),
        ([[1.0], [1j, 2.0]], "sample 1 is complex"),
        (np.array([[1j, 2.0]]), "sample 0 is complex"),
        (["abc"], "sample 0 is not a series"),
        ("abc", "got a string"),
        (np.zeros(3), "wrap a single series"),
        ([], "no samples"),
    ],
)
def test_what_is_not_series_is_refused(X, words):
    with pytest.raises(DomainError, match=words):
        GlobalAlignment(1.0)(X)


def test_channels_must_agree(rng):
    X, Y = rng.normal(size=(3, 5, 2)), rng.normal(size=(3, 5, 1))
    for kernel in (
        GlobalAlignment(1.0),
        Signature(),
        LagEmbedding(Linear(), 2),
        PairHMM(1.0),
        SoftSubsequence(1.0),
    ):
        with pytest.raises(
            ValueError, match="points with 2 channels cannot be compared with points with 1"
        ):
            kernel(X, Y)


def test_tables_of_numbers_are_told_what_to_do(rng):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(rng.normal(size=(4, 6)))
    with pytest.raises(DomainError, match=r"X\.to_numpy\(\) if each row is one series"):
        GlobalAlignment(1.0)(table)
    rows = [pd.Series(row) for row in table.to_numpy()]
    np.testing.assert_array_equal(
        GlobalAlignment(1.0)(rows), GlobalAlignment(1.0)(table.to_numpy())
    )


class TestTimeBeforeChannels:
    """(n, T, d) is the rule; what looks like (n, d, T) is refused in words."""

    @pytest.mark.parametrize("shape", [(4, 1, 30), (4, 6, 100), (4, 2, 3)])
    @pytest.mark.parametrize("kernel", [GlobalAlignment(1.0), Signature(), DilatedConvolution()])
    def test_channels_first_is_refused(self, kernel, shape, rng):
        X = rng.standard_normal(shape)
        with pytest.raises(DomainError, match=r"transpose\(0, 2, 1\).*list\(X\)"):
            kernel(X)
        padded = X.copy()
        padded[0, :, -1] = np.nan
        with pytest.raises(DomainError, match="as in aeon and sktime"):
            kernel(padded)

    def test_both_remedies(self, rng):
        X = rng.standard_normal((4, 2, 7))
        kernel = GlobalAlignment(1.0)
        assert ragged(X.transpose(0, 2, 1), "k").size.tolist() == [7] * 4
        np.testing.assert_array_equal(kernel(X.transpose(0, 2, 1)), kernel([x.T for x in X]))
        assert ragged(list(X), "k").size.tolist() == [2] * 4
        assert ragged(X.transpose(0, 2, 1)[:, :2, :], "k").channels == 2


class TestTimeStamps:
    def test_indices_are_kept_from_the_first_on(self):
        days = pd.to_datetime(["2024-03-01", "2024-03-02", "2024-03-05"])
        X = ragged(
            [
                pd.Series([1.0, 2.0, 3.0], index=days),
                [4.0, 5.0],
                pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, index=[10, 12.5])["a"],
                pd.Series([1.0, 2.0], index=["x", "y"]),
                pd.Series([1.0, 2.0, np.nan], index=days.tz_localize("UTC")),
            ],
            "k",
        )
        day, none = 86400.0, np.nan
        expected = [0, day, 4 * day, none, none, 0, 2.5, none, none, 0, day]
        np.testing.assert_array_equal(X.times, expected)
        np.testing.assert_array_equal(X[[2]].times, X.times)
        assert ragged([[1.0, 2.0]], "k").times is None

    @pytest.mark.parametrize(
        ("index", "expected"),
        [
            (np.array([7, 5, 9], dtype="u8"), [0, -2, 2]),
            (np.array([2**64 - 1, 0, 1], dtype="u8"), [0, 1 - 2.0**64, 2 - 2.0**64]),
            (np.array([-(2**63), 0, 2**63 - 1]), [0, 2.0**63, 2.0**64]),
            (np.array([200, 100, 250], dtype="u1"), [0, -100, 50]),
            (
                np.array(["0001-01-01", "0001-01-02", "3001-01-01"], "M8[s]"),
                [0, 86400, 1_095_727 * 86400],
            ),
            (np.array(["NaT", "2024-01-01", "2024-01-02"], "M8[s]"), [np.inf, None, None]),
        ],
    )
    def test_stamps_of_any_size(self, index, expected):
        """Differences do not wrap; dates that nanoseconds do not reach keep their unit."""
        found = ragged([pd.Series([1.0, 2.0, 3.0], index=index)], "k").times
        known = [e is not None for e in expected]
        np.testing.assert_array_equal(found[known], np.array(expected, float)[known])
