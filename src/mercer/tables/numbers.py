"""Numbers as people write them: 1,234.5 and 1.234,5 and 12 % and ?.

The meaning of strings is decided for a whole column, since "1,234" alone can be a thousand or
slightly more than one:

* ``?``, ``-``, ``n/a`` and the like are missing values;
* "12 %" is 0.12; spaces and apostrophes between digits are left out: "1 234" is 1234;
* commas are decimal ("3,14") if all values fit that and one of them can be read in no other way;
  points between groups of three digits are left out then: "1.234,5" is 1234.5;
* otherwise, commas between groups of three digits are left out: "1,234.5" is 1234.5.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..frames import pandas

PLAIN, DECIMAL_COMMA, THOUSANDS = "plain", "decimal comma", "thousands"
WORDS = {
    DECIMAL_COMMA: "commas are decimal: {} is read as {:g}",
    THOUSANDS: "commas between thousands are left out: {} is read as {:g}",
}
_MISSING = ("", "?", "-", "--", ".", "*", "n/a", "na", "n.a.", "nan", "none", "null", "missing")
_SIGN = r"[+-]?"
_EXPONENT = r"(?:[eE][+-]?\d+)?"
_PATTERNS = {
    DECIMAL_COMMA: rf"{_SIGN}(?:\d+|\d{{1,3}}(?:\.\d{{3}})+)(?:,\d+)?{_EXPONENT}",
    THOUSANDS: rf"{_SIGN}(?:\d+|\d{{1,3}}(?:,\d{{3}})+)(?:\.\d*)?{_EXPONENT}",
}
_ONLY_DECIMAL = rf"{_SIGN}(?:.*\..*,.*|0,\d+|\d{{4,}},\d+|\d+,(?!\d{{3}}$)\d+){_EXPONENT}"


def is_missing(values: Any) -> Any:
    """Which of these strings say that there is no value?"""
    return values.str.strip().str.lower().isin(_MISSING)


def style_of(values: Any) -> str:
    """How the numbers of a column of strings are written, missing values left out."""
    text = _bare(values)
    with_comma = text[text.str.contains(",", regex=False)]
    if not len(with_comma):
        return PLAIN
    fits = {style: text.str.fullmatch(pattern).mean() for style, pattern in _PATTERNS.items()}
    sure = with_comma.str.fullmatch(_ONLY_DECIMAL).any()
    if fits[DECIMAL_COMMA] > fits[THOUSANDS] or (sure and fits[DECIMAL_COMMA] == fits[THOUSANDS]):
        return DECIMAL_COMMA
    return THOUSANDS if with_comma.str.fullmatch(_PATTERNS[THOUSANDS]).any() else PLAIN


def numbers(column: Any, style: str = PLAIN) -> Any:
    """The column as floats, missing where there is no finite number."""
    pd = pandas()
    if getattr(column.dtype, "kind", "O") in "biuf":
        values = column.to_numpy(dtype=float, na_value=np.nan)
        finite = np.where(np.isfinite(values), values, np.nan)
        return pd.Series(finite, index=column.index, name=column.name)
    given = column.astype(object).dropna().astype(str)
    bare = _bare(given)
    if style == DECIMAL_COMMA:
        fits = bare.str.fullmatch(_PATTERNS[style])
        bare = bare.str.replace(".", "", regex=False).str.replace(",", ".", regex=False).where(fits)
    elif style == THOUSANDS:
        fits = bare.str.fullmatch(_PATTERNS[style])
        bare = bare.str.replace(",", "", regex=False).where(fits)
    values = pd.to_numeric(bare, errors="coerce").astype(float)
    values = values / np.where(given.str.strip().str.endswith("%"), 100.0, 1.0)
    values = values.where(np.isfinite(values))
    return values.reindex(column.index).astype(float)


def how_read(values: Any, style: str) -> str:
    """How strings that are not plain numbers were read; or nothing."""
    said = []
    if style in WORDS:
        example = values[values.str.contains(",", regex=False)].iloc[[0]]
        said.append(WORDS[style].format(repr(example.iloc[0]), numbers(example, style).iloc[0]))
    percent = values[values.str.strip().str.endswith("%")]
    if len(percent):
        example = percent.iloc[[0]]
        said.append(f"{example.iloc[0]!r} is read as {numbers(example, style).iloc[0]:g}")
    return "; ".join(said)


def count(n: int, what: str) -> str:
    """A number of things: ``"1 row"``, ``"3 rows"``."""
    return f"{n} {what}{'s' * (n != 1)}"


def part_of(n: int, whole: int) -> str:
    """Some of all: ``"3 of 10 rows"``, or ``"10 rows"``."""
    return count(whole, "row") if n == whole else f"{n} of {count(whole, 'row')}"


def _bare(values: Any) -> Any:
    """Without what does not change the number."""
    text = values.str.strip().str.removesuffix("%").str.strip()
    return text.str.replace(r"(?<=\d)[\s'\u2019](?=\d)", "", regex=True)
