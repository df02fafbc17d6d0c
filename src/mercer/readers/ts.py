"""Series in the .ts files of the UCR and UEA archives."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Lines, Records, Source

_FLAGS = {"true": True, "false": False}
_TRUE_OR_FALSE = "timeStamps", "missing", "univariate", "equalLength", "classLabel", "targetLabel"
_COUNTS = "dimensions", "seriesLength"
_NAMES = {name.lower(): name for name in (*_TRUE_OR_FALSE, *_COUNTS, "problemName", "data")} | {
    "dimension": "dimensions"
}


def read_ts(source: Source, *, missing: str = "keep", encoding: str = "utf-8") -> Records:
    r"""The series of a .ts file, with their labels or targets.

    After a header of lines ``@name value`` and a line ``@data`` there is one line per case: its
    channels, separated by colons, each a list of numbers with ``?`` for those that are missing, and
    at the end the class label (``@classLabel true a b``) or the target (``@targetLabel true``).

    Parameters
    ----------
    source : path or open file
        A file of text, also compressed by gzip.
    missing : "keep" or "interpolate"
        What to do with ``?``: NaN, which kernels on series accept only at the end of a series; or
        the line between the values next to it in its channel, and the nearest one at the ends.
    encoding : str
        That of the file.

    Returns
    -------
    Records
        ``X`` is an array of shape (cases, times), or (cases, times, channels) if there are several
        channels; and a list of arrays, of shape (times,) or (times, channels), if not all series
        are as long. ``y`` holds labels as strings, or targets as numbers. In ``about`` are the
        fields of the header under their own names, and under ``"missing_values"`` how many values
        are missing.

    Notes
    -----
    Files with time stamps are rejected, since they are not lists of numbers: kernels take times
    that are not evenly spaced as one more channel.

    Examples
    --------
    >>> import io
    >>> from mercer import GlobalAlignment, read_ts
    >>> text = "@univariate true\n@classLabel true up down\n@data\n1,2,3:up\n3,?,2,1:down\n"
    >>> X, y = read_ts(io.StringIO(text), missing="interpolate")
    >>> X, y
    ([array([1., 2., 3.]), array([3. , 2.5, 2. , 1. ])], array(['up', 'down'], dtype='<U4'))
    >>> GlobalAlignment()(X).shape
    (2, 2)
    """
    if missing not in ("keep", "interpolate"):
        raise ValueError(f'missing must be "keep" or "interpolate", got {missing!r}.')
    lines = Lines(source, encoding)
    rows = iter(lines)
    about = _header(lines, rows)
    classes, target = about.get("classLabel"), bool(about.get("targetLabel"))
    X: list[np.ndarray] = []
    y: list[Any] = []
    lost = 0
    for line in rows:
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        fields = text.split(":")
        if classes is not None or target:
            y.append(_label(lines, fields.pop().strip(), classes))
        channels = [_numbers(lines, part) for part in fields]
        series = _joined(lines, channels, about, X)
        gaps = np.isnan(series)
        lost += int(gaps.sum())
        X.append(
            _filled(lines, series, gaps) if missing == "interpolate" and gaps.any() else series
        )
    if not X:
        raise lines.error("there are no series after @data.")
    about["missing_values"] = lost
    equal = len({len(series) for series in X}) == 1
    found = np.array(y) if classes is not None or target else None
    return Records(np.stack(X) if equal else X, found, about=about)


def _header(lines: Lines, rows: Any) -> dict[str, Any]:
    """The fields before @data, as flags, numbers, lists of labels, or text."""
    about: dict[str, Any] = {}
    for line in rows:
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if not text.startswith("@"):
            raise lines.error(
                "a line of the header begins with @ or #; @data is missing before it."
            )
        name, _, value = text[1:].partition(" ")
        name, value = name.strip(), value.strip()
        key = _NAMES.get(name.lower(), name)
        if key == "data":
            return about
        about[key] = _value(lines, key, value)
        if key == "timeStamps" and about[key]:
            raise lines.error(
                "series with time stamps are not supported; save the stamps as a channel."
            )
    raise lines.error("there is no line @data.")


def _value(lines: Lines, key: str, value: str) -> Any:
    """One field of the header."""
    if key in _TRUE_OR_FALSE:
        flag, *labels = value.split() or [""]
        if flag.lower() not in _FLAGS:
            raise lines.error(f"@{key} must be true or false, got {value!r}.")
        if key != "classLabel":
            return _FLAGS[flag.lower()]
        if _FLAGS[flag.lower()] and not labels:
            raise lines.error("@classLabel true must list the labels.")
        return labels if _FLAGS[flag.lower()] else None
    if key in _COUNTS:
        if not value.isdecimal():
            raise lines.error(f"@{key} must be a number, got {value!r}.")
        return int(value)
    return value


def _label(lines: Lines, text: str, classes: list[str] | None) -> Any:
    if classes is None:
        return float(_numbers(lines, text)[0])
    if text not in classes:
        listed = ", ".join(classes[:10]) + (", ..." if len(classes) > 10 else "")
        raise lines.error(f"{text!r} is not one of the labels that @classLabel lists ({listed}).")
    return text


def _numbers(lines: Lines, text: str) -> np.ndarray:
    """One channel of a series."""
    values = text.replace("?", "nan").split(",")
    try:
        return np.array(values, dtype=np.float64)
    except ValueError:
        at, bad = next((i, v) for i, v in enumerate(text.split(",")) if not _is_number(v))
        shown = repr(bad.strip()[:40]) if bad.strip() else "nothing"
        raise lines.error(f"{shown} stands for value {at + 1}, which is not a number.") from None


def _is_number(text: str) -> bool:
    try:
        float(text.replace("?", "nan"))
    except ValueError:
        return False
    return True


def _joined(
    lines: Lines, channels: list[np.ndarray], about: dict[str, Any], before: list[np.ndarray]
) -> np.ndarray:
    """The channels as one series, checked against the header and the series before."""
    wanted = about.get("dimensions", 1 if about.get("univariate") else None)
    if wanted is None and before:
        wanted = before[0].shape[1] if before[0].ndim == 2 else 1
    if not channels or (wanted is not None and len(channels) != wanted):
        raise lines.error(f"there are {len(channels)} channels instead of {wanted or 'some'}.")
    sizes = sorted({len(channel) for channel in channels})
    if len(sizes) > 1:
        raise lines.error(
            f"the channels have {sizes[0]} to {sizes[-1]} values; all need the same number."
        )
    given = about.get("seriesLength") if about.get("equalLength") else None
    given = len(before[0]) if given is None and about.get("equalLength") and before else given
    if given is not None and sizes[0] != given:
        raise lines.error(f"the series has {sizes[0]} values, but the header says {given}.")
    return channels[0] if len(channels) == 1 else np.stack(channels, axis=1)


def _filled(lines: Lines, series: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    """Missing values on the line between those next to them."""
    out = series.reshape(len(series), -1).copy()
    for channel, unknown in zip(out.T, gaps.reshape(len(series), -1).T, strict=True):
        if unknown.all():
            raise lines.error("all values of a channel are missing, so nothing can be filled in.")
        at = np.arange(len(channel))
        channel[unknown] = np.interp(at[unknown], at[~unknown], channel[~unknown])
    return out.reshape(series.shape)
