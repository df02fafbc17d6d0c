"""Models with all their continuous hyper-parameters chosen by gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ..checks import check_count, check_fraction
from ..data import Data, in_double, length, take, unmasked
from ..kernels.algebra.constant import Constant
from ..kernels.algebra.sums import Product
from ..kernels.base import Kernel
from ..kernels.notation.named import as_kernel
from ..models.common import check_data, covariance
from ..randomness import as_random_state
from ..search.descent import LOGISTIC, SAMPLE, Measure, is_matrix, rows_of, search
from ..search.lengthscales import per_feature
from ..search.objective import Posed, check_names
from ..search.outcome import Candidate, Tuning, ends
from ..solvers import criteria
from ..solvers.likelihood import Labels

_SEEN = 10  # samples of the rarest class that a part of the data must have, to begin with it
_RIDGE: dict[str, Callable[..., criteria.Criterion]] = {
    "marginal_likelihood": partial(criteria.evidence, scaled=True),
    "loo": criteria.leave_one_out,
    "gcv": criteria.generalised,
}


def tune(
    model: Any,
    X: Data,
    y: Any,
    *,
    kernels: Sequence[Any] | None = None,
    by: str = "marginal_likelihood",
    ard: bool = False,
    fixed: tuple[str, ...] = (),
    n_restarts: int = 0,
    test_size: float = 0.3,
    sample_weight: Any = None,
    random_state: Any = None,
) -> Any:
    """Fit a copy of a model with all its continuous hyper-parameters optimised.

    The penalty ``alpha`` and every number in the kernel (lengthscales, weights of a sum, ...) are
    optimised together, by the gradient of the criterion. Weights of a sum of kernels are numbers in
    the kernel like any other, so this also learns how to combine columns and kinds of data.

    ============================  ===============================================================
    model                         criteria
    ============================  ===============================================================
    KernelRidge                   all four
    LSSVR, LSSVC                  marginal_likelihood, loo, gcv, all for squared errors
    KernelLogisticRegression      marginal_likelihood (Laplace), loo (approximate), validation
    GaussianProcessRegressor,     marginal_likelihood, which their ``fit`` maximises
    GaussianProcessClassifier
    ============================  ===============================================================

    Parameters
    ----------
    model : KernelRidge, KernelLogisticRegression, GaussianProcessRegressor, ...
        The model; its kernel and alpha are the starting point of the search.
    X, y : data
        Samples, and targets or labels. Single precision becomes double: the criteria tell values of
        alpha apart that are far below the rounding errors of a matrix in single precision.
    kernels : list of kernels, optional
        Kernels to try in place of that of the model; the best by the criterion is used.
    by : {"marginal_likelihood", "loo", "gcv", "validation"}
        The likelihood under a Gaussian process (for ridge regression up to a factor of its
        covariance); the error, or log loss, of leave-one-out predictions; its generalised form; or
        that on held-out samples.
    ard : bool
        Whether to give each feature its own lengthscale wherever the kernel has a common one. They
        start in proportion to the spread of the features, with the mean squared distance unchanged.
        A kernel without a lengthscale is an error, but one in ``kernels`` is tuned as it is.
    fixed : tuple of str
        Names of hyper-parameters that stay as they are: ``"alpha"`` (or ``"C"``),
        ``"kernel__lengthscale"``.
    n_restarts : int
        The number of restarts from random points, up to a factor of 100 from the first start in
        each parameter.
    test_size : float
        The part of the held-out samples for ``by="validation"``.
    sample_weight : array, optional
        Weights of the samples; those of weight 0 count as absent.
    random_state : int, RandomState or None
        Used to draw starts and parts of the data.

    Returns
    -------
    model
        Fitted to all samples, with the attribute ``tuning_`` of type :class:`Tuning`
        (GaussianProcessClassifier: a kernel for each problem, in ``kernels_``). Where there were
        several ``kernels``, ``candidates_`` lists them in their order, as pairs
        ``(kernel, value)`` of type :class:`mercer.search.outcome.Candidate`.

    Warns
    -----
    BoundWarning
        If a hyper-parameter ends on a bound of its range. Weights of a sum that go to zero,
        lengthscales of single features that reach the upper bound, and an alpha that reaches the
        lower bound cause no warning: they are listed in ``tuning_.unneeded``. But such an alpha
        causes a warning if features that share a lengthscale differ in scale by a factor of 100 or
        more: then small features matter only because alpha is tiny, noise or not.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, KernelRidge, Linear, tune
    >>> X = np.linspace(0, 6, 80)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.cos(40 * X[:, 0])
    >>> model = tune(KernelRidge(kernel=Gaussian()), X, y, by="loo")
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.99)
    True
    >>> model = tune(KernelRidge(), X, y, kernels=[Gaussian("median"), Linear()])
    >>> [round(value) for kernel, value in model.candidates_]
    [-78, 82]

    References
    ----------
    Rasmussen & Williams, *Gaussian Processes for Machine Learning*, 2006, chapter 5; Rad & Maleki,
    *A scalable estimate of the out-of-sample prediction error via approximate leave-one-out
    cross-validation*, JRSS B 2020.
    """
    check_fraction("test_size", test_size)
    check_count("n_restarts", n_restarts, 0)
    names = [base.__name__ for base in type(model).__mro__]
    refused = next((_ELSEWHERE[name] for name in names if name in _ELSEWHERE), "")
    name = next((name for name in names if name in _TUNED), "")
    if refused or not name:
        raise ValueError(
            f"tune supports {', '.join(_TUNED)}, not {names[0]}: "
            f"{refused or 'use GridSearchCV of scikit-learn'}."
        )
    criteria_of, tuned = _TUNED[name]
    if by not in criteria_of:
        raise ValueError(f"by must be one of {', '.join(criteria_of)} for {name}, got {by!r}.")
    X, y, sample_weight = in_double(X), unmasked(y, "y"), unmasked(sample_weight, "sample_weight")
    wish = _Wish(by, ard, tuple(fixed), n_restarts, test_size, sample_weight, random_state)
    if kernels is None:
        return _of_present(tuned, clone(model), X, y, wish)
    return _best_of(kernels, model, lambda each, same: _of_present(tuned, each, X, y, same), wish)


def _of_present(
    tuned: Callable[[Any, Data, Any, _Wish], Any], model: Any, X: Data, y: Any, wish: _Wish
) -> Any:
    """The tuned model of the samples whose weight is not 0."""
    weights = np.asarray(1.0 if wish.sample_weight is None else wish.sample_weight)
    present = np.flatnonzero(weights)
    if weights.shape != (length(X),) or len(present) in (0, length(X)):
        return tuned(model, X, y, wish)
    few = replace(wish, sample_weight=weights[present])
    model = tuned(model, rows_of(model.kernel, X, present), take(y, present), few)
    # new samples come with their values at all samples of a matrix of the user
    return model.fit(X, y, wish.sample_weight) if is_matrix(model.kernel) else model


def _best_of(
    kernels: Sequence[Any], model: Any, tuned: Callable[[Any, _Wish], Any], wish: _Wish
) -> Any:
    """The model with the best of several kernels, all seen on the same draws."""
    if isinstance(kernels, str | Kernel) or not len(kernels):
        raise ValueError(f"kernels must be a list of kernels with at least one, got {kernels!r}.")
    draws = as_random_state(wish.random_state).randint(2**31)
    wish = replace(wish, random_state=draws, several=len(kernels) > 1)
    best: Any = None
    candidates: list[Candidate] = []
    for kernel in kernels:
        found = tuned(clone(model).set_params(kernel=kernel), wish)
        candidate = _candidate(found)
        if all(candidate.value < earlier.value for earlier in candidates):
            best = found
        candidates.append(candidate)
    best.candidates_ = candidates
    return best


def _candidate(model: Any) -> Candidate:
    if hasattr(model, "kernels_"):
        return Candidate(model.kernels_, -model.log_marginal_likelihood_value_)
    return Candidate(model.kernel_, model.tuning_.value)


@dataclass(frozen=True)
class _Wish:
    """The request."""

    by: str
    ard: bool
    names: tuple[str, ...]
    n_restarts: int
    test_size: float
    sample_weight: Any
    random_state: Any
    several: bool = False  # is the kernel one of several?

    @property
    def fixed(self) -> tuple[str, ...]:
        """Names as the kernel has them."""
        return tuple(name.removeprefix("kernel__") for name in self.names)

    def start(self, kernel: Kernel, X: Data) -> Kernel:
        """The kernel with which a search begins."""
        if not self.ard:
            return kernel
        spread = per_feature(kernel, X)
        if len(spread.theta) == len(kernel.theta) and not self.several:
            raise ValueError(
                f"ard=True gives each feature a lengthscale, but {kernel!r} has none for several "
                f"features; use Gaussian, Laplacian, Matern or RationalQuadratic on vectors."
            )
        return spread


def _ridge(model: Any, X: Data, y: Any, wish: _Wish) -> Any:
    X, Y, weights = model._check_fit(X, y, wish.sample_weight)
    if np.ndim(model.alpha) or not model.alpha > 0:
        raise ValueError(f"the initial alpha must be one number > 0, got {model.alpha!r}.")
    kernel = wish.start(model._make_gram(X).kernel, X)
    n, rng = length(X), as_random_state(wish.random_state)
    w = np.ones(n) if weights is None else weights
    data, targets, scale = X, Y.reshape(n, -1).astype(float), 1 / w
    measure: Measure | None = _RIDGE.get(wish.by)
    if measure is None:
        order = rng.permutation(n)
        data, targets, w, scale = rows_of(kernel, X, order), targets[order], w[order], scale[order]
        train = min(max(1, round(n * (1 - wish.test_size))), n - 1)
        scale[train:] = 0.0
        measure = partial(criteria.validation, train=train)
    posed = Posed(kernel, data, targets, float(model.alpha), scale, wish.fixed)
    small = wish.by != "validation"
    found = _squared(model, posed, measure, w, wish, rng=rng, begin_small=small)
    return _fitted(model, found, X, y, wish)


def _machine(model: Any, X: Data, y: Any, wish: _Wish) -> Any:
    """Ridge regression with alpha = 1 / C and a free intercept."""
    X, Y, weights = model._check_fit(X, y, wish.sample_weight)
    if weights is not None and not weights.all():
        raise ValueError(
            "class_weight must be > 0 for every class; drop the samples of the other classes."
        )
    w = np.ones(len(Y)) if weights is None else weights
    kernel = wish.start(model._make_gram(X).kernel, X)
    fixed = tuple("alpha" if name == "C" else name for name in wish.fixed)
    posed = Posed(kernel, X, Y - Y.mean(axis=0), 1 / model.C, 1 / w, fixed)
    measure = partial(_RIDGE[wish.by], intercept=True)
    found = _squared(model, posed, measure, w, wish, rng=as_random_state(wish.random_state))
    return _fitted(model, found, X, y, wish, C=1 / found.alpha)


def _squared(
    model: Any, posed: Posed, measure: Measure, weights: np.ndarray, wish: _Wish, **options: Any
) -> Tuning:
    """A search by a likelihood, or by squared errors, which are weighted as in the fit.

    Errors are those of targets of mean square 1, for when a search ends must not depend on units.
    """
    options |= {"plan": model.plan, "n_restarts": wish.n_restarts}
    if wish.by == "marginal_likelihood":
        return search(posed, measure, **options)
    unit = float(np.sqrt(np.mean(posed.Y**2))) or 1.0
    targets = posed.Y / unit
    if np.any(weights != 1):
        targets, measure = np.column_stack([targets, weights]), partial(_weighted, measure)
    found = search(replace(posed, Y=targets), measure, **options)
    return replace(found, value=found.value * unit**2)


def _weighted(measure: Any, A: np.ndarray, Y: np.ndarray) -> criteria.Criterion:
    """A criterion of targets whose last column is the weights of the samples."""
    return measure(A, Y[:, :-1], weights=Y[:, -1])


def _logistic(model: Any, X: Data, y: Any, wish: _Wish) -> Any:
    """Only K / alpha matters: 1 / alpha is a factor of the kernel, and there is no noise."""
    X, codes, weights = model._check_labels(X, y, wish.sample_weight)
    kernel = wish.start(model._make_gram(X).kernel, X)
    check_names(wish.fixed, kernel)
    nested = {h.name: f"right__{h.name}" for h in kernel.hyperparameters()}
    rng, counts = as_random_state(wish.random_state), np.bincount(codes)
    train = held = np.ones(len(codes)) if weights is None else weights
    if wish.by == "validation":
        out = _some_of_each(codes, wish.test_size, rng)
        train, held = train * ~out, held * out
    labels, k = Labels(len(counts) > 2, model.fit_intercept), len(counts)
    measure, matrices = {
        "marginal_likelihood": (labels.evidence, 2 * k + 3),
        "loo": (labels.leave_one_out, 5 * k + 3),
        "validation": (labels.validation, 2 * k + 2),
    }[wish.by]
    product: Any = Product(Constant(1 / float(model.alpha)), kernel)
    targets, nothing = np.column_stack([codes, train, held]), np.zeros(len(codes))
    fixed = ("alpha", *((nested | {"alpha": "left__value"})[name] for name in wish.fixed))
    found = search(
        Posed(product, X, targets, 1.0, nothing, fixed),
        measure,
        n_restarts=wish.n_restarts,
        rng=rng,
        begin_small=bool(SAMPLE * counts.min() >= _SEEN * len(codes)),
        matrices=matrices,
        plan=model.plan,
    )
    product = found.kernel
    kernel, alpha = product.right, 1 / float(product.left.value)
    bounds, unneeded = ends(kernel, wish.fixed, X, alpha * LOGISTIC)
    found = replace(found, kernel=kernel, alpha=alpha, at_bounds=bounds, unneeded=unneeded)
    return _fitted(model, found, X, y, wish)


def _process(model: Any, X: Data, y: Any, wish: _Wish) -> Any:
    """A Gaussian process tunes itself in fit."""
    weights = {} if wish.sample_weight is None else {"sample_weight": wish.sample_weight}
    if weights and not has_fit_parameter(model, "sample_weight"):
        raise ValueError(
            f"{type(model).__name__} does not support sample weights; omit sample_weight."
        )
    if wish.ard:
        kernel = covariance(model.kernel)
        data = check_data(model, X, kernel, reset=True)
        model.kernel = wish.start(as_kernel(kernel, data).resolve(data), data)
    if wish.random_state is not None:
        model.random_state = wish.random_state
    restarts = wish.n_restarts or model.n_restarts_optimizer
    return model.set_params(
        optimizer="lbfgs", fixed=(*model.fixed, *wish.fixed), n_restarts_optimizer=restarts
    ).fit(X, y, **weights)


def _fitted(model: Any, found: Tuning, X: Data, y: Any, wish: _Wish, **penalty: float) -> Any:
    penalty = penalty or {"alpha": found.alpha}
    model.set_params(kernel=found.kernel, **penalty).fit(X, y, wish.sample_weight)
    found.warn()
    model.tuning_ = found
    return model


_TUNED: dict[str, tuple[tuple[str, ...], Callable[[Any, Data, Any, _Wish], Any]]] = {
    "KernelRidge": ((*_RIDGE, "validation"), _ridge),
    "LSSVR": (tuple(_RIDGE), _machine),
    "LSSVC": (tuple(_RIDGE), _machine),
    "KernelLogisticRegression": (("marginal_likelihood", "loo", "validation"), _logistic),
    "GaussianProcessRegressor": (("marginal_likelihood",), _process),
    "GaussianProcessClassifier": (("marginal_likelihood",), _process),
}
_ELSEWHERE = {
    "KernelRidgeCV": "it chooses by itself when it is fitted",
    "SVCCV": "it chooses by itself when it is fitted",
    "SVC": "use SVCCV",
    "MultiOutputKernelRidge": "tune KernelRidge on the same targets, and give it that kernel_ and "
    "alpha; output='learn' finds the matrix between outputs",
}


def _some_of_each(codes: np.ndarray, size: float, rng: np.random.RandomState) -> np.ndarray:
    """A part of the samples of every class, but never all of them, as a mask."""
    out = np.zeros(len(codes), dtype=bool)
    for code in range(codes.max() + 1):
        of_class = rng.permutation(np.flatnonzero(codes == code))
        out[of_class[: min(round(size * len(of_class)), len(of_class) - 1)]] = True
    if not out.any():
        raise ValueError('by="validation" needs a class with two samples at least; use "loo".')
    return out
