"""Distances on a device, against those of NumPy."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mercer import Gaussian, Laplacian, RationalQuadratic
from mercer.kernels.formula import INNER, SQUARED, TAXICAB

torch = pytest.importorskip("torch")
from mercer.gram.device import distances as module  # noqa: E402
from mercer.gram.device.distances import Distances, from_differences  # noqa: E402
from mercer.gram.device.points import Points  # noqa: E402
from mercer.gram.device.tiles import DeviceTiles, ManyTiles  # noqa: E402

DEVICE = "torch-cpu"
ALL = slice(0, 30), slice(0, 20)
OF = {
    SQUARED: lambda X, Y: cdist(X, Y, "sqeuclidean"),
    TAXICAB: lambda X, Y: cdist(X, Y, "cityblock"),
    INNER: lambda X, Y: X @ Y.T,
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", OF)
@pytest.mark.parametrize("d", [0, 3, 40])
def test_tiles_are_those_of_numpy(metric, dtype, d, rng):
    X, Y = (rng.standard_normal((n, d)).astype(dtype) for n in (30, 20))
    for points in (lambda Z: Z, lambda Z: Points(torch.tensor(Z))):
        found = Distances(metric, points(X), points(Y), DEVICE, dtype, weight=-0.7)
        expected = -0.7 * OF[metric](X.astype(float), Y.astype(float))
        near = 1e-5 if dtype == np.float32 else 1e-12
        np.testing.assert_allclose(found(*ALL), expected, atol=near * max(d, 1))
        at = torch.tensor([3, 3, 29])
        np.testing.assert_allclose(found(at, slice(4, 9)), expected[at, 4:9], atol=near * max(d, 1))


@pytest.mark.parametrize("far", [0, 27], ids=["few", "nearly all"])
@pytest.mark.parametrize("kinked", [False, True])
def test_what_a_product_cancels_is_taken_from_differences(far, kinked, rng):
    X = rng.standard_normal((30, 3))
    X[far:] += 1e5 * (far > 0)
    X[:2] += 1e6
    X = X.astype(np.float32)
    found = Distances(SQUARED, X, X[:20], DEVICE, np.float32, kinked=kinked)
    assert found.in_doubt
    exact = cdist(X.astype(float), X[:20].astype(float), "sqeuclidean")
    tiles = found(*ALL).numpy()
    np.testing.assert_allclose(np.exp(-tiles), np.exp(-exact), atol=1e-4)
    np.testing.assert_allclose(tiles[:2, :2], exact[:2, :2], rtol=1e-6)
    if kinked:
        np.testing.assert_array_equal(np.diag(tiles), np.zeros(20))


def test_what_single_precision_does_not_hold_is_finite():
    X = np.array([[1e30], [2e30], [0.0]])
    tile = Distances(SQUARED, X, X, DEVICE, np.float32)(slice(0, 3), slice(0, 3))
    assert bool(torch.isfinite(tile).all())
    assert float(tile[0, 1]) > 1e30


@pytest.mark.parametrize("metric", [SQUARED, TAXICAB])
def test_differences_column_by_column_or_by_torch(metric, rng, monkeypatch):
    X, Y = (torch.tensor(rng.standard_normal((n, 5))) for n in (6, 4))
    found = from_differences(metric, X, Y)
    monkeypatch.setattr(module, "_FEW", 0)
    np.testing.assert_allclose(found, from_differences(metric, X, Y), rtol=1e-13)


def test_an_atom_with_a_kink_is_exact_beside_a_smooth_one(rng):
    """They share distances, which the first of them does not need to be exact."""
    X = (1e4 + rng.standard_normal((30, 2)) / 100).astype(np.float32)
    X[:15] -= 2e4
    kernel = RationalQuadratic(1.0, alpha=0.5) + Laplacian(1.0, p=2)
    formula = kernel.formula(kernel.prepare(X)).shared({})
    assert len({id(atom.points) for atom in formula.atoms()}) == 1
    tile = DeviceTiles(formula, formula, DEVICE, np.float32)(slice(0, 30), slice(0, 30))
    np.testing.assert_allclose(tile, kernel(X.astype(float)), atol=2e-4)


def test_several_kernels_at_once(rng):
    X, known = rng.standard_normal((30, 2)), {}
    kernels = [Gaussian(1.0), Gaussian(0.5) + 2.0, 3 * RationalQuadratic(1.0) * Gaussian(2.0)]
    formulas = [kernel.formula(kernel.prepare(X)).shared(known) for kernel in kernels]
    tiles = ManyTiles(formulas, [f.take(slice(0, 20)) for f in formulas], DEVICE, np.float64)
    for kernel, tile in zip(kernels, tiles.each(*ALL), strict=True):
        np.testing.assert_allclose(tile, kernel(X, X[:20]), rtol=1e-12)
