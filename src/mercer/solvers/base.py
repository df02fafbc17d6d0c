"""What a solver returns: coefficients, and how good they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..exceptions import ConvergenceWarning, warn


@dataclass
class Solution:
    """Coefficients with a certificate.

    Attributes
    ----------
    coef : ndarray of shape (n, t)
        Dual coefficients: f_j = sum_i coef[i, j] k(x_i, .).
    converged : bool
        Whether the requested accuracy was reached.
    n_iter : int
        Iterations of an iterative solver, 0 for a direct one.
    message : str
        What happened, in words; what to try if it did not converge.
    stats : dict
        Numbers: method, relative residual, jitter, seconds, ...
    moments : ndarray of shape (M, M) or None
        Phi' W Phi, where the system was solved in the space of M features.
    weights : ndarray of shape (M, t) or None
        f_j = <weights[:, j], phi(.)>, in place of dual coefficients, where K is streamed.
    """

    coef: np.ndarray
    converged: bool = True
    n_iter: int = 0
    message: str = "solved"
    stats: dict[str, Any] = field(default_factory=dict)
    moments: np.ndarray | None = field(default=None, repr=False, kw_only=True)
    weights: np.ndarray | None = field(default=None, repr=False, kw_only=True)

    def warn(self) -> Solution:
        """Warn if the solver did not converge."""
        if not self.converged:
            warn(self.message, ConvergenceWarning)
        return self
