"""Kernels that the user gives: a function, a matrix, an object of another package."""
