"""The cases: every module of this package has a list ``CASES``."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from ..harness import Case


def load() -> list[Case]:
    """All cases, module by module."""
    modules = sorted(info.name for info in iter_modules(__path__))
    return [case for name in modules for case in import_module(f"{__name__}.{name}").CASES]
