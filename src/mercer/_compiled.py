"""Compiled functions, also where nothing can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """:func:`numba.njit` with keywords; ``cache=True`` keeps code where there is a place for it.

    Without any (the package is read-only, there is no home, and ``NUMBA_CACHE_DIR`` is not set, as
    in many containers) numba raises an error when a module is imported. Then functions are compiled
    again in each process instead.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(**options)(function)
        except RuntimeError as error:
            if not options.get("cache") or "no locator available" not in str(error):
                raise
        return numba.njit(**{**options, "cache": False})(function)

    return compiled
