"""Kernels on strings: shared substrings, shared subsequences, alignments."""

from .spectrum import BlendedSpectrum, Spectrum

__all__ = ["BlendedSpectrum", "Spectrum"]
