"""Accuracy of kernels on series, on the sets of the UCR and UEA archives with their own splits.

``python -m benchmarks.series_accuracy`` prints, for each set, the accuracy on the test part of

* the nearest neighbour under dynamic time warping, the usual yardstick,
* a support vector machine with the global alignment kernel, whose lengthscale and C are chosen by
  five-fold cross-validation on the training part, four times over,
* the same with the normalised signature kernel of the path with time added.

Nothing of the test part is used to choose. :mod:`benchmarks.svm_data` says where the sets are.
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold

from mercer import SVCCV, DynamicTimeWarping, GlobalAlignment, Kernel, Signature

from .svm_data import folder

SETS = (
    "ArrowHead",
    "BasicMotions",
    "Beef",
    "Coffee",
    "ECG200",
    "GunPoint",
    "ItalyPowerDemand",
    "Lightning7",
    "PickupGestureWiimoteZ",
    "SyntheticControl",
    "Trace",
)
_CS = 10.0 ** np.arange(-1, 5)
# factors of the lengthscale by the rule "median"; values of signatures grow exponentially
_ALIGNMENT, _SIGNATURE = 2.0 ** np.arange(-4, 3), 2.0 ** np.arange(-1, 4)


class Split(NamedTuple):
    """Series of points with labels, for training and for the test."""

    X: list
    y: np.ndarray
    new: list
    truth: np.ndarray


def load(name: str) -> Split:
    """A set by its name; series are (length, channels) arrays."""
    with np.load(folder() / "timeseries" / f"{name}.npz") as file:
        padded, lengths, y, n = file["X"], file["lengths"], file["y"], int(file["n_train"])
    X = [x[:, :size].T.astype(float) for x, size in zip(padded, lengths, strict=True)]
    return Split(X[:n], y[:n], X[n:], y[n:])


def nearest(split: Split) -> float:
    """The accuracy of the nearest neighbour under dynamic time warping."""
    closest = DynamicTimeWarping(1.0).distances(split.new, split.X).argmin(axis=1)
    return float(np.mean(split.y[closest] == split.truth))


def machine(split: Split, kernel: Kernel, factors: np.ndarray) -> float:
    """The accuracy of a machine whose lengthscale is a multiple of the rule's."""
    named = [name for name in kernel.get_params() if name.endswith("lengthscale")]
    rule = kernel.resolve(split.X).get_params()[named[0]]
    grid = {f"kernel__{named[0]}": list(rule * factors)}
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=4, random_state=0)
    model = SVCCV(_CS, param_grid=grid, cv=folds, kernel=kernel, test_size=0)
    return float(model.fit(split.X, split.y).score(split.new, split.truth))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="a part of the names of sets")
    args = parser.parse_args()
    head = ("set", "train", "test", "longest", "1-NN DTW", "GlobalAlignment", "Signature", "s")
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    timed = Signature(lengthscale="median", add_time=True)
    found = []
    for name in SETS:
        if args.only not in name:
            continue
        split, start = load(name), time.perf_counter()
        found.append(
            (
                nearest(split),
                machine(split, GlobalAlignment(), _ALIGNMENT),
                machine(split, timed.normalize(), _SIGNATURE),
            )
        )
        sizes = (len(split.X), len(split.new), max(map(len, split.X + split.new)))
        shown = [*map(str, sizes), *(f"{a:.4f}" for a in found[-1])]
        took = time.perf_counter() - start
        print("| " + " | ".join([name, *shown, f"{took:.0f}"]) + " |", flush=True)
    means = " | ".join(f"{a:.4f}" for a in np.mean(found, axis=0))
    print(f"| mean | | | | {means} | |")


if __name__ == "__main__":
    main()
