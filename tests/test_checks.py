"""Counts, shares and positive numbers: each wrong one is refused by name, wherever it is given."""

from argparse import ArgumentTypeError

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from mercer import Plan, chunks, models, rkhs, solvers, stats, tables, testing, tuning
from mercer.checks import check_count, check_folds, check_fraction, check_positive, is_number
from mercer.cli.arguments import whole
from mercer.kernels import DilatedConvolution, Gaussian, Linear, Spectrum
from mercer.rkhs import RKHSFunction

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 2))
A, B, Y = X[:, :1], X[:, 1:], X[:, 0] + 0.1 * RNG.normal(size=24)
LABELS = (Y > 0).astype(int)
TABLE = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "t": Y})
UNIT = Gaussian(1.0)
CURVES = [X, X + RNG.normal(size=X.shape)]
WRONG = [None, "x", np.nan, np.inf, 2.5, 3.0, True, -1]


def fitted(cls, *data, **given):
    return lambda **wrong: cls(**given, **wrong).fit(*data)


def called(function, *data, **given):
    return lambda **wrong: function(*data, **given, **wrong)


def method(make, name, *data):
    return lambda **wrong: getattr(make(), name)(*data, **wrong)


TWO, PAIR = (X[:12], X[12:]), (A, B)
MACHINES = "KernelMachine KernelQuantileRegressor KernelExpectileRegressor SparseKernelMachine"
DUALS = {
    "SVC": (X, LABELS), "NuSVC": (X, LABELS), "SVCCV": (X, LABELS), "SVR": (X, Y),
    "NuSVR": (X, Y), "OneClassSVM": (X,), "SVDD": (X,),
}  # fmt: skip
STREAMS = (stats.SequentialTwoSampleTest, stats.SequentialIndependenceTest)
CASES = [
    (called(stats.two_sample_test, *TWO), "n_permutations landmarks? bins? stop_after?"),
    (called(stats.k_sample_test, list(TWO)), "n_permutations landmarks? bins? stop_after?"),
    (called(stats.independence_test, *PAIR), "n_permutations blocks? stop_after?"),
    (called(stats.independence_test, *PAIR, kernels=UNIT), "landmarks?"),
    (called(stats.paired_test, *PAIR), "n_permutations stop_after?"),
    (called(stats.interaction_test, A, B, Y), "n_permutations"),
    (called(stats.conditional_independence_test, A, B, Y), "n_permutations"),
    (called(stats.classifier_test, *TWO), "n_permutations n_parts"),
    (called(stats.distribution_test, A, norm()), "n_draws"),
    (called(stats.goodness_of_fit_test, A, lambda x: -x), "n_draws"),
    (called(stats.sensitivity_indices, X, Y), "order n_permutations n_bootstrap"),
    (called(stats.change_points, X), "n_changes? max_changes? min_size step?"),
    (called(stats.causal_graph, X), "most? n_permutations"),
    (called(stats.coco, *PAIR), "n_functions rank?"),
    (called(stats.mmd, *TWO, UNIT, estimator="block"), "block_size?"),
    (called(stats.mmd, *TWO, UNIT, estimator="incomplete"), "n_shifts"),
    (called(stats.kernel_grid, X), "n_bandwidths"),
    (called(stats.power, *TWO), "n"),
    *[(called(cls), "warm_up budget") for cls in STREAMS],
    (called(tables.compare_tables, TABLE, TABLE + 1), "n_permutations n_rows"),
    (called(tables.screen_columns, TABLE, "t"), "n_permutations"),
    (called(rkhs.compress, X, kernel=UNIT), "size?"),
    (called(rkhs.kernel_quadrature, UNIT, norm()), "points"),
    (called(rkhs.top_hat, 1.0), "L"),
    (called(rkhs.MercerExpansion), "n_terms"),
    (called(rkhs.SpectralMeasure, UNIT), "dimension"),
    (called(rkhs.preimage, RKHSFunction(UNIT, X, Y)), "n_neighbors n_restarts max_iter"),
    (called(solvers.pivoted_cholesky, UNIT.gram(X)), "rank? block?"),
    (called(tuning.tune, models.KernelRidge(kernel=UNIT), X, Y), "n_restarts"),
    (called(testing.difficult_samples), "n d"),
    (called(chunks.stream, X), "rows?"),
    (method(lambda: chunks.stream(X), "sample"), "n"),
    (called(Plan), "rank? workers?"),
    (called(DilatedConvolution), "size seed"),
    (called(Spectrum), "k"),
    (method(lambda: models.GaussianProcessRegressor(UNIT).fit(X, Y), "sample_y", X), "n_samples"),
    (method(lambda: models.SmoothingSpline().fit(A, Y), "predict", A), "derivative"),
    (method(lambda: models.CCA(1).fit(*PAIR), "project", A), "view"),
    (fitted(models.ConformalRegressor, X, Y, estimator=models.KernelRidge(), method="cv+"), "cv?"),
    (fitted(models.CCA, A, B), "n_components"),
    (fitted(models.KernelCCA, A, B), "n_components rank?"),
    (fitted(models.KernelCCACV, A, B), "n_components cv?"),
    (fitted(models.FunctionalCCA, *CURVES), "n_components order"),
    (fitted(models.GaussianProcessRegressor, X, Y), "n_restarts_optimizer landmarks?"),
    (fitted(models.GaussianProcessClassifier, X, LABELS), "n_restarts_optimizer"),
    (fitted(models.KernelFisherDiscriminant, X, LABELS), "n_components?"),
    (fitted(models.KernelICA, X), "n_components? n_init max_iter"),
    (fitted(models.KernelKMeans, X), "n_clusters n_init max_iter"),
    (fitted(models.SpectralClustering, X), "n_clusters n_init max_iter"),
    (fitted(models.KernelPCA, X), "n_components? max_iter? iterated_power"),
    (fitted(models.KernelLogisticRegression, X, LABELS), "max_iter?"),
    *[(fitted(getattr(models, name), X, Y), "max_iter?") for name in MACHINES.split()],
    (fitted(models.KernelRanker, X, Y), "max_iter?"),
    (fitted(models.SequenceLabeller, X, LABELS), "max_iter?"),
    (fitted(models.MultipleKernelMachine, X, Y, kernels=[UNIT, Linear()]), "max_iter"),
    (fitted(models.KernelRidgeCV, X, Y), "cv?"),
    (fitted(models.LevelSetTree, X), "neighbors"),
    (fitted(models.MultiOutputKernelRidge, X, X), "max_iter"),
    *[(fitted(getattr(models, name), *data), "max_iter-") for name, data in DUALS.items()],
    (fitted(models.SVCCV, X, LABELS), "cv?"),
    (fitted(models.OnlineKernelMachine, X, Y), "budget"),
    (fitted(models.OnlineOneClassSVM, X), "budget"),
    (fitted(models.SmoothingSpline, A, Y), "order"),
    (fitted(models.ThinPlateSpline, X, Y), "order"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "name"),
    [
        pytest.param(call, name, id=f"{k}-{name}")
        for k, (call, names) in enumerate(CASES)
        for name in names.split()
    ],
)
def test_wrong_counts_are_refused_by_name(call, name):
    """A mark after a name says what else is a value: ? None, - the number -1."""
    plain, fine = name.rstrip("?-"), {"?": [None], "-": [-1]}.get(name[-1], [])
    for wrong in WRONG:
        if wrong not in fine:
            with pytest.raises((ValueError, TypeError), match=f"{plain}.*got"):
                call(**{plain: wrong})


def test_counts_of_numpy_are_counts():
    for count in (np.int64(3), np.uint8(3), np.int16(3)):
        assert check_count("n", count) == 3
        assert type(check_count("n", count)) is int
    assert check_count("n", None, also=("auto", None)) is None
    assert check_count("n", "auto", also=("auto",)) == "auto"
    for wrong in (np.array(3), np.float64(3), np.bool_(True), 4, "autos"):
        with pytest.raises(ValueError, match=r'n must be "auto" or an integer from 1 to 3, got'):
            check_count("n", wrong, 1, 3, also=("auto",))


def test_shares_and_positive_numbers():
    assert check_fraction("level", np.float32(0.5)) == 0.5
    assert check_fraction("nu", 1, one=True) == 1.0
    for wrong in (None, "x", np.nan, True, 0, 1, -0.5, [0.5]):
        with pytest.raises(ValueError, match="level must be between 0 and 1, got"):
            check_fraction("level", wrong)
    for wrong in (None, "x", np.nan, np.inf, True, 0, -1, 10**400):
        with pytest.raises(ValueError, match="C must be > 0 and finite, got"):
            check_positive("C", wrong)
    assert not is_number(10**400)


def test_folds():
    splits = [([0, 1], [2])]
    assert check_folds(5) == 5
    assert check_folds(splits) is splits
    for wrong in (None, "x", 1, 2.5, True):
        with pytest.raises(ValueError, match="cv must be an integer >= 2 or a splitter, got"):
            check_folds(wrong)
    with pytest.raises(ValueError, match="needs at least 2 samples, got n_samples = 1"):
        check_folds(2, most=1)


def test_counts_on_the_command_line():
    assert whole(5)("12") == 12
    for wrong in ("4", "x", "5.5", "nan", ""):
        with pytest.raises(ArgumentTypeError, match="must be an integer >= 5, got"):
            whole(5)(wrong)
