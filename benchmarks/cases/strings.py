"""String kernels on random DNA and proteins of 100 to 300 letters.

scikit-learn's ``CountVectorizer`` with a sparse product is the strongest public way to a spectrum
kernel, and strkernels has the subsequence kernel. FastSK, for inexact k-mers, cannot be installed
with Python 3.11: the limit for gapped k-mers is below what it took on the machine of the first
table (8.3 seconds on two cores, 16.1 seconds of processor time).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..harness import MERCER, Accuracy, Case, Contest, Target, against

SKLEARN, STRKERNELS = "scikit-learn", "strkernels"
DNA, PROTEIN = "ACGT", "ACDEFGHIKLMNPQRSTVWY"
_CHECKED = 20  # rows of which features are multiplied, as a check


def _strings(n: int, letters: str, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    symbols = np.frombuffer(letters.encode(), np.uint8)
    return [rng.choice(symbols, rng.integers(100, 301)).tobytes().decode() for _ in range(n)]


def spectrum(n: int, k: int, letters: str) -> Contest:
    """From strings to the dense matrix."""
    from sklearn.feature_extraction.text import CountVectorizer

    from mercer import Spectrum

    X = _strings(n, letters)
    vectorizer = CountVectorizer(analyzer="char", ngram_range=(k, k), lowercase=False)

    def peer() -> np.ndarray:
        phi = vectorizer.fit_transform(X).astype(np.float64)
        return (phi @ phi.T).toarray()

    return Contest(
        {MERCER: lambda: Spectrum(k)(X), SKLEARN: peer},
        against(SKLEARN, lambda a, b: float(np.abs(a - b).max())),
    )


def inexact(n: int, letters: str, kernel: str, **parameters: int) -> Contest:
    """Errors: of the first rows, against products of explicit features."""
    import mercer
    from mercer.features.sparse import sparse_block

    X = _strings(n, letters)
    k = getattr(mercer, kernel)(**parameters).resolve(X)

    def errors(outputs: Any) -> dict[str, float]:
        some = k.prepare(X[:_CHECKED])
        phi = k.features(some)
        wanted = sparse_block(phi, phi)
        got = outputs[MERCER][:_CHECKED, :_CHECKED]
        return {MERCER: float(np.abs(got - wanted).max() / wanted.max())}

    return Contest({MERCER: lambda: k(X)}, errors)


def subsequence(n: int, length: int) -> Contest:
    """The sum over lengths 1, ..., length, which strkernels computes; one core each.

    Errors: against each other; without the peer, of three pairs against the recursion with one
    cell at a time.
    """
    from mercer import BlendedSubsequence

    X, decay = _strings(n, DNA), 0.5

    def peer() -> np.ndarray:
        from strkernels import SubsequenceStringKernel

        kernel = SubsequenceStringKernel(normalizer=None, maxlen=length, ssk_lambda=decay)
        return np.asarray(kernel(X, X))

    def errors(outputs: Any) -> dict[str, float]:
        K = outputs[MERCER]
        if STRKERNELS in outputs:
            return {MERCER: float(np.abs(K / outputs[STRKERNELS] - 1).max())}
        some = (0, 1, n - 1)
        return {
            MERCER: max(abs(K[0, j] / _cell_by_cell(X[0], X[j], length, decay) - 1) for j in some)
        }

    return Contest({MERCER: lambda: BlendedSubsequence(length, decay)(X), STRKERNELS: peer}, errors)


def _cell_by_cell(x: str, y: str, length: int, decay: float) -> float:
    """The sum of the subsequence kernels of lengths 1, ..., length."""
    below, total = np.ones((len(x) + 1, len(y) + 1)), 0.0
    for _ in range(length):
        here = np.zeros_like(below)
        for i in range(len(x)):
            for j in range(len(y)):
                hit = decay**2 * below[i, j] * (x[i] == y[j])
                total += hit
                sides = decay * (here[i, j + 1] + here[i + 1, j])
                here[i + 1, j + 1] = hit + sides - decay**2 * here[i, j]
        below = here
    return total


def machine(n: int, k: int) -> Contest:
    """A support vector machine on sequences, half of which hold a motif; errors on its own data."""
    from mercer import SVC, Spectrum

    rng = np.random.default_rng(0)
    X, y = _strings(n, DNA), np.arange(n) % 2
    for i in np.flatnonzero(y):
        at = rng.integers(0, 90)
        X[i] = X[i][:at] + "GATAAG" + X[i][at + 6 :]
    model = SVC(C=1.0, kernel=Spectrum(k).normalize())
    some = slice(0, 1000)

    def errors(outputs: Any) -> dict[str, float]:
        return {MERCER: float(np.mean(outputs[MERCER].predict(X[some]) != y[some]))}

    return Contest({MERCER: lambda: model.fit(X, y)}, errors)


def _inexact(name: str, title: str, limit: float, **options: Any) -> Case:
    setup: Callable[..., Contest] = partial(inexact, **options)
    sizes = {"n": 2000}, {"n": 500}, {"n": 150}
    accuracy = Accuracy("relative error", 1e-12)
    what = f"{title}, {{n:,}} strings"
    return Case(
        f"strings.{name}",
        what,
        setup,
        *sizes,
        time=Target(limit=limit),
        accuracy=accuracy,
        rounds=3,
    )


CASES = [
    Case(
        f"strings.spectrum{k}.{kind}",
        f"Spectrum kernel, k={k}, {{n:,}} {kind} strings",
        partial(spectrum, k=k, letters=letters),
        {"n": 2000},
        {"n": 500},
        {"n": 150},
        time=Target(speed=speed),
        accuracy=Accuracy("max abs error", 0.0),
        rounds=3,
    )
    for k, kind, letters, speed in (
        (5, "protein", PROTEIN, 8.0),
        (3, "protein", PROTEIN, None),
        (5, "DNA", DNA, None),
    )
]
CASES += [
    _inexact("mismatch", "Mismatch (5, 1), proteins", 1.0, letters=PROTEIN, kernel="Mismatch",
             k=5, m=1),
    _inexact("gapped", "Gapped k-mers (8, 4), DNA", 5.0, letters=DNA, kernel="GappyKmer", g=8, k=4),
    _inexact("gapped.protein", "Gapped k-mers (8, 4), proteins", 5.0, letters=PROTEIN,
             kernel="GappyKmer", g=8, k=4),
    Case(
        "strings.subsequence",
        "Subsequence kernels, lengths 1 to {length}, {n:,} DNA strings",
        subsequence,
        {"n": 200, "length": 4},
        {"n": 40, "length": 4},
        {"n": 10, "length": 4},
        time=Target(speed=15.0),
        accuracy=Accuracy("relative error", 1e-6),
        rounds=3,
    ),
    Case(
        "strings.svm",
        "SVC, spectrum kernel (k={k}), {n:,} DNA strings",
        machine,
        {"n": 20_000, "k": 6},
        {"n": 2_000, "k": 6},
        {"n": 200, "k": 6},
        memory=Target(limit=2e9),
        accuracy=Accuracy("training error", 0.1),
        rounds=1,
    ),
]  # fmt: skip
