"""Lancaster's interaction: its definition over measures, permutations, what it does not see."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import Gaussian, Linear, Plan, dhsic, interaction_test, lancaster


def test_is_the_norm_of_the_signed_measure(rng):
    """Embeddings of all five parts, as sums over observations and combinations of them."""
    n = 7
    data = [rng.normal(size=n) for _ in range(3)]
    K, L, M = (Gaussian(1.0)(v[:, None]) for v in data)
    i, j, k = np.meshgrid(*[np.arange(n)] * 3, indexing="ij")
    weights = 2 / n**3 * np.ones((n, n, n))  # of the atoms (x_i, y_j, z_k)
    weights[(i == j) & (j == k)] += 1 / n
    for a, b in ((i, j), (i, k), (j, k)):
        weights[a == b] -= 1 / n**2
    w = weights.ravel()
    joint = np.kron(np.kron(K, L), M)
    assert lancaster(*data, kernels=Gaussian(1.0)) == pytest.approx(w @ joint @ w, rel=1e-9)


def test_sees_what_pairs_do_not(rng):
    x, y = rng.normal(size=(2, 150))
    z = np.sign(x * y) * rng.exponential(size=150)
    found = interaction_test(x, y, z, n_permutations=199, rng=0)
    assert found.pvalue <= 0.01
    assert np.all(found.details["pvalues"] <= 0.01)
    apart = interaction_test(x, x + 0.3 * y, rng.normal(size=150), n_permutations=199, rng=0)
    assert apart.pvalue > 0.05
    assert found.pvalue == interaction_test(x, y, z, n_permutations=199, rng=0).pvalue


def test_units_constants_and_errors(rng):
    x, y, z = rng.normal(size=(3, 60))
    one = interaction_test(x, y, z, n_permutations=59, rng=0)
    other = interaction_test(1e7 + x, 1e-6 * y, 1e8 * z, n_permutations=59, rng=0)
    assert one.pvalue == other.pvalue
    assert interaction_test(np.ones(20), y[:20], z[:20], rng=0).pvalue == 1.0
    assert dhsic(x, y, np.ones(60)) >= 0
    assert lancaster(x, y, np.ones(60)) == pytest.approx(0, abs=1e-15)
    with pytest.raises(ValueError, match="finite"):
        lancaster(1e200 * x, y, z, kernels=[Gaussian(1e-200), None, Linear()]) + lancaster(
            x, y, 1e300 * z, kernels=[None, None, Linear()]
        )
    with pytest.raises(ValueError, match="at least 4"):
        interaction_test(x[:3], y[:3], z[:3])
    with pytest.raises(ValueError, match="n_permutations"):
        interaction_test(x, y, z, n_permutations=0)
    dense = lancaster(x, y, z, plan=Plan(storage="dense"))
    assert dense == pytest.approx(lancaster(x, y, z))


@pytest.mark.parametrize("unit", [1e-20, 1e15])
def test_unbounded_kernels_of_any_unit(rng, unit):
    x, y, e = rng.normal(size=(3, 60))
    z = x * y + 0.3 * e
    plain, scaled = (
        interaction_test(u * x, u * y, u * z, kernels=Linear(), n_permutations=99, rng=0)
        for u in (1.0, unit)
    )
    assert scaled.details["pvalues"].tolist() == plain.details["pvalues"].tolist()
    assert plain.pvalue == 0.01
    assert_allclose(scaled.statistic, plain.statistic * unit**6, rtol=1e-5)
    assert_allclose(plain.statistic, lancaster(x, y, z, kernels=Linear()), rtol=1e-5)
