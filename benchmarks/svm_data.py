"""Data for support vector machines, by name: ``mc:10000:50`` is made, ``a9a:32561`` is read.

Made: ``mc:n:d[:k]`` (k classes, several clusters in each) and ``fr:n:d`` (Friedman's first
problem). Read from the folder named by the environment variable MERCER_DATA, or else from
shared/data beside this checkout: see :data:`_READ`; n is the number of training rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from .harness import ROOT, Unavailable

_NEW = 5000  # points to predict, at most
Arrays = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Problem:
    """Training data, points to predict with their targets, and the width of the Gaussian kernel."""

    X: np.ndarray
    y: np.ndarray
    new: np.ndarray
    gamma: float
    new_y: np.ndarray | None = None


@lru_cache(maxsize=2)  # the tiny problem and the one that is measured
def load(name: str) -> Problem:
    """The problem of that name; :class:`Unavailable` where its file is not at hand."""
    kind, *numbers = name.split(":")
    n, *rest = map(int, numbers)
    if kind in _MADE:
        X, y = _MADE[kind](n + _NEW, *rest)
        return Problem(X[:n], y[:n], X[n:], 1 / X.shape[1], y[n:])
    X, y, new, new_y = _read(kind, n)
    gamma = 1 / (X.shape[1] * float(X.var()))  # scikit-learn's gamma="scale"
    return Problem(X, y, new, gamma, new_y)


def rows(name: str) -> int:
    """The number of training rows."""
    return int(name.split(":")[1])


def fifth(name: str) -> str:
    """The same problem with a fifth of the rows."""
    kind, n, *rest = name.split(":")
    return ":".join([kind, str(int(n) // 5), *rest])


# ---- made ----------------------------------------------------------------------------------------
def _clusters(n: int, d: int, k: int = 2) -> Arrays:
    from sklearn.datasets import make_classification

    informative = max(4, d // 2)
    X, y = make_classification(
        n,
        d,
        n_informative=informative,
        n_redundant=min(d // 5, d - informative),
        n_classes=k,
        n_clusters_per_class=4,
        flip_y=0.05,
        random_state=0,
    )
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def _friedman(n: int, d: int) -> Arrays:
    from sklearn.datasets import make_friedman1

    return make_friedman1(n, n_features=d, noise=1.0, random_state=0)


_MADE: dict[str, Callable[..., Arrays]] = {"mc": _clusters, "fr": _friedman}


# ---- read ----------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _File:
    """Where a set is, and its features: shifted and multiplied, or standardised by default.

    Of many classes, the ``largest`` may be told from all others.
    """

    path: str
    scale: tuple[float, float] | None = None
    shuffle: bool = False
    largest: bool = False


_READ = {
    "a9a": _File("vectors/a9a.npz", (0.0, 1.0)),  # zeros and ones
    "ijcnn1": _File("vectors/ijcnn1.npz"),
    "connect4": _File("vectors/connect4.npz", (0.0, 1.0), shuffle=True),
    "letter": _File("vectors/letter.npz"),
    "usps": _File("vectors/usps.npz", (1.0, 0.5)),
    "mnist": _File("vectors/mnist.npz", (0.0, 1 / 255)),
    "covtype_20k": _File("vectors/covtype_20k.npz", shuffle=True),  # it has no split of its own
    "covertype": _File("vectors/covertype_10num.npz", shuffle=True),
    "kddcup": _File("vectors/kddcup99_10pct.npz", shuffle=True, largest=True),
    "phoneme": _File("vectors/phoneme.npz", shuffle=True),
    "skin": _File("vectors/skin.npz", shuffle=True),
    "spambase": _File("vectors/spambase.npz", shuffle=True),
    "kin40k": _File("vectors_regression/kin40k.npz"),
}


def folder() -> Path:
    """Where the real data sets are."""
    return Path(os.environ.get("MERCER_DATA") or ROOT.parent / "shared" / "data")


def _read(kind: str, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The first n rows, and rows of the test set, or else those after n, each with targets."""
    source = _READ[kind]
    path = folder() / source.path
    if not path.exists():
        raise Unavailable(f"the data set {kind} is not at hand (MERCER_DATA names its folder)")
    with np.load(path) as file:
        X, y = file["X"], file["y"]
        end = int(file["n_train"]) if "n_train" in file else 0
    if source.largest:
        y = (y == np.bincount(y).argmax()).astype(int)
    if source.shuffle:
        order = np.random.default_rng(0).permutation(len(X))
        X, y = X[order], y[order]
    after = slice(max(n, end), max(n, end) + _NEW)
    train, new = X[:n].astype(np.float64), X[after].astype(np.float64)
    shift, factor = _scale(train) if source.scale is None else map(np.array, source.scale)
    return (train + shift) * factor, y[:n], (new + shift) * factor, y[after]


def _scale(X: np.ndarray) -> Arrays:
    """Shift and factor that give mean zero and spread one to columns that are not constant."""
    spread = X.std(axis=0)
    return -X.mean(axis=0), 1 / np.where(spread > 0, spread, 1.0)
