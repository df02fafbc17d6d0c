"""The power of tests on the problems of the literature.

``python -m benchmarks.power`` draws each problem many times, counts how often the hypothesis is
rejected at the 5 % level, and writes benchmarks/results/power.md. Beside the test as it is without
a kernel stand the best fixed kernel of a grid (which nobody knows beforehand), the median
heuristic, the energy distance or distance covariance, and the best peer.

Figures of peers are published ones (MMD-FUSE, MMDAgg, HSICAgg: the authors' saved results), those
that peers reached on other samples of the same problem, or are found here on the same samples: with
the median heuristic (hyppo, alibi-detect), with distances (dcor, hyppo), or with a package itself
where it is installed.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from mercer import Distance, Gaussian, Laplacian, independence_test, two_sample_test

from .harness import ROOT, Unavailable
from .two_sample_data import (
    Pair,
    blobs,
    dependent_bumps,
    higgs_angles,
    mean_shift,
    mixture,
    perturbed_uniform,
    rotated,
    sinusoid,
    variance_shift,
)

LEVEL = 0.05
RESULTS = ROOT / "benchmarks" / "results"
_WIDTHS = (0.1, 0.2, 0.4, 1.0, 3.0)  # of the fixed kernels of variables, in median distances
_SINGLE = ("median", "distance")  # fixed kernels with a column of their own

PValues = dict[str, float]
Rate = tuple[float, int]  # a share, and of how many


@dataclass(frozen=True)
class Problem:
    """Two samples or variables, what is promised, and what others reach (rate, repetitions)."""

    name: str
    draw: Callable[[np.random.Generator], Pair]
    pvalues: Callable[..., PValues]
    repetitions: int = 400
    promised: float | None = None
    published: dict[str, Rate] = field(default_factory=dict)


# ---- tests ---------------------------------------------------------------------------------------
def of_samples(X: Any, Y: Any, n_permutations: int, seed: Sequence[int]) -> PValues:
    """P-values of the test without a kernel, of each kernel of its grid, and of two others."""
    options: dict[str, Any] = {"n_permutations": n_permutations, "rng": seed}
    ours = two_sample_test(X, Y, **options)
    others = two_sample_test(X, Y, [Gaussian("median"), Distance()], **options)
    found = {"mercer": ours.pvalue}
    for k, p in zip(range(len(ours.kernel)), ours.details["pvalues"], strict=True):
        found[f"{type(ours.kernel[k]).__name__} {k % 10 + 1}"] = float(p)
    return found | dict(zip(_SINGLE, map(float, others.details["pvalues"]), strict=True))


def of_variables(x: Any, y: Any, n_permutations: int, seed: Sequence[int]) -> PValues:
    """P-values of the test without kernels, of pairs of kernels, and of the peers at hand."""
    options: dict[str, Any] = {"n_permutations": n_permutations, "rng": seed}
    grids = []
    for v in (x, y):
        median = float(Gaussian("median").resolve(v.reshape(-1, 1)).lengthscale)
        grids.append([*(Gaussian(w * median) for w in _WIDTHS), Laplacian(median), Distance()])
    names = [*(f"{w:g}" for w in _WIDTHS), "Laplacian", "distance"]
    found = {"mercer": independence_test(x, y, **options).pvalue}
    pairs = independence_test(x, y, kernels=grids, **options).details["pvalues"]
    for k, p in enumerate(pairs):
        i, j = divmod(k, len(names))
        found[f"{names[i]}, {names[j]}"] = float(p)
    found["median"] = found["1, 1"]
    found["distance"] = found.pop("distance, distance")
    return found | {name: float(test(x[:, None], y[:, None])) for name, test in peers().items()}


def peers() -> dict[str, Callable[[Any, Any], float]]:
    """Tests of independence of other packages with their own defaults, where installed."""
    found: dict[str, Callable[[Any, Any], float]] = {}
    if find_spec("causallearn"):
        from causallearn.utils.KCI.KCI import KCI_UInd

        found["causal-learn"] = lambda x, y: KCI_UInd().compute_pvalue(x, y)[0]
    if find_spec("hyppo"):
        from hyppo.independence import Hsic

        found["hyppo"] = lambda x, y: Hsic().test(x, y)[1]
    if find_spec("dcor"):
        from dcor.independence import distance_correlation_t_test

        found["dcor"] = lambda x, y: distance_correlation_t_test(x, y).pvalue
    return found


# ---- problems ------------------------------------------------------------------------------------
def _of(fuse: float, agg: float) -> dict[str, Rate]:
    return {"MMD-FUSE": (fuse, 200), "MMDAgg": (agg, 200)}


_SHIFTS = {"hyppo": (0.615, 200), "dcor": (0.61, 200), "MMDAgg": (0.43, 200)}
_BLOBS = {"MMD-FUSE": (0.69, 51), "AggInc": (0.645, 200), "MMDAgg": (0.63, 200)}
_BUMPY = partial(partial, perturbed_uniform, 500)
PROBLEMS = [
    Problem("mixture, std 2.0, n=500", partial(mixture, 500, 2.0), of_samples,
            promised=0.90, published=_of(0.905, 0.945)),
    Problem("mixture, std 0.6, n=500", partial(mixture, 500, 0.6), of_samples,
            promised=0.85, published=_of(0.945, 0.915)),
    Problem("bumps, d=1, a=.5, n=500", _BUMPY(1, 0.5), of_samples, 200,
            promised=0.95, published=_of(0.975, 0.985)),
    Problem("bumps, d=2, a=1, n=500", _BUMPY(2, 1.0), of_samples,
            promised=0.97, published=_of(0.995, 0.99)),
    Problem("blobs, n=250", partial(blobs, 250), of_samples, published=_BLOBS),
    Problem("mean + .5 in 1 of 10, n=100", partial(mean_shift, 100, 10, 0.5), of_samples,
            published=_SHIFTS),
    Problem("variance x 4 in 1 of 10, n=100", partial(variance_shift, 100, 10, 2.0), of_samples),
    Problem("mixture, std 1.6, n=500", partial(mixture, 500, 1.6), of_samples, 200,
            published=_of(0.635, 0.675)),
    Problem("bumps, d=1, a=.3, n=500", _BUMPY(1, 0.3), of_samples, 200,
            published=_of(0.505, 0.605)),
    Problem("bumps, d=2, a=.6, n=500", _BUMPY(2, 0.6), of_samples, 200,
            published=_of(0.485, 0.395)),
    Problem("HIGGS, four angles, n=1000", partial(higgs_angles, 1000), of_samples, 100),
    Problem("nothing, d=10, n=50", partial(mean_shift, 50, 10, 0.0), of_samples, 1000),
    Problem("rotated, pi/8, n=100", partial(rotated, 100, np.pi / 8), of_variables, 200),
    Problem("sinusoid, w=2, n=200", partial(sinusoid, 200, 2), of_variables, 200),
    Problem("sinusoid, w=3, n=400", partial(sinusoid, 400, 3), of_variables, 200),
    Problem("dependent bump, a=1/3, n=1000", partial(dependent_bumps, 1000, 1 / 3), of_variables,
            100, published={"HSICAgg": (0.79, 100)}),
    Problem("dependent bump, a=1/4, n=1000", partial(dependent_bumps, 1000, 1 / 4), of_variables,
            100, published={"HSICAgg": (0.43, 100)}),
    Problem("4 dependent bumps, a=1/3, n=1000", partial(dependent_bumps, 1000, 1 / 3, bumps=2),
            of_variables, 100),
    Problem("nothing, variables, n=50", lambda rng: tuple(rng.standard_normal((2, 50))),
            of_variables, 1000),
]  # fmt: skip


def rejections(
    problem: Problem, repetitions: int, n_permutations: int, seed: int
) -> dict[str, Any]:
    """How often each test rejects."""
    counts: dict[str, int] = {}
    for i in range(repetitions):
        X, Y = problem.draw(np.random.default_rng([seed, i]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of peers
            for name, p in problem.pvalues(X, Y, n_permutations, [seed, i]).items():
                counts[name] = counts.get(name, 0) + (p <= LEVEL)
    return {"repetitions": repetitions, "permutations": n_permutations, "counts": counts}


# ---- the table -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class Row:
    """What was found on a problem."""

    problem: Problem
    ours: Rate
    best: tuple[str, Rate]
    median: Rate
    distance: Rate
    peer: tuple[str, Rate]

    @classmethod
    def of(cls, problem: Problem, found: dict[str, Any]) -> Row:
        """The row from counts."""
        n = found["repetitions"]
        rates = {name: (count / n, n) for name, count in found["counts"].items()}
        run = {name: rates.pop(name) for name in ("causal-learn", "hyppo", "dcor") if name in rates}
        ours = rates.pop("mercer")
        best = max(rates.items(), key=_share)
        usual = {name: rates[name] for name in _SINGLE}  # what hyppo, alibi-detect and dcor do
        peer = max((problem.published | run | usual).items(), key=_share)
        return cls(problem, ours, best, rates["median"], rates["distance"], peer)

    @property
    def cells(self) -> list[str]:
        name, best = self.best
        promised = self.problem.promised
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
            f"{_shown(self.peer[1])} ({self.peer[0]})",
            self.verdict,
        ]

    @property
    def verdict(self) -> str:
        """Is the rate at least that of the best peer, up to two standard errors?"""
        if self.problem.name.startswith("nothing"):
            return ""
        gap = self.ours[0] - self.peer[1][0]
        margin = 2 * np.hypot(_error(self.ours), _error(self.peer[1]))
        return "more" if gap > margin else "less" if gap < -margin else "equal"


def _share(named: tuple[str, Rate]) -> float:
    return named[1][0]


def _error(rate: Rate) -> float:
    share, n = rate
    return float(np.sqrt(share * (1 - share) / n))


def _shown(rate: Rate) -> str:
    return f"{rate[0]:.3f} ± {_error(rate):.3f}"


def markdown(rows: Sequence[Row], n_permutations: int) -> str:
    """The table, and what its columns are."""
    head = ["problem", "mercer", "promised", "best fixed kernel", "points", "median width",
            "distance", "best peer", "against it"]  # fmt: skip
    lines = [head, ["---"] * len(head), *(row.cells for row in rows)]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    counts = [row.ours[1] for row in rows]
    return (
        f"Rejections at the 5 % level ± standard error, {n_permutations} permutations, "
        f"{min(counts)} to {max(counts)} repetitions. *mercer*: no kernel given. *Best fixed "
        "kernel*: the one that turned out best of a grid, and how many points the test without a "
        "kernel is from it. *Distance*: energy distance or distance covariance. *Best peer*: "
        "published, run beside it, or one of the two columns before, which are what other packages "
        "do. *Against* it: equal means within two standard errors.\n\n"
        f"{table}\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, help="of each problem")
    parser.add_argument("--permutations", type=int, default=199)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="a part of the names of problems")
    parser.add_argument("--quick", action="store_true", help="print, and write nothing")
    args = parser.parse_args()
    store = RESULTS / "power.json"
    found = json.loads(store.read_text()) if store.exists() and not args.quick else {}
    for problem in PROBLEMS:
        if args.only not in problem.name:
            continue
        repetitions = args.repetitions or problem.repetitions
        try:
            new = rejections(problem, repetitions, args.permutations, args.seed)
        except Unavailable as reason:
            print(f"{problem.name}: {reason}")
            continue
        found[problem.name] = new
        print(" | ".join(Row.of(problem, new).cells), flush=True)
        if not args.quick:
            store.write_text(json.dumps(found, indent=1) + "\n")
            rows = [Row.of(p, found[p.name]) for p in PROBLEMS if p.name in found]
            (RESULTS / "power.md").write_text(markdown(rows, args.permutations), encoding="utf-8")


if __name__ == "__main__":
    main()
