"""Signatures against tensors, Bessel functions and explicit features."""

from datetime import UTC, date, datetime, timedelta, timezone
from math import factorial

import numpy as np
import pandas as pd
import pytest
from scipy.special import i0, j0

from mercer import Gaussian, Linear, Matern, Polynomial, Signature
from mercer.exceptions import DomainError
from mercer.kernels.series import signature, signature_loops


def tensors(path, order, depth):
    """The product of truncated exponentials of the increments, as arrays (Chen's identity)."""
    steps = np.diff(path, axis=0)
    d = steps.shape[1]
    S = [np.ones(())] + [np.zeros((d,) * k) for k in range(1, depth + 1)]
    for u in steps:
        E = [np.ones(())]
        for r in range(1, min(order, depth) + 1):
            E.append(np.multiply.outer(E[-1], u) / r)
        S = [
            sum(np.multiply.outer(S[k - r], E[r]) for r in range(min(k, len(E) - 1) + 1))
            for k in range(depth + 1)
        ]
    return S


def tensor_product(x, y, order, depth):
    pairs = zip(tensors(x, order, depth), tensors(y, order, depth), strict=True)
    return sum(float(np.sum(a * b)) for a, b in pairs)


@pytest.mark.parametrize(("order", "depth"), [(1, 4), (2, 4), (3, 5), (4, 4), (9, 3)])
def test_truncated_signature_against_tensors(rng, order, depth):
    X = [0.4 * rng.normal(size=(n, 2)).cumsum(axis=0) for n in (1, 2, 3, 6, 20)]
    expected = [[tensor_product(x, y, order, depth) for y in X] for x in X]
    np.testing.assert_allclose(Signature(order=order, depth=depth)(X), expected, rtol=1e-13)
    lifted = Signature(Linear(), order=order, depth=depth)
    np.testing.assert_allclose(lifted(X), expected, rtol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_all_levels_are_the_limit_of_many(rng, order):
    X = [0.3 * rng.normal(size=(n, 3)).cumsum(axis=0) for n in (2, 17, 18, 40)]
    many = Signature(order=order, depth=60)(X)
    np.testing.assert_allclose(Signature(order=order)(X), many, rtol=1e-13)


@pytest.mark.parametrize(("scale", "expected"), [(1.0, i0(2.0)), (-1.0, j0(2.0))])
def test_straight_lines(scale, expected):
    """<u, v> = 1 and -1: Bessel functions."""
    assert expected == pytest.approx({1.0: 2.2795853023, -1.0: 0.2238907791}[scale], abs=1e-10)
    x = np.linspace(0, 1, 2)[:, None] * [0.6, 0.8]
    for pieces in (1, 7, 40):
        y = scale * np.linspace(0, 1, pieces + 1)[:, None] * [0.6, 0.8]
        errors = [abs(Signature(order=p)([x], [y])[0, 0] - expected) for p in (1, 2, 4, 12)]
        assert errors[-1] < 1e-14
        assert sorted(errors, reverse=True) == errors


def test_time_does_not_matter_unless_it_is_added(rng):
    x = rng.normal(size=(6, 2)).cumsum(axis=0) / 2
    t = np.sort(np.concatenate([np.arange(6), rng.uniform(0, 5, 30)]))
    finer = np.stack([np.interp(t, np.arange(6), c) for c in x.T], axis=1)
    for kernel in (Signature(order=15), Signature(Linear(), order=15), Signature(order=6, depth=6)):
        K = kernel([x, finer, finer + 7])
        np.testing.assert_allclose(K, K[0, 0], rtol=1e-12)
    K = Signature(order=15, add_time=True)([x, finer])
    assert abs(K[0, 0] - K[0, 1]) > 1e-3


def test_lifted_path_is_the_path_of_features(rng):
    """With the explicit features of a polynomial kernel on the line: 1, sqrt2 x, x^2."""
    X = [0.3 * rng.normal(size=n).cumsum() for n in (4, 9, 21)]
    features = [np.stack([np.sqrt(2) * x, x**2], axis=1) for x in X]
    for order, depth in ((3, None), (2, 4)):
        K = Signature(Polynomial(degree=2, offset=1.0), order=order, depth=depth)(X)
        np.testing.assert_allclose(K, Signature(order=order, depth=depth)(features), rtol=1e-12)


def test_lifted_in_groups(rng, monkeypatch):
    import mercer.kernels.series.signature as signature

    X = [rng.normal(size=(n, 2)) for n in (3, 5, 2, 8, 1, 6)]
    kernel = Signature(Gaussian(1.0))
    whole, cross = kernel(X), kernel(X[:4], X[1:])
    monkeypatch.setattr(signature, "_VALUES", 130)  # two of at most 8 points
    np.testing.assert_allclose(kernel(X), whole, rtol=1e-13)
    np.testing.assert_allclose(kernel(X[:4], X[1:]), cross, rtol=1e-13)
    np.testing.assert_allclose(cross, whole[:4, 1:], rtol=1e-13)


def test_augmented_paths(rng):
    X = [rng.normal(size=(n, 1)) for n in (2, 5, 9)]
    by_hand = []
    for x in X:
        timed = np.hstack([x / 2, np.linspace(0, 1, len(x))[:, None]])
        by_hand.append(np.vstack([np.zeros(2), timed]))
    K = Signature(lengthscale=2.0, add_time=True, basepoint=True)(X)
    np.testing.assert_allclose(K, Signature()(by_hand), rtol=1e-14)
    one = Signature(add_time=True)([[3.0], [3.0, 4.0]])
    assert one[0, 0] == one[0, 1] == 1


@pytest.mark.parametrize("kernel", [Signature(), Signature(Gaussian("median")), Signature(depth=4)])
def test_signature_is_positive_semidefinite_to_rounding(rng, kernel):
    X = rng.normal(size=(200, 35, 3)).cumsum(axis=1) / 15
    K = kernel(X)
    assert np.linalg.eigvalsh(K)[0] > -1e-13 * np.linalg.norm(K, 2)


def test_signature_median_and_overflow(rng):
    X = [rng.normal(size=(n, 2)).cumsum(axis=0) for n in (30, 40, 50)]
    for options in ({}, {"add_time": True}, {"depth": 2}, {"basepoint": True}):
        kernel = Signature(lengthscale="median", **options).resolve(X)
        assert np.median(np.diagonal(kernel(X))) == pytest.approx(10, rel=0.02)
    assert Signature(lengthscale="median").resolve([np.ones(4)]).lengthscale == 1
    loop = Signature(lengthscale="median", depth=1).resolve([[0.0, 1.0, 0.0]])
    assert np.isfinite(loop.lengthscale)
    with pytest.raises(ValueError, match="not lifted by a kernel"):
        Signature(Gaussian(), lengthscale="median")(X)
    with pytest.raises(ValueError, match='set lengthscale="median"'):
        Signature()([1e6 * x for x in X])
    K = Signature(lengthscale="median")([1e6 * x for x in X])
    np.testing.assert_allclose(K, Signature(lengthscale="median")(X), rtol=1e-9)


def test_signature_properties():
    assert Signature(depth=3).properties.finite_dim
    assert Signature().properties.strictly_pd.no
    assert Signature(add_time=True).properties.characteristic.no
    assert Signature(add_time=True, basepoint=True).properties.strictly_pd.unknown
    assert Signature(Matern()).properties.continuous
    assert "truncated" in Signature().explain()


def test_exponents_of_the_reference():
    """The tensors of the tests: a single segment has u^r / r! at level r."""
    S = tensors(np.array([[0.0], [2.0]]), 5, 4)
    np.testing.assert_allclose([float(s.sum()) for s in S], [2**k / factorial(k) for k in range(5)])


class TestTimeStamps:
    @pytest.mark.parametrize("options", [{}, {"basepoint": True}, {"kernel": Gaussian(1.0)}])
    def test_the_clock_follows_the_index(self, rng, options):
        """As if the times, from 0 to 1, had been given as a channel."""
        times = [np.sort(rng.uniform(3, 50, T)) for T in (5, 9, 2)]
        values = [rng.standard_normal((len(t), 2)) for t in times]
        stamped = [pd.DataFrame(v, index=t) for v, t in zip(values, times, strict=True)]
        by_hand = [
            np.column_stack([v, (t - t[0]) / (t[-1] - t[0])])
            for v, t in zip(values, times, strict=True)
        ]
        K = Signature(add_time=True, **options)(stamped)
        np.testing.assert_allclose(K, Signature(**options)(by_hand), rtol=1e-10)
        assert np.abs(K - Signature(add_time=True, **options)(values)).max() > 1e-3

    def test_even_stamps_change_nothing(self, rng):
        values = [rng.standard_normal(6), rng.standard_normal(1), rng.standard_normal(4)]
        days = pd.date_range("2024-01-01", periods=6)
        stamped = [pd.Series(v, index=days[: len(v)]) for v in values]
        mixed = [stamped[0], values[1], values[2]]
        K = Signature(add_time=True)(values)
        np.testing.assert_allclose(Signature(add_time=True)(stamped), K, rtol=1e-12)
        based = Signature(add_time=True, basepoint=True)
        np.testing.assert_allclose(based(stamped), based(values), rtol=1e-12)
        np.testing.assert_allclose(Signature(add_time=True)(mixed), K, rtol=1e-12)
        np.testing.assert_array_equal(Signature()(stamped), Signature()(values))

    @pytest.mark.parametrize(
        "index",
        [
            pd.PeriodIndex(["2024-01", "2024-02", "2025-07"], freq="M"),
            pd.Index([date(2024, 1, 1), date(2024, 2, 1), date(2025, 7, 1)]),
            pd.Index(
                [
                    datetime(2024, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))),
                    datetime(2024, 2, 1, tzinfo=UTC),
                    datetime(2025, 7, 1, tzinfo=UTC),
                ],
                dtype=object,
            ),
        ],
        ids=["periods", "dates", "time zones"],
    )
    def test_stamps_of_any_type(self, index):
        values, even = [1.0, 2.0, 0.0], np.array([0.5, 1.0, -1.0])
        stamps = pd.to_datetime(["2024-01-01", "2024-02-01", "2025-07-01"])
        X = [pd.Series(values, index=index), pd.Series(values, index=stamps), even]
        K = Signature(add_time=True)(X)
        np.testing.assert_allclose(K[0], K[1], rtol=1e-12)
        assert abs(K[0, 2] - Signature(add_time=True)([values, even])[0, 1]) > 1e-3
        missing = pd.Series(values, index=index.where(np.arange(3) != 1))
        with pytest.raises(DomainError, match="sample 0 are missing"):
            Signature(add_time=True)([missing])

    def test_stamps_must_increase(self):
        good = pd.Series([1.0, 2.0], index=[0, 1])
        for index in ([5, 4, 6], [5, 5, 6], np.array([5, 4, 6], dtype="u8")):
            bad = pd.Series([1.0, 2.0, 3.0], index=index)
            with pytest.raises(DomainError, match="sample 1 do not increase"):
                Signature(add_time=True)([good, bad])
        assert np.isfinite(Signature()([good, bad])).all()

    @pytest.mark.parametrize("gap", [0, 1, 2])
    def test_missing_stamps_are_refused(self, gap):
        good = pd.Series([1.0, 2.0], index=[0, 1])
        days = pd.to_datetime(["2024-03-01", "2024-03-02", "2024-03-05"])
        for index in (days, days.tz_localize("UTC"), days - days[0], pd.Index([0.5, 2, 3])):
            index = index.where(np.arange(3) != gap)
            bad = pd.Series([1.0, 2.0, 3.0], index=index)
            with pytest.raises(DomainError, match="sample 1 are missing"):
                Signature(add_time=True)([good, bad])
            assert np.isfinite(Signature()([good, bad])).all()


@pytest.mark.parametrize(
    "kernel",
    [
        Signature(order=2, lengthscale=9.0),
        Signature(Gaussian(2.0)),
        Signature(Gaussian(2.0), depth=2),
    ],
    ids=repr,
)
def test_one_long_pair_is_cut_too(kernel, rng, monkeypatch):
    """So that Ctrl-C is heard; the table is filled by the same operations."""
    P = kernel.prepare([rng.standard_normal((T, 2)) for T in (70, 3, 45, 1)])
    whole = kernel.pairwise(P, P)
    name = "signatures" if kernel.kernel is None else "lifted_signatures"
    calls, compiled = [], getattr(signature_loops, name)

    def watched(*args):
        calls.append(compiled(*args))
        return calls[-1]

    monkeypatch.setattr(signature_loops, name, watched)
    monkeypatch.setattr(signature, "_MOST", 100)
    np.testing.assert_allclose(kernel.pairwise(P, P), whole, rtol=1e-12)
    assert len(calls) > 50
