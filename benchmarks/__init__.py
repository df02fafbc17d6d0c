"""mercer beside its peers: ``python3 benchmarks/run.py``, or ``make bench``."""
