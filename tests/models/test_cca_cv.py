"""Cross-validated kernel canonical correlation analysis against refits on every fold."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

import mercer.solvers.canonical as solver
from mercer import Gaussian, KernelCCA, KernelCCACV, Linear, Spectrum, load, save


@pytest.fixture
def views(rng):
    X = rng.normal(size=(90, 2))
    Y = np.column_stack([np.sin(2 * X[:, 0]), rng.normal(size=90)]) + rng.normal(0, 0.1, (90, 2))
    Z = X[:, :1] ** 2 + rng.normal(0, 0.1, (90, 1))
    return [X, Y, Z]


FOLDS = KFold(3, shuffle=True, random_state=0)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear()])
@pytest.mark.parametrize("large", [False, True])
def test_scores_are_those_of_refits(views, kernel, large, monkeypatch):
    monkeypatch.setattr(solver, "_DIRECT", 0 if large else 500)
    values = [0.01, 0.1, 1.0]
    model = KernelCCACV(values, kernels=kernel, cv=FOLDS).fit(views)
    for i, r in enumerate(values):
        for f, (train, test) in enumerate(FOLDS.split(views[0])):
            refit = KernelCCA(kernels=kernel, regularization=r).fit([V[train] for V in views])
            score = refit.score([V[test] for V in views])
            np.testing.assert_allclose(
                model.cv_results_["split_test_scores"][i, f], score, atol=1e-7
            )
    best = np.argmax(model.cv_results_["mean_test_score"])
    assert model.regularization_ == values[best] == model.best_params_["regularization"]
    final = KernelCCA(kernels=kernel, regularization=model.regularization_).fit(views)
    np.testing.assert_allclose(model.correlations_, final.correlations_, rtol=1e-12)
    for a, b in zip(model.transform(views), final.transform(views), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_weights_and_matrices(rng, views):
    """Folds of a precomputed matrix are cut from rows and columns."""
    X, Y, _ = views
    k = Gaussian(1.0)
    options = {"regularizations": [0.01, 0.1], "cv": FOLDS}
    weights = rng.uniform(0.5, 1.5, 90)
    one = KernelCCACV(**options, kernels=k).fit(X, Y, sample_weight=weights)
    two = KernelCCACV(**options, kernels="precomputed").fit(k(X), k(Y), sample_weight=weights)
    np.testing.assert_allclose(
        one.cv_results_["split_test_scores"], two.cv_results_["split_test_scores"], rtol=1e-10
    )
    np.testing.assert_allclose(one.correlations_, two.correlations_, rtol=1e-10)


def test_kernels_and_forms_in_a_grid(views):
    X, Y, _ = views
    model = KernelCCACV(
        [0.01, 0.1], kernels=Gaussian(), param_grid={"kernels__lengthscale": [0.01, 1.0]}
    ).fit(X, Y)
    assert model.best_params_["kernels__lengthscale"] == 1.0
    assert [k.lengthscale for k in model.kernels_] == [1.0, 1.0]
    grid = {"kernels": [[Linear(), Linear()], [Gaussian(1.0), Gaussian(1.0)]]}
    model = KernelCCACV([0.1], param_grid=grid).fit(X, Y)
    assert model.kernels_ == [Gaussian(1.0), Gaussian(1.0)]
    model = KernelCCACV([0.1], param_grid={"form": ["ridge", "squared"]}).fit(X, Y)
    assert set(model.best_params_) == {"form", "regularization"}


def test_regularization_per_view(views):
    model = KernelCCACV([[0.01, 0.1], [10.0, 10.0]], kernels=Gaussian(1.0)).fit(views[:2])
    assert model.regularization_ == [0.01, 0.1]
    assert model.cv_results_["params"][1]["regularization"] == 10.0


def test_low_rank_and_strings(rng):
    share = rng.uniform(0, 1, 60)
    reads = ["".join(rng.choice(["G", "A"], p=[p, 1 - p], size=30)) for p in share]
    kernels = [Spectrum(k=2), Gaussian("median")]
    model = KernelCCACV([0.1, 1.0], kernels=kernels, rank=3, random_state=0).fit(reads, share)
    assert model.best_score_ > 0.6
    assert model.transform(reads[:3], share[:3])[0].shape == (3, 1)
    assert model.left_out_[1] > 0


def test_splits_as_they_are_given(views):
    """Training sets need not be all that is outside of the test set."""
    X, Y, _ = views
    train, test = np.arange(30), np.arange(60, 90)
    model = KernelCCACV(0.1, kernels=Gaussian(1.0), cv=[(train, test)]).fit(X, Y)
    refit = KernelCCA(kernels=Gaussian(1.0), regularization=0.1).fit(X[train], Y[train])
    np.testing.assert_allclose(model.best_score_, refit.score(X[test], Y[test]), rtol=1e-8)


def test_contract(views, tmp_path):
    model = KernelCCACV([0.1, 1.0], 2, kernels=[Gaussian(1.0)] * 3)
    assert clone(model).get_params()["regularizations"] == [0.1, 1.0]
    save(model.fit(views), tmp_path / "model.mercer")
    found = load(tmp_path / "model.mercer")
    assert found.best_params_ == model.best_params_
    np.testing.assert_array_equal(found.correlations_, model.correlations_)
    assert found.transform(views)[2].shape == (90, 2)


@pytest.mark.parametrize("values", [[], [0.0], [-1.0]])
def test_bad_candidates(views, values):
    with pytest.raises(ValueError, match="regularization"):
        KernelCCACV(values).fit(views)
