"""Kernel canonical correlation analysis: identities, kinds of data, weights, the contract."""

import numpy as np
import pandas as pd
import pytest
import scipy.linalg as sla
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer.solvers.canonical as solver
from mercer import (
    CCA,
    Categorical,
    Gaussian,
    KernelCCA,
    Laplacian,
    Linear,
    Polynomial,
    RKHSFunction,
    Spectrum,
    load,
    save,
)
from mercer.exceptions import NumericalWarning


@pytest.fixture
def views(rng):
    """Three views with a common cause, seen through different functions."""
    t = rng.uniform(-2, 2, 80)
    X = np.column_stack([t, rng.normal(size=80)])
    Y = np.column_stack([np.sin(2 * t), rng.normal(size=80), rng.normal(size=80)])
    Z = (t**2 + 0.2 * rng.normal(size=80))[:, None]
    return [X, Y, Z]


def dense_value(grams, r, form):
    """The largest eigenvalue of the seeds' generalised eigenproblem, n M x n M, by scipy."""
    n, M = len(grams[0]), len(grams)
    H = np.eye(n) - 1 / n
    K = [H @ gram @ H for gram in grams]
    A, B = np.zeros((2, M * n, M * n))
    for i in range(M):
        at = slice(i * n, (i + 1) * n)
        if form == "ridge":
            B[at, at] = K[i] @ K[i] + n * r * K[i] + 1e-9 * np.eye(n)
        else:
            B[at, at] = np.linalg.matrix_power(K[i] + n * r / 2 * np.eye(n), 2)
        for j in range(M):
            if i != j:
                A[at, j * n : (j + 1) * n] = K[i] @ K[j]
    return sla.eigh(A, B, eigvals_only=True)[-1]


# ---- identities --------------------------------------------------------------------------------
@pytest.mark.parametrize("form", ["ridge", "squared"])
@pytest.mark.parametrize("M", [2, 3])
def test_value_of_the_dense_problem(views, form, M):
    kernels = [Gaussian(1.0), Laplacian(2.0), Gaussian(0.5)][:M]
    model = KernelCCA(kernels=kernels, regularization=0.05, form=form).fit(views[:M])
    grams = [k(X) for k, X in zip(kernels, views, strict=False)]
    expected = dense_value(grams, 0.05, form) / (M - 1)
    np.testing.assert_allclose(model.correlations_[0], expected, atol=1e-8)


@pytest.mark.parametrize("form", ["ridge", "squared"])
def test_correlation_is_what_it_says(views, form):
    """cov(f, g) over regularised variances, from the functions themselves; nothing does better."""
    X, Y, _ = views
    r, n = 0.05, len(X)
    model = KernelCCA(kernels=Gaussian(1.0), regularization=r, form=form).fit(X, Y)
    f, g = (h[0] for h in model.functions_)
    a, b = (t[:, 0] for t in model.transform(X, Y))

    def size(h, scores, coef):
        ridge = np.mean(scores**2) + r * h.norm() ** 2
        return ridge + (n * r**2 / 4 * np.sum(coef**2) if form == "squared" else 0)

    sizes = size(f, a, model.dual_coef_[0]), size(g, b, model.dual_coef_[1])
    np.testing.assert_allclose(sizes, 1, rtol=1e-6)
    np.testing.assert_allclose(np.mean(a * b), model.correlations_[0], rtol=1e-6)
    np.testing.assert_allclose(a.mean(), 0, atol=1e-12)


def test_linear_kernels_are_classical(rng):
    X, Y = rng.normal(size=(100, 3)), rng.normal(size=(100, 4))
    Y[:, :2] += X[:, 1:]
    Q, S = (np.linalg.qr(V - V.mean(axis=0))[0] for V in (X, Y))
    exact = np.linalg.svd(Q.T @ S, compute_uv=False)
    model = KernelCCA(3, kernels=Linear(), regularization=0).fit(X, Y)
    np.testing.assert_allclose(model.correlations_, exact, atol=1e-10)
    np.testing.assert_allclose(model.correlations(X, Y), exact, atol=1e-10)
    values = [
        KernelCCA(kernels="linear", regularization=r, form="squared").fit(X, Y).correlations_[0]
        for r in (1e-2, 1e-4, 1e-8)
    ]
    assert values == sorted(values)
    np.testing.assert_allclose(values[-1], exact[0], atol=1e-7)


@pytest.mark.parametrize("form", ["ridge", "squared"])
@pytest.mark.parametrize("M", [2, 3])
def test_linear_kernels_are_linear_cca(rng, form, M):
    """Features, a matrix of them and covariances are three ways to the same answer."""
    views = [rng.normal(size=(60, d)) for d in (3, 5, 2)][:M]
    for V in views[1:]:
        V[:, 0] += views[0][:, 0]
    by_features = KernelCCA(2, kernels=Linear(), regularization=0.3, form=form).fit(views)
    by_matrix = KernelCCA(2, kernels="precomputed", regularization=0.3, form=form)
    by_matrix.fit([V @ V.T for V in views])
    linear = CCA(2, regularization=0.3, form=form, scale=False).fit(views)
    for model in (by_features, by_matrix):
        np.testing.assert_allclose(model.correlations_, linear.correlations_, atol=1e-10)
    new = [rng.normal(size=(7, V.shape[1])) for V in views]
    a, b = by_features.transform(new), linear.transform(new)
    c = by_matrix.transform([N @ V.T for N, V in zip(new, views, strict=True)])
    for i in range(M):
        sign = np.sign(np.sum(a[0] * b[0], axis=0))
        np.testing.assert_allclose(a[i], b[i] * sign, atol=1e-9)
        sign = np.sign(np.sum(a[0] * c[0], axis=0))
        np.testing.assert_allclose(a[i], c[i] * sign, atol=1e-9)
    weights = [f.weights() for f in by_features.functions_]
    sign = np.sign(np.sum(weights[0] * linear.weights_[0], axis=0))
    for mine, w in zip(weights, linear.weights_, strict=True):
        np.testing.assert_allclose(mine, w * sign, atol=1e-9)


def test_order_of_samples_and_views(rng, views):
    model = KernelCCA(2, kernels=Gaussian(1.0)).fit(views)
    order = rng.permutation(80)
    other = KernelCCA(2, kernels=Gaussian(1.0)).fit([V[order] for V in views[::-1]])
    np.testing.assert_allclose(model.correlations_, other.correlations_, rtol=1e-10)
    new = [rng.normal(size=(5, V.shape[1])) for V in views]
    a, b = model.transform(new), other.transform(new[::-1])[::-1]
    sign = np.sign(np.sum(a[0] * b[0], axis=0))
    for mine, theirs in zip(a, b, strict=True):
        np.testing.assert_allclose(mine, theirs * sign, atol=1e-8)


@pytest.mark.parametrize("M", [2, 3])
def test_large_samples_take_another_route(rng, views, M, monkeypatch):
    """Cholesky factors and a Krylov space give the functions that decompositions give."""
    views = views[:M]
    new = [rng.normal(size=(9, V.shape[1])) for V in views]
    model = KernelCCA(2, kernels=Gaussian(1.0)).fit(views)
    monkeypatch.setattr(solver, "_DIRECT", 10)
    large = KernelCCA(2, kernels=Gaussian(1.0)).fit(views)
    assert (model.solution_.method, large.solution_.method) == ("direct", "krylov")
    np.testing.assert_allclose(large.correlations_, model.correlations_, rtol=1e-10)
    a, b = model.transform(new), large.transform(new)
    sign = np.sign(np.sum(a[0] * b[0], axis=0))
    for mine, theirs in zip(a, b, strict=True):
        np.testing.assert_allclose(mine, theirs * sign, atol=1e-7)


# ---- low rank ----------------------------------------------------------------------------------
def test_low_rank_tends_to_exact(views):
    exact = KernelCCA(2, kernels=Gaussian(1.0), rank=None).fit(views)
    errors, left_out = [], []
    for rank in (3, 10, 30, 79):
        model = KernelCCA(2, kernels=Gaussian(1.0), rank=rank, random_state=0).fit(views)
        errors.append(np.abs(model.correlations_ - exact.correlations_).max())
        left_out.append(model.left_out_.max())
        assert all(len(points) <= rank for points in model.points_)
    assert left_out == sorted(left_out, reverse=True)
    assert errors[0] > 1e-3
    assert errors[-1] < 1e-6


def test_low_rank_is_the_problem_of_its_factor(views):
    """Same answer as for the approximate kernel given as a matrix; functions live at the pivots."""
    X, Y, _ = views
    model = KernelCCA(kernels=Gaussian(1.0), rank=8, random_state=0).fit(X, Y)
    approximate = []
    for V, Z in zip((X, Y), model.points_, strict=True):
        C = rbf_kernel(V, Z, gamma=0.5)
        approximate.append(C @ np.linalg.solve(rbf_kernel(Z, gamma=0.5), C.T))
    matrices = KernelCCA(kernels="precomputed", rank=None).fit(approximate)
    np.testing.assert_allclose(model.correlations_, matrices.correlations_, rtol=1e-6)
    scores = model.transform(X, Y)
    a, b = matrices.transform(approximate)
    sign = np.sign(np.sum(a * scores[0]))
    np.testing.assert_allclose(scores[0], sign * a, atol=1e-5)
    np.testing.assert_allclose(scores[1], sign * b, atol=1e-5)


def test_low_rank_of_a_matrix(rng, views):
    X, Y, _ = views
    K, L = Gaussian(1.0)(X), Gaussian(1.0)(Y)
    one = KernelCCA(kernels=Gaussian(1.0), rank=9, random_state=1).fit(X, Y)
    two = KernelCCA(kernels="precomputed", rank=9, random_state=1).fit(K, L)
    np.testing.assert_allclose(one.correlations_, two.correlations_, rtol=1e-8)
    np.testing.assert_allclose(one.transform(X, Y), two.transform(K, L), atol=1e-8)


def test_rank_auto(rng, monkeypatch):
    import mercer.models.cca as module

    monkeypatch.setattr(module, "_EXACT", 100)
    monkeypatch.setattr(module, "_RANK", 50)
    X = rng.normal(size=(150, 2))
    Y = X + 0.1 * rng.normal(size=(150, 2))
    exact = KernelCCA(rank=None).fit(X, Y)
    auto = KernelCCA(random_state=0).fit(X, Y)
    assert np.all(auto.left_out_ > 0)
    assert len(auto.points_[0]) < 150
    np.testing.assert_allclose(auto.correlations_, exact.correlations_, atol=1e-3)
    assert np.all(KernelCCA(kernels=Linear()).fit(X, Y).left_out_ == 0)


# ---- data --------------------------------------------------------------------------------------
def test_strings_beside_numbers(rng):
    """Reads with more G have larger numbers; the model finds out."""
    share = rng.uniform(0, 1, 120)
    reads = ["".join(rng.choice(["G", "A"], p=[p, 1 - p], size=30)) for p in share]
    X = np.column_stack([np.exp(share), rng.normal(size=120)]) + rng.normal(0, 0.1, (120, 2))
    kernels = [Spectrum(k=2), Gaussian("median")]
    model = KernelCCA(kernels=kernels, regularization=0.05).fit([reads[:80], X[:80]])
    assert model.score([reads[80:], X[80:]]) > 0.7
    assert isinstance(model.functions_[0], RKHSFunction)
    assert model.project(["GGGGGGAAA"], view=0).shape == (1, 1)


def test_tables_labels_and_columns(rng):
    colour = rng.choice(["red", "blue"], 60)
    table = pd.DataFrame(
        {"size": np.where(colour == "red", 1.0, 3.0), "noise": rng.normal(size=60)}
    )
    table["size"] += 0.3 * rng.normal(size=60)
    kernels = [Categorical(), Gaussian(1.0).on(["size"]) + 0.1 * Linear().on(["noise"])]
    model = KernelCCA(kernels=kernels).fit(list(colour), table)
    assert model.score(list(colour), table) > 0.9
    numbers = pd.Series(table["size"])
    flat = KernelCCA().fit(numbers, table["noise"].to_numpy())
    np.testing.assert_allclose(
        flat.correlations_, KernelCCA().fit(table[["size"]], table[["noise"]]).correlations_
    )


def test_sparse_and_single_precision(rng):
    X = sp.random(60, 30, 0.3, random_state=0, format="csr")
    Y = (X @ rng.normal(size=(30, 2))).astype(np.float32)
    sparse = KernelCCA(kernels=["linear", Gaussian(1.0)]).fit(X, Y)
    dense = KernelCCA(kernels=["linear", Gaussian(1.0)]).fit(X.toarray(), Y.astype(float))
    np.testing.assert_allclose(sparse.correlations_, dense.correlations_, rtol=1e-4)


def test_names_and_functions_as_kernels(views):
    X, Y, _ = views
    by_name = KernelCCA(kernels=["rbf", "poly"]).fit(X, Y)
    mine = [lambda a, b: float(np.exp(-np.sum((a - b) ** 2) / 2)),
            Polynomial(degree=3, offset=1, scale=1 / 3)]  # fmt: skip
    np.testing.assert_allclose(
        by_name.correlations_, KernelCCA(kernels=mine).fit(X, Y).correlations_, rtol=1e-8
    )


# ---- weights -----------------------------------------------------------------------------------
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear()])
@pytest.mark.parametrize("form", ["ridge", "squared"])
def test_weights_count_samples(rng, views, kernel, form):
    weights = rng.integers(0, 4, 80)
    repeated = [np.repeat(V, weights, axis=0) for V in views]
    model = KernelCCA(kernels=kernel, form=form, regularization=0.1)
    weighted = clone(model).fit(views, sample_weight=weights)
    explicit = clone(model).fit(repeated)
    np.testing.assert_allclose(weighted.correlations_, explicit.correlations_, rtol=1e-8)
    for a, b in zip(weighted.transform(views), explicit.transform(views), strict=True):
        np.testing.assert_allclose(a * np.sign(np.sum(a * b)), b, atol=1e-7)


def test_weights_of_the_low_rank_model(rng, views):
    weights = rng.integers(1, 4, 80)
    X, Y = views[:2]
    model = KernelCCA(kernels=Gaussian(1.0), rank=79, random_state=0)
    exact = KernelCCA(kernels=Gaussian(1.0), rank=None).fit(X, Y, sample_weight=weights)
    low = model.fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(low.correlations_, exact.correlations_, atol=1e-6)


# ---- scores ------------------------------------------------------------------------------------
def test_correlations_of_scores(views):
    model = KernelCCA(2, kernels=Gaussian(1.0)).fit(views)
    scores = model.transform(views)
    pairs = model.correlations(views, pairwise=True)
    for c in range(2):
        np.testing.assert_allclose(pairs[c], np.corrcoef([t[:, c] for t in scores]), atol=1e-12)
    upper = pairs[:, [0, 0, 1], [1, 2, 2]]
    np.testing.assert_allclose(model.correlations(views), upper.mean(axis=1))
    np.testing.assert_allclose(model.score(views), upper.mean())


def test_explained_variance(rng, views):
    """The share of tr K_c along the scores, by a projection in feature space."""
    X, Y, _ = views
    model = KernelCCA(2, kernels=[Linear(), Gaussian(1.0)]).fit(X, Y)
    with_linear, with_gaussian = model.explained_variance(X, Y)
    T = model.transform(X, Y)
    F, t = X - X.mean(axis=0), T[0][:, :1]
    fitted = t @ np.linalg.lstsq(t, F, rcond=None)[0]
    np.testing.assert_allclose(with_linear[0], np.sum(fitted**2) / np.sum(F**2))
    np.testing.assert_allclose(with_linear.sum(), 1)  # two scores of two columns
    H = np.eye(80) - 1 / 80
    K = H @ Gaussian(1.0)(Y) @ H
    t = T[1][:, :1]
    np.testing.assert_allclose(
        with_gaussian[0], (t.T @ K @ t)[0, 0] / (t.T @ t)[0, 0] / np.trace(K)
    )
    assert np.all(with_gaussian > 0)
    assert with_gaussian.sum() < 1


def test_independent_views_do_not_correlate_on_new_samples(rng):
    X, Y = rng.normal(size=(200, 3)), rng.normal(size=(200, 3))
    model = KernelCCA(regularization=1e-4).fit(X[:100], Y[:100])
    assert model.correlations_[0] > 0.8
    assert abs(model.score(X[100:], Y[100:])) < 0.3


# ---- the contract ------------------------------------------------------------------------------
def test_clone_and_parameters():
    model = KernelCCA(2, kernels=[Gaussian(2.0), Spectrum(3)], regularization=[0.1, 0.2])
    copy = clone(model)
    assert copy.get_params()["kernels"] == model.kernels
    one = KernelCCA(kernels=Gaussian(2.0)).set_params(kernels__lengthscale=3.0)
    assert one.kernels == Gaussian(3.0)


def test_not_fitted(views):
    for method in ("transform", "score", "correlations", "explained_variance", "project"):
        with pytest.raises(NotFittedError):
            getattr(KernelCCA(), method)(views)
    with pytest.raises(NotFittedError):
        KernelCCA().functions_


def test_fit_changes_no_parameter(views):
    kernel = Gaussian("median")
    model = KernelCCA(kernels=kernel).fit(views)
    assert model.kernels is kernel
    assert kernel.lengthscale == "median"
    assert all(k.lengthscale != "median" for k in model.kernels_)


def test_grid_search_and_pipeline(views):
    X, Y, _ = views
    search = GridSearchCV(KernelCCA(kernels=Gaussian(1.0)), {"regularization": [1e-3, 1e-1]}, cv=3)
    assert search.fit(X, Y).best_score_ > 0.5
    pipeline = make_pipeline(StandardScaler(), KernelCCA(2)).fit(X, Y)
    assert pipeline.transform(X).shape == (80, 2)


def test_fit_transform(views):
    model = KernelCCA(2)
    scores = model.fit_transform(views)
    for a, b in zip(scores, model.transform(views), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(model.project(views[1], 1), scores[1])
    np.testing.assert_array_equal(model.transform(views[0]), scores[0])


def test_saved_and_loaded(views, tmp_path):
    for rank in (None, 10):
        model = KernelCCA(2, kernels=[Gaussian(1.0), Linear(), Laplacian()], rank=rank)
        model.set_params(random_state=0).fit(views)
        save(model, tmp_path / "model.mercer")
        found = load(tmp_path / "model.mercer")
        new = [V + 0.1 for V in views]
        for a, b in zip(model.transform(new), found.transform(new), strict=True):
            np.testing.assert_array_equal(a, b)
        with pytest.raises(ValueError, match="view 1: X has 1 features"):
            found.transform([views[0], views[2], views[2]])


def test_same_seed_same_answer(views):
    models = [KernelCCA(rank=10, random_state=3).fit(views) for _ in range(2)]
    for a, b in zip(models[0].dual_coef_, models[1].dual_coef_, strict=True):
        np.testing.assert_array_equal(a, b)


# ---- bad input ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components must be an integer >= 1"),
        ({"n_components": 1.5}, "n_components must be an integer"),
        ({"n_components": 80}, "n_components must be at most 79"),
        ({"regularization": -1}, "regularization must be >= 0"),
        ({"regularization": "much"}, "regularization must be >= 0"),
        ({"regularization": [1, 2, 3]}, r"one per view \(2\)"),
        ({"form": "cubed"}, "form must be one of"),
        ({"rank": 0}, "rank must be"),
        ({"rank": "high"}, "rank must be"),
        ({"kernels": [Gaussian()]}, r"one per view \(2\), got 1"),
        ({"kernels": "cubic"}, "kernel must be"),
    ],
)
def test_bad_parameters(views, options, message):
    with pytest.raises(ValueError, match=message):
        KernelCCA(**options).fit(views[:2])


def test_bad_views(rng, views):
    X, Y, _ = views
    model = KernelCCA()
    for bad in (X, [X], [], "ab", ["ab", "cd"], 3):
        with pytest.raises(ValueError, match="list of two or more data sets"):
            model.fit(bad)
    with pytest.raises(ValueError, match="same number of samples"):
        model.fit(X, Y[:70])
    with pytest.raises(ValueError, match="view 1 does not vary"):
        model.fit(X, np.ones((80, 2)))
    with pytest.raises(ValueError, match="view 0 does not vary"):
        KernelCCA(kernels=Linear()).fit(np.full((80, 2), 1e3), Y)
    with pytest.raises(ValueError, match=r"view 0.*NaN"):
        model.fit(np.where(X > 1, np.nan, X), Y)
    with pytest.raises(ValueError, match="at least 2 samples"):
        model.fit(X[:1], Y[:1])
    with pytest.raises(ValueError, match="view 1"):
        KernelCCA(kernels=[Gaussian(), Spectrum(2)]).fit(X, Y)
    with pytest.raises(ValueError, match="sample_weight must be >= 0"):
        model.fit(X, Y, sample_weight=-np.ones(80))
    with pytest.raises(ValueError, match="two samples"):
        model.fit(X, Y, sample_weight=np.eye(80)[0])


def test_bad_new_data(views):
    X, Y, Z = views
    model = KernelCCA().fit(X, Y)
    with pytest.raises(ValueError, match="fitted to 2 views, got 3"):
        model.transform([X, Y, Z])
    with pytest.raises(ValueError, match="view 1: X has 1 features"):
        model.transform(X, Z)
    with pytest.raises(ValueError, match=r"view must be an integer from 0 to 1"):
        model.project(X, 2)


def test_no_regularization_means_nothing(views):
    with pytest.warns(NumericalWarning, match="regularization > 0"):
        model = KernelCCA(kernels=Gaussian(0.3), regularization=0).fit(views[:2])
    np.testing.assert_allclose(model.correlations_, 1, atol=1e-6)


@pytest.mark.slow
def test_six_views_of_digits(shared_data):
    """Functions of six views of handwritten digits agree on digits they have not seen."""
    data = np.load(shared_data / "multiview" / "mfeat.npz")
    names = [name for name in data if name.startswith("X_")]
    views = [StandardScaler().fit_transform(data[name]) for name in names]
    order = np.random.default_rng(0).permutation(2000)
    train, test = order[:1000], order[1000:]
    model = KernelCCA(9, regularization=0.01).fit([V[train] for V in views])
    assert model.score([V[test] for V in views]) > 0.6
