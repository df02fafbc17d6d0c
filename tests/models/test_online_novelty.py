import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Gaussian, OneClassSVM, OnlineOneClassSVM, Spectrum

STEPS = "a weight makes one step longer; a repetition makes one more"


@parametrize_with_checks(
    [OnlineOneClassSVM(), OnlineOneClassSVM(nu=0.3, schedule="sqrt", removal="oldest")],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": STEPS,
        "check_sample_weight_equivalence_on_sparse_data": STEPS,
    },
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("nu", "update"), [(0.05, "implicit"), (0.2, "implicit"), (0.5, "implicit"), (0.3, "explicit")]
)
def test_a_share_nu_lies_outside(rng, nu, update):
    X = rng.standard_normal((4000, 2))
    model = OnlineOneClassSVM(Gaussian(1.0), nu=nu, budget=60, update=update).fit(X)
    outside = np.mean(model.predict(rng.standard_normal((4000, 2))) < 0)
    assert 0.5 * nu < outside < 1.5 * nu
    np.testing.assert_allclose(
        model.score_samples(X[:5]) - model.offset_, model.decision_function(X[:5])
    )


def test_steps_by_hand():
    """Paper and pencil: rho grows by nu eta, and falls by eta with a sample outside of it."""
    X = np.array([[0.0], [0.0], [10.0]])
    model = OnlineOneClassSVM(
        Gaussian(1.0), nu=0.25, alpha=0.5, eta=0.1, schedule="constant", update="explicit"
    )
    model.partial_fit(X[:1])  # rho = 0 first goes to 0.025, f(x) = 0 < rho
    assert model.offset_ == pytest.approx(0.025 - 0.1)
    np.testing.assert_allclose(model.dual_coef_, [0.1])
    model.partial_fit(X[1:2])  # f(x) = 0.1 > rho = -0.05
    assert model.offset_ == pytest.approx(-0.05)
    np.testing.assert_allclose(model.dual_coef_, [0.095])
    model.set_params(nu=0.75).partial_fit(X[2:])  # f(x) = 0 < rho = 0.025
    assert model.offset_ == pytest.approx(-0.075)
    np.testing.assert_allclose(model.dual_coef_, [0.09025, 0.1])


def test_near_the_batch_solution(rng):
    X = rng.standard_normal((3000, 2)) * [1.0, 0.3]
    new = np.vstack([rng.standard_normal((500, 2)) * [1, 0.3], rng.uniform(-3, 3, (500, 2))])
    strange = np.arange(1000) >= 500
    online = OnlineOneClassSVM(Gaussian(0.5), nu=0.1, budget=100).fit(X)
    batch = OneClassSVM(kernel=Gaussian(0.5), nu=0.1).fit(X)
    scores = [roc_auc_score(strange, -m.score_samples(new)) for m in (online, batch)]
    assert scores[0] > scores[1] - 0.02
    assert np.mean(online.predict(new) == batch.predict(new)) > 0.93


def test_strings_chunks_and_errors(rng):
    words = ["".join(rng.choice(list("ab"), 8)) for _ in range(100)]
    whole = OnlineOneClassSVM(Spectrum(2), budget=20).fit(words)
    parts = clone(whole)
    for i in range(0, 100, 9):
        parts.partial_fit(words[i : i + 9])
    np.testing.assert_allclose(
        parts.decision_function(words), whole.decision_function(words), atol=1e-10
    )
    assert whole.predict(["zzzzzzz"]) == -1
    with pytest.raises(ValueError, match="nu must be between 0 and 1"):
        OnlineOneClassSVM(nu=0).fit(np.eye(3))


def test_steps_have_a_size(rng):
    """Losses alone do not compare sizes: a larger f has a larger margin."""
    with pytest.raises(ValueError, match="eta must be a number, got 'auto'"):
        OnlineOneClassSVM(eta="auto").fit(rng.normal(size=(20, 2)))
