"""Studies: what models on structured data reach on real data sets, one page each.

``python -m benchmarks.studies`` runs them; ``--only NAME`` selects some, ``--draw`` makes the
pictures, too. See :mod:`benchmarks.studies.frame`.
"""
