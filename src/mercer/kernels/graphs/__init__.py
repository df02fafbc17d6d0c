"""Kernels on graphs."""
