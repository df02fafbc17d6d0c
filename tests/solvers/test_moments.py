import numpy as np
import pytest
import scipy.sparse as sp

from mercer.solvers import moments
from mercer.solvers.moments import Moments


@pytest.mark.parametrize("weighted", [False, True])
def test_batches_add_up(rng, weighted, monkeypatch):
    monkeypatch.setattr(moments, "_STRIP", 7)
    phi = rng.standard_normal((50, 4)) + 100
    w = rng.integers(0, 3, 50).astype(float) if weighted else None
    seen = Moments.empty(4)
    for rows in (slice(0, 1), slice(1, 30), slice(30, 50)):
        seen.update(phi[rows], None if w is None else w[rows])
    v = np.ones(50) if w is None else w
    mean = v @ phi / v.sum()
    np.testing.assert_allclose(seen.mean, mean, rtol=1e-14)
    np.testing.assert_allclose(
        seen.scatter, (phi - mean).T @ (v[:, None] * (phi - mean)), atol=1e-9
    )
    assert seen.mass == v.sum()
    sparse = Moments.empty(4).update(sp.csr_matrix(phi), w)
    np.testing.assert_allclose(sparse.scatter, seen.scatter, atol=1e-9)
    values, axes = seen.axes(2)
    np.testing.assert_allclose(seen.scatter @ axes, axes * values, atol=1e-9)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(seen.scatter)[::-1][:2])
    assert len(seen.axes()[0]) == 4


def test_samples_of_weight_zero_change_nothing(rng):
    phi = rng.standard_normal((5, 2))
    seen = Moments.empty(2).update(phi, np.zeros(5))
    assert seen.mass == 0
    assert not seen.scatter.any()
