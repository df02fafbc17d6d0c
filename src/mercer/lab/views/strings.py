"""Strings: how similar each two of them are, why, and where that puts them."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ...kernels.base import Kernel
from ...kernels.strings.words import Words
from ...models.pca import KernelPCA
from ..kernels import classes, written
from ..picture import Panel, Picture, code, in_words, span, spectrum
from ..state import MOST_STRINGS, Option, State

OPTIONS = (
    Option("first", "compare string", 1, 1, MOST_STRINGS),
    Option("second", "with string", 2, 1, MOST_STRINGS),
)
_MOST = 40  # shared pieces that are listed


def compute(state: State, kernel: Kernel) -> Picture:
    """The picture of strings."""
    S = list(state.strings)
    if len(S) < 2:
        raise ValueError("Type at least two strings, one on each line.")
    K = np.asarray(kernel(S))
    values = np.linalg.eigvalsh(K)
    heat = Panel("Gram matrix", (0, len(S)), (0, len(S)), axes=False, wide=True)
    names = [s if len(s) <= 14 else f"{s[:13]}…" for s in S]
    heat.add("matrix", values=np.round(K, 4).tolist(), names=names)
    i, j = (min(state.options[name], len(S)) - 1 for name in ("first", "second"))
    what, counts = shared(kernel, S[i], S[j])
    pieces = Panel(f"{what} of strings {i + 1} and {j + 1}", axes=False)
    pieces.add("pieces", rows=[[u, a, b] for u, a, b in counts[:_MOST]], names=[i + 1, j + 1])
    places = Panel("map by kernel PCA", xlabel="component 1", ylabel="component 2")
    Z = np.asarray(KernelPCA(2, kernel=kernel).fit_transform(S))
    Z = np.pad(Z, ((0, 0), (0, 2 - Z.shape[1])))
    places.x, places.y = (span(1.15 * v, v) for v in Z.T)  # room for the names
    places.add(
        "names", x=Z[:, 0].tolist(), y=Z[:, 1].tolist(), names=[str(n + 1) for n in range(len(S))]
    )
    total = sum(a * b for _, a, b in counts)
    facts = [
        (f"k({i + 1}, {j + 1})", in_words(K[i, j]), "value of the kernel"),
        ("shared", str(len(counts)), f"different {what}; their counts multiply to {total}"),
        ("distance", in_words(np.sqrt(max(K[i, i] + K[j, j] - 2 * K[i, j], 0))),
         "in feature space"),
        ("rank", str(int(np.sum(values > 1e-10 * max(values[-1], 1e-300)))), f"of {len(S)}"),
    ]  # fmt: skip
    python = code(
        classes(kernel),
        [f"S = {S!r}", f"K = ({written(kernel)})(S)", "plt.imshow(K); print(K.round(3))"],
        module="import matplotlib.pyplot as plt",
    )
    return Picture([heat, pieces, places, spectrum(values)], facts, python)


def shared(kernel: Kernel, s: str, t: str) -> tuple[str, list[tuple[str, int, int]]]:
    """What two strings have in common: words, or k-mers of the kernel's length, with counts."""
    parameters = kernel.get_params()
    if isinstance(kernel, Words) or any(isinstance(v, Words) for v in parameters.values()):
        what, a, b = "shared words", Counter(Words.words(s)), Counter(Words.words(t))
    else:
        lengths = [v for n, v in parameters.items() if n.rpartition("__")[2] in ("k", "length")]
        k = int(lengths[0]) if lengths else 3
        what, a, b = (
            f"shared {k}-mers",
            *(Counter(u[i : i + k] for i in range(len(u) - k + 1)) for u in (s, t)),
        )
    common = sorted(set(a) & set(b), key=lambda u: (-a[u] * b[u], u))
    return what, [(u, a[u], b[u]) for u in common]
