"""Collections of graphs in the text files of the TU Dortmund benchmark sets.

A collection NAME is ``NAME_A.txt``, with the two nodes of an edge in each line, numbered from 1
through all graphs, ``NAME_graph_indicator.txt``, with the number of the graph of each node, and
optional files with one line per node, edge or graph.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import IO, Any
from warnings import catch_warnings, simplefilter
from zipfile import BadZipFile

import numpy as np

from ..engine.memory import require_memory
from ..exceptions import FileFormatError
from ..kernels.graphs.graph import Graph, twice
from .base import Records

_DEFLATED = 1032  # bytes that one byte of an archive can stand for, at most
_PARSED = 4  # bytes of memory for a byte of text: a digit and a comma are a number
_DAMAGED = (ValueError, OverflowError, EOFError, NotImplementedError, BadZipFile, zlib.error)
_REQUIRED = ("A", "graph_indicator")


def read_tu(path: str | Path, *, directed: bool | None = None) -> Records:
    r"""Graphs and targets of a collection in the format of the TU Dortmund sets.

    Parameters
    ----------
    path : str or Path
        The folder that holds ``NAME_A.txt`` and the other files, or a zip archive of it, which is
        read without being unpacked.
    directed : bool, optional
        Whether edges are directed. By default they are undirected if the file has all of them in
        both directions, or none, and directed otherwise.

    Returns
    -------
    Records
        Graphs ``X`` and targets ``y``: ``graphs, y = read_tu(path)``. Targets are class labels
        (``graph_labels``) or, where there are none, numbers (``graph_attributes``). Labels of nodes
        and edges, and attributes of nodes, are those of the graphs; an attribute of edges is their
        weight if it is only one number. Nodes with several labels have a tuple of them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from mercer import read_tu
    >>> files = {
    ...     "A": "1,2\n2,1\n2,3\n3,2\n4,5\n5,4\n",
    ...     "graph_indicator": "1\n1\n1\n2\n2\n",
    ...     "graph_labels": "1\n-1\n",
    ...     "node_labels": "0\n1\n0\n1\n1\n",
    ... }
    >>> with TemporaryDirectory() as folder:
    ...     for name, text in files.items():
    ...         _ = Path(folder, f"TWO_{name}.txt").write_text(text)
    ...     graphs, y = read_tu(folder)
    >>> graphs, y
    ([Graph(3 nodes, 2 edges, labels), Graph(2 nodes, 1 edge, labels)], array([ 1, -1]))
    """
    source = _Source(Path(path))
    indicator = source.numbers("graph_indicator", int)[:, 0]
    arcs = source.numbers("A", int, columns=2) - 1
    targets = _targets(source)
    graph, count = _places(source, indicator, targets)
    n = len(graph)
    if len(arcs) and not (arcs.min() >= 0 and arcs.max() < n):
        bad = int(np.argmax((arcs < 0).any(axis=1) | (arcs >= n).any(axis=1)))
        raise source.error("A", f"line {bad + 1} names a node that is not one of 1, ..., {n}")
    across = graph[arcs[:, 0]] != graph[arcs[:, 1]]
    if across.any():
        bad = int(np.argmax(across))
        raise source.error("A", f"line {bad + 1} joins nodes of two graphs")
    labels = _labels(source, "node_labels", n)
    attributes = source.optional("node_attributes", float, n)
    marks = _labels(source, "edge_labels", len(arcs))
    weights = source.optional("edge_attributes", float, len(arcs))
    weights = None if weights is None or weights.shape[1] != 1 else weights[:, 0]
    both = twice(arcs, marks, weights)
    if directed is None:
        directed = not both and _any_twice(arcs)
    if both and not directed:
        once = arcs[:, 0] <= arcs[:, 1]
        arcs = arcs[once]
        marks = None if marks is None else marks[once]
        weights = None if weights is None else weights[once]
    owner = graph[arcs[:, 0]]
    order = np.argsort(owner, kind="stable")
    size = np.bincount(graph, minlength=count)
    of_nodes = np.concatenate([[0], np.cumsum(size)])
    of_arcs = np.searchsorted(owner[order], np.arange(count + 1))
    arcs = arcs[order] - of_nodes[owner[order]][:, None]
    marks, weights = (None if part is None else part[order] for part in (marks, weights))
    graphs = []
    nodes, edges = (
        [slice(a, b) for a, b in pairwise(ends.tolist())] for ends in (of_nodes, of_arcs)
    )
    for rows, lines in zip(nodes, edges, strict=True):
        parts = (arcs, lines), (labels, rows), (attributes, rows), (marks, lines), (weights, lines)
        own = [None if whole is None else whole[at] for whole, at in parts]
        graphs.append(Graph._trusted(rows.stop - rows.start, directed, *own))
    return Records(graphs, targets)


class _Source:
    """The files of one collection, in a folder or an archive."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.is_dir():
            names = sorted(p.name for p in path.iterdir() if p.is_file())
        elif path.is_file():
            names = self._members()
        else:
            raise FileNotFoundError(f"{path}: there is no such folder or archive.")
        found = [name for name in names if name.endswith("_A.txt")]
        if len(found) != 1:
            raise FileFormatError(
                f"{path}: a collection of graphs has one file NAME_A.txt, here are {len(found)}."
            )
        self.stem = found[0].removesuffix("A.txt")
        self.names = set(names)
        for part in _REQUIRED:
            if not self.has(part):
                raise FileFormatError(f"{path}: there is no file {self.name(part)}.")

    def _members(self) -> list[str]:
        if not zipfile.is_zipfile(self.path):
            raise FileFormatError(f"{self.path} is neither a folder nor a zip archive.")
        with zipfile.ZipFile(self.path) as archive:
            members = [m for m in archive.infolist() if m.filename.endswith(".txt")]
        for member in members:
            if member.flag_bits & 1:
                raise FileFormatError(f"{self.path}: {member.filename} is encrypted.")
            if member.file_size > _DEFLATED * member.compress_size + 1000:
                raise FileFormatError(
                    f"{self.path}: {member.filename} claims to hold {member.file_size} bytes, "
                    "more than it can."
                )
        require_memory(_PARSED * sum(m.file_size for m in members), f"what {self.path} holds")
        return sorted(m.filename for m in members if PurePosixPath(m.filename).name[0] != ".")

    def name(self, part: str) -> str:
        return f"{self.stem}{part}.txt"

    def has(self, part: str) -> bool:
        return self.name(part) in self.names

    def error(self, part: str, problem: str) -> FileFormatError:
        return FileFormatError(f"{self.path}: {self.name(part)}: {problem}.")

    @contextmanager
    def _open(self, part: str) -> Iterator[IO[Any]]:
        if self.path.is_dir():
            with open(self.path / self.name(part), "rb") as file:
                yield file
        else:
            with zipfile.ZipFile(self.path) as archive, archive.open(self.name(part)) as file:
                yield file

    def numbers(self, part: str, kind: type, columns: int | None = None) -> np.ndarray:
        """A file as an array of one row per line."""
        try:
            with self._open(part) as file, catch_warnings():
                simplefilter("ignore", UserWarning)  # of files without lines
                found: np.ndarray = np.loadtxt(file, kind, None, ",", ndmin=2)
        except _DAMAGED as error:
            raise self.error(part, str(error).rstrip(".")) from None
        if not found.size:
            found = np.zeros((0, columns or 1), kind)
        if columns is not None and found.shape[1] != columns:
            raise self.error(part, f"{columns} numbers per line are needed, not {found.shape[1]}")
        if kind is float and not np.all(np.isfinite(found)):
            bad = int(np.argmin(np.isfinite(found).all(axis=1)))
            raise self.error(part, f"line {bad + 1} is not finite")
        return found

    def optional(self, part: str, kind: type, lines: int) -> np.ndarray | None:
        """The same, None if there is no such file; with the expected number of lines."""
        if not self.has(part):
            return None
        found = self.numbers(part, kind)
        if len(found) != lines:
            raise self.error(part, f"there are {len(found)} lines, but {lines} are needed")
        return found


def _targets(source: _Source) -> np.ndarray | None:
    if source.has("graph_labels"):
        found = source.numbers("graph_labels", float)[:, 0]
        whole = np.array_equal(found, np.rint(found))
        return found.astype(np.int64) if whole else found
    if not source.has("graph_attributes"):
        return None
    found = source.numbers("graph_attributes", float)
    return found[:, 0] if found.shape[1] == 1 else found


def _places(
    source: _Source, indicator: np.ndarray, targets: np.ndarray | None
) -> tuple[np.ndarray, int]:
    """The graph of each node, from 0, and the number of graphs."""
    graph = indicator - 1
    count = int(graph.max(initial=-1)) + 1 if targets is None else len(targets)
    if len(graph) and not (graph.min() >= 0 and graph.max() < count):
        bad = int(np.argmax((graph < 0) | (graph >= count)))
        raise source.error(
            "graph_indicator", f"line {bad + 1} does not name a graph from 1 to {count}"
        )
    if np.any(np.diff(graph) < 0):
        bad = int(np.argmax(np.diff(graph) < 0))
        raise source.error("graph_indicator", f"line {bad + 2} returns to an earlier graph")
    return graph, count


def _labels(source: _Source, part: str, lines: int) -> np.ndarray | None:
    """Whole numbers; tuples where there are several in a line."""
    found = source.optional(part, int, lines)
    if found is None or found.shape[1] == 1:
        return None if found is None else found[:, 0]
    out = np.empty(lines, dtype=object)
    out[:] = list(map(tuple, found.tolist()))
    return out


def _any_twice(arcs: np.ndarray) -> bool:
    """Is there an edge in both directions?"""
    if not len(arcs):
        return False
    n = int(arcs.max()) + 1
    there, back = arcs[:, 0] * n + arcs[:, 1], arcs[:, 1] * n + arcs[:, 0]
    proper = arcs[:, 0] != arcs[:, 1]
    return bool(np.isin(there[proper], back[proper]).any())
