"""Two versions of mercer on the same jobs: ``python -m benchmarks.compare REVISION``.

Every case runs in both versions, in turn, in a process each that stays: the one in this checkout,
and the one of a git revision (or of another checkout, ``--tree``). Times are the best of several
rounds. The exit status is 1 where a case has become slower by more than ``--most``, in time and in
CPU time alike.
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
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_ENOUGH = 5.0  # seconds of one case in one version after which no further round begins


def worker() -> None:
    """Answer requests, a JSON object per line: what is to be run, how it went."""
    answers, sys.stdout = sys.stdout, sys.stderr
    from benchmarks import cases

    known, calls = {case.name: case for case in cases.load()}, {}
    for line in sys.stdin:
        name, size = json.loads(line)
        try:
            if name not in calls:
                contest = known[name].contest("tiny").calls["mercer"]
                contest()
                calls = {name: known[name].contest(size).calls["mercer"]}
            start, spent = time.perf_counter(), time.process_time()
            calls[name]()
            found: dict[str, Any] = {
                "seconds": time.perf_counter() - start,
                "cpu": time.process_time() - spent,
            }
        except (Exception, SystemExit) as error:
            found = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(found) + "\n")
        answers.flush()


class Version:
    """A process that runs the cases of one checkout."""

    def __init__(self, tree: Path) -> None:
        paths = os.pathsep.join([str(tree / "src"), str(tree)])
        cache = tempfile.mkdtemp(prefix="mercer-compare-")
        data = os.environ.get("MERCER_DATA") or str(ROOT.parent / "shared" / "data")
        self.process = subprocess.Popen(
            [sys.executable, "-c", _WORKER.format(str(Path(__file__).resolve()))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=tree,
            env={**os.environ, "PYTHONPATH": paths, "NUMBA_CACHE_DIR": cache, "MERCER_DATA": data},
        )

    def run(self, name: str, size: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([name, size]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": "the process ended"}


_WORKER = """
import importlib.util
spec = importlib.util.spec_from_file_location("compare", {0!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.worker()
"""


def measure(old: Version, new: Version, name: str, size: str, rounds: int) -> dict[str, Any]:
    """The best times of both versions, in alternating order."""
    best: dict[str, Any] = {}
    spent = 0.0
    for number in range(rounds):
        pair = [("old", old), ("new", new)]
        for label, version in pair if number % 2 else reversed(pair):
            found = version.run(name, size)
            if "error" in found:
                return {"error": f"{label}: {found['error']}"}
            spent += found["seconds"]
            for key in ("seconds", "cpu"):
                best[f"{label} {key}"] = min(found[key], best.get(f"{label} {key}", float("inf")))
        if spent > 2 * _ENOUGH:
            break
    return best


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Two versions of mercer on the same jobs.")
    parser.add_argument("revision", nargs="?", help="a git revision")
    parser.add_argument("--tree", type=Path, help="another checkout, in place of a revision")
    parser.add_argument("--only", action="append", default=[], help="cases whose name matches")
    parser.add_argument("--size", default="quick", choices=["tiny", "quick", "full"])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--most", type=float, default=1.05, help="new / old that is allowed")
    options = parser.parse_args(argv)
    if (options.revision is None) == (options.tree is None):
        parser.error("give a revision, or a checkout with --tree")
    with tempfile.TemporaryDirectory() as folder:
        tree = options.tree
        if tree is None:
            tree = Path(folder) / "old"
            subprocess.run(
                ["git", "worktree", "add", "--detach", tree, options.revision], cwd=ROOT, check=True
            )
        try:
            return report(options, tree.resolve())
        finally:
            if options.tree is None:
                subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)


def report(options: argparse.Namespace, tree: Path) -> int:
    """Measure, print a line per case, and say whether one has become slower."""
    from benchmarks import cases

    old, new = Version(tree), Version(ROOT)
    slower = 0
    print(f"{'case':36} {'old':>9} {'new':>9} {'new/old':>8} {'cpu':>6}")
    for case in cases.load():
        wanted = [w for w in options.only if w in case.name or fnmatch(case.name, w)]
        if (options.only and not wanted) or case.slow:
            continue
        found = measure(old, new, case.name, options.size, options.rounds)
        if "error" in found:
            print(f"{case.name:36} {found['error'][:80]}", flush=True)
            continue
        ratio = found["new seconds"] / found["old seconds"]
        cpu = found["new cpu"] / max(found["old cpu"], 1e-9)
        slower += min(ratio, cpu) > options.most
        mark = " slower" if min(ratio, cpu) > options.most else ""
        times = "".join(f" {1e3 * found[f'{which} seconds']:7.1f}ms" for which in ("old", "new"))
        print(f"{case.name:36}{times} {ratio:8.2f} {cpu:6.2f}{mark}", flush=True)
    return int(slower > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
