"""Kernels computed pair by pair: what strings, series and trees share."""
