"""What must not change any answer: order, offsets, units, copies, containers, names of classes."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import is_classifier

import mercer
from mercer import Gaussian

RNG = np.random.default_rng(1)
X, NEW = RNG.normal(size=(40, 3)), RNG.normal(size=(15, 3))
Y = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=40)
CODES = (X[:, 0] + 0.5 * RNG.normal(size=40) > 0).astype(int)
WEIGHTS = RNG.integers(0, 4, 40).astype(float)


def models(unit=1.0):
    """Every model of samples with one kernel, which is in these units."""
    k, wide = Gaussian(1.3 * unit), Gaussian(3.0 * unit)
    found = [
        mercer.KernelRidge(0.1, kernel=k),
        mercer.SVR(k, C=2, tol=1e-8),
        mercer.NuSVR(k, C=2, nu=0.4, tol=1e-8),
        mercer.LSSVR(k),
        mercer.GaussianProcessRegressor(k, alpha=0.1, optimizer=None),
        mercer.KernelMachine(k, "huber", tol=1e-8),
        mercer.KernelMachine(k, "absolute", tol=1e-8),
        mercer.KernelQuantileRegressor([0.1, 0.5, 0.9], kernel=k, tol=1e-8),
        mercer.KernelExpectileRegressor([0.1, 0.5, 0.9], kernel=k, tol=1e-9),
        mercer.SemiparametricRidge(k, alpha=0.3),
        mercer.MultipleKernelMachine([k, wide], tol=1e-7),
        mercer.SparseKernelMachine(k, tol=1e-8),
        mercer.KernelRanker(kernel=k, tol=1e-9),
        mercer.MultiOutputKernelRidge(kernel=k),
        mercer.ConditionalEmbedding(k, Gaussian(1.0), alpha=0.1),
        mercer.SVC(k, C=2, tol=1e-8),
        mercer.NuSVC(k, nu=0.3, tol=1e-8),
        mercer.LSSVC(k),
        mercer.KernelLogisticRegression(0.1, kernel=k, tol=1e-9),
        mercer.GaussianProcessClassifier(k, optimizer=None),
        mercer.KernelFisherDiscriminant(kernel=k),
        mercer.OneClassSVM(k, nu=0.3, tol=1e-8),
        mercer.SVDD(k, nu=0.3, tol=1e-8),
        mercer.KernelPCA(2, kernel=k),
        mercer.KernelDensity(k),
    ]
    return {f"{type(m).__name__}{i}": m for i, m in enumerate(found)}


NAMES = list(models())
DENSITIES = ("KernelDensity",)  # whose values have a unit, and leave copies out one by one
WEIGHTED = [
    name
    for name, model in models().items()
    if "sample_weight" in inspect.signature(model.fit).parameters
    and not name.startswith((*DENSITIES, "SparseKernelMachine"))  # its candidates count, too
]


def targets(model):
    if is_classifier(model):
        return CODES
    return np.c_[Y, np.cos(Y)] if isinstance(model, mercer.MultiOutputKernelRidge) else Y


def answers(model, X, y, new=NEW, **weights):
    model.fit(X, y, **weights)
    for method in ("decision_function", "score_samples", "transform", "predict_proba", "predict"):
        if hasattr(model, method):
            found = np.asarray(getattr(model, method)(new), dtype=float)
            # components have no sign
            return np.abs(found) if isinstance(model, mercer.KernelPCA) else found
    raise AssertionError("a model without answers")


def same(found, wanted, tol=1e-4):
    np.testing.assert_allclose(found, wanted, atol=tol * np.abs(wanted).max())


@pytest.mark.parametrize("name", NAMES)
class TestSamples:
    def test_order(self, name):
        model, order = models()[name], np.random.default_rng(7).permutation(40)
        y = targets(model)
        wanted = answers(model, X, y)
        same(answers(model, X[order], y[order]), wanted)

    @pytest.mark.parametrize("offset", [1e3, 1e7])
    def test_offset(self, name, offset):
        model = models()[name]
        y = targets(model)
        wanted = answers(model, X, y)
        same(answers(model, X + offset, y, NEW + offset), wanted)

    @pytest.mark.parametrize("unit", [1e-150, 1e-6, 1e6, 1e150])
    def test_unit(self, name, unit):
        if name.startswith(DENSITIES):
            pytest.skip("densities have a unit")
        model = models()[name]
        y = targets(model)
        same(answers(models(unit)[name], unit * X, y, unit * NEW), answers(model, X, y))

    def test_containers(self, name):
        model = models()[name]
        y = targets(model)
        wanted = answers(model, X, y)
        same(answers(model, sp.csr_matrix(X), y, sp.csr_matrix(NEW)), wanted)
        table, new = (pd.DataFrame(Z, columns=list("abc")) for Z in (X, NEW))
        same(answers(model, table, y, new), wanted)
        same(answers(model, X.astype(np.float32), y, NEW.astype(np.float32)), wanted, 2e-3)


@pytest.mark.parametrize("name", WEIGHTED)
class TestWeights:
    def test_weights_are_copies(self, name):
        model = models()[name]
        y, times = targets(model), WEIGHTS.astype(int)
        wanted = answers(model, np.repeat(X, times, axis=0), np.repeat(y, times, axis=0))
        same(answers(model, X, y, sample_weight=WEIGHTS), wanted, 1e-3)

    def test_samples_of_weight_0_do_not_matter(self, name):
        """Whatever they are: far away, with targets far off."""
        model = models()[name]
        y = targets(model)
        more = [[0], [1]] if is_classifier(model) else [[1e12], [-1e12]]
        with_more = np.concatenate([y.reshape(40, -1), np.repeat(more, y[:1].size, axis=1)])
        weights = np.r_[np.ones(40), 0, 0]
        far = np.vstack([X, np.full((2, 3), 1e9)])
        wanted = answers(model, X, y)
        same(answers(model, far, np.squeeze(with_more), sample_weight=weights), wanted)


@pytest.mark.parametrize("name", [name for name in NAMES if is_classifier(models()[name])])
@pytest.mark.parametrize("classes", [["a", "bb"], ["bb", "a"], [10, -3], [False, True]], ids=str)
def test_names_of_classes(name, classes):
    model = models()[name]
    plain = model.fit(X, CODES).predict(NEW)
    named = np.array(classes)
    assert model.fit(X, named[CODES]).predict(NEW).tolist() == named[plain].tolist()
