"""Fused products in the interpreter of Triton; skipped where that, or PyTorch, is not installed."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from mercer import (
    Binomial,
    Constant,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
)
from mercer.gram import DeviceGram
from mercer.gram.device import fused as module
from mercer.gram.device.fused import Fused, why_not
from mercer.gram.device.sides import doubts_of
from mercer.gram.device.triton_ import launch

torch = pytest.importorskip("torch")
DEVICE = "torch-cpu"
KERNELS = [
    Gaussian(0.7),
    Laplacian(1.3),
    Laplacian(1.3, p=1),
    Matern(1.0, nu=0.5),
    Matern(1.0, nu=1.5),
    Matern(1.0, nu=2.5),
    RationalQuadratic(0.8, alpha=2.5),
    Polynomial(degree=3) + 0.5,
    Exponential(0.3),
    (Polynomial(degree=2) + 1).normalize(),
    Binomial(2.0),
    2 * Gaussian(0.5) + Matern(1.0, nu=2.5) * Linear() + 1,
    (Gaussian(0.5) + Linear()) ** 2,
    Gaussian(0.4).on([0]) * Laplacian(1.0).on([0]),
]


def fused(kernel, X, Y, precision="fp32"):
    rows, cols = (kernel.formula(kernel.prepare(Z)) for Z in (X, Y))
    return Fused(rows, cols, DEVICE, precision)


def agrees(found, K, V, error):
    bound = error * (np.abs(K) @ np.abs(V)).max()
    np.testing.assert_allclose(found.numpy(), K @ V, rtol=0, atol=bound)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize(("n", "m", "d", "sides"), [(1, 17, 1, 1), (129, 65, 3, 3)])
def test_products_of_any_shape(kernel, n, m, d, sides, rng, interpreter):
    X, Y = (rng.uniform(-0.5, 0.5, (size, d)) for size in (n, m))
    K, V, U = kernel(X, Y), rng.standard_normal((m, sides)), rng.standard_normal((n, sides))
    product = fused(kernel, X, Y)
    agrees(product(torch.tensor(V)), K, V, 2e-6)
    agrees(product.transposed(torch.tensor(U)), K.T, U, 2e-6)
    agrees(product.normal(torch.tensor(V)), K.T @ K, V, 1e-5)


@pytest.mark.parametrize("d", [9, 28, 90])
@pytest.mark.parametrize("precision", ["fp32", "tf32"])
def test_many_columns_and_right_hand_sides(d, precision, rng, interpreter):
    X, Y = rng.standard_normal((70, d)), rng.standard_normal((130, d))
    for kernel in (Gaussian(np.sqrt(d)), Gaussian(np.linspace(1, 2, d) * d**0.5), Linear()):
        K, V = kernel(X, Y), rng.standard_normal((130, 70))
        agrees(fused(kernel, X, Y, precision)(torch.tensor(V)), K, V, 2e-6)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Matern(1.0, nu=0.5), Matern(1.0)], ids=repr)
def test_near_duplicates_and_outliers(kernel, rng, interpreter):
    X = rng.standard_normal((40, 3))
    X = np.vstack([X, X + 1e-4, X[:5] + 1e3, X[:5] + 1e3 + 1e-2, [[1e8] * 3, [1e8, 1e8, 1e8 + 1]]])
    K, V = kernel(X), rng.standard_normal((len(X), 1))
    found = fused(kernel, X, X)(torch.tensor(V)).numpy()
    np.testing.assert_allclose(found, K @ V, rtol=0, atol=2e-5 * (np.abs(K) @ np.abs(V)).max())


sizes = st.floats(0.4, 2.5).map(lambda v: round(v, 2))
columns = st.sampled_from([[0], [0, 2], [2, 1], slice(1, 3)])
leaves = st.one_of(
    st.builds(Gaussian, sizes),
    st.builds(Laplacian, sizes, st.sampled_from([1, 2])),
    st.builds(Matern, sizes, st.sampled_from([0.5, 1.5, 2.5])),
    st.builds(RationalQuadratic, sizes, sizes),
    st.builds(Polynomial, st.integers(1, 3)),
    st.builds(Exponential, st.floats(0.1, 0.5)),
    st.builds(Linear),
    st.builds(Constant, sizes),
)
kernels = st.recursive(
    leaves | st.builds(Gaussian, st.lists(sizes, min_size=3, max_size=3)),
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(lambda c, k: c * k, sizes, inner),
        st.builds(lambda k, c: k.on(c), leaves, columns),
        st.builds(lambda k: k**2, leaves),
        st.builds(lambda k: (k + 1).normalize(), leaves),
    ),
    max_leaves=4,
)


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(kernels, st.integers(0, 2**32 - 1), st.sampled_from([1, 2]))
def test_random_formulas(interpreter, kernel, seed, sides):
    rng = np.random.default_rng(seed)
    X, Y = rng.uniform(-0.7, 0.7, (35, 3)), rng.uniform(-0.7, 0.7, (20, 3))
    rows, cols = (kernel.formula(kernel.prepare(Z)) for Z in (X, Y))
    assume(why_not(rows, DEVICE, np.float32) is None)
    K, V, U = kernel(X, Y), rng.standard_normal((20, sides)), rng.standard_normal((35, sides))
    product = Fused(rows, cols, DEVICE)  # roots of small distances have fewer digits
    agrees(product(torch.tensor(V)), K, V, 1e-5)
    agrees(product.transposed(torch.tensor(U)), K.T, U, 1e-5)


@pytest.mark.parametrize("kernel", [Gaussian(0.5), 2 * Matern(0.5) + Linear() ** 2], ids=repr)
def test_operators_take_either_route_in_single_precision(kernel, route, rng):
    X = rng.uniform(-1, 1, (90, 2)).astype(np.float32)
    gram, V = DeviceGram(kernel, kernel.prepare(X), device=DEVICE), np.ones(90)
    assert (gram._fused is not None) == (route == "fused")
    K = kernel(X.astype(float))
    np.testing.assert_allclose(gram @ V, K @ V, rtol=1e-5)
    np.testing.assert_allclose(gram.normal(V), K @ (K @ V), rtol=1e-5)
    new = kernel(X[:7].astype(float) / 2, X.astype(float))
    np.testing.assert_allclose(gram.cross(X[:7] / 2) @ V, new @ V, rtol=1e-5)
    words = "in fused products" if route == "fused" else "there are no fused kernels for the CPU"
    assert words in gram.explain()
    assert "double precision" in gram.products(np.float64).explain()


def test_what_is_not_fused_says_why(interpreter):
    X = np.zeros((2, 2), np.float32)
    assert "no formula" in why_not(None, DEVICE, np.float32)
    assert "no fused form" in why_not(Matern(nu=0.7).formula(X), DEVICE, np.float32)
    assert "double" in why_not(Gaussian(1.0).formula(X), DEVICE, np.float64)


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Gaussian(0.7) * Linear()], ids=repr)
def test_many_sides_fill_a_product_of_tensor_cores(kernel, rng, interpreter, monkeypatch):
    widths = []

    def watched(source, grid, *arguments, **options):
        widths.append(options["R"])
        launch(source, grid, *arguments, **options)

    monkeypatch.setattr(module, "launch", watched)
    X, V = rng.uniform(-0.5, 0.5, (40, 2)), rng.standard_normal((40, 71))
    for sides in (1, 2, 7, 66, 71):
        agrees(fused(kernel, X, X)(torch.tensor(V[:, :sides])), kernel(X), V[:, :sides], 2e-6)
    assert {width for width in widths if width < 32} == {1, 2}


@pytest.mark.parametrize("kernel", [Laplacian(1.0), Gaussian(1.0)], ids=repr)
def test_near_samples_in_any_tile_of_a_program(kernel, rng, interpreter):
    X, Y = rng.standard_normal((100, 2)), 8 * rng.standard_normal((16_000, 2))
    Y[1000:1020] = X[:20] + 1e-6 * rng.standard_normal((20, 2))
    if isinstance(kernel, Gaussian):  # samples in doubt are far from the centre
        X[:20], Y[1000:1020] = X[:20] + 1e4, Y[1000:1020] + 1e4
    V = np.where(np.abs(np.arange(16_000) - 1009.5) < 10, 1.0, 1e-6)[:, None]
    product, K = fused(kernel, X, Y), kernel(X, Y)
    agrees(product(torch.tensor(V)), K, V, 2e-6)
    agrees(product.transposed(torch.tensor(V[:100])), K.T, V[:100], 2e-6)


def test_few_tiles_of_kernels_with_a_kink_are_in_doubt(rng, interpreter, monkeypatch):
    found = []

    def watched(*arguments):
        found.append(doubts_of(*arguments))
        return found[-1]

    monkeypatch.setattr(module, "doubts_of", watched)
    X, Y, kernel = rng.standard_normal((3000, 3)), rng.standard_normal((2000, 3)), Laplacian(2.0)
    V = np.ones((2000, 1))
    agrees(fused(kernel, X, Y)(torch.tensor(V)), kernel(X, Y), V, 1e-6)
    low, high = found[0].T
    assert 0 < (high - low).sum() < 0.5 * 16 * len(low)


def test_some_rows_of_samples_that_are_sorted(rng, interpreter):
    X, Y = 30 * rng.standard_normal((300, 3)), 30 * rng.standard_normal((200, 3))
    kernel, V, U = Gaussian(20.0), rng.standard_normal((200, 2)), rng.standard_normal((300, 2))
    product, K = fused(kernel, X, Y), kernel(X, Y)
    assert product._orders[0] is not None
    part = slice(70, 201)
    agrees(product(torch.tensor(V), part), K[part], V, 2e-6)
    agrees(product.transposed(torch.tensor(U[part]), part), K[part].T, U[part], 2e-6)


def test_only_programs_with_samples_in_doubt_are_run_again(rng, interpreter, monkeypatch):
    grids = {}

    def watched(source, grid, *arguments, name, **options):
        grids[name] = grid
        launch(source, grid, *arguments, name=name, **options)

    monkeypatch.setattr(module, "launch", watched)
    X, Y = rng.uniform(-1, 1, (300, 2)), rng.uniform(-1, 1, (20_000, 2))
    X[:20] += 4.5  # so far from the centre that they are in doubt, but only beside each other
    Y[1000:1020] = X[:20] + 1e-3 * rng.standard_normal((20, 2))
    V = np.where(np.abs(np.arange(20_000) - 1009.5) < 10, 1.0, 1e-6)[:, None]
    product, K = fused(Gaussian(1.0), X, Y), Gaussian(1.0)(X, Y)
    assert 280 <= product._sure[0] < 300
    assert 19_980 <= product._sure[1] < 20_000
    agrees(product(torch.tensor(V)), K, V, 2e-6)
    assert grids["mended"][1] == 1 < grids["fused"][1]
    agrees(product(torch.tensor(V), slice(5, 250)), K[5:250], V, 2e-6)
    agrees(product.transposed(torch.tensor(V[:300])), K.T, V[:300], 2e-6)
    assert grids["mended"][0] == 1 < grids["fused"][0]
    grids.clear()
    agrees(fused(Gaussian(1.0), X, Y)(torch.tensor(V), slice(30, 40)), K[30:40], V, 2e-6)
    assert "mended" not in grids
