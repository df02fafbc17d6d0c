"""Triton: functions from source, compiled for a GPU or run by its interpreter."""

from __future__ import annotations

import linecache
import os
from functools import cache
from hashlib import sha256
from typing import Any

from ...exceptions import DeviceError, DeviceWarning, warn


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


class TritonError(DeviceError):
    """A kernel that Triton cannot compile or start.

    Parameters
    ----------
    why : str
        What its compiler, the one that it calls, or the driver said.
    """

    def __init__(self, why: str) -> None:
        super().__init__(
            f"Triton cannot run a kernel ({why}); update Triton or the driver, or leave "
            f'device="cpu".'
        )
        self.why = why


def launch(
    source: str,
    grid: tuple[int, ...],
    *arguments: Any,
    name: str = "fused",
    stages: int = 0,
    **options: Any,
) -> None:
    """Launch a function with one program for each point of the grid.

    Parameters
    ----------
    source, name : str
        As for :func:`compiled`.
    grid : tuple of int
    stages : int
        How many tiles are on their way at a time, at most: fewer where there is no room for them.
        With 0 that is left to Triton.
    *arguments, **options
        Of the function, and of Triton.
    """
    import torch

    while True:
        depth = {"num_stages": stages} if stages else {}
        try:
            compiled(source, name)[grid](*arguments, **options, **depth)
            return
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # of its compiler, of the one that it calls, of the driver
            if type(error).__name__ == "OutOfResources" and stages > 1:
                stages -= 1
                continue
            line = (str(error).strip().splitlines() or [""])[0]
            raise TritonError(f"{type(error).__name__}: {line[:200]}") from error


def warn_of_plain(device: str, error: TritonError) -> None:
    """Say that PyTorch does what Triton cannot."""
    warn(
        f"device={device!r}: Triton failed, so products are those of PyTorch, tile by tile, which "
        f"take longer ({error.why}).",
        DeviceWarning,
    )
