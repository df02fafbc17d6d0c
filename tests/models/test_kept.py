"""Models through M features keep M samples, whatever the number they were fitted to."""

import json
import pickle
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from mercer import (
    LSSVC,
    LSSVR,
    ConformalRegressor,
    Gaussian,
    KernelLogisticRegression,
    KernelMachine,
    KernelPCA,
    KernelQuantileRegressor,
    KernelRidge,
    KernelRidgeCV,
    LearnedPreImage,
    Linear,
    Matern,
    MultiOutputKernelRidge,
    Nystrom,
    Plan,
    Polynomial,
    RandomFourier,
    Spectrum,
    kmer_weights,
    load,
    save,
)
from mercer.exceptions import FileFormatError

N = 1500
RANK = 25


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture
def X(rng):
    return rng.normal(size=(N, 3))


def targets(X, rng):
    return np.column_stack([np.sin(X[:, 0]) + X[:, 1], X[:, 2] ** 2]) + 0.1 * rng.normal(
        size=(len(X), 2)
    )


def reachable(thing, seen=None):
    """The bytes of all arrays that can be reached from an object, each counted once."""
    seen = {} if seen is None else seen
    if id(thing) in seen or isinstance(thing, type(np) | type | str):
        return 0
    seen[id(thing)] = thing
    if isinstance(thing, np.ndarray):
        return thing.nbytes if thing.base is None else reachable(thing.base, seen)
    if sp.issparse(thing):
        return sum(reachable(a, seen) for a in (thing.data, thing.indices, thing.indptr))
    if isinstance(thing, dict):
        return sum(reachable(v, seen) for v in thing.values())
    if isinstance(thing, list | tuple | set):
        return sum(reachable(v, seen) for v in thing)
    names = [name for c in type(thing).__mro__ for name in vars(c).get("__slots__", ())]
    slots = [getattr(thing, name, None) for name in names]
    return reachable(getattr(thing, "__dict__", {}), seen) + reachable(slots, seen)


def features(kernel, X):
    phi = kernel.features(kernel.prepare(X))
    return phi.toarray() if sp.issparse(phi) else np.asarray(phi, dtype=float)


def ridge_by_hand(phi, new, Y, alpha, w=None):
    """Predictions by weights in feature space."""
    w = np.ones(len(phi)) if w is None else w
    A = phi.T @ (w[:, None] * phi) + alpha * np.eye(phi.shape[1])
    return new @ np.linalg.solve(A, (w[:, None] * phi).T @ Y)


def variance_by_hand(phi, new, alpha, w=None):
    w = np.ones(len(phi)) if w is None else w
    K = phi @ phi.T + np.diag(alpha / w)
    k = phi @ new.T
    return np.sum(new**2, axis=1) - np.sum(k * np.linalg.solve(K, k), axis=0)


KERNELS = {
    "linear": (Linear(), 3),
    "polynomial": (Polynomial(3, 1.0), 20),
    "sum": (Linear() + 2.0, 4),
    "columns": (Linear().on([0, 2]), 2),
    "landmarks": (Nystrom(Gaussian(2.0), rank=RANK), RANK),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_ridge_through_features(name, weighted, X, rng):
    """Few coefficients and samples, and the predictions of feature space."""
    kernel, M = KERNELS[name]
    Y, new = targets(X, rng), rng.normal(size=(40, 3))
    w = rng.uniform(0.5, 2, N) if weighted else None
    model = KernelRidge(0.5, kernel=kernel).fit(X, Y, w)
    assert model.dual_coef_.shape == (M, 2)
    assert model.n_samples_seen_ == N
    assert model.gram_.shape == (M, M)
    assert "LowRankGram" in model.gram_.explain()
    phi, psi = features(model.kernel_, X), features(model.kernel_, new)
    wanted = ridge_by_hand(phi, psi, Y, 0.5, w)
    np.testing.assert_allclose(model.predict(new), wanted, rtol=1e-7, atol=1e-7)
    f = model.rkhs_function_
    assert len(f.points) == M
    np.testing.assert_allclose(f(new), wanted, rtol=1e-7, atol=1e-7)
    variance = model.posterior_variance(new)
    np.testing.assert_allclose(variance, variance_by_hand(phi, psi, 0.5, w), rtol=1e-6, atol=1e-8)


# ---- every model ---------------------------------------------------------------------------------
def scores(model, X):
    f = getattr(model, "decision_function", model.predict)
    return np.asarray(f(X), dtype=float)


MODELS = {
    "ridge": KernelRidge(0.5, kernel=Gaussian(2.0), plan=Plan(rank=RANK)),
    "several alphas": KernelRidge([0.5, 3.0], kernel=Gaussian(2.0), plan=Plan(rank=RANK)),
    "cross-validated": KernelRidgeCV([0.1, 1.0], kernel=Gaussian(2.0), plan=Plan(rank=RANK)),
    "a small penalty": KernelRidge(1e-4, kernel=Polynomial(2, 1.0)),
    "least squares": LSSVR(Gaussian(2.0), C=2.0, plan=Plan(rank=RANK)),
    "least squares of labels": LSSVC(Polynomial(2, 1.0), C=2.0),
    "robust": KernelMachine(Gaussian(2.0), "huber", plan=Plan(rank=RANK)),
    "hinge": KernelMachine(Linear(), "hinge"),
    "logistic": KernelLogisticRegression(kernel=Gaussian(2.0), plan=Plan(rank=RANK)),
    "linear logistic": KernelLogisticRegression(kernel=Linear() + 1.0),
    "quantiles": KernelQuantileRegressor(
        [0.2, 0.8], kernel=Gaussian(2.0), plan=Plan(rank=RANK), tol=1e-2
    ),
    "pre-images": LearnedPreImage(kernel=Gaussian(2.0), plan=Plan(rank=RANK)),
}
LABELS = ("hinge", "logistic", "linear logistic", "least squares of labels")
BOTH = ("ridge", "several alphas", "cross-validated", "least squares", "pre-images")


@pytest.fixture(params=MODELS)
def problem(request, X, rng):
    """A model, samples and their targets."""
    name = request.param
    Y = targets(X, rng)
    y = Y if name in BOTH else Y[:, 0]
    return clone(MODELS[name]), X, np.digitize(y, [0.0, 1.0]) if name in LABELS else y


def test_the_same_predictions_from_few_samples(problem, rng, tmp_path):
    model, X, y = problem
    new = rng.normal(size=(30, 3))
    everything = clone(model)
    everything._keeps_all = True
    everything.fit(X, y)
    assert len(everything.dual_coef_) == N
    model.fit(X, y)
    M = model.gram_.rank
    assert len(model.dual_coef_) == len(model.X_fit_) == M <= RANK
    np.testing.assert_allclose(scores(model, new), scores(everything, new), rtol=1e-6, atol=1e-6)
    assert reachable(everything) > X.nbytes  # the count counts
    assert reachable(model) < 8 * (6 * M**2 + 100 * M)
    assert len(pickle.dumps(model)) < 8 * (6 * M**2 + 100 * M) + 20_000
    save(model, tmp_path / "model.mercer")
    assert (tmp_path / "model.mercer").stat().st_size < 8 * (M**2 + 20 * M) + 10_000
    for again in (pickle.loads(pickle.dumps(model)), load(tmp_path / "model.mercer")):
        np.testing.assert_array_equal(scores(again, new), scores(model, new))
        assert again.gram_.explain() == model.gram_.explain()
        assert again.n_samples_seen_ == N
    with ThreadPoolExecutor(4) as pool:
        for f in pool.map(lambda _: scores(model, new), range(8)):
            np.testing.assert_array_equal(f, scores(model, new))


def test_size_does_not_depend_on_the_number_of_samples(X, rng):
    y = targets(X, rng)
    for name in ("ridge", "least squares", "pre-images"):
        some, more = (clone(MODELS[name]).fit(X[:n], y[:n]) for n in (600, N))
        assert abs(reachable(more) - reachable(some)) < 200, name


def test_small_models_keep_everything(X, rng):
    """A thousand samples are few, unless landmarks were asked for."""
    y = targets(X, rng)[:, 0]
    assert len(KernelRidge(kernel="linear").fit(X[:1000], y[:1000]).dual_coef_) == 1000
    assert len(KernelRidge(kernel="linear").fit(X[:1001], y[:1001]).dual_coef_) == 3
    marked = KernelRidge(kernel=Gaussian(), plan=Plan(rank=9)).fit(X[:30], y[:30])
    assert len(marked.dual_coef_) == 9


def test_a_second_fit_forgets_the_first(X, rng):
    y = targets(X, rng)[:, 0]
    model = KernelRidge(0.5, kernel="linear").fit(X, y)
    model.fit(X[:50], y[:50])
    fresh = KernelRidge(0.5, kernel="linear").fit(X[:50], y[:50])
    np.testing.assert_array_equal(model.posterior_variance(X), fresh.posterior_variance(X))
    np.testing.assert_array_equal(model.leave_one_out(), fresh.leave_one_out())
    machine = KernelLogisticRegression(kernel=Linear()).fit(X, y > 0)
    machine.fit(X[:50], y[:50] > 0).leave_one_out()


# ---- data of other kinds -----------------------------------------------------------------------
def test_single_precision(X, rng):
    X32, y = X.astype(np.float32), targets(X, rng)[:, 0].astype(np.float32)
    for kernel in (Linear(), Nystrom(Gaussian(2.0), rank=RANK)):
        model = KernelRidge(0.5, kernel=kernel).fit(X32, y)
        assert model.predict(X32[:5]).dtype == np.float32
        phi = features(model.kernel_, X32)
        wanted = ridge_by_hand(phi, phi, y, 0.5)
        np.testing.assert_allclose(model.predict(X32), wanted, atol=2e-3)


def test_sparse_vectors(X, rng):
    y = targets(X, rng)[:, 0]
    S = sp.random(N, 12, 0.3, format="csr", random_state=0)
    model = KernelRidge(0.5, kernel=Linear()).fit(S, y)
    assert model.X_fit_.shape == (12, 12)
    wanted = ridge_by_hand(S.toarray(), S.toarray(), y, 0.5)
    np.testing.assert_allclose(model.predict(S), wanted, atol=1e-9)


def test_strings(rng):
    """As many strings are kept as there are different k-mers; they explain the model as well."""
    words = ["".join(rng.choice(list("abc"), rng.integers(2, 9))) for _ in range(N)]
    y = np.array([w.count("ab") - w.count("c") for w in words], dtype=float)
    model = KernelRidge(0.5, kernel=Spectrum(2)).fit(words, y)
    assert len(model.X_fit_) == len(model.dual_coef_) == 9
    assert set(model.X_fit_) <= set(words)
    mers = [a + b for a in "abc" for b in "abc"]
    phi = np.array([[sum(w[i : i + 2] == m for i in range(len(w))) for m in mers] for w in words])
    w = np.linalg.solve(phi.T @ phi + 0.5 * np.eye(9), phi.T @ y)
    np.testing.assert_allclose(model.predict(words), phi @ w, atol=1e-9)
    found = {weight.text: weight.weight for weight in kmer_weights(model)}
    np.testing.assert_allclose([found[m] for m in mers], w, atol=1e-9)
    new = ["zzz", "abab"]  # one without any k-mer that is known
    np.testing.assert_allclose(model.predict(new), [0, phi_of("abab", mers) @ w], atol=1e-9)


def phi_of(word, mers):
    return np.array([sum(word[i : i + 2] == m for i in range(len(word))) for m in mers])


@pytest.mark.parametrize("package", ["pandas", "polars"])
@pytest.mark.parametrize("landmarks", [False, True])
def test_tables(package, landmarks, X, rng, tmp_path):
    frames = pytest.importorskip(package)
    table = frames.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    y = targets(X, rng)[:, 0]
    kernel = Gaussian(2.0).on(["a", "b"]) if landmarks else Linear().on(["a", "b"])
    plan = Plan(rank=RANK) if landmarks else None
    model = KernelRidge(0.5, kernel=kernel, plan=plan).fit(table, y)
    assert len(model.X_fit_) == (RANK if landmarks else 2)
    assert isinstance(model.X_fit_, frames.DataFrame)
    phi = features(model.kernel_, table)
    np.testing.assert_allclose(model.predict(table), ridge_by_hand(phi, phi, y, 0.5), atol=1e-6)


def test_dependent_features_and_columns_of_other_sizes(X, rng):
    """One-hot labels beside a constant, and columns of other sizes."""
    codes = rng.integers(0, 4, N)
    hot = np.eye(4)[codes]
    y = targets(X, rng)[:, 0]
    V = np.column_stack([hot, np.ones(N), 1e3 * X[:, 0], 1e-3 * X[:, 1]])
    model = KernelRidge(0.5, kernel=Linear()).fit(V, y)
    assert len(model.dual_coef_) == 6
    np.testing.assert_allclose(model.predict(V), ridge_by_hand(V, V, y, 0.5), rtol=1e-6, atol=1e-6)


def test_samples_that_change_after_the_fit(X, rng):
    y, marks = targets(X, rng)[:, 0], rng.normal(size=(8, 3))
    for kernel in (Linear(), Nystrom(Gaussian(2.0), rank=9)):
        given = X.copy()
        model = KernelRidge(0.5, kernel=kernel).fit(given, y)
        before = model.predict(X[:9])
        given[:] = 0
        np.testing.assert_array_equal(model.predict(X[:9]), before)
    f = KernelRidge(0.5, kernel=Nystrom(Gaussian(2.0), marks)).fit(X, y).rkhs_function_
    assert not np.shares_memory(f.points, marks)


def test_no_signal_at_all(rng):
    X = np.zeros((N, 3))
    model = KernelRidge(0.5, kernel=Linear()).fit(X, rng.normal(size=N))
    np.testing.assert_array_equal(model.predict(np.ones((2, 3))), 0)


# ---- what needs all samples --------------------------------------------------------------------
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.5, [0.5, 2.0]])
def test_leave_one_out_from_the_samples_of_the_fit(alpha, weighted, X, rng):
    Y = targets(X, rng)
    w = rng.uniform(0.5, 2, N) if weighted else None
    model = KernelRidge(alpha, kernel=Polynomial(2, 1.0)).fit(X, Y, w)
    held_out = model.leave_one_out(X, Y, w)
    phi = features(model.kernel_, X)
    for i in (0, 17, N - 1):
        rest = np.arange(N) != i
        for j, a in enumerate(np.broadcast_to(alpha, 2)):
            v = None if w is None else w[rest]
            wanted = ridge_by_hand(phi[rest], phi[[i]], Y[rest, j], a, v)[0]
            np.testing.assert_allclose(held_out[i, j], wanted, rtol=1e-8, atol=1e-8)
    one = KernelRidge(0.5, kernel=Polynomial(2, 1.0)).fit(X, Y[:, 0])
    dense = KernelRidge(0.5, kernel=Polynomial(2, 1.0), plan=Plan(storage="dense")).fit(X, Y[:, 0])
    np.testing.assert_allclose(one.leave_one_out(X, Y[:, 0]), dense.leave_one_out(), atol=1e-8)


def test_what_is_said_without_them(X, rng):
    y = targets(X, rng)[:, 0]
    ridge = KernelRidge(0.5, kernel="linear").fit(X, y)
    with pytest.raises(ValueError, match=r"all 1500 training.*keeps only the 3 .*X, y and weights"):
        ridge.leave_one_out()
    with pytest.raises(ValueError, match="the 1500 training samples"):
        ridge.leave_one_out(X[:99], y[:99])
    for machine in (KernelLogisticRegression(kernel=Linear()), KernelMachine(Linear(), "logistic")):
        with pytest.raises(ValueError, match=r"keeps only the 3 .*cross_val_predict"):
            machine.fit(X, y > 0).leave_one_out()


def test_variance_without_noise_is_zero_where_data_are(X, rng):
    y = X @ [1.0, 2.0, 3.0]
    model = KernelRidge(0, kernel=Linear(), solver="eigen").fit(X, y)
    np.testing.assert_allclose(model.predict(X), y)
    np.testing.assert_array_equal(model.posterior_variance(X[:3]), 0)


def test_conformal_intervals_leave_out_each_sample(X, rng, tmp_path):
    """In closed form, which needs all samples, so these are kept."""
    y = targets(X, rng)[:, 0]
    model = ConformalRegressor(KernelRidge(0.5, kernel="linear")).fit(X, y)
    assert model.method_ == "jackknife+"
    dense = KernelRidge(0.5, kernel="linear", plan=Plan(storage="dense"))
    wanted = ConformalRegressor(dense).fit(X, y).predict_interval(X[:5])
    np.testing.assert_allclose(model.predict_interval(X[:5]), wanted, atol=1e-8)
    save(model, tmp_path / "model.mercer")
    found = load(tmp_path / "model.mercer").predict_interval(X[:5])
    np.testing.assert_allclose(found, wanted, atol=1e-8)


@pytest.mark.parametrize("output", ["identity", "learn", [[1.0, 0.6], [0.6, 1.0]]])
@pytest.mark.parametrize("kernel", [Polynomial(2, 1.0), Nystrom(Gaussian(2.0), rank=RANK)])
def test_outputs_that_know_of_each_other(kernel, output, X, rng, tmp_path):
    Y, w = targets(X, rng), rng.uniform(0.5, 2, N)
    model = MultiOutputKernelRidge(0.5, kernel=kernel, output=output).fit(X, Y, w)
    M = len(model.X_fit_)
    assert model.dual_coef_.shape == (M, 2)
    assert model.n_samples_seen_ == N
    assert reachable(model) < 8 * (8 * M**2 + 200 * M)
    new = X[:4] + 0.1
    phi, psi = (features(model.kernel_.scalar, D) for D in (X, new))
    B = model.output_
    A = np.kron(np.linalg.inv(B), 0.5 * np.eye(M)) + np.kron(np.eye(2), phi.T @ (w[:, None] * phi))
    W = np.linalg.solve(A, (phi.T @ (w[:, None] * Y)).T.ravel()).reshape(2, M).T
    np.testing.assert_allclose(model.predict(new), psi @ W, rtol=1e-5, atol=1e-6)
    variance = 0.5 * np.einsum("ij,tjtk,ik->it", psi, np.linalg.inv(A).reshape(2, M, 2, M), psi)
    np.testing.assert_allclose(model.posterior_variance(new), variance, rtol=1e-5, atol=1e-7)
    save(model, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    np.testing.assert_array_equal(again.posterior_variance(new), model.posterior_variance(new))


def test_missing_targets_need_all_samples(X, rng):
    Y = targets(X, rng)
    Y[3, 1] = np.nan
    assert len(MultiOutputKernelRidge(0.5, kernel=Linear()).fit(X, Y).dual_coef_) == N


def test_components_from_landmarks(X, tmp_path):
    """The same coordinates as before the samples were forgotten, and nothing of their number."""
    model = KernelPCA(3, kernel=Gaussian(2.0), plan=Plan(rank=RANK))
    some, scores = clone(model).fit(X[:600]), model.fit_transform(X)
    np.testing.assert_allclose(model.transform(X), scores, atol=1e-9)
    some.transform(X)
    assert reachable(model) - reachable(some) < 200
    assert model.gram_.shape == (RANK, RANK)
    save(model, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    np.testing.assert_allclose(again.transform(X), scores, atol=1e-9)
    assert again.gram_.explain() == model.gram_.explain()
    back = KernelPCA(3, kernel=Gaussian(2.0), plan=Plan(rank=RANK), fit_inverse_transform=True)
    save(back.fit(X[:200]), tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    np.testing.assert_allclose(
        again.inverse_transform(scores[:5]), back.inverse_transform(scores[:5]), atol=1e-9
    )


# ---- files -------------------------------------------------------------------------------------
def rewritten(path, change):
    """The same file with another state of the model."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(contents["model.json"])
    change(header["value"]["state"])
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in (contents | {"model.json": json.dumps(header)}).items():
            archive.writestr(name, data)
    return path


def test_files_with_all_samples(X, rng, tmp_path):
    """As they were before few samples were kept: without their number, and with all of them."""
    y, path = targets(X, rng)[:, 0], tmp_path / "model.mercer"

    def as_before(state):
        for name in ("n_samples_seen_", "_axes", "_spectrum"):
            state.pop(name, None)

    for name in ("ridge", "least squares", "robust"):
        model = clone(MODELS[name])
        model._keeps_all = True
        save(model.fit(X, y), path)
        again = load(rewritten(path, as_before))
        np.testing.assert_array_equal(again.predict(X[:20]), model.predict(X[:20]))
        assert again.n_samples_seen_ == len(again.dual_coef_) == N


def test_files_that_cannot_be(X, rng, tmp_path):
    y, path = targets(X, rng)[:, 0], tmp_path / "model.mercer"
    model = KernelRidge(0.5, kernel="linear").fit(X, y)
    save(model, path)
    with pytest.raises(FileFormatError, match="more samples than"):
        load(rewritten(path, lambda state: state.update(n_samples_seen_=2)))
    model._spectrum = model._spectrum[:-1]
    save(model, path)
    with pytest.raises(FileFormatError, match=r"_spectrum is not finite, or does not fit"):
        load(path)
    save(ConformalRegressor(KernelRidge(0.5)).fit(X[:40], y[:40]), path)
    with pytest.raises(FileFormatError, match="without the model inside"):
        load(rewritten(path, lambda state: state["estimator_"].update(state={})))


@pytest.mark.parametrize("outputs", [1, 2])
def test_what_training_samples_do_not_have_stays_uncertain(outputs, rng):
    """New strings with letters that no training sample has, as if all of K were stored."""
    X = ["".join(rng.choice(list("ACG"), 20)) for _ in range(1200)]
    y = np.array([[x.count("AC"), x.count("GG")][:outputs] for x in X], dtype=float)
    model = KernelRidge if outputs == 1 else MultiOutputKernelRidge
    few = model(0.5, kernel=Spectrum(2)).fit(X, y)
    full = model(0.5, kernel=Spectrum(2), plan=Plan(storage="dense")).fit(X, y)
    assert len(few.X_fit_) == 9
    new = ["ACGTTTT", "ACGACG", "TTTT"]
    assert np.allclose(few.posterior_variance(new), full.posterior_variance(new), rtol=1e-6)
    assert np.all(few.posterior_variance(new)[[0, 2]] > 8)


def test_features_that_nearly_depend_on_each_other(rng):
    """Of 400 waves on a line, many are the same to rounding: coefficients would be enormous."""
    X = rng.standard_normal((1500, 1))
    y = np.sin(2 * X[:, 0])
    model = KernelRidge(0.1, kernel=Matern(1.0).approximate(RandomFourier(400))).fit(X, y)
    assert len(model.X_fit_) < 400
    phi = model.kernel_.features(model.kernel_.prepare(X))
    inverse = np.linalg.inv(phi.T @ phi + 0.1 * np.eye(phi.shape[1]))
    h = np.einsum("ij,jk,ik->i", phi, inverse, phi)
    f = phi @ (inverse @ (phi.T @ y))
    assert np.allclose(model.predict(X), f, atol=1e-8)
    assert np.allclose(model.leave_one_out(X, y), (f - h * y) / (1 - h), atol=1e-6)
    new = 4 * rng.standard_normal((50, 1))
    far = model.kernel_.features(model.kernel_.prepare(new))
    wanted = 0.1 * np.einsum("ij,jk,ik->i", far, inverse, far)
    assert np.allclose(model.posterior_variance(new), wanted, rtol=1e-5, atol=1e-6)
