import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as Peer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    Gaussian,
    KernelPCA,
    Linear,
    Nystrom,
    Plan,
    Polynomial,
    Spectrum,
    covariance,
    load,
    save,
)
from mercer.exceptions import ConvergenceWarning, NumericalWarning


@parametrize_with_checks(
    [
        KernelPCA(),
        KernelPCA(2, kernel="rbf", eigen_solver="krylov"),
        KernelPCA(2, kernel=Gaussian(2.0), eigen_solver="nystrom"),
        KernelPCA(2, kernel=Gaussian() + Linear(), fit_inverse_transform=True),
    ],
    expected_failed_checks=lambda model: (
        {"check_sample_weight_equivalence_on_sparse_data": "no inverse of sparse samples"}
        if model.fit_inverse_transform
        else {}
    ),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def X(rng):
    return rng.standard_normal((150, 4)) * [3, 2, 1, 1]


@pytest.fixture
def new(rng):
    return rng.standard_normal((9, 4))


def agree_up_to_sign(ours, theirs, atol):
    signs = np.sign(np.sum(ours * theirs, axis=0))
    np.testing.assert_allclose(ours, theirs * signs, atol=atol)


# ---- scikit-learn's estimator ------------------------------------------------------------------
@pytest.mark.parametrize("solver", ["auto", "dense", "arpack", "krylov"])
@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "linear"},
        {"kernel": "rbf"},
        {"kernel": "rbf", "gamma": 0.3},
        {"kernel": "poly", "degree": 2, "gamma": 0.1, "coef0": 2},
        {"kernel": "cosine"},
        {"kernel": "sigmoid", "gamma": 0.01},
    ],
    ids=str,
)
def test_drop_in_for_scikit_learn(X, new, options, solver):
    ours = KernelPCA(3, eigen_solver=solver, random_state=0, **options)
    theirs = Peer(3, eigen_solver="dense", **options)
    np.testing.assert_allclose(ours.fit_transform(X), theirs.fit_transform(X), atol=1e-7)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(ours.eigenvectors_, theirs.eigenvectors_, atol=1e-8)
    np.testing.assert_allclose(ours.transform(new), theirs.transform(new), atol=1e-7)


@pytest.mark.parametrize("gamma", [None, 0.3])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "cosine"])
def test_gamma_as_in_scikit_learn(X, tmp_path, kernel, gamma):
    ours, theirs = (make(3, kernel=kernel, gamma=gamma).fit(X) for make in (KernelPCA, Peer))
    assert ours.gamma_ == theirs.gamma_
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
    save(ours, tmp_path / "model.mercer")
    assert load(tmp_path / "model.mercer").gamma_ == ours.gamma_
    assert not hasattr(KernelPCA(2, kernel=Gaussian()).fit(X), "gamma_")


def test_copy_X(X, new):
    for kept in (True, False):
        model = KernelPCA(2, kernel=Linear(), copy_X=kept).fit(X)
        assert np.shares_memory(model.X_fit_, X) is not kept
        np.testing.assert_array_equal(model.X_fit_, X)


def test_drop_in_for_functions_and_matrices(X, new):
    K, cross = Gaussian()(X), Gaussian()(new, X)
    ours = KernelPCA(3, kernel="precomputed").fit(K)
    np.testing.assert_allclose(
        ours.transform(cross), Peer(3, kernel="precomputed").fit(K).transform(cross), atol=1e-9
    )
    with pytest.raises(ValueError, match="needs k"):
        ours.reconstruction_error(cross)

    def gaussian(a, b, width):
        return np.exp(-((a - b) ** 2).sum() / width)

    by_hand = KernelPCA(3, kernel=gaussian, kernel_params={"width": 2.0}).fit(X)
    np.testing.assert_allclose(by_hand.transform(new), ours.transform(cross), atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"remove_zero_eig": True}, {"n_components": 9}], ids=str)
def test_which_components_are_kept(X, new, options):
    """A linear kernel on four columns has four components; the others have no variance."""
    ours, theirs = KernelPCA(**options).fit(X), Peer(**options).fit(X)
    assert ours.eigenvalues_.shape == theirs.eigenvalues_.shape
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, atol=1e-9)
    np.testing.assert_allclose(ours.transform(new), theirs.transform(new), atol=1e-9)
    assert ours.transform(new).shape[1] == len(ours.get_feature_names_out())


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_inverse_transform_is_scikit_learns(X, new, kernel):
    options = {"kernel": kernel, "gamma": 0.2, "alpha": 0.5, "fit_inverse_transform": True}
    ours, theirs = KernelPCA(3, **options).fit(X), Peer(3, **options).fit(X)
    scores = theirs.transform(new)
    wanted = theirs.inverse_transform(scores)
    np.testing.assert_allclose(ours.inverse_transform(scores), wanted, atol=1e-7)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-7)
    with pytest.raises(ValueError, match="precomputed"):
        KernelPCA(3, kernel="precomputed", fit_inverse_transform=True).fit(X)
    with pytest.raises(ValueError, match="sparse"):
        KernelPCA(3, fit_inverse_transform=True).fit(sp.csr_matrix(X))


# ---- the mathematics ---------------------------------------------------------------------------
def test_linear_kernel_is_pca(X, new):
    ours, theirs = KernelPCA(4).fit(X), PCA().fit(X)
    agree_up_to_sign(ours.transform(new), theirs.transform(new), 1e-10)
    n = len(X)
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_ * (n - 1) / n)
    np.testing.assert_allclose(
        ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-10
    )
    axes = ours.components_.weights()  # as vectors of R^4
    agree_up_to_sign(axes, theirs.components_.T, 1e-10)
    np.testing.assert_allclose(ours.mean_.weights(), theirs.mean_, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", ["dense", "krylov", "auto"])
def test_against_an_explicit_feature_map(X, new, rng, solver, weighted):
    """Polynomial features written out: covariance, projections and distances as vectors."""
    kernel = Polynomial(degree=2)
    phi, phi_new = (kernel.features(kernel.prepare(Z)) for Z in (X, new))
    w = rng.integers(0, 4, len(X)).astype(float) if weighted else np.ones(len(X))
    mean = w @ phi / w.sum()
    C = (phi - mean).T @ (w[:, None] * (phi - mean)) / w.sum()
    variances, V = np.linalg.eigh(C)
    variances, V = variances[::-1][:3], V[:, ::-1][:, :3]
    model = KernelPCA(3, kernel=kernel, eigen_solver=solver, random_state=0)
    scores = model.fit_transform(X, sample_weight=w if weighted else None)
    np.testing.assert_allclose(model.explained_variance_, variances, rtol=1e-9)
    np.testing.assert_allclose(model.explained_variance_ratio_, variances / np.trace(C), rtol=1e-9)
    np.testing.assert_allclose(model.mean_.weights(), mean, atol=1e-9)
    agree_up_to_sign(model.components_.weights(), V, 1e-8)
    agree_up_to_sign(model.transform(new), (phi_new - mean) @ V, 1e-7)
    agree_up_to_sign(scores, (phi - mean) @ V, 1e-7)
    np.testing.assert_allclose(np.average(scores, axis=0, weights=w), 0, atol=1e-8)
    projected = mean + (phi_new - mean) @ V @ V.T
    np.testing.assert_allclose(model.project(new).weights().T, projected, atol=1e-7)
    errors = ((phi_new - projected) ** 2).sum(axis=1)
    np.testing.assert_allclose(model.reconstruction_error(new), errors, atol=1e-6)
    np.testing.assert_allclose(model.score_samples(new), -errors, atol=1e-6)


def test_components_are_orthonormal_eigenfunctions_of_the_covariance(X):
    kernel = Gaussian(3.0)
    model = KernelPCA(5, kernel=kernel).fit(X)
    v = model.components_
    np.testing.assert_allclose(v.inner(v), np.eye(5), atol=1e-10)
    C = covariance(kernel, X)
    for j in (0, 3):
        moved = C(v[j]) - float(model.explained_variance_[j]) * v[j]
        assert moved.norm() < 1e-10
    values, _ = C.eigenfunctions(5)
    np.testing.assert_allclose(model.explained_variance_, values, rtol=1e-10)
    everything = KernelPCA(kernel=kernel).fit(X)
    assert everything.explained_variance_ratio_.sum() == pytest.approx(1)


@pytest.mark.parametrize("solver", ["dense", "krylov", "nystrom"])
def test_weights_are_repetitions(X, new, rng, solver):
    w = rng.integers(0, 3, len(X))
    Z = rng.standard_normal((40, 4))
    kernel = Nystrom(Gaussian(2.0), Z) if solver == "nystrom" else Gaussian(2.0)
    weighted = KernelPCA(4, kernel=kernel, eigen_solver=solver, random_state=0)
    repeated = clone(weighted)
    scores = weighted.fit_transform(X, sample_weight=w)
    repeated.fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(weighted.transform(new), repeated.transform(new), atol=1e-8)
    np.testing.assert_allclose(scores, repeated.transform(X), atol=1e-8)
    np.testing.assert_allclose(
        weighted.explained_variance_ratio_, repeated.explained_variance_ratio_, rtol=1e-9
    )
    errors = [m.reconstruction_error(new) for m in (weighted, repeated)]
    np.testing.assert_allclose(*errors, atol=1e-9)


@pytest.mark.parametrize("eigen_solver", ["dense", "nystrom"])
def test_mean_reconstruction_error_is_the_unexplained_variance(X, rng, eigen_solver):
    w = rng.uniform(0, 2, len(X))
    model = KernelPCA(4, kernel=Gaussian(2.0), eigen_solver=eigen_solver, plan=Plan(rank=20))
    if eigen_solver == "dense":
        model.set_params(plan=None)
    model.fit(X, sample_weight=w)
    left = np.average(model.reconstruction_error(X), weights=w)
    total = model.explained_variance_.sum() / model.explained_variance_ratio_.sum()
    assert left == pytest.approx(total - model.explained_variance_.sum(), rel=1e-9)
    outlier = model.score_samples(np.full((1, 4), 30.0))
    assert outlier < model.score_samples(X).min()


# ---- landmarks and streams ---------------------------------------------------------------------
def test_nystrom_is_pca_of_the_landmark_features(X, new, rng):
    Z = rng.standard_normal((25, 4))
    kernel = Nystrom(Gaussian(2.0), Z)
    model = KernelPCA(3, kernel=kernel)
    scores = model.fit_transform(X)
    phi, phi_new = (kernel.features(kernel.prepare(D)) for D in (X, new))
    theirs = PCA(3).fit(phi)
    agree_up_to_sign(scores, theirs.transform(phi), 1e-9)
    agree_up_to_sign(model.transform(new), theirs.transform(phi_new), 1e-9)
    np.testing.assert_allclose(model.eigenvalues_ / (len(X) - 1), theirs.explained_variance_)
    eigenvectors = scores / np.sqrt(model.eigenvalues_)  # not kept: there is one row per sample
    np.testing.assert_allclose(eigenvectors.T @ eigenvectors, np.eye(3), atol=1e-10)
    assert not hasattr(model, "eigenvectors_")
    np.testing.assert_array_equal(model.X_fit_, Z)
    v = model.components_
    np.testing.assert_array_equal(v.points, Z)
    np.testing.assert_allclose(v.inner(v), np.eye(3), atol=1e-10)
    whole = 1 - model.mean_.norm() ** 2  # k(x, x) = 1
    np.testing.assert_allclose(model.explained_variance_ratio_, model.explained_variance_ / whole)
    lost = 1 - np.mean((phi**2).sum(axis=1))
    assert model.solution_.stats["lost"] == pytest.approx(lost / whole)


@pytest.mark.parametrize("storage", ["auto", "dense", "tiled", "lowrank"])
def test_landmarks_with_any_storage(X, new, rng, storage):
    kernel = Nystrom(Gaussian(2.0), rng.standard_normal((100, 4)))  # more than n / 2
    wanted = KernelPCA(3, kernel="precomputed").fit(kernel(X)).transform(kernel(new, X))
    model = KernelPCA(3, kernel=kernel, plan=Plan(storage=storage)).fit(X)
    agree_up_to_sign(model.transform(new), wanted, 1e-8)


def test_nystrom_solver_approaches_the_exact_one(X):
    exact = KernelPCA(3, kernel=Gaussian(4.0)).fit(X)
    model = KernelPCA(3, kernel=Gaussian(4.0), eigen_solver="nystrom", plan=Plan(rank=60)).fit(X)
    assert model.kernel_.reference.shape == (60, 4)
    total = exact.eigenvalues_.sum() / exact.explained_variance_ratio_.sum()
    short = exact.eigenvalues_ - model.eigenvalues_
    assert np.all(short > 0)
    assert np.all(short < model.solution_.stats["lost"] * total)  # the certificate
    assert model.solution_.stats["lost"] < 0.01
    everything = KernelPCA(3, kernel=Gaussian(4.0), eigen_solver="nystrom").fit(X)
    np.testing.assert_allclose(everything.eigenvalues_, exact.eigenvalues_, rtol=1e-8)
    agree_up_to_sign(everything.transform(X), exact.transform(X), 1e-6)


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_stream_equals_batch_with_the_same_landmarks(X, new, rng, weighted, given):
    w = rng.uniform(0, 2, len(X)) if weighted else None
    kernel = Nystrom(Gaussian(2.0), rng.standard_normal((20, 4))) if given else Gaussian("median")
    stream = KernelPCA(3, kernel=kernel, plan=Plan(rank=20))
    for rows in (slice(0, 40), slice(40, 41), slice(41, 150)):
        stream.partial_fit(X[rows], sample_weight=None if w is None else w[rows])
    assert stream.n_samples_seen_ == 150
    batch = KernelPCA(3, kernel=stream.kernel_).fit(X, sample_weight=w)
    np.testing.assert_allclose(stream.eigenvalues_, batch.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(stream.transform(new), batch.transform(new), atol=1e-9)
    np.testing.assert_allclose(
        stream.explained_variance_ratio_, batch.explained_variance_ratio_, rtol=1e-10
    )
    errors = [m.reconstruction_error(new) for m in (stream, batch)]
    np.testing.assert_allclose(*errors, atol=1e-10)
    assert not hasattr(stream, "X_fit_")
    again = clone(stream).fit(X)
    assert hasattr(again, "X_fit_")
    assert not hasattr(KernelPCA(fit_inverse_transform=True), "partial_fit")


def test_a_fit_begins_anew(X):
    model = KernelPCA(2, kernel=Gaussian(), plan=Plan(rank=10)).partial_fit(X[:50])
    model.set_params(plan=None).fit(X[:60])
    assert len(model.eigenvectors_) == 60
    model.partial_fit(X)
    assert model.n_samples_seen_ == 150
    assert not hasattr(model, "eigenvectors_")


# ---- any data, any size ------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", ["dense", "tiled"])
def test_plans_and_precisions_agree(X, new, storage, dtype):
    exact = KernelPCA(3, kernel=Gaussian(3.0), eigen_solver="dense").fit(X)
    model = KernelPCA(3, kernel=Gaussian(3.0), eigen_solver="krylov", random_state=0)
    model.set_params(plan=Plan(storage=storage)).fit(X.astype(dtype))
    tol = 1e-3 if dtype == np.float32 else 1e-8
    np.testing.assert_allclose(model.transform(new.astype(dtype)), exact.transform(new), atol=tol)
    assert model.transform(new.astype(dtype)).dtype == dtype


@pytest.mark.parametrize("lengthscale", [1.0, 3.0, 1000.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_randomized_is_right_to_one_percent(rng, lengthscale, weighted):
    """Also where K is constant up to what single precision resolves: double is used then."""
    X = rng.standard_normal((500, 3)) * [1, 2, 3] + 50
    w = rng.uniform(0, 2, 500) if weighted else None
    options = {"kernel": Gaussian(lengthscale), "random_state": 0}
    exact = KernelPCA(3, eigen_solver="dense", **options).fit(X, sample_weight=w)
    rough = KernelPCA(3, eigen_solver="randomized", **options).fit(X, sample_weight=w)
    np.testing.assert_allclose(rough.eigenvalues_, exact.eigenvalues_, rtol=0.01)
    shift = np.average(rough.transform(X), axis=0, weights=w)
    assert np.abs(shift).max() < 1e-5 * np.sqrt(rough.explained_variance_[0])
    fixed = KernelPCA(3, eigen_solver="randomized", iterated_power=9, **options)
    fixed.fit(X, sample_weight=w)
    assert fixed.solution_.n_iter == 10
    np.testing.assert_allclose(fixed.eigenvalues_, exact.eigenvalues_, rtol=1e-8)


def test_sparse_equals_dense(X):
    X = np.where(np.abs(X) > 1, X, 0)
    for kernel in (Gaussian(), Linear(), "rbf"):
        dense = KernelPCA(3, kernel=kernel).fit(X)
        sparse = KernelPCA(3, kernel=kernel).fit(sp.csr_matrix(X))
        np.testing.assert_allclose(
            sparse.transform(sp.csc_matrix(X)), dense.transform(X), atol=1e-9
        )


def test_strings_and_tables(tmp_path):
    words = ["abab", "abba", "bbbb", "aaaa", "abcab", "cabca", "bcbc", "ccab", "abac", "caca"]
    kernel = Spectrum(2).normalize()
    model = KernelPCA(3, kernel=kernel).fit(words)
    K = kernel(words)
    theirs = Peer(3, kernel="precomputed").fit(K)
    np.testing.assert_allclose(model.transform(words), theirs.transform(K), atol=1e-10)
    assert model.reconstruction_error(["zzzz"]) > model.reconstruction_error(words).max()
    landmarks = KernelPCA(3, kernel=kernel, plan=Plan(rank=6)).fit(words)
    assert len(landmarks.components_.points) == 6
    frame = pd.DataFrame({"text": words, "size": np.arange(10.0)})
    both = Gaussian(3.0).on("size") * kernel.on("text")
    table = KernelPCA(2, kernel=both).set_output(transform="pandas").fit_transform(frame)
    assert list(table.columns) == ["kernelpca0", "kernelpca1"]


def test_grid_search_in_a_pipeline(rng):
    angle = rng.uniform(0, 2 * np.pi, 200)
    label = rng.integers(0, 2, 200)
    ring = np.column_stack([np.cos(angle), np.sin(angle)]) * (1 + 2 * label)[:, None]
    pipe = make_pipeline(KernelPCA(2, kernel=Gaussian()), LogisticRegression())
    grid = {"kernelpca__kernel__lengthscale": [0.01, 2.0], "kernelpca__n_components": [1, 4]}
    search = GridSearchCV(pipe, grid).fit(ring, label)
    assert search.best_params_["kernelpca__kernel__lengthscale"] == 2.0
    assert search.best_score_ > 0.95


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": Gaussian("median")},
        {"kernel": "poly", "fit_inverse_transform": True},
        {"kernel": Gaussian(), "eigen_solver": "nystrom", "plan": Plan(rank=10)},
    ],
    ids=str,
)
def test_saving(X, new, tmp_path, options):
    model = KernelPCA(3, **options).fit(X)
    save(model, tmp_path / "model.mercer")
    back = load(tmp_path / "model.mercer")
    np.testing.assert_allclose(back.transform(new), model.transform(new), atol=1e-12)
    np.testing.assert_array_equal(back.explained_variance_ratio_, model.explained_variance_ratio_)
    if model.fit_inverse_transform:
        scores = model.transform(new)
        np.testing.assert_allclose(back.inverse_transform(scores), model.inverse_transform(scores))


def test_a_saved_stream_goes_on(X, new, tmp_path):
    stream = KernelPCA(3, kernel=Gaussian(), plan=Plan(rank=10)).partial_fit(X[:50])
    save(stream, tmp_path / "stream.mercer")
    back = load(tmp_path / "stream.mercer").partial_fit(X[50:])
    stream.partial_fit(X[50:])
    np.testing.assert_allclose(back.transform(new), stream.transform(new), atol=1e-12)


def test_same_seed_same_answer(rng):
    X = rng.standard_normal((700, 3))
    options = {"kernel": Gaussian(), "eigen_solver": "krylov", "random_state": 3}
    first, second = (
        KernelPCA(4, plan=Plan(workers=workers), **options).fit(X) for workers in (1, 2)
    )
    np.testing.assert_array_equal(first.eigenvectors_, second.eigenvectors_)


# ---- what can go wrong -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eigen_solver": "magic"}, "eigen_solver must be one of"),
        ({"n_components": 0}, "n_components must be"),
        ({"iterated_power": -1}, "iterated_power must be"),
        ({"tol": -1}, "tol and alpha must be"),
        ({"plan": Plan(storage="tiled", rank=5), "kernel": "rbf"}, "rank=5"),
    ],
)
def test_bad_parameters(X, options, message):
    with pytest.raises(ValueError, match=message):
        KernelPCA(**options).fit(X)


def test_bad_weights(X):
    with pytest.raises(ValueError, match="sample_weight"):
        KernelPCA(2).fit(X, sample_weight=-np.ones(len(X)))


def test_an_indefinite_matrix_is_reported(rng):
    K = rng.standard_normal((20, 20))
    with pytest.warns(NumericalWarning, match="not positive semi-definite"):
        model = KernelPCA(kernel="precomputed").fit(K + K.T)
    assert np.all(model.eigenvalues_ > 0)


def test_no_convergence_is_reported(rng):
    X = rng.standard_normal((700, 30))
    model = KernelPCA(4, kernel=Gaussian(3.0), eigen_solver="krylov", max_iter=2, random_state=0)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model.fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(model).set_params(max_iter=None).fit(X)
