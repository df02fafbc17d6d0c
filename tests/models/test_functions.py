"""What models predict is a function in an RKHS, and an offset: ``rkhs_function_``."""

import numpy as np
import pytest

import mercer
from mercer import Gaussian, Plan, Spectrum

RNG = np.random.default_rng(5)
X = RNG.uniform(-2, 2, (60, 2))
Y = np.sin(2 * X[:, 0]) + 0.1 * RNG.standard_normal(60)
LABELS = np.digitize(X[:, 0], [-0.7, 0.7])
NEW = RNG.uniform(-2, 2, (9, 2))
K = Gaussian(0.8)

REGRESSORS = {
    "SVR": mercer.SVR(kernel=K, C=3.0),
    "NuSVR": mercer.NuSVR(kernel=K, C=3.0),
    "LSSVR": mercer.LSSVR(kernel=K),
    "KernelRidge": mercer.KernelRidge(kernel=K),
    "KernelMachine": mercer.KernelMachine(K, "huber"),
    "SVR of landmarks": mercer.SVR(kernel=K, plan=Plan(rank=15)),
    "LSSVR of landmarks": mercer.LSSVR(kernel=K, plan=Plan(rank=15)),
}


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(name):
    model = REGRESSORS[name].fit(X, Y)
    b = getattr(model, "intercept_", 0.0)
    np.testing.assert_allclose(model.rkhs_function_(NEW) + b, model.predict(NEW), atol=1e-8)


@pytest.mark.parametrize("model", [mercer.SVC(kernel=K), mercer.NuSVC(kernel=K, nu=0.3)])
@pytest.mark.parametrize("way", ["ovo", "ovr"])
def test_classifiers(model, way):
    model.set_params(multiclass=way, decision_function_shape=way).fit(X, LABELS)
    f = model.rkhs_function_
    np.testing.assert_allclose(f(NEW) + model.intercept_, model.decision_function(NEW), atol=1e-8)
    model.fit(X, LABELS > 0)
    scores = model.rkhs_function_(NEW) + model.intercept_
    np.testing.assert_allclose(scores, model.decision_function(NEW), atol=1e-8)
    squared = 4 / model.reports_[0].margin ** 2
    assert model.rkhs_function_.norm() ** 2 == pytest.approx(squared, rel=1e-5)


def test_the_other_classifiers():
    svccv = mercer.SVCCV([1.0, 5.0], kernel=K, random_state=0).fit(X, LABELS > 0)
    scores = svccv.rkhs_function_(NEW) + svccv.intercept_
    np.testing.assert_allclose(scores, svccv.decision_function(NEW), atol=1e-8)
    ls = mercer.LSSVC(kernel=K).fit(X, LABELS)
    np.testing.assert_allclose(ls.rkhs_function_(NEW) + ls.intercept_, ls.decision_function(NEW))
    process = mercer.GaussianProcessClassifier(K, optimizer=None).fit(X, LABELS)
    means = np.stack([f(NEW) for f in process.rkhs_function_], axis=1)
    np.testing.assert_allclose(means, process.latent_mean_and_variance(NEW)[0], atol=1e-8)


def test_novelty_and_other_data():
    model = mercer.OneClassSVM(kernel=K, nu=0.2).fit(X)
    np.testing.assert_allclose(model.rkhs_function_(NEW), model.score_samples(NEW), atol=1e-10)
    assert model.reports_[0].rho == model.offset_[0]
    words = ["kernel", "kerning", "colonel", "corn", "cork", "keel"] * 3
    svc = mercer.SVC(kernel=Spectrum(2)).fit(words, np.tile([0, 0, 1, 1, 1, 0], 3))
    scores = svc.rkhs_function_(words) + svc.intercept_
    np.testing.assert_allclose(scores, svc.decision_function(words), atol=1e-8)


@pytest.mark.parametrize("landmarks", [None, 20])
def test_processes(landmarks):
    model = mercer.GaussianProcessRegressor(K, alpha=0.1, optimizer=None, landmarks=landmarks)
    model.fit(X, 5 + Y)
    f = model.rkhs_function_
    np.testing.assert_allclose(f(NEW) + np.mean(5 + Y), model.predict(NEW), atol=1e-8)


def test_several_outputs():
    B = [[1.0, 0.5], [0.5, 2.0]]
    model = mercer.MultiOutputKernelRidge(0.1, kernel=K, output=B).fit(X, np.c_[Y, Y**2])
    np.testing.assert_allclose(model.rkhs_function_(NEW), model.predict(NEW), atol=1e-8)
    semi = mercer.SemiparametricRidge(K, basis="linear", alpha=0.1).fit(X, Y)
    trend = np.c_[np.ones(9), NEW] @ semi.null_coef_
    np.testing.assert_allclose(semi.rkhs_function_(NEW) + trend, semi.predict(NEW), atol=1e-8)
    assert semi.rkhs_function_.norm() ** 2 == pytest.approx(semi.penalty_)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_splines(order):
    """The penalty is the squared norm, and what is left of f is a polynomial."""
    x = 1e3 + 40 * np.sort(RNG.uniform(0, 1, 30))
    model = mercer.SmoothingSpline(order).fit(x, np.sin(x / 5))
    f = model.rkhs_function_
    assert f.norm() ** 2 == pytest.approx(model.penalty_, rel=1e-6)
    u = np.linspace(x[0], x[-1], 50)
    rest = model.predict(u) - f(u)
    z = (u - u.mean()) / np.ptp(u)
    fitted = np.polynomial.Polynomial.fit(z, rest, order - 1)(z)
    np.testing.assert_allclose(rest, fitted, atol=1e-6 * (1 + np.abs(rest).max()))


def test_where_there_is_none():
    model = mercer.SVC(kernel="precomputed").fit(K(X), LABELS)
    assert not hasattr(model, "rkhs_function_")
    flat = mercer.SVR(epsilon=10.0).fit(X, Y)
    with pytest.raises(AttributeError, match="no support vectors"):
        flat.rkhs_function_
