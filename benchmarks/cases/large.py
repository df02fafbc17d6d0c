"""Ridge and logistic regression with centres, of samples whose features are never stored."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..harness import MERCER, Accuracy, Case, Contest, Target

NUMPY = "NumPy, normal equations"
SINGLE = "NumPy, normal equations in single precision"
SKLEARN = "scikit-learn, Nystroem"
_BLOCK = 4000
_LENGTH = 4.0
_JITTER = 1e-7  # of the trace, without which normal equations in single precision have no factor


def _data(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Samples in single precision, and a function of five of their coordinates."""
    X = np.random.default_rng(seed).standard_normal((n, d), dtype=np.float32)
    return X, np.sin(X[:, :4].sum(axis=1)) + X[:, 0] * X[:, 1]


def _noisy(f: np.ndarray) -> np.ndarray:
    return f + 0.3 * np.random.default_rng(2).standard_normal(len(f)).astype(np.float32)


def _plan(m: int) -> Any:
    from mercer import Landmarks, Plan

    return Plan(features=Landmarks(m, choose="uniform"), storage="streamed")


def _centres(X: np.ndarray, m: int) -> np.ndarray:
    return X[np.sort(np.random.default_rng(0).choice(len(X), m, replace=False))]


def _block(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """exp(-|x - z|^2 / 2 l^2), as one writes it with NumPy."""
    D = X @ Z.T
    D *= -2
    D += np.square(X).sum(axis=1)[:, None]
    D += np.square(Z).sum(axis=1)
    D *= -0.5 / _LENGTH**2
    return np.exp(D, out=D)


def _moments(
    X: np.ndarray, Z: np.ndarray, dtype: Any, weigh: Callable[..., tuple[Any, Any]]
) -> tuple[np.ndarray, np.ndarray]:
    """K' D K and K' u; D and u of a block of rows are what ``weigh`` says of them."""
    m, Z = len(Z), Z.astype(dtype)
    A, b = np.zeros((m, m)), np.zeros(m)
    for i in range(0, len(X), _BLOCK):
        rows = slice(i, i + _BLOCK)
        K = _block(X[rows].astype(dtype), Z)
        D, u = weigh(rows, K)
        b += K.T @ u
        if D is not None:
            K *= np.sqrt(D)[:, None]
        A += K.T @ K
    return A, b


def _solve(A: np.ndarray, b: np.ndarray, dtype: Any) -> np.ndarray:
    import scipy.linalg as sla

    A.flat[:: len(A) + 1] += (_JITTER if dtype == np.float32 else 1e-15) * np.trace(A)
    return sla.solve(A, b, assume_a="pos")


def _excess(
    X: np.ndarray, Z: np.ndarray, losses: Callable[..., np.ndarray], known: float
) -> Callable[[Any], dict[str, float]]:
    """By how much objectives exceed the smallest, as a part of what that explains.

    Coefficients of all contenders are those of the same centres. All losses are computed in
    double precision.
    """

    def errors(outputs: Any) -> dict[str, float]:
        centres = Z.astype(np.float64)
        C = np.stack([np.asarray(c, np.float64) for c in outputs.values()], axis=1)
        total = np.einsum("ij,ij->j", C, _block(centres, centres) @ C)
        for i in range(0, len(X), _BLOCK):
            rows = slice(i, i + _BLOCK)
            total += losses(rows, _block(X[rows].astype(np.float64), centres) @ C).sum(axis=0)
        best = total.min()
        return dict(zip(outputs, (total - best) / (known - best), strict=True))

    return errors


# ---- squared loss --------------------------------------------------------------------------------
def ridge(n: int, d: int, m: int) -> Contest:
    """The same centres and the same objective; see :func:`_excess`."""
    from mercer import Gaussian, KernelRidge, Nystrom, Plan

    X, f = _data(n, d)
    y = _noisy(f)
    Z = _centres(X, m)

    def ours() -> np.ndarray:
        kernel = Nystrom(Gaussian(_LENGTH), Z)
        model = KernelRidge(1.0, kernel=kernel, plan=Plan(storage="streamed"), tol=1e-6)
        return model.fit(X, y).dual_coef_

    def normal_equations(dtype: Any) -> np.ndarray:
        A, b = _moments(X, Z, dtype, lambda rows, K: (None, y[rows].astype(dtype)))
        return _solve(A + _block(Z.astype(np.float64), Z.astype(np.float64)), b, dtype)

    errors = _excess(X, Z, lambda rows, F: (y[rows, None] - F) ** 2, float(y @ y))
    peers = {NUMPY: np.float64, SINGLE: np.float32}
    return Contest(
        {MERCER: ours, **{name: partial(normal_equations, t) for name, t in peers.items()}}, errors
    )


# ---- logistic loss -------------------------------------------------------------------------------
def logistic(n: int, d: int, m: int) -> Contest:
    """The same centres and the same objective; Newton's method in NumPy takes whole steps."""
    from mercer import Gaussian, KernelLogisticRegression, Nystrom, Plan

    X, f = _data(n, d)
    y = (_noisy(f) > 0).astype(np.float64)
    Z = _centres(X, m)

    def ours() -> np.ndarray:
        model = KernelLogisticRegression(
            1.0,
            kernel=Nystrom(Gaussian(_LENGTH), Z),
            fit_intercept=False,
            plan=Plan(storage="streamed"),
            tol=1e-6,
        )
        return model.fit(X, y).dual_coef_

    def newton() -> np.ndarray:
        """In double precision, until the decrement is 1e-6 per sample."""
        penalty, c = _block(Z.astype(np.float64), Z.astype(np.float64)), np.zeros(m)
        for _ in range(20):

            def weigh(rows: slice, K: np.ndarray, c: np.ndarray = c) -> tuple[Any, Any]:
                p = 1 / (1 + np.exp(-(K @ c)))
                return p * (1 - p), y[rows] - p

            A, b = _moments(X, Z, np.float64, weigh)
            g = b - penalty @ c
            step = _solve(A + penalty, g, np.float64)
            c = c + step
            if g @ step / 2 < 1e-6 * n:
                break
        return c

    def losses(rows: slice, F: np.ndarray) -> np.ndarray:
        return 2 * np.logaddexp(0, np.where(y[rows, None] > 0, -F, F))

    errors = _excess(X, Z, losses, 2 * n * np.log(2))
    return Contest({MERCER: ours, NUMPY: newton}, errors)


# ---- growth --------------------------------------------------------------------------------------
def growth(n: int, d: int, m: int, rows: int) -> Contest:
    """Samples that a function makes, chunk by chunk; the error is that of new samples."""
    from mercer import Gaussian, KernelRidge, Landmarks, Plan, stream

    new, truth = _data(10_000, d, seed=1)

    def made() -> Any:
        for i in range(0, n, rows):
            X, f = _data(min(rows, n - i), d, seed=10 + i // rows)
            yield X, _noisy(f)

    def ours() -> np.ndarray:
        plan = Plan(features=Landmarks(m, choose="uniform"))
        model = KernelRidge(1.0, kernel=Gaussian(_LENGTH), plan=plan, tol=1e-6)
        return model.fit(stream(made)).predict(new)

    def errors(outputs: Any) -> dict[str, float]:
        return {name: float(np.sqrt(np.mean((p - truth) ** 2))) for name, p in outputs.items()}

    return Contest({MERCER: ours}, errors)


# ---- against pipelines ---------------------------------------------------------------------------
def pipeline(n: int, d: int, m: int) -> Contest:
    """scikit-learn's Nystroem and Ridge, with the same kernel and penalty."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    from mercer import Gaussian, KernelRidge

    X, f = _data(n, d)
    y, (new, truth) = _noisy(f), _data(10_000, d, seed=1)

    def ours() -> np.ndarray:
        model = KernelRidge(1.0, kernel=Gaussian(_LENGTH), plan=_plan(m), tol=1e-6)
        return model.fit(X, y).predict(new)

    def theirs() -> np.ndarray:
        features = Nystroem(gamma=0.5 / _LENGTH**2, n_components=m, random_state=0)
        return make_pipeline(features, Ridge(1.0)).fit(X, y).predict(new)

    def errors(outputs: Any) -> dict[str, float]:
        return {name: float(np.sqrt(np.mean((p - truth) ** 2))) for name, p in outputs.items()}

    return Contest({MERCER: ours, SKLEARN: theirs}, errors)


_OPTIMUM = Accuracy("excess objective, relative to the explained part", 2e-6)

CASES = [
    *(
        Case(
            f"large.{name}.{m}",
            f"{name} regression with {{m:,}} centres, n={{n:,}}, d={{d}}, single precision",
            setup,
            {"n": 1_000_000, "d": 18, "m": m},
            {"n": 50_000, "d": 18, "m": 1000},
            {"n": 2_000, "d": 5, "m": 50},
            time=Target(speed=5.0),
            memory=Target(limit=3e9),
            accuracy=_OPTIMUM,
            rounds=1,
            versus={SINGLE: Target()},  # it has another optimum: no factor without a jitter
            slow=m > 1000,  # contenders one by one: python -m benchmarks.child CASE NAME full
        )
        for name, setup, m in (
            ("ridge", ridge, 5000),
            ("ridge", ridge, 1000),
            ("logistic", logistic, 5000),
            ("logistic", logistic, 1000),
        )
    ),
    *(
        Case(
            f"large.growth.{n:.0e}".replace("e+0", "e"),
            "ridge regression with {m:,} centres of n={n:,} from a function, d={d}",
            growth,
            {"n": n, "d": 18, "m": 1000, "rows": 250_000},
            {"n": n // 50, "d": 18, "m": 300, "rows": 5_000},
            {"n": 2_000, "d": 5, "m": 50, "rows": 1_000},
            memory=Target(limit=3e9),
            accuracy=Accuracy("root mean squared error of the function", 0.7),
            rounds=1,
        )
        for n in (100_000, 1_000_000, 10_000_000)
    ),
    Case(
        "large.pipeline",
        "ridge regression with {m:,} landmarks of n={n:,}, d={d}",
        pipeline,
        {"n": 500_000, "d": 18, "m": 1000},
        {"n": 50_000, "d": 18, "m": 500},
        {"n": 2_000, "d": 5, "m": 50},
        time=Target(speed=3.0),
        memory=Target(cost=0.5),
        accuracy=Accuracy("root mean squared error of the function", 0.8),
        rounds=1,
    ),
]
