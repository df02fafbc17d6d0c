"""Weights of the times of series, against the functions of the models they come from."""

import numpy as np
import pandas as pd
import pytest

from mercer import (
    LSSVC,
    SVC,
    DilatedConvolution,
    Gaussian,
    GaussianProcessRegressor,
    GlobalAlignment,
    KernelRidge,
    LagEmbedding,
    kmer_weights,
    position_weights,
)
from mercer.kernels.series.convolution import TRIPLES

LABELS = np.arange(20) % 2


@pytest.fixture(params=[1, 3], ids=["one channel", "three channels"])
def series(request, rng):
    """Series of several lengths, some shorter than nine points; a bump makes class 1."""
    X = [rng.standard_normal((T, request.param)) for T in rng.integers(4, 50, 20)]
    for x in X[1::2]:
        x[len(x) // 2 :][:5] += 3.0
    return X


@pytest.mark.parametrize(
    "kernel",
    [
        DilatedConvolution(size=1000),
        LagEmbedding(Gaussian(2.0), window=3, stride=2),
        2 * DilatedConvolution(size=300).normalize() + LagEmbedding(Gaussian(2.0), window=4),
    ],
    ids=repr,
)
@pytest.mark.parametrize("model", [SVC, LSSVC, KernelRidge, GaussianProcessRegressor])
def test_weights_add_up_to_the_function(model, kernel, series):
    options = {"optimizer": None} if model is GaussianProcessRegressor else {}
    fitted = model(kernel=kernel, **options).fit(series, LABELS)
    weights = position_weights(fitted, series)
    assert [len(each) for each in weights] == [len(x) for x in series]
    sums = [each.sum() for each in weights]
    values = np.ravel(fitted.rkhs_function_(series))
    np.testing.assert_allclose(sums, values, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(position_weights(fitted, series[3]), weights[3])


def test_windows_by_hand(rng):
    X = [rng.standard_normal(T) for T in (9, 6, 12, 7)]
    model = KernelRidge(0.1, kernel=LagEmbedding(Gaussian(1.5), window=4, stride=3))
    f = model.fit(X, [1.0, 0.0, 2.0, -1.0]).rkhs_function_

    def windows(x):
        return [range(s, s + 4) for s in range(0, len(x) - 3, 3)]

    x, by_hand = X[2], np.zeros(12)
    for here in windows(x):
        for y, c in zip(X, f.coef, strict=True):
            for there in windows(y):
                value = np.exp(-np.sum((x[here] - y[there]) ** 2) / (2 * 1.5**2))
                by_hand[here] += c * value / len(windows(x)) / len(windows(y)) / 4
    np.testing.assert_allclose(position_weights(model, x), by_hand)


@pytest.mark.parametrize("size", [30, 12])
def test_convolutions_by_hand(size, rng):
    """One feature of each of the 84 convolutions; every other one stops short of the ends."""
    X = rng.standard_normal((20, size))
    kernel = DilatedConvolution(size=84, dilations=[3])
    f = KernelRidge(0.1, kernel=kernel).fit(X, LABELS).rkhs_function_
    k = f.kernel
    slopes = k.scaling[1] * (k.prepare(f.points).T @ f.coef)
    x, by_hand = X[1], np.zeros(size)
    unit = (x - k.channels[0]) / k.channels[1]
    for number, triple in enumerate(TRIPLES):
        weights = np.where(np.isin(np.arange(9), triple), 2, -1)
        short = number % 2 == 1 and size > 24
        times = range(12, size - 12) if short else range(size)
        for t in times:
            seen = [(j, t + 3 * (j - 4)) for j in range(9) if 0 <= t + 3 * (j - 4) < size]
            above = sum(weights[j] * unit[at] for j, at in seen) > k.thresholds[number]
            gain = slopes[number] * (above - k.scaling[0, number]) / len(times)
            for _, at in seen:
                by_hand[at] += gain / len(seen)
    np.testing.assert_allclose(position_weights(f, x), by_hand, rtol=1e-9, atol=1e-12)


def test_what_happens_at_one_time_is_found(rng):
    X = rng.standard_normal((40, 60))
    X[1::2, 40:46] += np.array([3, -3, 3, -3, 3, -3])
    model = SVC(kernel=DilatedConvolution(size=2000)).fit(X, np.arange(40) % 2)
    mean = np.mean(position_weights(model, X[1::2]), axis=0)
    assert mean[38:48].mean() > 3 * np.delete(mean, np.s_[34:52]).mean()


def test_a_column_of_series(series, rng):
    table = pd.DataFrame({"signal": series, "age": rng.standard_normal(20)})
    kernel = DilatedConvolution(size=300).on("signal") + Gaussian(1.0).on("age")
    model = SVC(kernel=kernel).fit(table, LABELS)
    assert len(position_weights(model, table, column="signal")) == 20
    assert position_weights(model, table.iloc[[2]]).shape == (len(series[2]),)


def test_other_kernels_are_refused(series):
    model = SVC(kernel=DilatedConvolution(size=300)).fit(series, LABELS)
    with pytest.raises(TypeError, match="no k-mers"):
        kmer_weights(model)
    with pytest.raises(TypeError, match="DilatedConvolution, LagEmbedding"):
        position_weights(SVC(kernel=GlobalAlignment(1.0)).fit(series, LABELS), series[0])
