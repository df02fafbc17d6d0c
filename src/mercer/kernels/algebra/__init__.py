"""Kernels made of others: sums and products, transforms, landmarks, operators."""
