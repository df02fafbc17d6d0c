"""Dates of all countries, and the numbers that are made of them."""

import datetime

import numpy as np
import pandas as pd
import pytest

from mercer.tables.dates import are_dates, cycles_of, days, on_circle, order_of


@pytest.mark.parametrize(
    ("dates", "order", "wanted"),
    [
        (["2024-01-31", "2023-12-01", "2024-01-31 12:00"], "year", [19753.0, 19692.0, 19753.5]),
        (["31.1.2024", "01.12.2023", "?"], "day", [19753.0, 19692.0, np.nan]),
        (["1/31/2024", "12/1/2023", "1/31/2024"], "month", [19753.0, 19692.0, 19753.0]),
        (["2024/01/31T06:00", "2023/12/01", "2023/12/02"], "year", [19753.25, 19692.0, 19693.0]),
    ],
)
def test_dates_as_people_write_them(dates, order, wanted):
    column = pd.Series(dates)
    assert are_dates(column)
    assert order_of(column) == order
    np.testing.assert_allclose(days(column, order), wanted)


def test_what_is_no_date():
    assert not are_dates(pd.Series(["1.2.2024555", "1.3.2024"]))
    assert not are_dates(pd.Series(["2024-01-31", "soon"]))
    assert not are_dates(pd.Series(["?", "-"]))


def test_columns_of_dates():
    """Time zones are one time; gaps stay gaps; objects of the standard library count too."""
    zone = pd.Series(pd.to_datetime(["2020-01-01T02:00+02:00", None], utc=True))
    np.testing.assert_array_equal(days(zone), [18262.0, np.nan])
    plain = pd.Series([datetime.date(2020, 1, 1), None], dtype=object)
    np.testing.assert_array_equal(days(plain), [18262.0, np.nan])


def test_cycles():
    assert cycles_of(np.arange(800.0)) == ["year", "week"]
    assert cycles_of(np.arange(0, 800, 7.0)) == ["year"]  # always the same weekday
    assert cycles_of(np.arange(0, 3, 0.1)) == ["day"]
    assert cycles_of(np.array([np.nan])) == []
    circle = on_circle(np.array([4.0, 11.0, 4.5]), "week")  # Monday is where a week begins
    np.testing.assert_allclose(circle[0], [0, 1], atol=1e-12)
    np.testing.assert_allclose(circle[0], circle[1], atol=1e-12)
    np.testing.assert_allclose(np.sum(circle**2, axis=1), 1)
