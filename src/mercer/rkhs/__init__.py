"""The function space itself: functions, embeddings and operators."""

from __future__ import annotations

from .._lazy import lazy

FLAT = {
    "compression": "Compression compress",
    "embedding": "distance_of_means mean_embedding",
    "expansion": "MercerExpansion",
    "fourier": "FourierFunction FourierSpace top_hat",
    "function": "RKHSFunction",
    "integration": "Quadrature kernel_quadrature",
    "known": "KnownEmbedding",
    "operator": "HSOperator covariance cross_covariance outer",
    "preimages": "PreImages preimage",
    "spectral": "SpectralMeasure",
    "weighted": "EigenSpace FeatureFunction",
}

__getattr__, __dir__, __all__ = lazy(__name__, FLAT)
