"""Data sets in the files that communities keep them in."""

from __future__ import annotations

from .._lazy import lazy

FLAT = {
    "base": "Records",
    "fasta": "read_fasta",
    "trees": "read_trees",
    "ts": "read_ts",
    "tu": "read_tu",
}

__getattr__, __dir__, __all__ = lazy(__name__, FLAT)
