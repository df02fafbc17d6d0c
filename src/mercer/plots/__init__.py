"""Pictures of kernels, functions and models (needs the extra ``plot``)."""

from __future__ import annotations

from .._lazy import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "calibration": "plot_coverage plot_reliability",
        "causal": "plot_causal",
        "dependence": "plot_coco",
        "functions": "plot_function plot_kernel",
        "graphs": "plot_graph",
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
