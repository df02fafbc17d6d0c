"""Parse trees in brackets, as in the Penn Treebank."""

from __future__ import annotations

import re

from .base import Lines, Records, Source

_TOKENS = re.compile(r"[()]|[^\s()]+")
_FUNCTION = re.compile(r"^([^-=]+)[-=].*")  # NP-SBJ-1, NP=2, but not -LRB-
_TRACE = "-NONE-"


def read_trees(
    source: Source, *, traces: bool = True, functions: bool = True, encoding: str = "utf-8"
) -> Records:
    r"""The trees of a file of brackets, such as ``(S (NP dogs) (VP bark))``.

    There may be several trees in a line, and several lines to a tree. A root without a label, as
    the Penn Treebank puts around every sentence, is removed if it has one child.

    Parameters
    ----------
    source : path or open file
        A file of text, also compressed by gzip.
    traces : bool
        Whether to keep empty elements ``(-NONE- *T*-1)``. Otherwise they are removed, with nodes
        that contain nothing else.
    functions : bool
        Whether to keep what follows the category in labels, as in ``NP-SBJ-1``.
    encoding : str
        That of the file.

    Returns
    -------
    Records
        ``X`` is a list of strings, one for each tree, for any kernel on trees; ``about["lines"]``
        tells in which line each begins.

    Examples
    --------
    >>> import io
    >>> from mercer import SubsetTree, read_trees
    >>> file = io.StringIO("( (S (NP-SBJ (-NONE- *))\n     (VP bark)) )\n(S (NP dogs) (VP bark))")
    >>> read_trees(file, traces=False, functions=False).X
    ['(S (VP bark))', '(S (NP dogs) (VP bark))']
    """
    lines = Lines(source, encoding)
    X: list[str] = []
    begun: list[int] = []
    tree = _Tree(traces, functions)
    for line in lines:
        for token in _TOKENS.findall(line):
            if not tree.open:
                if token != "(":
                    raise lines.error(f"{token!r} is outside the brackets of a tree.")
                begun.append(lines.number)
            tree.add(token)
            if not tree.open:
                text = tree.text()
                if text is None:
                    begun.pop()
                    continue
                X.append(text)
    if tree.open:
        raise lines.error("the brackets of the tree that begins here are never closed.", begun[-1])
    if not X:
        raise lines.error("the file contains no trees.")
    return Records(X, about={"lines": begun})


class _Tree:
    """A tree that is read token by token; nothing but the pieces of its text is kept."""

    def __init__(self, traces: bool, functions: bool) -> None:
        self._traces, self._functions = traces, functions
        self._pieces: list[str] = []
        self._nodes: list[list] = []  # of each open bracket: its piece, label, children, kept ones
        self._only = False  # is the root without label, and has one child?

    @property
    def open(self) -> int:
        """How many brackets are open."""
        return len(self._nodes)

    def add(self, token: str) -> None:
        """The next bracket or word."""
        if token == "(":
            self._grow()
            self._nodes.append([len(self._pieces), None, 0, 0])
            self._pieces.append(" (")
        elif token == ")":
            at, label, children, kept = self._nodes.pop()
            empty = label == _TRACE or (children and not kept)
            if empty and not self._traces:
                del self._pieces[at:]
                if self._nodes:
                    self._nodes[-1][3] -= 1
            else:
                self._pieces.append(")")
            self._only = label is None and kept == 1
        elif self._nodes[-1][1] is None and not self._nodes[-1][2]:
            self._nodes[-1][1] = token
            self._pieces.append(token if self._functions else _FUNCTION.sub(r"\1", token))
        else:
            self._grow()
            self._pieces.append(f" {token}")

    def _grow(self) -> None:
        if self._nodes:
            self._nodes[-1][2] += 1
            self._nodes[-1][3] += 1

    def text(self) -> str | None:
        """The whole tree, once its brackets are closed; None if nothing is left of it."""
        pieces, self._pieces = self._pieces, []
        if self._only and pieces:
            pieces = pieces[1:-1]
        return "".join(pieces).strip() or None
