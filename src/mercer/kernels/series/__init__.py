"""Kernels on series of points."""
