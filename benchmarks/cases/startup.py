"""What every script pays: imports, and first answers with loops compiled before or not."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable

from ..harness import MERCER, Case, Contest, Target


def _python(code: str) -> Callable[[], None]:
    def call() -> None:
        subprocess.run([sys.executable, "-c", code], check=True)

    return call


def _package() -> Contest:
    return Contest({MERCER: _python("import mercer")})


def _estimator() -> Contest:
    return Contest(
        {
            MERCER: _python("from mercer import Gaussian, KernelRidge"),
            "scikit-learn": _python("from sklearn.kernel_ridge import KernelRidge"),
        }
    )


_ANSWERS = {  # ours, scikit-learn's, and the seconds promised where nothing is compiled
    "ridge": (
        "from mercer import KernelRidge; KernelRidge(kernel='rbf').fit(X, y).predict(X)",
        "from sklearn.kernel_ridge import KernelRidge as K; K(kernel='rbf').fit(X, y).predict(X)",
        3.0,
    ),
    "svc": (
        "from mercer import SVC; SVC().fit(X, c).predict(X)",
        "from sklearn.svm import SVC; SVC().fit(X, c).predict(X)",
        4.0,
    ),
    "pca": (
        "from mercer import KernelPCA; KernelPCA(2, kernel='rbf').fit_transform(X)",
        "from sklearn.decomposition import KernelPCA; KernelPCA(2, kernel='rbf').fit_transform(X)",
        3.0,
    ),
    "gp": (
        "from mercer import GaussianProcessRegressor as G; G().fit(X, y).predict(X)",
        "from sklearn.gaussian_process import GaussianProcessRegressor as G;"
        "G().fit(X, y).predict(X)",
        3.0,
    ),
    "strings": ("from mercer import Mismatch; Mismatch()(S)", None, 3.0),
    "series": ("from mercer import GlobalAlignment; GlobalAlignment()(T)", None, 3.0),
    "trees": ("from mercer import SubsetTree; SubsetTree()(U)", None, 3.0),
}


def _first(answer: str, cold: bool, n: int) -> Contest:
    """A fresh interpreter imports, makes n samples, fits and predicts.

    ``cold`` finds nothing compiled. Else the first, unmeasured call has compiled what is needed.
    """
    ours, theirs, _ = _ANSWERS[answer]
    data = (
        "import numpy as np; rng = np.random.default_rng(0);"
        f"X = rng.standard_normal(({n}, 5)); y = X[:, 0] + 0.1 * rng.standard_normal({n});"
        "c = y > 0;"
        f"S = [''.join(rng.choice(list('ACGT'), 40)) for _ in range({n})];"
        f"T = [rng.standard_normal((30, 2)) for _ in range({n})];"
        f"U = ['(S (NP (D a) (N b)) (VP (V c) (NP (D d) (N e))))', '(S (NP b) (VP c))']"
        f" * ({n} // 2);"
    )

    def mercer() -> None:
        with tempfile.TemporaryDirectory() as folder:
            place = {"NUMBA_CACHE_DIR": folder} if cold else {}
            code = data + ours
            subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, **place})

    return Contest({MERCER: mercer} | ({"scikit-learn": _python(data + theirs)} if theirs else {}))


def _answer(name: str, cold: bool) -> Case:
    _, theirs, seconds = _ANSWERS[name]
    warm = Target(cost=1.3) if theirs else Target()
    job = {"answer": name, "cold": cold}
    return Case(
        f"first.{name}.{'cold' if cold else 'warm'}",
        f"a fresh interpreter imports, fits and predicts {{n}} samples ({name}), loops "
        + ("not compiled yet" if cold else "compiled before"),
        _first,
        full={**job, "n": 200},
        quick={**job, "n": 50},
        tiny={**job, "n": 10},
        time=Target(limit=seconds) if cold else warm,
        rounds=3,
    )


CASES = [
    *(_answer(name, cold) for name in _ANSWERS for cold in (True, False)),
    Case(
        "import",
        'python -c "import mercer", interpreter included',
        _package,
        time=Target(limit=0.5),
    ),
    Case("import.ridge", "a fresh interpreter imports KernelRidge", _estimator),
]
