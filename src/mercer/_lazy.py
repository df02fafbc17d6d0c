"""Packages that list their names and import each when it is first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(
    package: str, *homes: Mapping[str, str], rooms: str = ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    *homes : mapping of str to str
        Modules of the package, and the names that each of them gives to it, separated by spaces.
    rooms : str
        Packages and modules inside that are attributes without being imported first.
    """
    tables = [item for home in homes for item in home.items()]
    where = {name: module for module, names in tables for name in names.split()}
    inside = set(rooms.split())

    def getattribute(name: str) -> Any:
        if name in where:
            value = getattr(import_module(f"{package}.{where[name]}"), name)
        elif name in inside:
            value = import_module(f"{package}.{name}")
        else:  # name and obj let Python suggest a similar name
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=import_module(package))
        setattr(import_module(package), name, value)
        return value

    listed = sorted(where)
    return getattribute, lambda: sorted({*listed, *inside}), listed
