"""Series in all forms that people hold them in."""

import numpy as np
import pytest

from mercer import GlobalAlignment, LagEmbedding, Linear, PairHMM, Signature, SoftSubsequence
from mercer.exceptions import DomainError
from mercer.kernels.ragged import ragged


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
        ([np.zeros((3, 2)), np.zeros((3, 1))], "sample 1 has points of 1 channels"),
        ([np.zeros((3, 2, 1))], "sample 0 has 3 dimensions"),
        ([1.0, 2.0], r"sample 0 is 1.0, not a series: .* wrap a single series: \[x\]"),
        ([None, [1.0]], "sample 0 is None, not a series"),
        ([[1.0], [1j, 2.0]], "sample 1 is complex"),
        (np.array([[1j, 2.0]]), "sample 0 is complex"),
        (["abc"], "sample 0 is no series"),
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
            ValueError, match="points of 2 channels cannot be compared with points of 1"
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
