"""The signature kernel: series as paths, compared by all their iterated integrals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...data import Data, evenly, length, take
from ...exceptions import DomainError
from ...params import Hyperparameter, integer, one_of, parameter, positive
from ..base import Kernel, Values
from ..calculus import properties as prop
from ..pairs.base import on_all_cores, pieces, weighted_pairs
from .base import SeriesKernel, arrays, cells
from .ragged import Ragged, ragged, same_channels, segments

_VALUES = 500_000  # of the kernel on points that are held at once
_MOST = 10_000_000  # cells of the table of one pair that are filled by one compiled call
_TYPICAL = 10.0  # k(x, x) by the rule "median"
_WIDEST = 1e30  # how far from the size of the data that rule looks
_FEW = 50  # series it looks at
_UNROLLED = 3  # orders up to this are compiled one by one


def _none_or_kernel(value: Any) -> str | None:
    return None if value is None or isinstance(value, Kernel) else "None or a kernel on points"


class _Group(NamedTuple):
    """Pairs of one path with others: their places in a list, points, and kernel values of these."""

    pairs: np.ndarray
    path: Data
    points: Data
    values: np.ndarray
    start: np.ndarray
    size: np.ndarray


@dataclass(eq=False, repr=False)
class Signature(SeriesKernel):
    r"""The inner product of the signatures of two paths (Király & Oberhauser).

    A series is a path through its points, along straight lines. With increments u_1, u_2, ... its
    features are the tensors in the product of (truncated) exponentials

    .. math:: \Phi(x) = \bigotimes_i \sum_{r=0}^{p} \frac{u_i^{\otimes r}}{r!}, \qquad
              k(x, y) = \langle \Phi(x), \Phi(y) \rangle

    For a large order p this is the signature, the sequence of all iterated integrals of the path:
    it does not depend on the speed along the path, nor on its starting point. What a finite order
    leaves out is of the size of abs(u)^(p+1) for each increment. Whatever the order, k is an inner
    product, and Gram matrices are positive semi-definite to rounding, which grid schemes for the
    differential equation of the signature kernel do not guarantee.

    With a single channel, only the difference of the end points matters: use ``add_time``.

    Parameters
    ----------
    kernel : Kernel, optional
        A kernel on points. The path is first lifted to its feature space: <u_i, v_j> becomes a
        difference of kernel values, and its hyper-parameters are tuned instead of the lengthscale.
        By default the path is not lifted.
    depth : int, optional
        The maximum number of iterated integrals; no limit by default. With order >= depth they are
        exact.
    order : int
        p, how often one increment may be used in a row.
    lengthscale : float or "median"
        The scale by which points are divided; values grow exponentially with the length of the path
        in this unit. "median" makes the median of k(x, x) equal to 10, so that several levels
        count.
    add_time : bool
        Whether to add a time channel from 0 to 1: the speed along the path then matters. It follows
        the time stamps of series that have them (the index of pandas objects), and is evenly spaced
        for others.
    basepoint : bool
        Whether to let every path start at 0: its position then matters.

    Examples
    --------
    >>> from mercer import Signature
    >>> right_up, up_right = [[0, 0], [1, 0], [1, 1]], [[0, 0], [0, 1], [1, 1]]
    >>> Signature(order=8)([right_up, up_right]).round(4)
    array([[5.1965, 3.5592],
           [3.5592, 5.1965]])
    >>> slow = [[2, 2], [2.5, 2], [3, 2], [3, 2.5], [3, 3]]  # the same path as right_up
    >>> Signature(order=8)([right_up, up_right], [slow]).round(4)
    array([[5.1965],
           [3.5592]])

    References
    ----------
    Király & Oberhauser, *Kernels for sequentially ordered data*, JMLR 2019; Salvi et al., *The
    signature kernel is the solution of a Goursat PDE*, SIMODS 2021.
    """

    kernel: Kernel | None = parameter(None, check=_none_or_kernel)
    depth: int | None = integer(None, low=1, also=(None,))
    order: int = integer(3, low=1)
    lengthscale: Any = positive(1.0, choices=("median",))
    add_time: bool = one_of(False, False, True)
    basepoint: bool = one_of(False, False, True)
    because = "an inner product of features: tensor products of (truncated) exponentials"

    def resolve(self, X: Data) -> Kernel:
        if not self.unresolved:
            return self
        P = ragged(X, type(self).__name__)
        if self.kernel is None:
            return replace(self, lengthscale=self._median_rule(P))
        if isinstance(self.lengthscale, str):
            raise ValueError(
                'Signature: lengthscale="median" is only for paths that are not lifted by a '
                "kernel; set the lengthscale of that kernel instead."
            )
        return replace(self, kernel=self.kernel.resolve(self._augmented(P).some_points()))

    def _median_rule(self, X: Ragged) -> float:
        """The lengthscale at which the median of k(x, x) is 10: it falls with the lengthscale."""
        if len(X) > _FEW:
            X = X[evenly(len(X), _FEW)]
        every = np.arange(len(X))

        def too_large(scale: float) -> bool:
            P = replace(self, lengthscale=scale)._path(X)
            return not np.median(self._linear(P, P, every, every)) <= _TYPICAL

        origin = np.repeat(X.values[X.start], X.size, axis=0)
        reach = float(np.abs(X.values[segments(X.start, X.size)] - origin).max())
        if reach == 0:
            return 1.0
        low, high = reach, reach
        while too_large(high) and high < reach * _WIDEST:
            high *= 2
        while not too_large(low) and low > reach / _WIDEST:
            low /= 2
        while high > 1.001 * low:
            middle = float(np.sqrt(low * high))
            low, high = (middle, high) if too_large(middle) else (low, middle)
        return high

    def prepare(self, X: Data) -> Ragged:
        return self._path(ragged(X, type(self).__name__))

    def _path(self, X: Ragged) -> Ragged:
        """Increments of the paths; or their points, as the kernel on points wants them."""
        P = self._augmented(X)
        if self.kernel is not None:
            return Ragged(self.kernel.prepare(P.values), P.start, P.size)
        first = np.zeros(len(P.values), dtype=bool)
        first[P.start] = True
        steps = np.diff(P.values, axis=0, prepend=0)[~first]
        return Ragged(steps, P.start - np.arange(len(P)), P.size - 1)

    def _augmented(self, X: Ragged) -> Ragged:
        """The points of the paths: divided by the lengthscale, with time and a basepoint."""
        extra = int(self.basepoint)
        size = X.size + extra
        start = np.cumsum(size) - size
        values = np.zeros((int(size.sum()), X.channels + int(self.add_time)))
        places = segments(start + extra, X.size)
        points = segments(X.start, X.size)
        values[places, : X.channels] = X.values[points] / self._number("lengthscale")
        if self.add_time:
            values[places, -1] = self._clock(X, points)
        return Ragged(values, start, size)

    @staticmethod
    def _clock(X: Ragged, points: np.ndarray) -> np.ndarray:
        """From 0 to 1 along each series: by its time stamps if it has some, else evenly."""
        passed = (points - np.repeat(X.start, X.size)).astype(np.float64)
        whole = np.maximum(X.size - 1, 1).astype(np.float64)
        if X.times is not None:
            times, ends = X.times[points], X.times[X.start + X.size - 1]
            known = ~np.isnan(times)
            with np.errstate(invalid="ignore"):
                back = known & (np.diff(times, prepend=0.0) <= 0) & (passed > 0)
            for bad, what in (
                (np.isinf(times), "are missing (NaT) at some points; fill"),
                (back, "do not increase; sort"),
            ):
                if bad.any():
                    at = int(np.searchsorted(np.cumsum(X.size), np.argmax(bad), side="right"))
                    raise DomainError(
                        f"Signature: the time stamps (index) of sample {at} {what} them, or drop "
                        f"them with reset_index(drop=True)."
                    )
            passed = np.where(known, times, passed)
            whole = np.where(np.isnan(ends) | (X.size == 1), whole, ends)
        return passed / np.repeat(whole, X.size)

    def pairs(self, X: Ragged, Y: Ragged, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self._finite((self._linear if self.kernel is None else self._lifted)(X, Y, i, j))

    def on_device(self, device: str) -> Values | None:
        """Of paths that stay where they are, with all levels and an order of four at most."""
        from .signature_device import LARGEST, DeviceSignatures

        if self.kernel is not None or self.depth is not None or self.order > LARGEST:
            return None
        signatures = DeviceSignatures(self.order, device)
        return lambda X, Y: self._finite(signatures(X, Y).cpu().numpy())

    @staticmethod
    def _finite(values: np.ndarray) -> np.ndarray:
        if not np.isfinite(values).all():
            raise ValueError(
                'Signature: values exceed what can be represented; set lengthscale="median", or a '
                "larger one, so that paths are shorter."
            )
        return values

    def _terms(self) -> tuple[Any, int]:
        """(1, 1/2, ..., 1/p), and the depth, 0 if there is none."""
        depth = 0 if self.depth is None else int(self.depth)
        order = min(self.order, depth) if depth else self.order
        shares = 1 / np.arange(1, order + 1)
        return (tuple(shares.tolist()) if order <= _UNROLLED else shares), depth

    def _linear(self, X: Ragged, Y: Ragged, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        shares, depth = self._terms()
        return self._paths(X, Y, i, j, None, quick=len(shares) == 3 and depth == 0)

    def slopes(self, X: Ragged, Y: Ragged, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Along the lengthscale; paths that are lifted have none to tune."""
        found = np.empty(len(i))
        self._paths(X, Y, i, j, found)
        return found

    def _paths(
        self,
        X: Ragged,
        Y: Ragged,
        i: np.ndarray,
        j: np.ndarray,
        slopes: np.ndarray | None,
        quick: bool = False,
    ) -> np.ndarray:
        """Inner products of signatures of paths; fills in their slopes along the lengthscale."""
        from ...gram.tiles import check_cancelled
        from .signature_loops import signature_space, signatures
        from .signature_third import third_order

        same_channels(X, Y)
        left, right = arrays(X), arrays(Y)
        out, (shares, depth) = np.empty(len(i)), self._terms()
        scaled = X.channels if slopes is None else X.channels - int(self.add_time)

        def job(part: slice) -> None:
            data = *left, *right, i[part], j[part]
            if quick:
                out[part] = third_order(*data)
                return
            sizes = X.size[i[part]].max(), Y.size[j[part]].max()
            room = signature_space(*sizes, X.channels, len(shares), depth)
            into: Any = out[part], None, room, None
            if slopes is not None:
                more = signature_space(*sizes, 0, len(shares), depth)
                into = out[part], slopes[part], room, more[2:]
            state = np.zeros(2, np.int64)
            while signatures(*data, scaled, shares, depth, *into, state, _MOST) < len(out[part]):
                check_cancelled()

        on_all_cores(job, cells(X, Y, i, j))
        return out

    def grad_theta(self, X: Ragged, Y: Ragged, W: np.ndarray) -> np.ndarray:
        kernel = self.kernel
        if kernel is None or not self.hyperparameters():
            return super().grad_theta(X, Y, W)
        from ...gram.tiles import run
        from .signature_adjoint import lifted_weights

        i, j, weights = weighted_pairs(W, X is Y)
        parts = pieces(8.0 * cells(X, Y, i, j))  # derivatives take longer than values
        totals = np.zeros((len(parts), len(self.theta)))  # added up in the same order, always

        def job(number: int) -> None:
            part = parts[number]
            for group in self._groups(X, Y, i[part], j[part]):
                some, shape = weights[part][group.pairs], (group.start, group.size)
                gains = lifted_weights(group.values, *shape, some, *self._terms())
                totals[number] += kernel.grad_theta(group.path, group.points, gains)

        run(job, range(len(parts)))
        return totals.sum(axis=0)

    def hyperparameters(self) -> list[Hyperparameter]:
        """Those of the kernel on points, if there is one; else the lengthscale."""
        found = super().hyperparameters()
        return [h for h in found if self.kernel is None or h.name != "lengthscale"]

    def _lifted(self, X: Ragged, Y: Ragged, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        from ...gram.tiles import check_cancelled
        from .signature_loops import lifted_signatures, signature_space

        out, terms = np.empty(len(i)), self._terms()
        for group in self._groups(X, Y, i, j):
            found, state = np.empty(len(group.pairs)), np.zeros(2, np.int64)
            room = signature_space(len(group.values), group.size.max(), 0, len(terms[0]), terms[1])
            given = group.values, group.start, group.size, *terms
            while lifted_signatures(*given, found, room, state, _MOST) < len(found):
                check_cancelled()
            out[group.pairs] = found
        return out

    def _groups(self, X: Ragged, Y: Ragged, i: np.ndarray, j: np.ndarray) -> Iterator[_Group]:
        """One path of X at a time, against some of Y whose points are looked up together."""
        assert self.kernel is not None
        most = max(1, int(_VALUES / (X.size.max(initial=1) * Y.size.max(initial=1))))
        group, current = j // most, -1
        order = np.lexsort((i, group))
        changes = (np.diff(group[order]) != 0) | (np.diff(i[order]) != 0)
        for here in np.split(order, np.flatnonzero(changes) + 1) if len(i) else []:
            row, g = i[here[0]], group[here[0]]
            if g != current:
                current, cols = g, slice(g * most, (g + 1) * most)
                points = take(Y.values, segments(Y.start[cols], Y.size[cols]))
                first = np.cumsum(Y.size[cols]) - Y.size[cols]
            start, size = first[j[here] - g * most], Y.size[j[here]]
            used = slice(int(start.min()), int((start + size).max()))
            path = take(X.values, slice(X.start[row], X.start[row] + X.size[row]))
            others = take(points, used)
            values = self._between(path, others)
            yield _Group(here, path, others, values, start - used.start, size)

    def _between(self, path: Data, others: Data) -> np.ndarray:
        """The kernel on points between those of a path and others, some rows at a time."""
        from ...gram.tiles import check_cancelled

        assert self.kernel is not None
        n, m = length(path), length(others)
        step = max(1, _MOST // m)
        if n <= step:
            return np.ascontiguousarray(self.kernel.pairwise(path, others), dtype=np.float64)
        values = np.empty((n, m))
        for start in range(0, n, step):
            check_cancelled()
            rows = slice(start, start + step)
            values[rows] = self.kernel.pairwise(take(path, rows), others)
        return values

    @property
    def properties(self) -> prop.Properties:
        facts: dict[str, Any] = {"positive_diag": prop.yes("the first tensor is 1")}
        if self.kernel is None:
            facts["bounded"] = prop.no("k(x, x) grows with the length of the path")
            facts["continuous"] = prop.yes("a polynomial of the increments")
            if self.depth is not None:
                facts["finite_dim"] = prop.yes(f"tensors over R^d of at most {self.depth} factors")
        else:
            inner = self.kernel.properties
            if not inner.psd:
                facts["psd"] = prop.Fact(None, inner.psd.because)
            if inner.continuous:
                facts["continuous"] = prop.yes("a polynomial of values of a continuous kernel")
        blind = None
        if not self.add_time:
            blind = "a point that is repeated adds nothing to the path"
        elif self.kernel is None and not self.basepoint:
            blind = "a path that begins elsewhere has the same increments"
        if blind:
            facts |= prop.blind(blind)
        return self._stated(**facts)
