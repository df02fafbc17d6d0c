"""HSIC and dHSIC under permutations: by groups where there is one, at random otherwise."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from ..engine.memory import parse_memory, require_memory
from ..gram.plan import Plan
from ..kernels.base import Kernel
from .arrangement import Arrangement, arrange
from .bank import not_finite, scale_of
from .cyclic import shifted_sums
from .cyclic_features import shifted_feature_sums
from .dependence import from_centred
from .gather import permuted_sums
from .permutations import Units
from .planned import require_stored, stored_words
from .smoothers import centre_in_place
from .variables import Variables, dense_features, is_constant

_MEMORY = 5e8  # bytes for products and features, if a plan does not say otherwise
_PARTS = 2  # arrays of that size: products, and features with their transforms
_WORK = 2e11  # pairs of observations times random permutations, beyond which it would take minutes


def memory_of(plan: Plan) -> float:
    """The bytes that features may take: what the plan says, or 500 MB."""
    return _MEMORY if plan.memory is None else parse_memory(plan.memory)


class PermutedHSIC:
    """The statistics of all combinations of kernels, one per variable, under permutations.

    Parameters
    ----------
    joint : Variables
        The data.
    candidates : list of list of Kernel
        The kernels of each variable, resolved. All pairs of them are combined; at random, or of
        more than two variables, the first ones with each other, the second ones, and so on, if
        there are as many of each.
    units : Units
        What is permuted.
    biased : bool
        The biased estimate; always for more than two variables.
    how : {"auto", "cyclic", "random"}
        How to permute.
    rng : Generator
        The source of randomness.
    plan : Plan, optional
        Threads and memory.
    verbose : bool
        Show a progress bar.

    Attributes
    ----------
    combinations : list of tuple of Kernel
        The kernels of each row of statistics.
    tolerance : ndarray
        How far apart rounding may move two statistics of a combination that are equal.
    words, notes
        How permutations were made, in words; what to know of that.
    """

    def __init__(
        self,
        joint: Variables,
        candidates: list[list[Kernel]],
        units: Units,
        *,
        biased: bool,
        how: str,
        rng: np.random.Generator,
        plan: Plan | None = None,
        verbose: bool = False,
    ) -> None:
        self.stored = plan or Plan(storage="dense")  # by which matrices are made
        plan = plan or Plan()
        self.joint, self.candidates, self.units = joint, candidates, units
        self.biased, self.how, self.rng, self.verbose = biased, how, rng, verbose
        self.workers, self.memory = plan.workers, memory_of(plan)
        self.combinations: list[tuple[Kernel, ...]] = []
        self.tolerance = np.empty(0)
        self.words, self.plan, self.computation = "", plan, "nothing is computed"
        self.notes: tuple[str, ...] = ()
        self._matrices: dict[tuple[int, int], _Matrix] = {}
        units.check_movable()
        parts = enumerate(zip(candidates, joint.data, strict=True))
        self.constant = [v for v, (ks, X) in parts if all(is_constant(k, X) for k in ks)]
        if self.constant:
            self.notes = (
                f"variable {self.constant[0]} is constant, so no dependence can be detected.",
            )

    def values(self, n_permutations: int) -> np.ndarray:
        """Statistics, shape (combinations, 1 + permutations), the observed one first."""
        if len(self.joint) == 2 and self.how != "random" and not self.constant:
            found = arrange(self.units, n_permutations + 1, self.rng)
            if found is not None:
                self.words = ", a cyclic group"
                return self._over_group(found)
        if self.how == "cyclic":
            raise ValueError(
                'permutations="cyclic" needs two variables, and more observations (or groups of '
                'more equal sizes) for so many permutations; use permutations="auto".'
            )
        return np.concatenate([self.observed()[:, None], self.draw(n_permutations)], axis=1)

    def observed(self) -> np.ndarray:
        """Statistics of the data as they are."""
        return self._under(np.tile(np.arange(self.joint.n), (1, len(self.joint) - 1, 1)))[:, 0]

    def draw(self, count: int) -> np.ndarray:
        """Statistics under random permutations of whole variables, shape (combinations, count)."""
        d, n = len(self.joint), self.joint.n
        shuffled = self.units.positions(count * (d - 1), self.rng)
        return self._under(shuffled.reshape(count, d - 1, n))

    def _over_group(self, arrangement: Arrangement) -> np.ndarray:
        left, right = self.candidates
        self.combinations = list(product(left, right))
        X, Y = self.joint.data
        pairs = zip((left, right), (X, Y), strict=True)
        finite = all(dense_features(k, Z) for kernels, Z in pairs for k in kernels)
        asked = self.plan.storage not in ("auto", "lowrank")
        n, m = self.joint.n, len(arrangement.grid)
        held = 12.0 * m * m * (len(left) + len(right))  # diagonals of a tile, and their transforms
        if finite and not asked:
            self.computation = f"{len(left) + len(right)} kernels on {n} samples, by features"
            sums = shifted_feature_sums(
                (left, right), X, Y, arrangement, self.workers,
                verbose=self.verbose, memory=self.memory / _PARTS,
            )  # fmt: skip
        else:
            require_memory(held, f"tiles of {m} x {m} values of all kernels")
            self.computation = (
                f"values of {len(left) + len(right)} kernels on {n} x {n} pairs, "
                f"{stored_words(self.plan)}"
            )
            sums = shifted_sums(
                (left, right), X, Y, arrangement, self.workers, self.verbose, self.plan
            )
        total, traces = sums.pairs + sums.own, sums.traces[:, :, None]
        values = from_centred(total, sums.own, traces, self.joint.n, self.biased)
        self.tolerance = sums.rounding.ravel() / _pairs(self.joint.n, self.biased)
        return self._checked(np.asarray(values.reshape(len(self.combinations), -1)))

    def _checked(self, values: np.ndarray) -> np.ndarray:
        for kernels, row in zip(self.combinations, values, strict=True):
            if not np.all(np.isfinite(row)):
                raise not_finite(" with ".join(map(repr, kernels)))
        return values

    def _under(self, permutations: np.ndarray) -> np.ndarray:
        n, sizes = self.joint.n, {len(kernels) for kernels in self.candidates}
        if len(sizes) == 1:
            places = [(i,) * len(self.candidates) for i in range(sizes.pop())]
        else:
            places = list(product(*(range(len(kernels)) for kernels in self.candidates)))
        work = float(n) ** 2 * len(permutations) * len(places)
        if work > _WORK:
            raise ValueError(
                f"{len(permutations)} random permutations of {n} observations and {len(places)} "
                f"combinations of kernels would take too long; use fewer permutations or kernels."
            )
        self.combinations = [
            tuple(k[i] for k, i in zip(self.candidates, place, strict=True)) for place in places
        ]
        self.tolerance = np.zeros(len(places))
        if self.constant:
            return np.zeros((len(places), len(permutations)))
        if self.plan.storage not in ("auto", "dense", "lowrank"):
            require_stored(self.plan, "a test by random permutations", n)
        statistic = self._hsic if len(self.joint) == 2 else self._dhsic
        values = np.empty((len(places), len(permutations)))
        for at, place in enumerate(places):
            matrices = [self._matrix(v, i) for v, i in enumerate(place)]
            unit = float(np.prod([M.scale for M in matrices]))
            with np.errstate(over="ignore"):
                values[at] = unit * statistic([M.values for M in matrices], permutations)
                self.tolerance[at] = unit * _rounding(matrices) / _pairs(n, self.biased)
        return self._checked(values)

    def _hsic(self, matrices: list[np.ndarray], permutations: np.ndarray) -> np.ndarray:
        sums = permuted_sums(matrices, permutations, self.workers)
        traces = float(np.prod([np.trace(M, dtype=np.float64) for M in matrices]))
        total = sums.pairs + sums.own
        return np.asarray(from_centred(total, sums.own, traces, self.joint.n, self.biased))

    def _dhsic(self, matrices: list[np.ndarray], permutations: np.ndarray) -> np.ndarray:
        n = self.joint.n
        sums = permuted_sums(matrices, permutations, self.workers)
        means = [M.mean(axis=0, dtype=np.float64) for M in matrices]
        rows = np.tile(means[0], (len(permutations), 1))
        for v, mean in enumerate(means[1:]):
            rows *= mean[permutations[:, v]]
        apart = float(np.prod([mean.mean() for mean in means]))
        return np.asarray((sums.pairs + sums.own) / n**2 + apart - 2 * rows.mean(axis=1))

    def _matrix(self, v: int, i: int) -> _Matrix:
        """A kernel matrix in single precision, of two variables a centred one, computed once."""
        if (v, i) not in self._matrices:
            n, kernel = self.joint.n, self.candidates[v][i]
            count = sum(len(kernels) for kernels in self.candidates)
            what = "a permutation test by stored kernel matrices"
            require_memory(4.0 * n**2 * count + 8.0 * n**2, what)
            self.computation = f"{count} kernel matrices of {n} samples, stored in single precision"
            gram = kernel.gram(self.joint.data[v], self.stored)
            scale = scale_of(kernel, kernel.prepare(self.joint.data[v]))
            K = gram.dense(what)
            noise = float(np.finfo(K.dtype).eps * np.linalg.norm(K / scale))
            K = K.astype(np.float64, copy=False)
            K = centre_in_place(K) if len(self.joint) == 2 else K
            M = (K / scale).astype(np.float32)
            norm = float(np.linalg.norm(M))
            noise += float(np.finfo(np.float32).eps) * norm
            self._matrices[v, i] = _Matrix(M, scale, norm, noise)
        return self._matrices[v, i]


class _Matrix(NamedTuple):
    """A kernel matrix in single precision, in units of ``scale``; its norm, and its rounding."""

    values: np.ndarray
    scale: float
    norm: float
    noise: float


def _rounding(matrices: list[_Matrix]) -> float:
    """How far apart rounding may move sums of products of permuted matrices that are equal."""
    n = len(matrices[0].values)
    product = float(np.prod([M.norm / n for M in matrices])) * n**1.5
    return 4 * product * sum(M.noise / M.norm for M in matrices if M.norm > 0)


def _pairs(n: int, biased: bool) -> float:
    """The divisor of sums over pairs."""
    return float(n**2 if biased else n * (n - 3))
