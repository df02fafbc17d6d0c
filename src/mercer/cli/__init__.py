"""The command line."""

from __future__ import annotations

from typing import Any


def pandas() -> Any:
    """The module pandas, which reading tables needs."""
    try:
        import pandas
    except ImportError:
        raise ImportError('reading tables needs pandas: pip install "mercer[table]".') from None
    return pandas
