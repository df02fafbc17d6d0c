"""Progress bars, if requested."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")
_LEFT = "{desc:<24.24} {percentage:3.0f}% |{bar:24}| about {remaining} left"


def note(text: str) -> None:
    """A line for interactive use, in a terminal or a notebook; scripts are left in peace."""
    if sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules):
        print(text, file=sys.stderr)


def progress(items: list, verbose: bool, what: str = "kernel settings") -> Any:
    """The items, with a progress bar if requested."""
    if not verbose:
        return items
    from tqdm.auto import tqdm

    return tqdm(items, desc=what)


def counted(job: Callable[[T], None], total: int, verbose: bool, what: str) -> Callable[[T], None]:
    """A job of the pool that is done ``total`` times, with a progress bar if requested."""
    if not verbose:
        return job
    from tqdm.auto import tqdm

    bar = tqdm(total=total, desc=what)

    def ticking(item: T) -> None:
        job(item)
        bar.update()
        if bar.n >= total:
            bar.close()

    return ticking


def quiet(text: str, amount: float = 1.0) -> None:
    """A callback that ignores progress."""


@contextmanager
def ticker(verbose: bool, what: str, total: float | None = None) -> Iterator[Callable[..., None]]:
    """A callback that shows each round of a solver, if requested.

    With a total, calls also say how much of it a round was, and the time that is left is shown.
    """
    if not verbose:
        yield quiet
        return
    from tqdm.auto import tqdm

    known = {} if total is None else {"total": total, "bar_format": _LEFT, "smoothing": 0}
    with tqdm(desc=what, leave=False, **known) as bar:

        def tick(text: str, amount: float = 1.0) -> None:
            bar.set_description_str(text, refresh=False)
            bar.update(amount if total is None else min(amount, total - bar.n))

        yield tick
