"""Tuned regression on real sets beside scikit-learn: ``python benchmarks/regression_sets.py``.

Which sets: those with published splits and at least 100 held-out rows in each (with fewer, the
coverage of an interval cannot be judged), in alphabetical order, the first ten. Others by name.

Every set x split x method is a process of its own on one core, which is ended after ``--limit``
seconds. Splits come in rounds, so that a run that is cut short has the same splits of every set.
Results are written after each job to ``regression_sets.json`` and ``regression_sets.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path[0] = str(ROOT)  # so that ``benchmarks`` is a package, whatever the folder of the call

from benchmarks import report  # noqa: E402
from benchmarks.regression_methods import METHODS, Job  # noqa: E402
from benchmarks.regression_table import Row, interval_summary, markdown, summary  # noqa: E402
from benchmarks.svm_data import folder  # noqa: E402

SETS = (
    "airfoil",
    "bike",
    "concrete",
    "elevators",
    "keggdirected",
    "kin40k",
    "power_plant",
    "protein",
    "pumadyn32nm",
    "skillcraft",
)
_SLOWEST = ("scikit-learn SVR", "scikit-learn GP")  # begin first, so that no core waits at the end
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Tuned regression on real sets, beside peers.")
    parser.add_argument("--sets", nargs="+", default=SETS, metavar="NAME", help="files to read")
    parser.add_argument("--methods", nargs="+", default=tuple(METHODS), choices=tuple(METHODS))
    parser.add_argument("--repeats", type=int, default=5, help="splits of each set (5)")
    parser.add_argument("--max-train", type=int, default=1000, help="training rows, at most (1000)")
    parser.add_argument("--max-test", type=int, default=2000, help="held-out rows, at most (2000)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--limit", type=float, default=240.0, help="seconds for one fit (240)")
    parser.add_argument(
        "--budget", type=float, help="seconds for all fits: those not finished by then are left out"
    )
    parser.add_argument("--data", type=Path, help="folder of vectors_regression (MERCER_DATA)")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("--resume", action="store_true", help="keep existing results")
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    options = arguments(argv)
    data = find_data(options.data)
    missing = [name for name in options.sets if not (data / f"{name}.npz").exists()]
    if missing:
        print(f"not found: {', '.join(missing)}; --data names the folder.", file=sys.stderr)
        return 2
    settings = {"max_train": options.max_train, "max_test": options.max_test}
    before = earlier(options.out / "regression_sets.json", settings) if options.resume else []
    todo = plan(options.sets, options.methods, options.repeats, settings, before)
    rows = list(before)
    machine = report.machine(["scikit-learn"])
    print(f"{len(todo)} jobs, {options.jobs} at a time", file=sys.stderr, flush=True)
    for done, row in enumerate(run(todo, data, options), start=1):
        rows.append(row)
        write(options.out, rows, settings, machine)
        found = f"{row['rmse']:.4f} in {row['seconds']:.0f} s" if "rmse" in row else row["note"]
        head = f"[{done}/{len(todo)}] {row['set']} {row['split']} {row['method']}"
        print(f"{head}: {found}", file=sys.stderr, flush=True)
    print("\n".join([*summary(rows), *interval_summary(rows)]))
    return 0


def find_data(given: Path | None) -> Path:
    """The folder of the files, or the one above it."""
    base = given or folder()
    inner = base / "vectors_regression"
    return inner if inner.is_dir() else base


def earlier(file: Path, settings: dict[str, Any]) -> list[Row]:
    """Results of a run with the same settings, but for jobs that had none."""
    if not file.exists():
        return []
    found = json.loads(file.read_text(encoding="utf-8"))
    if found["settings"] != settings:
        raise SystemExit(f"{file.name} is of other settings, {found['settings']}.")
    return [row for row in found["rows"] if "rmse" in row]


def plan(
    sets: Sequence[str],
    methods: Sequence[str],
    repeats: int,
    settings: dict[str, Any],
    before: Sequence[Row] = (),
) -> list[Job]:
    """What is left to do: split by split, what takes long first."""
    done = {(row["set"], row["split"], row["method"]) for row in before}
    order = sorted(methods, key=lambda m: _SLOWEST.index(m) if m in _SLOWEST else len(_SLOWEST))
    return [
        Job(name, split, method, **settings)
        for split in range(repeats)
        for method in order
        for name in sets
        if (name, split, method) not in done
    ]


def run(todo: Sequence[Job], data: Path, options: argparse.Namespace) -> Iterator[Row]:
    """The scores of each job, or a note why there are none, as they come."""
    mine = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
    cores: queue.SimpleQueue[int] = queue.SimpleQueue()
    for slot in range(options.jobs):
        cores.put(mine[slot % len(mine)])
    end = time.monotonic() + (options.budget or float("inf"))

    def one(job: Job) -> Row | None:
        core = cores.get()
        try:
            left = end - time.monotonic()
            found = in_process(job, data, core, min(options.limit, left)) if left > 0 else None
        finally:
            cores.put(core)
        if found is None or ("note" in found and time.monotonic() >= end):
            return None
        return {**asdict(job), **found}

    with ThreadPoolExecutor(options.jobs) as pool:
        for future in as_completed([pool.submit(one, job) for job in todo]):
            if (row := future.result()) is not None:
                yield row


def in_process(job: Job, data: Path, core: int, limit: float) -> Row:
    """The scores of a job that runs on its own, or a note."""
    name = "benchmarks.regression_methods"
    command = [sys.executable, "-m", name, str(data.resolve()), str(core), json.dumps(asdict(job))]
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [str(Path(path).resolve()) for path in given if path]  # the folder will be another one
    env = {**os.environ, **dict.fromkeys(_THREADS, "1"), "PYTHONPATH": os.pathsep.join(paths)}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return {"note": f"> {limit:g} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"note": f"failed: {last}"}
    scores: Row = json.loads(done.stdout.splitlines()[-1])
    return scores


def write(out: Path, rows: list[Row], settings: dict[str, Any], machine: dict[str, Any]) -> None:
    """Both files, in the order of sets, splits and methods."""
    methods = list(METHODS)
    rows = sorted(rows, key=lambda r: (r["set"], r["split"], methods.index(r["method"])))
    out.mkdir(parents=True, exist_ok=True)
    kept = [{k: v for k, v in row.items() if k not in settings} for row in rows]
    found = {"machine": machine, "settings": settings, "rows": kept}
    report._replace(out / "regression_sets.json", json.dumps(found, indent=1) + "\n")
    page = markdown(rows, settings, report.describe(machine))
    report._replace(out / "regression_sets.md", page)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
