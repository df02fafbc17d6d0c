"""mercer: kernel methods for Python.

One kernel object, built by algebra, on any data, in every algorithm.

The names that most programs need are here. Each is also in the package of its kind, beside those
that extensions need: :mod:`mercer.kernels`, :mod:`mercer.chunks`, :mod:`mercer.gram`,
:mod:`mercer.losses`, :mod:`mercer.solvers`, :mod:`mercer.rkhs`, :mod:`mercer.models`,
:mod:`mercer.stats`, :mod:`mercer.tuning`, :mod:`mercer.explain`, :mod:`mercer.readers`,
:mod:`mercer.io`, :mod:`mercer.reports`, :mod:`mercer.tables`; and only there, :mod:`mercer.plots`
and :mod:`mercer.testing`.
"""

from __future__ import annotations

from . import (
    chunks,
    explain,
    gram,
    io,
    kernels,
    losses,
    models,
    readers,
    reports,
    rkhs,
    solvers,
    stats,
    tables,
    tuning,
)
from ._lazy import lazy

__version__ = "0.1.0"

_ROOMS = (
    chunks, explain, gram, io, kernels, losses, models, readers, reports, rkhs, solvers,
    stats, tables, tuning,
)  # fmt: skip
_FLAT = {room.__name__.rpartition(".")[2]: " ".join(room.FLAT.values()) for room in _ROOMS}

__getattr__, _names, __all__ = lazy(__name__, _FLAT, rooms="exceptions params plots testing")
__all__ += ["__version__"]


def __dir__() -> list[str]:
    return sorted({*globals(), *_names()} - {"lazy"})
