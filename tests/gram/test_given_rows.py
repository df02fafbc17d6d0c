"""Rows of a matrix that a user gave, read where a solver needs them."""

import numpy as np
import pytest
import sklearn.svm as sk

from mercer import SVC, SVR, Gaussian, NuSVC, OneClassSVM
from mercer.gram.rows import GivenRowGram, RowGram
from mercer.solvers.box import BoxProblem
from mercer.solvers.smo import solve_box


def matrix(rng, n, classes=2, shift=0.5):
    y = np.arange(n) % classes
    X = rng.normal(size=(n, 5)) + shift * rng.normal(size=(classes, 5))[y]
    return Gaussian(2.0)(X), y


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_entries(rng, dtype):
    K = rng.normal(size=(300, 300))
    K = (K + K.T).astype(dtype)
    index = rng.permutation(300)[:250]
    part = GivenRowGram(K, index, np.float64, 1)
    block = part.block(np.arange(3), slice(5, 9))
    np.testing.assert_array_equal(block, K[np.ix_(index[:3], index[5:9])])
    np.testing.assert_array_equal(part.diag(), np.diag(K)[index])
    np.testing.assert_allclose(part @ np.ones(250), K[np.ix_(index, index)].sum(axis=1), rtol=1e-4)
    cache, slots = np.full((4, 250), -1.0), np.array([2, 0])
    part.write(np.array([7, 8]), slice(10, 250), cache, slots, 10)
    np.testing.assert_array_equal(cache[slots, 10:], K[index[[7, 8]]][:, index[10:]])
    assert np.all(cache[[1, 3]] == -1)
    some = np.array([3, 1, 200])
    np.testing.assert_array_equal(part.subset(some).matrix, K[np.ix_(index[some], index[some])])


@pytest.mark.parametrize("n", [350, 900, 1500])
def test_no_rows_but_those_of_variables_that_move(rng, n):
    K, y = matrix(rng, n, shift=2.0)
    y = 2.0 * y - 1
    task = BoxProblem(y, np.minimum(y, 0.0), np.maximum(y, 0.0), np.zeros(n))
    dtype = np.float32 if n > 1000 else np.float64
    found = solve_box(GivenRowGram(K, np.arange(n), dtype, 1), task)
    wanted = solve_box(RowGram.stored(K), task, tol=1e-8)
    value, best = (b @ K @ b / 2 - y @ b for b in (found.beta, wanted.beta))
    assert value == pytest.approx(best, rel=1e-4)
    np.testing.assert_allclose(found.gradient, K @ found.beta - y, atol=1e-4)
    assert found.converged
    assert np.count_nonzero(found.beta) <= found.stats["rows"] < n / 3


@pytest.mark.parametrize("form", ["C", "F", "float32", "memory map", "view"])
def test_all_forms_of_matrices(rng, tmp_path, form):
    K, y = matrix(rng, 900, 3, shift=1.5)
    given = {
        "C": lambda: K,
        "F": lambda: np.asfortranarray(K),
        "float32": lambda: K.astype(np.float32),
        "memory map": lambda: memory_map(K, tmp_path),
        "view": lambda: np.repeat(K, 2, axis=1)[:, ::2],
    }[form]()
    ours = SVC(kernel="precomputed", tol=1e-5, decision_function_shape="ovo").fit(given, y)
    theirs = sk.SVC(kernel="precomputed", tol=1e-5, decision_function_shape="ovo").fit(K, y)
    np.testing.assert_allclose(
        ours.decision_function(given), theirs.decision_function(K), atol=2e-4
    )


def memory_map(K, folder):
    np.save(folder / "K.npy", K)
    return np.load(folder / "K.npy", mmap_mode="r")


def test_other_machines(rng):
    K, y = matrix(rng, 700)
    target = K[:, :3].sum(axis=1)
    for ours, theirs, given in (
        (SVR("precomputed", tol=1e-6), sk.SVR(kernel="precomputed", tol=1e-6), target),
        (NuSVC("precomputed", tol=1e-7), sk.NuSVC(kernel="precomputed", tol=1e-7), y),
        (OneClassSVM("precomputed", tol=1e-7), sk.OneClassSVM(kernel="precomputed", tol=1e-7), y),
    ):
        predict = "predict" if hasattr(ours, "epsilon") else "decision_function"
        found, wanted = (getattr(m.fit(K, given), predict)(K) for m in (ours, theirs))
        scale = np.abs(wanted).max()
        np.testing.assert_allclose(found, wanted, atol=2e-3 * scale)


def test_a_small_cache(rng):
    """Where not all rows fit, they come and go."""
    K, y = matrix(rng, 900)
    wanted = SVC(kernel="precomputed", tol=1e-5).fit(K, y).decision_function(K)
    found = SVC(kernel="precomputed", tol=1e-5, cache_size=1.5).fit(K, y).decision_function(K)
    np.testing.assert_allclose(found, wanted, atol=1e-3)


def test_one_wrong_entry_is_found(rng):
    K, y = matrix(rng, 600)
    K[3, 599] += 0.1
    with pytest.raises(ValueError, match=r"K and K.T differ by"):
        SVC(kernel="precomputed").fit(K, y)
