"""What was measured, in words: tables for the terminal and the documentation, and JSON."""

from __future__ import annotations

import json
import math
import os
import platform
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from .harness import Accuracy, Case, Group, Row, Target

_PACKAGES = ("mercer", "numpy", "scipy", "numba")
_HEAD = ("mercer", "peer", "ratio", "promised", "error", "verdict")
_QUICK = "Quick sizes: what is promised is about the full ones."


@dataclass
class Results:
    """The rows of one run and the machine they were measured on."""

    machine: dict[str, Any]
    size: str
    rows: list[Row]

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        rows = [{**asdict(row), "ratio": row.ratio, "verdict": row.verdict} for row in self.rows]
        means = [{**asdict(mean), "verdict": mean.verdict} for mean in means_of(self.rows)]
        return {"machine": self.machine, "size": self.size, "rows": rows, "means": means}

    @classmethod
    def read(cls, path: Path) -> Results:
        """What :meth:`write` wrote."""
        found = json.loads(path.read_text())
        return cls(found["machine"], found["size"], [_row(row) for row in found["rows"]])

    def text(self) -> str:
        """A table for the terminal."""
        table = [("case", *_HEAD), *((_name(row), *_cells(row)) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in table]
        lines.insert(1, "  ".join("-" * width for width in widths))
        means = [str(mean) for mean in means_of(self.rows)]
        notes = [describe(self.machine)] + [_QUICK] * (self.size == "quick")
        return "\n".join([*lines, "", *means, *([""] if means else []), *notes])

    def markdown(self) -> str:
        """A table for the documentation."""
        lines = ["| job | " + " | ".join(_HEAD) + " |", "|---" * (len(_HEAD) + 1) + "|"]
        for row in self.rows:
            job = row.what if row.quantity == "time" else f"{row.what}: {row.quantity}"
            lines.append("| " + " | ".join((job, *_cells(row))) + " |")
        if means := means_of(self.rows):
            lines += ["", *(f"* {mean}" for mean in means)]
        return "\n".join([f"Measured on {describe(self.machine)}.", "", *lines, ""])

    def write(self, folder: Path, order: Sequence[str], *, whole: bool = False) -> str:
        """Write latest.json and table.md; what was done, in a sentence.

        Cases that this run left out keep their rows, if those are of this machine and these
        versions (of what was installed then); if they are not, nothing is written, unless this is
        a ``whole`` run, of which no case was left out by name.
        """
        measured = {row.case for row in self.rows}
        rows, file = list(self.rows), folder / "latest.json"
        if file.exists():
            before = Results.read(file)
            if _agrees(before.machine, self.machine):
                rows += [r for r in before.rows if r.case not in measured and r.case in order]
            elif not whole:
                return (
                    f"{folder.name} is of another machine or of other versions and stays as it "
                    f"is; run all cases to replace it."
                )
        rows.sort(key=lambda row: order.index(row.case))
        merged = Results(self.machine, self.size, rows)
        folder.mkdir(exist_ok=True)
        _replace(file, json.dumps(merged.to_dict(), indent=1) + "\n")
        _replace(folder / "table.md", merged.markdown())
        return f"{folder.name}/latest.json and {folder.name}/table.md are written."


def listing(cases: Sequence[Case], size: str) -> str:
    """One line per case: name, job, what is promised."""
    width = max(len(case.name) for case in cases)
    lines = []
    for case in cases:
        promised = [_promise(case.time, "time")]
        promised += [f"{_promise(of, 'time')} of {peer}" for peer, of in case.versus.items()]
        promised += [_promise(case.memory, "memory")] if case.memory else []
        promised += [f"{case.accuracy.what} ≤ {case.accuracy.most:g}"] if case.accuracy else []
        promised += ["only with --slow"] if case.slow else []
        words = "; ".join(filter(None, promised))
        lines.append(f"{case.name:{width}}  {case.title(size)}" + (f"  [{words}]" if words else ""))
    return "\n".join(lines)


# ---- geometric means -----------------------------------------------------------------------------
@dataclass(frozen=True)
class Mean:
    """The geometric mean of peer / mercer over the rows of a group, for one peer."""

    group: str
    peer: str
    mean: float
    least: float
    count: int
    accurate: bool
    promised: float | None

    @property
    def verdict(self) -> str:
        """As of a row."""
        if self.promised is None:
            return ""
        if not self.accurate:
            return "inaccurate"
        return "met" if self.mean >= self.promised else "missed"

    def __str__(self) -> str:
        words = f"{self.group}: {self.mean:.3g}x the speed of {self.peer}, geometric mean of "
        words += f"{self.count} row{'s' * (self.count > 1)}, minimum {self.least:.3g}x"
        return words + ("" if self.promised is None else f" (≥ {self.promised:g}x: {self.verdict})")


def _agrees(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """The same machine and versions? A peer that was not there before does not matter."""
    known = {name: v for name, v in now["versions"].items() if name in before["versions"]}
    return {**now, "versions": known} == before


def means_of(rows: Sequence[Row]) -> list[Mean]:
    """One for each group and peer, in order of appearance."""
    found: dict[tuple[str, str], tuple[Group, list[Row]]] = {}
    for row in rows:
        group = row.group if row.mercer and row.other else None
        while group:
            found.setdefault((group.name, row.peer), (group, []))[1].append(row)
            group = group.within
    means = []
    for (name, peer), (group, members) in found.items():
        speeds = [row.other / row.mercer for row in members if row.other and row.mercer]
        mean = math.exp(sum(map(math.log, speeds)) / len(speeds))
        accurate = all(row.verdict != "inaccurate" for row in members)
        promised = group.speed.get(peer)
        means.append(Mean(name, peer, mean, min(speeds), len(speeds), accurate, promised))
    return means


# ---- the machine -------------------------------------------------------------------------------
def machine(requirements: Sequence[str]) -> dict[str, Any]:
    """Processor, memory, versions; nothing that names the machine or its folders."""
    from mercer.gram.tiles import cores

    peers = (re.split(r"[<>=!~\[; ]", line)[0] for line in requirements)
    versions = {"Python": platform.python_version()}
    for name in (*_PACKAGES, *peers):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "processor": _processor(),
        "cores": cores(),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "blas": _blas(),
        "versions": versions,
    }


def describe(machine: dict[str, Any]) -> str:
    """The machine in one line."""
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    hardware = f"{machine['processor']}, {machine['cores']} cores"
    hardware += f", {machine['memory']} GB" if machine["memory"] else ""
    return f"{hardware}, {machine['system']}; {versions}; {machine['blas']}"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.+)", info.read_text()) if info.exists() else None
    return found[1].strip() if found else platform.processor() or platform.machine()


def _memory() -> int | None:
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return None
    return round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9)


def _blas() -> str:
    """The BLAS of numpy and of scipy, which may be two."""
    import numpy  # noqa: F401
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info

    words = (
        f"{lib['internal_api']} {lib['version']} ({lib['num_threads']} threads)"
        for lib in threadpool_info()
        if lib["user_api"] == "blas"
    )
    return ", ".join(sorted(set(words)))


# ---- cells of the table --------------------------------------------------------------------------
def _name(row: Row) -> str:
    return row.case if row.quantity == "time" else f"{row.case} ({row.quantity})"


def _cells(row: Row) -> tuple[str, ...]:
    figure = _seconds if row.quantity == "time" else _bytes
    mercer = row.note if row.mercer is None else figure(row.mercer)
    other = row.note if row.other is None else figure(row.other)
    peer = f"{other} ({row.peer})" if row.peer else ""
    return mercer, peer, _ratio(row), _promise(row.target, row.quantity), _error(row), row.verdict


def _ratio(row: Row) -> str:
    if row.ratio is None:
        return ""
    return f"{row.ratio:.3g}x the {_compared(row.target, row.quantity)}"


def _promise(target: Target, quantity: str) -> str:
    figure = _seconds if quantity == "time" else _bytes
    compared = _compared(target, quantity)
    if target.speed is not None:
        return f"≥ {target.speed:g}x the {compared}"
    if target.cost is not None:
        return f"≤ {target.cost:g}x the {compared}"
    return f"≤ {figure(target.limit)}" if target.limit is not None else ""


def _compared(target: Target, quantity: str) -> str:
    return "speed" if quantity == "time" and target.cost is None else quantity


def _error(row: Row) -> str:
    if row.error is None or row.accuracy is None:
        return ""
    peer = "" if row.other_error is None else f", peer {row.other_error:.1e}"
    return f"{row.error:.1e}{peer} (≤ {row.accuracy.most:g} {row.accuracy.what})"


def _seconds(value: float) -> str:
    return f"{value:.3g} s" if value >= 0.1 else f"{1e3 * value:.3g} ms"


def _bytes(value: float) -> str:
    return f"{value / 1e9:.3g} GB" if value >= 1e9 else f"{value / 1e6:.3g} MB"


# ---- files -----------------------------------------------------------------------------------
def _row(found: dict[str, Any]) -> Row:
    """A row from its JSON; ratio and verdict follow from the rest."""
    fields = {k: v for k, v in found.items() if k not in ("ratio", "verdict")}
    fields["target"] = Target(**fields["target"])
    fields["accuracy"] = Accuracy(**fields["accuracy"]) if fields["accuracy"] else None
    fields["group"] = _group(fields.get("group"))
    return Row(**fields)


def _group(found: dict[str, Any] | None) -> Group | None:
    return Group(**{**found, "within": _group(found.get("within"))}) if found else None


def _replace(file: Path, text: str) -> None:
    """Write a file so that it is never there by half."""
    draft = file.with_suffix(".tmp")
    draft.write_text(text, encoding="utf-8")
    draft.replace(file)
