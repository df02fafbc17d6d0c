"""Kernels from generative models."""
