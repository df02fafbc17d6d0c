"""FASTA files, as they come."""

import io
from itertools import pairwise

import numpy as np
import pytest

from mercer import SVC, Spectrum, read_fasta
from mercer.exceptions import FileFormatError


def read(text):
    return read_fasta(io.StringIO(text))


def test_names_descriptions_and_sequences():
    found = read(
        "; an old comment\n\n>sp|P1|X  the first  one \nMK vl\n  AA*\n;more\n\n>\nNN\n"
        ">empty\tnone\n>last\nA-C.G"
    )
    assert found.names == ["sp|P1|X", "", "empty", "last"]
    assert found.about["descriptions"] == ["the first  one", "", "none", ""]
    assert found.X == ["MKvlAA*", "NN", "", "A-C.G"]
    assert found.y is None
    assert len(found) == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1: the file contains no sequences"),
        ("\n\n; nothing\n", "line 3: the file contains no sequences"),
        ("\nACGT\n>a\n", "line 2: a FASTA file begins with a line '>name'"),
        ("@read\nACGT\n+\n!!!!\n", "line 1: a FASTA file begins with"),
        (">a\nAC\nAC1T\n", "line 3: '1' is not a letter"),
        (">a\nAC\n+\n", "line 3: '\\+' is not a letter"),
    ],
)
def test_what_is_no_fasta(text, words):
    with pytest.raises(FileFormatError, match=f"the open file, {words}"):
        read(text)


def test_what_was_written_is_read(rng):
    """Random sequences in lines of random lengths."""
    X = ["".join(rng.choice(list("ACGTacgt"), n)) for n in rng.integers(0, 200, 50)]
    text = ""
    for i, x in enumerate(X):
        cuts = [0, *np.sort(rng.integers(0, len(x) + 1, 3)), len(x)]
        text += f">s{i} of {len(X)}\n" + "\n".join(x[a:b] for a, b in pairwise(cuts)) + "\n"
    found = read(text)
    assert found.X == X
    assert found.names == [f"s{i}" for i in range(50)]


def test_straight_into_a_model():
    text = "".join(
        f">{'+-'[i % 2]}{i}\n{'TATAAT' if i % 2 else 'GCGCGC'}{i * 'A'}\n" for i in range(8)
    )
    found = read(text)
    y = [name[0] for name in found.names]
    assert SVC(kernel=Spectrum(3).normalize()).fit(found.X, y).score(found.X, y) == 1
