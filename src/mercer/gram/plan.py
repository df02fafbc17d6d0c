"""How a Gram matrix is stored: chosen from its size, memory and cores, with the reason."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from inspect import isabstract
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from ..chunks.arrays import ArrayChunks
from ..chunks.base import Chunks
from ..data import Data, evenly, in_double, length, take
from ..engine.durations import is_duration
from ..engine.memory import free_memory, is_memory, memory_words, parse_memory
from ..kernels.algebra.nystrom import Nystrom, is_rank
from ..kernels.approximate.rules import Approximated, FeatureRule, Landmarks
from ..kernels.base import Kernel
from ..params import Params, integer, parameter, show
from ..tensors import on_host
from . import device as devices
from .base import Gram
from .device.precision import is_precision
from .device.torch_ import HOST, is_device
from .stored import DenseGram, LowRankGram, TiledGram
from .tiles import cores, in_flight

_TINY = 1e7  # up to these bytes the free memory is not checked, which takes longer than K
STORAGE: dict[str, type[Gram]] = {"dense": DenseGram, "tiled": TiledGram, "lowrank": LowRankGram}
_STREAMED = "streamed"
_MOST_FEATURES = 1e5  # of a kernel's own, that are streamed as they are
_LANDMARKS = 1e8  # entries of the columns from which landmarks are chosen, or
_PER_FEATURE = 2, 50  # samples for each of them, at least and at most
_SHARE = 0.25  # of the memory of a plan, for these columns
_SMALL = 1e8  # bytes: sparse features up to this size are preferred even to a smaller K


def _storage(value: Any) -> str | None:
    known = isinstance(value, str) and value in ("auto", *STORAGE, _STREAMED)
    if known or (isinstance(value, type) and issubclass(value, Gram) and not isabstract(value)):
        return None
    listed = ", ".join(map(repr, ("auto", *STORAGE, _STREAMED)))
    return f"one of {listed}, or a subclass of mercer.Gram that has a block"


@dataclass(eq=False, repr=False)
class Plan(Params):
    """How Gram matrices are stored and computed.

    Parameters
    ----------
    memory : float or str, optional
        The memory that a Gram matrix and what solvers derive from it may take, in bytes or as ``"2
        GB"``. A method that needs more, such as an eigendecomposition, raises an error. About ten
        megabytes, for tiles and vectors, are needed in any case. By default half of the memory that
        is currently free.
    workers : int, optional
        The number of threads; by default all cores this process may use. Factorisations of large
        matrices use the threads of LAPACK, which are set elsewhere (``OPENBLAS_NUM_THREADS``).
    storage : {"auto", "dense", "tiled", "lowrank", "streamed"} or subclass of Gram
        ``"auto"`` uses features if the kernel has few of them, stores K if it fits in memory, and
        computes it tile by tile otherwise. Features, of the kernel or requested by ``rank`` or
        ``features``, are stored (``"lowrank"``) if they fit in memory. They are computed in each
        pass over the samples (``"streamed"``) if they do not, or if the samples are
        :class:`~mercer.chunks.Chunks` or a memory map. Your own class is called as
        ``storage(kernel, X, workers=workers)``, with a kernel whose parameters are numbers, and
        prepared samples.
    rank : int or float, optional
        Replace a kernel with more features than this by its :class:`~mercer.Nystrom` approximation
        of that rank; a number below 1 is instead the share of the trace of K that may be lost. For
        ``storage`` "auto", "lowrank" or "streamed".
    features : RandomFourier, TensorSketch, Hashing or Landmarks, optional
        Replace a kernel that has more features than this rule gives by the approximation with these
        features; an alternative to ``rank``.
    device : str
        Where to compute: ``"cpu"``, or a GPU of PyTorch (the extra ``gpu``), ``"cuda"`` or
        ``"cuda:1"``. For kernels with a formula of distances or inner products, matrix products and
        factors, and what solvers and tests derive from them, are computed there; with ``rank``, so
        are passes and the matrices of landmarks, of which more than 1,000 are drawn at random. Some
        kernels on series are computed there pair by pair; others are computed on the CPU, with a
        warning. ``storage`` "dense", "tiled" and "lowrank" stay on the CPU. With several devices,
        ``"cuda:0,cuda:1"``, the rows of products are divided among them. ``"torch-cpu"`` runs the
        same code on the CPU, for testing.
    precision : {None, "fp64", "fp32", "tf32"}
        The precision of kernel values; sums are in double precision. By default that of the
        samples, or the one that a solver requests: single precision, and double for corrections.
        ``"fp64"`` is double precision for samples in single precision, too. On a device, ``"fp32"``
        is single precision throughout, and ``"tf32"`` computes distances from coordinates rounded
        to 11 bits, which is faster with many features; on the CPU these change nothing.
    budget : float or str, optional
        The time that a fit may take, in seconds or as ``"10 min"``. The model is then tried on a
        few samples (:func:`mercer.models.forecast`, some seconds), and the fastest exact method is
        used, or else as many landmarks as fit in the time.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, Plan
    >>> X = np.zeros((1000, 3))
    >>> print(Plan(memory="1 MB").explain(Gaussian(), X))
    TiledGram: 1000 x 1000 would take 8 MB stored, over the budget of 1 MB, so K is computed tile
    by tile whenever it is used.
    >>> print(Plan(rank=50).explain(Gaussian(), X))
    LowRankGram: requested by rank=50: K is approximated by at most 50 features, from landmarks that
    pivoted Cholesky chooses.
    """

    memory: float | str | None = parameter(None, check=is_memory)
    workers: int | None = integer(None, low=1, also=(None,))
    storage: str | type[Gram] = parameter("auto", check=_storage)
    device: str = parameter("cpu", check=is_device)
    precision: str | None = parameter(None, check=is_precision)
    rank: Any = parameter(None, check=lambda r: None if r is None else is_rank(r))
    features: FeatureRule | None = parameter(
        None,
        check=lambda f: None if f is None or isinstance(f, FeatureRule) else "a rule for features",
    )
    budget: float | str | None = parameter(None, check=is_duration)
    _doubles = 0  # matrices beside which K has to have room

    @property
    def room(self) -> float:
        """The memory that K may take, in bytes."""
        return parse_memory(self.memory) if self.memory is not None else free_memory() / 2

    @property
    def limit(self) -> float:
        """Bytes beyond which solvers refuse: the memory, if it was given."""
        return np.inf if self.memory is None else self.room

    @property
    def few(self) -> float | None:
        """The maximum number of features requested; None if kernels are not approximated."""
        return self.rank if self.features is None else self.features.n

    def exact(self) -> Self:
        """The same plan, which approximates nothing."""
        return self.replace(rank=None, features=None)

    def beside(self, doubles: int) -> Self:
        """The same plan for a solver that holds this many matrices of doubles at once, K included.

        K is then stored only where there is room for all of them.
        """
        plan = copy(self)
        plan._doubles = doubles
        return plan

    def gram(self, kernel: Kernel, X: Data) -> Gram:
        """The Gram operator of a kernel on raw data; nothing large is computed yet."""
        X = on_host(X)
        if self.streams(kernel, X):
            return self._streamed(kernel, X)
        X = in_double(X) if self.precision == "fp64" else X
        kernel = kernel.resolve(X)
        P = kernel.prepare(X)
        small = self.memory is None and 8 * max(self._doubles, 1) * length(P) ** 2 <= _TINY
        known = small or self.storage != "auto"  # however much memory there is
        chosen: Any = self._choose(kernel, P, np.inf if known else self.room)[0]
        if self._approximates(kernel, P):
            few: Any = self.through(kernel).resolve(X)
            kernel, P = few, few.extend(P)
        gram = chosen(kernel, P, workers=self.workers)
        if self.device != HOST:
            pairs = devices.pairs.PairTiles, devices.pairs.StoredPairs
            if chosen in (devices.gram.DeviceGram, *pairs):
                gram.device = self.device
            if chosen is devices.gram.DeviceGram:
                gram.precision = self.precision
        if not hasattr(gram, "kernel"):
            gram.kernel = kernel
        gram.limit, gram.workers = self.limit, self.workers
        return gram

    def explain(self, kernel: Any, X: Data, y: Any = None) -> str:
        """Say what :meth:`gram` would do with this kernel and data, and why.

        For a model in place of a kernel, with targets y: the time and memory of each way to fit it,
        estimated from trials on some of the samples (:func:`mercer.models.forecast`).
        """
        if hasattr(kernel, "forecast"):
            return str(kernel.forecast(X, y, plan=self))
        if self.streams(kernel, X):
            return self._why_streamed(kernel, X)
        kernel = kernel.resolve(X)
        return self._choose(kernel, kernel.prepare(X), self.room)[1]

    def unstored(self, kernel: Kernel, P: Data) -> Gram:
        """K of prepared samples, for many products: on the device of the plan, never stored."""
        gram: Any
        one = take(P, slice(0, 1))
        if self.device != HOST and devices.tiles.computes(self.device, kernel, one):
            where: Any = {"device": self.device, "precision": self.precision}
            gram = devices.gram.DeviceGram(kernel, P, workers=self.workers, **where)
        else:
            gram = TiledGram(kernel, P, workers=self.workers)
        gram.limit = self.limit
        return gram

    # ---- features that are never stored ------------------------------------------------------
    def streams(self, kernel: Kernel, X: Data) -> bool:
        """Are features computed in each pass over the samples?

        If requested, if samples are not in memory, or if features do not fit.
        """
        if isinstance(X, Chunks) or self.storage == _STREAMED:
            return True
        if self.few is None or self.storage != "auto":
            return False
        if isinstance(X, np.memmap) or self.device_for(kernel, X) != HOST:
            return True
        nbytes = self._bytes_of_features(X)
        return nbytes > _TINY and nbytes > self.room

    def device_for(self, kernel: Any, X: Data) -> str:
        """The device for values of this kernel, or of the one that landmarks approximate."""
        if self.device == HOST:
            return HOST
        inner = kernel.kernel if isinstance(kernel, Nystrom) else kernel
        inner, why = inner.resolve(X), None
        if self.features is not None and not isinstance(self.features, Landmarks):
            why = f"{show(self.features)} are not landmarks"
        first = inner.prepare(take(X, slice(0, 1)))
        found = devices.tiles.computes(self.device, inner, first, why)
        return self.device if found else HOST

    def _bytes_of_features(self, X: Data) -> float:
        """The memory of stored features, with the copy that solvers make of them."""
        return 16.0 * length(X) * max(self.few or 0, 1)

    def _streamed(self, kernel: Kernel, X: Data) -> Gram:
        from .implicit import ImplicitGram

        chunks = X if isinstance(X, Chunks) else ArrayChunks(X)
        if self.precision == "fp64" and self.device == HOST:
            chunks = chunks.apply(in_double)
        some = self._some(chunks)
        whole = isinstance(X, Chunks | np.memmap)
        kernel, places = kernel.resolve(some if whole else X), None
        device = self.device_for(kernel, some)
        if isinstance(kernel, Nystrom):
            pass  # with landmarks of its own
        elif self._approximates(kernel, P := kernel.prepare(take(some, slice(0, 1)))):
            kernel = self.through(kernel)
            if device == HOST:
                kernel = kernel.resolve(some)
            else:
                kernel, places = devices.landmarks.choose(kernel, chunks, length(some), device)
        elif not (kernel.n_features(P) or np.inf) <= _MOST_FEATURES:
            raise ValueError(
                f"chunked samples need a kernel with few features, but {kernel!r} has "
                f"{'very many' if kernel.n_features(P) else 'none'}; give the plan a rank, such "
                "as Plan(rank=1000), or features."
            )
        where: Any = {"device": device, "precision": self.precision, "places": places}
        gram = ImplicitGram(kernel, chunks, some, workers=self.workers, **where)
        gram.limit = self.limit
        return gram

    def _some(self, chunks: Chunks) -> Data:
        """Samples from which landmarks are chosen; not all are needed, nor n x M numbers."""
        m = max(int(self.few or 1), 1)
        least, most = (count * m for count in _PER_FEATURE)
        room = _SHARE * self.limit / (8.0 * m)  # for columns of K at these samples
        count = int(max(min(most, _LANDMARKS / m, room), least, 1000))
        return chunks.sample(count, np.random.default_rng(0)).X

    def _why_streamed(self, kernel: Kernel, X: Data) -> str:
        if isinstance(X, Chunks | np.memmap):
            why = "samples are not in memory"
        elif self.storage == _STREAMED:
            why = "requested by storage='streamed'"
        else:
            why = (
                f"features of {length(X)} samples would take "
                f"{memory_words(self._bytes_of_features(X))}, over the budget of "
                f"{memory_words(self.room)}"
            )
        one = take(X if not isinstance(X, Chunks) else next(iter(X)).X, slice(0, 1))
        kernel = kernel.resolve(one)
        fewer = self._approximates(kernel, kernel.prepare(one))
        how = self._through() if fewer else "K is a product of features"
        return f"ImplicitGram: {why}, so {how}, which are computed in each pass and never stored."

    def _approximates(self, kernel: Kernel, P: Data) -> bool:
        """Are fewer features requested than the kernel has on these data?"""
        if self.rank is not None and self.features is not None:
            raise ValueError(
                "rank and features are two ways to specify the approximation: give "
                "only one of them."
            )
        if self.few is None or isinstance(kernel, Nystrom | Approximated):
            return False
        count = kernel.n_features(P)
        return count is None or count > self.few >= 1

    def through(self, kernel: Kernel) -> Kernel:
        """The requested approximation of a kernel; ``resolve`` sets what depends on data."""
        if self.features is not None:
            return self.features.approximate(kernel)
        return Nystrom(kernel, rank=self.rank)

    def _through(self) -> str:
        """The approximation of K, in words."""
        if self.features is not None:
            return f"K is approximated by {self.features.words()}"
        size = f"at most {self.rank} features"
        if self.rank < 1:
            size = f"features that keep all but {self.rank:.2g} of its trace"
        drawn = self.device != HOST and devices.landmarks.by_chance("pivoted", self.rank)
        how = "drawn at random" if drawn else "that pivoted Cholesky chooses"
        return f"K is approximated by {size}, from landmarks {how}"

    def _choose(self, kernel: Kernel, P: Data, budget: float) -> tuple[type[Gram], str]:
        asked = (
            f"rank={self.rank!r}" if self.features is None else f"features={show(self.features)}"
        )
        if self.few is not None and self.storage not in ("auto", "lowrank", _STREAMED):
            raise ValueError(
                f"{asked} makes K a product of features, which "
                f'storage={show(self.storage)} excludes; use storage="lowrank".'
            )
        if self._approximates(kernel, P):
            return LowRankGram, f"LowRankGram: requested by {asked}: {self._through()}."
        count = kernel.n_features(P)
        here = self.device == HOST or self.storage != "auto" or kernel.features_pay(P)
        if not here:
            why = devices.pairs.why_not_pairs(kernel, self.device)
            if why is None:
                return self._choose_pairs(length(P), budget)
            if devices.tiles.computes(self.device, kernel, take(P, slice(0, 1)), why):
                what = f"DeviceGram: K is computed on {self.device} tile by tile."
                return devices.gram.DeviceGram, what
        if self.storage == "lowrank" and count is None:
            raise ValueError(
                f'storage="lowrank", but {kernel!r} has no finite feature map; give the plan a '
                f"rank, such as rank=500, to approximate it."
            )
        if self.storage != "auto":
            chosen = STORAGE[self.storage] if isinstance(self.storage, str) else self.storage
            return chosen, f"{chosen.__name__}: requested by storage={show(self.storage)}."
        finite = count is not None and kernel.features_pay(P)
        if budget == np.inf and not finite:
            return DenseGram, "DenseGram: small enough to be stored in any case."
        n, first = length(P), take(P, slice(0, 1))
        dtype = np.result_type(kernel.pairwise(first, first))
        nbytes = n * n * dtype.itemsize
        size = f"{n} x {n}"
        stored = f"{size} {dtype} takes {memory_words(nbytes)}"
        room = min(budget, max(nbytes, _SMALL))
        if finite and (2 * (count or 0) <= n or _sparse_bytes(kernel, P) <= room):
            return LowRankGram, (
                f"LowRankGram: the kernel has a finite feature map, so K = Phi Phi' and {size} "
                f"is never formed."
            )
        single = nbytes if self._doubles and dtype.itemsize < 8 else 0  # of which a copy is made
        whole = max(nbytes, single + self._doubles * 8 * n * n)
        needs = whole + in_flight(n, self.workers, dtype.itemsize)
        if needs <= budget:
            return DenseGram, (
                f"DenseGram: {stored}, within the budget of {memory_words(budget)}; computed once "
                f"on {self.workers or cores()} threads."
            )
        taken = f"{memory_words(nbytes)} stored"
        if nbytes <= budget:
            taken = f"{memory_words(needs)} stored, including the tiles and factors beside it"
        return TiledGram, (
            f"TiledGram: {size} would take {taken}, over the budget of {memory_words(budget)}, "
            f"so K is computed tile by tile whenever it is used."
        )

    def _choose_pairs(self, n: int, budget: float) -> tuple[type[Gram], str]:
        """For a kernel whose values a device computes pair by pair."""
        takes = f"{n} x {n} takes {memory_words(8 * n * n)} stored"
        if max(1, self._doubles) * 8 * n * n <= budget:
            what = f"StoredPairs: K is computed on {self.device}; {takes}."
            return devices.pairs.StoredPairs, what
        return devices.pairs.PairTiles, (
            f"PairTiles: {takes}, over the budget of {memory_words(budget)}, so K is computed on "
            f"{self.device} whenever it is used."
        )


LEAN = Plan(memory=1)  # one byte: K is a product of features or computed in tiles, never stored


def _sparse_bytes(kernel: Kernel, P: Data) -> float:
    """The memory of a sparse feature map, estimated from a few samples; infinite for a dense one.

    Rows of a product of sparse maps have as many entries as those of both factors multiplied.
    """
    n, longest = length(P), 0
    for i in evenly(n, 8):
        phi: Any = kernel.features(take(P, slice(i, i + 1)))
        if not sp.issparse(phi):
            return np.inf
        longest = max(longest, phi.nnz)
    return 16.0 * n * longest
