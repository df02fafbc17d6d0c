"""Kendall and Mallows kernels against sums over pairs of items, completions and scipy's tau."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from mercer import (
    SVC,
    Gaussian,
    GaussianProcessRegressor,
    Kendall,
    KernelPCA,
    KernelRidge,
    Mallows,
    Plan,
    load,
    parse,
    rankings_from_orders,
    save,
    two_sample_test,
)
from mercer.exceptions import DomainError, UnresolvedError
from mercer.kernels.rankings import comparisons
from mercer.testing import check_kernel, check_kind

S3 = [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1]]
nan = np.nan


def sign(x, i, j):
    """By comparisons of two numbers, without any arrays."""
    return float(x[i] < x[j]) - float(x[i] > x[j])


def brute(X, Y, signs):
    """Inner products of the vectors of signs of all pairs of items."""
    pairs = list(combinations(range(len(X[0])), 2))
    left, right = ([[signs(x, i, j) for i, j in pairs] for x in Z] for Z in (X, Y))
    return np.array(left) @ np.array(right).T, np.array(left), np.array(right)


def completed(x, i, j):
    """The mean sign over all rankings of all items that agree with x on those that it ranks."""
    ranked = [k for k in range(len(x)) if x[k] == x[k]]
    order = sorted(ranked, key=lambda k: x[k])
    found = [
        sign(places, i, j)
        for places in permutations(range(len(x)))
        if [k for k in np.argsort(places) if k in ranked] == order
    ]
    return np.mean(found)


@pytest.fixture(params=[(2, 0, 0), (3, 0, 0), (7, 0, 0), (8, 0.4, 0), (9, 0, 0.3), (40, 0.5, 0.3),
                        (129, 0, 0), (150, 0.2, 0.2)], ids=str)  # fmt: skip
def X(request, rng):
    """Rankings of some items, with so many ties and items that are not ranked."""
    m, tied, missing = request.param
    ranks = np.argsort(rng.random((24, m)), axis=1).astype(float)
    ranks[rng.random(ranks.shape) < tied] = 1
    ranks[rng.random(ranks.shape) < missing] = nan
    return ranks


def test_three_items():
    """Reference values: the first row, the eigenvalues, and powers of e."""
    K = Kendall()(S3)
    assert K[0] == pytest.approx([1, 1 / 3, 1 / 3, -1 / 3, -1 / 3, -1])
    assert np.linalg.eigvalsh(K) == pytest.approx([0, 0, 0, 2 / 3, 8 / 3, 8 / 3], abs=1e-12)
    assert Mallows(1.0)(S3)[0] == pytest.approx(np.exp([0, -1, -1, -2, -2, -3]))


def test_dimension_is_the_number_of_pairs():
    S4 = list(permutations(range(4)))
    assert np.linalg.matrix_rank(Kendall()(S4)) == 6
    assert np.linalg.eigvalsh(Mallows(0.3)(S4))[0] > 1e-4


def test_against_pairs_of_items(X):
    A, left, _ = brute(X, X, sign)
    pairs = left.shape[1]
    assert Kendall()(X) == pytest.approx(A / pairs, abs=1e-14)
    D = np.sum((left[:, None] - left[None]) ** 2, axis=2) / 4
    assert Mallows(0.01)(X) == pytest.approx(np.exp(-0.01 * D), rel=1e-12)
    k = Kendall()
    assert k.diag(k.prepare(X)) == pytest.approx(np.diagonal(A) / pairs, abs=1e-14)
    assert k.features(k.prepare(X)) == pytest.approx(left / np.sqrt(pairs), abs=1e-14)
    assert k(X[:5], X[5:]) == pytest.approx(A[:5, 5:] / pairs, abs=1e-14)


def test_promises(X):
    for kernel in (Kendall(), Mallows(0.05), Mallows(), Kendall().normalize() + Mallows(0.2)):
        check_kernel(kernel, X)
    check_kernel(Kendall("average"), X)
    check_kernel(Mallows(0.05, "average"), X)


def test_normalised_is_tau_b(rng):
    X = rng.integers(0, 6, (15, 10))
    wanted = [[kendalltau(x, y).statistic for y in X] for x in X]
    assert Kendall().normalize()(X) == pytest.approx(np.array(wanted), abs=1e-12)


@pytest.mark.parametrize("m", [2, 3, 5])
def test_means_over_completions(m, rng):
    X = np.argsort(rng.random((14, m)), axis=1).astype(float)
    X[rng.random(X.shape) < 0.4] = nan
    A, left, _ = brute(X, X, completed)
    assert Kendall("average")(X) == pytest.approx(A / left.shape[1], abs=1e-12)
    D = np.sum((left[:, None] - left[None]) ** 2, axis=2) / 4
    assert Mallows(0.7, "average")(X) == pytest.approx(np.exp(-0.7 * D), rel=1e-10)
    k = Kendall("average")
    assert k.diag(k.prepare(X)) == pytest.approx(np.diagonal(A) / left.shape[1])


def test_ties_at_the_end_are_means_over_orders_of_the_rest(rng):
    """A list of the best k is the mean over all rankings that begin with it."""
    best = rankings_from_orders([[3, 1], [0], [2, 4, 0]], 5)
    full = [list(places) for places in permutations(range(1, 6))]
    agree = [[f for f in full if all(f[j] == r for j, r in enumerate(x) if np.sum(x == r) == 1)
              or len(set(x)) == 1] for x in best]  # fmt: skip
    wanted = [[Kendall()(a, b).mean() for b in agree] for a in agree]
    assert Kendall()(best) == pytest.approx(np.array(wanted), abs=1e-12)


def test_only_the_order_matters(rng):
    X = rng.normal(size=(20, 12))
    K = Kendall()(X)
    for same in (np.exp(X), -X, X * 1e300, X.astype(np.float32), np.argsort(np.argsort(X))):
        assert np.array_equal(Kendall()(same), K)
    relabelled = rng.permutation(12)
    assert Kendall()(X[:, relabelled]) == pytest.approx(K, abs=1e-15)
    big = np.where(np.arange(12) == 3, np.inf, X)  # surely the last
    assert np.array_equal(Kendall()(big), Kendall()(np.where(np.arange(12) == 3, 99.0, X)))


def test_bits_are_made_in_pieces_for_many_items(monkeypatch, rng):
    X = np.argsort(rng.random((9, 140)), axis=1).astype(float)
    X[rng.random(X.shape) < 0.1] = nan
    whole = Kendall()(X), Kendall("average")(X)
    monkeypatch.setattr(comparisons, "_TOGETHER", 300)
    monkeypatch.setattr(comparisons, "_PRODUCTS", 300)
    assert np.array_equal(Kendall()(X), whole[0])
    assert Kendall("average")(X) == pytest.approx(whole[1], abs=1e-13)
    monkeypatch.setattr(comparisons, "_HELD", 1000)
    assert np.array_equal(Kendall()(X), whole[0])


def test_the_same_on_any_number_of_threads(rng):
    X = np.argsort(rng.random((700, 20)), axis=1)
    one = Mallows(0.1).gram(X, Plan(workers=1, storage="dense")).to_dense()
    two = Mallows(0.1).gram(X, Plan(workers=2, storage="dense")).to_dense()
    assert np.array_equal(one, two)


def test_median(rng):
    X = np.argsort(rng.random((60, 8)), axis=1)
    D = -np.log(Mallows(1.0)(X))
    assert Mallows().resolve(X).decay == pytest.approx(0.5 / np.median(D[np.triu_indices(60, 1)]))
    assert Mallows().resolve([[1, 2], [1, 2]]).decay == 1.0
    assert "decay" in Mallows().unresolved
    with pytest.raises(UnresolvedError, match=r'decay="median"'):
        Mallows()(X[:3], X)


def test_what_is_known():
    k, m = Kendall().properties, Mallows(1.0).properties
    assert k.finite_dim
    assert k.strictly_pd.no
    assert k.characteristic.no
    assert k.universal.no
    assert "reverse" in k.characteristic.because
    assert m.strictly_pd
    assert m.universal
    assert m.characteristic
    assert "rankings" in Mallows(1.0).explain()


def test_kinds_and_files(X):
    check_kind("rankings", X, Kendall())
    check_kind("rankings", X.tolist(), Mallows(0.3))


def test_models(rng, tmp_path):
    """Which of two groups of judges: those who favour the first items, and those who do not."""
    scores = rng.normal(size=(80, 6))
    y = np.repeat([0, 1], 40)
    scores[y == 1] += np.arange(6)
    X = np.argsort(scores, axis=1).argsort(axis=1).astype(float)
    X[rng.random(X.shape) < 0.1] = nan
    for kernel in (Kendall(), Mallows(0.2), Mallows()):
        model = SVC(kernel).fit(X[::2], y[::2])
        assert model.score(X[1::2], y[1::2]) > 0.8
        save(model, tmp_path / "model")
        back = load(tmp_path / "model")
        assert np.array_equal(back.predict(X), model.predict(X))
    search = GridSearchCV(SVC(Mallows(1.0)), {"kernel__decay": [0.01, 0.2]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.8
    process = GaussianProcessRegressor(1 * Mallows(1.0), alpha=0.1).fit(X, y)
    assert process.kernel_.right.decay != 1.0
    assert KernelPCA(2, kernel=Kendall()).fit_transform(X).shape == (80, 2)
    assert two_sample_test(X[y == 0], X[y == 1], kernel=Mallows(0.1), rng=0).pvalue < 0.01
    assert two_sample_test(X[::2], X[1::2], kernel=Mallows(0.1), rng=0).pvalue > 0.01


def test_linear_machines_never_form_the_matrix(rng):
    X = np.argsort(rng.random((300, 8)), axis=1)
    gram = Kendall().gram(X)
    assert type(gram).__name__ == "LowRankGram"
    assert gram.features.shape == (300, 28)
    model = KernelRidge(0.1, kernel=Kendall()).fit(X, X[:, 0])
    dense = KernelRidge(0.1, kernel=Kendall(), plan=Plan(storage="dense")).fit(X, X[:, 0])
    assert model.predict(X) == pytest.approx(dense.predict(X))


def test_tables(rng):
    ranks = np.argsort(rng.random((30, 4)), axis=1).astype(float)
    ranks[0, 1] = nan
    table = pd.DataFrame(ranks, columns=list("abcd")).assign(age=rng.normal(size=30))
    wanted = Kendall()(ranks)
    assert Kendall().on(list("abcd"))(table) == pytest.approx(wanted)
    assert Kendall()(table[list("abcd")]) == pytest.approx(wanted)
    cells = pd.DataFrame({"ballot": list(ranks), "age": table["age"]})
    k = Kendall().on("ballot") + Gaussian().on("age")
    assert k(cells) == pytest.approx(wanted + Gaussian()(table[["age"]]))
    assert SVC(k).fit(cells, table["age"] > 0).predict(cells).shape == (30,)
    whole = ranks.astype(object)
    whole[0, 1] = None
    assert Kendall()(whole.tolist()) == pytest.approx(wanted)


def test_text():
    for k in (Kendall(), Kendall("average"), Mallows(0.5, missing="average"), Mallows()):
        assert parse(repr(k)) == k == clone(k)
    assert repr(Mallows(0.5) + 2 * Kendall()) == "Mallows(decay=0.5) + 2 * Kendall()"


def test_one_row_and_rows_that_say_nothing():
    assert Kendall()([[2, 1]])[0, 0] == 1
    empty = [[nan, nan, nan], [1, 1, 1], [1, 2, 3]]
    assert Kendall()(empty) == pytest.approx(np.diag([0, 0, 1]))
    assert Mallows(1.0)(empty)[0] == pytest.approx([1, 1, np.exp(-0.75)])
    assert Kendall("average")(empty) == pytest.approx(np.diag([0, 0, 1]))
    assert Kendall().normalize()(empty)[0] == pytest.approx([0, 0, 0])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([], "no samples"),
        (np.zeros((0, 3)), "no samples"),
        ([[1, 2, 3], [1, 2]], "the same number in each"),
        ([["a", "b"], ["b", "a"]], "rankings_from_orders"),
        ([["1", "2"], ["2", "1"]], "rankings_from_orders"),
        ([1, 2, 3], r"an \(n, m\) array, got 1 dimension"),
        ([[1], [2]], "at least two"),
        ("abc", r"wrap it: \[x\]"),
        (np.zeros((2, 3, 3)), "got 3 dimension"),
        (pd.DataFrame({"a": [1.0], "b": ["x"]}), "column 'b' does not contain numbers"),
    ],
)
def test_bad_input(X, message):
    for kernel in (Kendall(), Mallows(1.0)):
        with pytest.raises(DomainError, match=message):
            kernel(X)


def test_bad_parameters():
    with pytest.raises(ValueError, match="missing must be one of 'neutral', 'average'"):
        Kendall("last")
    with pytest.raises(ValueError, match='decay must be positive or "median"'):
        Mallows(0)
    with pytest.raises(ValueError, match="3 items, but the other sample has rankings of 2"):
        Kendall()([[1, 2, 3]], [[1, 2]])
    with pytest.raises(ValueError, match="3 items, but the other sample has rankings of 2"):
        Mallows(1.0)([[1, 2, 3]], [[1, 2]])


@pytest.mark.parametrize("kind", [np.int64, np.uint64, object, list])
def test_large_integers_are_not_rounded(kind):
    """Such as times in nanoseconds, which are whole numbers beyond 2^53."""
    first = 2**62
    rows = [[first, first + 1, 5], [first + 1, first, 5], [1, 2, 3]]
    X = rows if kind is list else np.array(rows, dtype=kind)
    small = Kendall()([[1, 2, 0], [2, 1, 0], [1, 2, 3]])
    np.testing.assert_array_equal(Kendall()(X), small)
    holes = Kendall()(np.array([[float(2**60), np.nan, 5.0], [1.0, 2.0, 0.0]]))
    np.testing.assert_array_equal(holes, Kendall()([[1.0, np.nan, 0.0], [1.0, 2.0, 0.0]]))
