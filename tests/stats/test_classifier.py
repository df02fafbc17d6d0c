"""Tests by classifiers: areas and p-values by hand, any model, nothing to see, errors."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest, norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

import mercer
from mercer import SVC, KernelRidge, Spectrum, classifier_test
from mercer.stats.classifier import _judge


def test_area_and_p_value_by_hand(rng):
    scores, labels = np.round(rng.normal(size=40), 1), np.repeat([0, 1], [25, 15])
    area, _ = _judge(scores, labels, 10, rng)
    assert area == pytest.approx(roc_auc_score(labels, scores))
    uniform = [_judge(np.round(rng.normal(size=12), 0), labels[19:31], 19, rng)[1]
               for _ in range(500)]  # many ties  # fmt: skip
    assert kstest(uniform, "uniform").pvalue > 1e-3


def test_statistic_is_a_weighted_sum_of_normal_scores(rng):
    X, Y = rng.normal(size=(60, 2)), rng.normal(0.5, 1, (60, 2))
    found = classifier_test(X, Y, LogisticRegression(), n_parts=3, rng=0)
    weights = np.sqrt([40, 80])
    z = weights @ norm.isf(found.details["pvalues"]) / np.linalg.norm(weights)
    assert found.statistic == pytest.approx(z)
    assert found.pvalue == pytest.approx(norm.sf(z))
    assert 0.5 < found.details["accuracy"] < 1


@pytest.mark.parametrize("model", [None, SVC(), DecisionTreeClassifier(max_depth=4), "ours"])
def test_any_classifier_sees_a_difference(rng, model):
    X, Y = rng.normal(0, 1, (120, 2)), rng.normal(0, 2.5, (120, 2))
    model = mercer.GaussianProcessClassifier() if model == "ours" else model
    found = classifier_test(X, Y, model, rng=0, n_permutations=199)
    assert found.pvalue < 0.01
    again = classifier_test(X, Y, model, rng=0, n_permutations=199)
    assert again.pvalue == found.pvalue


def test_strings_tables_and_files(rng, tmp_path):
    one = ["".join(rng.choice(list("ab"), 10)) for _ in range(40)]
    other = ["".join(rng.choice(list("ab"), 10, p=[0.8, 0.2])) for _ in range(40)]
    found = classifier_test(one, other, SVC(kernel=Spectrum(2)), rng=0)
    assert found.pvalue < 0.01
    mercer.save(found, tmp_path / "found.mercer")
    assert mercer.load(tmp_path / "found.mercer").pvalue == found.pvalue
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": rng.normal(size=60)})
    assert classifier_test(frame, frame + 3, rng=0).pvalue < 0.01


@pytest.mark.parametrize("form", [np.asarray, list, pd.Series, np.float32])
def test_points_on_the_line(rng, form):
    X, Y = rng.normal(size=60), rng.normal(2, 1, 60)
    wanted = classifier_test(X[:, None], Y[:, None], LogisticRegression(), rng=0)
    found = classifier_test(form(X), form(Y), LogisticRegression(), rng=0)
    assert found.pvalue == pytest.approx(wanted.pvalue, rel=1e-4)
    assert classifier_test(form(X), form(Y), rng=0).pvalue < 0.01


def test_constants_are_not_told_apart():
    ones = np.ones((30, 1))
    found = classifier_test(ones, ones, LogisticRegression(), rng=0)
    assert np.isfinite(found.statistic)
    assert found.pvalue > 1e-3


def test_errors(rng):
    X = rng.normal(size=(20, 1))
    with pytest.raises(ValueError, match="n_parts"):
        classifier_test(X, X, n_parts=1)
    with pytest.raises(TypeError, match="classifier"):
        classifier_test(X, X, "SVC")
    with pytest.raises(ValueError, match="at least 5"):
        classifier_test(X[:3], X)
    found = classifier_test(X, X + 3, KernelRidge(), rng=0)  # its predictions are scores, too
    assert found.pvalue < 0.01
