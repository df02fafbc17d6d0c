"""Change points against all segmentations, against ruptures, and on samples without changes."""

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from mercer import (
    Gaussian,
    Laplacian,
    Linear,
    Plan,
    Segmentation,
    Spectrum,
    change_points,
    load,
    save,
)
from mercer.exceptions import DomainError, MemoryPlanError


def cost(K, edges):
    """By the definition, with K as an array."""
    parts = [K[a:b, a:b] for a, b in pairwise(edges)]
    return sum(np.trace(part) - part.sum() / len(part) for part in parts)


def by_brute_force(K, segments, least):
    n = len(K)
    all_edges = [(0, *inner, n) for inner in combinations(range(1, n), segments - 1)]
    allowed = [edges for edges in all_edges if min(np.diff(edges)) >= least]
    costs = [cost(K, edges) for edges in allowed]
    return min(costs), allowed[int(np.argmin(costs))][1:-1]


def steps(rng, *sizes, height=4.0):
    return np.concatenate(
        [rng.normal(height * (i % 2), 1, (size, 2)) for i, size in enumerate(sizes)]
    )


@pytest.mark.parametrize("kernel", [Gaussian(0.8), Linear(), Laplacian(1.0) + Linear()])
@pytest.mark.parametrize("least", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 10])
def test_all_segmentations(rng, kernel, least, n):
    X = rng.normal(size=(n, 2))
    K = kernel(X)
    for segments in range(1, max(n // least, 1) + 1):
        found = change_points(X, segments - 1, kernel, min_size=least)
        least_cost, changes = (
            by_brute_force(K, segments, least) if n >= least else (cost(K, (0, n)), ())
        )
        np.testing.assert_allclose(found.cost, least_cost, atol=1e-10)
        assert found.costs[-1] == found.cost
        assert len(found.costs) == segments
        if least_cost > 1e-8:  # else there are ties
            assert tuple(found.changes) == changes


def test_many_samples_and_many_segments(rng):
    """Across strips and chunks: no neighbouring segmentation is better, and costs are exact."""
    X = steps(rng, 300, 250, 100, 400, height=1.0)
    K = Gaussian(1.5)(X)
    found = change_points(X, 7, Gaussian(1.5), min_size=5)
    edges = [0, *found.changes, len(X)]
    assert found.cost == pytest.approx(cost(K, edges), abs=1e-8)
    assert min(np.diff(edges)) >= 5
    for place in range(1, len(edges) - 1):
        for other in range(edges[place - 1] + 5, edges[place + 1] - 4):
            moved = [*edges[:place], other, *edges[place + 1 :]]
            assert cost(K, moved) >= found.cost - 1e-8
    assert np.all(np.diff(found.costs) < 0)


def test_the_dynamic_programme_line_by_line(rng):
    """The recursion in plain NumPy, on a sample longer than a strip of ends."""
    X, most = rng.normal(size=(600, 1)), 6
    K = Laplacian(1.0)(X)
    total = np.zeros((601, 601))
    total[1:, 1:] = K.cumsum(axis=0).cumsum(axis=1)
    n = len(X)
    V = np.full((most + 1, n + 1), np.inf)
    V[0, 0] = 0
    for e in range(1, n + 1):
        s = np.arange(e)
        square = total[e, e] - 2 * total[s, e] + total[s, s]
        C = (e - s) - square / (e - s)
        C[e - s < 2] = np.inf
        for d in range(1, most + 1):
            V[d, e] = np.min(V[d - 1, s] + C)
    found = change_points(X, most - 1, Laplacian(1.0))
    np.testing.assert_allclose(found.costs, V[1:, n], atol=1e-8)


def test_changes_of_spread_and_of_shape(rng):
    parts = [rng.normal(0, 1, 150), rng.normal(0, 4, 120), rng.choice([-4.0, 4.0], 130)]
    found = change_points(np.concatenate(parts))
    assert found.n_changes == 2
    assert np.abs(found.changes - [150, 270]).max() <= 20  # 4 and -4 are likely before, too
    assert len(found.segments) == 3
    assert found.penalties is not None
    assert np.all(np.bincount(found.labels) == np.diff([0, *found.changes, 400]))


def test_samples_without_changes_mostly_have_none(rng):
    draws = {
        "normal": lambda: rng.normal(size=(200, 1)),
        "several columns": lambda: rng.normal(size=(200, 5)),
        "heavy tails": lambda: rng.standard_t(2, size=(200, 1)),
        "skewed": lambda: rng.exponential(size=(200, 2)),
    }
    for name, draw in draws.items():
        wrong = sum(change_points(draw()).n_changes > 0 for _ in range(30))
        assert wrong <= 5, name  # about one in 40 is


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", [None, Linear(), Laplacian("median"), Gaussian(0.3)])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e6, -3.3e-7])
def test_constants_have_no_changes(value, kernel, dtype):
    for n in (1, 2, 3, 50, 700):
        X = np.full((n, 2), value, dtype)
        assert change_points(X, kernel=kernel).n_changes == 0
        assert change_points(X, kernel=kernel, penalty=0.0).n_changes == 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", [None, Linear(), Gaussian(0.3)])
def test_steps_without_noise_are_found_and_nothing_else(kernel, dtype):
    x = np.repeat([0.1, 0.7, 0.3, 0.7], [30, 40, 2, 50]).astype(dtype)
    for penalty in ("slope", 0.0):
        np.testing.assert_array_equal(
            change_points(x, kernel=kernel, penalty=penalty).changes, [30, 70, 72]
        )


def test_an_outlier_does_not_hide_a_change(rng):
    x = rng.normal(size=300)
    x[150:] += 3
    clean = change_points(x).changes
    assert np.abs(clean - [150]).max() <= 2
    for value in (1e8, -99999.0):
        x[70] = value
        np.testing.assert_array_equal(change_points(x).changes, clean)
        alone = change_points(x, kernel=Linear(), min_size=1)  # cut out, and nothing is lost
        np.testing.assert_array_equal(alone.changes[:2], [70, 71])
        assert abs(alone.changes[2] - 150) <= 2
        assert alone.n_changes == 3


@pytest.mark.parametrize("kernel", [None, Linear()])
def test_offsets_and_units_make_no_difference(rng, kernel):
    X = steps(rng, 60, 80)
    plain = change_points(X, kernel=kernel)
    moved = change_points(X + 1e7, kernel=kernel)
    np.testing.assert_array_equal(moved.changes, plain.changes)
    np.testing.assert_allclose(moved.costs, plain.costs, rtol=1e-5)
    if kernel is None:
        units = change_points(X * [1e-6, 1e4])
        np.testing.assert_allclose(units.costs, plain.costs, rtol=1e-6)


def test_any_data(rng):
    letters = list("ACGT")
    shares = np.repeat([[0.25] * 4, [0.4, 0.1, 0.1, 0.4]], 40, axis=0)
    strings = ["".join(rng.choice(letters, 20, p=p)) for p in shares]
    assert abs(change_points(strings, 1, Spectrum(2)).changes[0] - 40) <= 3
    X = steps(rng, 40, 50)
    wanted = change_points(X, 2, Gaussian(1.0)).changes
    same = (X.tolist(), sp.csr_array(X), pd.DataFrame(X, columns=["a", "b"]))
    for data in same:
        np.testing.assert_array_equal(change_points(data, 2, Gaussian(1.0)).changes, wanted)
    line = change_points(X[:, 0], 2, "rbf")  # a name, on numbers
    np.testing.assert_array_equal(line.changes, change_points(X[:, :1], 2, "rbf").changes)
    K = Gaussian(1.0)(X)
    np.testing.assert_array_equal(change_points(K, 2, "precomputed").changes, wanted)
    dense = change_points(X, 2, Gaussian(1.0), plan=Plan(storage="dense"))
    np.testing.assert_array_equal(dense.changes, wanted)


def test_penalties(rng):
    X = steps(rng, 50, 50, 50)
    assert change_points(X, penalty=1e9).n_changes == 0
    some = change_points(X, penalty=5.0)
    assert np.argmin(some.costs + 5.0 * np.arange(len(some.costs))) == some.n_changes == 2
    most = change_points(X, penalty=0.0, max_changes=4)
    assert most.n_changes == 4
    assert "max_changes" in most.notes[0]
    few = change_points(X[:8])
    assert few.n_changes == 0
    assert "too few" in str(few)


def test_features_in_bins(rng):
    """Refined from bins: the same as the exact search, where changes are clear."""
    X = steps(rng, 333, 291, 377, height=2.0)
    exact = change_points(X, 2, Linear())
    binned = change_points(X, 2, Linear(), step=20)
    np.testing.assert_array_equal(binned.changes, exact.changes)
    assert binned.cost == pytest.approx(exact.cost)
    assert exact.step == 1
    assert binned.costs[-1] >= exact.costs[-1]
    assert "bins of 20" in str(binned)
    plan = Plan(rank=40)
    near = change_points(X, 2, Gaussian(2.0), plan=plan, step=16)
    np.testing.assert_array_equal(
        near.changes, change_points(X, 2, Gaussian(2.0), plan=plan).changes
    )
    assert change_points(X, 30, Linear(), step=7, min_size=9).n_changes == 30


def test_large_samples_are_binned_by_themselves(rng):
    X = rng.normal(size=(30_000, 1))
    X[12_345:] += 1.0
    found = change_points(X, kernel=Linear(), max_changes=15)
    assert found.step == 3
    assert found.n_changes == 1
    assert abs(found.changes[0] - 12_345) < 10


def test_bins_with_a_change_inside_are_not_cut_out(rng):
    """Large shifts: a bin that holds a change is unlike both sides of it."""
    X = np.repeat([0.0, 30.0, -20.0, 50.0], [505, 995, 1013, 487]) + rng.normal(size=3000)
    found = change_points(X, kernel=Linear(), step=10)
    np.testing.assert_array_equal(found.changes, [505, 1500, 2513])
    assert np.argmin(found.costs + found.penalties) > 3


def test_threads_make_no_difference(rng):
    X = np.round(steps(rng, 900, 800, 700), 1)  # with ties, in several jobs
    one, two = (change_points(X, kernel=Gaussian(2.0), plan=Plan(workers=w)) for w in (1, 3))
    np.testing.assert_array_equal(one.costs, two.costs)
    np.testing.assert_array_equal(one.changes, two.changes)
    with ThreadPoolExecutor(3) as pool:
        several = list(pool.map(lambda _: change_points(X, kernel=Gaussian(2.0)), range(3)))
    for found in several:
        np.testing.assert_array_equal(found.costs, one.costs)


def test_means_and_words_and_files(rng, tmp_path):
    X = steps(rng, 40, 30)
    found = change_points(X, kernel=Gaussian(1.0))
    mean, other = found.means(X)
    at = found.changes[0]
    np.testing.assert_allclose(mean(X[:3]), Gaussian(1.0)(X[:3], X[:at]).mean(axis=1))
    assert (mean - other).norm() > 0.5
    with pytest.raises(ValueError, match="69 samples"):
        found.means(X[1:])
    assert "0:40, 40:70" in str(found)
    assert "Gaussian" in found.explain()
    save(found, tmp_path / "found.mercer")
    again = load(tmp_path / "found.mercer")
    assert isinstance(again, Segmentation)
    assert str(again) == str(found)
    np.testing.assert_array_equal(again.labels, found.labels)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"n_changes": 60}, "n_changes=60 with min_size=2 needs 122 samples"),
        ({"n_changes": -1}, "n_changes must be an integer"),
        ({"min_size": 0}, "min_size"),
        ({"max_changes": 2.5}, "max_changes"),
        ({"penalty": "aic"}, "penalty must be"),
        ({"penalty": np.nan}, "penalty must be"),
        ({"step": 4, "kernel": Gaussian()}, "Plan\\(rank"),
        ({"n_changes": 20, "step": 15, "kernel": Linear()}, "smaller step"),
        ({"plan": Plan(rank=5, storage="streamed")}, "in memory"),
    ],
)
def test_bad_parameters(rng, options, match):
    with pytest.raises(ValueError, match=match):
        change_points(rng.normal(size=(100, 2)), **options)


@pytest.mark.filterwarnings("ignore:overflow")
def test_bad_data(rng):
    with pytest.raises(ValueError, match="no samples"):
        change_points([])
    with pytest.raises(DomainError, match="NaN"):
        change_points([1.0, np.nan, 2.0])
    with pytest.raises(DomainError, match="Spectrum"):
        change_points(["ab", "cd"])
    with pytest.raises(DomainError, match="not finite"):
        change_points(rng.normal(size=(30, 1)) * 1e200, kernel=Linear())
    with pytest.raises(MemoryPlanError, match="100 places"):
        change_points(rng.normal(size=100), plan=Plan(memory="10 kB"))


@pytest.mark.peer
@pytest.mark.parametrize("least", [1, 2, 4])
@pytest.mark.parametrize("model", ["rbf", "linear"])
def test_the_same_as_ruptures(rng, model, least):
    ruptures = pytest.importorskip("ruptures")
    X = steps(rng, 120, 90, 140, height=1.0)
    kernel = Gaussian.from_gamma(0.4) if model == "rbf" else Linear()
    for count in (1, 2, 5):
        params = {"gamma": 0.4} if model == "rbf" else None
        peer = ruptures.KernelCPD(kernel=model, min_size=least, params=params).fit(X)
        found = change_points(X, count, kernel, min_size=least)
        assert [*found.changes, len(X)] == peer.predict(n_bkps=count)
        if model == "linear":  # Dynp limits the exponents of its Gaussian kernel
            slow = ruptures.Dynp(model="l2", min_size=least, jump=1).fit(X)
            total = slow.cost.sum_of_costs(slow.predict(n_bkps=count))
            assert found.cost == pytest.approx(total)
