"""Sequences in FASTA files."""

from __future__ import annotations

from .base import Lines, Records, Source

_BESIDE_LETTERS = str.maketrans("", "", "*-.")  # stops and gaps


def read_fasta(source: Source, *, encoding: str = "utf-8") -> Records:
    r"""The sequences of a FASTA file, with their names and descriptions.

    A line ``>name description`` begins a sequence, which is what follows on any number of lines;
    white space in it, empty lines and lines that begin with a semicolon are left out. Letters stay
    as they are, lower-case ones (soft-masked regions) too, and so do ``*``, ``-`` and ``.``;
    anything else is an error.

    Parameters
    ----------
    source : path or open file
        A file of text, also compressed by gzip.
    encoding : str
        That of names and descriptions.

    Returns
    -------
    Records
        ``X`` is a list of strings for any kernel on strings; ``names`` and
        ``about["descriptions"]`` are lists, too. There is no ``y``: labels, if any, are in the
        names.

    Examples
    --------
    >>> import io
    >>> from mercer import Spectrum, read_fasta
    >>> file = io.StringIO(">one first of two\nMKV\nLAA\n>two\nMKVLLA\n")
    >>> found = read_fasta(file)
    >>> found.X, found.names, found.about["descriptions"]
    (['MKVLAA', 'MKVLLA'], ['one', 'two'], ['first of two', ''])
    >>> Spectrum(2)(found.X)
    array([[5., 4.],
           [4., 5.]])
    """
    lines = Lines(source, encoding)
    X: list[str] = []
    names: list[str] = []
    descriptions: list[str] = []
    parts: list[str] = []
    for line in lines:
        if line.startswith(">"):
            if names:
                X.append("".join(parts))
            parts = []
            name, description = [*line[1:].split(None, 1), "", ""][:2]
            names.append(name)
            descriptions.append(description.strip())
            continue
        text = "".join(line.split())
        if not text or text.startswith(";"):
            continue
        if not names:
            raise lines.error("a FASTA file begins with a line '>name', not with this.")
        if not text.isalpha():
            rest = text.translate(_BESIDE_LETTERS)
            strange = next((c for c in rest if not c.isalpha()), None)
            if strange is not None:
                raise lines.error(f"{strange!r} is not a letter of a sequence.")
        parts.append(text)
    if not names:
        raise lines.error("the file contains no sequences.")
    X.append("".join(parts))
    return Records(X, names=names, about={"descriptions": descriptions})
