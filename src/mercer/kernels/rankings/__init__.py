"""Kernels on rankings."""
