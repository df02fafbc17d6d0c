"""Pictures of kernels, functions and models (needs the extra ``plot``)."""

from __future__ import annotations

from .._lazy import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "calibration": "plot_coverage plot_reliability",
        "causal": "plot_causal",
        "dependence": "plot_coco",
        "displays": "CorrelationDisplay CoverageDisplay CurveDisplay DecisionDisplay FitDisplay"
        " GramDisplay GridDisplay"
        " ImportanceDisplay KernelDisplay NullDisplay PartialDisplay PredictionDisplay"
        " ReliabilityDisplay WitnessDisplay",
        "functions": "plot_function plot_kernel",
        "grams": "plot_gram",
        "graphs": "plot_graph",
        "inspection": "plot_correlations plot_curve plot_importance plot_partial",
        "levels": "plot_levels",
        "models": "plot_components plot_confusion plot_model plot_predictions",
        "regression": "plot_fit plot_process",
        "screening": "plot_screening",
        "selection": "plot_grid plot_path",
        "sensitivity": "plot_indices",
        "sequential": "plot_wealth",
        "svm": "plot_decision plot_losses plot_tube",
        "trees": "plot_nodes",
        "two_sample": "plot_null plot_witness",
    },
)
