"""One contender of one case in a process of its own: ``python -m benchmarks.child CASE NAME SIZE``.

Prints seconds by the clock and of processors (which count where others use them, too), and bytes,
the growth of the peak resident size over what was there before the call, as JSON.
"""

from __future__ import annotations

import gc
import json
import re
import sys
import time
from contextlib import suppress
from pathlib import Path

from benchmarks import cases

_STATUS = Path("/proc/self/status")


def main(name: str, contender: str, size: str) -> None:
    (case,) = (case for case in cases.load() if case.name == name)
    case.contest("tiny").calls[contender]()
    call = case.contest(size).calls[contender]
    gc.collect()
    with suppress(OSError):  # Linux only: forget the peak so far
        Path("/proc/self/clear_refs").write_text("5")
    before, start, busy = peak(), time.perf_counter(), time.process_time()
    output = call()
    seconds, busy, after = time.perf_counter() - start, time.process_time() - busy, peak()
    del output
    print(json.dumps({"seconds": seconds, "processor": busy, "bytes": after - before}))


def peak() -> int:
    """The largest resident size of this process so far, in bytes.

    Linux is asked in /proc: what getrusage says there includes the peak of the parent process.
    """
    if _STATUS.exists() and (found := re.search(r"VmHWM:\s+(\d+) kB", _STATUS.read_text())):
        return int(found[1]) * 1024
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    main(*sys.argv[1:])
