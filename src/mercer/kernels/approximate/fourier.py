"""Random Fourier features: frequencies drawn from the spectral measure of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...params import one_of, parameter
from ..formula import SQUARED, TAXICAB, Atom, Term
from ..vectors.base import squared_norms
from .rules import DrawnRule, Piece

EXPONENTIAL = "exponential"  # the name of the profile exp(gamma <x, y>)


@dataclass(eq=False, repr=False)
class RandomFourier(DrawnRule):
    r"""Cosines and sines at random frequencies (Rahimi & Recht 2007).

    .. math:: \hat\varphi(x) = \sqrt{\tfrac2n}\,
              [\cos \omega_j'x,\ \sin \omega_j'x]_{j \le n/2}, \qquad
              k(x, y) = \mathbb E \cos \omega'(x - y)

    The frequencies of a function of x - y come from its spectral measure (Bochner): Gaussian,
    Laplacian (both norms), Matérn of any order and rational quadratic kernels, each with one
    lengthscale or one per feature. Those of a product of kernels, on the same columns or on others,
    are sums of frequencies; sums of kernels share the n features. Multiples, normalisation,
    ``.on`` and f(x) k(x, y) f(y) follow, and so does the exponential kernel, which is
    exp(|x|²γ/2) exp(-γ|x - y|²/2) exp(γ|y|²/2).

    Parameters
    ----------
    n : int
        The number of features; the error of a kernel value is about k(x, x) sqrt(1 / n).
    kind : {"orthogonal", "independent"}
        Frequencies of radial kernels in orthogonal directions, as many as there are dimensions at
        a time, have less variance than independent ones (Yu et al. 2016).
    seed : int
        Of the random numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, KernelRidge, Matern, Plan, RandomFourier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, (5000, 2))
    >>> y = np.sin(2 * X[:, 0]) + X[:, 1]
    >>> plan = Plan(features=RandomFourier(300))
    >>> model = KernelRidge(1e-2, kernel=Gaussian(1.0) + Matern(2.0).on([1]), plan=plan).fit(X, y)
    >>> model.score(X, y) > 0.999
    True

    References
    ----------
    Rahimi & Recht, *Random features for large-scale kernel machines*, NIPS 2007; Yu, Suresh,
    Choromanski, Holtmann-Rice & Kumar, *Orthogonal random features*, NIPS 2016.
    """

    kind: str = one_of("orthogonal", "orthogonal", "independent")

    def words(self) -> str:
        return f"{self.n} random Fourier features"

    def piece(self, term: Term, count: int, rng: np.random.Generator) -> Waves:
        return Waves.drawn(term, count, rng, self.kind)


@dataclass(eq=False, repr=False)
class Waves(Piece):
    """Cosines and sines of phases, which add up over the atoms of a term.

    Parameters
    ----------
    origins : list of arrays of shape (d,)
        For each atom, where its phases are measured from: far from it they would lose digits.
    frequencies : list of arrays of shape (d, m)
        For each atom.
    """

    origins: list[np.ndarray] = parameter()
    frequencies: list[np.ndarray] = parameter()

    @classmethod
    def drawn(cls, term: Term, count: int, rng: np.random.Generator, kind: str) -> Waves:
        """Random ones for a term, half as many frequencies as features."""
        m = max(count // 2, 1)
        return cls([_origin(a) for a in term.atoms], [_draw(a, m, rng, kind) for a in term.atoms])

    def features(self, term: Term, n: int) -> np.ndarray:
        phases: Any = 0.0
        for atom, start, W in zip(term.atoms, self.origins, self.frequencies, strict=True):
            X, W = atom.points, W.astype(atom.points.dtype, copy=False)
            sparse = sp.issparse(X)
            phases = phases + (X @ W if sparse else (X - start.astype(X.dtype)) @ W)
        phi = np.concatenate([np.cos(phases), np.sin(phases)], axis=1)
        phi /= np.sqrt(phases.shape[1], dtype=phi.dtype)
        for atom in term.atoms:
            if atom.profile.name == EXPONENTIAL:
                phi *= np.exp(growth(atom) / 2 * squared_norms(atom.points))[:, None]
        return phi


def growth(atom: Atom) -> float:
    """gamma of exp(gamma <x, y>)."""
    return float(dict(atom.profile.parameters)["scale"])


def _origin(atom: Atom) -> np.ndarray:
    """The median of dense samples of a function of x - y."""
    if atom.metric not in (SQUARED, TAXICAB) or sp.issparse(atom.points):
        return np.zeros(atom.points.shape[1])
    return np.median(atom.points, axis=0).astype(np.float64)


def _draw(atom: Atom, m: int, rng: np.random.Generator, kind: str) -> np.ndarray:
    """m random frequencies of an atom, for its points as they are scaled; shape (d, m)."""
    d, profile = atom.points.shape[1], atom.profile
    if profile.name == EXPONENTIAL:
        unit, spreads = np.sqrt(growth(atom)), np.ones(m)
    elif atom.metric == TAXICAB and profile.name == "exp":
        return -atom.weight * rng.standard_cauchy((d, m))
    elif atom.metric == SQUARED and profile.spread is not None:
        unit, spreads = np.sqrt(atom.weight / profile.weight), profile.spread(rng, m)
    else:
        raise ValueError(
            f"RandomFourier needs functions of x - y whose spectrum is known; {profile.name} is "
            "not one; use TensorSketch for functions of <x, y>, or Landmarks for any kernel."
        )
    normal = rng.standard_normal((d, m))
    if kind == "orthogonal":
        normal = _orthogonal(d, m, rng) * np.linalg.norm(normal, axis=0)
    return unit * spreads * normal


def _orthogonal(d: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """Columns of length 1, every d of them orthogonal, each uniform on the sphere."""
    blocks = rng.standard_normal((-(-m // d), d, d))
    Q, R = np.linalg.qr(blocks)
    Q *= np.sign(np.diagonal(R, axis1=1, axis2=2))[:, None, :]  # else Q is not uniform
    return np.concatenate(list(Q), axis=1)[:, :m]
