"""Kernels on sets against counting elements, numerical integrals, and each other."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from mercer import Intersection, Jaccard, Plan, SymmetricDifference, load, parse, save
from mercer.exceptions import DomainError, UnresolvedError
from mercer.testing import check_kernel, check_kind

LETTERS = "abcdefgh"
WEIGHTS = {letter: place / 3 for place, letter in enumerate(LETTERS)}


def some(rng):
    return rng.choice(list(LETTERS), rng.integers(0, 7), replace=False).tolist()


def corners(rng, d):
    low, high = np.sort(rng.random((2, d)), axis=0)
    return (low, high) if d > 1 else (float(low[0]), float(high[0]))


@pytest.fixture
def samples(rng):
    """Sets in all forms."""

    def unions(d):
        several = [[corners(rng, d) for _ in range(rng.integers(0, 5))] for _ in range(12)]
        return several + [corners(rng, d) for _ in range(12)]

    return {
        "sets": [set(some(rng)) for _ in range(24)],
        "weighted": [{x: float(rng.exponential()) for x in some(rng)} for _ in range(24)],
        "sparse": sp.random(24, 9, 0.4, random_state=0, format="csr"),
        "masks": rng.random((24, 7, 6)) < rng.random((24, 1, 1)),
        "intervals": unions(1),
        "boxes": unions(2),
    }


FORMS = ["sets", "weighted", "sparse", "masks", "intervals", "boxes"]


@pytest.mark.parametrize("form", FORMS)
def test_promises(form, samples):
    X = samples[form]
    for k in (Intersection(), SymmetricDifference(), Jaccard(), Intersection().normalize()):
        check_kernel(k, X)
    check_kind("sets", X, SymmetricDifference(lengthscale=0.8))


def test_promises_of_weights(samples, rng):
    for k in (Intersection(WEIGHTS), SymmetricDifference(WEIGHTS), Jaccard(WEIGHTS)):
        check_kernel(k, samples["sets"])
        check_kernel(k, samples["weighted"])
    w = rng.random((7, 6))
    for k in (Intersection(w), SymmetricDifference(w, 0.5), Jaccard(w), Jaccard("counting")):
        check_kernel(k, samples["masks"])


@pytest.mark.parametrize("measure", ["natural", "counting", WEIGHTS], ids=["n", "c", "w"])
def test_sets_by_counting(measure, samples):
    X = samples["sets"]
    mu = WEIGHTS if isinstance(measure, dict) else dict.fromkeys(LETTERS, 1.0)

    def table(combine):
        return np.array([[sum(mu[x] for x in combine(a, b)) for b in X] for a in X])

    inner, union, apart = (
        table(f) for f in (set.intersection, set.union, set.symmetric_difference)
    )
    assert Intersection(measure)(X) == pytest.approx(inner)
    share = np.divide(inner, union, out=np.ones_like(inner), where=union > 0)
    assert Jaccard(measure)(X) == pytest.approx(share)
    assert SymmetricDifference(measure, 1.5)(X) == pytest.approx(np.exp(-apart / 4.5))
    k = SymmetricDifference.from_rate(0.3, measure)
    assert k(X) == pytest.approx(np.exp(-0.3 * apart))
    resolved = SymmetricDifference(measure).resolve(X).lengthscale
    positive = np.sqrt(apart[np.triu_indices(24, 1)])
    assert resolved == pytest.approx(np.median(positive[positive > 0]))


def test_weighted_sets_are_minima_and_maxima(samples):
    X = samples["weighted"]
    V = np.array([[x.get(letter, 0.0) for letter in LETTERS] for x in X])
    low = np.minimum(V[:, None], V).sum(axis=2)
    high = np.maximum(V[:, None], V).sum(axis=2)
    apart = np.abs(V[:, None] - V).sum(axis=2)
    assert Intersection()(X) == pytest.approx(low)
    assert SymmetricDifference(lengthscale=1.0)(X) == pytest.approx(np.exp(-apart / 2))
    share = np.divide(low, high, out=np.ones_like(low), where=high > 0)
    assert Jaccard()(X) == pytest.approx(share)
    assert Jaccard()(sp.csr_matrix(V)) == pytest.approx(share)
    ones = [dict.fromkeys(x, 1.0) for x in samples["sets"]]
    assert Jaccard()(ones) == pytest.approx(Jaccard()(samples["sets"]))
    assert Jaccard()(ones, samples["sets"]) == pytest.approx(Jaccard()(samples["sets"]))


def test_columns_of_sparse_rows_are_whole_numbers():
    assert Intersection()(sp.csr_matrix([[2.0, 0, 1.0]]), [{0: 1.0, 2: 5.0}]).tolist() == [[2.0]]


@pytest.mark.parametrize("form", ["intervals", "boxes"])
def test_boxes_against_a_grid(form, samples):
    """Volumes are sums over the cells that the corners of all boxes cut out."""
    X = samples[form]
    unions = [x if isinstance(x, list) else [x] for x in X]
    stacked = [np.atleast_2d(np.array(box, dtype=float).T).T for union in unions for box in union]
    edges = [np.unique([box[:, d] for box in stacked]) for d in range(stacked[0].shape[1])]
    middles = np.meshgrid(*[(e[1:] + e[:-1]) / 2 for e in edges], indexing="ij")
    cells = np.prod(np.meshgrid(*[np.diff(e) for e in edges], indexing="ij"), axis=0)

    def mask(union):
        inside = np.zeros(cells.shape, bool)
        for low, high in union:
            pairs = zip(middles, np.atleast_1d(low), np.atleast_1d(high), strict=True)
            inside |= np.all([(a < m) & (m < b) for m, a, b in pairs], axis=0)
        return inside

    masks = np.array([mask(union) for union in unions])
    for kernel in (Intersection, Jaccard):
        assert kernel()(X) == pytest.approx(kernel(cells)(masks), abs=1e-12)


def test_masks_count_or_measure(samples):
    M = samples["masks"]
    flat = M.reshape(24, -1).astype(float)
    counts = flat @ flat.T
    assert np.array_equal(Intersection("counting")(M), counts)
    assert Intersection()(M) == pytest.approx(counts / 42)
    assert Intersection()(list(M)) == pytest.approx(counts / 42)
    assert Jaccard()(M) == pytest.approx(Jaccard()([set(np.flatnonzero(m)) for m in M]))
    k = Intersection()
    low = k.gram(M, Plan(storage="lowrank")).to_dense()
    assert low == pytest.approx(counts / 42)


def test_equal_elements_are_one():
    assert Intersection()([{1, "a"}], [{1.0, "b"}, {True}, {"1"}]).tolist() == [[1.0, 1.0, 0.0]]
    assert Intersection()([{(1, "a"), (2, "b")}], [frozenset({(1, "a")})])[0, 0] == 1


def test_empty_sets():
    X = [set(), {"a"}]
    assert Jaccard()(X).tolist() == [[1, 0], [0, 1]]
    assert Intersection()(X).tolist() == [[0, 0], [0, 1]]
    assert Jaccard()([[], (1.0, 1.0), (0.0, 1.0)]).tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    assert Jaccard()([[]]).tolist() == [[1.0]]
    assert SymmetricDifference(lengthscale=1.0)([set(), frozenset()]).tolist() == [[1, 1], [1, 1]]


def test_differences_are_negative_definite(samples):
    for form in FORMS:
        k = SymmetricDifference(lengthscale=1.0)
        D = -2 * np.log(k(samples[form]))
        H = np.eye(len(D)) - 1 / len(D)
        assert np.linalg.eigvalsh(H @ D @ H)[-1] < 1e-10


def test_text_and_files(tmp_path, samples):
    for k in (Intersection(WEIGHTS), SymmetricDifference("counting", 0.5), Jaccard([1.0, 2.0])):
        assert parse(repr(k)) == k
        save(k, tmp_path / "k")
        assert load(tmp_path / "k") == k
    X = [*samples["sets"], frozenset({1, 2.5, ("a", None)})]
    save(X, tmp_path / "X")
    assert load(tmp_path / "X") == X


def test_what_is_known_of_them():
    s = SymmetricDifference(lengthscale=1.0).properties
    assert s.universal
    assert s.characteristic
    assert s.strictly_pd
    assert s.bounded
    assert Jaccard().properties.strictly_pd
    assert Intersection().properties.strictly_pd.no
    assert Intersection("counting").properties.bounded.no
    assert "L2(mu)" in Intersection().explain()


def test_all_subsets_tell_themselves_apart():
    """Strictly positive definite: on all 32 subsets of five elements."""
    X = [{x for x in range(5) if i >> x & 1} for i in range(32)]
    for k in (Jaccard(), SymmetricDifference(lengthscale=1.0)):
        assert np.linalg.eigvalsh(k(X))[0] > 1e-3


def test_bad_input(samples):
    k = Jaccard()
    for wrong in ("area", -1.0, [1.0, -1.0], {"a": np.nan}, None):
        with pytest.raises(ValueError, match="measure must be one of"):
            Jaccard(wrong)
    with pytest.raises(ValueError, match="rate must be positive"):
        SymmetricDifference.from_rate(0.0)
    with pytest.raises(UnresolvedError, match="depends on the data"):
        SymmetricDifference()([{1}], [{2}])
    with pytest.raises(DomainError, match="no samples"):
        k([])
    with pytest.raises(DomainError, match=r"\.on\(column\)"):
        k(pd.DataFrame({"a": [1.0]}))
    with pytest.raises(DomainError, match="sample 1 is a list"):
        k([{1}, [1]])
    with pytest.raises(DomainError, match="sample 0 is a str"):
        k(["abc"])
    with pytest.raises(DomainError, match="boolean"):
        k(np.zeros((3, 4)))
    with pytest.raises(DomainError, match="are not in set 1"):
        k([{"a": 1.0}, {"a": -1.0}])
    with pytest.raises(DomainError, match="weight for the element 'z'"):
        Jaccard(WEIGHTS)([{"z"}])
    with pytest.raises(DomainError, match="'lebesgue' is none of sets of elements"):
        Jaccard("lebesgue")([{"a"}])
    with pytest.raises(DomainError, match="'counting' is none of boxes"):
        Jaccard("counting")([(0.0, 1.0)])
    with pytest.raises(DomainError, match="a dict is none of masks"):
        Jaccard(WEIGHTS)(samples["masks"])
    with pytest.raises(DomainError, match="each of the 42 points"):
        Jaccard([1.0])(samples["masks"])
    with pytest.raises(DomainError, match="same shape"):
        k([np.ones(3, bool), np.ones(4, bool)])
    with pytest.raises(DomainError, match="same shape"):
        k(np.ones((2, 3), bool), np.ones((2, 4), bool))
    with pytest.raises(DomainError, match="in the same form"):
        k([{1}], [(0.0, 1.0)])
    with pytest.raises(DomainError, match="lower one first"):
        k([(1.0, 0.0)])
    with pytest.raises(DomainError, match="finite"):
        k([(0.0, np.inf)])
    with pytest.raises(DomainError, match="sample 0 is not a set"):
        k([(0.0, 1.0, 2.0)])
    with pytest.raises(DomainError, match="same dimension"):
        k([(0.0, 1.0), ((0.0, 0.0), (1.0, 1.0))])
    with pytest.raises(DomainError, match="same dimension"):
        k([(0.0, 1.0)], [((0.0, 0.0), (1.0, 1.0))])


def test_weights_whose_sums_overflow_are_refused():
    large = {"a": 8e307, "b": 8e307}
    for A in (large, {"a": 1.2e308}):
        with pytest.raises(DomainError, match="not finite"):
            Jaccard()([A, {"a": 1.0}])
    halves = [{"a": 4e307, "b": 4e307}, {"a": 4e307}]
    np.testing.assert_allclose(Jaccard()(halves), [[1, 0.5], [0.5, 1]])
