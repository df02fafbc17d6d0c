"""First answers of everything public: ``python -m benchmarks.first_answers [--only PATTERN]``.

Each job is a Python of its own that imports, makes 200 small samples and calls one kernel, model or
test: first with nothing compiled, then with what that call compiled; and scikit-learn's where it
has the same. Seconds are those of processors, user and system, which mean something on a busy
machine too. ``--warmed`` asks instead what ``mercer warm-up`` leaves to be compiled.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from .first_jobs import JOBS, Job

ROOT = Path(__file__).resolve().parents[1]
COLD, COLD_SVC, WARM = 3.0, 4.0, 1.3  # seconds, and times scikit-learn's


class Cost(NamedTuple):
    """What a process took: seconds of processors, and by the clock."""

    busy: float
    clock: float


def cost(code: str, cache: str) -> Cost:
    """Run code in a fresh interpreter that keeps compiled loops in a folder."""
    start = time.perf_counter()
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, cwd=ROOT)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"this failed:\n{code}")
    return Cost(used.ru_utime + used.ru_stime, time.perf_counter() - start)


def compiled(cache: str) -> list[str]:
    """The loops in a folder, one file for each combination of types."""
    return sorted(path.name for path in Path(cache).rglob("*.nbc"))


def measure(job: Job, rounds: int) -> dict[str, Any]:
    """Seconds without and with loops compiled before, and those of scikit-learn."""
    with tempfile.TemporaryDirectory() as cache:
        cold = cost(job.ours, cache)
        loops = compiled(cache)
        costs: dict[str, list[Cost]] = {"warm": [], "sklearn": []}
        for _ in range(rounds):
            costs["warm"].append(cost(job.ours, cache))
            if job.theirs:
                costs["sklearn"].append(cost(job.theirs, cache))
    found: dict[str, Any] = {"job": job.name, "cold": cold.busy, "cold_clock": cold.clock}
    for name, some in costs.items():
        if some:
            found[name] = min(each.busy for each in some)
            found[name + "_clock"] = min(each.clock for each in some)
    return found | {"loops": loops}


def line(row: dict[str, Any]) -> str:
    """One row of the table."""
    cold, warm, theirs = row["cold"], row["warm"], row.get("sklearn")
    limit = COLD_SVC if row["job"].startswith("SVC") else COLD
    ratio = f"{theirs:6.2f} {warm / theirs:5.2f}" if theirs else " " * 12
    late = "late" if cold > limit or (theirs and warm > WARM * theirs) else ""
    return (
        f"{row['job']:34} {cold:6.2f} {row['cold_clock']:6.2f} {warm:6.2f} {row['warm_clock']:6.2f}"
        f" {ratio} {len(row['loops']):5} {late}"
    )


def main() -> None:
    """Measure the jobs that are asked for, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", action="append", help="jobs whose name contains or matches this")
    parser.add_argument("--rounds", type=int, default=3, help="times each warm call is repeated")
    parser.add_argument("--warmed", action="store_true", help="what warm-up leaves to be compiled")
    parser.add_argument("--json", help="a file for all figures, a line each")
    options = parser.parse_args()
    jobs = [job for job in JOBS if _wanted(job.name, options.only)]
    if options.warmed:
        left(jobs)
        return
    print(f"{'':34} {'cold':>13} {'warm':>13} {'sklearn':>12}")
    print(f"{'job':34}{'   busy  clock' * 2} {'busy':>6} ratio loops")
    for job in jobs:
        row = measure(job, options.rounds)
        print(line(row), flush=True)
        if options.json:
            with open(options.json, "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


def left(jobs: list[Job]) -> None:
    """Print, job by job, the loops that are not there after ``mercer warm-up``."""
    with tempfile.TemporaryDirectory() as cache:
        warm = cost("from mercer.cli.main import main; main(['warm-up', '--quiet'])", cache)
        print(f"mercer warm-up: {warm.busy:.1f} s, {len(compiled(cache))} loops")
        for job in jobs:
            before = set(Path(cache).rglob("*.nbc"))
            cost(job.ours, cache)
            new = sorted(path.name for path in set(Path(cache).rglob("*.nbc")) - before)
            if new:
                print(f"{job.name:34} {' '.join(new)}", flush=True)


def _wanted(name: str, patterns: list[str] | None) -> bool:
    return not patterns or any(p.lower() in name.lower() or fnmatch(name, p) for p in patterns)


if __name__ == "__main__":
    main()
