"""Operator-valued kernels: K(x, y) is a T x T matrix, and functions have T outputs.

Their spaces hold functions f = sum_i K(., x_i) c_i with vectors c_i of T numbers. Off the diagonal
of K(x, y) stands what one output says about another.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ...data import Data, join, length
from ...params import Params, parameter
from ..base import Kernel
from ..calculus.facts import UNKNOWN, Fact, no, yes
from .constant import is_kernel

if TYPE_CHECKING:
    from ...gram.base import Gram
    from ...gram.plan import Plan

_ROUNDING = 1e-10  # relative: negative eigenvalues and asymmetry up to this are rounding


def not_psd(value: Any) -> str | None:
    """What a value must be if it is not a symmetric positive semi-definite matrix, else None."""
    wanted = "a symmetric positive semi-definite matrix of finite numbers"
    try:
        if np.iscomplexobj(value):
            return f"{wanted} (it is complex)"
        B = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return wanted
    if B.ndim != 2 or B.shape[0] != B.shape[1] or not B.size or not np.all(np.isfinite(B)):
        return wanted
    size = np.abs(B).max()
    if np.abs(B - B.T).max() > _ROUNDING * size:
        return f"{wanted} (it is not symmetric; (B + B.T) / 2 is)"
    smallest = float(np.linalg.eigvalsh(B)[0])
    if smallest < -_ROUNDING * len(B) * size:
        return f"{wanted} (its smallest eigenvalue is {smallest:.3g})"
    return None


class OperatorGram:
    """The matrix [K(x_i, y_j)] of an operator-valued kernel, as an operator on arrays (n, T).

    A sum of Kronecker products K_m ⊗ B_m, which act as C -> K_m C B_m, and of Gram matrices of
    n T points (first all samples as output 1 sees them, then as output 2 does, ...).

    Parameters
    ----------
    kronecker : list of (Gram, ndarray of shape (T, T))
        The pairs K_m, B_m.
    joint : list of (Gram, callable)
        Operators of n T points each, and the map from samples to such points.
    n_outputs : int
        T.

    Attributes
    ----------
    shape : tuple of int
        The numbers of samples in rows and columns.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Linear, Separable
    >>> gram = Separable(Linear(), [[2.0, 1.0], [1.0, 2.0]]).gram(np.array([[1.0], [3.0]]))
    >>> gram @ np.array([[1.0, 0.0], [0.0, 0.0]])
    array([[2., 1.],
           [6., 3.]])
    """

    def __init__(
        self,
        kronecker: list[tuple[Gram, np.ndarray]],
        joint: list[tuple[Gram, Callable[[Data], Data]]],
        n_outputs: int,
    ) -> None:
        self.kronecker, self.joint, self.n_outputs = kronecker, joint, n_outputs
        shapes = {K.shape for K, _ in kronecker}
        shapes |= {(J.shape[0] // n_outputs, J.shape[1] // n_outputs) for J, _ in joint}
        (self.shape,) = shapes

    def __matmul__(self, C: Any) -> np.ndarray:
        """Row i of the result is sum_j K(x_i, y_j) c_j, for C of shape (m, T)."""
        C = np.asarray(C)
        if C.shape != (self.shape[1], self.n_outputs):
            raise ValueError(
                f"cannot multiply by C of shape {C.shape}: {(self.shape[1], self.n_outputs)} is "
                "needed, one row per sample and one column per output."
            )
        parts = [(K @ C) @ B for K, B in self.kronecker]
        parts += [self.unflat(J @ self.flat(C)) for J, _ in self.joint]
        return np.sum(parts, axis=0)

    def flat(self, C: np.ndarray) -> np.ndarray:
        """C as one vector in the order of the joint operators: output by output."""
        return C.T.ravel()

    def unflat(self, c: np.ndarray) -> np.ndarray:
        """The inverse of :meth:`flat`."""
        return c.reshape(self.n_outputs, -1).T

    def diag(self) -> np.ndarray:
        """The variances K(x_i, x_i)_tt, shape (n, T)."""
        parts = [np.outer(K.diag(), np.diag(B)) for K, B in self.kronecker]
        return np.sum(parts + [self.unflat(J.diag()) for J, _ in self.joint], axis=0)

    def cross(self, X_new: Data) -> OperatorGram:
        """The operator between new samples and those of this one."""
        kronecker = [(K.cross(X_new), B) for K, B in self.kronecker]
        joint = [(J.cross(points(X_new)), points) for J, points in self.joint]
        return OperatorGram(kronecker, joint, self.n_outputs)

    def explain(self) -> str:
        """How the matrices that it is made of are stored, and what that costs."""
        parts = [f"{K.explain()}\n  times a {len(B)} x {len(B)} matrix" for K, B in self.kronecker]
        return "\n".join(parts + [J.explain() for J, _ in self.joint])

    def to_dense(self) -> np.ndarray:
        """The (n T, m T) matrix, sample by sample: meant for small n, and for tests."""
        (n, m), T = self.shape, self.n_outputs
        parts = [np.kron(K.to_dense(), B) for K, B in self.kronecker]
        for J, _ in self.joint:
            by_output = J.to_dense().reshape(T, n, T, m)
            parts.append(by_output.transpose(1, 0, 3, 2).reshape(n * T, m * T))
        return np.sum(parts, axis=0)

    def __add__(self, other: OperatorGram) -> OperatorGram:
        return OperatorGram(
            self.kronecker + other.kronecker, self.joint + other.joint, self.n_outputs
        )


@dataclass(eq=False, repr=False)
class OperatorKernel(Params, ABC):
    """A positive definite function K(x, y) whose values are T x T matrices.

    That is: sum_ij c_i' K(x_i, x_j) c_j >= 0 for all samples and all vectors c_i.

    References
    ----------
    Álvarez, Rosasco & Lawrence, *Kernels for vector-valued functions: a review*, Foundations and
    Trends in Machine Learning 2012; Carmeli, De Vito, Toigo & Umanità, *Vector valued reproducing
    kernel Hilbert spaces and universality*, Analysis and Applications 2010.
    """

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """T."""

    @property
    @abstractmethod
    def scalar(self) -> Kernel:
        """A kernel on the same samples, which knows what they look like."""

    @abstractmethod
    def resolve(self, X: Data) -> OperatorKernel:
        """A kernel whose data-dependent parameters are numbers, from raw X."""

    @abstractmethod
    def gram(self, X: Data, plan: Plan | None = None) -> OperatorGram:
        """The matrix [K(x_i, x_j)] as an operator; nothing of size n T x n T is stored."""

    @property
    def universal(self) -> Fact:
        """Is the space dense in the continuous functions with T outputs, on every compact set?"""
        return UNKNOWN

    @property
    def continuous(self) -> Fact:
        """Is K(x, y) a continuous function of x and y?"""
        return UNKNOWN

    def __add__(self, other: Any) -> OperatorKernel:
        if isinstance(other, Real) and other == 0:  # sum([...]) starts at 0
            return self
        return OperatorSum(self, other) if isinstance(other, OperatorKernel) else NotImplemented

    __radd__ = __add__


def _is_operator_kernel(value: Any) -> str | None:
    return None if isinstance(value, OperatorKernel) else "an operator-valued kernel"


@dataclass(eq=False, repr=False)
class Separable(OperatorKernel):
    r"""K(x, y) = k(x, y) B: similarity of samples times similarity of outputs.

    The norm of its space is :math:`\|f\|^2 = \sum_{st} (B^+)_{st} \langle f_s, f_t \rangle`, so
    outputs that B couples are pulled towards each other. B = I keeps all outputs apart. A sum of
    separable kernels is the linear model of coregionalisation.

    Parameters
    ----------
    kernel : Kernel
        k.
    B : array of shape (T, T)
        Symmetric and positive semi-definite.

    Examples
    --------
    >>> from mercer import Gaussian, Linear, Separable
    >>> shared = Separable(Gaussian(), [[1.0, 1.0], [1.0, 1.0]])
    >>> own = Separable(Linear(), [[1.0, 0.0], [0.0, 1.0]])
    >>> (shared + own).gram([[0.0], [1.0]]).to_dense().round(2)
    array([[1.  , 1.  , 0.61, 0.61],
           [1.  , 1.  , 0.61, 0.61],
           [0.61, 0.61, 2.  , 1.  ],
           [0.61, 0.61, 1.  , 2.  ]])
    """

    kernel: Kernel = parameter(check=is_kernel)
    B: Any = parameter(check=not_psd)

    @property
    def n_outputs(self) -> int:
        return len(self.B)

    @property
    def universal(self) -> Fact:
        """For a universal k and an invertible B (Caponnetto et al. 2008; Carmeli et al. 2010).

        With B = sum_i b_i v_i v_i' the outputs <v_i, f> lie in H_k each, without a bond between
        them, and vanish where b_i = 0.
        """
        if np.linalg.matrix_rank(np.asarray(self.B, dtype=float), hermitian=True) < len(self.B):
            return no("B is singular: some combination of outputs is always 0")
        k = self.kernel.properties.universal
        if k.unknown:
            return UNKNOWN
        return yes("k is universal, and B invertible") if k else no("k is not universal")

    @property
    def continuous(self) -> Fact:
        k = self.kernel.properties.continuous
        return yes("a continuous kernel times a matrix") if k else UNKNOWN

    @property
    def scalar(self) -> Kernel:
        return self.kernel

    def resolve(self, X: Data) -> Separable:
        return self.replace(kernel=self.kernel.resolve(X))

    def gram(self, X: Data, plan: Plan | None = None) -> OperatorGram:
        B = np.asarray(self.B, dtype=float)
        return OperatorGram([(self.kernel.gram(X, plan), (B + B.T) / 2)], [], len(B))


@dataclass(eq=False, repr=False)
class Transformable(OperatorKernel):
    """[k(S_s x, S_t y)]_st: every output applies its own map to a sample.

    Parameters
    ----------
    kernel : Kernel
        k, on the values of the maps.
    maps : list of callables
        S_1, ..., S_T, each from a data set to a data set of the same length.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Linear, Transformable
    >>> k = Transformable(Linear(), [np.positive, np.negative])
    >>> k.gram(np.array([[2.0]])).to_dense()
    array([[ 4., -4.],
           [-4.,  4.]])

    References
    ----------
    Caponnetto, Micchelli, Pontil & Ying, *Universal multi-task kernels*, JMLR 2008.
    """

    kernel: Kernel = parameter(check=is_kernel)
    maps: Sequence[Callable[[Data], Data]] = parameter(
        check=lambda maps: (
            None
            if isinstance(maps, list | tuple) and maps and all(map(callable, maps))
            else "a list of functions of a data set, one per output"
        )
    )

    @property
    def n_outputs(self) -> int:
        return len(self.maps)

    @property
    def scalar(self) -> Kernel:
        return self.kernel.pullback(self.maps[0])

    def resolve(self, X: Data) -> Transformable:
        return self.replace(kernel=self.kernel.resolve(self._points(X)))

    def gram(self, X: Data, plan: Plan | None = None) -> OperatorGram:
        joint = self.kernel.gram(self._points(X), plan)
        return OperatorGram([], [(joint, self._points)], self.n_outputs)

    def _points(self, X: Data) -> Data:
        """All samples as each output sees them, output by output."""
        parts = [S(X) for S in self.maps]
        for number, part in enumerate(parts):
            if length(part) != length(X):
                raise ValueError(
                    f"Transformable: maps[{number}] must return one value per sample, got "
                    f"{length(part)} values for {length(X)} samples."
                )
        return join(*parts)


@dataclass(eq=False, repr=False)
class OperatorSum(OperatorKernel):
    """K_1(x, y) + K_2(x, y), written ``K1 + K2``.

    Parameters
    ----------
    left, right : OperatorKernel
        Two kernels with the same number of outputs.

    Examples
    --------
    >>> from mercer import Gaussian, Linear, Separable
    >>> Separable(Gaussian(), [[1]]) + Separable(Linear(), [[2]])
    Separable(kernel=Gaussian(), B=[[1]]) + Separable(kernel=Linear(), B=[[2]])
    """

    left: OperatorKernel = parameter(check=_is_operator_kernel)
    right: OperatorKernel = parameter(check=_is_operator_kernel)

    def __post_init__(self) -> None:
        if self.left.n_outputs != self.right.n_outputs:
            raise ValueError(
                f"OperatorSum: both kernels must have the same number of outputs, got "
                f"{self.left.n_outputs} and {self.right.n_outputs}."
            )

    @property
    def n_outputs(self) -> int:
        return self.left.n_outputs

    @property
    def universal(self) -> Fact:
        if any(part.universal for part in (self.left, self.right)) and self.continuous:
            return yes("the space holds that of a universal summand")
        return UNKNOWN

    @property
    def continuous(self) -> Fact:
        both = self.left.continuous and self.right.continuous
        return yes("a sum of continuous kernels") if both else UNKNOWN

    @property
    def scalar(self) -> Kernel:
        return self.left.scalar + self.right.scalar

    def resolve(self, X: Data) -> OperatorSum:
        return self.replace(left=self.left.resolve(X), right=self.right.resolve(X))

    def gram(self, X: Data, plan: Plan | None = None) -> OperatorGram:
        return self.left.gram(X, plan) + self.right.gram(X, plan)

    def __repr__(self) -> str:
        return f"{self.left!r} + {self.right!r}"
