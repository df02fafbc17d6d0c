"""Statistics of distributions: discrepancies between samples, and tests with p-values."""

from __future__ import annotations

from .._lazy import lazy

FLAT = {
    "aggregate": "kernel_grid",
    "causal": "causal_graph",
    "causal_result": "CausalGraph",
    "classifier": "classifier_test",
    "conditional": "conditional_independence_test",
    "constrained": "coco",
    "dependence": "cka dhsic distance_correlation distance_covariance hsic nocco",
    "dependence_interval": "cka_interval hsic_interval",
    "discrepancy": "mmd mmd_multi",
    "distribution": "distribution_test mmd_to",
    "independence": "independence_test",
    "independence_grid": "dependence_grid",
    "information": "kernel_mutual_information parzen_mutual_information",
    "interaction": "interaction_test lancaster",
    "interval": "mmd_interval",
    "multiple": "adjust_pvalues",
    "optimize": "optimize_kernel",
    "paired": "paired_test",
    "planning": "power sample_size",
    "relative": "relative_fit_test relative_test",
    "result": "TestResult",
    "segmentation": "change_points",
    "segmentation_result": "Segmentation",
    "sensitivity": "SensitivityResult sensitivity_indices",
    "sequential": "SequentialIndependenceTest SequentialTwoSampleTest",
    "stein": "Stein goodness_of_fit_test ksd",
    "two_sample": "k_sample_test two_sample_test",
    "witnesses": "witness",
}

__getattr__, __dir__, __all__ = lazy(__name__, FLAT, {"problems": "Comparison Dependence"})
