"""A user's own function as a kernel."""

import numpy as np
import pytest
from scipy import sparse

from mercer import Custom, Gaussian
from mercer.testing import check_gram, check_kernel

X = np.random.default_rng(0).uniform(0.1, 1, (20, 2))


def intersection(x, y):
    return np.minimum(x, y).sum()


def intersection_block(A, B):
    return np.minimum(A[:, None], B[None]).sum(axis=2)


@pytest.mark.parametrize(
    "kernel",
    [Custom(intersection), Custom(intersection_block, batch=True)],
    ids=["per pair", "batch"],
)
def test_histogram_intersection(kernel):
    expected = [[sum(min(a, b) for a, b in zip(x, y, strict=True)) for y in X] for x in X]
    np.testing.assert_allclose(kernel(X), expected)
    check_kernel(kernel, X)
    check_kernel(2 * kernel + Gaussian(), X)
    check_kernel(kernel.normalize(), X)
    new = X[:3] / 2
    check_gram(kernel.gram(X), np.array(expected), new, intersection_block(new, X))


def test_samples_of_any_kind():
    def overlap(x, y):
        return len(x & y)

    K = Custom(overlap)([{1, 2}, {2, 3, 4}])
    np.testing.assert_array_equal(K, [[2, 1], [1, 3]])
    np.testing.assert_array_equal(
        Custom(lambda x, y: x * y)(np.array([1.0, 2.0])), [[1, 2], [2, 4]]
    )
    rows = sparse.csr_matrix([[1.0, 0.0], [2.0, 3.0]])
    dots = Custom(lambda x, y: (x @ y.T).sum())(rows)
    np.testing.assert_array_equal(dots, [[1, 2], [2, 13]])


def test_rows_of_a_table():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"name": ["a", "b", "a"], "size": [1.0, 2.0, 3.0]})

    def alike(x, y):
        return (x["name"] == y["name"]) * x["size"] * y["size"]

    expected = [[1, 0, 3], [0, 4, 0], [3, 0, 9]]
    np.testing.assert_array_equal(Custom(alike)(table), expected)

    def alike_block(A, B):
        same = A["name"].to_numpy()[:, None] == B["name"].to_numpy()
        return same * np.outer(A["size"], B["size"])

    np.testing.assert_array_equal(Custom(alike_block, batch=True)(table), expected)
    check_kernel(Custom(alike), table)
    check_kernel(Custom(alike_block, batch=True), table)


def test_a_cached_result_is_not_overwritten():
    kept = np.ones((2, 2))
    k = Custom(lambda A, B: kept[: len(A), : len(B)], batch=True)
    (3 * k + 1)([0, 1])
    assert np.all(kept == 1)


def test_sparse_and_integer_and_float32_blocks():
    def shared(A, B):
        return sparse.csr_matrix(np.equal.outer(A, B).astype(int))

    K = Custom(shared, batch=True)(np.array([1, 2, 1]))
    assert K.dtype == np.float64
    np.testing.assert_array_equal(K, [[1, 0, 1], [0, 1, 0], [1, 0, 1]])
    single = Custom(lambda A, B: (A @ B.T).astype(np.float32), batch=True)
    assert single(X).dtype == np.float32


def test_nothing_is_claimed():
    p = Custom(intersection).properties
    assert all(fact.unknown for fact in p.facts().values())
    assert "check_psd" in p.psd.because
    assert repr(Custom(intersection, batch=True)) == "Custom(function=intersection, batch=True)"


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Custom(lambda A, B: np.ones(3), batch=True), r"shape \(4, 4\), got shape \(3,\)"),
        (Custom(lambda x, y: np.ones(2)), r"one number per pair.*got shape \(4, 4, 2\)"),
        (Custom(lambda x, y: "far"), "must return numbers"),
        (Custom(lambda x, y: None), "must return numbers|returned nan"),
        (Custom(lambda x, y: np.inf if x is y else 0.0), "returned inf for samples 0 and 0"),
    ],
)
def test_bad_functions(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel.pairwise(*[kernel.prepare([1.0, 2.0, 3.0, 4.0])] * 2)


def test_bad_arguments():
    with pytest.raises(ValueError, match="function must be a function of two samples"):
        Custom(3)
    with pytest.raises(ValueError, match="batch must be one of"):
        Custom(intersection, batch="yes")
    with pytest.raises(ValueError, match="no samples"):
        Custom(intersection)([])
