"""The kernel: one required method, and what follows from it.

A new kernel is a dataclass with a ``pairwise`` method (see :mod:`mercer.testing` to check it):

>>> from dataclasses import dataclass
>>> import numpy as np
>>> from mercer.kernels.base import Kernel
>>> @dataclass(eq=False, repr=False)
... class Overlap(Kernel):
...     def pairwise(self, X, Y):
...         return np.array([[float(len(x & y)) for y in Y] for x in X])
>>> k = 2 * Overlap() + 1
>>> k
2 * Overlap() + 1
>>> k([{1, 2}, {2, 3}])
array([[5., 3.],
       [3., 5.]])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..checks import is_one_of
from ..data import Data, as_samples, is_frame, length, take
from ..exceptions import UnresolvedError
from ..frames import align
from ..params import Params
from ..shown import Shown
from ..tensors import takes_tensors
from .calculus.domains import ANY, Domain
from .calculus.properties import Fact, Properties
from .operators import Operators
from .overrides import by_tiles, settle

if TYPE_CHECKING:
    from ..gram.base import Gram
    from ..gram.plan import Plan
    from ..rkhs.function import RKHSFunction
    from .formula import Formula

Tile = Callable[[slice, slice], np.ndarray]
Values = Callable[[Any, Any], np.ndarray]  # of prepared samples; symmetric where both are the same


@dataclass(eq=False, repr=False)
class Kernel(Operators, Params, Shown, ABC):
    """A symmetric positive definite function k(x, y) on samples of some kind.

    Subclasses are dataclasses (``@dataclass(eq=False, repr=False)``) whose fields are the
    hyper-parameters. Only :meth:`pairwise` is required. The methods named *prepared* below take
    what :meth:`prepare` returned, never raw data; ``kernel(X, Y)`` and ``kernel.gram(X)`` take
    raw data.
    """

    because: ClassVar[str] = "positive definite by assumption"
    binding: ClassVar[int] = 9  # operator precedence when printed: + 1, * 2, ** 3, atoms 9
    __array_ufunc__ = None  # array * kernel is an error, not an array of kernels

    def __init_subclass__(cls, **options: Any) -> None:
        """Statements of a parent about values do not hold for a class that overrides them."""
        super().__init_subclass__(**options)
        settle(cls, Kernel)

    # ---- to implement --------------------------------------------------------------------
    @abstractmethod
    def pairwise(self, X: Data, Y: Data) -> np.ndarray:
        """The block [k(x_i, y_j)] of *prepared* X and Y; a fresh array the caller may overwrite."""

    # ---- correct by default, override for speed --------------------------------------------
    def prepare(self, X: Data) -> Data:
        """Compute what is needed once per sample (norms, counts, encodings), and check the domain.

        Pure and sample by sample: the result for a subset is the subset of the result.
        """
        X = as_samples(X, type(self).__name__)
        if length(X) == 0:
            raise ValueError(f"{type(self).__name__}: X has no samples.")
        return X

    def tiles(self, X: Data, Y: Data) -> Tile:
        """A function (rows, cols) -> block of *prepared* X and Y.

        Work shared by all tiles of one matrix is done here, once.
        """
        return lambda rows, cols: self.pairwise(take(X, rows), take(Y, cols))

    def diag(self, X: Data) -> np.ndarray:
        """[k(x_i, x_i)] of *prepared* X."""
        n, step = length(X), 32
        blocks = (take(X, slice(i, min(i + step, n))) for i in range(0, n, step))
        return np.concatenate([np.diagonal(self.pairwise(b, b)) for b in blocks])

    def formula(self, X: Data) -> Formula | None:
        """What k is made of, on *prepared* X; None if unknown (:mod:`mercer.kernels.formula`).

        A statement about ``prepare``, ``pairwise``, ``tiles`` and ``diag``: a subclass that
        overrides one of these has no formula, unless it states one, too.
        """
        return None

    def on_device(self, device: str) -> Values | None:
        """A function of *prepared* X and Y that has a device compute ``pairwise(X, Y)``.

        For kernels that state no formula, such as those of pairs of series; by default None.
        It may count on kernels of Triton there.
        """
        return None

    def log_tiles(self, X: Data, Y: Data) -> Tile | None:
        """As :meth:`tiles`, of log k(x, y) - a(x) - a(y), for a k >= 0 that may be 0, or too large.

        By default None: there are no logarithms, and values are all there is. A kernel that has
        them is normalised from them, and implements the methods below as well. The offsets a make
        no difference to that, but take out what would cancel.
        """
        return None

    def log_diag(self, X: Data) -> np.ndarray | None:
        """[log k(x_i, x_i) - 2 a(x_i)] of *prepared* X, or None."""
        return None

    def log_offsets(self, X: Data) -> np.ndarray:
        """[a(x_i)] of *prepared* X: 0, unless a kernel has others."""
        return np.zeros(length(X))

    def grad_log_theta(self, X: Data, Y: Data, W: np.ndarray) -> np.ndarray:
        """sum_ij W[i, j] d(log k(x_i, y_j) - a(x_i) - a(y_j))/dtheta, over pairs with k > 0."""
        raise no_gradient(self)

    def grad_log_theta_diag(self, X: Data, w: np.ndarray) -> np.ndarray:
        """sum_i w[i] d(log k(x_i, x_i) - 2 a(x_i))/dtheta, over samples with k > 0."""
        raise no_gradient(self)

    def grad_log_offsets(self, X: Data, w: np.ndarray) -> np.ndarray:
        """sum_i w[i] da(x_i)/dtheta."""
        return np.zeros(len(self.theta))

    def features(self, X: Data) -> Any | None:
        """Phi with k(x, y) = <Phi(x), Phi(y)>, dense or CSR, of *prepared* X; None if infinite.

        Sparse maps may use an enormous number of columns: only products of them are formed.
        """
        return None

    def n_features(self, X: Data) -> int | None:
        """The number of columns of ``features(X)`` without computing it; None if infinite."""
        return None

    def features_pay(self, X: Data) -> bool:
        """Are ``features(X)`` a good way to the kernel matrix of *prepared* X, as they mostly are?

        Not where they take much more memory than the samples, and blocks do without them.
        """
        return self.n_features(X) is not None

    def resolve(self, X: Data) -> Kernel:
        """A kernel whose data-dependent parameters ("median", "scale") are numbers, from raw X."""
        changes = {k: v.resolve(X) for k, v in self._items() if isinstance(v, Kernel)}
        return self.replace(**changes) if changes else self

    @property
    def unresolved(self) -> str | None:
        """The first parameter that still has to be computed from data, as ``name=value``."""
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, Params) and (inner := getattr(value, "unresolved", None)):
                return f"{f.name}__{inner}"
            if is_one_of(value, f.metadata.get("learned", ())):
                return f"{f.name}={value}" if value is None else f'{f.name}="{value}"'
        return None

    def grad_input(self, X: Data, Y: Data, W: np.ndarray) -> np.ndarray:
        """sum_j W[i, j] dk(x_i, y_j)/dx_i for *prepared* X and Y, with respect to raw x."""
        raise NotImplementedError(f"{type(self).__name__} has no gradient with respect to x.")

    def grad_theta(self, X: Data, Y: Data, W: np.ndarray) -> np.ndarray:
        """sum_ij W[i, j] dk(x_i, y_j)/dtheta for *prepared* X and Y, aligned with ``theta``.

        ``theta`` holds logarithms where natural, and so do the derivatives: with respect to
        log(lengthscale), not to the lengthscale.
        """
        if self.hyperparameters():
            raise no_gradient(self)
        return np.zeros(0)

    def weighed(self, X: Data, Y: Data, W: np.ndarray) -> tuple[float, np.ndarray]:
        """sum_ij W_ij k(x_i, y_j), and its derivatives, which may have much in common with it."""
        total = float(np.vdot(W, self.pairwise(X, Y)))
        return total, self.grad_theta(X, Y, W) if self.hyperparameters() else np.zeros(0)

    def grad_theta_diag(self, X: Data, w: np.ndarray) -> np.ndarray:
        """sum_i w[i] dk(x_i, x_i)/dtheta for *prepared* X, aligned with ``theta``."""
        total, n, step = np.zeros(len(self.theta)), length(X), 32
        if not len(total):
            return total
        for rows in (slice(i, min(i + step, n)) for i in range(0, n, step)):
            block = take(X, rows)
            total += self.grad_theta(block, block, np.diag(w[rows]))
        return total

    @property
    def domain(self) -> Domain:
        """The set of samples on which the kernel is defined."""
        return ANY

    @property
    def properties(self) -> Properties:
        """Bounded, continuous, ..., characteristic: yes, no or unknown, each with a reason."""
        return Properties(self.domain, psd=Fact(True, self.because))

    @property
    def by_pairs(self) -> bool:
        """Are values computed pair by pair, so that small tiles take no longer than large ones?"""
        return any(isinstance(part, Kernel) and part.by_pairs for part in vars(self).values())

    # ---- use -----------------------------------------------------------------------------
    @takes_tensors
    def __call__(self, X: Data, Y: Data | None = None) -> np.ndarray:
        """The Gram matrix of X, or the block of kernel values between X and Y, as an array.

        Columns of two tables are matched by their names.
        """
        from ..gram.tiles import evaluate

        alone = Y is None or Y is X
        X = as_samples(X)
        Y = X if alone else self.match(Y, X)
        kernel = self
        if self.unresolved:
            if not alone:
                raise UnresolvedError(
                    f"{self!r}: {self.unresolved} depends on the data; call "
                    "kernel.resolve(X_train) first."
                )
            kernel = self.resolve(X)
        P = kernel.prepare(X)
        return evaluate(kernel, P, P if alone else kernel.prepare(Y))

    def match(self, X: Data, reference: Data) -> Data:
        """X with its columns in the order of those of a reference, if both are tables.

        If this kernel uses whole rows, tables with other columns are rejected.
        """
        X = as_samples(X)
        if not (is_frame(X) and is_frame(reference)):
            return X
        return align(X, reference, whole=self.domain.whole.facts.numeric)

    def gram(self, X: Data, plan: Plan | None = None) -> Gram:
        """The Gram matrix of X as an operator, stored as the plan decides."""
        from ..gram.plan import Plan

        return (plan or Plan()).gram(self, X)

    @takes_tensors
    def distance(self, X: Data, Y: Data | None = None) -> np.ndarray:
        """The kernel metric d(x, y) = ||phi(x) - phi(y)||, with d^2 = k(x,x) + k(y,y) - 2k(x,y)."""
        kernel = self.resolve(X) if self.unresolved and Y is None else self
        squared = kernel(X, Y)
        dx = kernel.diag(kernel.prepare(X))
        dy = dx if Y is None else kernel.diag(kernel.prepare(Y))
        squared *= -2
        squared += dx[:, None]
        squared += dy[None, :]
        return np.sqrt(np.maximum(squared, 0, out=squared), out=squared)

    def at(self, x: Any) -> RKHSFunction:
        """The canonical feature k(., x) of one sample, as a function in H_k."""
        from ..rkhs.function import RKHSFunction

        one = np.asarray(x)[None] if isinstance(x, np.ndarray | Real) else [x]
        if hasattr(x, "tocsr") or is_frame(x):  # already a data set, of one row
            one = x
        return RKHSFunction(self, one, np.ones(1))

    def explain(self) -> str:
        """Say why this is a kernel, what its properties are, and what they imply for functions in
        H_k.
        """
        from .notation.explain import explain

        return explain(self)

    def plot(self, X: Data | None = None, ax: Any = None, **options: Any) -> Any:
        """Plot K as a heat map for samples X or, without samples, sections k(x0, .) on the line.

        Options are those of :func:`mercer.plots.plot_gram` and :func:`mercer.plots.plot_kernel`.
        """
        from ..plots.functions import plot_kernel
        from ..plots.grams import plot_gram

        if X is not None:
            return plot_gram(self.gram(X), ax=ax, **options)
        if not self.domain.whole.facts.numeric and str(self.domain) != str(ANY):
            raise ValueError(
                f"{type(self).__name__} works on {self.domain}: pass samples to plot(X)."
            )
        return plot_kernel(self, ax=ax, **options)

    # ---- printing ------------------------------------------------------------------------
    def _sk_visual_block_(self) -> Any:
        """This kernel in scikit-learn's diagram of an estimator."""
        from ..reports.cards import kernel_block

        return kernel_block(self)

    def _wrapped(self, binding: int) -> str:
        """This expression, in brackets if it binds more loosely than its surroundings."""
        return f"({self!r})" if self.binding < binding else repr(self)

    def _stated(self, **facts: Any) -> Properties:
        """Properties of a leaf: its own facts, closed under the theorems."""
        from .calculus.properties import close

        return close(replace(Properties(self.domain, psd=Fact(True, self.because)), **facts))


class Tiled(Kernel):
    """A kernel that states its tiles: a block is one of them."""

    def pairwise(self, X: Data, Y: Data) -> np.ndarray:
        return by_tiles(self, Tiled, X, Y)

    @abstractmethod
    def tiles(self, X: Data, Y: Data) -> Tile:
        """A function (rows, cols) -> block of *prepared* X and Y."""


def not_resolved(kernel: Any) -> UnresolvedError:
    """The error of a kernel that is given samples while a parameter is still open."""
    return UnresolvedError(
        f"{type(kernel).__name__}: {kernel.unresolved} depends on the data; call "
        f"kernel.resolve(X_train) first."
    )


def no_gradient(kernel: Kernel) -> NotImplementedError:
    """The error of a kernel whose derivatives with respect to theta are not written down."""
    return NotImplementedError(
        f"{type(kernel).__name__} has no gradient with respect to its hyper-parameters (implement "
        f"grad_theta); tune them by search instead."
    )


def weigh(W: np.ndarray, blocks: Iterable[np.ndarray]) -> np.ndarray:
    """[sum_ij W_ij B_ij] for every block B, added up in float64."""
    W = np.asarray(W, dtype=np.float64)
    return np.array([np.vdot(W, block) for block in blocks], dtype=np.float64)
