"""Products of single with double precision, in Triton's interpreter and without it."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from mercer.gram.device.panels import times  # noqa: E402


@pytest.mark.parametrize("columns", [1, 3, 9])
@pytest.mark.parametrize("shape", [(300, 40), (40, 300), (1, 7), (17, 1), (0, 5), (5, 0)])
def test_nothing_is_lost_to_single_precision(shape, columns, route, rng):
    A = torch.from_numpy(rng.standard_normal(shape)).float()
    padded = torch.zeros((shape[0], shape[1] + 5))
    padded[:, : shape[1]] = A
    X = torch.from_numpy(rng.standard_normal((shape[1], columns)))
    expected = A.double().numpy() @ X.numpy()
    for form in (A, padded[:, : shape[1]], A.T.contiguous().T):
        np.testing.assert_allclose(times(form, X).numpy(), expected, atol=1e-13 * max(shape))
