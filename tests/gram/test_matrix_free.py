"""A Gram operator of one's own, of which only blocks are known, in models that take a plan."""

import warnings

import numpy as np
import pytest

from mercer import (
    LSSVC,
    LSSVR,
    SVC,
    SVR,
    Gaussian,
    Gram,
    KernelLogisticRegression,
    KernelMachine,
    KernelPCA,
    KernelQuantileRegressor,
    KernelRidge,
    MultiOutputKernelRidge,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Plan,
    SemiparametricRidge,
)
from mercer.data import length
from mercer.exceptions import DenseWarning
from mercer.gram.tiles import evaluate
from mercer.testing import check_gram

N = 600


class Counting(Gram):
    """Blocks of a kernel matrix, counted; nothing else is known of it."""

    largest = 0

    def __init__(self, kernel, X, Y=None, *, workers=None):
        self.kernel, self.X, self.Y = kernel, X, X if Y is None else Y
        self.shape = (length(X), length(self.Y))
        self.dtype = np.dtype(float)
        self.symmetric = Y is None

    def block(self, rows, cols):
        K = evaluate(self.kernel, self.X[rows], self.Y[cols])
        if self.symmetric:
            Counting.largest = max(Counting.largest, K.size)
        return K

    def cross(self, X_new):
        return Counting(self.kernel, self.kernel.prepare(X_new), self.X)


def own_plan():
    Counting.largest = 0
    return Plan(storage=Counting)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(N)
    return X, y


def test_it_is_a_gram(data):
    X, _ = data
    k = Gaussian(1.5)
    check_gram(own_plan().gram(k, X), k(X), X[:5], k(X[:5], X))


FREE = {
    "ridge": (lambda plan: KernelRidge(0.1, kernel=Gaussian(1.5), plan=plan), "y"),
    "logistic": (
        lambda plan: KernelLogisticRegression(0.1, kernel=Gaussian(1.5), plan=plan),
        "labels",
    ),
    "machine": (
        lambda plan: KernelMachine(loss="huber", alpha=0.1, kernel=Gaussian(1.5), plan=plan),
        "y",
    ),
    "quantile": (
        lambda plan: KernelQuantileRegressor(0.5, alpha=0.1, kernel=Gaussian(1.5), plan=plan),
        "y",
    ),
    "lssvr": (lambda plan: LSSVR(C=10.0, kernel=Gaussian(1.5), plan=plan), "y"),
    "lssvc": (lambda plan: LSSVC(C=10.0, kernel=Gaussian(1.5), plan=plan), "signs"),
    "pca": (lambda plan: KernelPCA(3, kernel=Gaussian(1.5), plan=plan), None),
    "outputs": (
        lambda plan: MultiOutputKernelRidge(0.1, kernel=Gaussian(1.5), plan=plan),
        "two",
    ),
}


def targets(kind, y):
    return {"y": y, "labels": y > 0, "signs": y > 0, "two": np.column_stack([y, y**2]), None: None}[
        kind
    ]


@pytest.mark.parametrize("name", FREE)
def test_models_that_need_no_matrix(data, name):
    X, y = data
    make, kind = FREE[name]
    plan = own_plan()
    with warnings.catch_warnings():
        warnings.simplefilter("error", DenseWarning)
        found = make(plan).fit(X, targets(kind, y))
    assert 0 < Counting.largest < N * N
    usual = make(None).fit(X, targets(kind, y))
    if kind is None:
        np.testing.assert_allclose(found.eigenvalues_, usual.eigenvalues_, rtol=1e-6)
    elif kind == "signs":
        np.testing.assert_allclose(
            found.decision_function(X), usual.decision_function(X), atol=2e-3
        )
    elif kind == "labels":
        np.testing.assert_allclose(found.predict_proba(X), usual.predict_proba(X), atol=1e-4)
    else:
        np.testing.assert_allclose(found.predict(X), usual.predict(X), atol=2e-3)


DENSE = {
    "semiparametric": lambda plan: SemiparametricRidge(alpha=0.1, kernel=Gaussian(1.5), plan=plan),
    "cholesky": lambda plan: KernelRidge(0.1, kernel=Gaussian(1.5), solver="cholesky", plan=plan),
}


@pytest.mark.parametrize("name", DENSE)
def test_models_that_do_say_so(data, name):
    X, y = data
    with pytest.warns(DenseWarning, match="Counting does not store: 600 x 600 entries, 2.88 MB"):
        found = DENSE[name](own_plan()).fit(X, y)
    np.testing.assert_allclose(found.predict(X), DENSE[name](None).fit(X, y).predict(X), atol=1e-8)


MACHINES = {
    "svc": lambda plan: SVC(Gaussian(1.5), tol=1e-6, plan=plan),
    "nu-svc": lambda plan: NuSVC(Gaussian(1.5), nu=0.2, tol=1e-6, plan=plan),
    "svr": lambda plan: SVR(Gaussian(1.5), tol=1e-6, plan=plan),
    "nu-svr": lambda plan: NuSVR(Gaussian(1.5), tol=1e-6, plan=plan),
    "novelty": lambda plan: OneClassSVM(Gaussian(1.5), nu=0.1, tol=1e-6, plan=plan),
}


@pytest.mark.parametrize("name", MACHINES)
def test_machines_ask_for_a_few_rows(data, name):
    X, y = data
    target = y > 0 if name.endswith("svc") else y
    plan = own_plan()
    with warnings.catch_warnings():
        warnings.simplefilter("error", DenseWarning)
        found = MACHINES[name](plan).fit(X, target)
        usual = MACHINES[name](None).fit(X, target)
        scores = [getattr(m, "decision_function", m.predict)(X) for m in (found, usual)]
    np.testing.assert_allclose(*scores, atol=1e-4)
    assert 0 < Counting.largest < N * N
    assert found.gram_.explain().startswith("Counting")
