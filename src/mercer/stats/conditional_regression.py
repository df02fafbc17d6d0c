"""Regressions on a condition Z, learned by leaving one out: kernel and penalty of every output.

What is left of an output after a regression is the noise of that sample, less the error of a
function that was learned from all others. How closely such residuals are correlated is known from
the regression itself, so a test of them can take it into account.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from ..data import Data, as_dense, evenly, length, take
from ..engine.lapack import lapack
from ..gram.plan import Plan
from ..gram.tiles import evaluate
from ..kernels.algebra.nystrom import Nystrom
from ..kernels.base import Kernel
from ..kernels.vectors.dot import Linear
from ..kernels.vectors.matern import Matern
from ..kernels.vectors.radial import Gaussian
from ..solvers.eigen import RidgeSpectrum
from .aggregate import column_units
from .conditional_jumps import Jump, best_jump, columns_of, without
from .independence_grid import default_vectors

PENALTIES = np.geomspace(1e-9, 1e2, 23)  # of kernels whose values are about 1; half a decade apart
_SMALLER = 1  # steps below the best penalty: bias spoils a test, a little more variance does not
_GAUSSIAN = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)  # lengthscales, in spreads times sqrt(d)
_MATERN = ((0.5, (0.5, 2.0, 8.0)), (1.5, (1.0, 4.0)))  # orders and lengthscales: jumps and kinks
_BESIDE = (0.8, 1.6)  # Gaussian kernels that are added to linear and to additive ones
_SHARE = 0.3  # of such a kernel in the sum
_ADDITIVE = 20  # columns up to which functions of single columns are tried
NEIGHBOURS = 10  # of an observation in Z
_EXACT = 500  # observations up to which kernels are not approximated
_LANDMARKS = 300  # beyond
_ROUGHLY, _ABOUT = (2, 4), (12, 16, 20)  # kernels and penalties to look for jumps with
_JUMPS = 8  # at most
_EVIDENCE = 16.0  # gain of the logarithm of the likelihood, twice, that a jump is worth
_HERE = Plan(workers=1)  # small matrices: handing them to other threads takes longer


class Choice(NamedTuple):
    """A regression: the number of its kernel, its penalty, its R^2 on what was left out, jumps."""

    kernel: int
    penalty: float
    r2: float
    jumps: tuple[Jump, ...] = ()


class Residuals(NamedTuple):
    """The matrix from outputs to leave-one-out residuals, and their standard deviations.

    Attributes
    ----------
    maker : ndarray of shape (n, n)
        R: residuals are R y.
    scale : ndarray of shape (n,)
        The standard deviation of each residual, divided by that of the noise: large where the
        function is extrapolated.
    """

    maker: np.ndarray
    scale: np.ndarray

    @property
    def uncertain(self) -> float:
        """The average share of the error of the regression in the variance of a residual."""
        return float(np.mean(1 - self.scale**-2))

    @property
    def correlations(self) -> np.ndarray:
        """Correlations of residuals that are left of independent noise."""
        P = lapack(len(self.maker), np.matmul, self.maker, self.maker.T)
        spread = np.sqrt(np.diagonal(P))
        P /= spread[:, None]
        P /= spread
        return P


class Condition:
    r"""The variable that is given, and regressions on it.

    With G = (K + alpha I)^-1 the residual of an output y at sample i, by ridge regression on all
    other samples, is (G y)_i / G_ii. One eigendecomposition of each kernel gives those for all
    penalties alpha; the kernel and the penalty with the smallest sum of squares are chosen. Of
    vectors Z, jumps 1[z_j > c] stand beside the kernel where they make it clearly smaller, unless
    kernels or penalties are given.

    Parameters
    ----------
    Z : data
        The observations.
    kernels : Kernel or list of Kernel, optional
        What to choose from. By default, for vectors: Gaussian kernels of six widths, Matérn
        kernels for jumps and kinks, a linear one, and, of several columns, sums of a function for
        each column, and sums with Gaussian kernels.
    penalties : array
        What to choose from.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.stats.conditional_regression import Condition
    >>> rng = np.random.default_rng(0)
    >>> z = rng.uniform(-3, 3, 200)
    >>> y = np.sin(2 * z) + 0.1 * rng.normal(size=200)
    >>> given = Condition(z)
    >>> [choice] = given.choose(y[:, None])
    >>> given.kernels[choice.kernel], round(choice.r2, 2)
    (Gaussian(lengthscale=0.8) + 1, 0.98)
    >>> residuals = given.residuals(choice).maker @ (y - y.mean())
    >>> round(float(residuals.std()), 2)
    0.1
    """

    def __init__(self, Z: Data, kernels: Any = None, penalties: Any = PENALTIES) -> None:
        self.penalties = np.atleast_1d(np.asarray(penalties, dtype=np.float64))
        self.n = length(Z)
        self.data: Any = Z
        self.vectors = kernels is None
        self.jumping = self.vectors and np.array_equal(self.penalties, PENALTIES)
        if kernels is None:
            self.data = _standardized(Z)
            d = self.data.shape[1]
            self.kernels = candidates(d)
            self.near: Kernel = Gaussian(float(np.sqrt(d)))
        else:
            self.kernels = list(kernels) if isinstance(kernels, list | tuple) else [kernels]
            self.near = self.kernels[0]

    @cached_property
    def weights(self) -> np.ndarray:
        """A kernel matrix of Z with ones on its diagonal: which observations are alike."""
        P = self.near.prepare(self.data)
        M = evaluate(self.near, P, P).astype(np.float64, copy=False)
        root = np.sqrt(np.maximum(np.diagonal(M), 0))
        root = np.where(root > 0, root, 1.0)
        M = M / root[:, None]
        M /= root
        np.fill_diagonal(M, 1.0)
        return M

    @cached_property
    def distances(self) -> np.ndarray:
        """Squared distances in Z, of standardised columns or in the feature space of the kernel."""
        if self.vectors:
            return cdist(self.data, self.data, "sqeuclidean")
        P = self.near.prepare(self.data)
        own = self.near.diag(P).astype(np.float64)
        return np.asarray(own[:, None] + own - 2 * evaluate(self.near, P, P))

    def neighbours(self, k: int) -> np.ndarray:
        """The k observations nearest to each one in Z, the nearest first, itself not among them."""
        return self._nearest[:, :k]

    @cached_property
    def _nearest(self) -> np.ndarray:
        D = self.distances.copy()
        np.fill_diagonal(D, np.inf)
        near = np.argpartition(D, NEIGHBOURS - 1, axis=1)[:, :NEIGHBOURS]
        order = np.argsort(np.take_along_axis(D, near, axis=1), axis=1, kind="stable")
        return np.take_along_axis(near, order, axis=1)

    def choose(self, Y: np.ndarray, joint: bool = False, smooth: bool = False) -> list[Choice]:
        """The regression of each column of Y, or one for all of them together.

        The penalty is one step smaller than the best one. Errors of two regressions that are bias
        add up in a test, those that are variance do not. Unless the outputs are known to be
        smooth, jumps are added as long as they make the sum of squares clearly smaller.
        """
        Y = Y - Y.mean(axis=0)
        parts = [Y] if joint else [Y[:, [column]] for column in range(Y.shape[1])]
        losses = np.concatenate([s.losses(Y) for s in self._spectra])
        losses = losses.sum(axis=1, keepdims=True) if joint else losses
        pairs = zip(parts, losses.T, strict=True)
        return [self._chosen(part, each, smooth) for part, each in pairs]

    def _chosen(self, Y: np.ndarray, losses: np.ndarray, smooth: bool) -> Choice:
        """The regression of all columns of Y, given the losses without jumps."""
        jumps: tuple[Jump, ...] = ()
        if self.jumping and not smooth:
            jumps, losses = self._with_jumps(Y, losses)
        best, total = int(losses.argmin()), float(np.sum(Y**2))
        kernel, place = divmod(best, len(self.penalties))
        r2 = 1 - float(losses[best]) / total if total > 0 else 0.0
        return Choice(kernel, float(self.penalties[max(0, place - _SMALLER)]), r2, jumps)

    def _with_jumps(self, Y: np.ndarray, losses: np.ndarray) -> tuple[tuple[Jump, ...], np.ndarray]:
        """Jumps that pay, and the losses of all kernels and penalties with them.

        One jump of several does not always help, so the search goes on while the few kernels it
        is made with gain, and in the end all of them together have to be worth it.
        """
        enough = np.exp(-(_EVIDENCE + 2 * np.log(self.data.shape[1])) / self.n)
        places = [k * len(self.penalties) + a for k, a in self._coarse[0]]
        jumps: tuple[Jump, ...] = ()
        before, found = float(losses[places].min()), (jumps, losses)
        while len(jumps) < _JUMPS:
            loss, jump = best_jump(self._coarse[1], self.data, Y, jumps)
            if jump is None or not loss < enough * before:
                break
            before, jumps = loss, (*jumps, jump)
            S = columns_of(self.data, jumps)
            losses = np.concatenate([s.losses(Y, S) for s in self._spectra]).sum(axis=1)
            if losses.min() < enough ** (len(jumps) - len(found[0])) * found[1].min():
                found = jumps, losses
        return found

    def residuals(self, choice: Choice) -> Residuals:
        """The leave-one-out residuals of a regression, as a function of outputs."""
        G = self._spectra[choice.kernel].inverse(choice.penalty)
        if choice.jumps:
            G = without(G, columns_of(self.data, choice.jumps))
        diagonal = np.diagonal(G).copy()
        G /= diagonal[:, None]
        return Residuals(G, 1 / np.sqrt(choice.penalty * diagonal))

    @cached_property
    def _coarse(self) -> tuple[list[tuple[int, int]], list[np.ndarray]]:
        """A few kernels and penalties by number, and their inverses, for the search of jumps."""
        pairs = [(k, a) for k in _ROUGHLY for a in _ABOUT]
        return pairs, [self._spectra[k].inverse(float(self.penalties[a])) for k, a in pairs]

    @cached_property
    def _spectra(self) -> list[_Spectrum]:
        kernels: Sequence[Kernel] = self.kernels
        if self.n > _EXACT:
            rows = evenly(self.n, _LANDMARKS)
            kernels = [Nystrom(k, take(self.data, rows)) for k in kernels]
        return [_Spectrum(k, self.data, self.penalties) for k in kernels]


class _Spectrum:
    """The eigendecomposition of a kernel matrix, with (K + alpha I)^-1 of every penalty."""

    def __init__(self, kernel: Kernel, Z: Data, penalties: np.ndarray) -> None:
        plan = _HERE if length(Z) <= _EXACT else None
        spectrum = RidgeSpectrum(kernel.gram(Z, plan))
        self.U, self.s, self.penalties = spectrum.U, spectrum.s, penalties
        square = self.U**2
        self.diagonals = square @ (1 / (self.s[:, None] + penalties))
        self.complete = self.U.shape[1] == len(self.U)
        if not self.complete:
            self.diagonals += np.maximum(1 - square.sum(axis=1), 0)[:, None] / penalties

    def losses(self, Y: np.ndarray, S: np.ndarray | None = None) -> np.ndarray:
        """Sums of squared leave-one-out residuals, shape (penalties, outputs).

        ``S`` are additional columns without a penalty.
        """
        c, diagonals = self._times(Y), self.diagonals
        if S is not None:
            U = self._times(S)
            diagonals = diagonals.copy()
            for place in range(len(self.penalties)):
                u = U[:, place]
                v = np.linalg.solve(S.T @ u, u.T)
                c[:, place] -= v.T @ (u.T @ Y)
                diagonals[:, place] -= np.einsum("ij,ji->i", u, v)
        c /= diagonals[:, :, None]
        return np.asarray(np.einsum("iat,iat->at", c, c))

    def _times(self, Y: np.ndarray) -> np.ndarray:
        """(K + alpha I)^-1 Y, shape (n, penalties, outputs)."""
        n, t = Y.shape
        projected = self.U.T @ Y
        shrunk = projected[:, None] / (self.s[:, None] + self.penalties)[:, :, None]
        c = (self.U @ shrunk.reshape(len(self.s), -1)).reshape(n, -1, t)
        if not self.complete:
            c += (Y - self.U @ projected)[:, None] / self.penalties[:, None]
        return np.asarray(c)

    def inverse(self, penalty: float) -> np.ndarray:
        """(K + alpha I)^-1."""
        if self.complete:
            return self._product(1 / (self.s + penalty))
        G = self._product(1 / (self.s + penalty) - 1 / penalty)
        G.flat[:: len(G) + 1] += 1 / penalty
        return G

    def _product(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(lapack(len(self.U), np.matmul, self.U * values, self.U.T))


def candidates(d: int) -> list[Kernel]:
    """Kernels for regressions on d standardised columns, each plus a constant."""
    unit = float(np.sqrt(d))
    gaussian = {w: Gaussian(w * unit) for w in _GAUSSIAN}
    linear = Linear() if d == 1 else (1 / d) * Linear()
    found: list[Kernel] = list(gaussian.values())
    found += [Matern(w * unit, nu) for nu, widths in _MATERN for w in widths]
    found.append(linear)
    if d > 1:
        found += [linear + _SHARE * gaussian[w] for w in _BESIDE]
    if 1 < d <= _ADDITIVE:
        sums = (1 / d) * reduce(add, [Gaussian(_BESIDE[0]).on([j]) for j in range(d)])
        found += [sums, *(sums + _SHARE * gaussian[w] for w in _BESIDE)]
    return [k + 1 for k in found]


def _standardized(Z: Data) -> np.ndarray:
    """Columns with the median 0 and a spread of 1; constant ones are left out if others are not."""
    V = numbers(Z).astype(np.float64)
    V = V / np.maximum(np.abs(V).max(axis=0), np.finfo(float).tiny)
    V -= np.median(V, axis=0)
    V /= column_units(V)
    moving = np.ptp(V, axis=0) > 0
    return np.ascontiguousarray(V[:, moving] if moving.any() else V[:, :1])


def numbers(X: Data) -> np.ndarray:
    """Data without their own kernel as a dense (n, d) array."""
    return np.asarray(as_dense(default_vectors(X)))
