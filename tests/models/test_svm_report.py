"""Certificates hold for the kernel matrix in double precision, whatever the data came in."""

import threading
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import SVC, SVR, Gaussian, Linear, NuSVC, NuSVR, OneClassSVM
from mercer.exceptions import IndefiniteKernelWarning
from mercer.gram import tiles
from mercer.solvers import smo_state, working_set

FORMS = {
    "double": np.asarray,
    "single": lambda X: X.astype(np.float32),
    "csr": sp.csr_matrix,
    "single csr": lambda X: sp.csr_matrix(X.astype(np.float32)),
    "integers": lambda X: np.round(2 * X).astype(np.int64),
}


def data(n, d=4, offset=0.0):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, d)) + offset
    X[rng.random((n, d)) < 0.2] = 0.0
    f = np.sin(X[:, 0]) + X[:, 1] / 2 + 0.5 * rng.standard_normal(n)
    return X, f


def values(model, X, y, kernel):
    """The two objectives as the textbook has them, from the fitted attributes alone."""
    X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    K, beta = kernel(X), np.zeros(len(X))
    beta[model.support_] = model.dual_coef_[0]
    f = K @ beta
    squared, n = beta @ f, len(X)
    g = f + model.intercept_[0]
    if isinstance(model, OneClassSVM):
        rho = model.offset_[0]
        return squared / 2 - model.nu * n * rho + np.maximum(0, rho - f).sum(), -squared / 2
    if isinstance(model, NuSVR):
        epsilon = model.epsilon_
        loss = model.nu * n * epsilon + np.maximum(0, np.abs(y - g) - epsilon).sum()
        return squared / 2 + model.C * loss, y @ beta - squared / 2
    if isinstance(model, SVR):
        loss = np.maximum(0, np.abs(y - g) - model.epsilon).sum()
        dual = y @ beta - model.epsilon * np.abs(beta).sum() - squared / 2
        return squared / 2 + model.C * loss, dual
    margins = np.where(y > 0, 1, -1) * g
    if isinstance(model, NuSVC):  # scores were divided by rho, which makes bounds of 1 / rho
        rho = 1 / np.abs(beta).max()
        slack = rho * np.maximum(0, 1 - margins).sum()
        return rho**2 * squared / 2 - model.nu * n * rho + slack, -(rho**2) * squared / 2
    loss = np.maximum(0, 1 - margins).sum()
    return squared / 2 + model.C * loss, np.abs(beta).sum() - squared / 2


MODELS = [
    SVC(C=2.0),
    NuSVC(nu=0.4),
    SVR(C=2.0, epsilon=0.2),
    NuSVR(C=2.0, nu=0.4),
    OneClassSVM(nu=0.2),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", [150, 1200])
@pytest.mark.parametrize("kernel", [Gaussian(1.5), Linear()], ids=["gaussian", "linear"])
def test_values_by_brute_force(model, form, n, kernel):
    X, f = data(n, offset=5.0 if isinstance(kernel, Linear) else 0.0)
    X = FORMS[form](X)
    if form == "integers" and isinstance(kernel, Linear):
        X = X // 2
    if isinstance(model, SVC | NuSVC):
        first = np.asarray(X[:, [0]].todense() if sp.issparse(X) else X[:, :1])[:, 0]
        f = np.sign(first - first.mean() + 0.1 * f)
    y = f
    model.set_params(kernel=kernel, tol=1e-3).fit(X, y)
    (report,) = model.decision_path()
    primal, dual = values(model, X, y, kernel)
    size = abs(primal)
    assert report.primal == pytest.approx(primal, abs=2e-6 * size)
    assert report.dual == pytest.approx(dual, abs=2e-6 * size)
    assert report.gap == pytest.approx(primal - dual, abs=2e-6 * size)
    assert -1e-9 * size <= report.gap <= 3e-2 * size
    assert report.free + report.bounded == len(model.support_)
    assert model.fit_status_ == 0


@pytest.mark.parametrize("form", ["single", "single csr"])
def test_scores_of_large_values_in_single_precision(form):
    """Inner products of 10^6 with coefficients that add up to zero leave nothing of six digits."""
    X, f = data(200, 100, offset=100.0)
    X = FORMS[form](X)
    model = SVC("linear", C=1.0, max_iter=5000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, f > 0)
    dense = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    K = dense @ dense[model.support_].T
    exact = (K @ model.dual_coef_.T)[:, 0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), exact, atol=1e-4)


class TestThreads:
    def test_the_number_of_them_changes_nothing(self, monkeypatch):
        """Blocks large enough to be shared, whose entries are computed from both sides."""
        X, f = data(3000, 6)
        monkeypatch.setattr(working_set, "_SHARED", 0)
        monkeypatch.setattr(smo_state, "_DIRECT", 0)
        found = []
        for cores in (1, 2, 4, 4, 4):
            monkeypatch.setattr(tiles, "cores", lambda cores=cores: cores)
            found.append(SVC(C=10.0, gamma=0.3, cache_size=20).fit(X, f > 0))
        for model in found[1:]:
            np.testing.assert_array_equal(model.support_, found[0].support_)
            np.testing.assert_array_equal(model.dual_coef_, found[0].dual_coef_)
            assert model.reports_ == found[0].reports_

    def test_three_fits_at_once(self):
        X, f = data(1100, 6)
        alone = SVC(C=10.0).fit(X, f > 0)
        models = [SVC(C=10.0) for _ in range(3)]
        threads = [threading.Thread(target=model.fit, args=(X, f > 0)) for model in models]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for model in models:
            np.testing.assert_array_equal(model.dual_coef_, alone.dual_coef_)


class TestIndefinite:
    def matrix(self, n=80):
        rng = np.random.default_rng(0)
        K = rng.standard_normal((n, n))
        return K + K.T + np.eye(n), rng.standard_normal(n)

    @pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
    def test_no_gap_is_claimed(self, model):
        K, f = self.matrix()
        y = f > 0 if isinstance(model, SVC | NuSVC) else f
        model.set_params(kernel="precomputed")
        if isinstance(model, NuSVC):  # squared distances that are negative leave no margin
            with pytest.raises(ValueError, match="leaves no margin"):
                model.fit(K, y)
            return
        with pytest.warns(IndefiniteKernelWarning, match="stationary point"):
            model.fit(K, y)
        assert np.isnan(model.reports_[0].gap)
        assert np.isnan(model.reports_[0].primal)
        assert np.isfinite(model.reports_[0].dual)

    def test_matrices_that_are_semi_definite_keep_theirs(self):
        X, f = data(80)
        model = SVC("precomputed").fit(X @ X.T, f > 0)
        assert 0 <= model.reports_[0].gap < 1

    def test_one_warning_for_all_pairs(self):
        K, f = self.matrix()
        with pytest.warns(IndefiniteKernelWarning) as caught:
            SVC("precomputed").fit(K, np.digitize(f, [-0.5, 0.5]))
        assert len(caught) == 1
        assert caught[0].filename == __file__

    def test_kernels_that_show_it_on_the_data(self):
        X, f = data(60)
        with pytest.warns(IndefiniteKernelWarning):
            model = SVC("sigmoid", gamma=1.0, coef0=-1.0, C=10.0).fit(X, f > 0)
        assert np.isnan(model.reports_[0].gap)
