"""Every public model and test takes a plan, and does what it says or refuses."""

import inspect
import warnings

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator, clone

import mercer
from mercer import Gaussian, Plan
from mercer.exceptions import DenseWarning, MemoryPlanError

SENTENCE = "Memory and threads to use, and how K is stored"
WITHOUT = {  # no kernel matrix of their own
    "CCA",  # linear
    "FunctionalCCA",  # curves of few points
    "ConformalRegressor",  # that of the regressor inside, which has a plan
    "KernelICA",  # a grid of numbers
    "SemiSupervised",  # that of the model inside
    "OnlineKernelMachine",  # a few samples at a time
    "OnlineOneClassSVM",
}
ELSEWHERE = {"TableClassifier", "TableRegressor"}  # tests/tables: kernels of their own choice
K = Gaussian(1.0)
rng = np.random.default_rng(0)
X = rng.standard_normal((90, 2))
y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(90)
NEW = rng.standard_normal((7, 2))

MODELS = {
    "ConditionalEmbedding": ({"kernel_x": K, "kernel_y": K}, y[:, None]),
    "GaussianProcessClassifier": ({"kernel": K, "optimizer": None}, y > 0),
    "GaussianProcessRegressor": ({"kernel": K, "alpha": 0.1, "optimizer": None}, y),
    "KernelCCA": ({"kernels": K}, None),
    "KernelCCACV": ({"kernels": K, "cv": 3}, None),
    "KernelDensity": ({"kernel": K}, None),
    "KernelFisherDiscriminant": ({"kernel": K}, y > 0),
    "KernelLogisticRegression": ({"kernel": K}, y > 0),
    "KernelMachine": ({"kernel": K}, y),
    "KernelKMeans": ({"n_clusters": 2, "random_state": 0}, None),
    "KernelPCA": ({"kernel": K, "n_components": 2}, None),
    "KernelExpectileRegressor": ({"kernel": K}, y),
    "KernelQuantileRegressor": ({"kernel": K}, y),
    "KernelRanker": ({"kernel": K}, y),
    "KernelRidge": ({"kernel": K}, y),
    "KernelRidgeCV": ({"kernel": K}, y),
    "LevelSetTree": ({"kernel": K}, None),
    "LSSVC": ({"kernel": K}, y > 0),
    "LSSVR": ({"kernel": K}, y),
    "LearnedPreImage": ({"kernel": K}, X),
    "MultiOutputKernelRidge": ({"kernel": K}, np.column_stack([y, y**2])),
    "MultipleKernelMachine": ({"kernels": [K, Gaussian(3.0)]}, y),
    "NuSVC": ({"kernel": K, "nu": 0.3}, y > 0),
    "NuSVR": ({"kernel": K}, y),
    "OneClassSVM": ({"kernel": K}, None),
    "SVC": ({"kernel": K}, y > 0),
    "SequenceLabeller": ({"kernel": K}, y > 0),
    "SVDD": ({"kernel": K}, None),
    "SparseKernelMachine": ({"kernel": K}, y),
    "SpectralClustering": ({"n_clusters": 2, "random_state": 0}, None),
    "SVCCV": ({"kernel": K, "cv": 2, "random_state": 0}, y > 0),
    "SVR": ({"kernel": K}, y),
    "SemiparametricRidge": ({"kernel": K, "alpha": 0.1}, y),
    "SmoothingSpline": ({}, y),
    "ThinPlateSpline": ({}, y),
}
Y2 = X + rng.standard_normal((90, 2))
FUNCTIONS = {
    "causal_graph": lambda p: (
        mercer.causal_graph(X[:30], n_permutations=49, rng=0, plan=p).adjacency
    ),
    "change_points": lambda p: mercer.change_points(X, 2, K, plan=p).changes,
    "cka": lambda p: mercer.cka(X, Y2, K, K, plan=p),
    "cka_interval": lambda p: mercer.cka_interval(X, Y2, K, K, plan=p),
    "classifier_test": lambda p: mercer.classifier_test(
        X, Y2, n_parts=2, n_permutations=49, rng=0, plan=p
    ),
    "coco": lambda p: mercer.coco(X, Y2, K, K, plan=p).value,
    "conditional_independence_test": lambda p: mercer.conditional_independence_test(
        X[:, 0], Y2[:, 0], X[:, 1], n_permutations=49, rng=0, plan=p
    ),
    "dhsic": lambda p: mercer.dhsic(X, Y2, X[:, 0], kernels=K, plan=p),
    "distance_correlation": lambda p: mercer.distance_correlation(X, Y2, plan=p),
    "distance_covariance": lambda p: mercer.distance_covariance(X, Y2, plan=p),
    "distribution_test": lambda p: mercer.distribution_test(
        X[:, :1], norm(0, 1), K, n_draws=49, rng=0, plan=p
    ),
    "goodness_of_fit_test": lambda p: mercer.goodness_of_fit_test(
        X, lambda x: -x, n_draws=49, rng=0, plan=p
    ),
    "hsic": lambda p: mercer.hsic(X, Y2, K, K, plan=p),
    "hsic_interval": lambda p: mercer.hsic_interval(X, Y2, K, K, plan=p),
    "independence_test": lambda p: mercer.independence_test(
        X, Y2, n_permutations=49, rng=0, plan=p
    ),
    "interaction_test": lambda p: mercer.interaction_test(
        X[:, 0], X[:, 1], Y2, n_permutations=49, rng=0, plan=p
    ),
    "k_sample_test": lambda p: mercer.k_sample_test(
        [X, Y2, X + 1], n_permutations=49, rng=0, bins=None, plan=p
    ),
    "kernel_canonical_correlation": lambda p: mercer.kernel_canonical_correlation(
        [X, Y2], kernels=K, plan=p
    ),
    "kernel_generalized_variance": lambda p: mercer.kernel_generalized_variance(
        [X, Y2], kernels=K, plan=p
    ),
    "kernel_mutual_information": lambda p: mercer.kernel_mutual_information(X, Y2, K, K, plan=p),
    "ksd": lambda p: mercer.ksd(X, lambda x: -x, plan=p),
    "lancaster": lambda p: mercer.lancaster(X[:, 0], X[:, 1], Y2, kernels=K, plan=p),
    "mmd": lambda p: mercer.mmd(X, Y2, K, plan=p),
    "mmd_interval": lambda p: mercer.mmd_interval(X, Y2, K, plan=p),
    "mmd_multi": lambda p: mercer.mmd_multi([X, Y2], K, plan=p),
    "mmd_to": lambda p: mercer.mmd_to(X[:, :1], norm(0, 1), K, plan=p),
    "nocco": lambda p: mercer.nocco(X, Y2, K, K, plan=p),
    "optimize_kernel": lambda p: mercer.optimize_kernel(X, Y2, [K], rng=0, plan=p).lengthscale,
    "paired_test": lambda p: mercer.paired_test(X, Y2, K, n_permutations=49, rng=0, plan=p),
    "parzen_mutual_information": lambda p: mercer.parzen_mutual_information(X, Y2, K, K, plan=p),
    "power": lambda p: mercer.power(X, Y2, 50, K, plan=p).value,
    "relative_fit_test": lambda p: mercer.relative_fit_test(
        X, lambda x: -x, lambda x: -2 * x, K, plan=p
    ),
    "relative_test": lambda p: mercer.relative_test(X, Y2, X + 1, K, plan=p),
    "ridge_path": lambda p: mercer.ridge_path(K, X, y, [0.1, 1.0], plan=p).dof,
    "sample_size": lambda p: mercer.sample_size(X, Y2 + 1, K, plan=p).value,
    "sensitivity_indices": lambda p: (
        mercer.sensitivity_indices(
            X, y, n_permutations=49, n_bootstrap=20, rng=0, plan=p
        ).total_interval
    ),
    "two_sample_test": lambda p: mercer.two_sample_test(
        X, Y2, n_permutations=49, rng=0, bins=None, plan=p
    ),
}


def public(kind):
    names = {name: getattr(mercer, name) for name in mercer.__all__}
    return {name: found for name, found in names.items() if kind(found)}


def takes(function):
    return "plan" in inspect.signature(function).parameters


def test_none_is_missing():
    models = public(lambda o: inspect.isclass(o) and issubclass(o, BaseEstimator))
    assert {name for name, model in models.items() if not takes(model)} == WITHOUT
    assert set(MODELS) == set(models) - WITHOUT - ELSEWHERE
    assert set(FUNCTIONS) == set(public(lambda o: inspect.isfunction(o) and takes(o)))
    for name in mercer.stats.__all__:
        if name.endswith("_test"):
            assert name in FUNCTIONS


@pytest.mark.parametrize("name", [*MODELS, *FUNCTIONS])
def test_all_say_the_same_of_it(name):
    text = " ".join((inspect.getdoc(getattr(mercer, name)) or "").split())
    assert f"plan : Plan, optional {SENTENCE}" in text or ", plan" in text


def fit(name, plan):
    options, target = MODELS[name]
    model = getattr(mercer, name)(**options, plan=plan)
    if "CCA" in name:
        return model.fit([X, Y2])
    data = X[:, 0] if name == "SmoothingSpline" else X
    return model.fit(data) if target is None else model.fit(data, target)


def answers(name, model):
    if "CCA" in name:
        return np.hstack(model.transform([NEW, NEW]))
    if name == "ConditionalEmbedding":
        return model.weights(NEW)
    new = NEW[:, 0] if name == "SmoothingSpline" else NEW
    for method in ("predict_proba", "decision_function", "predict", "transform"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(new))
    raise AssertionError(name)


def explained(model):
    operators = getattr(model, "grams_", None) or [model.gram_]
    return "\n".join(gram.explain() for gram in operators)


def or_refusal(make):
    """What is made, or in which words it is refused."""
    try:
        return make(), ""
    except ValueError as error:
        return None, f"{type(error).__name__}: {error}"
    except MemoryPlanError as error:
        return None, f"MemoryPlanError: {error}"


@pytest.mark.parametrize("name", MODELS)
def test_memory_of_models_is_honoured_or_refused(name):
    model, refusal = or_refusal(lambda: fit(name, Plan(memory="1 kB")))
    if model is None:
        assert "MemoryPlanError" in refusal
        assert "the plan allows 1 kB" in refusal
    else:
        assert "stored as an array" not in explained(model)
        usual = fit(name, None)
        np.testing.assert_allclose(answers(name, model), answers(name, usual), atol=5e-3)


@pytest.mark.parametrize("name", MODELS)
def test_threads_do_not_change_a_bit_of_models(name):
    one, two = (answers(name, fit(name, Plan(workers=workers))) for workers in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("storage", ["dense", "tiled"])
def test_operators_of_models_explain_themselves(name, storage):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DenseWarning)
        model, refusal = or_refusal(lambda: fit(name, Plan(storage=storage)))
    if model is None:
        assert storage == "tiled"
        assert "storage" in refusal or "needs K" in refusal
        return
    told = explained(model)
    if name.endswith("Spline"):
        assert told.startswith("PolyharmonicGram")
    else:
        assert {"dense": "DenseGram", "tiled": "TiledGram"}[storage] in told


@pytest.mark.parametrize("name", MODELS)
def test_copies_keep_it(name):
    options, _ = MODELS[name]
    model = getattr(mercer, name)(**options, plan=Plan(memory="2 GB", workers=1))
    copy = clone(model)
    assert copy.plan == model.plan
    assert copy.get_params()["plan__workers"] == 1


def value_of(found):
    return np.ravel([found.statistic, found.pvalue] if hasattr(found, "pvalue") else found)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_memory_of_functions_is_honoured_or_refused(name):
    found, refusal = or_refusal(lambda: FUNCTIONS[name](Plan(memory="1 kB")))
    if found is None:
        assert "MemoryPlanError" in refusal
        assert "the plan allows" in refusal
        return
    np.testing.assert_allclose(value_of(found), value_of(FUNCTIONS[name](None)), rtol=1e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_threads_do_not_change_a_bit_of_functions(name):
    one, two = (FUNCTIONS[name](Plan(workers=workers)) for workers in (1, 2))
    np.testing.assert_array_equal(value_of(one), value_of(two))
    if hasattr(one, "explain"):
        assert one.explain().endswith("; 1 thread")
        assert two.explain().endswith("; 2 threads")


def test_samples_for_landmarks_go_by_the_memory_of_a_plan():
    from mercer.chunks.arrays import ArrayChunks

    chunks = ArrayChunks(np.zeros((60_000, 1)))
    counts = [
        len(Plan(rank=1000, storage="streamed", memory=m)._some(chunks))
        for m in ("20 MB", "160 MB", "10 GB")
    ]
    assert counts == [2000, 5000, 50_000]
