"""Memory: in words, as a budget, and how much of it is left."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import MemoryPlanError
from .limits import most_memory

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
    """Bytes this process can still take: of the machine, of its containers, of its own limits."""
    free = min(_of_the_machine(), _of_control_groups(), _of_limits())
    return max(free, 0.0) if np.isfinite(free) else 4e9


def _of_the_machine() -> float:
    found = re.search(r"MemAvailable:\s+(\d+) kB", _text(Path("/proc/meminfo")))
    if found:
        return int(found[1]) * 1024.0
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2.0
    return np.inf


def _of_control_groups(
    own: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> float:
    """What the control groups of this process leave it."""
    return min(map(_left_in, _groups(own, root)), default=np.inf)


@cache
def _groups(own: Path, root: Path) -> tuple[Path, ...]:
    """The control groups of this process that limit memory, of either version, and all above them.

    Inside of a container the path of a group may begin above what is mounted: then the mounted
    root is the group itself.
    """
    found = []
    for line in _text(own).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top = root / "memory" if controllers else root
        at = top / path.strip("/")
        for group in [at, *at.parents] if at.is_relative_to(top) else []:
            if group.is_relative_to(top) and np.isfinite(_left_in(group)):
                found.append(group)
    return tuple(found)


def _left_in(group: Path) -> float:
    """The limit of a control group without what is used, but for files that can be dropped."""
    for limit, usage, files in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        try:
            left = float(_text(group / limit)) - float(_text(group / usage))
        except ValueError:  # no such file, or "max"
            continue
        found = re.search(rf"^{files} (\d+)", _text(group / "memory.stat"), re.MULTILINE)
        return left + (float(found[1]) if found else 0.0)
    return np.inf


def _of_limits() -> float:
    """What the limits of the process itself (``ulimit -v``, ``-d``) leave it."""
    try:
        import resource
    except ImportError:  # Windows
        return np.inf
    free = np.inf
    for limit, used in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        allowed = resource.getrlimit(limit)[0]
        if allowed != resource.RLIM_INFINITY:
            found = re.search(rf"{used}:\s+(\d+) kB", _text(Path("/proc/self/status")))
            free = min(free, allowed - (int(found[1]) * 1024.0 if found else 0.0))
    return free


def _text(path: Path) -> str:
    """What is in a file; nothing if it cannot be read."""
    try:
        return path.read_text()
    except OSError:
        return ""


def require_memory(nbytes: float, what: str, limit: float = np.inf) -> None:
    """Refuse, in one sentence, what takes more memory than is free, or than a plan allows."""
    limit = min(limit, most_memory())
    if nbytes > limit:
        raise MemoryPlanError(
            f"{what} needs {memory_words(nbytes)}, but the plan allows {memory_words(limit)}; "
            f"raise memory in Plan(memory=...), or use fewer samples."
        )
    if nbytes > _UNCHECKED and nbytes > (free := free_memory()):
        raise MemoryPlanError(
            f"{what} needs {memory_words(nbytes)}, but {memory_words(free)} are available; use "
            "float32 or fewer samples, or a method that never stores K (Plan(storage='tiled'))."
        )


def is_memory(value: Any) -> str | None:
    """None for a positive amount of memory, or for None; what it should be otherwise."""
    try:
        return None if value is None or parse_memory(value) > 0 else "a positive amount of memory"
    except (TypeError, ValueError):
        return 'a number of bytes or a string like "2 GB"'
