"""``mercer bench``: the speed of the library on this machine, compared with scikit-learn."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Any

import numpy as np

from ..progress import progress
from .arguments import whole
from .output import as_json, entry, grid


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of ``mercer bench``."""
    parser.add_argument(
        "--rows", type=whole(100), default=3000, metavar="N", help="(default: 3000)"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: Namespace) -> None:
    """Time each pair once to warm up and once to measure."""
    told = []
    for name, ours, theirs in progress(
        _pairs(args.rows), not args.json and sys.stderr.isatty(), "pairs"
    ):
        times = [min(_timed(call) for _ in range(2)) for call in (ours, theirs)]
        told.append({"what": name, "mercer": times[0], "scikit-learn": times[1]})
    if args.json:
        print(as_json(told))
        return
    cells = [
        [row["what"], f"{row['mercer']:.3f} s", f"{row['scikit-learn']:.3f} s",
         f"{row['scikit-learn'] / row['mercer']:.1f}"]
        for row in told
    ]  # fmt: skip
    print(entry("bench", *grid(["", "mercer", "scikit-learn", "times faster"], cells)))
    print(entry("", f"{args.rows} rows of 20 columns; make bench compares with all peers"))


def _timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _pairs(n: int) -> list[tuple[str, Callable[[], Any], Callable[[], Any]]]:
    from sklearn.decomposition import KernelPCA as TheirPCA
    from sklearn.kernel_ridge import KernelRidge as TheirRidge
    from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
    from sklearn.svm import SVC as TheirSVC

    import mercer as m

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 20))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(n)
    codes = (y > np.median(y)).astype(int)
    gamma = 1 / 20
    gauss, rough = m.Gaussian.from_gamma(gamma), m.Laplacian.from_gamma(gamma, p=1)
    return [
        ("Gaussian kernel matrix", lambda: gauss(X), lambda: rbf_kernel(X, gamma=gamma)),
        ("Laplacian kernel matrix", lambda: rough(X), lambda: laplacian_kernel(X, gamma=gamma)),
        (
            "kernel ridge regression",
            lambda: m.KernelRidge(0.1, kernel=gauss).fit(X, y),
            lambda: TheirRidge(alpha=0.1, kernel="rbf", gamma=gamma).fit(X, y),
        ),
        (
            "support vector machine",
            lambda: m.SVC(kernel=gauss).fit(X, codes),
            lambda: TheirSVC(gamma=gamma).fit(X, codes),
        ),
        (
            "kernel PCA, 10 components",
            lambda: m.KernelPCA(10, kernel=gauss).fit(X),
            lambda: TheirPCA(10, kernel="rbf", gamma=gamma, random_state=0).fit(X),
        ),
    ]
