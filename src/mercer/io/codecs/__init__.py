"""How each kind of value is written to a file, and read."""

from . import data, objects, rkhs, tables

# importing them registers what they can write
__all__ = ["data", "objects", "rkhs", "tables"]
