"""Models and tests on difficult samples, against computations from kernel values by differences.

Nothing here knows how mercer computes a kernel matrix: K comes from the differences of all pairs
in extended precision, and what is expected of a model follows from K alone.
"""

from __future__ import annotations

import faulthandler

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from sklearn import svm as sk
from sklearn.base import clone, is_classifier

import mercer
from mercer import Gaussian, Matern
from mercer.testing import difficult_samples

SAMPLES = difficult_samples(n=60, rng=3)
MODERATE = [name for name, X in SAMPLES.items() if np.abs(X).max() < 1e100]
ALPHA = 0.1


@pytest.fixture(autouse=True)
def watch():
    """A loop that does not end becomes a failure, with the place where it hangs."""
    faulthandler.dump_traceback_later(240, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def gaussian(X, Y):
    with np.errstate(over="ignore"):
        squared = (X.astype(np.longdouble)[:, None] - Y.astype(np.longdouble)[None]) ** 2
        return np.exp(-squared.sum(axis=2) / 2).astype(float)


def containers(X):
    """The same numbers as people hold them."""
    yield X
    yield np.asfortranarray(X)
    yield sp.csr_matrix(X)
    frozen = X.copy()
    frozen.flags.writeable = False
    yield frozen


@pytest.fixture(params=SAMPLES)
def X(request):
    return SAMPLES[request.param]


@pytest.fixture
def targets(rng):
    return np.sin(np.arange(60.0)) + 0.1 * rng.normal(size=60)


@pytest.fixture
def labels(rng):
    return np.where(rng.random(60) < 0.5, -1, 1)


def test_ridge(X, targets):
    K = gaussian(X, X)
    wanted = K @ la.solve(K + ALPHA * np.eye(60), targets, assume_a="pos")
    for Z in containers(X):
        model = mercer.KernelRidge(alpha=ALPHA, kernel=Gaussian()).fit(Z, targets)
        assert np.allclose(model.predict(Z), wanted, atol=1e-9)
    residuals = targets - wanted
    left_out = residuals / (1 - np.diag(la.solve(K + ALPHA * np.eye(60), K).T))
    assert np.allclose(targets - model.leave_one_out(), left_out, atol=1e-8)


def test_iterative_ridge(X, targets):
    K = gaussian(X, X)
    wanted = K @ la.solve(K + ALPHA * np.eye(60), targets, assume_a="pos")
    plan = mercer.Plan(memory="20 kB")
    model = mercer.KernelRidge(alpha=ALPHA, kernel=Gaussian(), plan=plan).fit(X, targets)
    assert np.allclose(model.predict(X), wanted, atol=1e-5)


def test_gaussian_process(X, targets):
    model = mercer.GaussianProcessRegressor(
        Gaussian(), alpha=ALPHA, optimizer=None, normalize_y=False
    )
    model.fit(X, targets)
    A = gaussian(X, X) + ALPHA * np.eye(60)
    sign, volume = np.linalg.slogdet(A)
    evidence = -(targets @ la.solve(A, targets) + volume + 60 * np.log(2 * np.pi)) / 2
    assert sign > 0
    assert model.log_marginal_likelihood() == pytest.approx(evidence, rel=1e-9)
    mean, std = model.predict(X, return_std=True)
    K = gaussian(X, X)
    assert np.allclose(mean, K @ la.solve(A, targets), atol=1e-9)
    assert np.allclose(std**2, np.diag(K - K @ la.solve(A, K)), atol=1e-7)


def test_support_vector_classifier(X, labels):
    K = gaussian(X, X)
    wanted = sk.SVC(kernel="precomputed", C=3, tol=1e-8).fit(K, labels).decision_function(K)
    for Z in containers(X):
        model = mercer.SVC(gamma=0.5, C=3, tol=1e-8).fit(Z, labels)
        assert np.allclose(model.decision_function(Z), wanted, atol=1e-5)
    report = model.decision_path()[0]
    beta = np.zeros(60)
    beta[model.support_] = model.dual_coef_[0]
    squared = beta @ K @ beta
    slack = np.maximum(0, 1 - labels * (K @ beta + model.intercept_[0]))
    assert report.primal == pytest.approx(squared / 2 + 3 * slack.sum(), rel=1e-7)
    assert report.dual == pytest.approx(np.abs(beta).sum() - squared / 2, rel=1e-7)
    assert report.gap <= 1e-4 * max(1, report.primal)


def test_support_vector_regression(X, targets):
    K = gaussian(X, X)
    wanted = sk.SVR(kernel="precomputed", C=3, tol=1e-8).fit(K, targets).predict(K)
    model = mercer.SVR(gamma=0.5, C=3, tol=1e-8).fit(X, targets)
    assert np.allclose(model.predict(X), wanted, atol=1e-5)


def test_one_class(X):
    K = gaussian(X, X)
    wanted = sk.OneClassSVM(kernel="precomputed", nu=0.3, tol=1e-8).fit(K)
    model = mercer.OneClassSVM(gamma=0.5, nu=0.3, tol=1e-8).fit(X)
    assert np.allclose(model.decision_function(X), wanted.decision_function(K), atol=1e-5)


def test_logistic_regression(X, labels):
    """At the optimum, with a penalty of 1, coefficients are the negative slopes of the loss."""
    K = gaussian(X, X)
    model = mercer.KernelLogisticRegression(1.0, kernel=Gaussian(), tol=1e-8).fit(X, labels)
    f = model.decision_function(X)
    c = labels / (1 + np.exp(labels * f))
    assert abs(c.sum()) < 1e-6
    assert np.allclose(K @ c + np.ravel(model.intercept_)[0], f, atol=1e-5)


def test_principal_components(X):
    K = gaussian(X, X)
    centring = np.eye(60) - 1 / 60
    values = la.eigvalsh(centring @ K @ centring)[::-1][:3]
    if values[2] < 1e-8 or min(values[:2] - values[1:]) < 1e-6:
        return  # components are not determined
    scores = mercer.KernelPCA(3, kernel=Gaussian()).fit_transform(X)
    assert np.allclose((scores**2).sum(axis=0), values, rtol=1e-7)


@pytest.mark.parametrize("name", MODERATE)
def test_two_samples(name):
    X = SAMPLES[name]
    A, B = X[:30], X[30:]
    K = gaussian(X, X)
    np.fill_diagonal(K, 0)
    within = K[:30, :30].sum() / (30 * 29) + K[30:, 30:].sum() / (30 * 29)
    wanted = within - 2 * K[:30, 30:].mean()
    assert mercer.mmd(A, B, Gaussian(), biased=False) == pytest.approx(wanted, abs=1e-10)
    result = mercer.two_sample_test(A, B, Gaussian(), n_permutations=99, rng=0)
    assert 0 < result.pvalue <= 1


@pytest.mark.parametrize("name", MODERATE)
def test_dependence(name):
    X = SAMPLES[name]
    K, L = gaussian(X, X), gaussian(X[::-1], X[::-1])
    centring = np.eye(60) - 1 / 60
    wanted = np.trace(centring @ K @ centring @ L) / 60**2
    found = mercer.hsic(X, X[::-1].copy(), Gaussian(), Gaussian(), biased=True)
    assert found == pytest.approx(wanted, abs=1e-10)


def test_float32(X, targets, labels):
    if np.abs(X).max() > 1e30:
        return
    X = X.astype(np.float32)
    K = gaussian(X, X)
    wanted = K @ la.solve(K + ALPHA * np.eye(60), targets, assume_a="pos")
    model = mercer.KernelRidge(alpha=ALPHA, kernel=Gaussian()).fit(X, targets)
    assert np.allclose(model.predict(X), wanted, atol=1e-3)
    machine = mercer.SVC(gamma=0.5, C=3, tol=1e-6).fit(X, labels)
    wanted = sk.SVC(kernel="precomputed", C=3, tol=1e-6).fit(K, labels).decision_function(K)
    assert np.allclose(machine.decision_function(X), wanted, atol=1e-3)


@pytest.mark.parametrize("name", MODERATE)
def test_memory_mapped(name, tmp_path, targets):
    X = SAMPLES[name]
    mapped = np.memmap(tmp_path / "X", dtype=float, mode="w+", shape=X.shape)
    mapped[:] = X
    model = mercer.KernelRidge(alpha=ALPHA, kernel=Matern()).fit(mapped, targets)
    again = mercer.KernelRidge(alpha=ALPHA, kernel=Matern()).fit(X, targets)
    assert np.allclose(model.predict(mapped), again.predict(X), atol=1e-10)


# ---- models and tests that came later -------------------------------------------------------
def test_least_squares_machines(X, targets, labels):
    """(K + I / C) a + b = y, with coefficients that add up to 0."""
    K = gaussian(X, X)
    system = np.block(
        [[K + np.eye(60) / 3, np.ones((60, 1))], [np.ones((1, 60)), np.zeros((1, 1))]]
    )
    for machine, y in ((mercer.LSSVR, targets), (mercer.LSSVC, labels)):
        *a, b = la.solve(system, np.append(y, 0.0))
        model = machine(Gaussian(), C=3.0).fit(X, y)
        found = model.predict(X) if machine is mercer.LSSVR else model.decision_function(X)
        assert np.allclose(found, K @ a + b, atol=1e-8)


def test_quantiles(X, targets):
    """At the median, coefficients are half a penalty's worth of the signs of residuals, or less."""
    K = gaussian(X, X)
    model = mercer.KernelQuantileRegressor(0.5, alpha=0.5, kernel=Gaussian()).fit(X, targets)
    c = np.ravel(model.dual_coef_)
    assert np.allclose(K @ c + model.intercept_, model.predict(X), atol=1e-6)
    residuals, most = targets - model.predict(X), np.abs(c).max() * (1 + 1e-6)
    away = np.abs(residuals) > 1e-3
    assert np.all(np.sign(c[away]) == np.sign(residuals[away]))
    assert np.abs(c[away]).min(initial=most) > 0.99 * most


def test_landmarks(X, targets):
    """Ridge regression and Gaussian processes that see K through the first samples."""
    few = slice(0, 60, 4)
    Kmm, Kmn = gaussian(X[few], X[few]), gaussian(X[few], X)
    values, vectors = la.eigh(Kmm)
    kept = values > 1e-9 * values[-1]
    phi = Kmn.T @ (vectors[:, kept] / np.sqrt(values[kept]))
    wanted = phi @ la.solve(phi.T @ phi + ALPHA * np.eye(kept.sum()), phi.T @ targets)
    kernel = mercer.Nystrom(Gaussian(), X[few])
    model = mercer.KernelRidge(alpha=ALPHA, kernel=kernel).fit(X, targets)
    assert np.allclose(model.predict(X), wanted, atol=1e-4)
    process = mercer.GaussianProcessRegressor(
        Gaussian(), alpha=ALPHA, optimizer=None, normalize_y=False, landmarks=X[few]
    ).fit(X, targets)
    assert np.allclose(process.predict(X), wanted, atol=1e-4)


def test_streams(X, targets):
    """The same numbers in three chunks."""
    plan = mercer.Plan(features=mercer.Landmarks(60))
    model = mercer.KernelRidge(alpha=ALPHA, kernel=Gaussian(), plan=plan)
    model.fit(mercer.stream(X, targets, rows=20))
    K = gaussian(X, X)
    wanted = K @ la.solve(K + ALPHA * np.eye(60), targets, assume_a="pos")
    assert np.allclose(model.predict(X), wanted, atol=1e-4)


def test_clusters(X):
    K = gaussian(X, X)
    model = mercer.KernelKMeans(3, kernel=Gaussian(), n_init=3, random_state=0).fit(X)

    def inertia(labels):
        groups = [np.flatnonzero(labels == j) for j in range(3)]
        return 60 - sum(K[np.ix_(g, g)].sum() / len(g) for g in groups if len(g))

    assert model.inertia_ == pytest.approx(inertia(model.labels_), abs=1e-8)
    assert model.lower_bound_ <= model.inertia_ + 1e-8
    assert inertia(model.predict(X)) <= model.inertia_ + 1e-8
    spectral = mercer.SpectralClustering(3, kernel=Gaussian(), random_state=0).fit(X)
    assert set(spectral.labels_) <= {0, 1, 2}


def test_changes(X):
    """The least cost of all segmentations, by dynamic programming from K."""
    K = gaussian(X, X)
    total = np.zeros((61, 61))
    total[1:, 1:] = K.cumsum(axis=0).cumsum(axis=1)
    least = [0.0] + [np.inf] * 60
    for _ in range(3):
        least = [
            min(
                (
                    least[s] + (e - s) - (total[e, e] - 2 * total[s, e] + total[s, s]) / (e - s)
                    for s in range(e - 1)
                ),
                default=np.inf,
            )
            for e in range(61)
        ]
    found = mercer.change_points(X, 2, Gaussian())
    assert found.cost == pytest.approx(least[60], abs=1e-8)


LATER = ["one entry of 1e+09", "two groups 1e+18 apart", "an offset of 1e+09", "a sentinel",
         "times in bursts", "mixed units", "ties", "duplicates", "constants", "rare ones",
         "heavy tails", "one entry of 1e+30"]  # fmt: skip
LANDMARKS = mercer.Plan(features=mercer.Landmarks(15))
MODELS = [
    mercer.KernelRidgeCV(kernel=Gaussian("median")),
    mercer.KernelRidge(kernel="rbf", plan=mercer.Plan(features=mercer.RandomFourier(50))),
    mercer.GaussianProcessRegressor(random_state=0),
    mercer.GaussianProcessRegressor(plan=mercer.Plan(storage="tiled"), random_state=0),
    mercer.GaussianProcessRegressor(landmarks=10, random_state=0),
    mercer.GaussianProcessClassifier(),
    mercer.KernelMachine(loss="huber"),
    mercer.KernelMachine(loss="squared_hinge", plan=LANDMARKS),
    mercer.SemiparametricRidge(),
    mercer.MultiOutputKernelRidge(kernel=Gaussian("median")),
    mercer.ConditionalEmbedding(),
    mercer.ConformalRegressor(mercer.KernelRidge(kernel="rbf")),
    mercer.SemiSupervised(mercer.KernelRidge(kernel="rbf")),
    mercer.SequenceLabeller(),
    mercer.NuSVR(),
    mercer.SVR(plan=LANDMARKS),
    mercer.SVC(plan=LANDMARKS),
    mercer.SVC(probability=True),
    mercer.SVCCV(cv=2),
    mercer.KernelLogisticRegression(plan=LANDMARKS),
    mercer.OnlineKernelMachine(),
    mercer.OnlineKernelMachine(loss="hinge"),
    mercer.OnlineOneClassSVM(),
    mercer.KernelPCA(2, kernel="rbf", plan=LANDMARKS),
    mercer.KernelKMeans(3, plan=LANDMARKS, random_state=0),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LATER)
@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_all_that_is_returned_is_finite(model, name, targets, labels):
    """With bandwidths and numbers of their own choice, from samples as they are."""
    X = SAMPLES[name]
    y = labels if getattr(model, "loss", "") in ("hinge", "squared_hinge") else targets
    y = labels if is_classifier(model) else y
    given = [X, sp.csr_matrix(X), *([X.astype(np.float32)] if np.abs(X).max() < 1e30 else [])]
    for Z in given:
        fitted = clone(model).fit(Z, y)
        for method in ("predict", "decision_function", "transform", "predict_proba"):
            if hasattr(fitted, method):
                assert np.all(np.isfinite(np.asarray(getattr(fitted, method)(Z), dtype=float)))


@pytest.mark.parametrize("name", LATER)
def test_reduced_hulls(name, labels):
    """A margin with its certificate, or none."""
    X = SAMPLES[name]
    K = gaussian(X, X)
    model = mercer.NuSVC(nu=0.5, gamma=0.5)
    try:
        model.fit(X, labels)
    except ValueError as error:
        assert "leaves no margin" in str(error)  # noqa: PT017
        return
    c = np.zeros(60)
    c[model.support_] = model.dual_coef_[0]
    assert np.allclose(model.decision_function(X), K @ c + model.intercept_, rtol=1e-6, atol=1e-6)
    assert model.reports_[0].dual <= model.reports_[0].primal + 1e-6


ONE, REST = slice(0, 1), slice(1, 3)
STATISTICS = {
    "k samples": lambda X: mercer.k_sample_test(
        [X[:20], X[20:40], X[40:]], n_permutations=49, rng=0
    ).pvalue,
    "two samples, optimized": lambda X: mercer.two_sample_test(
        X[:30], X[30:], kernel="optimize", n_permutations=49, rng=0
    ).pvalue,
    "independence": lambda X: mercer.independence_test(
        X[:, ONE], X[:, REST], n_permutations=49, rng=0
    ).pvalue,
    "conditional independence": lambda X: mercer.conditional_independence_test(
        *X.T, n_permutations=49, rng=0
    ).pvalue,
    "goodness of fit": lambda X: mercer.goodness_of_fit_test(X, lambda x: -x, n_draws=49, rng=0)
    .pvalue,
    "change points": lambda X: mercer.change_points(X).cost,
    "interval": lambda X: mercer.mmd_interval(X[:30], X[30:]).high,
    "dHSIC": lambda X: mercer.dhsic(*X.T),
    "NOCCO": lambda X: mercer.nocco(X[:, ONE], X[:, REST]),
    "distance covariance": lambda X: mercer.distance_covariance(X[:, ONE], X[:, REST]),
    "several means": lambda X: mercer.mmd_multi([X[:30], X[30:]]),
    "witness": lambda X: mercer.witness(X[:30], X[30:])(X),
    "sensitivity": lambda X: mercer.sensitivity_indices(
        X[:, :2], X[:, 2], n_permutations=19, n_bootstrap=9, rng=0
    ).total_pvalues,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LATER)
@pytest.mark.parametrize("statistic", STATISTICS)
def test_statistics_are_finite(statistic, name):
    assert np.all(np.isfinite(STATISTICS[statistic](SAMPLES[name])))


VARIABLES = {
    "alignment": lambda X: mercer.cka(X[:, ONE], X[:, REST]),
    "distance correlation": lambda X: mercer.distance_correlation(X[:, ONE], X[:, REST]),
    "COCO": lambda X: mercer.coco(X[:, ONE], X[:, REST]).value,
    "kernel CCA": lambda X: mercer.KernelCCA(1, regularization=0.1).fit(X[:, ONE], X[:, REST])
    .correlations_,
    "CCA": lambda X: mercer.CCA(1, regularization=0.1).fit(X[:, ONE], X[:, REST]).correlations_,
    "spline": lambda X: mercer.SmoothingSpline().fit(X[:, 0], np.cos(np.arange(60.0)))
    .predict(X[:, 0]),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LATER)
@pytest.mark.parametrize("statistic", VARIABLES)
def test_what_varies_is_compared_and_what_does_not_is_refused(statistic, name):
    X = SAMPLES[name]
    few = 3 if statistic == "spline" else 2
    if min(len(np.unique(X[:, 0])), len(np.unique(X[:, 1:], axis=0))) < few:
        with pytest.raises(ValueError, match=r"does not vary|constant|distinct points"):
            VARIABLES[statistic](X)
    else:
        assert np.all(np.isfinite(VARIABLES[statistic](X)))
