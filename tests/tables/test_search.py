"""Effort from budgets, folds that are even, blends that are no worse than the best."""

import numpy as np
import pytest

from mercer import KernelRidge, Linear
from mercer.tables import search
from mercer.tables.encoding import Encoded
from mercer.tables.search import Effort, choose, folds_of


def test_effort_grows_with_the_budget():
    small, large = (Effort.of(20_000, 20, 1, b) for b in (10, 300))
    assert small.rows < large.rows
    assert small.leaf < large.leaf
    assert small.seconds <= 0.35 * 10
    assert Effort.of(200, 5, 1, 60).folds == 3
    assert Effort.of(1_000_000, 50, 1, 120).leaf >= 500
    tight = Effort.of(20_000, 20, 1, 300, memory=1e7)
    assert tight.leaf <= 650
    assert tight.rows <= 400
    wide = Effort.of(1000, 5000, 1, 60)
    assert all(p.diagonal for p in wide.profiles)


def test_final_models_fit_the_budget():
    """Of many rows only some are used, and of many coordinates no sums of differences are taken."""
    assert Effort.of(50_000, 20, 1, 1).most == 50_000
    assert Effort.of(1_000_000, 20, 1, 3600).most > 1_000_000
    short, long = (Effort.of(1_000_000, 20, 1, b).most for b in (30, 120))
    assert 100_000 < short < 0.3 * long < 300_000
    assert Effort.of(1_000_000, 60, 1, 600, memory=4e8).most < 110_000
    wide, narrow = Effort.of(4000, 5000, 1, 60), Effort.of(4000, 50, 1, 60)
    assert not any(p.kind == "l1" for p in wide.profiles)
    assert any(p.kind == "l1" for p in narrow.profiles)
    assert wide.metric_rows == wide.rows
    assert wide.leaf >= 4000  # products of matrices are quick


@pytest.mark.parametrize("n", [60, 400, 50_000])
def test_folds(n):
    groups = np.repeat([0, 1], [n - n // 10, n // 10])
    effort = Effort.of(n, 3, 1, 20)
    folds = folds_of(groups, effort, 0)
    for train, new in folds:
        assert not set(train) & set(new)
        assert abs(groups[new].mean() - 0.1) < 0.06
        assert abs(groups[train].mean() - 0.1) < 0.06
    if effort.folds == 3:
        assert sorted(np.concatenate([new for _, new in folds])) == list(range(n))
    else:
        assert len(folds[0][0]) == pytest.approx(effort.rows, abs=2)
    again = folds_of(groups, effort, 0)
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(folds, again, strict=True))


def problem(rng, n=240):
    Z = rng.normal(size=(n, 4))
    y = np.sign(Z[:, 0]) * Z[:, 1] + 0.1 * rng.normal(size=n)
    return Encoded(Z, list("abcd"), list("abcd"), {}), ((y - y.mean()) / y.std())[:, None]


def test_choice(rng):
    X, Y = problem(rng)
    effort = Effort.of(len(Y), 4, 1, 20)
    found = choose(X, Y, np.ones(len(Y)), effort, groups=Y[:, 0])
    assert 1 <= len(found.members) <= 3
    best = found.searched["errors"].min()
    assert found.error <= best
    assert np.mean((found.values - Y[found.rows]) ** 2) == pytest.approx(found.error)
    assert found.error < 0.3 < found.linear[0]
    assert not found.stopped
    assert np.all(found.spreads > 0)


def test_weights_are_repetitions(rng):
    """In blends and errors; folds are the same, as rows of weight 0 are not there at all."""
    X, Y = problem(rng, 90)
    effort = Effort.of(90, 4, 1, 5)
    one = choose(X, Y, np.ones(90), effort, groups=Y[:, 0])
    two = choose(
        X, Y, np.full(90, 2.0), effort, groups=Y[:, 0], alphas=[2 * a for a in search.ALPHAS]
    )
    assert one.error == pytest.approx(two.error, rel=0.01)  # where optimisers stop differs


def test_a_clock_stops_the_search(rng, monkeypatch):
    X, Y = problem(rng)
    effort = Effort.of(len(Y), 4, 1, 20)
    effort.patience = -1.0
    found = choose(X, Y, np.ones(len(Y)), effort, groups=Y[:, 0])
    assert found.stopped
    assert len(found.searched["kernels"]) == 1


def test_errors_of_the_search_are_those_of_folds(rng):
    X, Y = problem(rng, 90)
    effort = Effort.of(90, 4, 1, 5)
    w, alphas = rng.uniform(0.5, 1.5, 90), (0.1, 1.0, 10.0)
    found = choose(X, Y, w, effort, groups=Y[:, 0], alphas=alphas).searched
    assert found["alphas"] == list(alphas)
    assert found["errors"].shape == (len(effort.profiles), 3)
    assert found["kernels"][:3] == ["l1, scale 0.4", "l1, scale 1", "l1, scale 3"]
    line = found["errors"][found["kernels"].index("linear")]
    for alpha, error in zip(alphas, line, strict=True):
        total = 0.0
        for train, new in folds_of(Y[:, 0], effort, 0):
            machine = KernelRidge(alpha, kernel=Linear() + 1.0, solver="cholesky")
            machine.fit(X.Z[train], Y[train, 0], w[train])
            total += w[new] @ (machine.predict(X.Z[new]) - Y[new, 0]) ** 2
        assert error == pytest.approx(total / w.sum(), rel=1e-6)


def test_the_chosen_settings_are_the_best_of_their_kind(rng):
    X, Y = problem(rng, 90)
    choice = choose(X, Y, np.ones(90), Effort.of(90, 4, 1, 5), groups=Y[:, 0])
    errors, chosen = choice.searched["errors"], choice.searched["chosen"]
    assert [choice.searched["alphas"][j] for _, j in chosen] == [m.alpha for m in choice.members]
    assert all(errors[i].argmin() == j for i, j in chosen)
    assert errors.argmin() in [np.ravel_multi_index(place, errors.shape) for place in chosen]
    assert choice.error <= errors.min()
