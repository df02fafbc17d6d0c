"""Kernels between distributions."""
