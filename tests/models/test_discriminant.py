"""KernelFisherDiscriminant: the criterion by brute force, and linear discriminant analysis."""

import numpy as np
import pytest
import scipy.linalg as sla
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Gaussian, KernelFisherDiscriminant, Linear, Plan, Polynomial, Spectrum
from mercer.exceptions import DenseWarning

X, LABELS = load_iris(return_X_y=True)


@parametrize_with_checks([KernelFisherDiscriminant(), KernelFisherDiscriminant(kernel="linear")])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_criterion_by_brute_force(rng, weighted):
    """Both scatters from their definition, and a generalised eigenproblem of coefficients."""
    some = rng.permutation(150)[:40]
    Z, y = X[some], LABELS[some]
    w = rng.uniform(0.5, 2, 40) if weighted else np.ones(40)
    K, alpha = Gaussian(1.0)(Z), 0.3
    mean = w @ K / w.sum()
    B, W = np.zeros((40, 40)), np.zeros((40, 40))
    for c in range(3):
        own = y == c
        m = w[own] @ K[own] / w[own].sum()
        B += w[own].sum() * np.outer(m - mean, m - mean)
        W += (w[own] * (K[own] - m).T) @ (K[own] - m)
    expected, _ = sla.eigh(B, W + alpha * K + 1e-12 * np.eye(40))
    model = KernelFisherDiscriminant(kernel=Gaussian(1.0), alpha=alpha)
    T = model.fit(Z, y, w if weighted else None).transform(Z)
    np.testing.assert_allclose(model.ratios_, expected[::-1][:2], rtol=1e-5)
    c = model.dual_coef_
    np.testing.assert_allclose(c.T @ (W + alpha * K) @ c, np.eye(2), atol=1e-8)
    np.testing.assert_allclose(w @ T, 0, atol=1e-8)
    for j in range(3):
        np.testing.assert_allclose(np.average(T[y == j], 0, w[y == j]), model.means_[j], atol=1e-9)
    f = model.rkhs_function_
    np.testing.assert_allclose(f(Z) - w @ f(Z) / w.sum(), T, atol=1e-9)


def test_the_linear_kernel_is_linear_discriminant_analysis():
    ours = KernelFisherDiscriminant(kernel=Linear(), alpha=1e-8).fit(X, LABELS)
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, LABELS)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    A, B = ours.transform(X), theirs.transform(X)
    for j in range(2):
        assert abs(np.corrcoef(A[:, j], B[:, j])[0, 1]) == pytest.approx(1, abs=1e-8)
    priors = [0.1, 0.1, 0.8]
    ours.set_params(priors=priors).fit(X, LABELS)
    theirs.set_params(priors=priors).fit(X, LABELS)
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.99


def test_features_and_other_data(rng):
    exact = KernelFisherDiscriminant(kernel=Gaussian(1.0), alpha=0.1).fit(X, LABELS)
    few = KernelFisherDiscriminant(kernel=Gaussian(1.0), alpha=0.1, plan=Plan(rank=60))
    few.fit(X, LABELS)
    np.testing.assert_allclose(few.ratios_, exact.ratios_, rtol=0.05)
    assert len(few.X_fit_) == 60
    with pytest.warns(DenseWarning):
        few.set_params(plan=Plan(storage="tiled")).fit(X, LABELS)
    np.testing.assert_allclose(few.ratios_, exact.ratios_)
    words = ["".join(rng.choice(list(letters), 12)) for letters in ("ab", "ac") for _ in range(20)]
    y = np.repeat(["b", "c"], 20)
    model = KernelFisherDiscriminant(1, kernel=Spectrum(2), alpha=0.1).fit(words, y)
    assert model.score(words, y) == 1
    assert model.decision_function(words).shape == (40,)


def test_refusals():
    with pytest.raises(ValueError, match="n_components=3 is more than 2"):
        KernelFisherDiscriminant(3).fit(X, LABELS)
    with pytest.raises(ValueError, match="priors must be 3 numbers"):
        KernelFisherDiscriminant(priors=[0.5, 0.5]).fit(X, LABELS)
    with pytest.raises(ValueError, match="alpha must be > 0"):
        KernelFisherDiscriminant(alpha=0).fit(X, LABELS)


@pytest.mark.parametrize(
    ("options", "weight"),
    [({"alpha": 1e-30}, 1.0), ({}, 1e30), ({}, 1e50), ({"kernel": Polynomial(2)}, 1e50)],
)
def test_an_alpha_that_rounding_swallows_is_refused(rng, options, weight):
    """Coordinates of 1e56 were the answer, or an error about a minor of order 40."""
    X = rng.standard_normal((40, 3))
    y = X[:, 0] + 0.5 * rng.standard_normal(40) > 0
    model = KernelFisherDiscriminant(**{"kernel": Gaussian(1.3), **options})
    with pytest.raises(np.linalg.LinAlgError, match=r"alpha=.* is lost .* raise alpha"):
        model.fit(X, y, sample_weight=np.full(40, weight))


def test_a_small_alpha_keeps_its_digits(rng):
    X = rng.standard_normal((40, 3))
    y = X[:, 0] + 0.5 * rng.standard_normal(40) > 0
    sizes = []
    for alpha in (1e-9, 1e-13):  # functions grow like 1 / sqrt(alpha)
        model = KernelFisherDiscriminant(kernel=Gaussian(1.3), alpha=alpha).fit(X, y)
        sizes.append(np.sqrt(alpha) * np.abs(model.transform(X)).max())
    assert sizes[1] == pytest.approx(sizes[0], rel=1e-2)
