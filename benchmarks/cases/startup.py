"""Import time: what every script and every command of the shell pays."""

from __future__ import annotations

import subprocess
import sys
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


CASES = [
    Case(
        "import",
        'python -c "import mercer", interpreter included',
        _package,
        time=Target(limit=0.5),
    ),
    Case("import.ridge", "a fresh interpreter imports KernelRidge", _estimator),
]
