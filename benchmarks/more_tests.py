"""Level and power of further tests: sequential, paired, relative, of many columns, ..., and peers.

``python -m benchmarks.more_tests`` draws each problem many times, counts how often each test
rejects at the 5 % level, and writes more_tests.json and, as tables, sequential.md and more_tests.md
in benchmarks/results.
Beside ours stand the rules of the papers, or what SciPy has: a sequential test with one kernel,
a normalised witness and online Newton steps (Shekhar & Ramdas); a logistic regression on one half
(Lopez-Paz & Oquab); the paired t-test and Wilcoxon's test; the normal limit without its
second-order part (Bounliphone et al.); Vuong's test of likelihood ratios; the product term of a
regression; Welch's and Kolmogorov's tests of each column with Holm's correction; SciPy's
parametric bootstrap of the Anderson-Darling statistic.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import mercer
from mercer import Gaussian

from .harness import ROOT

LEVEL = 0.05
RESULTS = ROOT / "benchmarks" / "results"
Found = tuple[float, float]  # a p-value, and how many samples it took


# ---- rules of others -----------------------------------------------------------------------------
def newton_steps(X: np.ndarray, Y: np.ndarray, seed: int) -> Found:
    """The bet on (f(x) - f(y)) / 2 with f of norm one, shares by online Newton steps."""
    k = Gaussian("median").resolve(np.vstack([X[:20], Y[:20]]))
    KX, KY, C = k(X), k(Y), k(X, Y)
    wealth, top, share, a = 0.0, 0.0, 0.0, 1.0
    step = 2 / (2 - np.log(3))
    square = 0.0  # the squared norm of the sum of k(x, .) - k(y, .)
    for t in range(len(X)):
        if t >= 20 and square > 0:
            h = KX[:t, t].sum() - C[t, :t].sum() - C[:t, t].sum() + KY[:t, t].sum()
            g = float(np.clip(h / np.sqrt(square) / 2, -1, 1))
            wealth += np.log1p(share * g)
            if wealth > -np.log(LEVEL):
                return 0.0, t + 1
            z = -g / (1 + share * g)
            a += z * z
            share = float(np.clip(share - step * z / a, 0, 0.5))
        cross = KX[:t, t].sum() - C[t, :t].sum() - C[:t, t].sum() + KY[:t, t].sum()
        square += 2 * cross + KX[t, t] + KY[t, t] - 2 * C[t, t]
        top = max(top, wealth)
    return float(np.exp(-top)), len(X)


def one_half(X: np.ndarray, Y: np.ndarray, seed: int) -> Found:
    """The accuracy of a linear logistic regression on the other half, by its normal limit."""
    rng = np.random.default_rng(seed)
    A, y = np.vstack([X, Y]), np.repeat([0, 1], [len(X), len(Y)])
    order = rng.permutation(len(y))
    train, held = np.array_split(order, 2)
    right = np.mean(LogisticRegression().fit(A[train], y[train]).predict(A[held]) == y[held])
    return float(stats.norm.sf((right - 0.5) * 2 * np.sqrt(len(held)))), len(X)


def first_order(X: np.ndarray, Y: np.ndarray, R: np.ndarray, seed: int) -> Found:
    """The difference of both discrepancies over the error of its first-order part."""
    k = Gaussian("median").resolve(np.concatenate([X, Y, R]))
    rows = [(X, Y, R), (Y, X, R)]
    value = mercer.mmd(X, R, k) - mercer.mmd(Y, R, k)
    total = 0.0
    for A, _, B in rows:
        total += np.var(2 * (k(A).mean(axis=0) - k(A, B).mean(axis=1))) / len(A)
    total += np.var(2 * (k(R, X).mean(axis=1) - k(R, Y).mean(axis=1))) / len(R)
    return float(2 * stats.norm.sf(abs(value) / np.sqrt(total))), len(X)


def vuong(X: np.ndarray, p: Any, q: Any, seed: int) -> Found:
    """The mean of log p - log q over its standard error."""
    ratios = np.sum(p.logpdf(X) - q.logpdf(X), axis=1)
    t = np.mean(ratios) / np.std(ratios, ddof=1) * np.sqrt(len(X))
    return float(2 * stats.norm.sf(abs(t))), len(X)


def product_term(x: np.ndarray, y: np.ndarray, z: np.ndarray, seed: int) -> Found:
    """The t-test of x y in the regression of z on 1, x, y and x y."""
    A = np.column_stack([np.ones(len(x)), x, y, x * y])
    coef = np.linalg.lstsq(A, z, rcond=None)[0]
    df = len(x) - 4
    variance = np.sum((z - A @ coef) ** 2) / df * np.linalg.inv(A.T @ A)[3, 3]
    return float(2 * stats.t.sf(abs(coef[3]) / np.sqrt(variance), df)), len(x)


def holm(test: Callable[..., Any]) -> Callable[..., Found]:
    """The smallest p-value of a test of each column, corrected."""

    def run(X: np.ndarray, Y: np.ndarray, seed: int) -> Found:
        pvalues = [test(x, y).pvalue for x, y in zip(X.T, Y.T, strict=True)]
        return float(min(mercer.adjust_pvalues(pvalues))), len(X)

    return run


def anderson(x: np.ndarray, seed: int) -> Found:
    found = stats.goodness_of_fit(
        stats.norm, x, statistic="ad", n_mc_samples=199, rng=np.random.default_rng(seed)
    )
    return float(found.pvalue), len(x)


# ---- problems ------------------------------------------------------------------------------------
def stream(X: np.ndarray, Y: np.ndarray, seed: int) -> Found:
    test = mercer.SequentialTwoSampleTest().update(X, Y)
    return test.pvalue, test.rejected_at or len(X)


def stream_pairs(X: np.ndarray, Y: np.ndarray, seed: int) -> Found:
    test = mercer.SequentialIndependenceTest().update(X, Y)
    return test.pvalue, 2 * (test.rejected_at or len(X) // 2)


def columns(X: np.ndarray, Y: np.ndarray, seed: int) -> Found:
    """The smallest corrected p-value of all columns."""
    tables = [pd.DataFrame(Z, columns=[f"x{i}" for i in range(Z.shape[1])]) for Z in (X, Y)]
    found = mercer.tables.compare_tables(*tables, n_permutations=199, rng=seed)
    return float(found.adjusted.min()), len(X)


def densities(X: np.ndarray, p: Any, q: Any, seed: int) -> Found:
    """Two normal densities by their scores."""
    scores = [lambda x, m=m: m.mean() - x for m in (p, q)]
    return mercer.relative_fit_test(X, *scores).pvalue, len(X)


def once(test: Callable[..., Any], **options: Any) -> Callable[..., Found]:
    """A test of all samples at once."""

    def run(*data: Any) -> Found:
        *samples, seed = data
        return test(*samples, rng=seed, **options).pvalue, len(samples[0])

    return run


def gauss(shift: float, scale: float, n: int, d: int = 2) -> Callable[..., Any]:
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        return rng.normal(size=(n, d)), shift + scale * rng.normal(size=(n, d))

    return draw


def blobs(rng: np.random.Generator, n: int = 1000) -> tuple[np.ndarray, ...]:
    return tuple(
        4.0 * rng.integers(0, 3, (n, 2)) + rng.normal(size=(n, 2)) * [width, 1.0]
        for width in (1.0, 2.0)
    )


def related(strength: float, n: int = 400) -> Callable[..., Any]:
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        x = rng.normal(size=n)
        return x, strength * np.cos(2 * x) + rng.normal(size=n)

    return draw


def measured(shift: float, spread: float) -> Callable[..., Any]:
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        common = rng.normal(0, 2, 50)
        return common + 0.5 * rng.normal(size=50), common + shift + spread * rng.normal(size=50)

    return draw


def models(a: float, b: float, n: int) -> Callable[..., Any]:
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        return tuple(m + rng.normal(size=(n, 1)) for m in (a, b, 0.0))

    return draw


def normals(a: float, b: float, n: int = 100) -> Callable[..., Any]:
    def draw(rng: np.random.Generator) -> tuple[Any, ...]:
        return rng.normal(size=(n, 1)), stats.norm(a), stats.norm(b)

    return draw


def triple(kind: str, n: int = 100) -> Callable[..., Any]:
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        x, y, e = rng.normal(size=(3, n))
        if kind == "apart":
            return x, x + y, e
        common = x * y if kind == "product" else np.cos(2 * x) * np.cos(2 * y)
        return x, y, common + {"product": 2.5, "waves": 0.3}[kind] * e

    return draw


def many(shift: float, alike: float, n: int = 50, d: int = 20) -> Callable[..., Any]:
    """Two samples of d columns with correlation ``alike``; the first column of one is shifted."""

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        X, Y = (
            np.sqrt(alike) * rng.normal(size=(n, 1)) + np.sqrt(1 - alike) * rng.normal(size=(n, d))
            for _ in range(2)
        )
        Y[:, 0] += shift
        return X, Y

    return draw


def fits(df: float) -> Callable[..., Any]:
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        return (3 + 2 * (rng.normal(size=60) if np.isinf(df) else rng.standard_t(df, 60)),)

    return draw


SEQUENTIAL = {
    "mercer, by betting": stream,
    "one kernel, Newton steps": newton_steps,
    "mercer, all samples at once": once(mercer.two_sample_test, n_permutations=199),
}
JOINT = {
    "mercer, by betting": stream_pairs,
    "mercer, all samples at once": once(mercer.independence_test, n_permutations=199),
}
CLASSIFIERS = {
    "mercer, classifier": once(mercer.classifier_test, n_permutations=199),
    "logistic regression on one half": one_half,
    "mercer, MMD": once(mercer.two_sample_test, n_permutations=199),
}
PAIRED = {
    "mercer, paired": once(mercer.paired_test, n_permutations=199),
    "t-test": lambda x, y, seed: (float(stats.ttest_rel(x, y).pvalue), len(x)),
    "Wilcoxon": lambda x, y, seed: (float(stats.wilcoxon(x, y).pvalue), len(x)),
    "mercer, two samples": once(mercer.two_sample_test, n_permutations=199),
}
RELATIVE = {
    "mercer, relative": lambda X, Y, R, seed: (mercer.relative_test(X, Y, R).pvalue, len(X)),
    "first order only": first_order,
}
DENSITIES = {"mercer, relative fit": densities, "likelihood ratio (Vuong)": vuong}
INTERACTION = {
    "mercer, interaction": once(mercer.interaction_test, n_permutations=199),
    "product term of a regression": product_term,
}
COLUMNS = {
    "mercer, columns": columns,
    "Welch's t-test, Holm": holm(partial(stats.ttest_ind, equal_var=False)),
    "Kolmogorov-Smirnov, Holm": holm(stats.ks_2samp),
}
KNOWN = {
    "mercer, a distribution": once(mercer.distribution_test, n_draws=99),
    "Kolmogorov-Smirnov": lambda x, known, seed: (stats.kstest(x, known.cdf).pvalue, len(x)),
}
FIT = {
    "mercer, family": once(mercer.distribution_test, n_draws=99),
    "Anderson-Darling (SciPy)": lambda x, family, seed: anderson(x, seed),
}
PROBLEMS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "stream, the same (300 pairs)": (gauss(0, 1, 300), SEQUENTIAL),
    "stream, mean .4 apart (300 pairs)": (gauss(0.4, 1, 300), SEQUENTIAL),
    "stream, spread 1.5 (300 pairs)": (gauss(0, 1.5, 300), SEQUENTIAL),
    "stream, blobs (1000 pairs)": (blobs, SEQUENTIAL),
    "stream, independent (400)": (related(0.0), JOINT),
    "stream, y = cos 2x + noise (400)": (related(1.0), JOINT),
    "classifier, the same (100)": (gauss(0, 1, 100), CLASSIFIERS),
    "classifier, mean .4 apart (100)": (gauss(0.4, 1, 100), CLASSIFIERS),
    "classifier, spread 1.5 (100)": (gauss(0, 1.5, 100), CLASSIFIERS),
    "pairs, the same (50)": (measured(0.0, 0.5), PAIRED),
    "pairs, mean .25 apart (50)": (measured(0.25, 0.5), PAIRED),
    "pairs, spread .5 and 2 (50)": (measured(0.0, 2.0), PAIRED),
    "models, equally far (100)": (models(0.5, -0.5, 100), RELATIVE),
    "models, both right (100)": (models(0.0, 0.0, 100), RELATIVE),
    "models, .3 and .8 off (100)": (models(0.3, 0.8, 100), RELATIVE),
    "densities, equally far (100)": (normals(0.5, -0.5), DENSITIES),
    "densities, .1 and .3 off (100)": (normals(0.1, 0.3), DENSITIES),
    "three variables, one apart (100)": (triple("apart"), INTERACTION),
    "three variables, x y + noise (100)": (triple("product"), INTERACTION),
    "three variables, cos 2x cos 2y + noise (100)": (triple("waves"), INTERACTION),
    "twenty columns, the same (50)": (many(0.0, 0.0), COLUMNS),
    "twenty columns, one shifted by .8 (50)": (many(0.8, 0.0), COLUMNS),
    "twenty alike columns, the same (50)": (many(0.0, 0.95), COLUMNS),
    "twenty alike columns, one shifted by .6 (50)": (many(0.6, 0.95), COLUMNS),
    "N(3, 4), true (60)": (lambda rng: (*fits(np.inf)(rng), stats.norm(3, 2)), KNOWN),
    "N(3, 4), Student 3 (60)": (lambda rng: (*fits(3.0)(rng), stats.norm(3, 2)), KNOWN),
    "family normal, true (60)": (lambda rng: (*fits(np.inf)(rng), stats.norm), FIT),
    "family normal, Student 3 (60)": (lambda rng: (*fits(3.0)(rng), stats.norm), FIT),
}


HYPOTHESES = ("the same", "independent", "equally far", "both right", "one apart", ", true")
LONGER = 5  # times more draws where the hypothesis is true


def markdown(found: dict[str, Any]) -> str:
    """One row for each problem and test."""
    streams = any(_is_stream(key) for key in found)
    header = ["problem", "null hypothesis", "test", "rejected", "draws"]
    lines = [header + ["median samples at rejection"] * streams]
    lines.append(["---"] * len(lines[0]))
    for key, row in found.items():
        for name, (rejected, count, median) in row.items():
            kind = "true" if _is_true(key) else "false"
            line = [key, kind, name, f"{rejected / count:.3f}", str(count)]
            lines.append(line + ["" if median is None else f"{median:.0f}"] * streams)
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    low, high = stats.binom.ppf([0.005, 0.995], 1000, LEVEL) / 1000
    return (
        f"Rejection rates at the 5 % level. In 1,000 draws under a true null hypothesis, the rate "
        f"of an exact test is between {low:.3f} and {high:.3f} with a probability of 99 %.\n\n"
        f"{table}\n"
    )


def write(found: dict[str, Any]) -> None:
    """Both tables, in the order of the problems: of streams, and of samples."""
    known = {key: found[key] for key in PROBLEMS if key in found}
    for name, streams in (("sequential.md", True), ("more_tests.md", False)):
        part = {key: row for key, row in known.items() if _is_stream(key) == streams}
        (RESULTS / name).write_text(markdown(part), encoding="utf-8")


def _is_stream(problem: str) -> bool:
    return problem.startswith("stream")


def _is_true(problem: str) -> bool:
    return any(words in problem for words in HYPOTHESES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--problems", nargs="+", default=[""], help="parts of their names")
    args = parser.parse_args()
    store = RESULTS / "more_tests.json"
    for key, (draw, tests) in PROBLEMS.items():
        if not any(part in key for part in args.problems):
            continue
        for name, test in tests.items():
            found = []
            for i in range(args.repetitions * (LONGER if _is_true(key) else 1)):
                with warnings.catch_warnings(), threadpool_limits(1):
                    warnings.simplefilter("ignore")
                    found.append(test(*draw(np.random.default_rng([4, i])), i))
            taken = [size for p, size in found if p <= LEVEL]
            median = float(np.median(taken)) if taken else None
            row = [len(taken), len(found), median if _is_stream(key) else None]
            print(key, name, row, flush=True)
            kept = json.loads(store.read_text(encoding="utf-8")) if store.exists() else {}
            kept.setdefault(key, {})[name] = row
            text = json.dumps(kept, indent=1, ensure_ascii=False) + "\n"
            store.write_text(text, encoding="utf-8")
            write(kept)


if __name__ == "__main__":
    main()
