"""Support vector machines beside LIBSVM (in scikit-learn) and oneDAL (scikit-learn-intelex).

All contenders have the same kernel, tolerance and cache. A fit is judged by its dual objective,
computed anew from the coefficients; predictions by how many of them agree.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from .. import svm_dual
from ..harness import MERCER, Accuracy, Case, Contest, Group, Target, against
from ..svm_data import Problem, fifth, load, rows

SKLEARN, INTELEX = "scikit-learn", "scikit-learn-intelex"
_MODULES = {MERCER: "mercer", SKLEARN: "sklearn.svm", INTELEX: "sklearnex.svm"}
ALL = tuple(_MODULES)
CACHE = 2000  # MB
LARGE = 30_000  # rows from which LIBSVM takes minutes

# the latest models, so that a predict case need not repeat the fits of the case before it
_fitted: dict[tuple, Any] = {}
_KEPT = 2 * len(ALL)  # tiny ones, and those that are measured


# ---- contests ------------------------------------------------------------------------------------
def fit(data: str, model: str = "SVC", names: tuple[str, ...] = ALL, **options: Any) -> Contest:
    """Errors: by how much the dual objective falls short of the best one found."""
    calls = {name: partial(_fit, name, data, model, **options) for name in names}
    return Contest(calls, svm_dual.shortfall(_dual(load(data), model, **options)))


def fit_large(data: str, C: float, names: tuple[str, ...], **options: Any) -> Contest:
    """Errors: the duality gap, which needs no peer."""
    problem = load(data)
    calls = {name: partial(_fit, name, data, "SVC", C=C, **options) for name in names}
    return Contest(calls, svm_dual.gap(problem, svm_dual.gaussian(problem.gamma), C))


def predict(data: str, model: str = "SVC", names: tuple[str, ...] = ALL, **options: Any) -> Contest:
    """Errors: the share of predictions that differ; in regression, their relative difference."""
    new = load(data).new
    calls = {name: _prediction(new, name, data, model, **options) for name in names}
    peer = SKLEARN if SKLEARN in names else INTELEX
    return Contest(calls, against(peer, _distance if model == "SVR" else _disagreement))


def cache(data: str, small: int, **options: Any) -> Contest:
    """A small cache against the usual one."""
    calls = {
        MERCER: partial(_fit, MERCER, data, "SVC", cache_size=small, **options),
        f"mercer, {CACHE:,} MB": partial(_fit, MERCER, data, "SVC", **options),
    }
    return Contest(calls, svm_dual.shortfall(_dual(load(data), "SVC", **options)))


def grid(data: str) -> Contest:
    """Five C, five gamma, five folds; errors: how far mean scores are apart."""
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.svm import SVC

    import mercer

    problem = load(data)
    Cs = [0.1, 1.0, 10.0, 100.0, 1000.0]
    gammas = [problem.gamma * factor for factor in (0.1, 0.3, 1.0, 3.0, 10.0)]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    ours = mercer.SVCCV(Cs=Cs, param_grid={"gamma": gammas}, cv=folds, test_size=0)
    theirs = GridSearchCV(SVC(), {"C": Cs, "gamma": gammas}, cv=folds, n_jobs=2)

    def scores(model: Any) -> dict[tuple, float]:
        found = model.cv_results_
        means = zip(found["params"], found["mean_test_score"], strict=True)
        return {(p["C"], p["gamma"]): float(score) for p, score in means}

    def distance(a: Any, b: Any) -> float:
        mine, other = scores(a), scores(b)
        return max(abs(mine[key] - other[key]) for key in other)

    calls = {
        MERCER: lambda: ours.fit(problem.X, problem.y),
        f"{SKLEARN}, n_jobs=2": lambda: theirs.fit(problem.X, problem.y),
    }
    return Contest(calls, against(f"{SKLEARN}, n_jobs=2", distance))


def growth(data: str, C: float) -> Contest:
    """An eighth, a quarter, half and all of the rows; errors: by how much the exponent is larger.

    The exponent is the slope of the logarithm of CPU time along that of the number of rows: what
    else the machine does shows less in it than in seconds on the clock.
    """
    problem = load(data)
    n = len(problem.X)

    def costs(name: str) -> dict[int, float]:
        return {n // part: _cost(name, problem, n // part, part, C=C) for part in (8, 4, 2, 1)}

    def exponent(costs: dict[int, float]) -> float:
        return float(np.polyfit(np.log(list(costs)), np.log(list(costs.values())), 1)[0])

    calls = {name: partial(costs, name) for name in (MERCER, SKLEARN)}
    return Contest(calls, against(SKLEARN, lambda a, b: exponent(a) - exponent(b)))


def _cost(name: str, problem: Problem, n: int, rounds: int, **options: Any) -> float:
    """The least CPU time, over several rounds, of a fit to the first n rows."""
    SVC = import_module(_MODULES[name]).SVC
    found = []
    for _ in range(rounds):
        made = SVC(gamma=problem.gamma, cache_size=CACHE, **options)
        start = time.process_time()
        made.fit(problem.X[:n], problem.y[:n])
        found.append(time.process_time() - start)
    return min(found)


# ---- models --------------------------------------------------------------------------------------
def _fit(name: str, data: str, model: str, **options: Any) -> Any:
    problem = load(data)
    settings = {"gamma": problem.gamma, "cache_size": CACHE, "tol": 1e-3, **options}
    made = getattr(import_module(_MODULES[name]), model)(**settings)
    made.fit(problem.X, problem.y)
    _fitted[_key(name, data, model, **options)] = made
    for key in list(_fitted)[:-_KEPT]:
        del _fitted[key]
    return made


def _key(*what: str, **options: Any) -> tuple:
    return *what, *sorted(options.items())


def _prediction(new: np.ndarray, *what: str, **options: Any) -> Callable[[], np.ndarray]:
    """The prediction of a model that is fitted now, if it is not at hand and can be imported."""
    try:
        made = _fitted.get(_key(*what, **options)) or _fit(*what, **options)
    except ImportError as error:
        return partial(_raise, error)  # to the harness, which tells a missing peer by it
    return partial(made.predict, new)


def _raise(error: ImportError) -> np.ndarray:
    raise error


def _dual(
    problem: Problem,
    model: str,
    *,
    kernel: str = "rbf",
    degree: int = 3,
    coef0: float = 0.0,
    C: float = 1.0,
    nu: float = 0.5,
    epsilon: float = 0.1,
    tol: float = 1e-3,
) -> svm_dual.Dual:
    """The dual objective of a model with these options, which are scikit-learn's defaults."""
    k = svm_dual.gaussian(problem.gamma)
    if kernel == "poly":
        k = svm_dual.polynomial(problem.gamma, degree, coef0)
    duals: dict[str, Callable[[], svm_dual.Dual]] = {
        "SVC": lambda: svm_dual.classification(problem, k, C),
        "SVR": lambda: svm_dual.regression(problem, k, C, epsilon),
        "NuSVC": lambda: svm_dual.nu_form(problem, k, nu, balanced=True),
        "OneClassSVM": lambda: svm_dual.nu_form(problem, k, nu, balanced=False),
    }
    return duals[model]()


def _disagreement(ours: np.ndarray, theirs: np.ndarray) -> float:
    return float(np.mean(ours != theirs))


def _distance(ours: np.ndarray, theirs: np.ndarray) -> float:
    return float(np.linalg.norm(ours - theirs) / np.linalg.norm(theirs - theirs.mean()))


# ---- what is promised ----------------------------------------------------------------------------
# of each row, and of their means
_ROW = {SKLEARN: Target(speed=1.0), INTELEX: Target(speed=0.9)}
FIT = Group("SVM fit", {SKLEARN: 8.0, INTELEX: 2.5})
FIT_SMALL = Group("SVM fit, n < 30,000", within=FIT)
FIT_LARGE = Group("SVM fit, n ≥ 30,000", {SKLEARN: 12.0, INTELEX: 2.5}, within=FIT)
PREDICT = Group("SVM predict", {SKLEARN: 10.0, INTELEX: 1.0})

_OBJECTIVE = Accuracy("relative shortfall of the dual objective", 1e-6)
_AGREEMENT = Accuracy("share of predictions that differ", 1e-3)
_CLOSENESS = Accuracy("relative difference of predictions", 1e-3)

# More than 1,000 rows for each pair of classes: mercer keeps fewer in double precision. At so few
# rows the usual tolerance leaves objectives apart, so it is smaller.
_TINY = {"data": "mc:1200:4", "tol": 1e-5}
_TINY_CLASSES = {"data": "mc:1800:4:3", "tol": 1e-5}
_TINY_REGRESSION = {"data": "fr:1200:5", "tol": 1e-5}


def _pair(
    job: str, title: str, sizes: dict[str, Any], slow: bool = False, **how: Any
) -> list[Case]:
    """Fit and predict; ``how`` are arguments of both contests."""
    n, regression = rows(sizes["full"]["data"]), how.get("model") == "SVR"
    shared = {**sizes, "versus": _versus(how.get("names", ALL)), "slow": slow}
    return [
        Case(
            f"svm.fit.{job}",
            title.format("fit"),
            partial(fit, **how),
            accuracy=_OBJECTIVE,
            rounds=5 if n < 5000 else 3,
            group=FIT_SMALL if n < LARGE else FIT_LARGE,
            **shared,
        ),
        Case(
            f"svm.predict.{job}",
            title.format("predict"),
            partial(predict, **how),
            accuracy=_CLOSENESS if regression else _AGREEMENT,
            group=PREDICT,
            **shared,
        ),
    ]


def _gap(C: float) -> Accuracy:
    """The tolerance allows every sample, also those that settled at zero, a loss of C tol."""
    return Accuracy("relative duality gap", 1e-3 * C)


def _versus(names: tuple[str, ...]) -> dict[str, Target]:
    return {name: target for name, target in _ROW.items() if name in names}


def _sizes(data: str, tiny: dict[str, Any], **numbers: float) -> dict[str, Any]:
    """The sizes of a case, with the same numbers in all of them."""
    sizes = {"full": {"data": data}, "quick": {"data": fifth(data)}, "tiny": tiny}
    return {size: {**what, **numbers} for size, what in sizes.items()}


# ---- the grid ------------------------------------------------------------------------------------
_TWO_CLASSES = (
    *(f"mc:{n}:{d}" for n, d in ((2000, 50), (10000, 10), (10000, 50), (10000, 200))),
    *("mc:30000:10", "mc:30000:50", "a9a:32561", "ijcnn1:49990"),
)
_MANY_CLASSES = ("letter:16000", "usps:7291", "mnist:10000", "covtype_20k:15000")
_WORDS = "SVC {}, Gaussian kernel, {{data}}, C={{C:g}}"

CASES = [
    case
    for data in (*_TWO_CLASSES, *_MANY_CLASSES)
    for C in (1.0, 10.0, 100.0)
    for case in _pair(
        f"{data.replace(':', '-')}.c{C:g}",
        _WORDS,
        _sizes(data, _TINY if data in _TWO_CLASSES else _TINY_CLASSES, C=C),
        slow=rows(data) >= LARGE and C > 1,
    )
]

# ---- the rest of the family ----------------------------------------------------------------------
CASES += [
    *_pair(
        "poly3",
        "SVC {}, polynomial kernel of degree 3, {{data}}, C={{C:g}}",
        _sizes("mc:10000:50", _TINY, C=1.0),
        kernel="poly",
        degree=3,
        coef0=1.0,
    ),
    *_pair(
        "nu",
        "NuSVC {}, {{data}}, nu={{nu:g}}",
        _sizes("mc:10000:50", _TINY, nu=0.3),
        model="NuSVC",
    ),
    *_pair(
        "oneclass",  # scikit-learn-intelex has none
        "OneClassSVM {}, {{data}}, nu={{nu:g}}",
        _sizes("mc:10000:50", _TINY, nu=0.1),
        model="OneClassSVM",
        names=(MERCER, SKLEARN),
    ),
]
for _data, _C in (("fr:10000:10", 1.0), ("kin40k:10000", 10.0)):
    CASES += _pair(
        f"svr.{_data.partition(':')[0]}",
        "SVR {}, {{data}}, C={{C:g}}",
        _sizes(_data, _TINY_REGRESSION, C=_C),
        model="SVR",
    )

# ---- large problems, and little memory -----------------------------------------------------------
# under 4 GB in all: 600 MB are left to the interpreter and the data
_MEMORY = Target(limit=3.4e9)

CASES += [
    Case(
        "svm.large.ijcnn1",
        _WORDS.format("fit"),
        partial(fit_large, names=(MERCER,)),
        memory=_MEMORY,
        accuracy=_gap(1.0),
        rounds=1,
        **_sizes("ijcnn1:141691", _TINY, C=1.0),
    )
]
for _C in (1.0, 10.0, 100.0):
    _names = (MERCER, INTELEX)  # LIBSVM takes too long
    _shared = _sizes("mnist:60000", _TINY_CLASSES, C=_C)
    _shared |= {"versus": _versus(_names), "slow": _C != 10}
    CASES += [
        Case(
            f"svm.large.mnist.c{_C:g}",
            _WORDS.format("fit"),
            partial(fit_large, names=_names),
            memory=_MEMORY,
            accuracy=_gap(_C),
            rounds=1,
            group=FIT_LARGE,
            **_shared,
        ),
        Case(
            f"svm.large.mnist.predict.c{_C:g}",
            _WORDS.format("predict"),
            partial(predict, names=_names),
            accuracy=_AGREEMENT,
            group=PREDICT,
            **_shared,
        ),
    ]
CASES += [
    Case(
        "svm.grid",
        "SVC, 5 C x 5 gamma x 5 folds, {data}",
        grid,
        {"data": "mc:2000:50"},
        {"data": "mc:400:50"},
        {"data": "mc:120:4"},
        time=Target(speed=3.0),
        accuracy=Accuracy("difference of the mean scores", 2e-3),
        rounds=3,
    ),
    Case(
        "svm.growth",
        "SVC fit, Gaussian kernel, {data} and half, a quarter, an eighth of it, C={C:g}",
        growth,
        versus=_versus((MERCER, SKLEARN)),
        accuracy=Accuracy("exponent of n in CPU time minus scikit-learn's", 0.0, from_times=True),
        rounds=1,
        **_sizes("mc:20000:50", {"data": "mc:2400:4"}, C=1.0),
    ),
    Case(
        "svm.cache",
        "SVC fit, Gaussian kernel, {data}, C=1, cache {small} MB against 2 GB",
        cache,
        {"data": "mc:30000:50", "small": 200},
        {"data": "mc:6000:50", "small": 8},
        {**_TINY, "small": 1},
        time=Target(cost=3.0),
        accuracy=_OBJECTIVE,
        rounds=3,
    ),
]
