"""Solubility of molecules (ESOL): a graph, a string and numbers for each, in one table.

The weights of the kernels, their lengthscales and the noise are learned together, by the marginal
likelihood of the training molecules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from mercer import (
    BlendedSpectrum,
    Gaussian,
    GaussianProcessRegressor,
    Kernel,
    WeisfeilerLehman,
    WLOptimalAssignment,
    node_weights,
    tune,
)

from .frame import Study, Trial, text_table
from .smiles import descriptors, read_smiles

FILE = "strings/smiles_esol.tsv.gz"
DRAWN = {  # from the set; they are predicted by models that have not seen them
    "caffeine": "Cn1cnc2n(C)c(=O)n(C)c(=O)c12",
    "paracetamol": "CC(=O)Nc1ccc(O)cc1",
    "DDT": "Clc1ccc(cc1)C(c2ccc(Cl)cc2)C(Cl)(Cl)Cl",
}


def table(strings: Sequence[str]) -> Any:
    """Molecules as rows: the columns graph and smiles, and numbers that describe them."""
    import pandas as pd

    molecules = [read_smiles(text) for text in strings]
    numbers = pd.DataFrame([descriptors(molecule) for molecule in molecules], dtype=float)
    graphs = [molecule.graph for molecule in molecules]
    return pd.DataFrame({"graph": graphs, "smiles": list(strings), **numbers})


@cache
def load() -> tuple[Any, np.ndarray]:
    """The molecules, and logarithms of their solubility in mol per litre."""
    rows = text_table(FILE)
    return table(rows["sequence"]), rows["label"].to_numpy(float)


# ---- models --------------------------------------------------------------------------------------
def graph_part() -> Kernel:
    """The best matching of atoms that look alike up to two bonds away."""
    return WLOptimalAssignment(2).on("graph")


def string_part() -> Kernel:
    """Substrings of up to four letters."""
    return BlendedSpectrum(4).normalize().on("smiles")


def number_part(X: Any) -> Kernel:
    """All columns of numbers; tuning gives each a lengthscale of its own."""
    return Gaussian("median").on([name for name in X if name not in ("graph", "smiles")])


def the_sum(X: Any) -> Kernel:
    """All three, with weights that are learned."""
    return 0.1 * graph_part() + 1.0 * string_part() + 1.0 * number_part(X)


MODELS: dict[str, Callable[[Any], Kernel]] = {
    "graph: WeisfeilerLehman(3), normalised": lambda X: (
        1.0 * WeisfeilerLehman(3).normalize().on("graph")
    ),
    "graph: WLOptimalAssignment(2)": lambda X: 0.1 * graph_part(),
    "string: BlendedSpectrum(4), normalised": lambda X: 1.0 * string_part(),
    "numbers: Gaussian, a lengthscale each": lambda X: 1.0 * number_part(X),
    "graph + string": lambda X: 0.1 * graph_part() + 1.0 * string_part(),
    "graph + numbers": lambda X: 0.1 * graph_part() + 1.0 * number_part(X),
    "string + numbers": lambda X: 1.0 * string_part() + 1.0 * number_part(X),
    "graph + string + numbers": the_sum,
}
REFERENCES = {
    "string: BlendedSpectrum(4), normalised": "ridge on 1- to 4-grams, same set: 0.82",
    "graph + string + numbers": "GAUCHE, other splits: about 0.67 to 0.85",
}


def learned(kernel: Kernel, X: Any, y: np.ndarray) -> GaussianProcessRegressor:
    """A Gaussian process with weights, lengthscales and noise learned."""
    has_scales = any(name.endswith("lengthscale") for name in kernel.get_params())
    model: GaussianProcessRegressor = tune(GaussianProcessRegressor(kernel), X, y, ard=has_scales)
    return model


def score(name: str) -> tuple[float, str]:
    """The root mean squared error in five folds, and its spread over them."""
    X, y = load()
    errors = []
    for train, test in KFold(5, shuffle=True, random_state=0).split(y):
        model = learned(MODELS[name](X), X.iloc[train], y[train])
        errors.append(float(np.sqrt(np.mean((model.predict(X.iloc[test]) - y[test]) ** 2))))
    return float(np.mean(errors)), f"sd over folds {np.std(errors, ddof=1):.3f}"


def trials() -> Iterator[Trial]:
    """The rows."""
    load()
    for name in MODELS:
        yield Trial(name, "RMSE, 5 folds", partial(score, name), REFERENCES.get(name, ""))


# ---- the picture ---------------------------------------------------------------------------------
def explained(model: GaussianProcessRegressor, X: Any) -> dict[str, float]:
    """What the summands of the kernel add to the prediction for one molecule, and the rest."""
    names = ("graph", "string", "numbers")
    found = {name: float(p.predict(X)[0]) for name, p in zip(names, model.parts(), strict=False)}
    return {"offset": float(model.predict(X)[0]) - sum(found.values()), **found}


def picture(path: Path) -> None:
    """What atoms add, in a model of the graph alone, and the parts of a model of everything."""
    import matplotlib.pyplot as plt

    from mercer.plots.graphs import plot_graph

    X, y = load()
    seen = ~X["smiles"].isin(DRAWN.values()).to_numpy()
    rows = [X[X["smiles"] == text] for text in DRAWN.values()]
    truth = [float(y[X["smiles"] == text][0]) for text in DRAWN.values()]
    model = learned(0.1 * graph_part(), X[seen], y[seen])
    weights = [node_weights(model, row) for row in rows]
    limit = max(abs(node.weight) for nodes in weights for node in nodes)
    figure, (*panels, bars) = plt.subplots(
        1, 4, figsize=(13, 3.6), layout="constrained", width_ratios=(1, 1, 1.25, 1)
    )
    for i, (name, ax) in enumerate(zip(DRAWN, panels, strict=True)):
        graph, last = rows[i]["graph"].iloc[0], i == len(rows) - 1
        plot_graph(graph, weights[i], ax, limit=limit, lines=_lines, colorbar=last)
        atoms, whole = sum(node.weight for node in weights[i]), model.predict(rows[i])[0]
        sums = f"{whole - atoms:.2f} {'+' if atoms > 0 else '-'} {abs(atoms):.2f} = {whole:.2f}"
        ax.set_title(f"{name}: {sums}\nmeasured {truth[i]:.2f}", fontsize=10)
    whole = learned(the_sum(X), X[seen], y[seen])
    _draw_parts(bars, [explained(whole, row) for row in rows], truth)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _draw_parts(ax: Any, parts: list[dict[str, float]], truth: list[float]) -> None:
    """Bars from the offset to the prediction, a part each."""
    colors = {"graph": "C0", "string": "C2", "numbers": "C1"}
    for place, found in enumerate(parts):
        at = found["offset"]
        for shift, (part, color) in enumerate(colors.items()):
            label = part if place == 0 else None
            ax.barh(place + 0.22 * (shift - 1), found[part], 0.2, left=at, color=color, label=label)
            at += found[part]
        ax.plot([at, at], [place - 0.4, place + 0.4], color="0.3", lw=1)
    ax.plot(truth, range(len(truth)), "k*", ms=9, label="measured")
    ax.axvline(parts[0]["offset"], color="0.7", lw=0.8, zorder=0)
    ax.set_yticks(range(len(parts)), DRAWN)
    ax.invert_yaxis()
    ax.set(xlabel="log solubility")
    ax.set_title("graph + string + numbers", fontsize=10)
    ax.legend(fontsize=8, frameon=False)


def _lines(bond: str) -> int:
    return {"=": 2, "#": 3}.get(bond, 1)


STUDY = Study("molecules", "Solubility of molecules", trials, picture)
