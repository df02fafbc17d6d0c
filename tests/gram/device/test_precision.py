"""In how many digits: what a plan, a solver and the samples say, and the error of each."""

import numpy as np
import pytest

from mercer import Gaussian, KernelRidge, Plan
from mercer.chunks import ArrayChunks
from mercer.gram import DeviceGram
from mercer.gram.device.precision import is_single
from mercer.gram.streamed import Centres, StreamedGram

pytest.importorskip("torch")
DEVICE = "torch-cpu"
ERRORS = {"fp64": 1e-13, "fp32": 2e-6, "tf32": 2e-3}  # of sum_j |k_ij v_j|


@pytest.mark.parametrize(
    ("precision", "samples", "asked", "single"),
    [
        (None, np.float32, None, True),
        (None, np.float64, None, False),
        (None, np.float64, np.float32, True),
        (None, np.float32, np.float64, False),
        ("fp64", np.float32, np.float32, False),
        ("fp32", np.float64, np.float64, True),
        ("tf32", np.float64, None, True),
    ],
)
def test_who_decides(precision, samples, asked, single):
    X = np.zeros((2, 1), samples)
    assert is_single(precision, X, X, asked) == single
    assert not is_single(None, X, [[0.0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("precision", ERRORS)
def test_errors(precision, dtype, route, rng):
    X = rng.standard_normal((90, 9)).astype(dtype)
    kernel, v, plan = (
        Gaussian(3.0),
        rng.standard_normal((90, 1)),
        Plan(device=DEVICE, precision=precision),
    )
    K = kernel(X.astype(float))
    bound = ERRORS[precision] * (K @ np.abs(v)).max()
    gram = plan.gram(kernel, X)
    assert isinstance(gram, DeviceGram)
    assert gram.precision == precision
    np.testing.assert_allclose(gram @ v, K @ v, rtol=0, atol=bound)
    np.testing.assert_allclose(gram.products(np.float32) @ v, K @ v, rtol=0, atol=bound)
    np.testing.assert_allclose(gram.cross(X[:9]) @ v, K[:9] @ v, rtol=0, atol=bound)
    streamed = StreamedGram(Centres(kernel, X, DEVICE, precision), ArrayChunks(X, rows=40))
    np.testing.assert_allclose(streamed @ v, K @ v, rtol=0, atol=bound)


def test_plans_hand_it_on(rng):
    X = rng.standard_normal((200, 2))
    plan = Plan(device=DEVICE, rank=20, precision="fp32")
    assert plan.gram(Gaussian(), X).columns.precision == "fp32"
    model = KernelRidge(alpha=1e-2, kernel=Gaussian(), plan=plan).fit(X, X[:, 0])
    here = KernelRidge(alpha=1e-2, kernel=Gaussian(), plan=Plan(rank=20)).fit(X, X[:, 0])
    np.testing.assert_allclose(model.predict(X), here.predict(X), atol=1e-3)
    with pytest.raises(ValueError, match="precision must be"):
        Plan(precision="fp16").gram(Gaussian(), X)


@pytest.mark.parametrize(
    "devices", [DEVICE, "torch-cpu,torch-cpu", "torch-cpu, torch-cpu,torch-cpu"]
)
def test_rows_of_products_on_several_devices(devices, route, rng):
    X = rng.standard_normal((100, 3)).astype(np.float32)
    kernel, V = Gaussian(1.5), rng.standard_normal((100, 2))
    K, gram = kernel(X.astype(float)), Plan(device=devices).gram(kernel, X)
    np.testing.assert_allclose(gram @ V, K @ V, atol=1e-5 * (K @ np.abs(V)).max())
    np.testing.assert_allclose(gram.normal(V), K @ (K @ V), atol=1e-5 * (K @ K @ np.abs(V)).max())
    np.testing.assert_allclose(gram.block([3, 1], slice(2)), K[[3, 1], :2], atol=1e-6)
