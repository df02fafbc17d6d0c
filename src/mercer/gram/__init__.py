"""Gram operators: kernel matrices stored, tiled, or factorised, and the plan that chooses."""
