"""Statistics of distributions: discrepancies between samples, and tests with p-values."""
