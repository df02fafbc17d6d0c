"""Kernels and the algebra that builds them."""
