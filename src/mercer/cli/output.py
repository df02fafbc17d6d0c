"""Text for a terminal: entries with a heading in the margin, small tables of numbers."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from math import isfinite
from pathlib import Path
from textwrap import fill
from typing import Any

from ..reports.markup import visible as printable  # names in a file must not steer the terminal

WIDTH = 98
_MARGIN = 10
ROOM = WIDTH - _MARGIN  # characters beside the headings


def say(text: str, quiet: bool = False) -> None:
    """Report what is being done."""
    if not quiet:
        print(f"mercer: {printable(text)} ...", file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """What may not be as it was meant."""
    print(f"mercer: warning: {printable(text)}", file=sys.stderr, flush=True)


def check_out(path: str | Path, what: str, *read: str | None) -> None:
    """Refuse, before long work, what cannot be written to, or is one of the files that are read."""
    path = Path(path)
    for other in filter(None, read):
        if path.exists() and os.path.exists(other) and path.samefile(other):
            raise FileExistsError(
                f"{str(path)!r} is a file that is read; give {what} another name, with --out."
            )
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder; give {what} the name of a file.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(path.parent)!r} for {what}.")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"{str(path.parent)!r} is not writable; choose another folder.")


def entry(heading: str, *paragraphs: str) -> str:
    """Wrapped paragraphs, with a heading in the margin."""
    indent = " " * _MARGIN
    lines = []
    for i, text in enumerate(paragraphs):
        first = heading.ljust(_MARGIN) if i == 0 else indent
        lines.append(
            fill(
                printable(text),
                WIDTH,
                initial_indent=first,
                subsequent_indent=indent,
                break_long_words=False,
                break_on_hyphens=False,
            )
        )
    return "\n".join(lines)


def command(*words: str, rest: str = "") -> str:
    """What to type next, on one line, however long, since it is copied from there."""
    return "next".ljust(_MARGIN) + printable(shlex.join(words)) + printable(rest)


def grid(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table: the first column to the left, the others to the right."""
    table = [[printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "   ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


def number(x: float) -> str:
    """Four digits, without an exponent where that can be read."""
    return f"{x:#.4g}" if abs(x) < 1000 or abs(x) >= 1e7 else f"{x:.0f}"


def as_json(value: object) -> str:
    """What a machine reads: numbers as numbers, what is not finite as null."""
    return json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(x) for x in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value if value is None or isinstance(value, str | bool | int) else str(value)
