"""Two samples differ if a classifier can distinguish them: tests with any classifier."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import norm, rankdata

from ..checks import check_count
from ..data import Data, as_vectors, holds_numbers, is_frame, take
from ..gram.plan import Plan
from ..randomness import as_generator
from .permutation_test import SAME
from .planned import planned, threads
from .result import TestResult
from .samples import Samples

_ROUNDING = 1e-9  # of a share of pairs


@dataclass
class _Part:
    """Predictions of a classifier for a part of the data that it was not fitted to."""

    auc: float
    accuracy: float
    pvalue: float
    size: int


@planned
def classifier_test(
    X: Data,
    Y: Data,
    model: Any = None,
    *,
    n_parts: int = 5,
    n_permutations: int = 999,
    rng: Any = None,
    plan: Plan | None = None,
) -> TestResult:
    r"""Test whether two samples come from the same distribution, by a classifier.

    The data are divided at random into parts. For each part but the first, a classifier is fitted
    to all earlier parts and scores this part: the share of pairs (x, y) that it puts in the right
    order (the area under the ROC curve) is compared with its values under permutations of the
    labels of that part. Given the earlier parts, each p-value is valid, so they can be combined as
    if they were independent (Stouffer):

    .. math:: Z = \sum_j w_j\, \Phi^{-1}(1 - p_j) \Big/ \sqrt{\textstyle\sum_j w_j^2}

    with the square root of the number of training samples as weight. All parts but the first are
    tested, all but the last are used for training, and the p-value is exact.

    Parameters
    ----------
    X, Y : data
        The samples.
    model : classifier, optional
        Any classifier with ``fit`` and ``decision_function``, ``predict_proba`` or ``predict``,
        from this library or scikit-learn, including pipelines and searches. It is copied for each
        fit. By default ``KernelLogisticRegression(kernel=Gaussian("median"))``.
    n_parts : int
        The number of parts; with 2, one half is used for training and the other for the test.
    n_permutations : int
        Permutations of each part.
    rng : None, int or Generator
        The source of randomness.
    plan : Plan, optional
        Memory and threads to use, and how K is stored.

    Returns
    -------
    TestResult
        The statistic is Z; ``details`` has the ``"auc"`` and the ``"accuracy"`` over all parts
        that were tested, ``"pvalues"``, one for each, and the last ``"model"``, which was fitted to
        the most data.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC, classifier_test
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(0, 1, (150, 2)), rng.normal(0, 1.8, (150, 2))
    >>> result = classifier_test(X, Y, SVC(), rng=0)
    >>> result.pvalue < 0.01
    True
    >>> round(result.details["accuracy"], 2)
    0.7

    References
    ----------
    Lopez-Paz & Oquab, *Revisiting classifier two-sample tests*, ICLR 2017; Kim, Ramdas, Singh &
    Wasserman, *Classification accuracy as a proxy for two-sample testing*, Annals of Statistics
    2021.
    """
    check_count("n_permutations", n_permutations)
    rng = as_generator(rng)
    samples = Samples(X, Y, least=check_count("n_parts", n_parts, 2))
    data = _rows(samples.data)
    model = _usual() if model is None else model
    for name in ("fit", "predict"):
        if not hasattr(model, name):
            raise TypeError(
                f"model must be a classifier with fit and predict, got a {type(model).__name__}."
            )
    place = np.empty(len(samples), dtype=int)
    for g in (0, 1):
        members = rng.permutation(np.flatnonzero(samples.labels == g))
        place[members] = np.arange(len(members)) * n_parts // len(members)
    parts, weights, fitted = [], [], None
    for part in range(1, n_parts):
        seen, held = (np.flatnonzero(rows) for rows in (place < part, place == part))
        seen = rng.permutation(seen)
        fitted = _copied(model)
        fitted.fit(take(data, seen), samples.labels[seen])
        tested, labels = take(data, held), samples.labels[held]
        auc, pvalue = _judge(_scores(fitted, tested), labels, n_permutations, rng)
        right = float(np.mean(np.asarray(fitted.predict(tested)) == labels))
        parts.append(_Part(auc, right, pvalue, len(held)))
        weights.append(np.sqrt(len(seen)))
    z = norm.isf([p.pvalue for p in parts])
    statistic = float(np.dot(weights, z) / np.linalg.norm(weights))
    sizes = [p.size for p in parts]
    details = {
        "auc": float(np.average([p.auc for p in parts], weights=sizes)),
        "accuracy": float(np.average([p.accuracy for p in parts], weights=sizes)),
        "pvalues": np.array([p.pvalue for p in parts]),
        "model": fitted,
    }
    return TestResult(
        statistic,
        float(norm.sf(statistic)),
        f"classifier two-sample test, {type(model).__name__}, {len(parts)} "
        f"part{'s' * (len(parts) > 1)} held out ({n_permutations} permutations each)",
        SAME,
        distribution=norm(),
        n_permutations=n_permutations,
        notes=("it can only detect differences that the classifier learns.",),
        details=details,
        computation=f"{len(parts)} fits, of {int(weights[0] ** 2)} to {int(weights[-1] ** 2)} "
        f"samples; {threads(plan)}",
    )


def _rows(data: Data) -> Data:
    """Points on the line as rows of one number, as classifiers require; all else as it is."""
    if is_frame(data) or sp.issparse(data):
        return data
    first = data.iloc[0] if hasattr(data, "iloc") else data[0]
    alone = isinstance(first, Real | np.bool_) and holds_numbers(data)
    return as_vectors(data, "classifier_test") if alone else data


def _usual() -> Any:
    from ..kernels.vectors.radial import Gaussian
    from ..models.logistic import KernelLogisticRegression

    return KernelLogisticRegression(kernel=Gaussian("median"))


def _copied(model: Any) -> Any:
    from sklearn.base import clone

    return clone(model) if hasattr(model, "get_params") else deepcopy(model)


def _scores(model: Any, X: Data) -> np.ndarray:
    """Large where the second sample is likely."""
    if hasattr(model, "decision_function"):
        values = np.asarray(model.decision_function(X), dtype=np.float64)
    elif hasattr(model, "predict_proba"):
        values = np.asarray(model.predict_proba(X), dtype=np.float64)
    else:
        values = np.asarray(model.predict(X), dtype=np.float64)
    values = values[:, -1] if values.ndim == 2 else values
    if not np.all(np.isfinite(values)):
        raise ValueError("model: scores are not finite numbers.")
    return values


def _judge(
    scores: np.ndarray, labels: np.ndarray, count: int, rng: np.random.Generator
) -> tuple[float, float]:
    """The area under the ROC curve, and its p-value over permutations of labels.

    Among equal areas the place of the observed one is drawn, so that p is uniform, and never 1.
    """
    n, m = (int(np.sum(labels == g)) for g in (0, 1))
    ranks = rankdata(scores) - 0.5 * (m + 1)  # so that the sum over Y is n m times the area
    draws = np.array([rng.permutation(ranks)[:m].sum() for _ in range(count)]) / (n * m)
    area = float(ranks[labels == 1].sum() / (n * m))
    above = int(np.sum(draws > area + _ROUNDING))
    equal = 1 + int(np.sum(np.abs(draws - area) <= _ROUNDING))
    return area, float((above + rng.uniform() * equal) / (1 + count))
