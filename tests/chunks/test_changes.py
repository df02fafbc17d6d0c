"""Changes of chunks: functions, parts by a hash, columns to one scale."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from mercer import stream
from mercer.chunks import standardized
from mercer.chunks.changes import uniform

N = 5000
X = np.arange(float(N))[:, None]


@pytest.mark.parametrize("rows", [7, 1000, N])
def test_both_parts_are_all_samples_whatever_the_chunks(rows):
    most, few = stream(X, target=X[:, 0], rows=rows).split(0.2, rng=1)
    a, b = (np.concatenate([c.X[:, 0] for c in part]) for part in (most, few))
    np.testing.assert_array_equal(np.sort(np.concatenate([a, b])), X[:, 0])
    assert (len(most), len(few)) == (len(a), len(b))
    assert abs(len(b) - 0.2 * N) < 5 * np.sqrt(N * 0.16)
    np.testing.assert_array_equal(b, np.concatenate([c.y for c in few]))  # in every pass
    _, again = stream(X, rows=33).split(0.2, rng=1)
    np.testing.assert_array_equal(b, np.concatenate([c.X[:, 0] for c in again]))
    _, other = stream(X).split(0.2, rng=2)
    assert len(np.intersect1d(b, np.concatenate([c.X[:, 0] for c in other]))) < 0.35 * len(b)


def test_chunks_of_a_part_are_numbered_and_none_is_empty():
    _, few = stream(X[:200], rows=3).split(0.1, rng=0)
    starts, sizes = zip(*((c.start, len(c)) for c in few), strict=True)
    assert min(sizes) > 0
    np.testing.assert_array_equal(starts, np.cumsum((0, *sizes[:-1])))
    taken = few.take(np.array([0, 5]))
    np.testing.assert_array_equal(taken.X, np.concatenate([c.X for c in few])[[0, 5]])


def test_parts_of_parts():
    most, few = stream(X).split(0.5, rng=0)
    a, b = few.split(0.5, rng=1)
    assert len(most) + len(a) + len(b) == N
    assert abs(len(b) - N / 4) < 5 * np.sqrt(N * 3 / 16)


def test_the_hash_is_uniform_and_the_same_everywhere():
    u = uniform(0, 100_000, 12345)
    assert u.min() >= 0
    assert u.max() < 1
    counts = np.histogram(u, 100, (0, 1))[0]
    assert ((counts - 1000) ** 2 / 1000).sum() < 160  # chi-squared with 99 degrees of freedom
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 0.02
    np.testing.assert_array_equal(u[500:600], uniform(500, 600, 12345))
    # the reference sequence of SplitMix64 from the seed 0: 0xe220a8397b1dcdaf first
    assert uniform(0, 1, 0)[0] == (0xE220A8397B1DCDAF >> 11) * 2.0**-53


def test_targets_beside_samples():
    y, w = np.arange(N) % 7, np.ones(N)
    for chunks in (stream(X, rows=99), stream(lambda: [X[:2000], X[2000:]])):
        with_both = chunks.beside(y, w)
        np.testing.assert_array_equal(np.concatenate([c.y for c in with_both]), y)
        few = with_both.sample(50, 0)
        np.testing.assert_array_equal(few.y, few.X[:, 0] % 7)
        np.testing.assert_array_equal(few.weight, np.ones(50))


@pytest.mark.parametrize("fraction", [0, 1, -0.1, 2])
def test_fractions_out_of_range_are_refused(fraction):
    with pytest.raises(ValueError, match="fraction must be between 0 and 1"):
        stream(X).split(fraction)


def test_functions_of_samples():
    doubled = stream(X, target=X[:, 0], rows=999).apply(lambda X: 2 * X)
    assert len(doubled) == N
    np.testing.assert_array_equal(np.concatenate([c.X for c in doubled]), 2 * X)
    np.testing.assert_array_equal(doubled.sample(9, 0).X[:, 0], 2 * doubled.sample(9, 0).y)
    with pytest.raises(ValueError, match="a function of 1000 samples returned 10"):
        list(stream(X[:1000]).apply(lambda X: X[:10]))


def test_changes_can_be_sent():
    most, _ = stream(X).split(0.2, rng=0)
    again = pickle.loads(pickle.dumps(most.change))
    assert again.count(0, N) == len(most)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, np.float32])
def test_scaling_is_that_of_scikit_learn(form, weighted):
    rng = np.random.default_rng(0)
    A = np.column_stack([rng.normal(size=300), 1e6 + rng.normal(size=300), np.full(300, 7.0)])
    A[rng.random(A.shape) < 0.3] = 0
    A[:, 2] = 7
    data = form(A)
    w = rng.random(300) if weighted else None
    scaled, scaler = standardized(stream(data, weight=w, rows=70))
    mean = not sp.issparse(data)
    known = StandardScaler(with_mean=mean).fit(A)
    if weighted:
        known.mean_ = np.average(A, axis=0, weights=w)
        known.scale_ = np.sqrt(np.average((A - known.mean_) ** 2, axis=0, weights=w))
        known.scale_[2] = 1
    np.testing.assert_allclose(scaler.scale_, known.scale_, rtol=1e-6)
    if mean:
        np.testing.assert_allclose(scaler.mean_, known.mean_, rtol=1e-6)
    found = [c.X.toarray() if sp.issparse(c.X) else c.X for c in scaled]
    np.testing.assert_allclose(np.concatenate(found), known.transform(A), rtol=1e-4, atol=1e-4)


def test_offsets_do_not_cost_digits():
    rng = np.random.default_rng(0)
    A = 1e8 + rng.normal(size=(2000, 2))
    _, scaler = standardized(stream(A, rows=100))
    np.testing.assert_allclose(scaler.scale_, A.std(axis=0), rtol=1e-7)


def test_tables_stay_tables():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [5, 6, 9]})
    scaled, scaler = standardized(stream(table, rows=2))
    (first, _) = scaled
    assert list(first.X.columns) == ["a", "b"]
    np.testing.assert_allclose(scaler.transform(table).to_numpy().mean(axis=0), 0, atol=1e-12)


def test_weights_that_are_all_zero_are_refused():
    with pytest.raises(ValueError, match="all weights are zero"):
        standardized(stream(X, weight=np.zeros(N)))
