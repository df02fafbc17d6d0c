"""Graphs of the TU Dortmund collection: molecules, proteins and circles of actors, ten folds each.

Kernel, parameters and C are chosen anew for every test fold, by the others alone: a setting is
judged on some of the remaining folds, each time by a machine that has seen neither that fold nor
the test fold. Such a machine serves twice, since either of its two folds may be the test fold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold

from mercer import (
    SVC,
    Gaussian,
    Graph,
    GraphFiltration,
    Graphlet,
    Kernel,
    MeanEmbedding,
    Product,
    Propagation,
    ShortestPath,
    Sum,
    WeisfeilerLehman,
    WLOptimalAssignment,
    read_tu,
)

from .frame import Study, Trial, data_file

FOLDS = 10
FEW, MANY = 200, 2000  # graphs of a set: all folds but one validate; fewer kernels are tried
VOTERS = 9


class Set(NamedTuple):
    """What is promised for a set; accuracies of kernels that others report; and of networks."""

    least: float
    published: dict[str, float]
    networks: str


FAIR = "best network of Errica et al. 2020: {:.3f}"
SETS = {
    "MUTAG": Set(
        0.87,
        {"WL": 0.851, "SP": 0.834, "graphlets": 0.677},
        "GIN, scored where it was stopped: 0.894",
    ),
    "ENZYMES": Set(
        0.57,
        {"WL": 0.508, "OA": 0.564, "SP": 0.393, "graphlets": 0.295},
        FAIR.format(0.596) + ", without edges 0.652",
    ),
    "PROTEINS": Set(
        0.75,
        {"WL": 0.726, "OA": 0.734, "SP": 0.756, "graphlets": 0.716},
        FAIR.format(0.737) + ", without edges 0.758",
    ),
    "IMDB-BINARY": Set(
        0.73, {"WL": 0.724, "OA": 0.733, "SP": 0.584, "graphlets": 0.598}, FAIR.format(0.712)
    ),
    "DD": Set(0.79, {"WL": 0.79, "OA": 0.792}, FAIR.format(0.766) + ", without edges 0.784"),
    "NCI1": Set(
        0.85, {"WL": 0.842, "OA": 0.850, "SP": 0.742, "graphlets": 0.660}, FAIR.format(0.800)
    ),
}
FAMILIES = {
    "WL": "WeisfeilerLehman",
    "OA": "WLOptimalAssignment",
    "SP": "ShortestPath",
    "graphlets": "Graphlet",
    "filtration": "GraphFiltration",
    "attributes": "attributes of nodes",
    "sums": "sums and products",
}
ALL, VOTE = "the best of all", "the best of all vote"


# ---- data ----------------------------------------------------------------------------------------
class Collection(NamedTuple):
    """A table with the columns graph and, if nodes have attributes, near_0, near_1, ...; labels."""

    X: Any
    y: np.ndarray


@cache
def load(name: str) -> Collection:
    """A set by its name."""
    import pandas as pd

    graphs, y = read_tu(data_file(f"graphs/{name}.zip"))
    table = {"graph": graphs}
    if graphs[0].attributes is not None:
        graphs = standardised(graphs)
        table = {"graph": graphs, **surroundings(graphs)}
    return Collection(pd.DataFrame(table), np.asarray(y))


def standardised(graphs: Sequence[Graph]) -> list[Graph]:
    """The same graphs, with attributes of mean 0 and variance 1 over all nodes."""
    A = np.concatenate([g.attributes for g in graphs])
    center, scale = A.mean(axis=0), A.std(axis=0)
    return [
        Graph(g.edges, labels=g.labels, attributes=(g.attributes - center) / scale) for g in graphs
    ]


def surroundings(graphs: Sequence[Graph], depth: int = 2) -> dict[str, list[np.ndarray]]:
    """Vectors of the nodes: labels and attributes, then means of those of neighbours, and so on."""
    labels = np.unique(np.concatenate([g.labels for g in graphs]))
    found: dict[str, list[np.ndarray]] = {f"near_{d}": [] for d in range(depth + 1)}
    for g in graphs:
        A = np.zeros((g.n_nodes, g.n_nodes))
        A[tuple(g.edges.T)] = 1
        A = np.maximum(A, A.T)
        A /= np.maximum(A.sum(axis=1, keepdims=True), 1)
        p = np.hstack([g.attributes, 2.0 * (np.asarray(g.labels)[:, None] == labels)])
        vectors = p
        for column in found.values():
            column.append(vectors)
            p = (p + A @ p) / 2
            vectors = np.hstack([vectors, p])
    return found


# ---- candidates ----------------------------------------------------------------------------------
def candidates(name: str) -> dict[str, list[Kernel]]:
    """The kernels of each family, for a set; on the columns of its table."""
    X, y = load(name)
    large = len(y) > MANY
    depths = (3, 5) if large else (1, 3, 5)
    oa = {h: WLOptimalAssignment(h).normalize().on("graph") for h in depths}
    wl = {h: WeisfeilerLehman(h).normalize().on("graph") for h in depths}
    paths = ShortestPath().normalize().on("graph")
    shapes = Graphlet(4).normalize().on("graph")
    found: dict[str, list[Kernel]] = {
        "WL": list(wl.values()),
        "OA": list(oa.values()),
        "SP": [paths],
        "graphlets": [shapes],
    }
    sums: list[Kernel] = [oa[h] + paths for h in depths]
    if not large:
        # without normalisation large graphs are long features, which may be what matters
        found["WL"] += [WeisfeilerLehman(h).on("graph") for h in depths]
        found["OA"] += [WLOptimalAssignment(h).on("graph") for h in depths]
        found["SP"] += [ShortestPath(labels).on("graph") for labels in (True, False)]
        found["graphlets"] += [Graphlet(3).normalize().on("graph"), Graphlet(4).on("graph")]
        filtered = [GraphFiltration(h, thresholds=4).normalize().on("graph") for h in (1, 2)]
        found["filtration"] = filtered
        sums += [oa[h] * paths for h in depths]
        sums += [oa[h] + filtered[0] + shapes for h in depths]
    if "near_0" in X:
        near = [MeanEmbedding(Gaussian("median")).normalize().on(f"near_{d}") for d in range(3)]
        spread = Propagation(2, 1.0, "l2", "both").normalize().on("graph")
        found["attributes"] = [*near, spread]
        sums += [k * oa[h] for k in near for h in (1, 3)]
        sums += [near[0] + oa[3], spread + oa[3]]
    return {**found, "sums": sums}


class Setting(NamedTuple):
    """A kernel of a set, by its place among the candidates of a family, and C."""

    name: str
    family: str
    place: int
    C: float

    @property
    def kernel(self) -> Kernel:
        """The kernel itself."""
        return candidates(self.name)[self.family][self.place]


@cache
def settings(name: str) -> dict[str, list[Setting]]:
    """All settings for a set, by family."""
    Cs = 10.0 ** np.arange(4 if "near_0" in load(name).X else 3)
    return {
        family: [Setting(name, family, i, C) for i in range(len(kernels)) for C in Cs.tolist()]
        for family, kernels in candidates(name).items()
    }


# ---- machines ------------------------------------------------------------------------------------
@cache
def folds(name: str) -> np.ndarray:
    """The number of the fold of each graph."""
    y = load(name).y
    out = np.empty(len(y), int)
    parts = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(y, y)
    for number, (_, test) in enumerate(parts):
        out[test] = number
    return out


_PARTS: dict[tuple[str, str], np.ndarray] = {}


def matrix(name: str, kernel: Kernel) -> np.ndarray:
    """The matrix of all graphs of a set; what sums and products have in common is kept."""
    if isinstance(kernel, Sum):
        return matrix(name, kernel.left) + matrix(name, kernel.right)
    if isinstance(kernel, Product):
        return matrix(name, kernel.left) * matrix(name, kernel.right)
    key = (name, repr(kernel))
    if key not in _PARTS:
        for old in [other for other in _PARTS if other[0] != name]:
            del _PARTS[old]
        X = load(name).X
        _PARTS[key] = kernel.resolve(X)(X).astype(np.float32)
    return _PARTS[key]


def predictions(setting: Setting, left_out: Sequence[int]) -> list[np.ndarray]:
    """For each of some folds, by a machine that was trained on all other folds."""
    K, y, fold = matrix(setting.name, setting.kernel), load(setting.name).y, folds(setting.name)
    train = np.flatnonzero(~np.isin(fold, left_out))
    own = K[np.ix_(train, train)]
    scale = np.float32(np.trace(own) / len(own))  # so that C means the same for all kernels
    model = SVC(C=setting.C, kernel="precomputed").fit(own / scale, y[train])
    return [model.predict(K[np.ix_(fold == out, train)] / scale) for out in left_out]


def accuracy(name: str, fold: int, predicted: np.ndarray) -> float:
    """The share of a fold that is predicted as it is."""
    return float(np.mean(predicted == load(name).y[folds(name) == fold]))


@cache
def validated(setting: Setting) -> np.ndarray:
    """For each test fold, the accuracy on folds near it, which serve for validation."""
    reach = 4 if len(load(setting.name).y) <= FEW else 2
    sums, counts = np.zeros(FOLDS), np.zeros(FOLDS)
    for i in range(FOLDS):
        for j in ((i + step) % FOLDS for step in range(1, reach + 1)):
            on_i, on_j = predictions(setting, (i, j))
            sums[i] += accuracy(setting.name, j, on_j)
            sums[j] += accuracy(setting.name, i, on_i)
            counts[[i, j]] += 1
    return sums / counts


class Result(NamedTuple):
    """The accuracy on each fold, and how often which kernel was chosen."""

    scores: np.ndarray
    chosen: list[Setting]

    @property
    def words(self) -> str:
        """What was chosen most often."""
        names = Counter(_plain(setting.kernel) for setting in self.chosen)
        kernel, times = names.most_common(1)[0]
        return f"most often {kernel} ({times} of {FOLDS})"


@cache
def result(name: str, family: str) -> Result:
    """What a family, or the best of all, or a vote of the best of all, reaches on a set."""
    by_family = settings(name)
    pool = [s for key, some in by_family.items() if family in (key, ALL, VOTE) for s in some]
    table = np.array([validated(setting) for setting in pool])
    ranked = np.argsort(-table, axis=0, kind="stable")
    voters = VOTERS if family == VOTE else 1
    scores = []
    for fold in range(FOLDS):
        votes = [predictions(pool[best], (fold,))[0] for best in ranked[:voters, fold]]
        scores.append(accuracy(name, fold, _majority(np.array(votes))))
    return Result(np.array(scores), [pool[best] for best in ranked[0]])


def _majority(votes: np.ndarray) -> np.ndarray:
    """The label that most rows have in each column; of equally frequent ones the first row's."""
    counts = (votes[:, None] == votes).sum(axis=0)
    return votes[counts.argmax(axis=0), np.arange(votes.shape[1])]


def _plain(kernel: Kernel) -> str:
    """Without columns and names of parameters."""
    text = repr(kernel).replace(".on('graph')", "").replace("iterations=", "")
    text = text.replace("kernel=Gaussian(lengthscale='median')", "Gaussian")
    for name in ("WeisfeilerLehman", "WLOptimalAssignment"):
        text = text.replace(f"{name}()", f"{name}(5)")
    return text


def score(name: str, family: str) -> tuple[float, str]:
    """The mean accuracy over the folds, and what was chosen."""
    found = result(name, family)
    spread = f"sd over folds {found.scores.std(ddof=1):.3f}"
    return float(found.scores.mean()), spread + ("" if family == VOTE else f"; {found.words}")


# ---- the table -----------------------------------------------------------------------------------
def trials(names: Sequence[str] = tuple(SETS)) -> Iterator[Trial]:
    """One row for each set and family, one for the best of all, and one for their vote."""
    for name in names:
        least, published, networks = SETS[name]
        graphs = f"{name} ({len(load(name).y)})"
        for family in settings(name):
            theirs = f"{published[family]:.3f}" if family in published else ""
            row = partial(score, name, family)
            yield Trial(FAMILIES[family], "accuracy", row, theirs, data=graphs)
        yield Trial(ALL, "accuracy", partial(score, name, ALL), "", least, graphs)
        yield Trial(VOTE, "accuracy", partial(score, name, VOTE), networks, least, graphs)


# ---- the picture ---------------------------------------------------------------------------------
def picture(path: Path) -> None:
    """Accuracies of all families by set, with the spread of the folds, and published ones."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(10, 4.4), layout="constrained")
    names = {**FAMILIES, VOTE: VOTE}
    colors = dict(zip(names, ("C0", "C1", "C2", "C4", "C5", "C6", "C7", "0.15"), strict=True))
    width = 0.86 / len(names)
    for place, name in enumerate(SETS):
        for shift, family in enumerate(names):
            if family != VOTE and family not in settings(name):
                continue
            scores = result(name, family).scores
            at = place + width * (shift - (len(names) - 1) / 2)
            ax.bar(at, scores.mean(), 0.92 * width, color=colors[family])
            error = scores.std(ddof=1) / np.sqrt(FOLDS)
            ax.plot([at, at], scores.mean() + [-error, error], color="0.6", lw=1.2)
            if family in SETS[name].published:
                ax.plot(at, SETS[name].published[family], "kD", ms=4, mfc="white", zorder=3)
    for family, color in colors.items():
        ax.bar(0, 0, color=color, label=names[family])
    ax.plot([], [], "kD", ms=4, mfc="white", ls="", label="published, other folds")
    ax.set_xticks(range(len(SETS)), SETS)
    ax.set(ylim=(0.2, 1.16), ylabel="accuracy, ten folds", yticks=np.arange(0.2, 1.01, 0.1))
    ax.legend(fontsize=8, frameon=False, ncols=3, loc="upper left")
    figure.savefig(path, dpi=110)
    plt.close(figure)


STUDY = Study("graphs", "Graphs of the TU Dortmund collection", trials, picture)
