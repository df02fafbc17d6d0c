"""Ridge and logistic regression through centres, of samples whose features are never stored."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..harness import MERCER, Accuracy, Case, Contest, Target

NUMPY = "NumPy, normal equations"
NEWTON = "NumPy, Newton-CG"
SKLEARN = "scikit-learn, Nystroem"
_BLOCK = 4000
_LENGTH = 4.0


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


# ---- squared loss --------------------------------------------------------------------------------
def ridge(n: int, d: int, m: int) -> Contest:
    """The error is the root mean squared distance from the true function, on new samples."""
    import scipy.linalg as sla

    from mercer import Gaussian, KernelRidge

    X, f = _data(n, d)
    y, (new, truth) = _noisy(f), _data(10_000, d, seed=1)

    def ours() -> np.ndarray:
        model = KernelRidge(1.0, kernel=Gaussian(_LENGTH), plan=_plan(m), tol=1e-6)
        return model.fit(X, y).predict(new)

    def normal_equations() -> np.ndarray:
        Z = _centres(X, m)
        A, b = _block(Z, Z).astype(np.float64), np.zeros(m)
        for i in range(0, n, _BLOCK):
            K = _block(X[i : i + _BLOCK], Z)
            A += K.T @ K
            b += K.T @ y[i : i + _BLOCK]
        A.flat[:: m + 1] += 1e-7 * np.trace(A)  # single precision leaves no factor otherwise
        return _block(new, Z) @ sla.solve(A, b, assume_a="pos")

    def errors(outputs: Any) -> dict[str, float]:
        return {name: float(np.sqrt(np.mean((p - truth) ** 2))) for name, p in outputs.items()}

    return Contest({MERCER: ours, NUMPY: normal_equations}, errors)


# ---- logistic loss -------------------------------------------------------------------------------
def logistic(n: int, d: int, m: int) -> Contest:
    """The error is the mean log loss on new samples."""
    from mercer import Gaussian, KernelLogisticRegression

    X, f = _data(n, d)
    y = (_noisy(f) > 0).astype(np.float32)
    new, truth = _data(10_000, d, seed=1)
    labels = truth > 0

    def ours() -> np.ndarray:
        model = KernelLogisticRegression(
            1.0, kernel=Gaussian(_LENGTH), fit_intercept=False, plan=_plan(m), tol=1e-5
        )
        return model.fit(X, y).decision_function(new)

    def newton() -> np.ndarray:
        """Stored blocks of K, ten Newton steps of at most thirty of conjugate gradients."""
        Z = _centres(X, m)
        blocks = [_block(X[i : i + _BLOCK], Z) for i in range(0, n, _BLOCK)]
        parts = np.array_split(y, np.arange(_BLOCK, n, _BLOCK))
        penalty, c = _block(Z, Z).astype(np.float64), np.zeros(m)
        for _ in range(10):
            F = [K @ c.astype(np.float32) for K in blocks]
            p = [1 / (1 + np.exp(-f)) for f in F]
            g = sum(K.T @ (q - t) for K, q, t in zip(blocks, p, parts, strict=True)) + penalty @ c
            x, r = np.zeros(m), -g
            s, left = r.copy(), r @ r
            for _ in range(30):
                v = s.astype(np.float32)
                Hs = penalty @ s + sum(
                    K.T @ (q * (1 - q) * (K @ v)) for K, q in zip(blocks, p, strict=True)
                )
                step = left / (s @ Hs)
                x, r = x + step * s, r - step * Hs
                old, left = left, r @ r
                s = r + left / old * s
            c = c + x
            if np.linalg.norm(x) < 1e-3 * np.linalg.norm(c):
                break
        return _block(new, Z) @ c

    def errors(outputs: Any) -> dict[str, float]:
        sign = np.where(labels, -1.0, 1.0)
        return {name: float(np.mean(np.logaddexp(0, sign * f))) for name, f in outputs.items()}

    return Contest({MERCER: ours, NEWTON: newton}, errors)


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


CASES = [
    Case(
        "large.ridge",
        "ridge regression through {m:,} centres, n={n:,}, d={d}, single precision",
        ridge,
        {"n": 1_000_000, "d": 18, "m": 5000},
        {"n": 50_000, "d": 18, "m": 1000},
        {"n": 2_000, "d": 5, "m": 50},
        time=Target(speed=5.0),
        memory=Target(limit=3e9),
        accuracy=Accuracy("root mean squared error of the function", 0.7),
        rounds=1,
    ),
    Case(
        "large.logistic",
        "logistic regression through {m:,} centres, n={n:,}, d={d}, single precision",
        logistic,
        {"n": 200_000, "d": 18, "m": 2000},
        {"n": 20_000, "d": 18, "m": 500},
        {"n": 2_000, "d": 5, "m": 50},
        time=Target(speed=5.0),
        memory=Target(limit=3e9),
        accuracy=Accuracy("mean log loss", 0.6),
        rounds=1,
    ),
    Case(
        "large.pipeline",
        "ridge regression through {m:,} landmarks of n={n:,}, d={d}",
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
