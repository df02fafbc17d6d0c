"""Kernel canonical correlation analysis of two views with 10 columns each, five of them related.

The dense peer solves the same generalised eigenproblem as a whole, 2n x 2n, with SciPy. cca-zoo
weighs its penalty differently, so its correlations are not compared.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..harness import MERCER, Accuracy, Case, Contest, Target

DENSE = "SciPy, dense"
ZOO = "cca-zoo"
SKLEARN = "scikit-learn, Nystroem and CCA"
_GAMMA, _LAMBDA, _COMPONENTS = 0.05, 0.02, 5


def _views(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 5))
    X = np.hstack([hidden, rng.normal(size=(n, 5))])
    Y = np.hstack([np.sin(2 * hidden[:, :3]), hidden[:, 3:] ** 2, rng.normal(size=(n, 5))])
    return X, Y + 0.1 * rng.normal(size=Y.shape)


def _dense(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """The largest eigenvalues of [[0, KL], [LK, 0]] z = rho diag((K + nrI/2)^2, ...) z."""
    import scipy.linalg as sla
    from sklearn.metrics.pairwise import rbf_kernel
    from sklearn.preprocessing import KernelCenterer

    n = len(X)
    K, L = (KernelCenterer().fit_transform(rbf_kernel(V, gamma=_GAMMA)) for V in (X, Y))
    A, B = np.zeros((2, 2 * n, 2 * n))
    A[:n, n:] = K @ L
    A[n:, :n] = A[:n, n:].T
    for part, G in ((slice(0, n), K), (slice(n, 2 * n), L)):
        G.flat[:: n + 1] += n * _LAMBDA / 2
        B[part, part] = G @ G
    top = (2 * n - _COMPONENTS, 2 * n - 1)
    return sla.eigh(A, B, subset_by_index=top)[0][::-1]


def exact(n: int) -> Contest:
    from mercer import Gaussian, KernelCCA

    X, Y = _views(n)
    model = KernelCCA(
        _COMPONENTS,
        kernels=Gaussian.from_gamma(_GAMMA),
        regularization=_LAMBDA,
        form="squared",
        rank=None,
    )

    def zoo() -> Any:  # its penalty is on another scale: only the time is compared
        from cca_zoo.nonparametric import KCCA

        return KCCA(_COMPONENTS, kernel="rbf", gamma=_GAMMA, shrinkage=_LAMBDA).fit([X, Y])

    def errors(outputs: Mapping[str, Any]) -> dict[str, float]:
        if DENSE not in outputs:
            return {}
        return {MERCER: float(np.abs(outputs[MERCER].correlations_ - outputs[DENSE]).max())}

    return Contest({MERCER: lambda: model.fit(X, Y), ZOO: zoo, DENSE: lambda: _dense(X, Y)}, errors)


def low_rank(n: int, rank: int) -> Contest:
    """The errors are what the mean correlation on 2,000 new samples lacks of the best one."""
    from mercer import Gaussian, KernelCCA

    X, Y = _views(n)
    new = _views(2000, seed=1)
    model = KernelCCA(
        _COMPONENTS,
        kernels=Gaussian.from_gamma(_GAMMA),
        regularization=1e-5,
        rank=rank,
        random_state=0,
    )

    def fit() -> Any:
        return model.fit(X, Y).transform(*new)

    def theirs() -> Any:
        from sklearn.cross_decomposition import CCA
        from sklearn.kernel_approximation import Nystroem

        maps = [Nystroem(gamma=_GAMMA, n_components=rank, random_state=i).fit(V)
                for i, V in enumerate((X, Y))]  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # iterations that do not converge
            cca = CCA(_COMPONENTS).fit(maps[0].transform(X), maps[1].transform(Y))
        return cca.transform(maps[0].transform(new[0]), maps[1].transform(new[1]))

    def shortfall(outputs: Mapping[str, Any]) -> dict[str, float]:
        found = {
            name: np.mean([np.corrcoef(a[:, c], b[:, c])[0, 1] for c in range(_COMPONENTS)])
            for name, (a, b) in outputs.items()
        }
        return {name: float(max(found.values()) - value) for name, value in found.items()}

    return Contest({MERCER: fit, SKLEARN: theirs}, shortfall)


CASES = [
    Case(
        "cca.fit",
        "KernelCCA.fit, exact, two views of 10 columns, n={n:,}, 5 components",
        exact,
        {"n": 1500},
        {"n": 600},
        {"n": 60},
        time=Target(limit=0.3),
        memory=Target(),
        accuracy=Accuracy("largest difference of correlations", 1e-8),
        versus={ZOO: Target(speed=20.0)},
        rounds=3,
    ),
    Case(
        "cca.rank",
        "KernelCCA of rank {rank}, two views of 10 columns, n={n:,}, 5 components",
        low_rank,
        {"n": 20_000, "rank": 500},
        {"n": 2_000, "rank": 100},
        {"n": 1_000, "rank": 100},
        memory=Target(),
        accuracy=Accuracy("shortfall of the correlation on new samples", 0.1),
        rounds=2,
    ),
]
