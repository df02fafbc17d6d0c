"""Solvers: from a Gram operator and targets to coefficients, with a certificate."""
