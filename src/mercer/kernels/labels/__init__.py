"""Kernels on labels."""
