"""Weights of k-mers and of places, against the decisions of the models they come from."""

import numpy as np
import pytest

from mercer import (
    SVC,
    SVR,
    BlendedSpectrum,
    GappyKmer,
    Gaussian,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelLogisticRegression,
    KernelRidge,
    Mismatch,
    Profile,
    Spectrum,
    Subsequence,
    TfIdf,
    WeightedDegree,
    Words,
    kmer_weights,
    position_weights,
)
from mercer.explain.sequences import _Windows
from mercer.explain.terms import terms_of

KERNELS = [
    Spectrum(3),
    Spectrum(3).normalize(),
    BlendedSpectrum(3, [1.0, 0.5, 2.0]),
    Mismatch(3, 1, "ACGT"),
    Mismatch(3, 1, "ACDEFGHIKLMNPQRSTVWY"),
    Mismatch(2, 1, "ACDEFG").normalize(),
    GappyKmer(4, 2).normalize(),
    WeightedDegree(3),
    WeightedDegree(2, shift=2).normalize(),
    TfIdf(Spectrum(2)),
    TfIdf(Spectrum(2)).normalize(),
    2 * Spectrum(2).normalize() + WeightedDegree(2) * 0.5,
]


@pytest.fixture
def data(rng):
    X = ["".join(rng.choice(list("ACGT"), rng.integers(8, 20))) for _ in range(40)]
    return X, np.array([x.count("GA") + 2 * x.count("TT") for x in X], dtype=float)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_places_add_up_to_the_decision(kernel, data):
    X, y = data
    new = ["GATTACAGGA", "ACACTTGA", "NNGATTNN", "A", ""]
    labels = (y > np.median(y)).astype(int)
    for model in (
        SVC(C=5, kernel=kernel).fit(X, labels),
        SVR(kernel=kernel).fit(X, y),
        KernelRidge(0.1, kernel=kernel).fit(X, y),
        KernelLogisticRegression(0.1, kernel=kernel).fit(X, labels),
    ):
        decide = getattr(model, "decision_function", model.predict)
        for x in new:
            weights = position_weights(model, x)
            assert weights.shape == (len(x),)
            wanted = decide([x])[0] - np.ravel(getattr(model, "intercept_", 0.0))[0]
            assert weights.sum() == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_many_sequences_are_explained_like_each_of_them(kernel, data, monkeypatch):
    X, y = data
    new = ["GATTACAGGA", "", "ACACTTGA", "A", "NNGATTNN"]
    model = KernelRidge(0.1, kernel=kernel).fit(X, y)
    each = [position_weights(model, x) for x in new]
    calls, weights = [], _Windows.weights
    monkeypatch.setattr(_Windows, "weights", lambda term: calls.append(1) or weights(term))
    many = position_weights(model, new)
    assert len(calls) == len(list(terms_of(model.rkhs_function_)))
    assert len(many) == len(new)
    for got, wanted in zip(many, each, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-14)


def test_places_by_brute_force(data):
    X, y = data
    model = KernelRidge(0.1, kernel=Spectrum(3)).fit(X, y)
    counted = {}
    for x, c in zip(X, model.dual_coef_, strict=True):
        for i in range(len(x) - 2):
            counted[x[i : i + 3]] = counted.get(x[i : i + 3], 0.0) + c
    for x, got in zip(X[:5], position_weights(model, X[:5]), strict=True):
        wanted = np.zeros(len(x))
        for i in range(len(x) - 2):
            wanted[i : i + 3] += counted[x[i : i + 3]] / 3
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)


def test_constants_belong_to_no_place(data):
    X, y = data
    model = KernelRidge(0.1, kernel=Spectrum(2) + 3).fit(X, y)
    rest = 3 * model.dual_coef_.sum()
    total = position_weights(model, "GATTACA").sum() + rest
    assert total == pytest.approx(model.predict(["GATTACA"])[0], abs=1e-9)


def test_weights_of_kmers_are_those_of_the_features(data):
    """For the spectrum kernel, w = sum_i c_i phi(x_i), written out."""
    X, y = data
    model = KernelRidge(0.1, kernel=Spectrum(2)).fit(X, y)
    found = {text: weight for text, weight, _ in kmer_weights(model, None)}
    held = {x[i : i + 2] for x in X for i in range(len(x) - 1)}
    assert set(found) == held
    for u in held:
        counts = [sum(x[i : i + 2] == u for i in range(len(x) - 1)) for x in X]
        assert found[u] == pytest.approx(model.dual_coef_ @ counts, abs=1e-9)
    sizes = [abs(weight) for _, weight, _ in kmer_weights(model, 5)]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) == 5
    assert max(found, key=found.get) == "TT"


@pytest.mark.parametrize(
    "kernel", [Mismatch(3, 1, "ACGT"), Mismatch(3, 1, "ACDEFGHIKLMN"), GappyKmer(3, 2)], ids=repr
)
def test_the_weight_of_a_kmer_is_its_function_value(kernel, data):
    """A string of three letters is one window: f of it is what the window adds."""
    X, y = data
    model = KernelRidge(0.1, kernel=kernel).fit(X, y)
    for text, weight, position in kmer_weights(model, 10):
        assert weight == pytest.approx(model.predict([text])[0], abs=1e-9)
        assert position is None


def test_positions_matter_where_they_should(rng):
    """Only GA at place 4 counts: weighted degree finds where."""
    X = ["".join(rng.choice(list("ACGT"), 10)) for _ in range(150)]
    X = [x[:4] + "GA" + x[6:] if i % 2 else x[:4] + "CT" + x[6:] for i, x in enumerate(X)]
    y = np.arange(150) % 2
    model = SVC(C=1, kernel=WeightedDegree(2)).fit(X, y)
    best = {(text, position) for text, _, position in kmer_weights(model, 6)}
    assert best == {("G", 4), ("A", 5), ("GA", 4), ("C", 4), ("T", 5), ("CT", 4)}
    weights = position_weights(model, "ACACGATCTC")
    assert set(np.argsort(-weights)[:2]) == {4, 5}
    assert weights[4:6].sum() > 0.8 * weights.sum()


def test_several_classes_have_a_function_for_each_pair(rng):
    X = ["".join(rng.choice(list("ACGT"), 15)) for _ in range(60)]
    y = np.array(["few", "some", "many"])[np.digitize([x.count("A") for x in X], [3, 5])]
    model = SVC(C=5, kernel=Spectrum(1), decision_function_shape="ovo").fit(X, y)
    scores = model.decision_function(["ACGTAA"])[0]
    for pair in range(3):
        weights = position_weights(model, "ACGTAA", output=pair)
        assert weights.sum() + model.intercept_[pair] == pytest.approx(scores[pair], abs=1e-9)


def test_columns_of_tables(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    table = pd.DataFrame({"dna": X, "rest": X[::-1]})
    kernel = Spectrum(2).normalize().on("dna")
    model = KernelRidge(0.1, kernel=kernel).fit(table, y)
    alone = KernelRidge(0.1, kernel=Spectrum(2).normalize()).fit(X, y)
    row = table.iloc[[3]]
    np.testing.assert_allclose(position_weights(model, row), position_weights(alone, X[3]))
    three = position_weights(model, table.iloc[[3, 5, 7]])
    assert [len(each) for each in three] == [len(X[i]) for i in (3, 5, 7)]
    np.testing.assert_allclose(three[0], position_weights(alone, X[3]))
    assert kmer_weights(model, 3)[0].text == kmer_weights(alone, 3)[0].text
    table["size"] = [float(len(x)) for x in X]
    sum_ = kernel + Spectrum(3).on("rest") + Gaussian(3.0).on("size")
    many = KernelRidge(0.1, kernel=sum_).fit(table, y)
    uneven = pd.DataFrame({"dna": ["ACGT"], "rest": ["ACGTA"], "size": [4.0]})
    with pytest.raises(ValueError, match="strings or series in several columns"):
        position_weights(many, uneven)
    parts = [position_weights(many, uneven, column=c) for c in ("dna", "rest")]
    assert [len(part) for part in parts] == [4, 5]
    rest = Gaussian(3.0).on("size")(uneven, table)[0] @ many.dual_coef_
    assert sum(map(np.sum, parts)) + rest == pytest.approx(many.predict(uneven)[0], abs=1e-9)
    assert len(kmer_weights(many, 1, column="rest")[0].text) == 3
    with pytest.raises(ValueError, match="no kernel on strings or series uses the column 'size'"):
        kmer_weights(many, column="size")


def test_columns_of_pandas_without_a_zero(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    series = pd.Series(X, index=np.arange(len(X)) + 7)
    model = KernelRidge(0.1, kernel=Spectrum(2)).fit(series, y)
    alone = KernelRidge(0.1, kernel=Spectrum(2)).fit(X, y)
    np.testing.assert_allclose(position_weights(model, X[3]), position_weights(alone, X[3]))
    both = position_weights(model, series.iloc[3:5])
    np.testing.assert_allclose(both[1], position_weights(alone, X[4]))


def test_gaussian_processes(data):
    X, y = data
    model = GaussianProcessRegressor(1.0 * Spectrum(2).normalize(), normalize_y=True).fit(X, y)
    weights = position_weights(model, "GATTACA")
    assert weights.sum() + np.mean(y) == pytest.approx(model.predict(["GATTACA"])[0], abs=1e-9)
    labels = np.digitize(y, [1, 3])
    latent = GaussianProcessClassifier(1.0 * Spectrum(1).normalize()).fit(X, labels)
    mean = latent.latent_mean_and_variance(["GATTACA"])[0][0]
    for c in range(3):
        assert position_weights(latent, "GATTACA", output=c).sum() == pytest.approx(
            mean[c], abs=1e-9
        )


@pytest.mark.parametrize(
    "kernel",
    [Words(), Words().normalize(), TfIdf(Words()), TfIdf(Words()).normalize(), 2 * Words() + 1],
    ids=repr,
)
def test_words(kernel, rng):
    names = ["good", "bad", "Don't", "naïve", "नमस्ते", "the", "a"]
    X = [" ".join(rng.choice(names, rng.integers(0, 9))) for _ in range(40)]
    y = np.array([x.count("good") - x.count("bad") for x in X], dtype=float)
    model = KernelRidge(0.1, kernel=kernel).fit(X, y)
    document = "Good, good: the naïve नमस्ते; unseen bad!"
    weights = position_weights(model, document)
    assert weights.shape == (7,)
    constant = model.dual_coef_.sum() if kernel.__class__.__name__ == "Sum" else 0.0
    assert weights.sum() + constant == pytest.approx(model.predict([document])[0], abs=1e-9)
    assert weights[0] == weights[1] > 0 > weights[6]
    assert weights[5] == 0
    best = kmer_weights(model, 2)
    assert {word for word, _, _ in best} == {"good", "bad"}
    if kernel == Words():  # a document of one word holds nothing else
        for word, weight, _ in kmer_weights(model, None):
            assert model.predict([word])[0] == pytest.approx(weight, abs=1e-9)
    two = position_weights(model, [document, ""])
    np.testing.assert_allclose(two[0], weights)
    assert len(two[1]) == 0


def test_bytes_integers_and_profiles(rng):
    raw = [rng.integers(0, 4, 12) for _ in range(20)]
    y = np.array([float(np.sum(x == 2)) for x in raw])
    model = KernelRidge(0.1, kernel=Spectrum(2)).fit([x.tolist() for x in raw], y)
    assert position_weights(model, [2, 2, 1]).sum() == pytest.approx(model.predict([[2, 2, 1]])[0])
    two = position_weights(model, [[2, 2, 1], [0, 1]])
    np.testing.assert_allclose(two[0], position_weights(model, [2, 2, 1]))
    assert len(two[1]) == 2
    assert all(len(text) == 2 for text, _, _ in kmer_weights(model))
    profiles = [np.eye(4)[x] * 0.9 + 0.025 for x in raw]
    model = KernelRidge(0.1, kernel=Profile(2, 4.5)).fit(profiles, y)
    weights = position_weights(model, profiles[0])
    assert weights.shape == (12,)
    assert weights.sum() == pytest.approx(model.predict(profiles[:1])[0])
    np.testing.assert_allclose(position_weights(model, profiles[:2])[0], weights)
    with pytest.raises(TypeError, match="position_weights"):
        kmer_weights(model)


def test_refusals(data):
    X, y = data
    with pytest.raises(TypeError, match="not made of kernels that count substrings"):
        position_weights(KernelRidge(0.1, kernel=Subsequence(2)).fit(X, y), "ACGT")
    with pytest.raises(TypeError, match="not made of kernels that count substrings"):
        kmer_weights(KernelRidge(0.1, kernel=Spectrum(2) * Spectrum(1)).fit(X, y))
    with pytest.raises(TypeError, match="not made of kernels that count substrings"):
        kmer_weights(KernelRidge(kernel=Gaussian()).fit([[0.0], [1.0]], [0.0, 1.0]))
    with pytest.raises(TypeError, match="fitted kernel model"):
        kmer_weights("model")
