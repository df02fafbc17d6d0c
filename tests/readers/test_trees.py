"""Trees in brackets, as treebanks have them."""

import io

import numpy as np
import pytest

from mercer import SubsetTree, read_trees
from mercer.exceptions import FileFormatError
from mercer.kernels.trees.forest import spelled

BANK = """
( (S
    (NP-SBJ-1 (NNP Mr.) (NNP Vinken) )
    (VP (VBZ is)
      (VP (VBN said) (NP (-NONE- *-1) )
        (-LRB- -LRB-) (S=2 (NP-SBJ (-NONE- *)) (VP (TO to) (VP (VB go)))) ))
    (. .) ))
(S (NP dogs) (VP bark)) (TOP)
( (S (NP it)) (S (VP rains)) )
"""


def read(text, **options):
    return read_trees(io.StringIO(text), **options)


def test_a_treebank():
    found = read(BANK)
    assert found.X == [
        "(S (NP-SBJ-1 (NNP Mr.) (NNP Vinken)) (VP (VBZ is) (VP (VBN said) (NP (-NONE- *-1)) "
        "(-LRB- -LRB-) (S=2 (NP-SBJ (-NONE- *)) (VP (TO to) (VP (VB go)))))) (. .))",
        "(S (NP dogs) (VP bark))",
        "(TOP)",
        "( (S (NP it)) (S (VP rains)))",
    ]
    assert found.about["lines"] == [2, 8, 8, 9]
    K = SubsetTree()(found.X)
    assert np.all(np.diag(K)[[0, 1, 3]] > 0)


def test_without_traces_and_functions():
    found = read(BANK, traces=False, functions=False)
    assert found.X[0] == (
        "(S (NP (NNP Mr.) (NNP Vinken)) (VP (VBZ is) (VP (VBN said) (-LRB- -LRB-) "
        "(S (VP (TO to) (VP (VB go)))))) (. .))"
    )
    assert read("( (S (-NONE- *)) )\n(S (NP (-NONE- 0)) (V b))", traces=False).X == ["(S (V b))"]
    assert read("( (-NONE- *) (S x) )", traces=False).X == ["(S x)"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1: the file contains no trees"),
        ("(S (A b)\n\n(S (A c)\n", "line 1: the brackets of the tree that begins here are never"),
        ("(S a)\n\n(S (A c)\n)) (B", "line 4: '\\)' is outside"),
        ("(S a)\nword (S b)", "line 2: 'word' is outside"),
    ],
)
def test_what_is_no_treebank(text, words):
    with pytest.raises(FileFormatError, match=words):
        read(text)


def test_trees_are_as_they_were(rng):
    """Random trees, with white space anywhere."""

    def tree(depth):
        children = [tree(depth - 1) for _ in range(rng.integers(0, 4))] if depth else []
        label = str(rng.choice(["NP", "VP-X", "S=1", "w"]))
        return f"({label} {' '.join(children)})" if children else label

    X = [text for text in (tree(4) for _ in range(40)) if text.startswith("(")]
    spaced = "".join(
        "".join(str(rng.choice(["\n", "  ", " "])) if c == " " else c for c in x) for x in X
    )
    found = read(spaced)
    assert [spelled(x) for x in found.X] == [spelled(x) for x in X]


def test_deep_trees():
    depth = 50_000
    text = "(a " * depth + "b" + ")" * depth
    (x,) = read(text).X
    assert x.replace(" ", "") == text.replace(" ", "")
