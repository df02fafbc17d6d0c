"""Gram operators on a device of PyTorch: tiles, products, passes, factors, sums over all pairs."""
