from itertools import combinations

import numpy as np
import pytest

from mercer import LSSVC, SVC, DilatedConvolution, Linear, load, parse, save
from mercer.exceptions import DomainError, UnresolvedError
from mercer.testing import check_kernel


def convolution(x, weights, step):
    """By the definition: points beyond the ends are 0."""
    T = len(x)
    return [
        sum(w * x[t + j * step] for j, w in zip(range(-4, 5), weights, strict=True)
            if 0 <= t + j * step < T)
        for t in range(T)
    ]  # fmt: skip


def arrangements():
    for places in combinations(range(9), 3):
        yield [2 if j in places else -1 for j in range(9)]


@pytest.fixture
def series(rng):
    """Series of several lengths, also short ones; small integers, so that sums are exact."""
    return [rng.integers(-8, 9, T).astype(float) for T in (60, 1, 35, 80, 7, 41, 60, 22)]


def exact(kernel, X):
    """The same kernel with channels as they are: medians and ranges round."""
    C = np.asarray(X[0]).reshape(len(X[0]), -1).shape[1]
    kernel = kernel.resolve(X)
    kernel.channels = np.stack([np.zeros(C), np.ones(C)])
    return kernel


def test_shares_by_brute_force(series):
    kernel = exact(DilatedConvolution(size=84 * 6, dilations=[1, 2, 2, 5]), series)
    kernel.thresholds = np.round(kernel.thresholds) + 0.5
    kernel.scaling = np.stack([np.zeros(504), np.ones(504)])
    phi, at = kernel.prepare(series), 0
    for number, (step, count) in enumerate([(1, 1), (2, 3), (5, 2)]):
        for k, weights in enumerate(arrangements()):
            for b in kernel.thresholds[at : at + count]:
                for i, x in enumerate(series):
                    out = np.array(convolution(x, weights, step))
                    if (k + number) % 2 and len(x) > 8 * step:
                        out = out[4 * step : len(x) - 4 * step]
                    assert phi[i, at] == np.mean(out > b)
                at += 1
    assert at == 504


def test_what_equals_a_threshold_does_not_exceed_it():
    kernel = exact(DilatedConvolution(size=84, dilations=[1]), [[0.0] * 20])
    kernel.thresholds, kernel.scaling = np.zeros(84), np.stack([np.zeros(84), np.ones(84)])
    assert not kernel.prepare([[0.0] * 20]).any()


def test_default_dilations_span_a_series_of_median_length(rng):
    X = [rng.standard_normal(T) for T in (10, 129, 129, 130, 4000)]
    kernel = DilatedConvolution().resolve(X)
    assert len(kernel.dilations) == 32
    assert kernel.dilations.min() == 1
    assert kernel.dilations.max() == 16  # 8 * 16 = 129 - 1
    assert DilatedConvolution().resolve([[1.0, 2.0], [3.0]]).dilations.tolist() == [1] * 32
    assert len(DilatedConvolution(size=5 * 84).resolve(X).dilations) == 5


def test_groups_of_channels():
    """Between one channel and nine of them, or all."""
    rng = np.random.default_rng(0)
    for channels, most in [(1, 1), (2, 2), (20, 9)]:
        kernel = DilatedConvolution().resolve(rng.standard_normal((3, 90, channels)))
        _, added, order = kernel._plan()
        assert (added.min(), added.max()) == (1, most)
        assert np.array_equal(np.sort(order, axis=1), np.tile(np.arange(channels), (len(order), 1)))


def test_thresholds_are_quantiles_of_a_training_series(rng):
    """With one training series it is known which; levels are multiples of the golden section."""
    x = rng.standard_normal(50)
    kernel = DilatedConvolution(size=84 * 2, dilations=[3]).resolve([x])
    z = (x - kernel.channels[0, 0]) / kernel.channels[1, 0]
    levels = np.arange(1, 169) * (np.sqrt(5) - 1) / 2 % 1
    for k, weights in enumerate(arrangements()):
        out = np.array(convolution(z, weights, 3))
        expected = np.quantile(out[12:-12] if k % 2 else out, levels[2 * k : 2 * k + 2])
        np.testing.assert_allclose(kernel.thresholds[2 * k : 2 * k + 2], expected)


def test_features_are_standardised_on_the_training_data(rng):
    X = rng.standard_normal((30, 70)).cumsum(axis=1)
    kernel = DilatedConvolution(size=2000).resolve(X)
    phi = kernel.prepare(X)
    assert phi.shape == (30, 84 * (2000 // 84))
    np.testing.assert_allclose(phi.mean(axis=0), 0, atol=1e-12)
    spread = phi.std(axis=0)
    np.testing.assert_allclose(spread[spread > 0], spread.max())
    assert np.mean(kernel.diag(phi)) == pytest.approx(1)
    np.testing.assert_allclose(kernel(X), phi @ phi.T, atol=1e-12)


def test_it_is_a_kernel(series):
    kernel = DilatedConvolution(size=840)
    check_kernel(kernel, series)
    check_kernel(kernel, [np.stack([x, x[::-1], x * x], axis=1) for x in series])
    assert kernel.properties.psd
    assert kernel.properties.characteristic.no


def test_features_of_a_subset_are_the_subset_of_features(series):
    kernel = DilatedConvolution(size=840).resolve(series)
    phi = kernel.prepare(series)
    some = [5, 1, 3]
    np.testing.assert_array_equal(kernel.prepare([series[i] for i in some]), phi[some])


def test_same_seed_same_kernel(rng):
    X = rng.standard_normal((6, 40, 5))
    K = DilatedConvolution(size=840, seed=3)(X)
    np.testing.assert_array_equal(DilatedConvolution(size=840, seed=3)(X), K)
    assert np.abs(DilatedConvolution(size=840, seed=4)(X) - K).max() > 1e-3


def test_units_and_a_common_offset_do_not_matter(rng):
    """Of each channel, to rounding: powers of two scale without any."""
    X = rng.integers(-50, 50, (9, 40, 3)).astype(float)
    K = DilatedConvolution(size=840)(X)
    moved = X * np.array([2.0, 2.0**-20, 2.0**30])
    np.testing.assert_array_equal(DilatedConvolution(size=840)(moved), K)
    np.testing.assert_allclose(DilatedConvolution(size=840)(X + 2.0**30), K, atol=1e-12)


def test_one_wild_value_leaves_the_others_as_they_are(rng):
    X = rng.standard_normal((20, 60)).cumsum(axis=1)
    k = DilatedConvolution(size=1680).resolve(X)
    wild = X.copy()
    wild[0, 30] = 1e8
    phi, moved = k.prepare(X), k.prepare(wild)
    np.testing.assert_array_equal(moved[1:], phi[1:])
    assert np.abs(moved[0]).max() < 30
    refitted = DilatedConvolution(size=1680)(wild)
    others = np.corrcoef(refitted[1:, 1:].ravel(), k(X)[1:, 1:].ravel())[0, 1]
    assert others > 0.9


@pytest.mark.parametrize("X", [np.ones((4, 30)), [[1.0], [2.0], [3.0]], np.zeros((3, 12, 2))])
def test_constant_and_single_points(X):
    K = DilatedConvolution(size=168)(X)
    assert np.isfinite(K).all()
    assert np.linalg.eigvalsh(K)[0] > -1e-12


def test_shapes_are_told_apart_wherever_they_are(rng):
    def signal(up):
        T = rng.integers(60, 100)
        at = np.arange(T) - rng.uniform(10, T - 10)
        shape = at * np.exp(-((at / 3) ** 2)) if up else np.exp(-((at / 2) ** 2))
        return shape + 0.2 * rng.normal(size=T)

    y = np.arange(120) % 2
    X = [signal(label) for label in y]
    for model in (SVC(C=10), LSSVC(C=10)):
        model.set_params(kernel=DilatedConvolution(size=2000)).fit(X[:60], y[:60])
        assert model.score(X[60:], y[60:]) > 0.95


def test_in_the_algebra_and_in_files(series, tmp_path):
    kernel = DilatedConvolution(size=168).on(0) + Linear().on(1)
    X = [(x, float(i)) for i, x in enumerate(series)]
    y = np.arange(len(series)) % 2
    model = SVC(kernel=kernel).fit(X, y)
    save(model, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert parse(repr(DilatedConvolution(size=168, seed=2))) == DilatedConvolution(168, seed=2)


def test_errors(series):
    with pytest.raises(UnresolvedError, match="thresholds=None"):
        DilatedConvolution()(series, series[:2])
    with pytest.raises(DomainError, match="NaN or infinity at time 1"):
        DilatedConvolution()([[1.0, np.nan, 2.0]])
    kernel = DilatedConvolution(size=168).resolve(series)
    with pytest.raises(ValueError, match="points with 2 channels"):
        kernel.prepare(np.zeros((3, 8, 2)))
    for options, words in [({"size": 83}, ">= 84"), ({"dilations": [0, 1]}, "integers >= 1")]:
        with pytest.raises(ValueError, match=words):
            DilatedConvolution(**options)
