"""Common parts of estimators: checks of data of any kind, of numbers and of weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import wraps
from inspect import signature
from numbers import Real
from typing import Any, ClassVar, ParamSpec, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin
from sklearn.utils import check_array, check_consistent_length, compute_class_weight
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from ..chunks.base import Chunks
from ..data import Data, as_samples, as_vectors, holds_numbers, is_frame, length, take, unmasked
from ..engine.threads import quiet_blas
from ..frames import is_gap, matrix, opened
from ..gram.plan import Plan
from ..kernels.base import Kernel
from ..kernels.indefinite import warn_if_indefinite
from ..kernels.notation.named import as_kernel
from ..kernels.vectors.radial import Gaussian
from ..ownership import owned
from ..tensors import TakesTensors
from .declared import check_declared

_TINY = 1e-150  # whose square is 0, nearly
_LARGEST = 1e70  # of the largest weight, which is squared twice at most; the least is its inverse
SEEN = ("n_features_in_", "feature_names_in_")  # what scikit-learn remembers of X

P = ParamSpec("P")
T = TypeVar("T")


def without_masks(method: Callable[P, T]) -> Callable[P, T]:
    """A method that rejects masked entries, instead of losing the mask."""
    names = tuple(signature(method).parameters)

    @wraps(method)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        for name, value in (*zip(names, args, strict=False), *kwargs.items()):
            unmasked(value, name)
        return method(*args, **kwargs)

    return checked


class Drawn(TakesTensors):
    """Estimators that can be drawn, and show their kernel in scikit-learn's diagram."""

    def plot(self, X: Data, y: Any = None, ax: Any = None, **options: Any) -> Any:
        """The picture that suits the model: see :func:`mercer.plots.plot_model`."""
        from ..plots.models import plot_model

        return plot_model(self, X, y, ax, **options)

    def _sk_visual_block_(self) -> Any:
        from ..reports.cards import diagram

        return diagram(self)


def of_chunks(score: Callable[..., float]) -> Callable[..., float]:
    """The method ``score``, also for samples in chunks, which have their own targets and weights.

    Arguments with masked entries are rejected.
    """
    score = without_masks(score)

    @wraps(score)
    def scored(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        if isinstance(X, Chunks):
            nothing_beside_chunks(y, sample_weight)
            y, sample_weight = X.targets()
        elif y is None:
            raise ValueError("y has to be given, with one target for each sample.")
        return score(self, X, y, sample_weight)

    return scored


class Regressor(Drawn, RegressorMixin):
    """scikit-learn's mixin, with a score that rejects masks and takes chunks."""

    score = of_chunks(RegressorMixin.score)


class Classifier(Drawn, ClassifierMixin):
    """scikit-learn's mixin, with a score that rejects masks and takes chunks."""

    score = of_chunks(ClassifierMixin.score)


def all_or_nothing(fit: Callable[P, T]) -> Callable[P, T]:
    """A method that fits: it either finishes or leaves the estimator as it was.

    Whatever stops it, a rejected argument, a lack of memory or Ctrl-C, the parts of a model never
    belong to different data. So ``fit`` assigns attributes, and never writes into existing ones.
    Targets and weights with masked entries are rejected.
    """
    fit = without_masks(fit)
    y = signature(fit).parameters.get("y")
    needs_targets, begins = y is not None and y.default is y.empty, fit.__name__.startswith("fit")

    @wraps(fit)
    def whole(*args: P.args, **kwargs: P.kwargs) -> T:
        estimator: Any = args[0]
        if needs_targets and isinstance(args[-1], Chunks):  # which bring their own
            raise no_chunks(estimator)
        before = dict(vars(estimator))
        check_declared(estimator)
        plan = before.get("plan")
        try:
            if not begins:
                return fit(*args, **kwargs)
            with quiet_blas():
                if getattr(plan, "budget", None) is None:
                    return fit(*args, **kwargs)
                estimator.plan = _in_time(estimator, *args[1:], **kwargs)
                found = fit(*args, **kwargs)
            estimator.plan = plan
            return found
        except BaseException:
            estimator.__dict__ = before
            raise

    return whole


def nothing_beside_chunks(y: Any, sample_weight: Any) -> None:
    """Reject targets and weights that are given in addition to samples in chunks."""
    if y is not None or sample_weight is not None:
        raise ValueError(
            "chunks carry their own targets and weights; y and sample_weight must be None."
        )


def no_chunks(estimator: Any) -> ValueError:
    """The error of a model that needs all samples at once."""
    return ValueError(
        f"{type(estimator).__name__} does not support chunks here; KernelRidge, KernelRidgeCV, "
        "KernelMachine, KernelLogisticRegression, KernelQuantileRegressor, "
        "KernelExpectileRegressor, SVC, SVR, KernelPCA and KernelCCA can be fitted to them with "
        "plan=Plan(rank=M), and GaussianProcessRegressor with landmarks=M; for other models, use "
        "a subsample in memory."
    )


def _in_time(estimator: Any, X: Data, y: Any = None, *_: Any, **__: Any) -> Any:
    """The plan for a fit within the requested time."""
    found = estimator.forecast(X, y)
    if found.best is None:
        raise ValueError(f"plan.budget={estimator.plan.budget!r} is too short.\n{found}")
    return found.best.plan


class OutlierDetector(OutlierMixin):
    """scikit-learn's mixin, of models whose ``decision_function`` is >= 0 in a region."""

    decision_function: Any

    def predict(self, X: Data) -> np.ndarray:
        """1 inside the region, -1 outside."""
        return np.where(self.decision_function(X) >= 0, 1, -1)


class KernelEstimator(Drawn, BaseEstimator):
    """scikit-learn's base, for estimators with a ``kernel`` on samples of any kind."""

    saved_state: ClassVar[tuple[str, ...]] = SEEN
    factorises: ClassVar[bool] = True  # does a fit take n^3 operations, with K stored?
    kernel: Any

    def forecast(self, X: Data, y: Any = None, *, plan: Any = None) -> Any:
        """The time and memory that a fit would take: see :func:`mercer.models.forecast`."""
        from .costs import forecast

        return forecast(self, X, y, plan=plan)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    def _checked(self, X: Data) -> Data:
        """New samples, of a fitted model."""
        check_is_fitted(self)
        return check_data(self, X, self.kernel, reset=False)

    def _stored(self, gram: Any) -> Any:
        """The operator; an error if its features are not stored."""
        if gram.streamed:
            raise ValueError(
                f"{type(self).__name__} needs stored features; give the plan more memory, "
                f'or storage="lowrank".'
            )
        return gram

    def _as_kernel(self, X: Data, **known: Any) -> Kernel:
        """The kernel, which may be given by name, with the parameters of that name."""
        names = ("gamma", "degree", "coef0", "kernel_params")
        given = {name: getattr(self, name) for name in names if hasattr(self, name)}
        return as_kernel(self.kernel, X, **given | known)


@dataclass(eq=False, repr=False)
class KernelByName(KernelEstimator):
    """An estimator whose kernel may be a name, with parameters as in scikit-learn's KernelRidge."""

    _: KW_ONLY
    gamma: float | None = None
    degree: float = 3
    coef0: float = 1
    kernel_params: dict[str, Any] | None = None


def covariance(kernel: Any) -> Any:
    """The kernel of a Gaussian process as it was given; ``1 * Gaussian("median")`` for None."""
    return 1 * Gaussian("median") if kernel is None else kernel


def check_data(
    estimator: BaseEstimator, X: Data, kernel: Any, *, reset: bool, keep: bool = True
) -> Data:
    """X in the form the kernel needs: checked by scikit-learn if it is vectors, else by the kernel.

    With ``reset`` these are the data of a fit, and the result belongs to the model: it stays the
    same when the caller's X changes, unless the model does not ``keep`` it. An estimator may say in
    ``if_indefinite`` what an indefinite kernel means for it.
    """
    if reset:
        meaning = getattr(estimator, "if_indefinite", None)
        warn_if_indefinite(kernel, type(estimator).__name__, meaning)
    if isinstance(X, Chunks):
        raise no_chunks(estimator)
    given, X = X, as_samples(X, type(estimator).__name__)
    X = _checked(estimator, X, kernel, reset)
    return owned(X, given) if reset and keep else X


def seen_columns(estimator: Any) -> Any:
    """The names of the columns of the table that a model was fitted to; None for all else."""
    return getattr(estimator, "feature_names_in_", None)


def _checked(estimator: BaseEstimator, X: Data, kernel: Any, reset: bool) -> Data:
    function = callable(kernel) and not isinstance(kernel, Kernel)
    if isinstance(kernel, Kernel):
        vectors = on_vectors(kernel) and not _is_structured(X)
    else:
        vectors = not function or holds_numbers(X)
    if vectors:
        if isinstance(X, list) and X and not holds_numbers(X):
            as_vectors(X, f"kernel={kernel!r}")  # raises, with kernels for such data
        if is_frame(X):
            matrix(X, f"kernel={kernel!r}")  # raises where a column does not hold numbers
        X = validate_data(
            estimator, X, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32), reset=reset
        )
        return X.tocsr() if sp.issparse(X) else X
    if length(X) == 0:
        raise ValueError("X has no samples: at least one is needed.")
    ragged = not function and kernel.domain.whole.facts.ragged  # times are no features
    if is_frame(X) or sp.issparse(X) or (isinstance(X, np.ndarray) and not ragged):
        validate_data(estimator, X, skip_check_array=True, reset=reset)
    return X


def check_targets(
    estimator: BaseEstimator, X: Data, y: Any, dtype: Any = np.float64, **options: Any
) -> np.ndarray:
    """Targets or labels, one for each sample; ``options`` are those of scikit-learn's check."""
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    y = check_array(opened(y), ensure_2d=False, dtype=dtype, input_name="y", **options)
    check_consistent_length(X, y)
    return y


def check_squares(y: np.ndarray) -> None:
    """Check that squares of targets are finite, for models chosen by sums of squares."""
    if np.abs(y).max() > np.sqrt(np.finfo(float).max / len(y)):
        raise ValueError("y is so large that its square overflows; divide it by a constant.")
    if 0 < np.ptp(y, axis=0).max() < _TINY:
        raise ValueError(
            "y varies so little that its variance underflows to 0; multiply it by a constant."
        )


def check_groups(X: Data, groups: Any) -> np.ndarray:
    """The group of each sample, as a number; without groups all are in one."""
    n = length(X)
    if groups is None:
        return np.zeros(n, np.int64)
    groups = column_or_1d(opened(groups))
    if len(groups) != n:
        raise ValueError(f"groups has {len(groups)} entries, but there are {n} samples.")
    if any(map(is_gap, groups.tolist())):
        raise ValueError("groups has missing values; every sample must be in a group.")
    return np.unique(groups, return_inverse=True)[1]


def check_stream_weights(X: Data, sample_weight: Any, begun: bool) -> np.ndarray:
    """Weights, which may all be 0 in a later part of a stream."""
    if sample_weight is None or isinstance(sample_weight, Real):
        weights = np.full(length(X), 1.0 if sample_weight is None else float(sample_weight))
    else:
        options = {"ensure_2d": False, "input_name": "sample_weight", "copy": True}
        weights = check_array(sample_weight, dtype=np.float64, **options)
    if weights.shape != (length(X),):
        raise ValueError(
            f"sample_weight has shape {weights.shape}, but there are {length(X)} samples."
        )
    if np.any(weights < 0) or not (begun or np.any(weights > 0)):
        raise ValueError("sample_weight must be >= 0, and not all zero.")
    return weights


def check_class_weights(classes: np.ndarray, codes: np.ndarray, weights: np.ndarray | None) -> None:
    """Refuse classes without weight."""
    empty = np.bincount(codes, weights) == 0
    if empty.any():
        first = classes[empty].tolist()[0]
        raise ValueError(f"all samples of class {first!r} have weight 0; drop them.")


def check_factors(factors: np.ndarray, class_weight: Any) -> np.ndarray:
    """The weights of classes by ``class_weight``; an error if they are invalid."""
    if not np.all((factors >= 0) & np.isfinite(factors)):
        raise ValueError(f"class_weight must be >= 0 and finite, got {class_weight!r}.")
    return factors


def check_weights(sample_weight: Any, y: np.ndarray, class_weight: Any = None) -> np.ndarray | None:
    """Weights of samples times those of their classes; None if all are 1.

    ``"balanced"`` gives all classes the same total of the weights of their samples.
    """
    weights = np.ones(len(y))
    if sample_weight is not None:
        weights = owned(_check_sample_weight(sample_weight, y, dtype=np.float64), sample_weight)
        if np.any(weights < 0) or not np.any(weights > 0):
            raise ValueError("sample_weight must be >= 0, and not all zero.")
        largest = float(weights.max())
        if not 1 / _LARGEST < largest < _LARGEST:
            raise ValueError(
                f"sample_weight reaches {largest:.0e}, and products of weights are no numbers; "
                f"multiply all by a constant."
            )
    if class_weight is not None:
        classes, codes = np.unique(y, return_inverse=True)
        if isinstance(class_weight, str) and class_weight == "balanced":
            totals = np.bincount(codes, weights)
            factors = weights.sum() / (len(classes) * np.where(totals > 0, totals, np.inf))
        else:
            factors = compute_class_weight(class_weight, classes=classes, y=y)
        weights = weights * check_factors(factors, class_weight)[codes]
    return None if np.all(weights == 1) else weights


def by_features(plan: Plan, kernel: Kernel, X: Data, solver: str) -> Plan:
    """The plan for a solver that needs K as a product of features; an error if it is not one."""
    found = kernel.resolve(X)
    if plan.few is None and found.n_features(found.prepare(take(X, slice(0, 1)))) is None:
        raise ValueError(
            f"solver={solver!r} needs a kernel with features, but {found!r} has none; approximate "
            "it, for example with plan=Plan(features=Landmarks(1000)), or use another solver."
        )
    if plan.storage not in ("auto", "lowrank"):
        raise ValueError(
            f"solver={solver!r} needs K as a product of features, which storage={plan.storage!r} "
            f'excludes; use storage="lowrank".'
        )
    return plan.replace(storage="lowrank")


def on_vectors(kernel: Kernel) -> bool:
    """Does the kernel work on rows of an (n, d) array of numbers?"""
    domain = kernel.domain.whole
    return domain.facts.numeric or domain.kind == "everything"


def _is_structured(X: Data) -> bool:
    """Is X a table with named columns, a list of strings or the like, which the kernel checks?"""
    return is_frame(X) or (isinstance(X, list) and bool(X) and isinstance(X[0], str | bytes | dict))
