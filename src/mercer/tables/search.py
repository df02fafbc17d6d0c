"""The choice of kernels for a table: candidates, compared on held-out rows, and blended.

The rules:

* Rough kernels first, since trees are rough: exp(-|x - z|) with the l1 and the l2 distance, at two
  or three scales; a Matérn kernel for smooth targets; a linear one; and up to 40 coordinates a
  Matérn kernel with the lengthscales of maximum likelihood on 600 rows
  (:mod:`mercer.tables.likely`).
* Each learns its distance in up to three rounds (:mod:`mercer.tables.metric`), and after each round
  every penalty predicts held-out rows: three folds of small tables, one split of large ones.
* The best of each kind are blended by non-negative least squares on these predictions, at most
  three; if that is not better than the best alone by half a per cent, the best alone is used.
* A cost model determines from the budget how many rows are used for comparison, and how large the
  pieces of the final model are, so that the same table and seed give the same model on every
  machine. A clock stops the search only where it takes far longer than expected.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import nnls

from ..engine.threads import run
from ..kernels.base import Kernel
from ..progress import quiet
from .encoding import Encoded
from .likely import COLUMNS, ROWS
from .members import Given, Member
from .metric import ALPHAS, Fold, Profile, Spectrum, Validation, follow

PROFILES = (
    Profile("l1", 1.0), Profile("l1", 0.4), Profile("l1", 3.0),
    Profile("l2", 1.5, diagonal=False), Profile("l2", 0.5, diagonal=False), Profile("l2", 1.5),
    Profile("m52", 1.0, diagonal=False), Profile("m52", 1.0), Profile("m52", 4.0),
    Profile("linear", rounds=0),
)  # fmt: skip
_ROWS = (300, 500, 800, 1200, 1600, 2000, 2500, 3000)  # to learn from in a fold
_WIDE = 300  # coordinates up to which a whole matrix is learned
_MEMBERS = 3
GAIN = 0.995  # a blend must reduce the error of the best alone to this part
_SEARCH, _FINAL = 0.35, 0.25  # parts of the budget: comparing, and one fit to all rows
_MOST_LEAF, _LEAST_LEAF = 8000, 500
_MOST_VALIDATED = 4000
_FLOPS = 4.5e10  # cubes of the size of a piece, divided by 3, per second
_TAXICAB, _EUCLID = 1e-9, 4e-11  # seconds for a coordinate of a distance, on two cores
_ROW = 1e-5  # further seconds for a row, to find its piece and distances
_COPIES = 8  # of the coordinates: those of all rows, and in the pieces of each member
_ALL = 2**62
_FEW = 50_000  # rows that are always used, all of them
_MATRICES = 6  # of the size of K that a candidate holds at a time, two candidates at once
clock = time.monotonic


@dataclass
class Effort:
    """The effort of the search, for a budget in seconds."""

    rows: int  # to learn from in a fold
    folds: int  # 1: one split
    leaf: int
    profiles: tuple[Profile, ...]
    seconds: float  # of the search, as expected,
    patience: float  # and at most
    most: int  # rows that the final models are fitted to,
    metric_rows: int = 1500  # and that their distances are learned from

    @classmethod
    def of(cls, n: int, d: int, outputs: int, budget: float, memory: float | None = None) -> Effort:
        """The effort for a table of n rows and d coordinates, within a memory limit, if any."""
        profiles = tuple(p for p in PROFILES if d <= _WIDE or p.diagonal)
        if d > _WIDE:
            profiles = tuple(p._replace(rounds=min(p.rounds, 1)) for p in profiles)
        if 1 < d <= COLUMNS:
            profiles = (*profiles, Profile("likely", rounds=0))
        final = _FINAL * budget / (_MEMBERS * max(n, 1))  # seconds for a row of a final model
        if _TAXICAB * d * _LEAST_LEAF > final:
            profiles = tuple(p for p in profiles if p.kind != "l1")
        allowed = _SEARCH * budget
        best = (0, 0, 0.0)
        for rows in _ROWS:
            whole = n <= 1.5 * rows
            used = min(rows, 2 * n // 3 if whole else n)
            folds = 3 if whole else 1
            seconds = folds * sum(_cost(p, used, d, outputs) for p in profiles) / 1.6
            fits = memory is None or _MATRICES * 16.0 * used**2 <= memory
            if not best[0] or (seconds <= allowed and fits):
                best = (used, folds, seconds)
            if whole:
                break
        slow = any(p.kind == "l1" for p in profiles)
        beside = 0.0 if d <= _WIDE else d * (_TAXICAB if slow else _EUCLID) * _FLOPS / 2
        spent = _ROW if n > _FEW else 0.0
        leaf = np.sqrt(beside**2 + max(final - spent, 0.0) * _FLOPS) - beside
        leaf = int(np.clip(leaf, _LEAST_LEAF, _MOST_LEAF))
        if memory is not None:
            leaf = max(50, min(leaf, int(np.sqrt(memory / 24))))
        patience = max(2 * best[2] + 5, 0.6 * budget)
        most = n * final / (_ROW + leaf**2 / _FLOPS) if leaf <= _LEAST_LEAF else _ALL
        if memory is not None:
            most = min(most, memory / (_COPIES * 8.0 * max(d, 1)))
        most = max(int(most), _FEW)
        metric = best[0] if d > _WIDE else max(best[0], 1500)
        return cls(best[0], best[1], leaf, profiles, best[2], patience, most, metric)

    def costs(self, d: int, outputs: int) -> dict[Profile, float]:
        """Seconds of each candidate in a fold, of d coordinates."""
        return {p: _cost(p, self.rows, d, outputs) for p in self.profiles}


def _cost(profile: Profile, n: int, d: int, outputs: int) -> float:
    """Seconds on one core: eigenvectors, distances, predictions for every alpha, gradients."""
    if profile.kind == "likely":
        m = min(n, ROWS)
        return _cost(Profile("m52", rounds=0), n, d, outputs) + 40 * m**2 * (4e-10 * m + 1e-8 * d)
    each = 4e-10 * n**3 + 2e-9 * n**2 * d * (1.0 if profile.kind == "l1" else 0.2)
    each += 1e-9 * n**2 * outputs + 5e-8 * n**2
    slopes = 1.5e-9 * n * min(n, 400) * d * (1 + outputs / 8) if profile.kind == "l1" else 0.0
    slopes += 0.0 if profile.kind in ("l1", "linear") else 2e-9 * n**2 * outputs * (1 + d / 20)
    return ((profile.rounds + 1) * each + profile.rounds * slopes) / 2


@dataclass
class Choice:
    """The chosen models, not yet fitted to all rows, and what was learned on the way."""

    members: list[Member]
    rows: np.ndarray  # those that were predicted,
    values: np.ndarray  # (rows, outputs): by models that have not seen them
    spreads: np.ndarray  # and how uncertain they were, for a prior variance of 1
    linear: tuple[float, float]  # error and alpha of the linear candidate
    searched: dict[str, Any] = field(default_factory=dict)  # errors of all kernels and penalties
    error: float = 0.0
    tried: int = 0
    stopped: bool = False


def choose(
    X: Encoded,
    Y: np.ndarray,
    w: np.ndarray,
    effort: Effort,
    *,
    groups: np.ndarray,
    similarities: list[Kernel] | None = None,
    alphas: Any = ALPHAS,
    seed: int = 0,
    tick: Callable[..., None] = quiet,
) -> Choice:
    """The best candidates for standardised targets Y; ``groups`` are shared out evenly."""
    folds = folds_of(groups, effort, seed)
    deadline = clock() + effort.patience
    found: dict[Profile, list[Any]] = {p: [None] * len(folds) for p in effort.profiles}

    costs = effort.costs(X.Z.shape[1], Y.shape[1])

    def one(job: tuple[Profile, int]) -> None:
        profile, i = job
        if clock() > deadline and profile is not effort.profiles[0]:
            return
        train, new = folds[i]
        found[profile][i] = follow(profile, Fold(X.Z[train], Y[train], w[train], X.Z[new]), alphas)
        tick(f"{profile.kind} {profile.scale:g}", costs[profile])

    jobs = [(p, i) for p in effort.profiles for i in range(len(folds))]
    run(one, sorted(jobs, key=lambda job: -job[0].rounds) if X.Z.shape[1] else [])
    rows = np.concatenate([new for _, new in folds])
    tried = [
        _validated(profile, parts, Y[rows], w[rows])
        for profile, parts in found.items()
        if all(part is not None for part in parts)
    ]
    pairs: list[tuple[Validation, Kernel | None]] = [(v, None) for v in tried]
    if similarities:
        pairs += _with_text(X, Y, w, folds, pairs, similarities, alphas, tick)
    choice = _blend(pairs, rows, Y[rows], w[rows], alphas, effort)
    choice.stopped = len(tried) < len(effort.profiles) and bool(X.Z.shape[1])
    return choice


def choose_alpha(
    X: Encoded, Y: np.ndarray, w: np.ndarray, effort: Effort, kernel: Kernel, *,
    groups: np.ndarray, alphas: Any, plan: Any = None, seed: int = 0,
) -> Choice:  # fmt: skip
    """The best penalty of a kernel that was given, on the table in its own units."""
    folds = folds_of(groups, effort, seed)
    parts = []
    for train, new in folds:
        rows, others = X.take(train).own, X.take(new).own
        own = kernel.resolve(rows)
        root = np.sqrt(w[train])
        P, Q = own.prepare(rows), own.prepare(others)
        spectrum = Spectrum(np.array(own.pairwise(P, P), dtype=float), Y[train], root)
        cross = np.asarray(own.pairwise(Q, P), dtype=float) * root
        found = spectrum.predict(cross, alphas, own.diag(Q))
        parts.append(tuple(part[None] for part in found))
    rows = np.concatenate([new for _, new in folds])
    profile = Profile("given", rounds=0)
    v = _validated(profile, parts, Y[rows], w[rows])
    alpha = float(alphas[v.best[1]])
    spread = np.sqrt(v.variances[v.best] + alpha)
    member: Any = Given(kernel, alpha=alpha, plan=plan)
    searched = _searched([(v, None)], alphas, [v])
    return Choice(
        [member], rows, v.values[v.best], spread, (np.inf, 1.0), searched, v.error, len(alphas)
    )


def folds_of(groups: np.ndarray, effort: Effort, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows to learn from and rows to predict, with even shares of sorted groups or targets."""
    n = len(groups)
    order = np.random.default_rng(seed).permutation(n)
    order = order[np.argsort(groups[order], kind="stable")]
    if effort.folds > 1:
        fold = np.empty(n, dtype=int)
        fold[order] = np.arange(n) % effort.folds
        parts = [
            (np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(effort.folds)
        ]
        return [(train[: effort.rows * 2], new) for train, new in parts]
    held = min(_MOST_VALIDATED, n - effort.rows, 2 * effort.rows)
    share = (effort.rows + held) / n
    taken = np.floor((np.arange(n) + 1) * share) > np.floor(np.arange(n) * share)
    some = order[taken]
    is_new = np.zeros(len(some), dtype=bool)
    part = held / len(some)
    is_new[np.floor((np.arange(len(some)) + 1) * part) > np.floor(np.arange(len(some)) * part)] = (
        True
    )
    rng = np.random.default_rng(seed)
    return [(rng.permutation(some[~is_new]), some[is_new])]


def _validated(profile: Profile, parts: list, Y: np.ndarray, w: np.ndarray) -> Validation:
    values = np.concatenate([v for v, _ in parts], axis=2)
    variances = np.concatenate([s for _, s in parts], axis=2)
    errors = np.einsum("r,tark->ta", w, (values - Y) ** 2) / (w.sum() * Y.shape[1])
    errors = np.where(np.isfinite(errors), errors, np.inf)
    return Validation(profile, errors, values, variances)


def _with_text(
    X: Encoded, Y: np.ndarray, w: np.ndarray, folds: list, pairs: list, similarities: list[Kernel],
    alphas: Any, tick: Callable[..., None],
) -> list[tuple[Validation, Kernel | None]]:  # fmt: skip
    """Kernels on whole texts, added to the linear kernel and to the best one so far."""
    beside = [Profile("linear", rounds=0)]
    rough = [v for v, _ in pairs if v.profile.kind != "linear"]
    if rough:
        best = min(rough, key=lambda v: v.error)
        beside.append(best.profile._replace(rounds=best.best[0]))
    found: list[tuple[Validation, Kernel | None]] = []
    for similarity in similarities:
        parts: dict[Profile, list] = {p: [] for p in beside}
        for train, new in folds:
            both = _frame(X.take(np.concatenate([train, new])))
            K = similarity(both)
            m = len(train)
            extra = (K[:m, :m], K[m:, :m])
            for profile in beside:
                fold = Fold(X.Z[train], Y[train], w[train], X.Z[new])
                parts[profile].append(follow(profile, fold, alphas, extra))
        tick(str(similarity), 0.0)
        rows = np.concatenate([new for _, new in folds])
        for profile, each in parts.items():
            found.append((_validated(profile, each, Y[rows], w[rows]), similarity))
    return found


def _frame(X: Encoded) -> Any:
    from ..frames import pandas

    return pandas().DataFrame(X.texts)


def _blend(
    pairs: list[tuple[Validation, Kernel | None]], rows: np.ndarray, Y: np.ndarray, w: np.ndarray,
    alphas: Any, effort: Effort,
) -> Choice:  # fmt: skip
    """Non-negative weights of the best of each kind."""
    best: dict[Any, tuple[Validation, Kernel | None]] = {}
    for v, similarity in sorted(pairs, key=lambda pair: pair[0].error):
        best.setdefault(
            (v.profile.kind, v.profile.diagonal, similarity is not None), (v, similarity)
        )
    ranked = list(best.values())

    def values(v: Validation) -> np.ndarray:
        return v.values[v.best]

    root = np.sqrt(w)[:, None]
    target = (root * Y).ravel()
    weights = np.zeros(len(ranked))
    chosen = list(range(len(ranked)))
    for _ in range(3):
        F = np.column_stack([(root * values(ranked[i][0])).ravel() for i in chosen])
        found, _ = nnls(F, target)
        weights[:] = 0
        weights[chosen] = found
        chosen = [i for i in np.argsort(-weights)[:_MEMBERS] if weights[i] > 0.05]
        if not chosen:
            break
    first = ranked[0][0]
    blended = sum(weights[i] * values(ranked[i][0]) for i in chosen) if chosen else 0 * Y
    error = float(np.sum(w[:, None] * (blended - Y) ** 2) / (w.sum() * Y.shape[1]))
    if not chosen or error > GAIN * first.error:
        weights[:], weights[0], chosen = 0, 1.0, [0]
        blended, error = values(first), first.error
    members, spread = [], np.zeros(len(Y))
    for i in chosen:
        v, similarity = ranked[i]
        t, a = v.best
        p = v.profile
        alpha = float(alphas[a])
        members.append(
            Member(
                p.kind, p.scale, p.diagonal, t, alpha=alpha, weight=float(weights[i]),
                leaf=effort.leaf, metric_rows=effort.metric_rows, similarity=similarity,
            )
        )  # fmt: skip
        spread += weights[i] * np.sqrt(v.variances[t, a] + alpha)
    linear = [v for v, s in pairs if v.profile.kind == "linear" and s is None]
    line = (linear[0].error, float(alphas[linear[0].best[1]])) if linear else (np.inf, 1.0)
    found = _searched(pairs, alphas, [ranked[i][0] for i in chosen])
    tried = sum(v.errors.size for v, _ in pairs)
    return Choice(members, rows, blended, spread, line, found, error, tried)


def _searched(
    pairs: list[tuple[Validation, Kernel | None]], alphas: Any, chosen: list[Validation]
) -> dict[str, Any]:
    """The errors of all kernels, each after its best round, for every penalty."""
    order = {kind: i for i, kind in enumerate(dict.fromkeys(p.kind for p in PROFILES))}
    pairs = sorted(
        pairs,
        key=lambda pair: (
            pair[1] is not None, order.get(pair[0].profile.kind, len(order)),
            not pair[0].profile.diagonal, pair[0].profile.scale,
        ),
    )  # fmt: skip
    names = [v.profile.words + ("" if text is None else f" + {text}") for v, text in pairs]
    places = [[v is one for v, _ in pairs].index(True) for one in chosen]
    return {
        "kernels": names,
        "alphas": [float(a) for a in alphas],
        "errors": np.stack([v.errors.min(axis=0) for v, _ in pairs]),
        "chosen": [[i, v.best[1]] for i, v in zip(places, chosen, strict=True)],
    }
