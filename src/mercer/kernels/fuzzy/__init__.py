"""Kernels on fuzzy sets."""
