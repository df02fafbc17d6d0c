"""Kernel ridge regression, mostly of Friedman's first problem: fits, folds, leave-one-out."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from ..harness import MERCER, Accuracy, Case, Contest, Target, against, each

SKLEARN, GPYTORCH = "scikit-learn", "GPyTorch"


def _friedman(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import make_friedman1

    return make_friedman1(n, n_features=10, noise=0.1, random_state=seed)


def _relative(ours: np.ndarray, theirs: np.ndarray) -> float:
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def _models(**options: Any) -> tuple[Any, Any]:
    """mercer's and scikit-learn's estimator with the same parameters."""
    from sklearn.kernel_ridge import KernelRidge as Peer

    from mercer import KernelRidge

    options = {"kernel": "rbf", "gamma": 0.1, **options}
    return KernelRidge(**options), Peer(**options)


# ---- fit -----------------------------------------------------------------------------------------
def fit(n: int) -> Contest:
    X, y = _friedman(n)
    new, _ = _friedman(500, seed=1)
    ours, theirs = _models(alpha=1.0)
    return Contest(
        {MERCER: lambda: ours.fit(X, y), SKLEARN: lambda: theirs.fit(X, y)},
        against(SKLEARN, lambda a, b: _relative(a.predict(new), b.predict(new))),
    )


def fit_large(n: int) -> Contest:
    """The error is the residual ||(K + alpha I) c - y|| / ||y||, with K computed anew."""
    from mercer import Plan

    X, y = _friedman(n)
    ours, theirs = _models(alpha=1.0)

    def residual(outputs: Any) -> dict[str, float]:
        model = outputs[MERCER]
        K = model.kernel_.gram(X, Plan(storage="tiled"))
        left = K @ model.dual_coef_ + model.alpha * model.dual_coef_ - y
        return {MERCER: float(np.linalg.norm(left) / np.linalg.norm(y))}

    return Contest({MERCER: lambda: ours.fit(X, y), SKLEARN: lambda: theirs.fit(X, y)}, residual)


def iterative(n: int, memory: str) -> Contest:
    """Data of the shape of the protein set, and K in memory that holds a fraction of it.

    Errors are residuals ||(K + alpha I) c - y|| / ||y||, with K computed anew in double precision.
    scikit-learn and GPyTorch store K in double precision; the preconditioner of the latter has 100
    columns.
    """
    from sklearn.kernel_ridge import KernelRidge as Peer

    from mercer import Gaussian, KernelRidge, Plan

    X, y = _protein_like(n)
    alpha = 0.1
    ours = KernelRidge(
        alpha, kernel=Gaussian(), tol=1e-6, solver="cg",
        plan=Plan(memory=memory, storage="tiled"), random_state=0,
    )  # fmt: skip
    theirs = Peer(alpha=alpha, kernel="rbf", gamma=0.5)

    def residual(coef: np.ndarray) -> float:
        K = Gaussian().gram(X, Plan(storage="tiled"))
        return float(np.linalg.norm(K @ coef + alpha * coef - y) / np.linalg.norm(y))

    return Contest(
        {
            MERCER: lambda: ours.fit(X, y).dual_coef_,
            SKLEARN: lambda: theirs.fit(X, y).dual_coef_,
            GPYTORCH: lambda: _gpytorch(X, y, alpha),
        },
        each(residual),
    )


def huge(n: int, memory: str) -> Contest:
    from mercer import Gaussian, KernelRidge, Plan

    X, y = _friedman(n)
    model = KernelRidge(
        1.0, kernel=Gaussian.from_gamma(1.0), tol=1e-6, solver="cg",
        plan=Plan(memory=memory, storage="tiled"), random_state=0,
    )  # fmt: skip
    return Contest(
        {MERCER: lambda: model.fit(X, y)}, each(lambda m: float(m.solution_.stats["residual"]))
    )


def _protein_like(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nine features on few directions, as measurements of one thing are, with a rough target."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((n, 5))
    X = Z @ rng.standard_normal((5, 9)) + 0.3 * rng.standard_normal((n, 9))
    X /= X.std(axis=0)
    y = np.sin(3 * X[:, 0]) + np.abs(X[:, 1]) * X[:, 2] + rng.standard_normal(n)
    return X, (y - y.mean()) / y.std()


def _gpytorch(X: np.ndarray, y: np.ndarray, alpha: float) -> np.ndarray:
    import gpytorch
    import torch
    from linear_operator import settings

    kernel = gpytorch.kernels.RBFKernel().double()
    kernel.lengthscale = 1.0
    points, rhs = torch.from_numpy(X), torch.from_numpy(y)[:, None]
    with (
        torch.no_grad(),
        settings.max_cholesky_size(0),
        settings.cg_tolerance(1e-6),
        settings.max_cg_iterations(2000),
        settings.min_preconditioning_size(1),
        settings.max_preconditioner_size(100),
    ):
        A = kernel(points).evaluate_kernel().add_diagonal(torch.tensor(alpha).double())
        return A.solve(rhs)[:, 0].numpy()


# ---- selection -----------------------------------------------------------------------------------
def cross_validation(n: int) -> Contest:
    """25 alphas by 5 folds; scikit-learn fits 125 models, and both one more on all data.

    Threads inside BLAS cost more than they bring on problems of this size when the machine is
    busy, so scikit-learn also runs without them, and in a pool of processes.
    """
    from sklearn.model_selection import GridSearchCV, KFold
    from threadpoolctl import threadpool_limits

    from mercer import KernelRidgeCV

    X, y = _friedman(n)
    alphas = np.logspace(-4, 2, 25)
    shared = {"cv": KFold(5, shuffle=True, random_state=0), "scoring": "neg_mean_squared_error"}
    ours = KernelRidgeCV(alphas, kernel="rbf", gamma=0.1, **shared)

    def search(jobs: int | None = None) -> Any:
        return GridSearchCV(_models()[1], {"alpha": alphas}, n_jobs=jobs, **shared).fit(X, y)

    def search_without_threads() -> Any:
        with threadpool_limits(1, user_api="blas"):
            return search()

    def difference(a: Any, b: Any) -> float:
        scores = "mean_test_score"
        return float(np.abs(a.cv_results_[scores] - b.cv_results_[scores]).max())

    return Contest(
        {
            MERCER: lambda: ours.fit(X, y),
            SKLEARN: search,
            f"{SKLEARN}, one BLAS thread": search_without_threads,
            f"{SKLEARN}, n_jobs=-1": lambda: search(-1),
        },
        against(SKLEARN, difference),
    )


def leave_one_out(n: int) -> Contest:
    from sklearn.model_selection import LeaveOneOut, cross_val_predict

    X, y = _friedman(n)
    ours, theirs = _models(alpha=0.01)
    refits = f"{SKLEARN}, n fits"
    return Contest(
        {
            MERCER: lambda: ours.fit(X, y).leave_one_out(),
            refits: lambda: cross_val_predict(theirs, X, y, cv=LeaveOneOut()),
        },
        against(refits, _relative),
    )


# ---- low rank ------------------------------------------------------------------------------------
def one_by_one(n: int, rank: int) -> Contest:
    """A hundred rows predicted one at a time by models of landmarks; how large these are."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    from mercer import Gaussian, KernelRidge, Plan

    X, y = _friedman(n)
    rows = [row[None] for row in _friedman(100, seed=1)[0]]
    ours = KernelRidge(1.0, kernel=Gaussian(5**0.5), plan=Plan(rank=rank)).fit(X, y)
    landmarks = Nystroem(gamma=0.1, n_components=rank, random_state=0)
    theirs = make_pipeline(landmarks, Ridge(1.0, fit_intercept=False)).fit(X, y)
    models = {MERCER: ours, SKLEARN: theirs}

    def megabytes(outputs: Any) -> dict[str, float]:
        return {name: len(pickle.dumps(models[name])) / 1e6 for name in outputs}

    def predict(model: Any) -> list[np.ndarray]:
        return [model.predict(row) for row in rows]

    return Contest(
        {MERCER: lambda: predict(ours), SKLEARN: lambda: predict(theirs)},
        megabytes,
    )


CASES = [
    Case(
        "ridge.fit",
        "KernelRidge.fit, Gaussian kernel, n={n:,}, d=10",
        fit,
        {"n": 10_000},
        {"n": 2_000},
        {"n": 200},
        time=Target(cost=0.65),
        memory=Target(cost=0.4),
        accuracy=Accuracy("relative difference of predictions", 1e-8),
    ),
    Case(
        "ridge.fit.large",
        "KernelRidge.fit, Gaussian kernel, n={n:,}, d=10",
        fit_large,
        {"n": 20_000},
        {"n": 3_000},
        {"n": 200},
        memory=Target(),
        accuracy=Accuracy("relative residual", 1e-8),
        rounds=1,
        crashes=(SKLEARN,),
    ),
    Case(
        "ridge.iterative",
        "KernelRidge.fit, Gaussian kernel, n={n:,}, d=9, K in {memory}",
        iterative,
        {"n": 12_000, "memory": "300 MB"},
        {"n": 4_000, "memory": "100 MB"},
        {"n": 300, "memory": "10 MB"},
        memory=Target(cost=0.5),
        accuracy=Accuracy("relative residual", 1e-6),
        versus={GPYTORCH: Target(speed=1.5)},
        rounds=2,
    ),
    Case(
        "ridge.huge",
        "KernelRidge.fit, Gaussian kernel, n={n:,}, d=10, K in {memory}",
        huge,
        {"n": 100_000, "memory": "1.8 GB"},
        {"n": 20_000, "memory": "200 MB"},
        {"n": 300, "memory": "10 MB"},
        memory=Target(limit=2e9),
        accuracy=Accuracy("relative residual", 1e-6),
        rounds=1,
        slow=True,
    ),
    Case(
        "ridge.cv",
        "KernelRidgeCV against GridSearchCV, 25 alphas by 5 folds, n={n:,}",
        cross_validation,
        {"n": 2_000},
        {"n": 500},
        {"n": 60},
        versus={SKLEARN: Target(speed=10.0)},  # the other two are there to be fair to it
        accuracy=Accuracy("max difference of scores", 1e-8),
        rounds=3,
    ),
    Case(
        "ridge.loo",
        "leave-one-out predictions, closed form against refits, n={n:,}",
        leave_one_out,
        {"n": 300},
        {"n": 100},
        {"n": 40},
        accuracy=Accuracy("relative difference of predictions", 1e-8),
        rounds=3,
    ),
    Case(
        "ridge.lowrank.rows",
        "100 predictions of one row each, {rank} landmarks of n={n:,}",
        one_by_one,
        {"n": 200_000, "rank": 200},
        {"n": 20_000, "rank": 200},
        {"n": 300, "rank": 20},
        time=Target(limit=0.1),
        memory=None,
        accuracy=Accuracy("megabytes of the pickled model", 2.0),
    ),
]
