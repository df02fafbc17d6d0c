"""Convolutions against sums over all pairs of decompositions, one product at a time."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from mercer import (
    SVC,
    AllSubsequences,
    Categorical,
    Convolution,
    Gaussian,
    Linear,
    Plan,
    Spectrum,
    load,
    parse,
    save,
)
from mercer.exceptions import DomainError
from mercer.kernels.sets.decompositions import NAMED
from mercer.testing import check_kernel

LETTERS = Categorical()
PARTS = {
    "items": LETTERS,
    "pieces": Spectrum(2),
    "neighbours": [LETTERS, LETTERS],
    "pairs": [LETTERS, LETTERS],
    "splits": [Spectrum(2), Spectrum(1)],
    "contexts": [Spectrum(1), LETTERS, Spectrum(1)],
}


def moves(path):
    return [(a, b - a) for a, b in pairwise(path)]


@pytest.fixture
def texts(rng):
    return ["".join(rng.choice(list("ab"), rng.integers(0, 7))) for _ in range(24)]


@pytest.fixture
def paths(rng):
    return [rng.normal(size=rng.integers(1, 6)) for _ in range(20)]


def brute(decompose, kernels, x, y):
    total = 0.0
    for left in decompose(x):
        for right in decompose(y):
            pairs = zip(kernels, left, right, strict=True)
            total += np.prod([k([a], [b])[0, 0] for k, a, b in pairs])
    return total


def test_sums_over_all_decompositions(paths, texts):
    kernels = [Gaussian(2.0), Gaussian(0.5)]
    wanted = [[brute(moves, kernels, x, y) for y in paths[:4]] for x in paths[:4]]
    assert Convolution(moves, kernels)(paths[:4]) == pytest.approx(np.array(wanted))
    some = [text for text in texts if text][:4]
    for name in ("splits", "contexts"):
        wanted = [[brute(NAMED[name], PARTS[name], x, y) for y in some] for x in some]
        assert Convolution(name, PARTS[name])(some) == pytest.approx(np.array(wanted))


def test_kernels_that_are_convolutions(texts):
    assert Convolution("neighbours", PARTS["neighbours"])(texts) == pytest.approx(
        Spectrum(2)(texts)
    )
    pairs = Convolution("pairs", PARTS["pairs"])(["abab", "ba"])
    assert pairs.tolist() == [[12.0, 1.0], [1.0, 1.0]]  # ab 3 times, aa, bb and ba once
    assert Convolution("items", LETTERS)(["aab", "ab"]).tolist() == [[5, 3], [3, 2]]

    def subsequences(x):
        return (
            [""] if not x else [x[0] + rest for rest in subsequences(x[1:])] + subsequences(x[1:])
        )

    whole = Convolution(subsequences, LETTERS)(["abc", "ab"])
    assert whole == pytest.approx(AllSubsequences()(["abc", "ab"]))


@pytest.mark.parametrize("name", list(PARTS))
def test_promises(name, texts):
    k = Convolution(name, PARTS[name])
    check_kernel(k, texts)
    phi = k.features(k.prepare(texts))
    assert sp.issparse(phi)
    assert k.gram(texts, Plan(storage="lowrank")).to_dense() == pytest.approx(k(texts))


def test_promises_of_functions(paths):
    check_kernel(Convolution(moves, [Gaussian("median"), Gaussian(0.7)]), paths)
    check_kernel(Convolution(moves, [Gaussian("median"), Linear()]).normalize(), paths)
    check_kernel(Convolution(moves, [Linear(), Linear()]), paths)


def test_a_list_of_kernels_is_their_product():
    k = Convolution("splits", [Spectrum(2), Gaussian()])
    assert k.kernels == Spectrum(2).on(0) * Gaussian().on(1)
    assert k == Convolution("splits", Spectrum(2).on(0) * Gaussian().on(1))
    k.set_params(kernels__left__kernel__k=4)
    assert k.kernels.left.kernel.k == 4
    k.set_params(kernels=[Spectrum(2)])
    assert k.kernels == Spectrum(2).on(0)


def test_what_cannot_be_taken_apart_is_zero(tmp_path):
    k = Convolution("neighbours", [LETTERS, LETTERS])
    assert k(["a", "ab"]).tolist() == [[0, 0], [0, 1]]
    assert k(["a", ""]).tolist() == [[0, 0], [0, 0]]
    machine = SVC(kernel=k).fit(["ab", "ba", "aba", "bb"], [0, 1, 0, 1])
    assert machine.decision_function(["a"]) == pytest.approx(machine.intercept_)
    dense = Convolution(moves, [Linear(), Linear()])  # features are arrays here
    machine = SVC(kernel=dense).fit([[1.0, 2.0], [1.0, 0.0], [2.0, 3.0], [3.0, 1.0]], [0, 1, 0, 1])
    assert machine.decision_function([[1.0]]) == pytest.approx(machine.intercept_)


def test_text_and_files(tmp_path):
    k = Convolution("contexts", [Spectrum(1), LETTERS, Spectrum(1)]).normalize()
    assert parse(repr(k)) == k
    save(k, tmp_path / "k")
    assert load(tmp_path / "k") == k
    with pytest.raises(ValueError, match=r"cannot save .*decompose: it is a function"):
        save(Convolution(moves, Gaussian().on(0)), tmp_path / "k")


def test_rows_of_tables():
    table = pd.DataFrame({"word": ["ab", "ba"], "n": [1, 2]})
    by_row = Convolution(
        lambda row: [(letter, row["n"]) for letter in row["word"]], [LETTERS, Linear()]
    )
    assert by_row(table).tolist() == [[2, 4], [4, 8]]
    assert Convolution("items", LETTERS).on("word")(table).tolist() == [[2, 2], [2, 2]]


def test_what_is_known_of_them():
    assert Convolution("items", LETTERS).properties.psd
    assert Convolution(moves, [Linear(), Linear()]).properties.finite_dim
    assert "decompositions" in Convolution("items", LETTERS).explain()


def test_a_kernel_for_each_part():
    for kernels in ([LETTERS] * 2, [LETTERS] * 4):
        with pytest.raises(
            DomainError, match=f"into 3 parts, but there are {len(kernels)} kernels"
        ):
            Convolution("contexts", kernels)(["abc"])
    assert Convolution("contexts", LETTERS.on(1))(["abc"])[0, 0] == 3.0  # of one's own choice


def test_bad_input():
    with pytest.raises(ValueError, match=r"decompose must be a function .* 'items'"):
        Convolution("letters", LETTERS)
    with pytest.raises(ValueError, match="kernels must hold one kernel for each part"):
        Convolution("splits", [LETTERS, "rbf"])
    with pytest.raises(ValueError, match="kernels must hold one kernel for each part"):
        Convolution("splits", [])
    with pytest.raises(ValueError, match="kernels must be"):
        Convolution("splits", "rbf")
    with pytest.raises(DomainError, match="no samples"):
        Convolution("items", LETTERS)([])
    with pytest.raises(DomainError, match="sample 1 is a int; pass a function"):
        Convolution("items", LETTERS)(["a", 3])
    with pytest.raises(ValueError, match="list of decompositions, but for sample 0 it is a str"):
        Convolution(str, LETTERS)(["a"])
    with pytest.raises(DomainError, match="into 1 parts, but there are 2 kernels"):
        Convolution(lambda x: [(x,)], [LETTERS, LETTERS])(["a"])
