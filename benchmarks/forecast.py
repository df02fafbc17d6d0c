"""The accuracy of forecasts of time and memory.

``python -m benchmarks.forecast`` forecasts the cost of fits with :func:`mercer.models.forecast`,
fits each way in a process of its own, and writes forecasts and measurements to
benchmarks/results/forecast.md. Sizes are larger than those of the trials behind the forecasts.
Memory is the peak of traced arrays. The machine should do nothing else meanwhile.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
import warnings
from typing import Any

import numpy as np

from .harness import ROOT

RESULTS = ROOT / "benchmarks" / "results" / "forecast.md"
_D = 8


def problem(n: int, labels: bool) -> tuple[np.ndarray, np.ndarray]:
    """A smooth function of eight variables with noise, or its sign."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, _D))
    y = np.sin(X[:, :3].sum(axis=1)) + 0.3 * rng.normal(size=n)
    return X, np.where(y > 0, 1, 0) if labels else y


def cases() -> dict[str, tuple[Any, int, bool, tuple[str, ...]]]:
    """Models, sizes, whether targets are labels, and the ways that are measured."""
    from mercer import SVC, SVR, Gaussian, KernelLogisticRegression, KernelPCA, KernelRidge

    kernel = Gaussian(3.0)
    few, both = ("300 landmarks", "1000 landmarks"), ("stored", "in tiles")
    return {
        "KernelRidge": (KernelRidge(0.1, kernel=kernel), 11_000, False, (*both, *few)),
        "KernelRidge, larger": (KernelRidge(0.1, kernel=kernel), 60_000, False, few),
        "KernelLogisticRegression": (
            KernelLogisticRegression(1.0, kernel=kernel, tol=1e-4), 25_000, True, few,
        ),
        "SVC": (SVC(kernel, C=1.0), 11_000, True, both),
        "SVR": (SVR(kernel, C=1.0), 9_500, False, ("in tiles",)),
        "KernelPCA": (KernelPCA(5, kernel=kernel), 10_000, False, ("stored", "300 landmarks")),
    }  # fmt: skip


def measured(model: Any, plan: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Seconds and bytes of a fit."""
    from sklearn.base import clone

    model = clone(model).set_params(plan=plan)
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    tracemalloc.start()
    clone(model).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return seconds, float(peak)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="cases whose name contains this")
    parser.add_argument("--seconds", type=float, default=60, help="longer fits are left out")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [
        "| model | samples | plan | forecast s | measured s | ratio | forecast MB | measured MB "
        "| ratio |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines))
    for name, (model, n, labels, wanted) in cases().items():
        if options.only and options.only not in name:
            continue
        X, y = problem(n, labels)
        begin = time.perf_counter()
        said = {way.name: way for way in model.forecast(X, y).ways}
        asked = time.perf_counter() - begin
        for way in (said[w] for w in wanted if said[w].seconds < options.seconds):
            seconds, nbytes = measured(model, way.plan, X, y)
            lines.append(
                f"| {name} | {n} | {way.name} | {way.seconds:.2f} | {seconds:.2f} "
                f"| {seconds / way.seconds:.2f} | {way.nbytes / 1e6:.0f} | {nbytes / 1e6:.0f} "
                f"| {nbytes / way.nbytes:.2f} |"
            )
            print(lines[-1], flush=True)
        print(f"(the forecast took {asked:.1f} s)", flush=True)
    if not options.only:
        RESULTS.write_text(
            "# Forecasts\n\nRatios are measured over forecast.\n\n" + "\n".join(lines) + "\n"
        )


if __name__ == "__main__":
    main()
