import numpy as np

from mercer.kernels.power import power


def test_powers_by_squaring(rng):
    T = rng.normal(size=(3, 4))
    for p in range(1, 20):
        assert np.allclose(power(T.copy(), p), T**p, rtol=1e-12)
