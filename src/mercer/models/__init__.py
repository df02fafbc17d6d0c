"""Estimators with scikit-learn's contract."""

from __future__ import annotations

from .._lazy import lazy

FLAT = {
    "cca": "KernelCCA",
    "cca_cv": "KernelCCACV",
    "cca_measures": "kernel_canonical_correlation kernel_generalized_variance",
    "clustering": "KernelKMeans",
    "conditional": "ConditionalEmbedding",
    "conformal": "ConformalRegressor",
    "density": "KernelDensity",
    "discriminant": "KernelFisherDiscriminant",
    "functional_cca": "FunctionalCCA",
    "gp": "GaussianProcessRegressor",
    "gp_classifier": "GaussianProcessClassifier",
    "ica": "KernelICA",
    "labelling": "SequenceLabeller",
    "level_sets": "LevelSetTree",
    "linear_cca": "CCA",
    "logistic": "KernelLogisticRegression",
    "lssvm": "LSSVC LSSVR",
    "machine": "KernelMachine",
    "multioutput": "MultiOutputKernelRidge",
    "multiple": "MultipleKernelMachine",
    "novelty": "SVDD OneClassSVM",
    "online": "OnlineKernelMachine",
    "online_novelty": "OnlineOneClassSVM",
    "pca": "KernelPCA",
    "preimage": "LearnedPreImage",
    "quantile": "KernelExpectileRegressor KernelQuantileRegressor",
    "ranking": "KernelRanker",
    "ridge": "KernelRidge",
    "ridge_cv": "KernelRidgeCV",
    "semiparametric": "SemiparametricRidge",
    "semisupervised": "SemiSupervised",
    "sparse": "SparseKernelMachine",
    "spectral_clustering": "SpectralClustering",
    "smoothing": "SmoothingSpline ThinPlateSpline",
    "svm": "NuSVC SVC",
    "svm_cv": "SVCCV",
    "svr": "NuSVR SVR",
}

__getattr__, __dir__, __all__ = lazy(
    __name__, FLAT, {"costs": "Forecast forecast", "svm_report": "DualReport"}
)
