import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Gaussian, KernelRidge, Linear, MultiOutputKernelRidge, Plan, Spectrum
from mercer.exceptions import ConvergenceWarning
from mercer.kernels.algebra.operator_valued import Separable, Transformable
from mercer.solvers.eigen import RidgeSpectrum
from mercer.solvers.output import learn_output

PLANTED = np.array([[1.0, 0.9, -0.8], [0.9, 1.0, -0.7], [-0.8, -0.7, 1.0]])


@pytest.mark.filterwarnings("ignore::mercer.exceptions.NumericalWarning")  # indefinite K
@parametrize_with_checks(
    [
        MultiOutputKernelRidge(),
        MultiOutputKernelRidge(kernel=Gaussian(2.0), output="learn"),
        MultiOutputKernelRidge(kernel="precomputed"),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def data(rng):
    A = rng.standard_normal((4, 4))
    X, Y = rng.standard_normal((50, 2)), rng.standard_normal((50, 4))
    return X, Y, A @ A.T, rng.uniform(0.2, 2, 50)


def draw(rng, X, noise):
    """Targets with the planted correlation of outputs, and their values without noise."""
    root = np.linalg.cholesky(Gaussian()(X) + 1e-10 * np.eye(len(X)))
    F = root @ rng.standard_normal((len(X), 3)) @ np.linalg.cholesky(PLANTED).T
    return F + noise * rng.standard_normal(F.shape), F


def dense_fit(kernel, X, Y, alpha, weights=None):
    """Coefficients from the nT x nT system of the observed entries."""
    K, y = kernel.gram(X).to_dense(), Y.ravel()
    w = np.ones(len(y)) if weights is None else np.repeat(weights, Y.shape[1])
    o = np.flatnonzero(~np.isnan(y))
    c = np.zeros(len(y))
    c[o] = np.linalg.solve(K[np.ix_(o, o)] + alpha * np.diag(1 / w[o]), y[o])
    return c.reshape(Y.shape)


def dense_objective(K, B, Y, alpha, weights=None):
    """What is minimised over B, from the nT x nT matrix."""
    w = np.ones(len(Y)) if weights is None else weights
    N = Y.shape[1] * w.sum()
    root = np.repeat(np.sqrt(w), Y.shape[1])
    S = root[:, None] * np.kron(K, B) * root + alpha * np.eye(Y.size)
    y = root * Y.ravel()
    return np.log(y @ np.linalg.solve(S, y)) / 2 + np.linalg.slogdet(S)[1] / (2 * N)


class TestSolution:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("missing", [0.0, 0.25])
    @pytest.mark.parametrize("which", ["output", "sum", "maps"])
    def test_equals_the_dense_system(self, data, rng, which, missing, weighted):
        X, Y, B, weights = data
        weights = weights if weighted else None
        Y = np.where(rng.random(Y.shape) < missing, np.nan, Y)
        kernel = {
            "output": Separable(Gaussian(), B),
            "sum": Separable(Gaussian(), B) + Separable(Linear(), np.eye(4)),
            "maps": Transformable(Gaussian(), [np.positive, np.negative, np.tanh, np.cos]),
        }[which]
        given = {"kernel": Gaussian(), "output": B} if which == "output" else {"kernel": kernel}
        model = MultiOutputKernelRidge(0.3, tol=1e-11, **given).fit(X, Y, weights)
        C = dense_fit(kernel, X, Y, 0.3, weights)
        np.testing.assert_allclose(model.dual_coef_, C, atol=1e-7)
        Z = X[:9] + 0.3
        expected = kernel.gram(X).cross(Z).to_dense() @ C.ravel()
        np.testing.assert_allclose(model.predict(Z).ravel(), expected, atol=1e-7)

    def test_minimises_the_objective(self, data, rng):
        X, Y, B, weights = data
        model = MultiOutputKernelRidge(0.3, kernel=Gaussian(), output=B).fit(X, Y, weights)

        def objective(C):
            f = model.gram_ @ C
            return np.sum(weights[:, None] * (Y - f) ** 2) + 0.3 * np.sum(C * f)

        best = objective(model.dual_coef_)
        for _ in range(10):
            step = rng.standard_normal(Y.shape)
            up, down = (objective(model.dual_coef_ + h * step) for h in (1e-4, -1e-4))
            assert min(up, down) > best
            assert up - down == pytest.approx(0, abs=1e-8)

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("output", ["identity", np.eye(4)], ids=["name", "matrix"])
    def test_identity_is_independent_ridge_regression(self, data, output, weighted):
        X, Y, _, weights = data
        weights = weights if weighted else None
        ours = MultiOutputKernelRidge(0.3, kernel=Gaussian(), output=output).fit(X, Y, weights)
        theirs = KernelRidge(0.3, kernel=Gaussian()).fit(X, Y, weights)
        np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-10)
        flat = MultiOutputKernelRidge(0.3, kernel=Gaussian()).fit(X, Y[:, 0], weights)
        np.testing.assert_allclose(flat.predict(X), theirs.predict(X)[:, 0], atol=1e-10)

    def test_missing_targets_of_independent_outputs_are_left_out(self, data):
        X, Y, _, _ = data
        Y[:20, 1] = np.nan
        model = MultiOutputKernelRidge(0.3, kernel=Gaussian(), tol=1e-12).fit(X, Y)
        alone = KernelRidge(0.3, kernel=Gaussian()).fit(X[20:], Y[20:, 1])
        np.testing.assert_allclose(model.predict(X)[:, 1], alone.predict(X), atol=1e-9)

    def test_plans_agree(self, data):
        X, Y, B, _ = data
        Y[3, 2] = np.nan
        fits = [
            MultiOutputKernelRidge(
                0.3, kernel=Gaussian(), output=B, plan=Plan(storage=s), tol=1e-11
            ).fit(X, Y)
            for s in ("dense", "tiled")
        ]
        np.testing.assert_allclose(fits[0].predict(X), fits[1].predict(X), atol=1e-8)

    def test_warns_when_it_did_not_converge(self, data):
        X, Y, B, _ = data
        Y[::2, 0] = np.nan
        model = MultiOutputKernelRidge(1e-4, kernel=Gaussian(), output=B, max_iter=2)
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            model.fit(X, Y)


class TestVariance:
    @pytest.mark.parametrize("weighted", [False, True])
    def test_equals_the_dense_gaussian_process(self, data, weighted):
        X, Y, B, weights = data
        w = weights if weighted else np.ones(50)
        model = MultiOutputKernelRidge(0.3, kernel=Gaussian(), output=B).fit(X, Y, w)
        Z = X[:6] + 0.2
        gram = Separable(Gaussian(), B).gram(X)
        cross = gram.cross(Z).to_dense()
        A = gram.to_dense() + 0.3 * np.diag(np.repeat(1 / w, 4))
        explained = np.einsum("ij,ji->i", cross, np.linalg.solve(A, cross.T)).reshape(6, 4)
        np.testing.assert_allclose(model.posterior_variance(Z), np.diag(B) - explained, atol=1e-10)

    def test_one_output_and_low_rank(self, data):
        X, Y, _, weights = data
        for kernel in (Gaussian(), Linear() + 1):
            ours = MultiOutputKernelRidge(0.3, kernel=kernel).fit(X, Y[:, 0], weights)
            theirs = KernelRidge(0.3, kernel=kernel).fit(X, Y[:, 0], weights)
            np.testing.assert_allclose(
                ours.posterior_variance(X + 0.1), theirs.posterior_variance(X + 0.1), atol=1e-9
            )

    @pytest.mark.parametrize("weighted", [False, True])
    def test_sums_and_missing_targets(self, data, weighted):
        X, Y, B, weights = data
        w = weights if weighted else np.ones(50)
        Y[3:20, 1] = np.nan
        Y[7, 2] = np.nan
        seen = np.flatnonzero(~np.isnan(Y))
        Z = X[:6] + 0.2
        whole = Separable(Gaussian(), B) + Separable(Linear(), np.eye(4))
        for kernel in (Separable(Gaussian(), B), whole):
            model = MultiOutputKernelRidge(0.3, kernel=kernel, tol=1e-12).fit(X, Y, w)
            A = kernel.gram(X).to_dense() + 0.3 * np.diag(np.repeat(1 / w, 4))
            A = A[np.ix_(seen, seen)]
            cross = kernel.gram(X).cross(Z).to_dense()[:, seen]
            explained = np.einsum("ij,ji->i", cross, np.linalg.solve(A, cross.T)).reshape(6, 4)
            prior = np.diag(kernel.gram(Z).to_dense()).reshape(6, 4)
            variance = model.posterior_variance(Z)
            np.testing.assert_allclose(variance, prior - explained, atol=1e-9)
            mean = (cross @ np.linalg.solve(A, Y.ravel()[seen])).reshape(6, 4)
            np.testing.assert_allclose(model.predict(Z), mean, atol=1e-6)


class TestLearning:
    @pytest.mark.parametrize("weighted", [False, True])
    def test_objective(self, data, rng, weighted):
        """It is the one documented, never increases, and ends at a minimum."""
        X, _, _, weights = data
        weights = weights if weighted else None
        Y = rng.standard_normal((50, 4)) + np.sin(X[:, :1]) * [1.0, 2.0, -1.0, 0.0]
        K = Gaussian()(X)
        learned = learn_output(RidgeSpectrum(Gaussian().gram(X), weights), Y, 0.5)
        path, B = learned.stats["objective"], learned.coef
        assert learned.converged
        assert np.trace(B) == pytest.approx(4)
        assert np.linalg.eigvalsh(B)[0] > -1e-12
        assert np.all(np.diff(path) <= 1e-12)
        assert path[0] == pytest.approx(dense_objective(K, np.eye(4), Y, 0.5, weights))
        best = dense_objective(K, B, Y, 0.5, weights)
        assert path[-1] == pytest.approx(best)
        for _ in range(20):
            A = rng.standard_normal((4, 2))
            near = 0.99 * B + 0.01 * 4 * A @ A.T / np.sum(A**2)
            assert dense_objective(K, near, Y, 0.5, weights) > best

    def test_low_rank_kernels(self, data):
        X, Y, _, _ = data
        kernel = Linear() + 1
        low = learn_output(RidgeSpectrum(kernel.gram(X, Plan(storage="lowrank"))), Y, 0.5)
        full = learn_output(RidgeSpectrum(kernel.gram(X, Plan(storage="dense"))), Y, 0.5)
        np.testing.assert_allclose(low.coef, full.coef, atol=1e-4)

    def test_recovers_a_planted_correlation(self, rng):
        X = rng.uniform(0, 100, (500, 1))  # long, so that there is much to average over
        Y, _ = draw(rng, X, 0.1)
        model = MultiOutputKernelRidge(0.01, kernel=Gaussian(), output="learn").fit(X, Y)
        assert np.trace(model.output_) == pytest.approx(3)
        scale = np.sqrt(np.diag(model.output_))
        np.testing.assert_allclose(model.output_ / np.outer(scale, scale), PLANTED, atol=0.15)

    def test_lowers_the_error_of_dependent_outputs(self, rng):
        """The other outputs say what happens where the first one was not observed."""
        ratios = []
        for _ in range(5):
            X = rng.uniform(0, 40, (200, 1))
            Y, F = draw(rng, X, 0.5)
            Y[X[:, 0] < 15, 0] = np.nan
            error = {}
            for output in ("identity", "learn"):
                model = MultiOutputKernelRidge(0.25, kernel=Gaussian(), output=output)
                f = model.fit(X[:120], Y[:120]).predict(X[120:])
                error[output] = np.mean((f - F[120:]) ** 2)
            ratios.append(error["learn"] / error["identity"])
        assert np.mean(ratios) < 0.8

    def test_does_not_depend_on_the_scale_of_y(self, data):
        X, Y, _, _ = data
        model = MultiOutputKernelRidge(0.5, kernel=Gaussian(), output="learn")
        one, ten = clone(model).fit(X, Y), clone(model).fit(X, 10 * Y)
        np.testing.assert_allclose(one.output_, ten.output_, atol=1e-4)
        np.testing.assert_allclose(10 * one.predict(X), ten.predict(X), atol=1e-2)

    def test_learns_from_complete_samples(self, data):
        X, Y, _, weights = data
        Y[:10, 0] = np.nan
        model = MultiOutputKernelRidge(0.5, kernel=Gaussian(), output="learn")
        some = clone(model).fit(X, Y, weights)
        full = clone(model).fit(X[10:], Y[10:], weights[10:])
        np.testing.assert_allclose(some.output_, full.output_, atol=1e-5)
        given = MultiOutputKernelRidge(0.5, kernel=Gaussian(), output=some.output_)
        np.testing.assert_allclose(some.predict(X), given.fit(X, Y, weights).predict(X), atol=1e-6)

    def test_weights_are_repetitions(self, data):
        X, Y, _, _ = data
        times = np.arange(50) % 3
        model = MultiOutputKernelRidge(0.5, kernel=Gaussian(), output="learn")
        weighted = clone(model).fit(X, Y, times)
        repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
        np.testing.assert_allclose(weighted.output_, repeated.output_, atol=1e-4)

    def test_targets_of_zero(self, data):
        X, Y, _, _ = data
        model = MultiOutputKernelRidge(output="learn").fit(X, 0 * Y)
        np.testing.assert_array_equal(model.output_, np.eye(4))


def test_pipelines_grids_and_strings(data):
    X, Y, B, _ = data
    model = MultiOutputKernelRidge(0.1, kernel=Gaussian("median"), output=B)
    assert make_pipeline(StandardScaler(), model).fit(X, Y).predict(X).shape == (50, 4)
    search = GridSearchCV(model, {"kernel__lengthscale": [0.1, 1.0, 10.0]}, cv=3).fit(X, Y)
    assert len(np.unique(search.cv_results_["mean_test_score"])) == 3
    kernel = Separable(Gaussian(), B) + Separable(Linear(), B)
    search = GridSearchCV(
        MultiOutputKernelRidge(0.1, kernel=kernel), {"kernel__left__kernel__lengthscale": [0.1, 9]}
    ).fit(X, Y)
    assert len(np.unique(search.cv_results_["mean_test_score"])) == 2
    texts = ["abab", "abba", "bbbb", "aaaa", "abcab", "cabca"]
    Y = np.array([[t.count("ab"), t.count("b")] for t in texts], dtype=float)
    strings = MultiOutputKernelRidge(1e-3, kernel=Spectrum(2), output=[[1.0, 0.3], [0.3, 1.0]])
    assert strings.fit(texts, Y).predict(["abab"])[0, 0] == pytest.approx(2, abs=0.1)


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"alpha": 0}, "alpha must be > 0"),
            ({"alpha": "1"}, "alpha must be > 0"),
            ({"output": "shared"}, "output must be 'identity', 'learn' or a matrix"),
            ({"output": -np.eye(4)}, "output must be a symmetric positive semi-definite"),
            ({"output": np.eye(3)}, "output must be 4 x 4"),
            ({"kernel": Separable(Gaussian(), np.eye(3))}, "kernel has 3 outputs, but y has 4"),
            ({"kernel": Separable(Gaussian(), np.eye(4)), "output": "learn"}, "must be left at"),
            ({"kernel": "gauss"}, "kernel must be a mercer kernel"),
        ],
        ids=str,
    )
    def test_parameters(self, data, options, message):
        X, Y, _, _ = data
        with pytest.raises(ValueError, match=message):
            MultiOutputKernelRidge(**options).fit(X, Y)

    def test_data(self, data):
        X, Y, _, _ = data
        model = MultiOutputKernelRidge(output="learn")
        with pytest.raises(ValueError, match="inconsistent numbers"):
            model.fit(X, Y[:-1])
        with pytest.raises(ValueError, match="sample_weight must be >= 0"):
            model.fit(X, Y, -np.ones(50))
        Y[::2, 0] = Y[1:41:2, 1] = np.nan
        with pytest.raises(ValueError, match=r"more than 4 samples .* got 5|give output"):
            model.fit(X[:42], Y[:42])
        Y[:, 1] = np.nan
        with pytest.raises(ValueError, match="NaN only in output 1"):
            model.fit(X, Y)
