"""Models of tables as people have them: mixed columns in, a kernel chosen, a model out."""

from __future__ import annotations

from .._lazy import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "classifier": "TableClassifier",
        "reading": "read_table",
        "regressor": "TableRegressor",
        "ridge": "RidgeClassifier",
        "screening": "Screening compare_tables screen_columns",
    },
)
