"""The problems of the power study: samples or variables, and the tests that are tried on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from mercer import Distance, Gaussian, Laplacian, Plan, independence_test, two_sample_test

from .power_rules import pvalues_of_rules
from .two_sample_data import (
    Pair,
    blobs,
    dependent_bumps,
    higgs_angles,
    independent,
    mean_shift,
    mixture,
    perturbed_uniform,
    rotated,
    sinusoid,
    variance_shift,
)

RULES = ("MMD-FUSE", "MMDAgg")
PACKAGES = ("causal-learn", "hyppo", "dcor")
SINGLE = ("median", "distance")  # fixed kernels with a column of their own
MEASURES = ("coco", "kcca", "nocco")  # other statistics of dependence, with the default kernels
_WIDTHS = (0.1, 0.2, 0.4, 1.0, 3.0)  # of the fixed kernels of variables, in median distances
_PLAN = Plan(workers=1)  # repetitions run side by side instead

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
    """P-values of the test without a kernel, of peers' rules, of each kernel, and of two others."""
    options: dict[str, Any] = {"n_permutations": n_permutations, "rng": seed, "plan": _PLAN}
    ours = two_sample_test(X, Y, **options)
    others = two_sample_test(X, Y, [Gaussian("median"), Distance()], **options)
    found = {"mercer": ours.pvalue} | pvalues_of_rules(X, Y, n_permutations, seed)
    for k, p in zip(range(len(ours.kernel)), ours.details["pvalues"], strict=True):
        found[f"{type(ours.kernel[k]).__name__} {k % 10 + 1}"] = float(p)
    return found | dict(zip(SINGLE, map(float, others.details["pvalues"]), strict=True))


def of_variables(x: Any, y: Any, n_permutations: int, seed: Sequence[int]) -> PValues:
    """P-values without kernels, by all measures, of pairs of kernels, and of the peers at hand."""
    options: dict[str, Any] = {"n_permutations": n_permutations, "rng": seed, "plan": _PLAN}
    grids = []
    for v in (x, y):
        median = float(Gaussian("median").resolve(v.reshape(-1, 1)).lengthscale)
        grids.append([*(Gaussian(w * median) for w in _WIDTHS), Laplacian(median), Distance()])
    names = [*(f"{w:g}" for w in _WIDTHS), "Laplacian", "distance"]
    found = {"mercer": independence_test(x, y, **options).pvalue}
    for measure in MEASURES:
        found[measure] = independence_test(x, y, statistic=measure, **options).pvalue
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
    Problem("nothing, variables, n=50", partial(independent, 50), of_variables, 1000),
]  # fmt: skip
