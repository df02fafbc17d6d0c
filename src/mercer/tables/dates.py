"""Dates and times: how they are recognised, and encoded as numbers.

A date becomes a trend (days since the middle of the training data) and a point on a circle for
every cycle that the column covers: the year, if it spans most of one; the week, if days differ; the
day, if times do.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..frames import distinct, pandas
from .numbers import is_missing

_DATE = r"(?:\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2\d{4})(?!\d)"
_REST = (
    r"(?:[T ]\s*\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\s*(?:[AaPp][Mm])?\s*(?:Z|[+-]\d{2}:?\d{2})?)?"
)
_YEAR_FIRST = r"\d{4}[-/.]"
CYCLES = {"year": 365.2425, "week": 7.0, "day": 1.0}  # in days
_LEAST = {"year": 300.0, "week": 10.0, "day": 0.0}  # days that a column spans if a cycle is used
_EPOCH = 3.0  # days from Monday to the Thursday that time is counted from


def are_dates(values: Any) -> bool:
    """Are these strings dates, with or without a time, as 2024-03-31, 31.3.2024 or 3/31/2024?"""
    given = values[~is_missing(values)].str.strip()
    if not len(given) or not given.iloc[:20].str.match(_DATE).all():
        return False
    return bool(given.str.fullmatch(_DATE + _REST).all())


def order_of(values: Any) -> str:
    """Which comes first in strings of dates: "year", "day" or "month"."""
    given = values[~is_missing(values)].str.strip()
    if given.str.match(_YEAR_FIRST).all():
        return "year"
    first = given.str.extract(r"^(\d{1,2})[-/.](\d{1,2})[-/.]\d{4}").astype(float)
    if (first[0] > 12).any():
        return "day"
    if (first[1] > 12).any():
        return "month"
    return "month" if given.str.contains("/", regex=False).all() else "day"


def days(column: Any, order: str = "year") -> np.ndarray:
    """Days since 1970 as floats, NaN where there is no date."""
    pd = pandas()
    dtype = column.dtype
    if getattr(dtype, "kind", "O") == "M" or str(dtype).startswith("datetime"):
        return _of_stamps(pd.to_datetime(column, utc=True))
    codes, levels = distinct(column)
    text = pd.Series([str(x).strip().replace(",", ".") for x in levels], dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pd.to_datetime(
            text, errors="coerce", utc=True, format="mixed", dayfirst=order == "day"
        )
    return np.append(_of_stamps(found), np.nan)[codes]


def _of_stamps(stamps: Any) -> np.ndarray:
    naive = stamps.dt.tz_localize(None)
    values = naive.to_numpy().astype("datetime64[us]")
    found = values.astype("int64") / 86_400e6
    return np.where(np.isnat(values), np.nan, found)


def cycles_of(values: np.ndarray) -> list[str]:
    """The cycles that these days cover."""
    given = values[np.isfinite(values)]
    if not len(given):
        return []
    span = float(np.ptp(given))
    found = []
    for name, length in CYCLES.items():
        phases = np.round((given + _EPOCH) % length, 6 if name == "day" else 0)
        if span >= _LEAST[name] and len(np.unique(phases[:10_000])) > 1:
            found.append(name)
    return found


def on_circle(values: np.ndarray, cycle: str) -> np.ndarray:
    """Two columns: the position of each day in its cycle."""
    angle = 2 * np.pi * ((values + _EPOCH) % CYCLES[cycle]) / CYCLES[cycle]
    return np.column_stack([np.sin(angle), np.cos(angle)])
