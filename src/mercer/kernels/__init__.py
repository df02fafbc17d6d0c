"""Kernels and the algebra that builds them: a folder for every kind of data."""

from __future__ import annotations

from .._lazy import lazy

FLAT = {
    "base": "Kernel",
    "algebra.anchored": "Centered Through",
    "algebra.conditioned": "Conditioned",
    "algebra.constant": "Constant",
    "algebra.nystrom": "Nystrom",
    "algebra.operator_valued": "OperatorKernel OperatorSum Separable Transformable",
    "algebra.power": "Power",
    "algebra.rescaled": "Modulated Normalized",
    "algebra.sums": "Product Sum direct_sum tensor",
    "algebra.tfidf": "TfIdf",
    "algebra.transforms": "Limit On Pullback Restricted",
    "distributions.embeddings": "EmbeddingGaussian MeanEmbedding",
    "given.custom": "Custom",
    "given.precomputed": "Precomputed",
    "labels.categorical": "Categorical",
    "notation.parse": "parse",
    "series.alignment": "DynamicTimeWarping GlobalAlignment",
    "series.convolution": "DilatedConvolution",
    "series.matching": "PairHMM SoftSubsequence",
    "series.signature": "Signature",
    "series.windows": "LagEmbedding RegularizedFourier",
    "sets.convolution": "Convolution",
    "sets.measured": "Intersection Jaccard SymmetricDifference",
    "sets.multi_instance": "Minimax MultiInstance",
    "strings.alignment": "LocalAlignment",
    "strings.context": "ContextTree",
    "strings.inexact": "GappyKmer Mismatch",
    "strings.positional": "WeightedDegree",
    "strings.profile": "Profile",
    "strings.spectrum": "BlendedSpectrum Spectrum",
    "strings.subsequence": "AllSubsequences BlendedSubsequence Subsequence",
    "strings.words": "Words",
    "trees.fragments": "ElasticTree PartialTree SubsetTree Subtree",
    "vectors.distance_induced": "Distance",
    "vectors.dot": "Binomial Exponential Linear Polynomial",
    "vectors.explicit": "FeatureMap Monomials Sinusoids",
    "vectors.matern": "Matern",
    "vectors.periodic": "Fourier Periodic Theta",
    "vectors.planar": "Conic XOR",
    "vectors.radial": "Gaussian Laplacian RationalQuadratic",
    "vectors.spline": "Spline",
    "vectors.taylor": "Taylor",
}

__getattr__, __dir__, __all__ = lazy(
    __name__,
    FLAT,
    {
        "calculus.domains": "Domain Kind Stored register_kind",
        "calculus.facts": "Fact Properties Smoothness",
    },
    rooms="algebra bags calculus distributions given labels notation pairs series sets strings "
    "trees vectors",
)
