"""What a fitted model goes by: places of sequences, nodes of trees and graphs, terms of a sum."""

from __future__ import annotations

from .._lazy import lazy

FLAT = {
    "nodes": "node_weights",
    "sequences": "KmerWeight kmer_weights position_weights",
    "trees": "FragmentWeight NodeWeight fragment_weights",
}

__getattr__, __dir__, __all__ = lazy(__name__, FLAT)
