"""Profiles: sequences that give a probability to every letter at every place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...data import Data, length
from ...exceptions import DomainError
from ...params import integer, positive
from ..calculus import properties as prop
from ..calculus.domains import ANY
from .base import Substrings
from .codes import Part
from .sequences import Sequences


@dataclass(eq=False, repr=False)
class Profile(Substrings):
    r"""The profile kernel: substrings that are likely at some position of both profiles.

    .. math:: k(x, y) = \sum_{u \in A^k} \phi_u(x) \phi_u(y), \qquad
        \phi_u(x) = \#\Big\{i : - \sum_{j=1}^{k} \log x_{i+j-1, u_j} < \text{threshold}\Big\}

    A sample is the profile of a sequence: an array with one row per position and one column per
    letter, with the probabilities of the letters there, for example from the multiple alignment of
    a protein with its relatives. They should be smoothed: a probability of 0 rules a letter out.

    Parameters
    ----------
    k : int
        The length of the substrings.
    threshold : float
        How unlikely a substring may be, as -log of its probability.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Profile
    >>> sure, open_ = np.array([[0.9, 0.1], [0.9, 0.1]]), np.full((2, 2), 0.5)
    >>> Profile(k=2, threshold=1.5)([sure, open_])  # aa; and aa, ab, ba, bb
    array([[1., 1.],
           [1., 4.]])

    References
    ----------
    Kuang, Ie, Wang, Wang, Siddiqi, Freund & Leslie, *Profile-based string kernels for remote
    homology detection and motif extraction*, Journal of Bioinformatics and Computational Biology
    2005.
    """

    k: int = integer(5, low=1)
    threshold: float = positive(7.5, tuned=False)
    because = "an inner product of explicit features: the counts of all likely k-mers"
    domain = ANY
    codes_per_window = 20

    def read(self, X: Data) -> Sequences:
        """-log of the probabilities, in place of symbols."""
        if length(X) == 0:
            raise DomainError("Profile: X has no samples.")
        profiles = [_checked(x, i) for i, x in enumerate(X)]
        widths = {profile.shape[1] for profile in profiles}
        if len(widths) > 1:
            raise DomainError(
                f"Profile: all profiles must have the same letters, but there are {min(widths)} "
                f"to {max(widths)} columns."
            )
        ends = np.concatenate([[0], np.cumsum([len(profile) for profile in profiles])])
        with np.errstate(divide="ignore"):
            return Sequences(-np.log(np.concatenate(profiles)), ends)

    def parts(self, sequences: Sequences) -> Iterator[Part]:
        windows = sequences.windows(self.k)
        yield likely(sequences.symbols, *windows, self.k, self.threshold, "Profile")

    @property
    def properties(self) -> prop.Properties:
        return self._stated(
            bounded=prop.no("k(x, x) grows with the length of x"),
            strictly_pd=prop.no("profiles with the same likely k-mers have the same features"),
            characteristic=prop.no("profiles with the same likely k-mers have the same features"),
            positive_diag=prop.no("k(x, x) = 0 if no k-mer is likely enough"),
        )


def likely(
    costs: np.ndarray, starts: np.ndarray, counts: np.ndarray, k: int, threshold: float, owner: str
) -> Part:
    """The strings of length k whose letters cost less than a threshold in all, for each window.

    ``costs`` has a row for each place and a column for each letter. Strings grow by a letter at a
    time, as long as they can still be cheap enough.
    """
    letters = costs.shape[1]
    if letters**k > 2**56:
        raise ValueError(
            f"{owner}: {letters} letters to the power of k={k} are more than 2^56 substrings; "
            f"lower k."
        )
    rows = np.repeat(np.arange(len(counts)), counts)
    code, spent = np.zeros(len(starts), np.int64), np.zeros(len(starts))
    least = costs.min(axis=1)
    rest = sum((least[starts + j] for j in range(k)), start=np.zeros(len(starts)))
    for j in range(k):
        rest = rest - least[starts + j]
        total = spent[:, None] + costs[starts + j]
        grown, letter = np.nonzero(total + rest[:, None] < threshold)
        code, spent = code[grown] * letters + letter, total[grown, letter]
        starts, rows, rest = starts[grown], rows[grown], rest[grown]
    return Part(code, np.bincount(rows, minlength=len(counts)), starts, range(k))


def _checked(profile: object, place: int) -> np.ndarray:
    try:
        array = np.asarray(profile, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if array.ndim != 2 or array.shape[1] == 0:
        raise DomainError(
            f"Profile: sample {place} is not a profile: an array with one row of probabilities "
            "per position."
        )
    fine = bool(np.all(np.isfinite(array) & (array >= 0)))
    if not fine or not np.allclose(array.sum(axis=1), 1, atol=1e-6):
        raise DomainError(
            f"Profile: the rows of sample {place} must be probabilities, >= 0 and with sum 1."
        )
    return array
