"""Tensors in, tensors out: models, kernels and tests against what they make of arrays."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import (
    LSSVC,
    SVC,
    SVR,
    Gaussian,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelCCA,
    KernelDensity,
    KernelFisherDiscriminant,
    KernelICA,
    KernelKMeans,
    KernelLogisticRegression,
    KernelMachine,
    KernelPCA,
    KernelRanker,
    KernelRidge,
    KernelRidgeCV,
    OneClassSVM,
    OnlineKernelMachine,
    Plan,
    SequenceLabeller,
    stream,
    two_sample_test,
)
from mercer.exceptions import DomainError
from mercer.tensors import is_tensor, on_host

K = Gaussian(1.0)
MODELS = {
    "ridge": (KernelRidge(kernel=K), ["predict", "posterior_variance"]),
    "ridge with folds": (KernelRidgeCV(kernel=K), ["predict"]),
    "ridge through landmarks": (KernelRidge(kernel=K, plan=Plan(rank=10)), ["predict"]),
    "machine": (KernelMachine(kernel=K, loss="huber"), ["predict"]),
    "process": (GaussianProcessRegressor(K, alpha=0.1, optimizer=None), ["predict", "sample_y"]),
    "svr": (SVR(kernel=K), ["predict"]),
    "svc": (SVC(kernel=K, probability=True, random_state=0), ["predict", "decision_function"]),
    "probabilities": (SVC(kernel=K, probability=True, random_state=0), ["predict_proba"]),
    "lssvc": (LSSVC(kernel=K), ["predict", "decision_function"]),
    "logistic": (KernelLogisticRegression(kernel=K), ["predict_proba", "predict"]),
    "classifier": (GaussianProcessClassifier(K, optimizer=None), ["predict_proba"]),
    "discriminant": (KernelFisherDiscriminant(kernel=K), ["predict", "transform"]),
    "online": (OnlineKernelMachine(kernel=K), ["predict"]),
    "pca": (KernelPCA(2, kernel=K), ["transform", "fit_transform"]),
    "ica": (KernelICA(2, random_state=0), ["transform"]),
    "clusters": (KernelKMeans(2, kernel=K, random_state=0), ["predict"]),
    "density": (KernelDensity(), ["score_samples"]),
    "novelty": (OneClassSVM(kernel=K), ["predict", "decision_function"]),
}
CLASSES = ("svc", "probabilities", "lssvc", "logistic", "classifier", "discriminant")


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def X(rng):
    return rng.standard_normal((40, 3))


@pytest.mark.parametrize("name", MODELS)
def test_models_answer_in_kind(name, torch, X):
    model, methods = MODELS[name]
    y = (X[:, 0] > 0).astype(int) if name in CLASSES else X[:, 0] + X[:, 1] ** 2
    here = clone(model).fit(X, y)
    there = clone(model).fit(torch.tensor(X), torch.tensor(y))
    mixed = clone(model).fit(X, y)
    for method in methods:
        expected = getattr(here, method)(X)
        for found in (
            getattr(there, method)(torch.tensor(X)),
            getattr(mixed, method)(X=torch.tensor(X)),
        ):
            assert torch.is_tensor(found)
            assert found.device.type == "cpu"
            np.testing.assert_array_equal(found.numpy(), expected)
        assert isinstance(getattr(there, method)(X), np.ndarray)
    if hasattr(here, "score") and name != "density":
        assert there.score(torch.tensor(X), torch.tensor(y)) == pytest.approx(here.score(X, y))


def test_several_answers_and_options(torch, X):
    model = GaussianProcessRegressor(K, alpha=0.1, optimizer=None).fit(X, X[:, 0])
    mean, std = model.predict(torch.tensor(X), return_std=True)
    assert torch.is_tensor(mean)
    assert torch.is_tensor(std)
    weights = np.linspace(0.5, 1, 40)
    weighted = KernelRidge(kernel=K).fit(torch.tensor(X), X[:, 0], torch.tensor(weights))
    np.testing.assert_array_equal(
        weighted.dual_coef_, KernelRidge(kernel=K).fit(X, X[:, 0], weights).dual_coef_
    )


def test_labels_that_are_no_numbers_stay_arrays(torch, X):
    model = SVC(kernel=K).fit(torch.tensor(X), np.where(X[:, 0] > 0, "up", "down"))
    assert set(model.predict(torch.tensor(X))) == {"up", "down"}


def test_views_as_tensors(torch, X):
    views = [X, X[:, :2] ** 2]
    expected = KernelCCA(n_components=1).fit(views).transform(views)
    tensors = [torch.tensor(view) for view in views]
    found = KernelCCA(n_components=1).fit(tensors).transform(tensors)
    for a, b in zip(found, expected, strict=True):
        assert torch.is_tensor(a)
        np.testing.assert_allclose(a.numpy(), b)


def test_a_model_keeps_its_own_samples(torch, X):
    tensor = torch.tensor(X)
    model = KernelRidge(kernel=K).fit(tensor, X[:, 0])
    before = model.predict(X)
    tensor.zero_()
    np.testing.assert_array_equal(model.predict(X), before)


def test_kernels_functions_and_tests(torch, X):
    tensor = torch.tensor(X)
    for kernel in (K, 2 * K.on([0, 1]) + 1, Gaussian("median")):
        found = kernel(tensor, tensor[:5]) if not kernel.unresolved else kernel(tensor)
        assert torch.is_tensor(found)
        expected = kernel(X, X[:5]) if not kernel.unresolved else kernel(X)
        np.testing.assert_array_equal(found.numpy(), expected)
    single = K(tensor.float())
    assert single.dtype == torch.float32
    f = KernelRidge(kernel=K).fit(X, X[:, 0]).rkhs_function_
    assert torch.is_tensor(f(tensor))
    assert isinstance(f(X), np.ndarray)
    np.testing.assert_array_equal(K.gram(tensor) @ np.ones(40), K.gram(X) @ np.ones(40))
    p = two_sample_test(tensor[:20], tensor[20:], rng=0).pvalue
    assert p == two_sample_test(X[:20], X[20:], rng=0).pvalue


def test_chunks_of_tensors(torch, X):
    chunks = stream(torch.tensor(X), target=torch.tensor(X[:, 0]), rows=16)
    plan = Plan(rank=10)
    found = KernelRidge(kernel=K, plan=plan).fit(chunks).predict(X)
    expected = KernelRidge(kernel=K, plan=plan).fit(stream(X, target=X[:, 0], rows=16)).predict(X)
    np.testing.assert_array_equal(found, expected)


def test_kinds_of_tensors(torch, X):
    tensor = torch.tensor(X, requires_grad=True)
    np.testing.assert_array_equal(on_host(tensor), X)
    assert on_host(torch.ones(2, dtype=torch.bfloat16)).dtype == np.float32
    with pytest.raises(DomainError, match=r"to_dense"):
        K(torch.eye(3).to_sparse())
    assert not is_tensor(X)
    assert not is_tensor([1.0])
    assert not is_tensor("text")


class Foreign:
    """An array of another library, as the standard of array libraries has them."""

    device = "here"

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __array_namespace__(self):
        return self

    @staticmethod
    def asarray(array, device):
        assert device == "here"
        return Foreign(array)


def test_arrays_of_other_libraries(X):
    model = KernelRidge(kernel=K).fit(Foreign(X), X[:, 0])
    found = model.predict(Foreign(X))
    assert isinstance(found, Foreign)
    np.testing.assert_array_equal(found.array, model.predict(X))
    host = on_host(Foreign(X))
    X[:] = 0
    assert host.any()


def test_arrays_that_cannot_be_read(X, monkeypatch):
    import sys

    class Far(Foreign):
        def __dlpack_device__(self):
            return 2, 0

    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(DomainError, match="import torch"):
        K(Far(X))


def test_labels_of_sequences_and_rankings_of_other_libraries(X):
    y, groups = (X[:, 0] > 0).astype(int), np.arange(len(X)) // 10
    given = Foreign(X), Foreign(y), Foreign(groups)
    model = SequenceLabeller(kernel=K).fit(*given)
    found = model.log_probability(*given)
    np.testing.assert_allclose(found.array, model.log_probability(X, y, groups))
    ranker = KernelRanker(kernel=K).fit(*given)
    assert ranker.ndcg(*given) == ranker.ndcg(X, y, groups)
