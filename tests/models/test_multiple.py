"""MultipleKernelMachine: scikit-learn's contract, brute force, and real views."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Gaussian, KernelMachine, Linear, MultipleKernelMachine, Plan, Spectrum
from mercer.models import multiple
from mercer.models.multiple import _variance


@parametrize_with_checks(
    [
        MultipleKernelMachine(),
        MultipleKernelMachine([Gaussian(3.0), Linear()], p=np.inf, tol=1e-9),
        MultipleKernelMachine([Gaussian(3.0), Linear()], "hinge", tol=1e-2),
    ],
    expected_failed_checks=lambda model: (
        dict.fromkeys(
            [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")],
            "lengthscales are those of samples, not of weights; or solved to 1e-3 only",
        )
        if model.kernels is None or model.loss == "hinge"
        else {}
    ),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def data(rng, n=60):
    X = rng.uniform(-2, 2, (n, 4))
    return X, np.sin(2 * X[:, 0]) + X[:, 2] + 0.1 * rng.standard_normal(n)


KERNELS = [Gaussian(1.0).on(j) for j in range(4)]


def test_squared_loss_by_brute_force(rng):
    """Without an intercept J is in closed form, and scipy minimises it on the simplex."""
    X, y = data(rng)
    w = rng.uniform(0.5, 2.0, len(y))
    grams = np.stack([k(X) for k in KERNELS])
    share = w / w.sum()
    variances = [share @ np.diag(K) - share @ K @ share for K in grams]
    grams /= np.reshape(variances, (-1, 1, 1))

    def J(eta):
        A = np.tensordot(eta, grams, 1) + 0.5 * np.diag(1 / w)
        return 0.25 * y @ np.linalg.solve(A, y)

    theirs = minimize(
        J,
        np.full(4, 0.25),
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda eta: eta.sum() - 1},
        options={"ftol": 1e-12},
    )
    model = MultipleKernelMachine(KERNELS, alpha=0.5, fit_intercept=False, tol=1e-6, max_iter=500)
    model.fit(X, y, w)
    assert model.weighing_.objective == pytest.approx(theirs.fun, rel=2e-6)
    np.testing.assert_allclose(model.weights_, theirs.x, atol=5e-3)
    np.testing.assert_allclose(model.scales_, variances)
    again = KernelMachine(model.kernel_, alpha=0.5, fit_intercept=False, tol=1e-8).fit(X, y, w)
    np.testing.assert_allclose(model.predict(X), again.predict(X), atol=1e-3)
    np.testing.assert_allclose(model.rkhs_function_(X), model.predict(X))


def test_hinge_by_brute_force(rng):
    """The dual: a quadratically constrained problem in the coefficients and one level t."""
    X, y = data(rng, 14)
    s = np.where(y > 0, 1.0, -1.0)
    grams = np.stack([k(X) for k in KERNELS[:3]])

    def dual(v):
        return -(s @ v[:-1]) + v[-1]

    constraints = [{"type": "eq", "fun": lambda v: v[:-1].sum()}]
    for K in grams:
        constraints.append({"type": "ineq", "fun": lambda v, K=K: v[-1] - v[:-1] @ K @ v[:-1] / 2})
    bounds = [(0, 2) if sign > 0 else (-2, 0) for sign in s] + [(0, None)]
    theirs = minimize(
        dual, np.zeros(15), bounds=bounds, constraints=constraints, method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 1000},
    )  # fmt: skip
    model = MultipleKernelMachine(KERNELS[:3], "hinge", alpha=0.5, scale=False, tol=1e-5)
    model.fit(X, s)
    assert model.weighing_.objective * 2 == pytest.approx(-theirs.fun, rel=1e-4)
    assert model.gap_ <= 1e-5


@pytest.mark.parametrize("loss", ["logistic", "multinomial", "hinge", "squared_hinge"])
@pytest.mark.parametrize("p", [1.0, 2.0])
def test_several_classes_share_their_weights(rng, loss, p):
    X, y = data(rng, 90)
    labels = np.digitize(y, [-0.7, 0.7])
    model = MultipleKernelMachine(KERNELS, loss, alpha=0.2, p=p).fit(X, labels)
    assert model.gap_ <= 1e-3
    assert model.decision_function(X).shape == (90, 3)
    assert model.score(X, labels) > 0.85
    assert model.weights_[[0, 2]].min() > 2 * model.weights_[[1, 3]].max()


def test_useless_kernels_have_no_weight(rng):
    X, y = data(rng, 120)
    words = ["".join(rng.choice(list("acgt"), 20)) for _ in y]
    model = MultipleKernelMachine(KERNELS, alpha=1.0).fit(X, y)
    assert np.flatnonzero(model.weights_).tolist() == [0, 2]
    rows = [(word, x) for word, x in zip(words, X, strict=True)]
    kernels = [Spectrum(2).on(0), Gaussian("median").on(1), Linear().on(1)]
    mixed = MultipleKernelMachine(kernels, alpha=10.0).fit(rows, y)
    assert mixed.weights_[0] == 0
    assert mixed.score(rows, y) > 0.5


def test_plans(rng):
    X, y = data(rng, 1100)
    exact = MultipleKernelMachine(KERNELS, alpha=0.5).fit(X, y)
    few = MultipleKernelMachine(KERNELS, alpha=0.5, plan=Plan(rank=20)).fit(X, y)
    assert len(few.X_fit_) < 100
    np.testing.assert_allclose(few.predict(X), exact.predict(X), atol=0.05)
    tiled = MultipleKernelMachine(KERNELS, alpha=0.5, plan=Plan(storage="tiled")).fit(X, y)
    np.testing.assert_allclose(tiled.predict(X), exact.predict(X), atol=1e-2)
    streamed = Plan(rank=5, storage="streamed")
    with pytest.raises(ValueError, match="stored features"):
        MultipleKernelMachine(KERNELS, plan=streamed).fit(X, y)


def test_leaving_one_out_keeps_the_weights(rng):
    X, y = data(rng, 30)
    model = MultipleKernelMachine(KERNELS, alpha=0.5).fit(X, y)
    rest = np.arange(30) != 4
    again = KernelMachine(model.kernel_, alpha=0.5, tol=1e-9).fit(X[rest], y[rest])
    assert model.leave_one_out()[4] == pytest.approx(again.predict(X[4:5])[0], abs=1e-3)


def test_refusals(rng):
    X, y = data(rng)
    with pytest.raises(ValueError, match="kernels must be a list"):
        MultipleKernelMachine(Gaussian()).fit(X, y)
    with pytest.raises(ValueError, match="at least one kernel"):
        MultipleKernelMachine([]).fit(X, y)
    with pytest.raises(ValueError, match="p must be >= 1"):
        MultipleKernelMachine(p=0.5).fit(X, y)
    assert _variance(Linear().gram(np.ones((5, 2))), None) == 1.0


def test_six_views_of_digits(shared_data):
    """Not below the best single view, with the gap that was asked for."""
    file = np.load(shared_data / "multiview" / "mfeat.npz")
    views = [file[name] for name in file.files if name.startswith("X_")]
    some = np.random.default_rng(0).permutation(2000)[:600]
    X = np.hstack([(V - V.mean(axis=0)) / (V.std(axis=0) + 1e-12) for V in views])[some]
    y = file["y"][some].astype(int)
    ends = np.cumsum([0, *(V.shape[1] for V in views)]).tolist()
    parts = [slice(a, b) for a, b in pairwise(ends)]
    kernels = [Gaussian("median").on(part) for part in parts]
    train, test = slice(0, 250), slice(250, None)

    def accuracy(kernels):
        model = MultipleKernelMachine(kernels, "hinge", alpha=0.1).fit(X[train], y[train])
        assert model.gap_ <= 1e-3
        return model.score(X[test], y[test])

    assert accuracy(kernels) > max(accuracy([k]) for k in kernels)


def test_constant_targets_need_no_weights(rng):
    X = rng.normal(size=(40, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = MultipleKernelMachine().fit(X, np.full(40, 0.1))
    assert model.gap_ == 0
    assert model.weighing_.n_iter == 1
    np.testing.assert_allclose(model.predict(X), 0.1)


def test_only_two_solutions_are_kept(rng, monkeypatch):
    X = rng.normal(size=(60, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 2]
    kernels = [Gaussian(1.0).on(j) for j in range(3)]
    sizes, solve = [], multiple._Problems.at

    def at(self, weights):
        found = solve(self, weights)
        sizes.append(len(self.kept))
        return found

    monkeypatch.setattr(multiple._Problems, "at", at)
    model = MultipleKernelMachine(kernels, alpha=0.1, tol=1e-5).fit(X, y)
    assert len(sizes) == model.weighing_.n_iter + 1 > 4
    assert max(sizes) == 2


@pytest.mark.parametrize("p", [1, 2, np.inf])
def test_units_of_targets_do_not_matter(p, rng):
    """Objectives whose squares overflow or underflow; one target larger than all others."""
    X = rng.normal(size=(60, 2))
    y, kernels = np.sin(X[:, 0]), [Gaussian(1.0), Gaussian(5.0), Linear()]
    one, other = y.copy(), y.copy()
    one[3], other[3] = 1e10, 1e140
    for given, moved, unit in ((y, 1e-90 * y, 1e-90), (y, 1e140 * y, 1e140), (one, other, 1e130)):
        wanted = MultipleKernelMachine(kernels, p=p).fit(X, given)
        model = MultipleKernelMachine(kernels, p=p).fit(X, moved)
        assert model.gap_ <= 1e-3
        np.testing.assert_allclose(model.weights_, wanted.weights_, atol=1e-4)
        scale = np.abs(wanted.predict(X)).max()
        np.testing.assert_allclose(model.predict(X) / unit, wanted.predict(X), atol=1e-4 * scale)
