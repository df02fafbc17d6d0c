"""HSIC and dHSIC under permutations: by groups where there is one, at random otherwise."""

from __future__ import annotations

from itertools import product

import numpy as np

from ..gram.memory import parse_memory, require_memory
from ..gram.plan import Plan
from ..gram.tiles import evaluate
from ..kernels.base import Kernel
from .arrangement import Arrangement, arrange
from .cyclic import shifted_sums
from .cyclic_features import shifted_feature_sums
from .gather import permuted_sums
from .hsic import from_centred
from .permutations import Units
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
        plan = plan or Plan()
        self.joint, self.candidates, self.units = joint, candidates, units
        self.biased, self.how, self.rng, self.verbose = biased, how, rng, verbose
        self.workers, self.memory = plan.workers, memory_of(plan)
        self.combinations: list[tuple[Kernel, ...]] = []
        self.words = ""
        self.notes: tuple[str, ...] = ()
        self._matrices: dict[tuple[int, int], np.ndarray] = {}
        units.check_movable()
        parts = enumerate(zip(candidates, joint.data, strict=True))
        self.constant = [v for v, (ks, X) in parts if all(is_constant(k, X) for k in ks)]
        if self.constant:
            self.notes = (f"variable {self.constant[0]} is constant, so there is nothing to see.",)

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
        if finite:
            sums = shifted_feature_sums(
                (left, right), X, Y, arrangement, self.workers,
                verbose=self.verbose, memory=self.memory / _PARTS,
            )  # fmt: skip
        else:
            sums = shifted_sums((left, right), X, Y, arrangement, self.workers, self.verbose)
        total, traces = sums.pairs + sums.own, sums.traces[:, :, None]
        values = from_centred(total, sums.own, traces, self.joint.n, self.biased)
        return np.asarray(values.reshape(len(self.combinations), -1))

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
        if self.constant:
            return np.zeros((len(places), len(permutations)))
        statistic = self._hsic if len(self.joint) == 2 else self._dhsic
        return np.array([statistic(place, permutations) for place in places])

    def _hsic(self, place: tuple[int, ...], permutations: np.ndarray) -> np.ndarray:
        matrices = [self._matrix(v, i, centred=True) for v, i in enumerate(place)]
        sums = permuted_sums(matrices, permutations, self.workers)
        traces = float(np.prod([np.trace(M, dtype=np.float64) for M in matrices]))
        total = sums.pairs + sums.own
        return np.asarray(from_centred(total, sums.own, traces, self.joint.n, self.biased))

    def _dhsic(self, place: tuple[int, ...], permutations: np.ndarray) -> np.ndarray:
        n = self.joint.n
        matrices = [self._matrix(v, i, centred=False) for v, i in enumerate(place)]
        sums = permuted_sums(matrices, permutations, self.workers)
        means = [M.mean(axis=0, dtype=np.float64) for M in matrices]
        rows = np.tile(means[0], (len(permutations), 1))
        for v, mean in enumerate(means[1:]):
            rows *= mean[permutations[:, v]]
        apart = float(np.prod([mean.mean() for mean in means]))
        return np.asarray((sums.pairs + sums.own) / n**2 + apart - 2 * rows.mean(axis=1))

    def _matrix(self, v: int, i: int, centred: bool) -> np.ndarray:
        """A kernel matrix in single precision, computed once."""
        if (v, i) not in self._matrices:
            n, kernel = self.joint.n, self.candidates[v][i]
            count = sum(len(kernels) for kernels in self.candidates)
            require_memory(4.0 * n**2 * count, "the kernel matrices of a permutation test")
            P = kernel.prepare(self.joint.data[v])
            K = evaluate(kernel, P, P).astype(np.float64, copy=False)
            K = centre_in_place(K) if centred else K
            self._matrices[v, i] = K.astype(np.float32)
        return self._matrices[v, i]
