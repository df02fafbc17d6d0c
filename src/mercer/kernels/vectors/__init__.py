"""Kernels on vectors, on the line, the circle and the plane."""
