"""Models of tables as people have them: mixed columns in, a kernel chosen, a model out."""

from __future__ import annotations

from .._lazy import lazy

FLAT = {"classifier": "TableClassifier", "regressor": "TableRegressor"}

__getattr__, __dir__, __all__ = lazy(
    __name__,
    FLAT,
    {
        "reading": "read_table",
        "ridge": "RidgeClassifier",
        "screening": "Screening compare_tables screen_columns",
    },
)
