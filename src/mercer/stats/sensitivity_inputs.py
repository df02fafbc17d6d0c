"""Inputs of a model, each with a centred kernel, for an analysis of variance by kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

from ..data import Data, as_dense, as_vectors, columns, is_frame
from ..engine.memory import require_memory
from ..frames import names as names_of
from ..kernels.base import Kernel
from ..kernels.labels.categorical import Categorical
from ..kernels.notation.named import as_kernel
from .smoothers import centre_in_place

_MATRICES = 5  # of size n x n that are there at once, and one for each halving of the inputs
Part = Callable[[], np.ndarray]  # computes the matrix of one input, a new array each time


def columns_of(inputs: Data) -> tuple[list[str], list[Data]]:
    """The names of inputs, and their values: numbers as (n, 1) arrays, all else as lists."""
    if is_frame(inputs):
        found = names_of(inputs)
        return [str(name) for name in found], [columns(inputs, name) for name in found]
    X = as_dense(as_vectors(inputs, "sensitivity_indices"))
    return [f"x{j}" for j in range(X.shape[1])], [X[:, [j]] for j in range(X.shape[1])]


def parts_of(values: Sequence[Data], kernels: Any, laws: Any, names: Sequence[str]) -> list[Part]:
    """For each input how its centred matrix is computed: whose mean over either argument is 0."""
    given = [
        _each(entries, names, what) for entries, what in ((kernels, "kernels"), (laws, "laws"))
    ]
    n, matrices = len(values[0]), _MATRICES + np.log2(len(values))
    require_memory(8.0 * matrices * n**2, f"matrices of {n} samples")
    return [_part(X, k, law, name) for X, k, law, name in zip(values, *given, names, strict=True)]


def _part(X: Data, kernel: Any, law: Any, name: str) -> Part:
    if kernel is None and isinstance(X, np.ndarray):
        x = as_vectors(X, f"input {name!r}")[:, 0].astype(np.float64)
        if law is None:
            u = (rankdata(x) - 0.5) / len(x)
            return lambda: centre_in_place(sobolev(u))
        u = np.asarray(law.cdf(x), dtype=np.float64)
        return lambda: sobolev(u)
    if law is not None:
        raise ValueError(f"input {name!r}: a law is only for numbers with the default kernel.")
    found: Kernel = as_kernel(Categorical() if kernel is None else kernel, X).resolve(X)
    return lambda: centre_in_place(found(X).astype(np.float64, copy=False))


def sobolev(u: np.ndarray) -> np.ndarray:
    """The kernel of the Sobolev space of order 1 on [0, 1], without constants.

    B_1(u) B_1(v) + B_2(|u - v|) / 2, with Bernoulli polynomials: its mean over uniform v is 0.
    """
    centred = u - 0.5
    out = np.subtract.outer(u, u)
    np.abs(out, out=out)
    out *= out - 1
    out += 1 / 6
    out /= 2
    out += np.multiply.outer(centred, centred)
    return out


def without_each(parts: Sequence[Part], product: Any = 1.0) -> Iterator[tuple[np.ndarray, Any]]:
    """For each input its matrix k, and the product of 1 + k over all others.

    By halves, so that few matrices are there at once and each is computed a few times only.
    """
    if len(parts) == 1:
        yield parts[0](), product
        return
    middle = len(parts) // 2
    for own, others in ((parts[:middle], parts[middle:]), (parts[middle:], parts[:middle])):
        outside = product
        for part in others:
            factor = part()
            factor += 1
            outside = np.multiply(outside, factor, out=factor)
        yield from without_each(own, outside)


def _each(entries: Any, names: Sequence[str], what: str) -> list[Any]:
    """One entry for each input, from a list, a dict by name, or None."""
    if entries is None:
        return [None] * len(names)
    if isinstance(entries, dict):
        unknown = [key for key in entries if key not in names]
        if unknown:
            raise ValueError(
                f"{what} names {unknown[0]!r}, which is not one of {', '.join(names)}."
            )
        return [entries.get(name) for name in names]
    found = list(entries) if isinstance(entries, list | tuple) else [entries] * len(names)
    if len(found) != len(names):
        raise ValueError(f"{what} must have an entry for each of {len(names)} inputs.")
    return found
