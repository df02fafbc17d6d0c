"""Numbers as people write them."""

import numpy as np
import pandas as pd
import pytest

from mercer.tables.numbers import DECIMAL_COMMA, PLAIN, THOUSANDS, is_missing, numbers, style_of


@pytest.mark.parametrize(
    ("texts", "style", "values"),
    [
        (["1.5", "2e3", "-.5"], PLAIN, [1.5, 2000, -0.5]),
        (["3,14", "2", "-0,5"], DECIMAL_COMMA, [3.14, 2, -0.5]),
        (["1.234,5", "1.234", "12"], DECIMAL_COMMA, [1234.5, 1234, 12]),
        (["1,234", "12,5"], DECIMAL_COMMA, [1.234, 12.5]),
        (["0,123", "1,234"], DECIMAL_COMMA, [0.123, 1.234]),
        (["1,5e3", "2"], DECIMAL_COMMA, [1500, 2]),
        (["1,234", "12,345,678", "5"], THOUSANDS, [1234, 12345678, 5]),
        (["1,234.25", "7"], THOUSANDS, [1234.25, 7]),
        (["1,234", "5"], THOUSANDS, [1234, 5]),  # in doubt: this is said where it is done
        (["1 234", "1'234", "1\u2019234.5", "1\xa0234"], PLAIN, [1234, 1234, 1234.5, 1234]),
        (["12%", "12 %", "0.5", "1.5 %"], PLAIN, [0.12, 0.12, 0.5, 0.015]),
        (["12,5 %", "1"], DECIMAL_COMMA, [0.125, 1]),
        (["a, b", "c"], PLAIN, [np.nan, np.nan]),
        (["inf", "1e999", "nan", "12,"], PLAIN, [np.nan] * 4),
    ],
)
def test_styles(texts, style, values):
    column = pd.Series(texts)
    assert style_of(column) == style
    np.testing.assert_allclose(numbers(column, style), values)


def test_a_settled_style_is_not_guessed_again():
    """What a model was fitted to decides how new rows are read, be they few."""
    np.testing.assert_array_equal(numbers(pd.Series(["1,234"]), DECIMAL_COMMA), [1.234])
    np.testing.assert_array_equal(numbers(pd.Series(["1.234"]), DECIMAL_COMMA), [1234])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, 2, 3], index=[5, 3, 9]),
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series([True, False, True]),
        pd.Series(["1", None, 3.0], dtype=object),
        pd.Series([1.0, np.inf, np.nan]),
        pd.Series(["4", "5", "4"], dtype="category"),
    ],
)
def test_columns_of_all_types(column):
    found = numbers(column)
    assert found.dtype == float
    assert found.index.equals(column.index)
    wanted = [np.nan if pd.isna(x) else float(x) for x in column]
    np.testing.assert_array_equal(found, [x if np.isfinite(x) else np.nan for x in wanted])


def test_missing_values():
    texts = pd.Series(["?", " - ", "N/A", "null", "", "0", "none of them"])
    assert is_missing(texts).tolist() == [True] * 5 + [False] * 2
