"""Models of samples in chunks, and of features that are never stored."""

import tracemalloc
import warnings
from string import ascii_uppercase

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer import (
    LSSVR,
    SVC,
    SVR,
    Gaussian,
    GaussianProcessRegressor,
    KernelLogisticRegression,
    KernelMachine,
    KernelPCA,
    KernelQuantileRegressor,
    KernelRidge,
    NuSVC,
    NuSVR,
    Nystrom,
    Plan,
    RandomFourier,
)
from mercer.chunks import ArrayChunks
from mercer.chunks.base import Chunk, Chunks

RNG = np.random.default_rng(0)
N = 800
X = RNG.standard_normal((N, 3))
R = np.sin(X.sum(axis=1)) + 0.3 * RNG.standard_normal(N)
TWO = np.where(R > 0, "yes", "no")
MANY = np.array(["a", "b", "c"])[np.digitize(R, [-0.5, 0.5])]
COUNTS = RNG.poisson(np.exp(0.5 * R)).astype(float)
W = RNG.random(N) + 0.1
NEW = RNG.standard_normal((50, 3))
KERNEL = Gaussian(1.5)
STORED, STREAMED = Plan(rank=40), Plan(rank=40, storage="streamed")


def machine(loss, **options):
    return KernelMachine(KERNEL, loss, tol=1e-13, **options)


CASES = {
    "ridge": (KernelRidge(1.0, kernel=KERNEL, tol=1e-20), R, "predict"),
    "two targets": (
        KernelRidge([1.0, 0.1], kernel=KERNEL, tol=1e-20), np.column_stack([R, COUNTS]), "predict",
    ),
    "variance": (KernelRidge(1.0, kernel=KERNEL, tol=1e-20), R, "posterior_variance"),
    "huber": (machine("huber"), R, "predict"),
    "poisson": (machine("poisson"), COUNTS, "predict"),
    "two classes": (machine("logistic"), TWO, "decision_function"),
    "one against the rest": (machine("squared_hinge"), MANY, "decision_function"),
    "jointly": (machine("multinomial"), MANY, "decision_function"),
    "jointly, two": (machine("multinomial"), TWO, "decision_function"),
    "probabilities": (
        KernelLogisticRegression(kernel=KERNEL, tol=1e-13), TWO, "predict_proba",
    ),
    "balanced": (
        KernelLogisticRegression(kernel=KERNEL, tol=1e-13, class_weight="balanced"), MANY,
        "predict_proba",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_streamed_and_stored_agree(name, tmp_path):
    model, y, method = CASES[name]
    stored = clone(model).set_params(plan=STORED).fit(X, y, W)
    streamed = clone(model).set_params(plan=STREAMED).fit(X, y, W)
    chunked = clone(model).set_params(plan=STORED).fit(ArrayChunks(X, y, W, rows=130))
    mercer.save(streamed, tmp_path / "model")
    read = mercer.load(tmp_path / "model")
    expected = getattr(stored, method)(NEW)
    for other in (streamed, chunked, read):
        np.testing.assert_allclose(getattr(other, method)(NEW), expected, atol=1e-4)
        assert len(other.X_fit_) <= 40
        assert other.n_samples_seen_ == N
    if method != "posterior_variance":
        np.testing.assert_allclose(
            getattr(chunked, method)(ArrayChunks(NEW, rows=7)), expected, atol=1e-4
        )


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (KernelRidge(1.0, kernel=KERNEL), np.column_stack([R, COUNTS])),
        (KernelLogisticRegression(kernel=KERNEL), MANY),
        (SVC(KERNEL, tol=1e-2), MANY),
        (SVR(KERNEL, tol=1e-2), R),
        (KernelMachine(KERNEL, "poisson"), COUNTS),
        (KernelQuantileRegressor([0.2, 0.8], kernel=KERNEL, tol=1e-2), R),
    ],
)
def test_scores_of_chunks(model, y):
    """With the targets and weights that come with them."""
    model = clone(model).set_params(plan=STORED).fit(ArrayChunks(X, y, W, rows=130))
    assert model.score(ArrayChunks(X, y, W, rows=77)) == pytest.approx(model.score(X, y, W))
    assert model.score(ArrayChunks(X, y, rows=77)) == pytest.approx(model.score(X, y))
    with pytest.raises(ValueError, match="y and sample_weight must be None"):
        model.score(ArrayChunks(X, y), y)
    with pytest.raises(ValueError, match="no targets"):
        model.score(ArrayChunks(X))
    with pytest.raises(ValueError, match="y has to be given"):
        model.score(X)


class Listed(Chunks):
    """Chunks as they are given."""

    def __init__(self, *parts):
        self.parts = parts

    def __iter__(self):
        start = 0
        for part in self.parts:
            yield Chunk(*part, start)
            start += len(part[0])


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (KernelRidge(1.0, kernel=KERNEL, plan=STORED), R),
        (KernelLogisticRegression(kernel=KERNEL, plan=STORED), TWO),
        (SVC(KERNEL, tol=1e-2, plan=STORED), TWO),
        (SVR(KERNEL, tol=1e-2, plan=STORED), R),
        (GaussianProcessRegressor(KERNEL, landmarks=40, optimizer=None), R),
    ],
)
def test_chunks_without_samples_without_weights_and_of_weight_zero(model, y):
    """Nothing in a chunk is no part of anything; a sample without a weight counts once."""
    w = np.where(np.arange(N) < 200, 0.0, W)
    w[500:] = 1.0
    parts = (slice(0, 0), slice(0, 200), slice(200, 500), slice(9, 9), slice(500, N), slice(0, 0))
    listed = Listed(*((X[p], y[p], None if p.start == 500 else w[p]) for p in parts))
    found = clone(model).fit(listed)
    known = clone(model).fit(ArrayChunks(X, y, w))
    assert found.score(listed) == pytest.approx(known.score(X, y, w), abs=0.01)
    assert len(found.predict(listed)) == N
    with pytest.raises(ValueError, match="no samples"):
        clone(model).fit(Listed((X[:0], y[:0], None)))


@pytest.mark.parametrize("weights", [None, W])
@pytest.mark.parametrize(
    ("kernel", "plan"),
    [
        (KERNEL, STORED),
        (Nystrom(KERNEL, X[:30]), None),
        (KERNEL, Plan(features=RandomFourier(30))),
        ("linear", None),
    ],
)
def test_components_are_sums_over_chunks(kernel, plan, weights, tmp_path):
    model = KernelPCA(3, kernel=kernel, plan=plan, eigen_solver="nystrom")
    if plan is not None and plan.features is not None:
        model.set_params(eigen_solver="dense")
    stored = clone(model).fit(X, sample_weight=weights)
    chunked = clone(model).fit(ArrayChunks(X, None, weights, rows=130))
    mercer.save(chunked, tmp_path / "model")
    expected = stored.transform(NEW)
    for other in (chunked, mercer.load(tmp_path / "model")):
        np.testing.assert_allclose(other.eigenvalues_, stored.eigenvalues_, rtol=1e-10)
        np.testing.assert_allclose(other._totals, stored._totals, rtol=1e-10)
        found = other.transform(ArrayChunks(NEW, rows=7))
        signs = np.sign(np.sum(found * expected, axis=0))
        np.testing.assert_allclose(found * signs, expected, atol=1e-8)
        np.testing.assert_allclose(
            other.reconstruction_error(ArrayChunks(NEW, rows=7)),
            stored.reconstruction_error(NEW),
            atol=1e-8,
        )
    assert len(chunked.X_fit_) <= 40
    again = clone(model).fit_transform(ArrayChunks(X, None, weights, rows=99))
    np.testing.assert_allclose(again, chunked.transform(X), atol=1e-8)


def test_components_of_memory_maps(tmp_path):
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = KernelPCA(2, kernel=KERNEL, plan=STORED).fit(mapped, sample_weight=W)
    assert model.solution_.stats["method"] == "passes"
    plain = KernelPCA(2, kernel=KERNEL, plan=STORED).fit(X, sample_weight=W)
    np.testing.assert_allclose(model.eigenvalues_, plain.eigenvalues_, rtol=1e-4)
    assert model.transform(np.asarray(mapped)).dtype == np.float32
    with pytest.raises(ValueError, match="fit_inverse_transform needs"):
        model.set_params(fit_inverse_transform=True).fit(mapped)
    for bad in (-W, np.full(N, np.nan), 0 * W):
        with pytest.raises(ValueError, match="weight"):
            KernelPCA(2, kernel=KERNEL, plan=STORED).fit(ArrayChunks(X, None, bad))


def test_quantiles():
    model = KernelQuantileRegressor([0.2, 0.8], kernel=KERNEL, tol=1e-3)
    streamed = clone(model).set_params(plan=STREAMED).fit(X, R)
    chunked = clone(model).set_params(plan=STORED).fit(ArrayChunks(X, R, rows=300))
    for fitted in (streamed, chunked):
        low, high = fitted.predict(X).T
        assert np.mean(low > R) == pytest.approx(0.2, abs=0.03)
        assert np.mean(high > R) == pytest.approx(0.8, abs=0.03)
        assert fitted.crossings_ == 0


# ---- support vector machines ---------------------------------------------------------------------
def test_machines_of_pairs_of_classes(tmp_path):
    model = SVC(KERNEL, C=0.5, plan=STORED, class_weight="balanced", tol=1e-3)
    for y, w in ((TWO, W), (MANY, None)):
        exact = clone(model).set_params(solver="coordinate", tol=1e-8).fit(X, y, w)
        chunked = clone(model).fit(ArrayChunks(X, y, w, rows=130))
        np.testing.assert_allclose(chunked.class_weight_, exact.class_weight_)
        for found, known in zip(chunked.reports_, exact.reports_, strict=True):
            assert found.classes == known.classes
            assert known.dual * (1 - 1e-9) <= found.primal <= known.primal * (1 + 1e-3)
            assert found.dual <= known.primal
            assert found.bounded == pytest.approx(known.bounded, rel=0.1)
        f = chunked.decision_function(NEW)
        np.testing.assert_allclose(f, exact.decision_function(NEW), atol=0.1)
        np.testing.assert_allclose(chunked.decision_function(ArrayChunks(NEW, rows=7)), f)
        assert chunked.predict(ArrayChunks(NEW, rows=7)).tolist() == chunked.predict(NEW).tolist()
        assert len(chunked.support_vectors_) <= 40
        mercer.save(chunked, tmp_path / "model")
        np.testing.assert_allclose(mercer.load(tmp_path / "model").decision_function(NEW), f)
        again = clone(chunked).fit(X[:100], y[:100])  # as an array, which is stored
        assert hasattr(again, "support_")


def test_machines_of_one_class_against_the_rest():
    model = SVC(KERNEL, C=0.5, plan=STORED, class_weight={"a": 2.0}, tol=1e-3, multiclass="ovr")
    exact = clone(model).set_params(solver="coordinate", tol=1e-8).fit(X, MANY, W)
    chunked = clone(model).fit(ArrayChunks(X, MANY, W, rows=130))
    assert chunked.decision_function(NEW).shape == (50, 3)
    for found, known in zip(chunked.reports_, exact.reports_, strict=True):
        assert found.classes == known.classes
        assert known.dual * (1 - 1e-9) <= found.primal <= known.primal * (1 + 1e-3)
    f = chunked.decision_function(NEW)
    np.testing.assert_allclose(f, exact.decision_function(NEW), atol=0.1)
    assert np.mean(chunked.predict(X) == exact.predict(X)) > 0.98
    pair, rest = (
        clone(model).set_params(multiclass=way, class_weight=None).fit(ArrayChunks(X, TWO, rows=99))
        for way in ("ovo", "ovr")
    )
    np.testing.assert_array_equal(pair.decision_function(NEW), rest.decision_function(NEW))
    assert rest.predict(NEW).tolist() == pair.predict(NEW).tolist()


def test_pairs_of_many_classes_share_few_passes():
    """Of 28 pairs, in each of which three of four samples have no loss."""
    read = []

    class Counted(ArrayChunks):
        def __iter__(self):
            read.append(1)
            return super().__iter__()

    y = np.digitize(R, np.quantile(R, np.arange(1, 8) / 8))
    model = SVC(KERNEL, plan=STORED, tol=1e-3).fit(Counted(X, y))
    assert len(model.reports_) == 28
    assert max(report.violation for report in model.reports_) <= 1e-3
    assert len(read) < 200


def test_the_325_pairs_of_26_letters_take_no_more_memory_than_is_given():
    rng = np.random.default_rng(0)
    centres, codes = rng.uniform(-4, 4, (26, 3)), rng.integers(26, size=2000)
    Z, y = centres[codes] + rng.standard_normal((2000, 3)), np.array(list(ascii_uppercase))[codes]
    plan = Plan(rank=15, memory="12 MB", workers=1)
    model = SVC(Gaussian(3.0), plan=plan, tol=0.2, class_weight="balanced")
    few = y <= "C"  # which compiles loops
    model.fit(ArrayChunks(Z[few], y[few]))
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.fit(ArrayChunks(Z, y, rows=500))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 12e6
    assert len(model.reports_) == 325
    for report in model.reports_[::50]:  # each is a machine of its own on two letters
        own = np.isin(y, report.classes)
        weight = dict(zip(model.classes_, model.class_weight_, strict=True))
        alone = SVC(
            model.kernel_, tol=1e-6, class_weight={c: weight[c] for c in report.classes},
            solver="coordinate",
        ).fit(Z[own], y[own])  # fmt: skip
        assert report.dual <= alone.reports_[0].primal * (1 + 1e-6)
        assert report.primal <= 1.2 * alone.reports_[0].primal
        assert report.primal - report.gap == pytest.approx(report.dual)
    assert np.mean(model.predict(Z) == y) > 0.5


def test_machines_for_numbers():
    model = SVR(KERNEL, C=0.5, epsilon=0.2, plan=STORED, tol=1e-3)
    exact = clone(model).set_params(solver="coordinate", tol=1e-8).fit(X, R, W)
    chunked = clone(model).fit(ArrayChunks(X, R, W, rows=130))
    found, known = chunked.reports_[0], exact.reports_[0]
    assert known.dual * (1 - 1e-9) <= found.primal <= known.primal * (1 + 1e-3)
    np.testing.assert_allclose(chunked.predict(NEW), exact.predict(NEW), atol=0.1)
    np.testing.assert_allclose(chunked.predict(ArrayChunks(NEW, rows=7)), chunked.predict(NEW))
    streamed = clone(model).set_params(plan=STREAMED).fit(X, R, W)
    np.testing.assert_allclose(streamed.predict(NEW), chunked.predict(NEW), atol=1e-6)


def test_the_width_of_a_kernel_by_its_name_is_that_of_all_samples():
    scaled = 3 * X + 5
    chunked = SVC("rbf", plan=STORED, tol=0.1).fit(ArrayChunks(scaled, TWO, rows=130))
    known = SVC("rbf", plan=STORED, tol=0.1).fit(scaled, TWO)
    assert chunked.kernel_.kernel.lengthscale == pytest.approx(known.kernel_.kernel.lengthscale)


def test_machines_stop_early_and_say_where_they_are():
    seen = []
    model = SVC(
        KERNEL, plan=STORED, callback=lambda step: seen.append(step.n_iter) or len(seen) > 2
    )
    model.fit(ArrayChunks(X, TWO))
    assert len(seen) == 3
    model = SVC(Gaussian(0.2), C=1e3, plan=STORED, tol=1e-6, validation=(X[600:], TWO[600:]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.fit(ArrayChunks(X[:600], TWO[:600])).score(X[600:], TWO[600:]) > 0.5
    with pytest.raises(ValueError, match="labels that are not in y"):
        model.set_params(validation=(X[:1], ["z"])).fit(ArrayChunks(X, TWO))


def test_random_features_keep_few_samples_too():
    plan = Plan(features=RandomFourier(30), storage="streamed")
    model = KernelRidge(0.1, kernel=KERNEL, plan=plan, tol=1e-20).fit(X, R)
    stored = KernelRidge(0.1, kernel=KERNEL, plan=plan.replace(storage="lowrank")).fit(X, R)
    np.testing.assert_allclose(model.predict(NEW), stored.predict(NEW), atol=1e-6)
    assert len(model.X_fit_) == 30


def test_memory_maps_are_read_in_chunks(tmp_path):
    path = tmp_path / "X.npy"
    np.save(path, X)
    mapped = np.load(path, mmap_mode="r+")
    model = KernelRidge(1.0, kernel=KERNEL, plan=STORED, tol=1e-20).fit(mapped, R, W)
    plain = KernelRidge(1.0, kernel=KERNEL, plan=STORED).fit(X, R, W)
    np.testing.assert_allclose(model.predict(mapped), plain.predict(X), atol=1e-6)
    assert len(model.X_fit_) == 40
    with pytest.raises(ValueError, match="799 entries, but X has 800"):
        model.fit(mapped, R[1:])


def test_solver_falkon_needs_no_more_than_a_rank():
    model = KernelRidge(1.0, kernel=KERNEL, solver="falkon", plan=STORED, tol=1e-20).fit(X, R)
    direct = KernelRidge(1.0, kernel=KERNEL, plan=STORED).fit(X, R)
    np.testing.assert_allclose(model.predict(NEW), direct.predict(NEW), atol=1e-6)
    assert model.solution_.stats["method"] == "falkon"
    with pytest.raises(ValueError, match='solver="primal"'):
        model.posterior_variance(NEW)
    with pytest.raises(ValueError, match="Plan\\(rank=1000\\)"):
        KernelRidge(kernel=KERNEL, solver="falkon").fit(X, R)


def test_many_new_samples_are_predicted_in_strips():
    model = KernelRidge(1.0, kernel=KERNEL, plan=STREAMED).fit(X, R)
    many = RNG.standard_normal((300_000, 3))
    expected = model.gram_.cross(many[-50:]) @ model.dual_coef_
    np.testing.assert_allclose(model.predict(many)[-50:], expected, atol=1e-8)


# ---- what goes on beside -------------------------------------------------------------------------
def test_early_stopping_keeps_the_best():
    noise = np.random.default_rng(1).standard_normal(N)
    options = {"kernel": Gaussian(0.5), "solver": "falkon", "plan": Plan(rank=60), "tol": 1e-8}
    options["random_state"] = 1
    model = KernelRidge(1e-2, validation=(X[600:], noise[600:]), **options)
    model.fit(X[:600], noise[:600])
    plain = KernelRidge(1e-2, **options).fit(X[:600], noise[:600])
    assert "validation" in model.solution_.message
    assert model.score(X[600:], noise[600:]) >= plain.score(X[600:], noise[600:])
    seen = []
    labels = KernelLogisticRegression(
        kernel=KERNEL, plan=STREAMED, validation=(X[:100], MANY[:100]), callback=seen.append
    )
    assert labels.fit(X, MANY).score(X, MANY) > 0.6
    assert seen
    with pytest.raises(ValueError, match="validation must be a tuple"):
        KernelRidge(kernel=KERNEL, plan=STREAMED, validation=X).fit(X, R)
    with pytest.raises(ValueError, match="labels that are not in y"):
        labels.set_params(validation=(X[:2], ["a", "z"])).fit(X, MANY)


# ---- other models --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "model",
    [
        LSSVR(kernel=KERNEL),
        GaussianProcessRegressor(kernel=KERNEL, optimizer=None),
        KernelPCA(n_components=1, kernel=KERNEL),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_models_take_streamed_features_where_they_fit(model):
    stored, streamed = (clone(model).set_params(plan=p).fit(X[:300], R[:300]) for p in
                        (STORED, STREAMED))  # fmt: skip
    method = "predict" if hasattr(model, "predict") else "transform"
    found, expected = (getattr(m, method)(NEW) for m in (streamed, stored))
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-5)


# ---- what is refused -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("chunks", "match"),
    [
        (ArrayChunks(X), "no targets"),
        (ArrayChunks(X, R, -W), "weight is negative"),
        (ArrayChunks(X, R, 0 * W), "not all zero"),
        (ArrayChunks(X, np.where(R > 1, np.nan, R)), "target is nan"),
        (ArrayChunks(X[:0], R[:0]), "no samples"),
        (ArrayChunks(np.where(X > 3, np.inf, X), R), "column 0 is inf"),
    ],
)
def test_chunks_that_no_model_can_use(chunks, match):
    with pytest.raises(ValueError, match=match):
        KernelRidge(kernel=KERNEL, plan=STORED).fit(chunks)


def test_refusals_name_the_remedy():
    chunks = ArrayChunks(X, R)
    with pytest.raises(ValueError, match="must be None"):
        KernelRidge(kernel=KERNEL, plan=STORED).fit(chunks, R)
    with pytest.raises(ValueError, match="Plan\\(rank=1000\\)"):
        KernelRidge(kernel=KERNEL).fit(chunks)
    for model in (NuSVC(kernel=KERNEL), NuSVR(kernel=KERNEL), LSSVR(kernel=KERNEL)):
        with pytest.raises(ValueError, match="does not support chunks"):
            model.fit(chunks)
    with pytest.raises(ValueError, match="never stored; use one of"):
        KernelRidge(kernel=KERNEL, solver="cholesky", plan=STREAMED).fit(X, R)
    with pytest.raises(ValueError, match="never stored; use 'auto'"):
        machine("hinge", solver="dual", plan=STREAMED).fit(X, TWO)
    labels = ArrayChunks(X, TWO)
    for options, match in (
        ({"C": np.inf}, "C=inf is not supported for"),
        ({"probability": True}, "probability is not supported for"),
        ({"solver": "snacks"}, "stores features"),
        ({"class_weight": {"yes": 0}}, "have weight 0"),
    ):
        with pytest.raises(ValueError, match=match):
            SVC(KERNEL, plan=STORED).set_params(**options).fit(labels)
    with pytest.raises(ValueError, match="single target"):
        SVR(KERNEL, plan=STORED).fit(ArrayChunks(X, np.column_stack([R, R])))
    with pytest.raises(ValueError, match="must be None"):
        SVC(KERNEL, plan=STORED).fit(labels, TWO)
    with pytest.raises(ValueError, match="for counts"):
        machine("poisson", plan=STORED).fit(chunks)
    with pytest.raises(ValueError, match="greater than one"):
        machine("hinge", plan=STORED).fit(ArrayChunks(X, np.zeros(N)))
