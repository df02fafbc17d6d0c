"""Samples that are collections of points: what sets and distributions share."""
