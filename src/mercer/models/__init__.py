"""Estimators with scikit-learn's contract, on any kernel and any data."""
