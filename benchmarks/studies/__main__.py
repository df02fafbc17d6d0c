"""Run studies and write their tables: ``python -m benchmarks.studies --only promoters --draw``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from .frame import Row, Study, Unavailable, draw, run, write

NAMES = (
    "promoters", "splice", "dna", "scop", "trec", "series", "musk", "graphs", "molecules", "views",
)  # fmt: skip


def study(name: str) -> Study:
    """The study of that name."""
    found: Study = import_module(f".{name}", __package__).STUDY
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; 1 if a promise was not kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies", description=__doc__)
    parser.add_argument("--only", choices=NAMES, action="append", help="some of the studies")
    parser.add_argument("--draw", action="store_true", help="draw their pictures, too")
    parser.add_argument("--no-table", action="store_true", help="run no trials, only --draw")
    options = parser.parse_args(arguments)
    kept = True
    for name in options.only or NAMES:
        this = study(name)
        print(f"\n{this.title}", flush=True)
        try:
            if not options.no_table:
                rows = run(this.trials(), _print)
                kept &= all(row.kept for row in rows)
                print(f"-> {write(this, rows)}")
            if options.draw and (path := draw(this)) is not None:
                print(f"-> {path}")
        except Unavailable as reason:
            print(f"left out: {reason}")
    return 0 if kept else 1


def _print(row: Row) -> None:
    what = " ".join(filter(None, [row.trial.data, row.trial.model]))
    verdict = "" if row.kept else "  less than promised"
    print(f"  {row.score:.4f}  {what}  {row.chosen}  ({row.seconds:.1f} s){verdict}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
