"""Gram operators on a device of PyTorch: a formula, tiles of it, products."""
