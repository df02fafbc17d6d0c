"""What a fitted model goes by: k-mers and places of sequences, nodes of trees, terms of a sum."""

from __future__ import annotations

from .._lazy import lazy

FLAT = {
    "sequences": "KmerWeight kmer_weights position_weights",
    "trees": "FragmentWeight NodeWeight fragment_weights node_weights",
}

__getattr__, __dir__, __all__ = lazy(__name__, FLAT)
