"""mercer: kernel methods for Python.

One kernel object, built by algebra, on any data, in every algorithm.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "kernels.algebra": "Product Sum direct_sum tensor",
    "kernels.anchored": "Centered Through",
    "kernels.base": "Kernel",
    "kernels.conditioned": "Conditioned",
    "kernels.constant": "Constant",
    "kernels.categorical": "Categorical",
    "kernels.custom": "Custom",
    "kernels.distance_induced": "Distance",
    "kernels.distributions": "EmbeddingGaussian MeanEmbedding",
    "kernels.dot": "Binomial Exponential Linear Polynomial",
    "kernels.explicit": "FeatureMap Monomials Sinusoids",
    "kernels.nystrom": "Nystrom",
    "kernels.operator_valued": "OperatorKernel OperatorSum Separable Transformable",
    "kernels.parse": "parse",
    "kernels.periodic": "Fourier Periodic Theta",
    "kernels.planar": "Conic XOR",
    "kernels.power": "Power",
    "kernels.precomputed": "Precomputed",
    "kernels.matern": "Matern",
    "kernels.radial": "Gaussian Laplacian RationalQuadratic",
    "kernels.series_alignment": "DynamicTimeWarping GlobalAlignment",
    "kernels.series_convolution": "DilatedConvolution",
    "kernels.series_matching": "PairHMM SoftSubsequence",
    "kernels.series_vectors": "LagEmbedding RegularizedFourier",
    "kernels.signature": "Signature",
    "kernels.spline": "Spline",
    "kernels.trees": "ElasticTree PartialTree SubsetTree Subtree",
    "kernels.strings.alignment": "LocalAlignment",
    "kernels.strings.context": "ContextTree",
    "kernels.strings.inexact": "GappyKmer Mismatch",
    "kernels.strings.positional": "WeightedDegree",
    "kernels.strings.profile": "Profile",
    "kernels.strings.spectrum": "BlendedSpectrum Spectrum",
    "kernels.strings.subsequence": "AllSubsequences BlendedSubsequence Subsequence",
    "kernels.taylor": "Taylor",
    "kernels.tfidf": "TfIdf",
    "kernels.words": "Words",
    "kernels.rescaled": "Modulated Normalized",
    "kernels.transforms": "Limit On Pullback Restricted",
    "features.expansion": "MercerExpansion",
    "gram.base": "Gram",
    "gram.plan": "Plan",
    "models.cca": "KernelCCA",
    "models.cca_cv": "KernelCCACV",
    "models.cca_measures": "kernel_canonical_correlation kernel_generalized_variance",
    "models.linear_cca": "CCA",
    "models.conditional": "ConditionalEmbedding",
    "models.conformal": "ConformalRegressor",
    "models.gp": "GaussianProcessRegressor",
    "models.gp_classifier": "GaussianProcessClassifier",
    "models.ridge": "KernelRidge",
    "models.ridge_cv": "KernelRidgeCV",
    "models.lssvm": "LSSVC LSSVR",
    "losses": "Absolute EpsilonInsensitive Expectile Hinge Huber Logistic Loss Multinomial "
    "Poisson Quantile SmoothedHinge Squared SquaredEpsilonInsensitive SquaredHinge",
    "models.logistic": "KernelLogisticRegression",
    "models.machine": "KernelMachine",
    "models.pca": "KernelPCA",
    "models.preimage": "LearnedPreImage",
    "models.quantile": "KernelQuantileRegressor",
    "models.multioutput": "MultiOutputKernelRidge",
    "models.novelty": "OneClassSVM",
    "models.semiparametric": "SemiparametricRidge",
    "models.smoothing": "SmoothingSpline ThinPlateSpline",
    "models.svm": "NuSVC SVC",
    "models.svm_cv": "SVCCV",
    "models.svr": "NuSVR SVR",
    "rkhs.compress": "Compression compress",
    "rkhs.embedding": "distance_of_means mean_embedding",
    "rkhs.fourier": "FourierFunction FourierSpace top_hat",
    "rkhs.function": "RKHSFunction",
    "solvers.pivoted": "pivoted_cholesky",
    "rkhs.preimage": "PreImages preimage",
    "rkhs.operator": "HSOperator covariance cross_covariance outer",
    "stats.aggregate": "kernel_grid",
    "stats.coco": "coco",
    "stats.conditional": "conditional_independence_test",
    "stats.hsic": "cka dhsic distance_correlation distance_covariance hsic nocco",
    "stats.independence": "independence_test",
    "stats.independence_grid": "dependence_grid",
    "stats.interval": "mmd_interval",
    "stats.ksd": "Stein goodness_of_fit_test ksd",
    "stats.mmd": "mmd mmd_multi",
    "stats.optimize": "optimize_kernel",
    "stats.result": "TestResult",
    "stats.two_sample": "k_sample_test two_sample_test",
    "stats.witness": "witness",
    "attribution": "KmerWeight kmer_weights position_weights",
    "tree_attribution": "FragmentWeight NodeWeight fragment_weights node_weights",
    "io": "load save",
    "selection": "RidgePath ridge_path",
    "tuning": "Tuning tune",
    "testing": "",
    "exceptions": "",
}
_WHERE = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = ["__version__", *sorted(_WHERE)]


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: ``import mercer`` stays fast."""
    if name in _WHERE:
        value = getattr(import_module(f".{_WHERE[name]}", __name__), name)
    elif name in _HOME:
        value = import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
