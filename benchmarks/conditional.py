"""Level and power of tests of conditional independence.

``python -m benchmarks.conditional`` draws each problem of :mod:`.conditional_problems` many times,
counts how often each test rejects at the 5 % level, and writes conditional.json and conditional.md
in benchmarks/results. Beside ours stand partial correlation, the generalised covariance measure
(Shah & Peters, with Gaussian kernel ridge regressions), and the kernel test of
causal-learn (KCI with its defaults), where it is installed.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.stats import binom, norm
from scipy.stats import t as student
from threadpoolctl import threadpool_limits

from mercer import conditional_independence_test

from .conditional_problems import ALTERNATIVES, NULLS, Draw, Triple
from .harness import ROOT

LEVEL = 0.05
ORDER = ("mercer", "local", "gamma", "partial correlation", "GCM", "causal-learn KCI")
RESULTS = ROOT / "benchmarks" / "results"
Test = Callable[[Triple, int], float]


# ---- tests ---------------------------------------------------------------------------------------
def ours(triple: Triple, seed: int, null: str = "auto") -> float:
    """With 199 draws."""
    return conditional_independence_test(*triple, null=null, n_permutations=199, rng=seed).pvalue


def partial_correlation(triple: Triple, seed: int) -> float:
    """The t-test of the correlation of residuals of linear regressions."""
    x, y, z = triple
    n, z = len(x), z.reshape(len(x), -1)
    D = np.column_stack([np.ones(n), z])
    r, s = (v - D @ np.linalg.lstsq(D, v, rcond=None)[0] for v in (x, y))
    rho = float(r @ s / np.sqrt((r @ r) * (s @ s)))
    df = n - 2 - z.shape[1]
    return float(2 * student.sf(abs(rho) * np.sqrt(df / (1 - rho**2)), df))


def gcm(triple: Triple, seed: int) -> float:
    """The normalised sum of products of residuals of Gaussian kernel ridge regressions."""
    x, y, z = triple
    z = z.reshape(len(x), -1)
    z = (z - z.mean(axis=0)) / z.std(axis=0)
    products = np.prod(_residuals(z, np.column_stack([x, y])), axis=1)
    score = np.sqrt(len(x)) * products.mean() / products.std()
    return float(2 * norm.sf(abs(score)))


def _residuals(z: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Of the fit with the lengthscale and the penalty that are best on observations left out."""
    D = np.sum((z[:, None] - z[None]) ** 2, axis=2) / z.shape[1]
    Y = Y - Y.mean(axis=0)
    best, out = np.full(Y.shape[1], np.inf), np.empty_like(Y)
    for width in (0.1, 0.2, 0.4, 0.8, 1.6, 3.2):
        s, U = np.linalg.eigh(np.exp(-D / (2 * width**2)) + 1)
        for penalty in np.geomspace(1e-6, 1e2, 17):
            G = (U / (np.maximum(s, 0) + penalty)) @ U.T
            c = G @ Y
            losses = np.sum((c / np.diagonal(G)[:, None]) ** 2, axis=0)
            better = losses < best
            best[better], out[:, better] = losses[better], penalty * c[:, better]
    return out


def causal_learn(triple: Triple, seed: int) -> float:
    """KCI with its defaults."""
    from causallearn.utils.KCI.KCI import KCI_CInd

    np.random.seed(seed)  # noqa: NPY002  it draws from it
    x, y, z = (v.reshape(len(v), -1) for v in triple)
    return float(KCI_CInd().compute_pvalue(x, y, z)[0])


def tests() -> dict[str, Test]:
    """All of them, those of packages where they are installed."""
    found: dict[str, Test] = {
        "mercer": ours,
        "local": lambda triple, seed: ours(triple, seed, "local"),
        "gamma": lambda triple, seed: ours(triple, seed, "gamma"),
        "partial correlation": partial_correlation,
        "GCM": gcm,
    }
    return found | ({"causal-learn KCI": causal_learn} if find_spec("causallearn") else {})


# ---- counts and tables ---------------------------------------------------------------------------
def count(draw: Draw, test: Test, n: int, repetitions: int) -> int:
    """How many of so many samples are rejected."""
    rejected = 0
    for i in range(repetitions):
        triple = draw(n, np.random.default_rng([15, i]))
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")  # of packages
            rejected += test(triple, i) <= LEVEL
    return rejected


def band(repetitions: int) -> tuple[float, float]:
    """The range of rejection rates that an exact 5 % test has with a probability of 99 %."""
    low, high = binom.ppf([0.005, 0.995], repetitions, LEVEL) / repetitions
    return float(low), float(high)


def markdown(found: dict[str, Any]) -> str:
    """A table of levels and one of powers."""
    tried = dict.fromkeys(name for row in found.values() for name in row)
    names = [*(name for name in ORDER if name in tried), *(tried.keys() - set(ORDER))]
    parts = []
    for problems, title in ((NULLS, "independent given z"), (ALTERNATIVES, "dependent given z")):
        places = {name: place for place, name in enumerate(problems)}
        keys = [key for key in found if _name(key) in places]
        keys.sort(key=lambda key: (places[_name(key)], len(key), key))
        lines = [[title, *names], ["---"] * (1 + len(names))]
        for key in keys:
            cells = [_cell(found[key].get(name)) for name in names]
            lines.append([key.replace("|", "\\|"), *cells])
        parts.append("\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n")
    bands = {n: "{:.3f} to {:.3f}".format(*band(n)) for n in (1000, 400, 200, 100, 50)}
    about = (
        "Rejection rates at the 5 % level (repetitions in brackets unless 1000). "
        "With a probability of 99 %, the rejection rate of an exact test is "
        + ", ".join(f"{bounds} in {n}" for n, bounds in bands.items())
        + " repetitions.\n"
    )
    return "\n".join([about, *parts])


def _name(key: str) -> str:
    return key.rsplit(", n=", 1)[0]


def _cell(counts: list[int] | None) -> str:
    if counts is None:
        return ""
    rejected, n = counts
    return f"{rejected / n:.3f}" + ("" if n == 1000 else f" ({n})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--problems", nargs="+", default=[""], help="parts of their names")
    parser.add_argument("--tests", nargs="+", default=list(tests()), help="names")
    args = parser.parse_args()
    store = RESULTS / "conditional.json"
    for name, draw in (NULLS | ALTERNATIVES).items():
        if not any(part in name for part in args.problems):
            continue
        key = f"{name}, n={args.n}"
        for test in args.tests:
            rejected = count(draw, tests()[test], args.n, args.repetitions)
            print(f"{key}: {test} {rejected / args.repetitions:.3f}", flush=True)
            found = json.loads(store.read_text(encoding="utf-8")) if store.exists() else {}
            found.setdefault(key, {})[test] = [rejected, args.repetitions]
            text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
            store.write_text(text, encoding="utf-8")
            (RESULTS / "conditional.md").write_text(markdown(found), encoding="utf-8")


if __name__ == "__main__":
    main()
