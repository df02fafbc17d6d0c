"""Every model that takes a plan takes its rules for features, and is that of the kernel they make.

And no matrix of n x n numbers is made on the way.
"""

import tracemalloc
import warnings

import numpy as np
import pytest

import mercer
from mercer import Gaussian, Landmarks, Plan, Polynomial, RandomFourier, TensorSketch
from mercer.exceptions import MercerWarning

RULES = {
    "fourier": (RandomFourier(24), Gaussian(1.5)),
    "sketch": (TensorSketch(12), Polynomial(3)),
    "landmarks": (Landmarks(24), Gaussian(1.5)),
    "uniform": (Landmarks(24, choose="uniform"), Gaussian(1.5)),
}
SMALL, LARGE = 150, 6000
SVM = {"cache_size": 2}  # MB of rows of K, whatever n is


class Samples:
    """Samples, numbers, labels, groups of eight, and new samples."""

    def __init__(self, n):
        rng = np.random.default_rng(0)
        self.X, self.new = rng.standard_normal((n, 3)), rng.standard_normal((20, 3))
        self.y = np.sin(self.X[:, 0]) + 0.1 * rng.standard_normal(n)
        self.labels = (self.X[:, 0] + self.X[:, 1] ** 2 > 1).astype(int)
        self.groups = np.arange(n) // 8


def predicting(name, targets="y", **options):
    """A model and what it predicts."""

    def run(s, kernel, plan):
        model = getattr(mercer, name)(kernel=kernel, plan=plan, **options)
        return model.fit(s.X, getattr(s, targets)).predict(s.new)

    return run


def scoring(name, targets="labels", **options):
    def run(s, kernel, plan):
        model = getattr(mercer, name)(kernel=kernel, plan=plan, **options)
        return model.fit(s.X, getattr(s, targets)).decision_function(s.new)

    return run


def projecting(s, kernel, plan):
    model = mercer.KernelPCA(2, kernel=kernel, plan=plan).fit(s.X)
    return np.abs(model.transform(s.new))


def correlating(s, kernel, plan):
    model = mercer.KernelCCA(
        kernels=[kernel, kernel], plan=plan, n_components=1, regularization=0.1
    )
    return model.fit([s.X, s.X[:, ::-1]]).correlations_


def choosing_correlations(s, kernel, plan):
    model = mercer.KernelCCACV(
        kernels=[kernel, kernel], plan=plan, regularizations=[0.1, 1.0], cv=2
    )
    return model.fit([s.X, s.X**2 + 0.1 * s.X]).regularization_


def process(s, kernel, plan):
    model = mercer.GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None, plan=plan)
    return model.fit(s.X, s.y).predict(s.new)  # variances add what features do not see


def labelled_process(s, kernel, plan):
    model = mercer.GaussianProcessClassifier(kernel, optimizer=None, plan=plan)
    return model.fit(s.X, s.labels).predict(s.new)


def probabilities(s, kernel, plan):
    model = mercer.KernelLogisticRegression(kernel=kernel, plan=plan)
    return model.fit(s.X, s.labels).predict_proba(s.new)


def novelty(name):
    def run(s, kernel, plan):
        model = getattr(mercer, name)(kernel=kernel, nu=0.2, plan=plan, **SVM)
        return model.fit(s.X).decision_function(s.new)

    return run


def conditional(s, kernel, plan):
    model = mercer.ConditionalEmbedding(kernel, alpha=0.1, plan=plan).fit(s.X, s.y)
    return model.predict(s.new)


def clusters(s, kernel, plan):
    model = mercer.KernelKMeans(2, kernel=kernel, plan=plan, random_state=0).fit(s.X)
    return model.predict(s.new)


def ranking(s, kernel, plan):
    model = mercer.KernelRanker(kernel=kernel, plan=plan).fit(s.X, s.y, s.groups)
    return model.predict(s.new)


def outputs(s, kernel, plan):
    model = mercer.MultiOutputKernelRidge(kernel=kernel, plan=plan)
    return model.fit(s.X, np.column_stack([s.y, -s.y])).predict(s.new)


def several_kernels(s, kernel, plan):
    model = mercer.MultipleKernelMachine([kernel, 2 * kernel], plan=plan)
    return model.fit(s.X, s.y).predict(s.new)


MODELS = {
    "ConditionalEmbedding": conditional,
    "GaussianProcessClassifier": labelled_process,
    "GaussianProcessRegressor": process,
    "KernelCCA": correlating,
    "KernelCCACV": choosing_correlations,
    "KernelExpectileRegressor": predicting("KernelExpectileRegressor"),
    "KernelFisherDiscriminant": scoring("KernelFisherDiscriminant"),
    "KernelKMeans": clusters,
    "KernelLogisticRegression": probabilities,
    "KernelMachine": predicting("KernelMachine", loss="huber"),
    "KernelPCA": projecting,
    "KernelQuantileRegressor": predicting("KernelQuantileRegressor", quantiles=[0.3, 0.7]),
    "KernelRanker": ranking,
    "KernelRidge": predicting("KernelRidge"),
    "KernelRidgeCV": predicting("KernelRidgeCV"),
    "LSSVC": scoring("LSSVC"),
    "LSSVR": predicting("LSSVR"),
    "MultiOutputKernelRidge": outputs,
    "MultipleKernelMachine": several_kernels,
    "NuSVC": scoring("NuSVC", nu=0.2, tol=1e-5, **SVM),
    "NuSVR": predicting("NuSVR", tol=1e-5, **SVM),
    "OneClassSVM": novelty("OneClassSVM"),
    "SVC": scoring("SVC", tol=1e-5, **SVM),
    "SVDD": novelty("SVDD"),
    "SVR": predicting("SVR", tol=1e-5, **SVM),
    "SemiparametricRidge": predicting("SemiparametricRidge"),
}
ELSEWHERE = {  # models that take a plan, and where their features are tested or refused
    "KernelDensity": "test_density.py: K has to be >= 0",
    "LearnedPreImage": "its kernel is one of coordinates",
    "LevelSetTree": "test_level_sets.py: it is a tree of a KernelDensity",
    "RidgePath": "KernelRidgeCV",
    "SVCCV": "SVC, fold by fold",
    "TableClassifier": "tests/tables: it chooses its kernel, and features where K is too large",
    "TableRegressor": "tests/tables: likewise",
    "SequenceLabeller": "test_labelling.py: its samples are sequences",
    "SparseKernelMachine": "it already uses few functions, and refuses",
    "SpectralClustering": "K has to be >= 0, which random features do not promise, and it says so",
    "SmoothingSpline": "its kernel is one of splines",
    "ThinPlateSpline": "its kernel is one of splines",
    "SequentialTwoSampleTest": "tests/stats",
    "SequentialIndependenceTest": "tests/stats",
}


def test_all_models_are_looked_at():
    import inspect

    taking = set()
    for name in dir(mercer):
        value = getattr(mercer, name)
        if inspect.isclass(value) and "plan" in inspect.signature(value).parameters:
            taking.add(name)
    assert taking == set(MODELS) | set(ELSEWHERE)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", MODELS)
def test_a_plan_of_features_is_the_kernel_that_they_make(name, rule):
    by, kernel = RULES[rule]
    s = Samples(SMALL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MercerWarning)
        found = MODELS[name](s, kernel, Plan(features=by))
        through = kernel.approximate(by).resolve(s.X)
        wanted = MODELS[name](s, through, Plan(storage="dense"))
    np.testing.assert_allclose(found, wanted, atol=2e-2 * np.abs(wanted).max())


@pytest.mark.parametrize("name", MODELS)
def test_no_matrix_of_all_pairs_is_made(name):
    s = Samples(LARGE)
    by, kernel = RULES["fourier"]
    tracemalloc.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MercerWarning)
        MODELS[name](s, kernel, Plan(features=by, memory="100 MB"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8.0 * LARGE**2 / 4
