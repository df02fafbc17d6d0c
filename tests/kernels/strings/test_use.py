"""Every string kernel in every place: the contract, kinds of data, models, files, text."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV, cross_val_score

from mercer import (
    SVC,
    AllSubsequences,
    BlendedSpectrum,
    BlendedSubsequence,
    Constant,
    ContextTree,
    GappyKmer,
    Gaussian,
    KernelRidge,
    LocalAlignment,
    Mismatch,
    Profile,
    RestrictedGappy,
    Spectrum,
    StringPairHMM,
    Subsequence,
    Substitution,
    TfIdf,
    WeightedDegree,
    Wildcard,
    kmer_weights,
    load,
    parse,
    save,
)
from mercer.exceptions import DomainError
from mercer.testing import check_kernel, check_psd

KERNELS = [
    Spectrum(3),
    BlendedSpectrum(3, [1.0, 0.5, 2.0]),
    Mismatch(3, 1, "ACGT"),
    Mismatch(3, 1),
    Mismatch(3, 1, "ACDEFGHIKLMNPQRSTVWY"),
    GappyKmer(4, 2),
    WeightedDegree(3),
    WeightedDegree(2, shift=2),
    WeightedDegree(2, shift=3, falloff="harmonic"),
    RestrictedGappy(4, 3),
    RestrictedGappy(4, 3, 0.5),
    Wildcard(4, 2, 0.6),
    Substitution(k=3),
    StringPairHMM(),
    StringPairHMM("blosum62", mutation=0.05, opening=0.05, stop=0.1),
    ContextTree(2, scale=5.0),
    Subsequence(3, 0.6),
    BlendedSubsequence(3, 0.6),
    AllSubsequences(0.5),
    LocalAlignment((1.0, -1.0), beta=0.4, opening=2.0),
    LocalAlignment("blosum62", beta=0.3),
    TfIdf(Spectrum(2)),
]
LOG = LocalAlignment((1.0, -1.0), opening=2.0, log=True)
DNA = ["GATTACA", "ATTAC", "TACATA", "GG", "", "GATTACAGATTACA", "CCCCCCCC", "TTTT", "A", "GATTACA"]


def tabled(kernel):
    """Does it matter to a kernel which symbols are which, as to those with a table of them?"""
    tables = [getattr(kernel, name, None) for name in ("scores", "letters", "probabilities")]
    return "blosum62" in tables or getattr(kernel, "alphabet", None) is not None


def motif_data(rng, n=60):
    """DNA with a motif in half of the samples."""
    X, y = [], np.arange(n) % 2
    for label in y:
        s = "".join(rng.choice(list("ACGT"), rng.integers(20, 30)))
        at = rng.integers(0, 12)
        X.append(s[:at] + "TATAAT" + s[at + 6 :] if label else s)
    return X, y


# ---- the contract --------------------------------------------------------------------------------
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_contract(kernel):
    check_kernel(kernel, DNA)
    check_kernel(kernel.normalize(), DNA)
    check_kernel(2 * kernel + Constant(1), DNA)


def test_contract_at_the_end_of_a_range():
    """A decay of 1 cannot be increased, but has a slope."""
    for kernel in (AllSubsequences(), Subsequence(2, 1.0).normalize(), 2 * Subsequence(2, 1.0)):
        check_kernel(kernel, DNA)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_gram_matrices_are_positive_semidefinite(kernel, rng):
    X = ["".join(rng.choice(list("ACGT"), rng.integers(0, 25))) for _ in range(60)]
    assert check_psd(kernel, X)


def test_the_logarithm_of_alignments_is_symmetric_but_may_be_indefinite(rng):
    K = LOG(DNA)
    np.testing.assert_array_equal(K, K.T)
    P = LOG.prepare(DNA)
    np.testing.assert_allclose(LOG.diag(P), np.diag(K), rtol=1e-14)
    np.testing.assert_allclose(LOG.pairwise(P[2:5], P), K[2:5], rtol=1e-13)
    mapped = LOG.through(DNA)  # k(x, z) k(z, y) summed over z
    np.testing.assert_allclose(mapped(DNA), K @ K, rtol=1e-12)


@pytest.mark.parametrize("kernel", [*KERNELS, LOG], ids=repr)
def test_parameters_text_and_files(kernel, tmp_path):
    assert parse(repr(kernel)) == kernel
    resolved = kernel.resolve(DNA)
    for k in (kernel, resolved, 2 * resolved.normalize() + 1):
        save(k, tmp_path / "kernel.mercer")
        back = load(tmp_path / "kernel.mercer")
        assert back == k
    np.testing.assert_array_equal(
        load(tmp_path / "kernel.mercer")(DNA), (2 * resolved.normalize() + 1)(DNA)
    )
    assert "because" in kernel.explain() or kernel.explain()
    assert kernel.resolve(DNA).properties.domain.kind == "strings"


def test_profiles_keep_the_contract(rng, tmp_path):
    X = [rng.dirichlet([0.5] * 4, n) for n in (0, 2, 5, 7, 7, 9)]
    k = Profile(2, 3.0)
    check_kernel(k, X)
    check_kernel(k.normalize() + 1, X)
    y = np.arange(6.0)
    model = KernelRidge(0.1, kernel=k).fit(X, y)
    save(model, tmp_path / "model.mercer")
    np.testing.assert_array_equal(load(tmp_path / "model.mercer").predict(X), model.predict(X))


# ---- kinds of data -------------------------------------------------------------------------------
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_text_bytes_and_integers_agree(kernel):
    kernel = kernel.resolve(DNA)
    K = kernel(DNA)
    raw = [x.encode() for x in DNA]
    for X in (raw, [list(b) for b in raw], [np.array(list(b), int) for b in raw], np.array(DNA)):
        np.testing.assert_array_equal(kernel(X), K)
        np.testing.assert_allclose(kernel(X, DNA), K, rtol=1e-13)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.text(alphabet="ab\x00é日𝄞", max_size=9), min_size=2, max_size=5),
    st.sampled_from(KERNELS),
)
def test_any_unicode_is_renamed_at_will(X, kernel):
    """Kernels see which symbols are equal, not which ones they are (but for tables of scores)."""
    if tabled(kernel):
        return
    plain = [x.translate(str.maketrans("\x00é日𝄞", "cdef")) for x in X]
    np.testing.assert_allclose(kernel(X), kernel(plain), rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_empty_and_short_strings(kernel):
    kernel = kernel.resolve(DNA)
    K = kernel(["", "A", "GATTACA"])
    assert np.all(np.isfinite(K))
    positive = kernel.properties.positive_diag
    assert positive.unknown or (K[0, 0] > 0) == bool(positive)
    alone = kernel.normalize()(["", "A", "GATTACA"])
    assert np.all(np.isfinite(alone))
    assert alone[0, 0] == (1 if K[0, 0] > 0 else 0)
    assert np.all(np.isfinite(kernel(["", ""])))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_unknown_symbols_at_predict(kernel):
    """What was not seen in training is just different from all that was."""
    y = np.arange(len(DNA)) % 2
    model = SVC(kernel=kernel.normalize()).fit(DNA, y)
    ridge = KernelRidge(alpha=0.1, kernel=kernel).fit(DNA, y.astype(float))
    for new in (["NNNNN", "GATNACA", "日本", "\U0001f9ec", ""], [b"NN", b""], [[10**12, -5], []]):
        assert set(model.predict(new)) <= {0, 1}
        assert np.all(np.isfinite(model.decision_function(new)))
        assert np.all(np.isfinite(ridge.predict(new)))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_words_are_symbols(kernel):
    """Lists of words are strings over another alphabet; a word of one letter is a letter."""
    kernel = kernel.resolve(DNA)
    np.testing.assert_array_equal(kernel([list(x) for x in DNA]), kernel(DNA))
    if tabled(kernel):
        return
    if isinstance(kernel, TfIdf):
        kernel = kernel.kernel
    named = {"G": "the", "A": "dog", "T": "barks", "C": "日本 "}
    words = [[named[letter] for letter in x] for x in DNA]
    np.testing.assert_allclose(kernel(words), kernel(DNA), rtol=1e-13)


def test_models_on_words(rng):
    """Pairs of neighbouring words, weighted by how rare they are; letters would not tell."""
    nouns = ["dog", "cat", "bird", "fish"]
    X, y = [], np.arange(60) % 2
    for label in y:
        words = list(rng.choice([*nouns, "not", "good"], 8))
        at = rng.integers(0, 6)
        words[at : at + 2] = ["not", "good"] if label else ["good", "not"]
        X.append(words)
    clean = [" ".join(x).count("not good") > " ".join(x).count("good not") for x in X]
    kernel = TfIdf(Spectrum(2)).normalize()
    grid = {"C": [1, 100], "kernel__kernel__kernel__k": [1, 2]}
    search = GridSearchCV(SVC(kernel=kernel), grid, cv=4).fit(X, clean)
    assert search.best_params_["kernel__kernel__kernel__k"] == 2
    best = kmer_weights(SVC(kernel=Spectrum(2)).fit(X, clean), 2)
    assert {tuple(b.text) for b in best} == {("not", "good"), ("good", "not")}


def test_negative_and_huge_integers():
    X = [[-1, -2, -1, 10**15], [10**15, -1], [], [-2, -1, -2, -2]]
    twins = ["abac", "ca", "", "babb"]
    for kernel in (Subsequence(2), AllSubsequences(), GappyKmer(3, 2), Mismatch(2, 1),
                   LocalAlignment((1.0, 0.0)), WeightedDegree(2), ContextTree(1)):  # fmt: skip
        np.testing.assert_allclose(kernel(X), kernel(twins), rtol=1e-13)


@pytest.mark.parametrize("kernel", [*KERNELS, LOG], ids=repr)
def test_bad_data(kernel):
    if isinstance(kernel, TfIdf):
        return
    kernel, name = kernel.resolve(DNA), type(kernel).__name__
    for X, message in (
        ("GATTACA", f"{name} works on a list of strings, got a single str"),
        ([], f"{name}: X has no samples"),
        (["A", None], f"{name}: sample 1 is missing"),
        ([0.5, 1.5], f"{name}: sample 0 is a float"),
    ):
        with pytest.raises(DomainError, match=message):
            kernel(X)


def test_columns_of_tables():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"age": np.arange(10.0), "sequence": DNA})
    for kernel in KERNELS:
        k = Gaussian(3.0).on("age") * kernel.on("sequence")
        K = Gaussian(3.0)(table[["age"]]) * kernel(DNA)
        np.testing.assert_allclose(k(table), K, rtol=1e-12, atol=1e-12)


# ---- models --------------------------------------------------------------------------------------
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_models_on_lists_of_strings(kernel, rng, tmp_path):
    X, y = motif_data(rng)
    model = SVC(C=10, kernel=kernel.normalize()).fit(X[:40], y[:40])
    assert set(model.predict(X[40:])) <= {0, 1}
    K = model.kernel_(X[:40])
    same = SVC(C=10, kernel="precomputed").fit(K, y[:40])
    new = model.kernel_(X[40:], X[:40])
    scores = same.decision_function(new)
    np.testing.assert_allclose(model.decision_function(X[40:]), scores, atol=5e-3)
    save(model, tmp_path / "model.mercer")
    back = load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(back.predict(X[40:]), model.predict(X[40:]))
    ridge = KernelRidge(alpha=0.1, kernel=kernel).fit(X[:40], y[:40].astype(float))
    c = np.linalg.solve(ridge.kernel_(X[:40]) + 0.1 * np.eye(40), y[:40])
    wanted = ridge.kernel_(X[40:], X[:40]) @ c
    np.testing.assert_allclose(ridge.predict(X[40:]), wanted, rtol=1e-5, atol=1e-6)


def test_a_motif_is_learned(rng):
    X, y = motif_data(rng, 120)
    for kernel in (Spectrum(4), Mismatch(5, 1), GappyKmer(5, 4), Subsequence(4, 0.5)):
        score = cross_val_score(SVC(C=10, kernel=kernel.normalize()), X, y, cv=4).mean()
        assert score > 0.85, kernel


@pytest.mark.parametrize(
    ("kernel", "grid"),
    [
        (
            Subsequence().normalize(),
            {"kernel__kernel__length": [2, 5], "kernel__kernel__decay": [0.3, 0.9]},
        ),
        (GappyKmer().normalize(), {"kernel__kernel__g": [5, 6], "kernel__kernel__k": [2, 4]}),
        (Mismatch(), {"kernel__k": [3, 5], "kernel__m": [0, 1]}),
        (WeightedDegree(), {"kernel__k": [2, 4], "kernel__shift": [0, 3]}),
        (LocalAlignment((1.0, -1.0), opening=2.0, beta=0.2), {"kernel__beta": [0.1, 0.3]}),
    ],
)
def test_grid_search_by_nested_names(kernel, grid, rng):
    X, y = motif_data(rng)
    search = GridSearchCV(SVC(C=1.0, kernel=kernel), grid, cv=3).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert len(scores) == np.prod([len(v) for v in grid.values()])
    assert len(np.unique(scores)) > 1  # every candidate was really another kernel
    assert np.all(np.isfinite(scores))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_normalised_at_all_lengths_at_once(kernel, rng):
    """0, 1 and 2000 letters, twice the same, and one sample alone."""
    long = "".join(rng.choice(list("ACGT"), 2000))
    X = ["", "A", long, long, long[::-1], "CA" * 40]
    k = kernel.resolve(X).normalize()
    K = k(X)
    assert np.isfinite(K).all()
    assert set(np.diag(K)) <= {0.0, 1.0}
    assert K[2, 3] == pytest.approx(1.0, abs=1e-9)
    assert K.max() <= 1 + 1e-9
    assert np.linalg.eigvalsh(K)[0] > -1e-9
    np.testing.assert_allclose(k(X[2:3]), 1.0)


@pytest.mark.parametrize("kernel", [*KERNELS, LOG], ids=repr)
def test_work_in_pieces(kernel, rng, monkeypatch):
    """Long work is cut into short calls of compiled code, between which Ctrl-C may come."""
    from mercer.kernels.strings import passes, tables

    X = ["".join(rng.choice(list("ACGT"), n)) for n in (0, 1, 5, 40, 70, 90, 33, 65, *[20] * 20)]
    kernel = kernel.resolve(X)
    P, W = kernel.prepare(X), rng.normal(size=(28, 28))
    sloped = bool(len(kernel.theta)) and not isinstance(kernel, TfIdf)

    def all_of():
        slopes = kernel.grad_theta(P, P, W) if sloped else 0.0
        return kernel(X), kernel.diag(P), kernel(X[:5], X), slopes

    before = all_of()
    for module, name in ((tables, "_CELLS"), (tables, "_WORK"), (passes, "_WORK")):
        monkeypatch.setattr(module, name, 2000.0)
    for got, wanted in zip(all_of(), before, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)
