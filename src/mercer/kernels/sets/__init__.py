"""Kernels on sets."""
