"""Kernels for columns in their own units: those of tests, of whole texts, and of users.

Numbers get one kernel of all of them, with a lengthscale of c * std * sqrt(d) for each column;
labels multiply it by a similarity of labels, either *matched* (a factor for each label that
differs, as large as that of a typical difference of a number) or *counted* (the share of labels
that agree); text is compared by the short substrings it is made of. The families and the ranges
of c were chosen on real tables: of smooth data the Gaussian and Matérn kernels win, but more
often the Laplacian kernel does, a product of one rough kernel per column.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from ..kernels.base import Kernel
from ..kernels.labels.categorical import Categorical
from ..kernels.strings.spectrum import Spectrum
from ..kernels.vectors.matern import Matern
from ..kernels.vectors.radial import Gaussian, Laplacian
from ..search.lengthscales import spreads
from .roles import Table

_FAMILIES: tuple[tuple[Callable[[Any], Kernel], int, tuple[float, ...]], ...] = (
    (lambda s: Gaussian(s), 2, (0.7, 1.4, 2.8)),
    (lambda s: Matern(s, nu=2.5), 2, (0.7, 1.4, 2.8, 5.6)),
    (lambda s: Laplacian(s, p=1), 1, (0.7, 1.4, 2.8, 5.6)),
)
_LABELS_ONLY = (0.4, 0.7, 1.4, 2.8)
_TYPICAL = {1: 1.128, 2: 1.0}  # mean |x - y| and mean (x - y)^2 / 2 of a standard normal


def table_kernels(table: Table, roles: dict[str, str]) -> list[Kernel]:
    """Kernels of the numbers and labels; none if the table has only text."""
    numbers, labels = _named(roles, "number"), _named(roles, "label")
    d = len(numbers) + len(labels)
    pairs: list[tuple[Kernel | None, float]] = []
    if numbers:
        scale = _stds(table, numbers) * np.sqrt(d)
        key: Any = numbers if len(numbers) > 1 else numbers[0]
        scale = scale if len(numbers) > 1 else scale[0]
        for family, p, factors in _FAMILIES:
            for c in factors:
                likeness = float(np.exp(-_TYPICAL[p] / (c * np.sqrt(d)) ** p))
                pairs.append((family(_digits(c * scale)).on(key), likeness))
    elif labels:
        pairs = [(None, float(np.exp(-1 / (c**2 * d)))) for c in _LABELS_ONLY]
    found: list[Kernel] = []
    for kernel, likeness in pairs:
        similar = _similarities(labels, likeness)
        if kernel is None or not similar:
            found += similar if kernel is None else [kernel]
        else:
            found += [kernel * s for s in similar]
    return found


def text_kernels(roles: dict[str, str], rest: Kernel | None) -> list[Kernel]:
    """Kernels on texts, alone or added to and multiplied by the kernel on the other columns."""
    found = []
    for whole in text_similarities(_named(roles, "text")):
        found += [whole] if rest is None else [rest + whole, rest * (whole / 2 + 0.5)]
    return found


def text_similarities(names: list[str]) -> list[Kernel]:
    """Kernels of whole texts: of three letters, and of one to four; the mean over the columns."""
    grams = [Spectrum(k) for k in (1, 2, 3, 4)]
    found = []
    for similarity in (
        Spectrum(3).normalize(),
        (sum(grams[1:], grams[0]).normalize() / 2 + 0.5) ** 2,
        (sum((k.normalize() for k in grams[1:]), grams[0].normalize()) / 4) ** 2,
    ):
        parts = [similarity.on(name) for name in names]
        if parts:
            whole = sum(parts[1:], parts[0])
            found.append(whole / len(parts) if len(parts) > 1 else whole)
    return found


def on_table(kernel: Kernel, roles: dict[str, str]) -> Kernel:
    """The kernel itself if it names columns, else on all it can be meant for; dates are numbers."""
    kind = kernel.domain.kind
    wanted = kernel.domain.facts.role
    roles = {name: "number" if role == "date" else role for name, role in roles.items()}
    names = [name for name, role in roles.items() if role == wanted]
    if kind in ("columns", "everything", "any", "subset"):
        return kernel
    if not wanted:
        raise ValueError(
            f"{kernel!r} works on {kernel.domain}; choose their column with .on('column')."
        )
    if not names or (wanted != "number" and len(names) > 1):
        raise ValueError(
            f"{kernel!r} works on {kernel.domain}, and the table has {len(names)} columns of role "
            f"{wanted!r}; say which one with .on('column')."
        )
    return kernel.on(names if len(names) > 1 else names[0])


def _similarities(labels: list[str], likeness: float) -> list[Kernel]:
    """1 for the same labels and less for others, matched and counted."""
    if not labels:
        return []
    same = [Categorical().on(name) for name in labels]
    rho = _digits(np.clip(likeness, 0.05, 0.98))
    matched = reduce(mul, [rho + _digits(1 - rho) * k for k in same])
    counted = 0.5 + _digits(0.5 / len(same)) * (sum(same[1:], same[0]))
    return [matched, counted]


def _named(roles: dict[str, str], role: str) -> list[str]:
    return [name for name, r in roles.items() if r == role]


def _stds(table: Table, numbers: list[str]) -> np.ndarray:
    values = table[numbers].to_numpy(dtype=float)
    stds = spreads(values)
    return np.where(stds > 0, stds, 1.0)


def _digits(value: Any) -> Any:
    """Three digits are plenty for what is tried in steps of two, and can be read."""
    rounded = np.vectorize(lambda x: float(f"{x:.3g}"))(value)
    return float(rounded) if rounded.ndim == 0 else rounded
