"""Progress bars, where they are asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


def note(text: str) -> None:
    """One line for whoever sits before a terminal or a notebook; scripts are left in peace."""
    if sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules):
        print(text, file=sys.stderr)


def progress(items: list, verbose: bool, what: str = "kernel settings") -> Any:
    """The items, with a progress bar if asked for."""
    if not verbose:
        return items
    from tqdm.auto import tqdm

    return tqdm(items, desc=what)


def counted(job: Callable[[T], None], total: int, verbose: bool, what: str) -> Callable[[T], None]:
    """A job of the pool that is done ``total`` times, with a progress bar if asked for."""
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


@contextmanager
def ticker(verbose: bool, what: str) -> Iterator[Callable[[str], None]]:
    """What to call with a word about each round of a solver, to see it if that was asked for."""
    if not verbose:
        yield lambda text: None
        return
    from tqdm.auto import tqdm

    with tqdm(desc=what, leave=False) as bar:

        def tick(text: str) -> None:
            bar.set_description(text, refresh=False)
            bar.update()

        yield tick
