"""Labels of sequences."""

import itertools

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Gaussian, KernelMachine, Plan, SequenceLabeller, Spectrum
from mercer.exceptions import ConvergenceWarning

TOGETHER = dict.fromkeys(
    ["check_methods_subset_invariance", "check_methods_sample_order_invariance"],
    "the labels of a sequence depend on all of its elements",
)


@parametrize_with_checks([SequenceLabeller()], expected_failed_checks=lambda model: TOGETHER)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def sequences(rng):
    groups = np.repeat(np.arange(30), 12)
    y = np.cumsum(rng.random(360) < 0.1) % 3
    X = 1.5 * np.column_stack([y == 1, y == 2]) + rng.normal(size=(360, 2))
    return X, np.array(["low", "middle", "top"])[y], groups


def test_without_transitions_it_is_logistic_regression_of_elements(sequences):
    X, y, groups = sequences
    model = SequenceLabeller(0.3, kernel=Gaussian(), transition_weight=0, tol=1e-11)
    model.fit(X, y, groups)
    alone = KernelMachine(Gaussian(), "multinomial", 0.3, fit_intercept=False, tol=1e-9).fit(X, y)
    expected = softmax(alone.decision_function(X), axis=1)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-5)
    assert not model.transitions_.any()


def test_probabilities_of_all_labellings(sequences):
    X, y, groups = sequences
    model = SequenceLabeller(0.3, kernel=Gaussian()).fit(X, y, groups)
    some = X[:4]
    logs = {}
    for labels in itertools.product(model.classes_, repeat=4):
        logs[labels] = model.log_probability(some, np.array(labels))[0]
    p = np.exp(list(logs.values()))
    assert p.sum() == pytest.approx(1, rel=1e-10)
    best = max(logs, key=logs.get)
    assert tuple(model.predict(some)) == best
    each = model.predict_proba(some)
    for t, (a, label) in itertools.product(range(4), enumerate(model.classes_)):
        share = sum(q for labels, q in zip(logs, p, strict=True) if labels[t] == label)
        assert each[t, a] == pytest.approx(share, abs=1e-10)


def test_neighbours_help(sequences):
    X, y, groups = sequences
    train = groups < 20
    beside = SequenceLabeller(kernel=Gaussian(2.0)).fit(X[train], y[train], groups[train])
    alone = SequenceLabeller(kernel=Gaussian(2.0), transition_weight=0).fit(
        X[train], y[train], groups[train]
    )
    held_out = X[~train], y[~train], groups[~train]
    assert beside.score(*held_out) > alone.score(*held_out) + 0.05
    assert beside.solution_.stats["gap"] <= 1e-5 * len(y) * np.log(3)


def test_elements_of_a_sequence_may_lie_anywhere(sequences, rng):
    X, y, groups = sequences
    model = SequenceLabeller(kernel=Gaussian(), tol=1e-10).fit(X, y, groups)
    mixed = np.argsort(rng.integers(0, 5, 360), kind="stable")
    order = mixed[np.argsort(groups[mixed] % 7, kind="stable")]
    order = order[np.lexsort((order, rng.permutation(30)[groups[order]] % 4))]
    other = SequenceLabeller(kernel=Gaussian(), tol=1e-10).fit(X[order], y[order], groups[order])
    np.testing.assert_allclose(
        other.predict_proba(X, groups), model.predict_proba(X, groups), atol=1e-4
    )
    np.testing.assert_array_equal(model.predict(X, groups)[order],
                                  model.predict(X[order], groups[order]))  # fmt: skip
    np.testing.assert_allclose(
        model.log_probability(X, y, groups),
        model.log_probability(X[order], y[order], groups[order]),
    )


def test_words(rng):
    """Which part of a sentence a word is, from its ending and its place."""
    verbs = ["walking", "talking", "running", "singing"]
    nouns = ["horses", "houses", "tables", "trees"]
    X, y, groups = [], [], []
    for s in range(12):
        for _ in range(3):
            X += [str(rng.choice(nouns)), str(rng.choice(verbs))]
            y += ["noun", "verb"]
            groups += [s, s]
    model = SequenceLabeller(0.1, kernel=Spectrum(2)).fit(X, y, groups)
    assert model.predict(["sheep", "jumping", "xxxx", "yyyy"]).tolist() == [
        "noun", "verb", "noun", "verb",
    ]  # fmt: skip
    assert model.transitions_[0, 1] > model.transitions_[0, 0]


def test_few_features(sequences):
    X, y, groups = sequences
    model = SequenceLabeller(kernel=Gaussian(), plan=Plan(rank=40)).fit(X, y, groups)
    assert len(model.X_fit_) <= 40
    assert model.score(X, y, groups) > 0.6


def test_what_is_refused(sequences):
    X, y, groups = sequences
    with pytest.raises(ValueError, match="alpha must be > 0"):
        SequenceLabeller(0.0).fit(X, y)
    with pytest.raises(ValueError, match="transition_weight must be >= 0"):
        SequenceLabeller(transition_weight=-1).fit(X, y)
    with pytest.raises(ValueError, match="groups has 3 entries"):
        SequenceLabeller().fit(X, y, groups[:3])
    for gap in (None, np.nan):
        with pytest.raises(ValueError, match="groups has missing values"):
            SequenceLabeller().fit(X, y, [gap, *range(len(y) - 1)])
    with pytest.raises(ValueError, match="more memory"):
        SequenceLabeller(plan=Plan(rank=5, storage="streamed")).fit(X, y, groups)
    model = SequenceLabeller(kernel=Gaussian()).fit(X, y, groups)
    with pytest.raises(ValueError, match="label 'none'"):
        model.log_probability(X[:2], ["low", "none"])
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        SequenceLabeller(kernel=Gaussian(), max_iter=1, tol=1e-9).fit(X, y, groups)
