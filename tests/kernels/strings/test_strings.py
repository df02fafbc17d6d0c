"""Spectrum against brute force enumeration of substrings."""

from collections import Counter
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import (
    Constant,
    GappyKmer,
    Gaussian,
    Linear,
    LocalAlignment,
    Plan,
    Spectrum,
    Subsequence,
    SubsetTree,
    Words,
    direct_sum,
    tensor,
)
from mercer.exceptions import DomainError
from mercer.features.sparse import sparse_block
from mercer.gram.stored import LowRankGram
from mercer.testing import check_gram, check_kernel

DNA = ["GATTACA", "ATTAC", "TACATA", "GG", "", "GATTACAGATTACA", "CCCCCCCC", "TTTT"]


def brute(x, y, k):
    """sum_u #u(x) #u(y), by listing all substrings."""
    a, b = (Counter(tuple(s[i : i + k]) for i in range(len(s) - k + 1)) for s in (x, y))
    return float(sum(n * b[u] for u, n in a.items()))


def splitmix(symbols):
    """The 64-bit hash in plain integers: saved models rely on it staying the same."""
    state = len(symbols)
    for symbol in symbols:
        z = ((state ^ symbol) + 0x9E3779B97F4A7C15) % 2**64
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        state = z ^ z >> 31
    return state


def brute_matrix(X, Y, k):
    return np.array([[brute(x, y, k) for y in Y] for x in X])


def test_hand_example():
    """abab holds ab twice and ba once; aab holds aa and ab."""
    K = Spectrum(k=2)(["abab", "aab", "b"])
    np.testing.assert_array_equal(K, [[5, 2, 0], [2, 2, 0], [0, 0, 0]])


@pytest.mark.parametrize("k", [1, 2, 3, 5, 7, 8, 12])
def test_against_enumeration(k):
    rng = np.random.default_rng(k)
    X = DNA + ["".join(rng.choice(list("ab"), rng.integers(0, 40))) for _ in range(20)]
    np.testing.assert_array_equal(Spectrum(k)(X), brute_matrix(X, X, k))
    np.testing.assert_array_equal(Spectrum(k)(X[:7], X[5:]), brute_matrix(X[:7], X[5:], k))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(alphabet="ab\x00é日𝄞", max_size=12), min_size=1, max_size=5),
    st.integers(1, 9),
)
def test_any_unicode(X, k):
    np.testing.assert_array_equal(Spectrum(k)(X), brute_matrix(X, X, k))


def test_bytes_and_integers_and_text_agree():
    words = ["abcab", "bcabc", "cc"]
    raw = [w.encode() for w in words]
    numbers = [list(b) for b in raw]
    K = brute_matrix(words, words, 2)
    for X in (raw, numbers, [np.array(s) for s in numbers], [words[0], raw[1], tuple(numbers[2])]):
        np.testing.assert_array_equal(Spectrum(2)(X), K)
        np.testing.assert_array_equal(Spectrum(2)(X, words), K)


def test_integer_sequences_of_any_size():
    X = [[-1, 10**12, -1, 10**12], [10**12, -1], [], [255, 256, 255]]
    np.testing.assert_array_equal(Spectrum(2)(X), brute_matrix(X, X, 2))
    rows = np.array([[1, 2, 1, 2], [2, 1, 2, 1]])  # an array is one sequence per row
    np.testing.assert_array_equal(Spectrum(2)(rows), brute_matrix(rows, rows, 2))


def test_codes_depend_on_the_substring_only():
    """Exact and hashed codes lie in different ranges, whatever else is in the data."""
    plain, mixed = Spectrum(2).prepare(["ab"]), Spectrum(2).prepare(["日本", "ab", "éa"])
    assert plain.indices[0] == mixed[1].indices[0] == ord("a") * 256 + ord("b")
    assert mixed[0].indices[0] >= 2**56 > mixed[2].indices[0]
    long = Spectrum(8).prepare(["abcdefgh"])
    assert 2**56 <= long.indices[0] < long.shape[1] == Spectrum().n_features(long)
    assert long.indices[0] == 2**56 + splitmix(b"abcdefgh") // 2**8


@pytest.mark.parametrize("kernel", [Spectrum(1), Spectrum(3), Spectrum(9)])
def test_contract(kernel):
    check_kernel(kernel, DNA)
    check_kernel(kernel.normalize(), DNA + ["日本日本日本日本日本"])
    check_kernel(2 * kernel + Constant(1) * kernel**2, DNA)
    check_kernel(kernel.center(), DNA)


def test_normalized_is_a_cosine():
    K = Spectrum(2).normalize()(DNA)
    B = brute_matrix(DNA, DNA, 2)
    d = np.sqrt(np.diag(B))
    with np.errstate(invalid="ignore"):
        expected = np.nan_to_num(B / np.outer(d, d))
    np.testing.assert_allclose(K, expected, atol=1e-15)
    assert K[4, 4] == 0  # the empty string has no direction


def test_large_blocks_take_the_sparse_and_the_dense_path():
    rng = np.random.default_rng(0)
    X = ["".join(row) for row in rng.choice(list("ACGT"), (150, 60))]
    for k in (2, 6):
        K = Spectrum(k)(X)
        at = rng.integers(0, 150, (40, 2))
        for i, j in at:
            assert K[i, j] == brute(X[i], X[j], k)


def test_low_rank_gram_meets_unseen_substrings():
    gram = Plan().gram(Spectrum(3), DNA)
    assert isinstance(gram, LowRankGram)
    new = ["GATTT", "XYZXYZ", "日本語", ""]
    check_gram(gram, brute_matrix(DNA, DNA, 3), new, brute_matrix(new, DNA, 3))
    shifted = Plan().gram(2 * Spectrum(3).normalize() + 1, DNA)
    assert isinstance(shifted, LowRankGram)
    expected = 2 * Spectrum(3).normalize()(new, DNA) + 1
    np.testing.assert_allclose(shifted.cross(new).to_dense(), expected, atol=1e-14)


def test_in_tables_beside_other_kernels():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    age = rng.uniform(20, 60, len(DNA))
    table = pd.DataFrame({"age": age, "sequence": DNA})
    k = Gaussian(10.0).on("age") * Spectrum(2).on("sequence")
    expected = np.exp(-((age[:, None] - age) ** 2) / 200) * brute_matrix(DNA, DNA, 2)
    np.testing.assert_allclose(k(table), expected, atol=1e-12)
    check_kernel(k, table)
    check_kernel(Spectrum(2).on("sequence"), table)
    product = Linear().on("age") * Spectrum(2).on("sequence")
    wanted = np.outer(age, age) * brute_matrix(DNA, DNA, 2)
    np.testing.assert_allclose(product(table), wanted)
    gram = product.gram(table)
    assert isinstance(gram, LowRankGram)
    np.testing.assert_allclose(gram.to_dense(), wanted)
    np.testing.assert_array_equal(Spectrum(2)(table["sequence"]), brute_matrix(DNA, DNA, 2))


def test_in_tuples_and_arrays():
    X = list(zip(np.arange(8.0), DNA, strict=True))
    B = brute_matrix(DNA, DNA, 2)
    i = np.arange(8.0)
    np.testing.assert_allclose(tensor(Linear(), Spectrum(2))(X), np.outer(i, i) * B)
    np.testing.assert_allclose(direct_sum(Linear(), Spectrum(2))(X), np.outer(i, i) + B)
    for array in (np.array(DNA), np.array(DNA, dtype=object)):
        np.testing.assert_array_equal(Spectrum(2)(array), B)
        np.testing.assert_array_equal(Spectrum(2).on(0)(array[:, None]), B)


def test_properties():
    p = Spectrum(3).properties
    for name in ("bounded", "strictly_pd", "universal", "characteristic", "positive_diag"):
        assert getattr(p, name).no, name
    assert p.finite_dim.unknown
    assert p.psd
    same = Spectrum(1)(["ab", "ba"])  # the example the reason gives
    assert "'ab' and 'ba'" in Spectrum(1).properties.strictly_pd.because
    assert np.all(same == same[0, 0])
    assert Spectrum(2).normalize().properties.bounded


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("GATTACA", r"single str; wrap it: \[x\]"),
        (b"GATTACA", "single bytes"),
        ([], "no samples"),
        (["a", None], "sample 1 is missing"),
        (["a", 3.5], "sample 1 is a float"),
        ([[0.5, 1.5]], "sample 0 is a list"),
        ([{"a"}], "sample 0 is a set"),
        (np.zeros((2, 3)), "sample 0 is a ndarray"),
        ([["ab", 1]], "lists of words"),
        ([[["ab"], ["c", "d"]]], "lists of words"),
        (np.array([["ab", "c"], ["d", "e"]]), "an array of 2 columns"),
    ],
)
def test_bad_data(X, message):
    with pytest.raises(DomainError, match=message):
        Spectrum(2)(X)


def test_a_table_needs_a_column():
    pd = pytest.importorskip("pandas")
    with pytest.raises(DomainError, match=r"\.on\(column\)"):
        Spectrum(2)(pd.DataFrame({"s": DNA}))


@pytest.mark.parametrize("k", [0, -1, 2.5, "3", True])
def test_bad_length(k):
    with pytest.raises(ValueError, match="k must be an integer >= 1"):
        Spectrum(k)


def test_encoding_is_vectorised():
    rng = np.random.default_rng(0)
    X = ["".join(row) for row in rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), (2000, 250))]
    start = perf_counter()
    Spectrum(3).prepare(X)
    assert perf_counter() - start < 2  # a fifth of a second on a quiet machine


# ---- columns of strings, in all forms ------------------------------------------------------------
TREES, TEXTS = ["(a b)", "(a (b c))", "(c (b c))"], ["abab", "abc", "cba"]


@pytest.mark.parametrize(
    ("kernel", "X"),
    [(Spectrum(2), TEXTS), (Words(), TEXTS), (Subsequence(2), TEXTS), (SubsetTree(), TREES)],
    ids=repr,
)
def test_all_kinds_of_columns(kernel, X):
    """NumPy's strings of any width, columns of pandas with any labels, masked arrays."""
    pd = pytest.importorskip("pandas")
    wanted = kernel(X)
    forms = [np.array(X), np.array(X)[:, None], np.array(X, object), np.ma.array(X), pd.Index(X),
             pd.Series(X, index=[7, 8, 9]), pd.Series(X, dtype="string"),
             pd.Series(X, dtype="category")]  # fmt: skip
    if hasattr(np, "dtypes") and hasattr(np.dtypes, "StringDType"):
        column = np.array(X, dtype=np.dtypes.StringDType())
        forms += [column, column[:, None]]
    for form in forms:
        np.testing.assert_array_equal(kernel(form), wanted)
    missing = [None, np.nan, pd.NA]
    gaps = [[X[0], value] for value in missing]
    gaps += [pd.Series([X[0], None], dtype="string"), np.ma.array(X, mask=[0, 1, 0])]
    for gap in gaps:
        with pytest.raises(
            DomainError, match=r"sample 1 is (missing|not a tree: it is missing|a \w+;)|masked"
        ):
            kernel(gap)


def test_missing_symbols_are_refused():
    with pytest.raises(ValueError, match=r"X\[1\] has 1 masked"):
        Spectrum(1)([[1, 2], np.ma.array([1, 2], mask=[0, 1])])


def test_large_symbols_are_different_symbols(rng):
    """Differing by 2^32 or more, in patterns whose codes are hashed together."""
    pool = np.array([7, 300, 7 + 2**32, 300 + 2**32, 300 + 2**33, 300 - 2**62])
    X = [rng.choice(pool, 12).tolist() for _ in range(8)]

    def brute(x, y, places):
        return sum(
            all(x[i + p] == y[j + p] for p in of_one)
            for of_one in places
            for i in range(len(x) - 2)
            for j in range(len(y) - 2)
        )

    places = [(0, 1), (0, 2), (1, 2)]
    wanted = [[brute(x, y, places) for y in X] for x in X]
    k = GappyKmer(3, 2)
    np.testing.assert_array_equal(k(X), wanted)
    phi = k.features(k.prepare(X))
    np.testing.assert_allclose(sparse_block(phi, phi), wanted, rtol=1e-13)
    with pytest.raises(DomainError, match=r"beyond 2\^63"):
        Spectrum(1)([np.array([2**63 + 5], np.uint64)])


def test_soft_masked_proteins_are_the_same_proteins():
    k = LocalAlignment("blosum62", log=True)
    K = k(["HEAGAWGHEE", "heagawghee", "HEAgawghEE", "HEAJAWGHEE"])
    np.testing.assert_array_equal(K[:3, :3], K[0, 0])
    assert K[3, 0] < K[0, 0]
