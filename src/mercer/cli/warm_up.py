"""``mercer warm-up``: compile all loops ahead of time, for containers or a fast first call."""

from __future__ import annotations

import os
import warnings
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .._compiled import folders
from ..engine import schedule
from ..progress import progress

_STRINGS = ["ACGTACGTAC", "TTGACGTACA", "ACGGGTACCA", "TACGTACGTT"]
_TREES = ["(S (NP dogs) (VP bark))", "(S (NP (D a) (N cat)) (VP sleeps))", "(S (NP x) (VP y))"]


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of ``mercer warm-up``."""
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def run(args: Namespace) -> None:
    """Compile everything, and say where it is kept."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about problems as small as these
        for _, job in progress(_jobs(), not args.quiet, "compiling"):
            job()
    kept = [path for folder in folders() for path in Path(folder).glob("*.nb[ci]")]
    if not kept:
        raise ValueError(
            "there is no writable place for compiled loops; set NUMBA_CACHE_DIR to a writable "
            "folder, now and whenever mercer is used."
        )
    size = sum(path.stat().st_size for path in kept) / 1e6
    print(f"compiled loops ({size:.0f} MB) are kept in {os.path.commonpath(folders())}")


def _jobs() -> list[tuple[str, Callable[[], Any]]]:
    """Small problems that call all loops with their usual types."""
    import mercer as m

    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y, two, three = X[:, 0], X[:, 0] > 0, np.digitize(X[:, 0], [-0.5, 0.5])
    series = [rng.standard_normal((t, 2)) for t in (9, 12, 15, 10)]
    bits = (X > 0).astype(float)
    jobs: list[tuple[str, Callable[[], Any]]] = []

    def job(function: Callable[..., Any], *args: Any) -> None:
        jobs.append((str(function), lambda: function(*args)))

    def both(kernel: m.Kernel, data: Any) -> None:
        """Values, a diagonal, and slopes where there are some."""

        def call() -> None:
            own = kernel.resolve(data)
            own(data)
            own.normalize()(data[:3], data)
            P = own.prepare(data)
            if len(own.theta):
                own.grad_theta(P, P, np.ones((len(data), len(data))))

        jobs.append((str(kernel), call))

    for machine in (m.SVC(), m.SVC(kernel="linear"), m.NuSVC()):
        job(machine.fit, X, two)
        job(machine.fit, X.astype(np.float32), two)
        job(machine.fit, X, three)
        job(machine.fit, bits, two)
    for machine in (m.SVR(), m.NuSVR(), m.KernelQuantileRegressor()):
        job(machine.fit, X, y)
    for machine in (m.KernelRanker(), m.SparseKernelMachine()):
        job(machine.fit, X, y)
    job(lambda: m.SequenceLabeller().fit(X, two).predict(X))
    large = rng.standard_normal((3000, 3))  # beyond what is solved in double precision, or at once
    noisy = large[:, 0] + rng.standard_normal(3000)
    job(m.SVC().fit, large, noisy > 0)
    job(m.SVC(kernel="linear").fit, large, noisy > 0)
    job(m.SVC().fit, large[:900], np.digitize(noisy[:900], [-0.5, 0.5]))
    job(m.SVC().fit, (large[:900] > 0).astype(float), noisy[:900] > 0)
    job(m.OneClassSVM().fit, X)
    job(m.OnlineKernelMachine(loss="logistic", budget=20).fit, X, two)
    job(m.OnlineOneClassSVM().fit, X)
    job(m.SVC(kernel=m.Spectrum(2)).fit, _STRINGS, [0, 0, 1, 1])
    long = ["".join(rng.choice(list("ACGT"), 80)) for _ in range(60)]
    both(m.Spectrum(8), long)
    both(m.Mismatch(8, 1), long)
    for kernel in (
        m.Spectrum(3), m.BlendedSpectrum(3), m.Mismatch(4, 1), m.GappyKmer(), m.WeightedDegree(),
        m.Subsequence(), m.BlendedSubsequence(), m.AllSubsequences(), m.LocalAlignment(),
        m.Wildcard(), m.ContextTree(), m.TfIdf(m.Words()), m.RestrictedGappy(decay=0.5),
        m.StringPairHMM(),
    ):  # fmt: skip
        both(kernel, _STRINGS)
    for kernel in (
        m.GlobalAlignment(), m.GlobalAlignment(band=5), m.DynamicTimeWarping(), m.PairHMM(),
        m.SoftSubsequence(), m.Signature(), m.Signature(order=1), m.Signature(order=2),
        m.Signature(depth=3), m.DilatedConvolution(), m.DilatedConvolution(size=84),
    ):  # fmt: skip
        both(kernel, series)
    for kernel in (
        m.Subtree(),
        m.SubsetTree(),
        m.PartialTree(),
        m.ElasticTree(),
        m.ElasticTree(mutation=0.5),
    ):
        both(kernel, _TREES)
    for kernel in (m.Mallows(), m.AverageKendall()):
        both(kernel, X)
    graphs = [m.Graph([(i, i + 1) for i in range(n)]) for n in (7, 8, 9)]
    for kernel in (
        m.ShortestPath(), m.Graphlet(), m.Graphlet(samples=1), m.WLAlignment(), m.GraphFiltration(),
    ):  # fmt: skip
        both(kernel, graphs)
    bags = [X[i : i + 10] for i in range(0, 60, 10)]
    both(m.ProbabilityProduct(), bags)
    both(m.MeanEmbedding(m.Gaussian()), bags)
    both(m.Fisher(m.DiscreteHMM.fit(_STRINGS, 2)), _STRINGS)
    for kernel in (
        m.RandomWalk(), m.RandomWalk(node="labels"), m.RandomWalk(node="labels", steps=3),
        m.MarginalizedGraph(), m.MultiscaleLaplacian(1), m.NestedGraph(),
    ):  # fmt: skip
        both(kernel, graphs)
    job(schedule.load)
    job(m.two_sample_test, X[:30], X[30:])
    job(m.two_sample_test, long[:30], long[30:], m.Spectrum(3))
    job(m.two_sample_test, large[:1500], large[1500:])
    job(m.two_sample_test, large, large, m.Laplacian())
    job(m.independence_test, X[:, :1], X[:, 1:])
    job(m.change_points, large[:300])
    return jobs
