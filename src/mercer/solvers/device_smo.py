r"""Support vector machines by decomposition on a device: several problems on one K at once.

The programme is that of :mod:`.smo`, and so are working sets and steps. Each round goes through all
unsolved problems, as operations on arrays with one row per problem: the variables that violate
optimality most replace the oldest of the working set; its block of K is assembled; one program per
problem takes steps on it (:mod:`.device_steps`); and the changes are added to the gradient, by rows
of K. K is stored on the device if there is room, otherwise its tiles are computed when they are
needed.

At the end the gradient and the violation of all problems are recomputed in double precision; rounds
continue for those above the tolerance. A problem that makes no further progress is handed to the
CPU solver, which terminates on any matrix and says why.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..engine.threads import check_cancelled
from ..exceptions import DomainError
from ..gram.device.rows import DeviceMatrix
from ..gram.device.torch_ import get, import_torch, put
from ..gram.rows import RowGram
from ..gram.tiles import slices
from .box import BLOCKED, BoxProblem, BoxSolution
from .device_steps import add_rows_there, take_all_steps
from .smo import solve_box
from .smo_state import NOT_FINITE

Tensor = Any

SMALLEST = 2000  # with fewer samples the CPU is faster
_LARGEST, _SHARED = 2048, 1024  # variables of a working set, and of one among many problems
_MANY = 8
_AT_ONCE = 512  # problems
_RENEWED = 4  # one in this many variables is replaced in a round
_GOAL, _INNER = 0.1, 100  # as in :mod:`.smo`
_MARGIN = 0.95  # steps stop at this part of tol, since the gradient is rounded
_SAFE = 2e-5  # goals above this part of the gradient can be reached in single precision
_AUDITS = 6  # times that the gradient is recomputed
_ROUNDS = 3000
_STEPS, _EACH = 2 * 10**7, 1000  # maximum steps, in total or per variable, whichever is more


def solve_boxes(
    K: RowGram,
    problems: Sequence[BoxProblem],
    parts: Sequence[np.ndarray] | None = None,
    *,
    tol: float = 1e-3,
    max_iter: int | None = None,
    watch: Callable[[float], None] | None = None,
) -> list[BoxSolution]:
    """Solve programmes for parts of one kernel matrix.

    Parameters
    ----------
    K : RowGram
        The kernel matrix, one with a ``card``.
    problems : list of BoxProblem
        All with the same epsilon and number of groups.
    parts : list of arrays, optional
        The samples of each; all of them by default.
    tol, max_iter, watch
        See :func:`mercer.solvers.smo.solve_box`; ``max_iter`` limits the steps of each problem,
        and ``watch`` is called with the largest violation.

    Returns
    -------
    The solutions, one for each problem.
    """
    if not np.isfinite(K.diagonal).all():
        raise DomainError(NOT_FINITE)
    matrices = [K] * len(problems) if parts is None else [K.subset(part) for part in parts]
    members = [matrix.index for matrix in matrices]  # type: ignore[attr-defined]
    found: list[BoxSolution] = []
    for some in slices(len(problems), _AT_ONCE):
        found += _Boxes(K.card, problems[some], members[some], tol).run(max_iter, watch)
    for p, solution in enumerate(found):
        if not solution.converged and solution.n_iter < _most(problems[p], max_iter):
            found[p] = _finished(matrices[p], problems[p], solution, tol, max_iter)
    return found


def _most(problem: BoxProblem, max_iter: int | None) -> int:
    """Steps that a problem may take."""
    return max(_STEPS, _EACH * len(problem)) if max_iter is None else max_iter


def _finished(
    K: RowGram, problem: BoxProblem, solution: BoxSolution, tol: float, max_iter: int | None
) -> BoxSolution:
    """Finish a problem with the CPU solver."""
    left = None if max_iter is None else max_iter - solution.n_iter
    rest = solve_box(K, replace(problem, start=solution.beta), tol=tol, max_iter=left)
    return replace(rest, n_iter=rest.n_iter + solution.n_iter)


class _Boxes:
    """The points of several problems, one row per problem; the last column is a placeholder."""

    def __init__(
        self,
        card: DeviceMatrix,
        problems: Sequence[BoxProblem],
        members: Sequence[np.ndarray],
        tol: float,
    ) -> None:
        self.card, self.problems, self.tol = card, problems, tol
        self.torch = import_torch(card.device)
        self.sizes = [len(p) for p in problems]
        self.count, self.most = len(problems), max(self.sizes)
        self.epsilon = float(problems[0].epsilon)
        self.groups = max(p.grouping()[1] for p in problems)
        self.at = self._put([np.asarray(m) for m in members], np.int64)
        self.beta, self.lower, self.upper, self.target = (
            self._put([np.asarray(getattr(p, name)) for p in problems], np.float64)
            for name in ("start", "lower", "upper", "target")
        )
        self.group = self._put([p.grouping()[0] for p in problems], np.int64)
        size = _SHARED if self.count >= _MANY else _LARGEST
        self.width = max(16, min(size, 1 << (self.most - 1).bit_length()))
        self.slots = self.torch.full((self.count, self.width), self.most, device=card.place)
        self.age = self.torch.full_like(self.slots, -1)
        self.rounds = self.audits = 0
        started = any(p.start.any() for p in problems)
        self.g = self._gradient() if started else -self.target

    def _put(self, rows: list[np.ndarray], dtype: Any) -> Tensor:
        """Rows of different lengths as one array, padded with zeros."""
        out = np.zeros((len(rows), self.most + 1), dtype)
        for line, row in zip(out, rows, strict=True):
            line[: len(row)] = row
        return put(out, self.card.device)

    # ---- the loop ------------------------------------------------------------------------
    def run(self, max_iter: int | None, watch: Callable[[float], None] | None) -> list[BoxSolution]:
        start, torch = time.perf_counter(), self.torch
        most = max(_most(problem, max_iter) for problem in self.problems)
        steps = torch.zeros(self.count, dtype=torch.int64, device=self.card.place)
        stuck = torch.zeros(self.count, dtype=torch.bool, device=self.card.place)
        while True:
            check_cancelled()
            ends = self._ends()
            violation = self._violation(ends)
            open_ = (violation >= _MARGIN * self.tol) & (steps < most) & ~stuck
            summary = torch.stack([violation.max(), self.g.abs().max(), open_.any().double()])
            worst, steepest, going = summary.tolist()
            if not np.isfinite([worst, steepest]).all():
                raise DomainError(NOT_FINITE)
            if watch is not None:
                watch(worst)
            if not going or self.rounds >= _ROUNDS:
                self.g = self._gradient()
                violation = self._violation(self._ends())
                self.audits += 1
                wrong = (violation >= self.tol) & (steps < most)
                if self.audits >= _AUDITS or self.rounds >= _ROUNDS or not bool(wrong.any()):
                    break
                stuck &= ~wrong
                continue
            taken = self._round(open_.nonzero()[:, 0], ends, violation, steepest, most - steps)
            steps += taken
            stuck |= open_ & (taken == 0)
            self.rounds += 1
        return self._solutions(steps, violation, time.perf_counter() - start)

    def _ends(self) -> list[tuple[Tensor, Tensor, Tensor, Tensor]]:
        """For each group: slopes upwards, slopes downwards, the least and greatest of these."""
        torch, b, out = self.torch, self.beta, []
        up = self.g + torch.where(b >= 0, self.epsilon, -self.epsilon)
        down = self.g + torch.where(b > 0, self.epsilon, -self.epsilon)
        for t in range(self.groups):
            of = self.group == t
            rise = torch.where((b < self.upper) & of, up, BLOCKED)
            fall = torch.where((b > self.lower) & of, down, -BLOCKED)
            out.append((rise, fall, rise.amin(1), fall.amax(1)))
        return out

    def _violation(self, ends: list[tuple[Tensor, Tensor, Tensor, Tensor]]) -> Tensor:
        return self.torch.stack([high - low for _, _, low, high in ends]).amax(0)

    def _round(
        self, some: Tensor, ends: Any, violation: Tensor, steepest: float, left: Tensor
    ) -> Tensor:
        """Steps of the problems ``some``, among the variables of new working sets."""
        torch, W = self.torch, self.width
        slots = self._renewed(some, ends)
        goal = torch.clamp(_GOAL * violation[some], min=_MARGIN * self.tol)
        safe = _MARGIN * self.tol >= _SAFE * max(1.0, steepest)
        kind = self.card.kind if safe else torch.float64
        at = self.at[some].gather(1, slots)
        before = self.beta[some].gather(1, slots)
        beta = before.clone()
        taken = take_all_steps(
            self._blocks(at), self.g[some].gather(1, slots).to(kind), beta,
            self.lower[some].gather(1, slots), self.upper[some].gather(1, slots),
            self.group[some].gather(1, slots), self.groups, self.epsilon, goal.to(kind),
            torch.clamp(left[some], max=_INNER * W),
        )  # fmt: skip
        change = beta - before
        self.beta[some] = self.beta[some].scatter(1, slots, beta)
        order = (change == 0).to(torch.int8).argsort(dim=1, stable=True)  # what moved comes first
        self._add(some, at.gather(1, order), change.gather(1, order), (change != 0).sum(1))
        out = torch.zeros_like(left)
        out[some] = taken
        return out

    def _renewed(self, some: Tensor, ends: Any) -> Tensor:
        """Replace the oldest variables of the working sets by the worst violators."""
        torch, W = self.torch, self.width
        old, age = self.slots[some], self.age[some]
        share = W if self.rounds == 0 else W // _RENEWED
        share = max(1, min(share // (2 * self.groups), self.most))
        inside = torch.zeros((len(some), self.most + 1), dtype=torch.bool, device=old.device)
        inside.scatter_(1, old, True)
        new, fresh = [], []
        for rise, fall, low, high in ends:
            for excess in (high[some, None] - rise[some], fall[some] - low[some, None]):
                excess = torch.where(inside, 0.0, excess)
                size, place = excess.topk(share, dim=1)
                place = torch.where(size > 0, place, self.most)
                inside.scatter_(1, place, True)
                new.append(place)
                fresh.append(torch.where(size > 0, self.rounds + 1, -1))
        slots, age = torch.cat([*new, old], 1), torch.cat([*fresh, age], 1)
        order = age.argsort(dim=1, descending=True, stable=True)[:, :W]
        self.slots[some], self.age[some] = slots.gather(1, order), age.gather(1, order)
        return self.slots[some]

    def _blocks(self, at: Tensor) -> Tensor:
        """K between the members of each working set."""
        K = self.card.whole
        if K is not None:
            return K[at[:, :, None], at[:, None, :]]
        return self.torch.stack([self.card.tile(row, row) for row in at])

    def _add(self, some: Tensor, rows: Tensor, weights: Tensor, count: Tensor) -> None:
        """Add the contribution of changed variables to the gradient."""
        K = self.card.whole
        if K is not None:
            g = self.g[some]
            add_rows_there(K, rows, weights, count, self.at[some], g)
            self.g[some] = g
            return
        for t, p in enumerate(some.tolist()):
            moved, of = int(count[t]), self.at[p, : self.sizes[p]]
            change = self.card.product(of, rows[t, :moved], weights[t, :moved], exact=False)
            self.g[p, : self.sizes[p]] += change

    def _gradient(self) -> Tensor:
        """K beta - target of all problems in double precision, from one product."""
        torch, n = self.torch, len(self.card)
        place = torch.arange(self.count, device=self.card.place)[:, None].expand_as(self.at)
        beta = torch.zeros((n, self.count), dtype=torch.float64, device=self.card.place)
        beta.index_put_((self.at, place), self.beta, accumulate=True)  # samples may occur twice
        support, rows = (beta != 0).any(1).nonzero()[:, 0], self.at.unique()
        found = torch.zeros_like(beta)
        found[rows] = self.card.product(rows, support, beta[support])
        return found[self.at, place] - self.target

    def _solutions(self, steps: Tensor, violation: Tensor, seconds: float) -> list[BoxSolution]:
        out = []
        beta, g, gaps, taken = get(self.beta), get(self.g), get(violation), get(steps)
        for p, size in enumerate(self.sizes):
            converged = bool(gaps[p] < self.tol)
            message = "optimal"
            if not converged:
                message = (
                    f"stopped after {taken[p]} steps with a violation of {gaps[p]:.2e}, "
                    f"above tol={self.tol:g}; raise tol or max_iter, or scale the data."
                )
            stats = {
                "rounds": self.rounds, "shrunk": 0, "reconstructions": self.audits,
                "rows": float(self.sizes[p]), "seconds": seconds,
            }  # fmt: skip
            out.append(
                BoxSolution(
                    beta[p, :size].copy(), g[p, :size].copy(), float(gaps[p]), converged,
                    int(taken[p]), message, stats,
                )
            )  # fmt: skip
        return out
