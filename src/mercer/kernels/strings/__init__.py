"""Kernels on strings: shared substrings, shared subsequences, alignments."""
