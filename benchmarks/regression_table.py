"""Verdicts and tables from the scores of :mod:`benchmarks.regression_sets`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .regression_methods import METHODS, OURS, PEERS

SAME = 0.005  # relative difference of two errors that nobody would notice
RANGE = (0.88, 0.93)  # promised coverage of intervals of level 0.9
PROMISED = 8  # of ten sets

Row = dict[str, Any]
_ORDER = {"loss": 0, "tie": 1, "win": 2}


def verdict(ours: Sequence[float], theirs: Sequence[float]) -> str | None:
    """Is our error smaller, over the same splits? "win", "tie", "loss"; None for fewer than two.

    A tie is a mean difference within one standard error of the paired differences, or within
    0.5% of their error.
    """
    if len(ours) < 2:
        return None
    difference = np.asarray(ours) - np.asarray(theirs)
    margin = max(float(standard_error(difference)), SAME * float(np.mean(theirs)))
    if abs(difference.mean()) <= margin:
        return "tie"
    return "win" if difference.mean() < 0 else "loss"


def standard_error(values: Any) -> float:
    """Of the mean; nan for one value."""
    values = np.asarray(values, dtype=float)
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def worst(verdicts: Iterable[str | None]) -> str | None:
    """The least favourable one, of those that there are."""
    known = [v for v in verdicts if v is not None]
    return min(known, key=_ORDER.__getitem__) if known else None


def against(rows: Sequence[Row], name: str, ours: str, peer: str) -> str | None:
    """The verdict on one set between two methods, over the splits that both finished."""
    mine, other = scores(rows, name, ours, "rmse"), scores(rows, name, peer, "rmse")
    common = sorted(set(mine) & set(other))
    return verdict([mine[s] for s in common], [other[s] for s in common])


def scores(rows: Sequence[Row], name: str, method: str, what: str) -> dict[int, float]:
    """A score by split."""
    return {
        row["split"]: row[what]
        for row in rows
        if row["set"] == name and row["method"] == method and row.get(what) is not None
    }


def markdown(rows: Sequence[Row], settings: dict[str, Any], machine: str) -> str:
    """Everything that was found, as a page."""
    sets = sorted({row["set"] for row in rows})
    parts = [
        f"At most {settings['max_train']} training and {settings['max_test']} held-out rows of "
        f"each split; errors are root mean squared errors in units of the standard deviation of "
        f"the target, mean ± standard error over splits. The verdict is the least favourable of "
        f"those against the three peers: a tie is a mean difference within one standard error of "
        f"the paired differences, or within {SAME:.1%}.",
        _errors(rows, sets),
        "\n".join(f"* {line}" for line in summary(rows)),
        f"Intervals of level 90%: the share of held-out targets inside (promised: "
        f"{RANGE[0]:.0%} to {RANGE[1]:.0%}), mean ± standard error over splits. Under ideal "
        f"conditions, intervals whose width is learned from {settings['max_train']} rows cover "
        f"90% ± {np.sqrt(0.09 / (settings['max_train'] + 2)):.1%} in a single split. "
        f"NLPD: negative log predictive density, smaller is better.",
        _intervals(rows, sets),
        "\n".join(f"* {line}" for line in interval_summary(rows)),
        f"Measured on {machine}, one core for each fit.",
    ]
    return "\n\n".join(parts) + "\n"


def summary(rows: Sequence[Row]) -> list[str]:
    """On how many sets each of our methods wins, ties and loses against all peers; seconds."""
    sets = sorted({row["set"] for row in rows})
    lines = []
    for ours in OURS:
        by_peer = {peer: [against(rows, name, ours, peer) for name in sets] for peer in PEERS}
        together = [worst(found) for found in zip(*by_peer.values(), strict=True)]
        lines.append(
            f"{ours}: {_count(together)} (promised: at most {10 - PROMISED} losses on ten sets)"
        )
        lines += [f"{ours} against {peer}: {_count(found)}" for peer, found in by_peer.items()]
    seconds = {m: [r["seconds"] for r in rows if r["method"] == m and "rmse" in r] for m in METHODS}
    told = (f"{m} {np.mean(s):.0f} s" for m, s in seconds.items() if s)
    lines.append(f"mean CPU time of a fit, including model selection: {', '.join(told)}")
    if late := [f"{r['method']} on {r['set']}" for r in rows if "rmse" not in r]:
        counted = (f"{what} ({late.count(what)}x)" for what in sorted(set(late)))
        lines.append(f"without a result: {', '.join(counted)}")
    return lines


def interval_summary(rows: Sequence[Row]) -> list[str]:
    """Coverage over all sets, and on how many it is as promised."""
    sets = sorted({row["set"] for row in rows})
    lines = []
    for method in METHODS:
        found = [
            np.mean(list(c.values())) for n in sets if (c := scores(rows, n, method, "coverage"))
        ]
        if found:
            good = sum(RANGE[0] <= value <= RANGE[1] for value in found)
            lines.append(
                f"{_interval_name(method)}: {np.mean(found):.1%} over all sets; within the "
                f"promised range on {good} of {len(found)}"
            )
    return lines


def _count(verdicts: Sequence[str | None]) -> str:
    found = {kind: verdicts.count(kind) for kind in _ORDER}
    words = f"{found['win']} won, {found['tie']} tied, {found['loss']} lost"
    return f"{words} of {sum(found.values())} sets"


# ---- tables --------------------------------------------------------------------------------------
def _errors(rows: Sequence[Row], sets: Sequence[str]) -> str:
    head = ["set, rows × features", *METHODS, *(f"{ours}: verdict" for ours in OURS)]
    lines = []
    for name in sets:
        row = next((r for r in rows if r["set"] == name and "d" in r), {})
        errors = [_cell(rows, name, method, "rmse") for method in METHODS]
        found = [worst(against(rows, name, ours, peer) for peer in PEERS) for ours in OURS]
        shape = f", {row['n_train']} × {row['d']}" if row else ""
        lines.append([name + shape, *errors, *(v or "" for v in found)])
    return _table(head, lines)


def _intervals(rows: Sequence[Row], sets: Sequence[str]) -> str:
    covered = [m for m in METHODS if any("coverage" in r for r in rows if r["method"] == m)]
    dense = [m for m in METHODS if any("nlpd" in r for r in rows if r["method"] == m)]
    head = [
        "set",
        *(f"{_interval_name(m)}: coverage" for m in covered),
        *(f"{m}: NLPD" for m in dense),
    ]
    lines = [
        [
            name,
            *(_cell(rows, name, m, "coverage", "{:.1%}") for m in covered),
            *(_cell(rows, name, m, "nlpd", "{:.3f}") for m in dense),
        ]
        for name in sets
    ]
    return _table(head, lines)


def _interval_name(method: str) -> str:
    return f"{method}, conformal" if method == "mercer ridge" else method


def _cell(rows: Sequence[Row], name: str, method: str, what: str, form: str = "{:.4f}") -> str:
    values = list(scores(rows, name, method, what).values())
    if not values:
        tried = [r for r in rows if r["set"] == name and r["method"] == method]
        return str(tried[0].get("note", "")) if tried else ""
    spread = f" ± {form.format(standard_error(values))}" if len(values) > 1 else ""
    return f"{form.format(np.mean(values))}{spread}"


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = "|---" * len(head) + "|"
    first, *others = ("| " + " | ".join(line) + " |" for line in (head, *lines))
    return "\n".join([first, rule, *others])
