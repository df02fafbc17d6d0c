"""Penalties of the norm: conjugates against brute force."""

from dataclasses import dataclass

import numpy as np
import pytest

from mercer.losses import NormBall, NormPower, Penalty


@dataclass(eq=False, repr=False)
class Cosh(Penalty):
    """One of a user: value only."""

    def value(self, t):
        return float(np.cosh(t))


@pytest.mark.parametrize("penalty", [NormPower(1.5), NormPower(2), NormPower(4), Cosh()])
@pytest.mark.parametrize("t", [0.1, 1.0, 3.0])
def test_slopes_and_conjugates(penalty, t):
    h = 1e-5
    slope = (penalty.value(t + h) - penalty.value(t - h)) / (2 * h)
    assert penalty.slope(t) == pytest.approx(slope, rel=1e-5)
    u = np.linspace(0, 2 * t + 1, 200001)
    brute = np.max(slope * u - np.array([penalty.value(x) for x in u]))
    assert penalty.conjugate(slope, t) == pytest.approx(brute, abs=1e-5 * (1 + abs(brute)))


def test_the_norm_and_the_ball():
    assert NormPower(1.0).conjugate(0.9, 1.0) == 0
    assert np.isinf(NormPower(1.0).conjugate(1.1, 1.0))
    assert NormBall(2.0).conjugate(3.0, 1.0) == 6
    with pytest.raises(ValueError, match=">= 1"):
        NormPower(0.5)
    with pytest.raises(ValueError, match="radius"):
        NormBall(-1.0)
