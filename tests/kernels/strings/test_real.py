"""Accuracy on real sequences; the areas are those of an independent implementation."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_score

from mercer import SVC, GappyKmer, Mismatch, Spectrum, WeightedDegree

pytestmark = pytest.mark.slow


@pytest.fixture
def read(shared_data):
    pd = pytest.importorskip("pandas")

    def table(name):
        path = shared_data / "strings" / name
        return pd.read_csv(path, sep="\t", quoting=3, keep_default_na=False, dtype=str)

    return table


def test_promoters(read):
    table = read("promoters.tsv.gz")
    X, y = list(table["sequence"]), np.array(list(table["label"]))
    model = SVC(C=10, kernel=WeightedDegree(4).normalize())
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    assert cross_val_score(model, X, y, cv=folds).mean() >= 0.92


@pytest.mark.parametrize(
    ("kernel", "area", "accuracy"),
    [
        (Spectrum(5), 0.9771, 0.9245),
        (Spectrum(6), 0.9802, 0.9320),
        (Mismatch(5, 1), 0.9694, 0.9090),
        (Mismatch(6, 1), 0.9803, 0.9300),
        (GappyKmer(8, 6), 0.9874, 0.9460),
    ],
)
def test_binding_sites(read, kernel, area, accuracy):
    table = read("tfbs_dna_a.tsv.gz")
    table = table[table["task"] == "EP300"]
    train, test = (table[table["split"] == part] for part in ("train", "test"))
    model = SVC(C=1, kernel=kernel.normalize())
    model.fit(list(train["sequence"]), list(train["label"]))
    truth = np.array(list(test["label"]))
    scores = model.decision_function(list(test["sequence"]))
    assert roc_auc_score(truth == model.classes_[1], scores) == pytest.approx(area, abs=1e-4)
    found = model.predict(list(test["sequence"]))
    assert np.mean(found == truth) == pytest.approx(accuracy, abs=1e-3)
