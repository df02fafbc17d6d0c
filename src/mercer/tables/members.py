"""One model of a blend: learned transformations of coordinates, ridge regression on pieces.

The cost of ridge regression grows with the cube of the number of rows. Beyond a certain size, the
rows are split recursively at the median of the direction in which they vary most, and every piece
has its own model: the kernel k(x, z) [x and z in the same piece], whose cost grows in proportion to
the number of rows. Rough kernels, which depend on nearby rows only, lose little accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from ..engine.limits import most_workers
from ..engine.memory import free_memory, parse_memory
from ..engine.threads import cores, few_threads, run
from ..frames import pandas
from ..kernels.base import Kernel
from ..models.ridge import KernelRidge
from ..progress import quiet
from .encoding import Encoded
from .metric import Profile, learn, moved

_DIRECTION = 2000  # rows that give the direction of a cut
_MATRICES = 3  # of the size of K that a fit holds at a time
_POWER = 15  # steps of the power method for it


@dataclass(eq=False, repr=False)
class Member(BaseEstimator):
    """Ridge regression with a profile of a learned distance, on pieces of the rows.

    Parameters
    ----------
    kind, scale, diagonal, rounds
        The :class:`~mercer.tables.metric.Profile`.
    alpha : float
        The penalty.
    weight : float
        Its weight in the blend.
    leaf : int
        The most rows of a piece.
    metric_rows : int
        The most rows that distances are learned from.
    similarity : Kernel, optional
        A kernel on columns of text, added to that of the coordinates.
    plan : Plan, optional
        Memory and threads.

    Attributes
    ----------
    map_ : ndarray
        The factor of coordinates: a matrix, or its diagonal.
    cuts_, thresholds_, children_ : ndarray
        The tree of pieces: directions, where they are cut, and which node or piece (-1 - number)
        comes next on each side.
    machines_ : list of KernelRidge
        The models of the pieces.
    """

    kind: str = "l1"
    scale: float = 1.0
    diagonal: bool = True
    rounds: int = 0
    _: KW_ONLY
    alpha: float = 1.0
    weight: float = 1.0
    leaf: int = 5000
    metric_rows: int = 1500
    similarity: Kernel | None = None
    plan: Any = field(default=None)

    saved_state: ClassVar[tuple[str, ...]] = (
        "map_", "cuts_", "thresholds_", "children_", "machines_"
    )  # fmt: skip

    @property
    def profile(self) -> Profile:
        """The corresponding candidate."""
        return Profile(self.kind, self.scale, self.diagonal, self.rounds)

    def fit(
        self, X: Encoded, Y: np.ndarray, w: np.ndarray, tick: Callable[..., None] = quiet
    ) -> Self:
        """Learn the distance from some rows, which are in random order, and fit all pieces."""
        some = slice(0, self.metric_rows)
        with few_threads(len(Y[some])):
            self.map_ = learn(self.profile, X.Z[some], Y[some], w[some], self.alpha)
        places = self._cut(moved(X.Z, self.map_))
        kernel = self.profile.kernel
        if self.similarity is not None:
            names = [f"z{i}" for i in range(X.Z.shape[1])]
            kernel = kernel.on(names) + self.similarity if names else self.similarity
        sizes = np.bincount(places)
        machines = [
            KernelRidge(self.alpha, kernel=kernel, plan=self.plan, random_state=0) for _ in sizes
        ]

        def one(place: int) -> None:
            rows = np.flatnonzero(places == place)
            equal = bool(np.all(w[rows] == 1))
            machines[place].fit(self._rows(X.take(rows)), Y[rows], None if equal else w[rows])
            tick("fitting", len(rows))

        if len(sizes) > 1:  # a core for each, since threads of BLAS mostly wait for each other
            run(one, range(len(sizes)), self._at_once(int(sizes.max())))
        else:
            one(0)
        self.machines_ = machines
        return self

    def _at_once(self, rows: int) -> int:
        """How many pieces of this many rows may be fitted at the same time."""
        memory = None if self.plan is None else self.plan.memory
        room = free_memory() / 2 if memory is None else parse_memory(memory)
        return int(np.clip(room // (_MATRICES * 8.0 * rows**2), 1, most_workers() or cores()))

    def predict(self, X: Encoded) -> np.ndarray:
        """The values of each output."""
        return self._by_piece(X, lambda machine, rows: machine.predict(_alike(machine, rows)))

    def variance(self, X: Encoded) -> np.ndarray:
        """The posterior variance, for a prior variance of 1, with the noise alpha."""
        return self.alpha + self._by_piece(
            X, lambda machine, rows: machine.posterior_variance(rows)
        )

    def grams(self, X: Encoded) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The rows in each piece, and the matrix of the kernel there."""
        for place, rows in self._pieces(X):
            yield rows, self.machines_[place].kernel_(self._rows(X.take(rows)))

    def _pieces(self, X: Encoded) -> Iterator[tuple[int, np.ndarray]]:
        places = self._place(moved(X.Z, self.map_)) if len(self.cuts_) else np.zeros(len(X), int)
        for place in np.unique(places):
            yield int(place), np.flatnonzero(places == place)

    def _by_piece(self, X: Encoded, values: Any) -> np.ndarray:
        found: Any = None
        for place, rows in self._pieces(X):
            part = values(self.machines_[place], self._rows(X.take(rows)))
            found = np.empty((len(X), *part.shape[1:])) if found is None else found
            found[rows] = part
        return found

    def _rows(self, X: Encoded) -> Any:
        """The input of a kernel: coordinates, and texts if it uses these."""
        Z = moved(X.Z, self.map_)
        if self.similarity is None:
            return Z
        frame = pandas().DataFrame(Z, columns=[f"z{i}" for i in range(Z.shape[1])])
        return frame.assign(**X.texts)

    # ---- pieces ----------------------------------------------------------------------------------
    def _cut(self, Z: np.ndarray) -> np.ndarray:
        """The piece of each row; makes the tree."""
        cuts: list[np.ndarray] = []
        thresholds: list[float] = []
        children: list[list[int]] = []
        places = np.zeros(len(Z), dtype=int)
        pieces = 0
        waiting: list[tuple[np.ndarray, int, int]] = [(np.arange(len(Z)), -1, 0)]
        while waiting:
            rows, parent, side = waiting.pop()
            values = None
            if len(rows) > self.leaf and Z.shape[1] and self.kind != "linear":
                direction = _longest(Z[rows[:_DIRECTION]])
                values = Z[rows] @ direction
                middle = float(np.median(values))
                right = values > middle
                if not 0.1 < right.mean() < 0.9:  # many ties: pieces stay as they are
                    values = None
            if values is None:
                places[rows] = pieces
                node = -1 - pieces
                pieces += 1
            else:
                node = len(cuts)
                cuts.append(direction)
                thresholds.append(middle)
                children.append([0, 0])
                waiting += [(rows[~right], node, 0), (rows[right], node, 1)]
            if parent >= 0:
                children[parent][side] = node
        self.cuts_ = np.array(cuts).reshape(len(cuts), Z.shape[1])
        self.thresholds_ = np.array(thresholds, dtype=float)
        self.children_ = np.array(children, dtype=int).reshape(-1, 2)
        return places

    def _place(self, Z: np.ndarray) -> np.ndarray:
        """The piece of each row, down the tree."""
        places = np.zeros(len(Z), dtype=int)
        waiting = [(np.arange(len(Z)), 0)]
        while waiting:
            rows, node = waiting.pop()
            if node < 0:
                places[rows] = -1 - node
            elif len(rows):
                right = Z[rows] @ self.cuts_[node] > self.thresholds_[node]
                waiting.append((rows[~right], int(self.children_[node, 0])))
                waiting.append((rows[right], int(self.children_[node, 1])))
        return places

    def _restore(self) -> None:
        """Check the tree: every node must lead to later nodes or to existing pieces."""
        n = len(self.cuts_)
        down = all(
            (child > node and child < n) or -len(self.machines_) <= child < 0
            for node, both in enumerate(self.children_.tolist())
            for child in both
        )
        width = np.shape(self.cuts_)[-1]
        if not (down and n == len(self.thresholds_) == len(self.children_) and self.machines_):
            raise ValueError("the pieces of a model do not fit together.")
        if np.shape(self.map_)[0] != width or not np.all(np.isfinite(self.map_)):
            raise ValueError("the coordinates of a model do not fit together.")


@dataclass(eq=False, repr=False)
class Given(BaseEstimator):
    """Ridge regression with a kernel that was given, on columns in their own units.

    Parameters
    ----------
    kernel : Kernel
        On columns by name.
    alpha, weight, plan
        As for :class:`Member`.

    Attributes
    ----------
    machine_ : KernelRidge
        The model.
    """

    kernel: Any = None
    _: KW_ONLY
    alpha: float = 1.0
    weight: float = 1.0
    plan: Any = None

    saved_state: ClassVar[tuple[str, ...]] = ("machine_",)
    rounds: ClassVar[int] = 0

    def fit(
        self, X: Encoded, Y: np.ndarray, w: np.ndarray, tick: Callable[..., None] = quiet
    ) -> Self:
        """Fit it to all rows."""
        machine = KernelRidge(self.alpha, kernel=self.kernel, plan=self.plan, random_state=0)
        self.machine_ = machine.fit(X.own, Y, None if np.all(w == 1) else w)
        tick("fitting", len(Y))
        return self

    def predict(self, X: Encoded) -> np.ndarray:
        """The values of each output."""
        return self.machine_.predict(X.own)

    def variance(self, X: Encoded) -> np.ndarray:
        """The posterior variance with the noise alpha."""
        return self.alpha + self.machine_.posterior_variance(X.own)

    def grams(self, X: Encoded) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """All rows, and the matrix of the kernel."""
        yield np.arange(len(X)), self.machine_.kernel_(X.own)

    @property
    def machines_(self) -> list[KernelRidge]:
        """The model, as one piece."""
        return [self.machine_]

    def _restore(self) -> None:
        """Nothing to do: the machine restores itself."""


def _alike(machine: KernelRidge, rows: Any) -> Any:
    """Coordinates in the precision of those a machine keeps."""
    single = getattr(machine.X_fit_, "dtype", None) == np.float32
    return rows.astype(np.float32) if single else rows


def _longest(Z: np.ndarray) -> np.ndarray:
    """The direction of the largest variance, by the power method."""
    C = Z - Z.mean(axis=0)
    v = C.std(axis=0) + 1e-12
    for _ in range(_POWER):
        v = C.T @ (C @ v)
        size = np.linalg.norm(v)
        if not size > 0:
            break
        v = v / size
    return v
