"""The shipped check of kinds of data."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..data import Data, join, length, take
from ..io.files import load, save
from ..kernels.base import Kernel
from ..kernels.calculus.domains import Domain
from ..kinds import Kind, kind_of
from ..ownership import owned
from ..params import Params
from .contracts import check_kernel
from .promises import require

_ROLES = ("number", "text", "label", "")
_CONTRADICTIONS = (
    ("euclidean", "compact"),
    ("euclidean", "discrete"),
    ("numeric", "ragged"),
    ("numeric", "discrete"),
)
_IMPLIES = (("euclidean", "infinite"), ("euclidean", "numeric"), ("euclidean", "faithful"))


def check_kind(kind: str | Kind | Domain, X: Data, kernel: Kernel | None = None) -> None:
    """Check that what is registered of a kind of data holds for some samples.

    Its facts do not contradict each other; samples that are said to be hashable are, and equal to
    their copies; data sets can be cut and joined; samples go to files and come back the same; the
    kernel that is recommended exists, and works on such samples.

    Parameters
    ----------
    kind : str, Kind or Domain
        The kind, registered by :func:`mercer.kernels.register_kind`.
    X : data
        A few samples, at least two; 20 to 100 if a kernel is given.
    kernel : Kernel, optional
        A kernel on them, which is checked too (:func:`check_kernel`).

    Raises
    ------
    AssertionError
        With the first promise that is broken.

    Examples
    --------
    >>> from mercer import Spectrum
    >>> from mercer.testing import check_kind
    >>> check_kind("strings", ["abab", "babb", "cab", "aabb"], Spectrum(2))
    """
    name = kind if isinstance(kind, str) else kind.name if isinstance(kind, Kind) else kind.kind
    try:
        facts = kind_of(name)
    except ValueError as error:
        raise AssertionError(str(error)) from None
    require(length(X) >= 2, "at least two samples are needed")
    _consistent(facts)
    if facts.hint:
        _recommends(facts.hint)
    if facts.hashable:
        _hashable(X)
    _cut_and_joined(X)
    _through_files(X)
    if kernel is not None:
        found = kernel.domain.whole.kind
        require(found == name, f"the domain of {kernel!r} is of kind {found!r}, not {name!r}")
        check_kernel(kernel, X)


def _consistent(facts: Kind) -> None:
    require(facts.role in _ROLES, f"role is {facts.role!r}, not one of {_ROLES}")
    for one, other in _CONTRADICTIONS:
        both = getattr(facts, one) and getattr(facts, other)
        require(not both, f"{facts.name} are said to be {one} and {other}")
    for one, other in _IMPLIES:
        clash = getattr(facts, one) and not getattr(facts, other)
        require(not clash, f"{facts.name} are said to be {one}, but not {other}")


def _recommends(hint: str) -> None:
    import mercer

    name = hint.partition("(")[0]
    found = getattr(mercer, name) if name in mercer.__all__ else Params.registry.get(name)
    known = isinstance(found, type) and issubclass(found, Kernel)
    require(known, f"hint is {hint!r}, but there is no kernel {name!r}")


def _hashable(X: Data) -> None:
    for place, x in enumerate(X):
        try:
            copy = deepcopy(x)
            same = hash(copy) == hash(x) and copy == x
        except TypeError as error:
            raise AssertionError(
                f"samples are said to be hashable, but sample {place} is not: {error}."
            ) from None
        require(same, f"samples are said to be hashable, but sample {place} differs from its copy")


def _cut_and_joined(X: Data) -> None:
    n = length(X)
    whole = join(take(X, slice(0, n // 2)), take(X, slice(n // 2, n)))
    require(length(whole) == n, f"two halves joined have {length(whole)} samples, not {n}")
    require(length(owned(X)) == n, "a copy has a different number of samples")


def _through_files(X: Any) -> None:
    """What is written, read and written again is the same, byte for byte."""
    with TemporaryDirectory() as folder:
        first, second = Path(folder, "first"), Path(folder, "second")
        try:
            save(X, first)
        except ValueError as error:
            raise AssertionError(f"samples cannot be saved to files: {error}") from error
        try:
            back = load(first)
        except ValueError as error:
            told = str(error).removeprefix(f"{first}: ").removeprefix(f"{first} ")
            raise AssertionError(f"samples cannot be loaded from files: the file {told}") from error
        require(length(back) == length(X), "a different number of samples comes back from files")
        save(back, second)
        same = first.read_bytes() == second.read_bytes()
        require(same, "samples that went to a file and came back are not the same")
