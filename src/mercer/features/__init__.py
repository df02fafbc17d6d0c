"""Explicit feature maps of kernels: exact, truncated, approximate."""
