"""How each kind of value is written to a file, and read."""

from . import data, objects, structures

__all__ = ["data", "objects", "structures"]  # importing them registers what they can write
