"""The protocol of the study of graphs: what is chosen for a test fold does not depend on it."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from mercer import Graph, Graphlet, ShortestPath, WeisfeilerLehman

pd = pytest.importorskip("pandas")
ROOT = Path(__file__).resolve().parents[2]
KERNELS = {
    "WL": [WeisfeilerLehman(1).normalize().on("graph"), WeisfeilerLehman(2).on("graph")],
    "sums": [Graphlet(3).on("graph") + ShortestPath().normalize().on("graph")],
}


@pytest.fixture
def study(monkeypatch):
    """The study on sixty small graphs in place of its sets; labels can be written to."""
    monkeypatch.syspath_prepend(str(ROOT))
    graphs = importlib.reload(importlib.import_module("benchmarks.studies.graphs"))
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    some = [
        Graph(rng.integers(0, 7, size=(6 + 2 * label, 2)), nodes=7, labels=rng.integers(0, 2, 7))
        for label in y
    ]
    made_up = graphs.Collection(pd.DataFrame({"graph": some}), y)
    monkeypatch.setattr(graphs, "load", lambda name: made_up)
    monkeypatch.setattr(graphs, "candidates", lambda name: KERNELS)
    return graphs


def test_folds_are_a_partition_with_all_classes(study):
    fold, y = study.folds("x"), study.load("x").y
    assert np.bincount(fold).tolist() == [6] * 10
    assert all(np.bincount(y[fold == f]).tolist() == [3, 3] for f in range(10))


def test_no_label_of_a_test_fold_is_seen_before_the_test(study):
    """Wrong labels in fold 0 change what is chosen for the others, and the score, but not that."""
    pool = [setting for some in study.settings("x").values() for setting in some]
    before = np.array([study.validated(setting) for setting in pool])
    guesses = [study.predictions(setting, (0,))[0] for setting in pool]
    fold, y = study.folds("x"), study.load("x").y
    y[fold == 0] = 1 - y[fold == 0]
    study.validated.cache_clear()
    after = np.array([study.validated(setting) for setting in pool])
    np.testing.assert_array_equal(after[:, 0], before[:, 0])
    assert (after[:, 1] != before[:, 1]).any()
    for setting, guess in zip(pool, guesses, strict=True):
        np.testing.assert_array_equal(study.predictions(setting, (0,))[0], guess)


def test_scores_are_of_what_was_chosen(study):
    found = study.result("x", study.ALL)
    for fold, setting in enumerate(found.chosen):
        guess = study.predictions(setting, (fold,))[0]
        assert found.scores[fold] == study.accuracy("x", fold, guess)
    assert "most often" in found.words
    assert study.result("x", study.VOTE).scores.shape == (10,)


def test_sums_and_products_of_matrices(study):
    (kernel,) = KERNELS["sums"]
    X = study.load("x").X
    np.testing.assert_allclose(study.matrix("x", kernel), kernel(X), rtol=1e-6)
    product = KERNELS["WL"][0] * KERNELS["WL"][1]
    np.testing.assert_allclose(study.matrix("x", product), product(X), rtol=1e-6)


def test_majorities(study):
    votes = np.array([[0, 1, 2], [1, 1, 0], [1, 0, 1]])
    assert study._majority(votes).tolist() == [1, 1, 2]


def test_surroundings_are_means_over_neighbours(study):
    """A path of three nodes; attributes beside indicators of labels, which count twice."""
    path = Graph([(0, 1), (1, 2)], labels=[0, 1, 0], attributes=[[1.0], [2.0], [5.0]])
    near = study.surroundings([path], depth=1)
    own = np.array([[1, 2, 0], [2, 0, 2], [5, 2, 0]])
    np.testing.assert_array_equal(near["near_0"][0], own)
    around = np.array([own[1], (own[0] + own[2]) / 2, own[1]])
    np.testing.assert_array_equal(near["near_1"][0], np.hstack([own, (own + around) / 2]))
