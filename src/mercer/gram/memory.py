"""Memory: in words, as a budget, and how much of it is left."""

from __future__ import annotations

import os
import re

import numpy as np

from ..exceptions import MemoryPlanError

_UNITS = {"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_UNCHECKED = 1e8  # arrays up to this size are made without asking


def parse_memory(value: float | str) -> float:
    """Bytes from a number of bytes or a string such as ``"2 GB"``."""
    if isinstance(value, str):
        match = re.fullmatch(r"\s*([\d.]+)\s*([kmgt]i?b)\s*", value.lower())
        if not match or match[2] not in _UNITS:
            raise ValueError(f'memory must be bytes or a string like "2 GB", got {value!r}.')
        return float(match[1]) * _UNITS[match[2]]
    return float(value)


def memory_words(nbytes: float) -> str:
    """A number of bytes in words: ``"800 MB"``."""
    for unit in ("B", "kB", "MB", "GB"):
        if nbytes < 1000:
            return f"{nbytes:.3g} {unit}"
        nbytes /= 1000
    return f"{nbytes:.3g} TB"


def free_memory() -> float:
    """Bytes this process can still take: free memory of the machine, or of its container."""
    free = float("inf")
    try:
        with open("/proc/meminfo") as lines:
            found = re.search(r"MemAvailable:\s+(\d+) kB", lines.read())
            free = int(found[1]) * 1024.0 if found else free
    except OSError:
        if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
            free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2.0
    try:
        with (
            open("/sys/fs/cgroup/memory.max") as limit,
            open("/sys/fs/cgroup/memory.current") as now,
        ):
            free = min(free, float(limit.read()) - float(now.read()))
    except (OSError, ValueError):  # no such control group, or "max"
        pass
    return free if np.isfinite(free) else 4e9


def require_memory(nbytes: float, what: str) -> None:
    """Refuse, in one sentence, to make an array larger than the free memory."""
    if nbytes > _UNCHECKED and nbytes > (free := free_memory()):
        raise MemoryPlanError(
            f"{what} needs {memory_words(nbytes)}, but {memory_words(free)} are free; use float32 "
            f"or fewer samples, or a method that never stores K (Plan(storage='tiled'))."
        )
