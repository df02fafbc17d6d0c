"""Triton: functions from source, compiled for a GPU or run by its interpreter."""

from __future__ import annotations

import linecache
import os
from functools import cache
from hashlib import sha256
from typing import Any


def interpreted() -> bool:
    """Does Triton run its kernels in Python, on the processor?"""
    return os.environ.get("TRITON_INTERPRET") == "1"


@cache
def compiled(source: str, name: str = "fused") -> Any:
    """The function of this name in a source, for Triton to compile or to interpret."""
    import triton
    import triton.language as tl

    file = f"<mercer {sha256(source.encode()).hexdigest()[:16]}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    scope: dict[str, Any] = {"tl": tl, "__name__": __name__}
    before = set(scope)
    exec(compile(source, file, "exec"), scope)  # written in this package, of numbers and names
    for function in set(scope) - before - {"__builtins__"}:
        scope[function] = triton.jit(scope[function])
    return scope[name]


def run_with_room(run: Any, stages: int, *arguments: Any, **options: Any) -> Any:
    """Run a function with so many tiles on their way, or fewer where there is no room for them."""
    while True:
        try:
            return run(*arguments, num_stages=stages, **options)
        except Exception as error:  # it has no place in Triton that all versions share
            if type(error).__name__ != "OutOfResources" or stages == 1:
                raise
            stages -= 1
