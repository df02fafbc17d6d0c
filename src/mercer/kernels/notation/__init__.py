"""Kernels as text: from names, from expressions, in words."""
