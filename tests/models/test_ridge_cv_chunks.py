"""Choosing alpha and kernel from sums over samples in chunks: the same as from all at once."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit

from mercer import Gaussian, KernelRidgeCV, Linear, Nystrom, Plan, ridge_path
from mercer.chunks import ArrayChunks

RNG = np.random.default_rng(0)
N = 600
X = RNG.standard_normal((N, 3))
R = 100 + np.sin(X.sum(axis=1)) + 0.3 * RNG.standard_normal(N)
BOTH = np.column_stack([R, X[:, 0] ** 2])
W = RNG.random(N)
KERNEL = Nystrom(Gaussian(1.5), X[:40])
ALPHAS = [1e-3, 0.1, 1.0, 10.0]


@pytest.mark.parametrize("scoring", ["neg_mean_squared_error", "r2", "neg_root_mean_squared_error"])
@pytest.mark.parametrize(
    ("cv", "test_size"),
    [(None, 0), (5, 0), (3, 0.25), (KFold(4, shuffle=True, random_state=0), 0)],
)
@pytest.mark.parametrize(("y", "weights"), [(R, None), (BOTH, W)])
def test_scores_are_those_of_samples_in_memory(scoring, cv, test_size, y, weights):
    model = KernelRidgeCV(
        ALPHAS,
        kernel=KERNEL,
        param_grid={"kernel__kernel__lengthscale": [0.7, 2.0]},
        cv=cv,
        test_size=test_size,
        scoring=scoring,
        random_state=0,
    )
    model.fit(X, y, weights)
    known, scores = model.predict(X), model.cv_results_["split_test_scores"]
    best, tested = model.best_params_, model.test_score_
    model.fit(ArrayChunks(X, y, weights, rows=130))
    np.testing.assert_allclose(model.cv_results_["split_test_scores"], scores, rtol=1e-7)
    np.testing.assert_allclose(model.test_score_, tested, rtol=1e-7)
    assert model.best_params_ == best
    np.testing.assert_allclose(model.predict(ArrayChunks(X, rows=99)), known, atol=1e-6)


def test_lengthscales_are_tried_by_themselves():
    model = KernelRidgeCV(ALPHAS, kernel=Gaussian("median"), param_grid="auto", plan=Plan(rank=30))
    for data, y in ((ArrayChunks(X, R), None), (X, R)):  # through landmarks, in memory as well
        found = model.set_params(cv=3).fit(data, y)
        assert len(found.cv_results_["params"]) == 7 * len(ALPHAS)
        assert set(found.best_params_) == {"alpha", "kernel__lengthscale"}


@pytest.mark.parametrize("weights", [None, W + 0.1])
def test_paths_of_penalties(weights):
    for y in (R, BOTH):
        known = ridge_path(KERNEL, X, y, ALPHAS, sample_weight=weights)
        found = ridge_path(KERNEL, ArrayChunks(X, y, weights, rows=130), alphas=ALPHAS)
        for name in ("dof", "loo", "gcv"):
            np.testing.assert_allclose(getattr(found, name), getattr(known, name), rtol=1e-8)
        assert found.best_alpha == known.best_alpha
        for a in range(len(ALPHAS)):
            np.testing.assert_allclose(
                found.gram.cross(X) @ found.coefs[a], known.gram.cross(X) @ known.coefs[a],
                atol=1e-6,
            )  # fmt: skip
    assert ridge_path(Linear(), ArrayChunks(X, R), alphas=[1.0]).coefs.shape == (1, 3)


def test_memory_maps(tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = KernelRidgeCV(ALPHAS, kernel=Gaussian(1.5), plan=Plan(rank=30), cv=3).fit(mapped, R)
    chunked = KernelRidgeCV(ALPHAS, kernel=Gaussian(1.5), plan=Plan(rank=30), cv=3)
    assert model.best_score_ == pytest.approx(chunked.fit(ArrayChunks(X, R)).best_score_)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"scoring": "neg_mean_absolute_error"}, "needs a prediction for each sample"),
        ({"scoring": lambda model, X, y: 0.0}, "needs a prediction for each sample"),
        ({"test_size": 0.2}, "use test_size=0, or cv=5"),
        ({"cv": RepeatedKFold(n_splits=3, n_repeats=2)}, "every sample into exactly one test fold"),
        ({"cv": ShuffleSplit(3)}, "cv must"),
        ({"plan": Plan(rank=30, memory="1 kB")}, "30 features"),
    ],
)
def test_what_is_refused(options, match):
    model = KernelRidgeCV(ALPHAS, kernel=Gaussian(1.5), plan=Plan(rank=30))
    with pytest.raises((ValueError, MemoryError), match=match):
        model.set_params(**options).fit(ArrayChunks(X, R))
    with pytest.raises(ValueError, match="groups are not"):
        KernelRidgeCV(plan=Plan(rank=30)).fit(ArrayChunks(X, R), groups=np.zeros(N))
    with pytest.raises(ValueError, match="omit both"):
        ridge_path(KERNEL, ArrayChunks(X, R), R, ALPHAS)
