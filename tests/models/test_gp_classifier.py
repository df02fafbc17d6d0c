import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, ndtr
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessClassifier as Peer
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Gaussian, Linear, Plan, Spectrum
from mercer.exceptions import DenseWarning, MemoryPlanError
from mercer.models.gp_classifier import GaussianProcessClassifier, mean_of_logistic


@pytest.fixture
def data(rng):
    X = rng.standard_normal((80, 2))
    return X, X[:, 0] ** 2 + X[:, 1] + 0.3 * rng.standard_normal(80) > 0.5


@parametrize_with_checks([GaussianProcessClassifier()])
def test_contract(estimator, check):
    check(estimator)


def test_latent_function_is_that_of_the_peer(rng, data):
    X, y = data
    new = rng.standard_normal((20, 2))
    peer = Peer(ConstantKernel(4.0) * RBF(1.0), optimizer=None).fit(X, y)
    ours = GaussianProcessClassifier(4 * Gaussian(1.0), optimizer=None).fit(X, y)
    mean, variance = ours.latent_mean_and_variance(new)
    theirs = peer.base_estimator_  # which has a method for both from scikit-learn 1.7 on
    K = theirs.kernel_(X, new)
    half = np.linalg.solve(theirs.L_, theirs.W_sr_[:, None] * K)
    np.testing.assert_allclose(mean, K.T @ (theirs.y_train_ - theirs.pi_), atol=1e-5)
    np.testing.assert_allclose(variance, 4 - np.sum(half**2, axis=0), atol=1e-5)
    # the peer replaces the average of the logistic function by a sum of error functions
    np.testing.assert_allclose(ours.predict_proba(new), peer.predict_proba(new), atol=2e-3)


def test_probabilities_are_averages_over_the_latent_distribution(data):
    X, y = data
    model = GaussianProcessClassifier(9 * Gaussian(1.0), optimizer=None).fit(X, y)
    new = np.array([[0.0, 0.0], [2.0, 0.5], [-1.0, -2.0]])
    mean, variance = model.latent_mean_and_variance(new)
    for m, v, p in zip(mean, variance, model.predict_proba(new)[:, 1], strict=True):
        exact = quad(lambda f, m=m, v=v: expit(f) * norm.pdf(f, m, np.sqrt(v)), m - 40, m + 40)[0]
        assert p == pytest.approx(exact, abs=1e-6)


def test_at_least_as_likely_as_the_peer(data):
    X, y = data
    peer = Peer(ConstantKernel(1.0) * RBF(1.0), random_state=0).fit(X, y)
    ours = GaussianProcessClassifier(1 * Gaussian(1.0)).fit(X, y)
    assert ours.log_marginal_likelihood_value_ > peer.log_marginal_likelihood_value_ - 1e-3


def test_several_classes(rng):
    X = np.concatenate([rng.standard_normal((30, 2)) + shift for shift in ([0, 0], [4, 0], [0, 4])])
    y = np.repeat(["a", "b", "c"], 30)
    model = GaussianProcessClassifier().fit(X, y)
    assert model.score(X, y) > 0.95
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert len(model.kernels_) == 3
    assert model.latent_mean_and_variance(X)[0].shape == (90, 3)


def test_strings(rng):
    words = ["".join(rng.choice(list("ab"), 8)) for _ in range(60)]
    y = np.array(["aab" in w for w in words])
    assert GaussianProcessClassifier(1 * Spectrum(3)).fit(words, y).score(words, y) > 0.95


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="number of classes"):
        GaussianProcessClassifier().fit(np.eye(3), [1, 1, 1])


def test_few_features_are_as_good_as_all_of_k(rng):
    X = rng.standard_normal((90, 3))
    y = np.argmax(X + 0.5 * rng.standard_normal((90, 3)), axis=1)
    few, whole = (
        GaussianProcessClassifier(3.0 * Linear(), optimizer=None, plan=plan).fit(X, y)
        for plan in (None, Plan(storage="dense"))
    )
    assert [gram.explain().split(":")[0] for gram in few.grams_] == ["LowRankGram"] * 3
    assert whole.gram_.explain().startswith("DenseGram")
    new = rng.standard_normal((10, 3))
    for one, other in zip(
        few.latent_mean_and_variance(new), whole.latent_mean_and_variance(new), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    assert few.log_marginal_likelihood_value_ == pytest.approx(
        whole.log_marginal_likelihood_value_, rel=1e-9
    )


def test_a_rank_approximates_and_stays_uncertain_where_it_sees_nothing(rng):
    X = rng.uniform(-2, 2, (600, 1))
    y = X[:, 0] ** 2 + 0.3 * rng.standard_normal(600) > 1
    low = GaussianProcessClassifier(plan=Plan(rank=20), random_state=0).fit(X, y)
    whole = GaussianProcessClassifier(low.kernels_[0].kernel, optimizer=None).fit(X, y)
    new = np.array([[0.3], [-1.5], [60.0]])
    for one, other in zip(
        low.latent_mean_and_variance(new), whole.latent_mean_and_variance(new), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-2, atol=1e-2)
    assert "hyper-parameters were chosen on 500 samples" in low.gram_.explain()


def test_plans_are_obeyed_or_refused(data):
    X, y = data
    for optimizer in ("lbfgs", None):
        with pytest.raises(MemoryPlanError, match="the plan allows 10 kB"):
            GaussianProcessClassifier(optimizer=optimizer, plan=Plan(memory="10 kB")).fit(X, y)
    with pytest.warns(DenseWarning, match="factorising K of 80 samples needs all of K"):
        GaussianProcessClassifier(optimizer=None, plan=Plan(storage="tiled")).fit(X, y)


@pytest.mark.parametrize("std", [0.0, 1e-3, 0.9, 1.1, 3.0, 30.0, 1e3, 1e8])
def test_averages_of_the_logistic_function(std):
    """Latent functions of separable classes are wide: rules for polynomials were off by 0.04."""
    mean = np.array([-60.0, -1, -0.01, 0, 0.5, 3, 50, 0.1 * std, 0.5 * std, 2 * std])
    found = mean_of_logistic(mean, np.full(len(mean), std))
    z = np.linspace(-12, 12, 2_000_001)
    density = np.exp(-(z**2) / 2)
    expected = [expit(m + std * z) @ density / density.sum() for m in mean]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    turned = mean_of_logistic(-mean, np.full(len(mean), std))
    np.testing.assert_allclose(turned, 1 - found, atol=1e-12)


def test_far_away_the_sign_of_the_mean_decides():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    model = GaussianProcessClassifier(Linear(), optimizer=None).fit(X, [0, 0, 1, 1])
    assert model.predict([[1e8], [-1e8], [1e150]]).tolist() == [1, 0, 1]
    chance = model.predict_proba([[1e8]])[0, 1]
    mean, variance = model.latent_mean_and_variance([[1e8]])
    assert chance == pytest.approx(ndtr(mean[0] / np.sqrt(variance[0])), abs=1e-6)
