"""The power of tests on the problems of the literature.

``python -m benchmarks.power`` draws each problem many times, counts how often the hypothesis is
rejected at the 5 % level, and writes power.md and power_measures.md in benchmarks/results. Beside
the test as it is without a kernel stand the best fixed kernel of a grid (which nobody knows
beforehand), the median heuristic, the energy distance or distance covariance, and the best peer.

Peers are tried on the same samples: the rules of MMD-FUSE and MMDAgg (:mod:`.power_rules`), the
median heuristic (hyppo, alibi-detect), distances (dcor, hyppo), and packages that are installed. Of
a package that is not, the counts of an earlier run are kept if it had the same samples. Published
figures (the authors' saved results) are of other samples, and stand beside them.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from .harness import ROOT, Unavailable
from .power_problems import (
    MEASURES,
    PACKAGES,
    PROBLEMS,
    RULES,
    SINGLE,
    Problem,
    PValues,
    Rate,
)

LEVEL = 0.05
RESULTS = ROOT / "benchmarks" / "results"
_OURS = "mercer"

Found = dict[str, Any]  # what is stored of a problem
Map = Callable[[Callable[[int], PValues], Iterable[int]], Iterable[PValues]]


# ---- repetitions ---------------------------------------------------------------------------------
def repetition(problem: Problem, n_permutations: int, seed: int, i: int) -> PValues:
    """All tests on the i-th sample, on one thread."""
    X, Y = problem.draw(np.random.default_rng([seed, i]))
    np.random.seed([seed, i])  # noqa: NPY002  packages may draw from it
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # of packages
        return problem.pvalues(X, Y, n_permutations, [seed, i])


def rejections(
    problem: Problem, repetitions: int, n_permutations: int, seed: int, run: Map = map
) -> Found:
    """How often each test rejects, and how often together with ours."""
    counts: dict[str, int] = {}
    both: dict[str, int] = {}
    for pvalues in run(partial(repetition, problem, n_permutations, seed), range(repetitions)):
        for name, p in pvalues.items():
            rejected = p <= LEVEL
            counts[name] = counts.get(name, 0) + rejected
            both[name] = both.get(name, 0) + (rejected and pvalues[_OURS] <= LEVEL)
    setting = {"repetitions": repetitions, "permutations": n_permutations, "seed": seed}
    return {**setting, "counts": counts, "both": both}


def with_packages(new: Found, old: Found | None) -> Found:
    """Counts, and those of packages that were at hand only when the same samples were drawn."""
    if old is None or any(new[key] != old.get(key, 0) for key in ("repetitions", "seed")):
        return new
    missing = [name for name in PACKAGES if name in old["counts"] and name not in new["counts"]]
    out = dict(new)
    for part in ("counts", "both"):
        kept = {name: old[part][name] for name in missing if name in old.get(part, {})}
        out[part] = new[part] | kept
    return out


# ---- the table -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class Row:
    """What was found on a problem: rates, those of peers with how often both rejected."""

    problem: Problem
    ours: Rate
    best: tuple[str, Rate]
    median: Rate
    distance: Rate
    peer: tuple[str, Rate]
    both: int | None

    @classmethod
    def of(cls, problem: Problem, found: Found) -> Row:
        """The row from counts."""
        n, counts = found["repetitions"], found["counts"]
        rates = {name: (count / n, n) for name, count in counts.items()}
        adaptive = (_OURS, *RULES, *MEASURES, *PACKAGES)
        fixed = {name: rate for name, rate in rates.items() if name not in adaptive}
        peers = {name: rates[name] for name in (*RULES, *PACKAGES, *SINGLE) if name in rates}
        peer = max(peers.items(), key=_share)
        best = max(fixed.items(), key=_share)
        both = found.get("both", {}).get(peer[0])
        return cls(problem, rates[_OURS], best, rates["median"], rates["distance"], peer, both)

    @property
    def cells(self) -> list[str]:
        name, best = self.best
        promised, published = self.problem.promised, self.problem.published
        if promised is not None:
            kept = "" if self.ours[0] >= promised else ", not kept"
        return [
            self.problem.name,
            _shown(self.ours),
            "" if promised is None else f"{promised:.2f}{kept}",
            f"{_shown(best)} ({name})",
            f"{100 * (self.ours[0] - best[0]):+.1f}",
            _shown(self.median),
            _shown(self.distance),
            _named(*self.peer),
            self.verdict,
            _named(*max(published.items(), key=_share)) if published else "",
        ]

    @property
    def verdict(self) -> str:
        """Is the rate at least that of the best peer, up to two standard errors?"""
        if self.problem.name.startswith("nothing"):
            return ""
        gap, margin = self.ours[0] - self.peer[1][0], 2 * self.error
        return "more" if gap > margin else "less" if gap < -margin else "equal"

    @property
    def error(self) -> float:
        """The standard error of the difference to the best peer, if both have the same power.

        McNemar: only samples on which one test rejects and the other does not count, and each is
        as likely to be one's as the other's. Without them that of independent samples.
        """
        (share, n), (other, _) = self.ours, self.peer[1]
        if self.both is None:
            return float(np.hypot(_error(self.ours), _error(self.peer[1])))
        return float(np.sqrt(max(0.0, share + other - 2 * self.both / n) / n))


def _share(named: tuple[str, Rate]) -> float:
    return named[1][0]


def _error(rate: Rate) -> float:
    share, n = rate
    return float(np.sqrt(share * (1 - share) / n))


def _shown(rate: Rate) -> str:
    return f"{rate[0]:.3f} ± {_error(rate):.3f}"


def _named(name: str, rate: Rate) -> str:
    return f"{_shown(rate)} ({name})"


def markdown(rows: Sequence[Row], permutations: Iterable[int]) -> str:
    """The table, and what its columns are."""
    head = ["problem", "mercer", "promised", "best fixed kernel", "points", "median width",
            "distance", "best peer", "against it", "published"]  # fmt: skip
    lines = [head, ["---"] * len(head), *(row.cells for row in rows)]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    counts = [row.ours[1] for row in rows]
    drawn = " or ".join(map(str, sorted(set(permutations))))
    return (
        f"Rejection rates at the 5 % level ± standard error, {drawn} permutations, "
        f"{min(counts)} to {max(counts)} repetitions. *mercer*: no kernel given. *Best fixed "
        "kernel*: the best kernel of a grid, chosen in hindsight. *Points*: the difference of "
        "mercer from it, in percentage points. *Distance*: energy distance or distance covariance. "
        "*Best peer*: the best in hindsight on the same samples, among the rules of MMD-FUSE and "
        "MMDAgg with the kernels of our grid, other packages, and the two columns before, which "
        "are what other packages do. *Against it*: tests are compared sample by sample, and equal "
        "means within two standard errors of the paired difference (of independent rates, if only "
        "the rate of a package was kept). *Published*: the best rate of a peer on other samples of "
        "the problem.\n\n"
        f"{table}\n"
    )


def measures_markdown(found: dict[str, Found]) -> str:
    """The power of the measures of dependence, all with the default kernels."""
    head = ["problem", "HSIC", *(name.upper() for name in MEASURES)]
    lines = [head, ["---"] * len(head)]
    for name, counts in found.items():
        n, count = counts["repetitions"], counts["counts"]
        if set(MEASURES) <= set(count):
            lines.append([name, *(_shown((count[key] / n, n)) for key in (_OURS, *MEASURES))])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, help="of each problem")
    parser.add_argument("--permutations", type=int, default=199)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=[""], help="parts of the names of problems")
    parser.add_argument("--jobs", type=int, default=1, help="processes that share repetitions")
    parser.add_argument("--quick", action="store_true", help="print, and write nothing")
    args = parser.parse_args()
    store = RESULTS / "power.json"
    found = json.loads(store.read_text()) if store.exists() and not args.quick else {}
    with ExitStack() as stack:
        run: Map = map
        if args.jobs > 1:
            pool = ProcessPoolExecutor(args.jobs, mp_context=get_context("spawn"))
            run = stack.enter_context(pool).map
        for problem in PROBLEMS:
            if not any(part in problem.name for part in args.only):
                continue
            repetitions = args.repetitions or problem.repetitions
            try:
                new = rejections(problem, repetitions, args.permutations, args.seed, run)
            except Unavailable as reason:
                print(f"{problem.name}: {reason}")
                continue
            found[problem.name] = with_packages(new, found.get(problem.name))
            print(" | ".join(Row.of(problem, found[problem.name]).cells), flush=True)
            if not args.quick:
                write(found)


def write(found: dict[str, Found]) -> None:
    """Counts as JSON, and their table."""
    (RESULTS / "power.json").write_text(json.dumps(found, indent=1) + "\n")
    kept = [(problem, found[problem.name]) for problem in PROBLEMS if problem.name in found]
    rows = [Row.of(problem, counts) for problem, counts in kept]
    text = markdown(rows, [counts["permutations"] for _, counts in kept])
    (RESULTS / "power.md").write_text(text, encoding="utf-8")
    measures = measures_markdown({problem.name: counts for problem, counts in kept})
    (RESULTS / "power_measures.md").write_text(measures, encoding="utf-8")


if __name__ == "__main__":
    main()
