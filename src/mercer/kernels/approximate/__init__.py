"""Kernels seen through finitely many features: random frequencies, sketches, hashing, landmarks."""
