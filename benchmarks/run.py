"""Measure mercer beside its peers: ``python3 benchmarks/run.py [--quick] [--only PATTERN]``.

This file needs nothing but the standard library. It builds the environment ``.bench-venv`` with
mercer and the peers of ``peers.txt``, starts itself again in it, and there runs the cases.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".bench-venv"
PEERS = ROOT / "benchmarks" / "peers.txt"


def arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure mercer beside its peers, in one run.")
    parser.add_argument(
        "--only",
        metavar="PATTERN",
        action="append",
        help="cases whose name contains or matches this (may be repeated)",
    )
    parser.add_argument("--quick", action="store_true", help="small sizes; nothing is written")
    parser.add_argument(
        "--slow", action="store_true", help="also cases in which a peer takes many minutes"
    )
    parser.add_argument("--list", action="store_true", help="list the cases and stop")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "--crash", action="store_true", help="also start peers known to crash, each in a process"
    )
    parser.add_argument(
        "--no-install", action="store_true", help="use this Python as it is, install nothing"
    )
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    options = arguments(argv)
    if sys.version_info < (3, 11):  # noqa: UP036 (this file runs before anything is installed)
        print("the benchmarks need Python 3.11 or newer.", file=sys.stderr)
        return 2
    if not options.no_install:
        command = [str(environment()), str(Path(__file__).resolve()), "--no-install", *argv]
        return subprocess.call(command)
    sys.path[0] = str(ROOT)  # so that ``benchmarks`` is a package, whatever the folder of the call
    return measure(options)


def measure(options: argparse.Namespace) -> int:
    """Run the chosen cases with this interpreter; 1 if one of them failed."""
    from benchmarks import cases, report
    from benchmarks.harness import run

    chosen = [case for case in cases.load() if _wanted(case.name, options.only)]
    size = "quick" if options.quick else "full"
    if not chosen:
        print("no case matches; --list shows all names.", file=sys.stderr)
        return 2
    if options.list:
        print(report.listing(chosen, size))
        return 0
    chosen = [case for case in chosen if options.slow or not case.slow]
    if not chosen:
        print("these cases are slow; add --slow to measure them.", file=sys.stderr)
        return 2
    rows = []
    for case in chosen:
        print(f"{case.name}: {case.title(size)}", file=sys.stderr, flush=True)
        rows += run(case, size, crash=options.crash)
    results = report.Results(report.machine(requirements()), size, rows)
    print(json.dumps(results.to_dict(), indent=1) if options.json else results.text())
    if rows and not options.quick:
        order = [case.name for case in cases.load()]
        folder = ROOT / "benchmarks" / "results"
        print(results.write(folder, order, whole=not options.only), file=sys.stderr)
    return int(any(row.verdict == "failed" for row in rows))


def _wanted(name: str, patterns: list[str] | None) -> bool:
    return not patterns or any(p in name or fnmatch(name, p) for p in patterns)


def requirements() -> list[str]:
    """The lines of peers.txt."""
    lines = (line.partition("#")[0].strip() for line in PEERS.read_text().splitlines())
    return [line for line in lines if line]


def environment() -> Path:
    """The interpreter of .bench-venv, which is built anew when what it should hold changed."""
    python = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = VENV / ".installed"
    wanted = b"".join(path.read_bytes() for path in (ROOT / "pyproject.toml", PEERS))
    digest = hashlib.sha256(wanted + sys.version.encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return python
    print(f"building {VENV.name} ...", file=sys.stderr, flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
    if error := _install(python, "--editable", f"{ROOT}[table]"):
        raise SystemExit(f"mercer could not be installed in {VENV.name}:\n{error}")
    for peer in requirements():
        if error := _install(python, peer):
            last = error.splitlines()[-1]
            print(f"{peer} could not be installed: {last}", file=sys.stderr, flush=True)
    stamp.write_text(digest)
    return python


def _install(python: Path, *what: str) -> str:
    """Install with pip; what it said if that failed, else nothing."""
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *what]
    done = subprocess.run(command, capture_output=True, text=True)
    return (done.stderr.strip() or "pip failed without a word.") if done.returncode else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
