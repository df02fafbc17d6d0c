"""The covariance that is left of a Gaussian process once it has been observed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Data, Zipped, in_double, length
from ...engine.lapack import lapack
from ...engine.memory import require_memory
from ...engine.routines import solve_lower
from ...params import copy_params, parameter, show
from ..base import Tile
from ..calculus import properties as prop
from ..calculus.transformed import of_conditioned
from ..overrides import by_tiles
from .anchored import Anchored

_EPS = float(np.finfo(np.float64).eps)
_ROUNDING = 1.0, 1e2, 1e4  # what K may be off by, in units of m eps K_ii: the first that suffices


def _is_noise(value: Any) -> str | None:
    try:
        noise = np.asarray(value)
    except ValueError:
        noise = np.asarray(None)
    fine = noise.dtype.kind in "iuf" and noise.ndim <= 1
    fine = fine and bool(np.all((noise >= 0) & np.isfinite(noise)))
    return None if fine else "a finite number >= 0, or one for each sample of the reference"


@dataclass(eq=False, repr=False)
class Without(Anchored):
    """k(x, y) - <h(x), h(y)>: prepared samples are those of k, and h."""

    def _matrix(self) -> np.ndarray:
        """Kernel values between samples of the reference, in double precision."""
        from ...gram.tiles import evaluate

        Z = self.kernel.prepare(in_double(self.reference))
        return evaluate(self.kernel, Z, Z).astype(np.float64, copy=False)

    def _make(self) -> tuple[Data, np.ndarray]:
        """The reference, prepared, and a factor that :meth:`prepare` needs."""
        raise NotImplementedError

    def _kept(self, same: tuple[Any, ...], values: tuple[Any, ...]) -> tuple[Data, np.ndarray]:
        """The cached result of :meth:`_make`, until the kernel or one of these changes."""
        made, values = self.__dict__.get("_made"), (self.kernel, *values)
        if made is None or any(a is not b for a, b in zip(made[0], same, strict=True)) or (
            made[1] != values
        ):  # fmt: skip
            found = self._make()
            made = same, (copy_params(self.kernel), *values[1:]), found
            self.__dict__["_made"] = made
        return made[2]

    def pairwise(self, X: Zipped, Y: Zipped) -> np.ndarray:
        return by_tiles(self, Without, X, Y)

    def tiles(self, X: Zipped, Y: Zipped) -> Tile:
        inner, hx, hy = self.kernel.tiles(X.parts[0], Y.parts[0]), X.parts[1], Y.parts[1]
        return lambda rows, cols: inner(rows, cols) - hx[rows] @ hy[cols].T

    def diag(self, X: Zipped) -> np.ndarray:
        half = X.parts[1]
        left = self.kernel.diag(X.parts[0]) - np.einsum("ij,ij->i", half, half)
        return np.maximum(left, 0.0)

    def features(self, X: Zipped) -> None:
        return None

    def n_features(self, X: Zipped) -> None:
        return None


@dataclass(eq=False, repr=False)
class Conditioned(Without):
    r"""The posterior covariance given observations at z_1..z_m with noise: ``k.given(z, noise)``.

    .. math:: k(x, y) - k(x, z) (K_{zz} + N)^{-1} k(z, y)

    Without noise it is the kernel of the functions in H_k that vanish at z. In that case, copies
    among the z count once, and points that cannot be told apart because of rounding are treated as
    if observed with noise of that size, m eps k(z, z).

    Parameters
    ----------
    kernel : Kernel
        The prior covariance.
    reference : data, optional
        The points z; by default the data the kernel is resolved on.
    noise : float or array
        The variance N of the noise, one number or one for each point.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> k = Gaussian().given(np.array([[0.0]]))
    >>> k(np.array([[0.0], [1.0]])).round(3).tolist()
    [[0.0, 0.0], [0.0, 0.632]]

    References
    ----------
    Rasmussen & Williams, *Gaussian Processes for Machine Learning*, 2006, equation 2.24.
    """

    noise: Any = parameter(0.0, check=_is_noise)
    because = "a Schur complement of a positive definite matrix is positive definite"

    def prepare(self, X: Data) -> Zipped:
        from ...gram.tiles import evaluate

        P = self.kernel.prepare(X)
        Z, L = self._kept((self.reference,), (np.asarray(self.noise, dtype=float).tolist(),))
        exact = in_double(X)  # the factor enlarges what values are off by
        cross = evaluate(self.kernel, Z, P if exact is X else self.kernel.prepare(exact))
        return Zipped(P, lapack(len(L), solve_lower, L, cross.astype(np.float64, copy=False)).T)

    def _make(self) -> tuple[Data, np.ndarray]:
        """The points z, prepared, and the factor L of K + N.

        Rounding may make K slightly indefinite: a tiny additional noise compensates for that,
        relative to the variance of each point, so that points of small variance are treated like
        others.
        """
        m = length(self._anchors())
        require_memory(3 * 8.0 * m * m, f"a kernel given {m} observations")
        K = self._matrix()
        if np.ndim(self.noise) and len(self.noise) != m:
            raise ValueError(f"noise has {len(self.noise)} entries, but there are {m} points.")
        K.flat[:: m + 1] += self.noise
        own = K.diagonal().copy()
        if not np.isfinite(own).all():
            raise ValueError(f"k(z, z) of {self.kernel!r} overflows at the reference points.")
        for rounding in _ROUNDING:
            grown = own * (1 + rounding * m * _EPS)
            K.flat[:: m + 1] = np.where(own == 0, 1.0, grown)  # f(z) = 0 in any case
            try:
                L = lapack(m, np.linalg.cholesky, K)
            except np.linalg.LinAlgError:
                continue
            return self.kernel.prepare(in_double(self.reference)), L
        lowest = float(np.linalg.eigvalsh(K)[0])
        raise ValueError(
            f"the covariance of the {m} observations under {self.kernel!r} is not positive "
            f"definite: its smallest eigenvalue is {lowest:.2g}. Give a larger noise, such as "
            f"noise={2 * abs(lowest):.1g}, or use another kernel if this one is not positive "
            "definite."
        )

    @property
    def properties(self) -> prop.Properties:
        return of_conditioned(self.kernel.properties, bool(np.all(np.asarray(self.noise) > 0)))

    def __repr__(self) -> str:
        given = [] if self.reference is None else [show(self.reference)]
        if np.ndim(self.noise) or self.noise != 0:
            given.append(f"noise={show(self.noise)}")
        return f"{self.kernel._wrapped(9)}.given({', '.join(given)})"
