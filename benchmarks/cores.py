"""How much many cores pay: ``python -m benchmarks.cores [--cores 1,4,16] [--only NAME]``.

Each task runs in a fresh process that is bound to so many cores (Linux), with BLAS threads to
match; the best of three calls counts, after one that compiles and starts threads. Speed-ups are
those over one core. The share is that of the CPU time on one core which shared jobs take:
what is left, 1 - share, bounds the speed-up unless BLAS has threads of its own there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

ROUNDS = 3
WANTED = {
    "gram": 12.0, "ridge": 9.0, "alignment": 11.0, "svc-predict": 8.0, "two-sample": 5.0,
    "svc-fit": 5.0, "kernel-pca": 5.0, "gp-ard": 5.0,
}  # fmt: skip


def task(name: str) -> Callable[[], Any]:
    """The call that is measured; data are made beforehand."""
    import mercer as m

    rng = np.random.default_rng(0)

    def vectors(n: int) -> tuple[np.ndarray, np.ndarray]:
        X = rng.standard_normal((n, 10))
        return X, np.sin(X[:, 0]) + X[:, 1] ** 2 / 2 + 0.3 * rng.standard_normal(n)

    if name == "gram":
        X, _ = vectors(12_000)
        return lambda: m.Gaussian(3.0)(X)
    if name == "ridge":
        X, y = vectors(10_000)
        return lambda: m.KernelRidge(alpha=1.0, kernel="rbf").fit(X, y)
    if name == "alignment":
        T = [rng.standard_normal((int(t), 2)) for t in rng.integers(100, 300, 250)]
        kernel = m.GlobalAlignment().resolve(T)
        return lambda: kernel(T)
    if name == "svc-predict":
        X, y = vectors(8000)
        machine = m.SVC().fit(X, y > 0.5)
        new, _ = vectors(60_000)
        return lambda: machine.predict(new)
    if name == "two-sample":
        X, _ = vectors(6000)
        return lambda: m.two_sample_test(X[:3000], X[3000:], rng=0)
    if name == "svc-fit":
        X, y = vectors(30_000)
        return lambda: m.SVC().fit(X, y > 0.5)
    if name == "kernel-pca":
        X, _ = vectors(6000)
        return lambda: m.KernelPCA(10, kernel="rbf").fit(X)
    if name == "gp-ard":
        X, y = vectors(2000)
        kernel = 1.0 * m.Gaussian(np.full(10, 3.0))
        return lambda: m.GaussianProcessRegressor(kernel).fit(X, y)
    raise ValueError(f"there is no task {name!r}.")


def measure(name: str) -> dict[str, float]:
    """Seconds of the best call in this process, and the share of CPU time inside of jobs."""
    from mercer.engine import schedule, team, threads

    inside, depth, run = 0.0, 0, threads.run
    run_phase, execute = team.Team.run, schedule.Schedule.execute

    def counted(jobs: Callable[..., Any], *args: Any, **options: Any) -> Any:
        nonlocal inside, depth
        if threads.on_pool() or depth:  # within a job, which counts already
            return jobs(*args, **options)
        start, depth = time.process_time(), 1
        found = jobs(*args, **options)
        depth, inside = 0, inside + time.process_time() - start
        return found

    def watched(job: Callable[[Any], None], items: Any, workers: int | None = None) -> None:
        counted(run, job, items, workers)

    team.Team.run = lambda *args: counted(run_phase, *args)  # type: ignore[method-assign]
    schedule.Schedule.execute = (  # type: ignore[method-assign]
        lambda *args, **options: counted(execute, *args, **options)
    )
    for module in [module for key, module in sys.modules.items() if key.startswith("mercer")]:
        if getattr(module, "run", None) is run:
            module.run = watched
    call = task(name)
    call()
    for module in [module for key, module in sys.modules.items() if key.startswith("mercer")]:
        if getattr(module, "run", None) is run:
            module.run = watched  # of modules that the first call has imported
    best, share = np.inf, 0.0
    for _ in range(ROUNDS):
        inside, used, start = 0.0, time.process_time(), time.perf_counter()
        call()
        seconds, used = time.perf_counter() - start, time.process_time() - used
        if seconds < best:
            best, share = seconds, inside / used
    return {"seconds": best, "share": share}


def in_process(name: str, cores: int) -> dict[str, float]:
    """The same in a process that has so many of the cores at hand."""
    available = sorted(os.sched_getaffinity(0))[:cores]
    counts = {f"{library}_NUM_THREADS": str(cores) for library in ("OPENBLAS", "MKL", "OMP")}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.cores", "--measure", name],
        env={**os.environ, **counts},
        preexec_fn=lambda: os.sched_setaffinity(0, available),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def main(argv: list[str]) -> None:
    """Measure all tasks, or one, and print a table."""
    parser = argparse.ArgumentParser(description="Speed-up from one core to many.")
    parser.add_argument("--cores", help="numbers of cores, such as 1,4,16 (default: 1 and all)")
    parser.add_argument("--only", metavar="NAME", action="append", choices=WANTED)
    parser.add_argument("--measure", metavar="NAME", help="measure a task here, and print JSON")
    options = parser.parse_args(argv)
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return
    everything = len(os.sched_getaffinity(0))
    counts = [int(c) for c in options.cores.split(",")] if options.cores else [1, everything]
    counts = sorted({1, *counts})
    print(
        "task".ljust(14) + "".join(f"{c:>4} cores" for c in counts) + "   speed-up  target  share"
    )
    for name in options.only or WANTED:
        found = [in_process(name, count) for count in counts]
        seconds = [each["seconds"] for each in found]
        line = "".join(f"{s:>9.3f} s"[-10:] for s in seconds)
        speed, wanted = seconds[0] / seconds[-1], WANTED[name]
        share = f"{found[0]['share']:.0%}"
        print(f"{name:14}{line}{speed:>11.1f}{wanted:>8.0f}{share:>7}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
