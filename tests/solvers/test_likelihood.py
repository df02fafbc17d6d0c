import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from mercer.solvers.held_out import leave_one_out
from mercer.solvers.laplace import laplace_evidence
from mercer.solvers.likelihood import Labels

N = 25
MODELS = [Labels(several, intercept) for several in (False, True) for intercept in (False, True)]


@pytest.fixture
def data(rng):
    B = rng.standard_normal((N, N))
    weights = rng.uniform(0.5, 1.5, N)
    weights[:2] = 0
    return 3 * B @ B.T / N + 0.2 * np.eye(N), rng.integers(0, 3, N), weights


def labelled(model, codes, train, held):
    return np.column_stack([codes if model.several else codes > 0, train, held])


def split(weights):
    first = np.arange(N) < 15
    return weights * first, weights * ~first


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("by", ["evidence", "leave_one_out", "validation"])
def test_slope_in_every_direction(rng, data, model, by):
    K, codes, w = data
    Y = labelled(model, codes, *(split(w) if by == "validation" else (w, w)))
    criterion = getattr(model, by)
    found = criterion(K, Y)
    T = np.empty((N, N))
    for rows in (slice(0, 12), slice(12, N)):
        for cols in (slice(0, 12), slice(12, N)):
            T[rows, cols] = found.tile(rows, cols)
    np.testing.assert_allclose(T, T.T, atol=1e-12)
    np.testing.assert_allclose(np.diag(T), found.diagonal, atol=1e-12)
    for _ in range(3):
        D = rng.standard_normal((N, N))
        D, h = D + D.T, 1e-5
        change = criterion(K + h * D, Y).value - criterion(K - h * D, Y).value
        assert (T * D).sum() == pytest.approx(change / (2 * h), rel=1e-5, abs=1e-7)


def test_evidence_of_two_classes_is_that_of_the_gaussian_process(data):
    K, codes, _ = data
    y, ones = np.where(codes > 0, 1.0, -1.0), np.ones(N)
    ours = Labels(False, False).evidence(K, np.column_stack([codes > 0, ones, ones]))
    theirs = laplace_evidence(K, y[:, None])
    assert ours.value == pytest.approx(theirs.value, rel=1e-9)
    everything = slice(0, N), slice(0, N)
    np.testing.assert_allclose(ours.tile(*everything), theirs.tile(*everything), atol=1e-7)


@pytest.mark.parametrize("intercept", [False, True])
def test_evidence_of_several_classes_from_large_matrices(data, intercept):
    K, codes, w = data
    w = w + 0.1

    def scores(v):
        return v[: 3 * N].reshape(N, 3) + (v[3 * N :] if intercept else 0)

    def objective(v):
        f = v[: 3 * N].reshape(N, 3)
        fit = -w @ log_softmax(scores(v), axis=1)[np.arange(N), codes]
        return fit + np.sum(f * np.linalg.solve(K, f)) / 2

    start = np.zeros(3 * N + 3 * intercept)
    best = minimize(objective, start, method="BFGS", options={"gtol": 1e-6})
    p = softmax(scores(best.x), axis=1)
    W = np.zeros((N, 3, N, 3))
    for i in range(N):
        W[i, :, i] = w[i] * (np.diag(p[i]) - np.outer(p[i], p[i]))
    prior = np.kron(K, np.eye(3))
    logdet = np.linalg.slogdet(np.eye(3 * N) + prior @ W.reshape(3 * N, 3 * N))[1]
    found = Labels(True, intercept).evidence(K, np.column_stack([codes, w, w]))
    assert found.value == pytest.approx(best.fun + logdet / 2, abs=1e-4)


def test_evidence_of_separable_classes_is_bounded():
    x = np.linspace(-1, 1, 30)
    K = np.exp(-(np.subtract.outer(x, x) ** 2) / 2)
    Y = np.column_stack([x > 0, np.ones(30), np.ones(30)])
    values = [Labels(False, True).evidence(K / alpha, Y).value for alpha in np.logspace(-8, 2, 11)]
    assert min(values) > 0
    assert np.argmin(values) not in (0, 10)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_scores_left_out_are_those_of_the_fitted_model(data, model):
    """In a criterion by a Hessian in full, in a model by the shortest way."""
    from mercer import Precomputed, losses
    from mercer.solvers.representer import solve_representer

    K, codes, w = data
    y, loss = codes, losses.Multinomial()
    if not model.several:
        y, loss = np.where(codes > 0, 1.0, -1.0), losses.Logistic()
    gram = Precomputed().gram(K)
    found = solve_representer(gram, y, loss, 1.0, w, intercept=model.intercept, tol=1e-10)
    args = gram, found.coef, found.intercept, y, loss, 1.0, w
    F = leave_one_out(*args, intercept=model.intercept)
    values = loss.value(y if model.several else y[:, None], F).reshape(-1)
    value = model.leave_one_out(K, labelled(model, codes, w, w)).value
    assert value == pytest.approx(np.average(values, weights=w), rel=1e-7)


def test_validation_by_hand(data):
    from mercer import KernelLogisticRegression

    K, codes, w = data
    train, held = split(w)
    used = np.flatnonzero(train)
    model = KernelLogisticRegression(1.0, kernel="precomputed", tol=1e-10)
    model.fit(K[np.ix_(used, used)], codes[used], train[used])
    logs = model.predict_log_proba(K[15:][:, used])[np.arange(10), codes[15:]]
    found = Labels(True, True).validation(K, np.column_stack([codes, train, held]))
    assert found.value == pytest.approx(-np.average(logs, weights=held[15:]), rel=1e-6)


def test_classes_that_a_part_of_the_data_lacks_are_left_out(data):
    K, codes, w = data
    some = np.flatnonzero(codes != 1)
    two = np.column_stack([codes, w, w])[some]
    value = Labels(True, True).evidence(K[np.ix_(some, some)], two).value
    two[:, 0] = two[:, 0] > 0
    assert Labels(True, True).evidence(K[np.ix_(some, some)], two).value == pytest.approx(value)
