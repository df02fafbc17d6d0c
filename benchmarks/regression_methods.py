"""One method on one split of one real set: ``python -m benchmarks.regression_methods JOB``.

JOB is a :class:`Job` as JSON; the scores on the held-out rows are printed as JSON. Features and
target are standardised on the training rows, so an error of 1 is that of predicting their mean, and
scores of different sets can be compared.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.gaussian_process import GaussianProcessRegressor as PeerGP
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.svm import SVR

from mercer import (
    ConformalRegressor,
    Gaussian,
    GaussianProcessRegressor,
    KernelRidge,
    Matern,
    tune,
)

_LEAKS = {"bike": [15, 16]}  # columns whose sum is a function of the target
_LEVEL = 0.9
_ORDERS = (0.5, 1.5, 2.5)  # of the Matérn kernels tried beside the Gaussian one
_NOISE = 0.1  # where every search for the noise begins, as a part of the variance

Scores = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """What is run in one process: a method on a split, and the sizes of its two parts."""

    set: str
    split: int
    method: str
    max_train: int
    max_test: int


@dataclass(frozen=True)
class Split:
    """Standardised training rows, and held-out rows in the same units."""

    X: np.ndarray
    y: np.ndarray
    new: np.ndarray
    target: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """One lengthscale for each feature: where every search begins.

        The squared distance of two standardised rows is 2d on average.
        """
        d = self.X.shape[1]
        return np.full(d, math.sqrt(d))


# ---- data ----------------------------------------------------------------------------------------
def read(folder: Path, job: Job) -> Split:
    """The split of a job: published test rows, or a random tenth where there are none."""
    with np.load(folder / f"{job.set}.npz") as file:
        X, y = file["X"].astype(float), file["y"].astype(float)
        masks = file.get("test_mask")
    X = np.delete(X, _LEAKS.get(job.set, []), axis=1)
    if masks is not None and job.split >= masks.shape[1]:
        raise ValueError(f"{job.set} has {masks.shape[1]} published splits, asked for more.")
    test = _random_tenth(len(y), job.split) if masks is None else masks[:, job.split]
    rng = np.random.default_rng(job.split)
    rows = rng.permutation(np.flatnonzero(~test))[: job.max_train]
    new = rng.permutation(np.flatnonzero(test))[: job.max_test]
    return standardise(X[rows], y[rows], X[new], y[new])


def standardise(X: np.ndarray, y: np.ndarray, new: np.ndarray, target: np.ndarray) -> Split:
    """All in units of the training rows; features that are constant there are left out."""
    vary = np.ptp(X, axis=0) > 0
    X, new = X[:, vary], new[:, vary]
    mean, spread = X.mean(axis=0), X.std(axis=0)
    centre, unit = y.mean(), y.std()
    return Split((X - mean) / spread, (y - centre) / unit, (new - mean) / spread,
                 (target - centre) / unit)  # fmt: skip


def _random_tenth(n: int, split: int) -> np.ndarray:
    chosen = np.random.default_rng([split, n]).permutation(n)[: n // 10]
    return np.isin(np.arange(n), chosen)


# ---- scores --------------------------------------------------------------------------------------
def rmse(target: np.ndarray, mean: np.ndarray) -> float:
    """The root of the mean squared error."""
    return float(np.sqrt(np.mean((target - mean) ** 2)))


def coverage(target: np.ndarray, low: np.ndarray, high: np.ndarray) -> Scores:
    """The share of targets inside their intervals, and the mean width of these."""
    inside = (low <= target) & (target <= high)
    return {"coverage": float(inside.mean()), "width": float(np.mean(high - low))}


def normal_scores(target: np.ndarray, mean: np.ndarray, std: np.ndarray) -> Scores:
    """Error, coverage and negative log density of normal predictions, per held-out row."""
    half = ndtri((1 + _LEVEL) / 2) * std
    density = ((target - mean) / std) ** 2 + np.log(2 * np.pi * std**2)
    return {
        "rmse": rmse(target, mean),
        **coverage(target, mean - half, mean + half),
        "nlpd": float(density.mean() / 2),
    }


# ---- mercer --------------------------------------------------------------------------------------
def _kernels(data: Split) -> dict[str, Any]:
    """The Matérn family by smoothness, with one lengthscale for each feature."""
    rough = {f"Matérn {nu:g}": Matern(data.lengths, nu=nu) for nu in _ORDERS}
    return {**rough, "Gaussian": Gaussian(data.lengths)}


def ridge(data: Split) -> Scores:
    """``tune`` with each kernel; the one of largest marginal likelihood, in conformal intervals."""
    tuned = {
        name: tune(KernelRidge(_NOISE, kernel=kernel), data.X, data.y, random_state=0)
        for name, kernel in _kernels(data).items()
    }
    best = min(tuned, key=lambda name: tuned[name].tuning_.value)
    mean = tuned[best].predict(data.new)
    intervals = ConformalRegressor(tuned[best], level=_LEVEL).fit(data.X, data.y)
    low, high = intervals.predict_interval(data.new).T
    return {"rmse": rmse(data.target, mean), **coverage(data.target, low, high), "kernel": best}


def gp(data: Split) -> Scores:
    """A Gaussian process with each kernel; the one of largest marginal likelihood."""
    fitted = {
        name: GaussianProcessRegressor(1 * kernel, random_state=0).fit(data.X, data.y)
        for name, kernel in _kernels(data).items()
    }
    best = max(fitted, key=lambda name: fitted[name].log_marginal_likelihood_value_)
    mean, std = fitted[best].predict(data.new, return_std=True, include_noise=True)
    return {**normal_scores(data.target, mean, std), "kernel": best}


# ---- scikit-learn --------------------------------------------------------------------------------
def _sklearn_gp(data: Split, lengths: Any) -> Scores:
    kernel = ConstantKernel(1.0) * RBF(lengths) + WhiteKernel(_NOISE)
    model = PeerGP(kernel, random_state=0).fit(data.X, data.y)
    mean, std = model.predict(data.new, return_std=True)  # its std includes the noise
    return normal_scores(data.target, mean, std)


def sklearn_ard(data: Split) -> Scores:
    """The Gaussian process of scikit-learn, one lengthscale for each feature."""
    return _sklearn_gp(data, data.lengths)


def sklearn_isotropic(data: Split) -> Scores:
    """The Gaussian process of scikit-learn, one lengthscale for all features."""
    return _sklearn_gp(data, float(data.lengths[0]))


def sklearn_svr(data: Split) -> Scores:
    """The support vector machine of scikit-learn; 90 settings, five folds."""
    grid = {
        "C": [0.1, 1.0, 10.0, 100.0, 1000.0],
        "gamma": [float(4.0**k / data.X.shape[1]) for k in range(-4, 2)],
        "epsilon": [0.02, 0.1, 0.3],
    }
    folds = KFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(SVR(), grid, scoring="neg_mean_squared_error", cv=folds)
    search.fit(data.X, data.y)
    return {"rmse": rmse(data.target, search.predict(data.new)), "best": search.best_params_}


METHODS: dict[str, Callable[[Split], Scores]] = {
    "mercer GP": gp,
    "mercer ridge": ridge,
    "scikit-learn GP": sklearn_ard,
    "scikit-learn GP, isotropic": sklearn_isotropic,
    "scikit-learn SVR": sklearn_svr,
}
OURS = tuple(name for name in METHODS if name.startswith("mercer"))
PEERS = tuple(name for name in METHODS if name not in OURS)


def main(folder: str, core: str, text: str) -> None:
    """Run one job on one core."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(core)})
    job = Job(**json.loads(text))
    data = read(Path(folder), job)
    warnings.simplefilter("ignore")
    start = time.process_time()
    scores = METHODS[job.method](data)
    seconds = time.process_time() - start
    shape = {"n_train": len(data.y), "n_test": len(data.target), "d": data.X.shape[1]}
    print(json.dumps({**scores, **shape, "seconds": round(seconds, 2)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
