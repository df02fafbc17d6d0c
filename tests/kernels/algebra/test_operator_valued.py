import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from mercer import Gaussian, Linear, Plan, Spectrum
from mercer.kernels.algebra.operator_valued import OperatorSum, Separable, Transformable


@pytest.fixture
def B(rng):
    A = rng.standard_normal((3, 3))
    return A @ A.T


def maps():
    return [np.positive, np.negative, np.tanh]


def kernels(B):
    separable = Separable(Gaussian(1.5), B)
    return [
        separable,
        separable + Separable(Linear(), np.eye(3)),
        Transformable(Gaussian(), maps()),
        separable + Transformable(Gaussian(), maps()) + Separable(Linear(), np.ones((3, 3))),
    ]


def brute_force(kernel, x, y):
    """The T x T matrix K(x, y) of two samples, from the definitions."""
    x, y = x[None, :], y[None, :]
    if isinstance(kernel, OperatorSum):
        return brute_force(kernel.left, x[0], y[0]) + brute_force(kernel.right, x[0], y[0])
    if isinstance(kernel, Separable):
        return kernel.kernel(x, y)[0, 0] * np.asarray(kernel.B)
    return np.array([[kernel.kernel(S(x), T(y))[0, 0] for T in kernel.maps] for S in kernel.maps])


@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("storage", ["dense", "tiled"])
def test_operators_are_the_matrix_of_the_definition(rng, B, which, storage):
    kernel = kernels(B)[which]
    X, Z = rng.standard_normal((7, 2)), rng.standard_normal((4, 2))
    gram = kernel.gram(X, Plan(storage=storage))
    cross = gram.cross(Z)
    K = np.block([[brute_force(kernel, x, y) for y in X] for x in X])
    K_new = np.block([[brute_force(kernel, z, x) for x in X] for z in Z])
    np.testing.assert_allclose(gram.to_dense(), K, atol=1e-12)
    np.testing.assert_allclose(cross.to_dense(), K_new, atol=1e-12)
    C = rng.standard_normal((7, 3))
    np.testing.assert_allclose((gram @ C).ravel(), K @ C.ravel(), atol=1e-10)
    np.testing.assert_allclose((cross @ C).ravel(), K_new @ C.ravel(), atol=1e-10)
    np.testing.assert_allclose(gram.diag().ravel(), np.diag(K), atol=1e-12)
    assert gram.shape == (7, 7)
    assert cross.shape == (4, 7)
    assert np.linalg.eigvalsh(K)[0] > -1e-10


def test_sums(B):
    total = sum([Separable(Gaussian(), B), Separable(Linear(), B)])
    assert total == Separable(Gaussian(), B) + Separable(Linear(), B)
    assert total.n_outputs == 3
    with pytest.raises(TypeError):
        total + Gaussian()


def test_parameters_reach_the_parts(B):
    kernel = clone(Separable(Gaussian(), B) + Separable(Gaussian(), B), safe=False)
    kernel.set_params(left__kernel__lengthscale=3.0)
    assert kernel.left.kernel == Gaussian(3.0)
    assert kernel.right.kernel == Gaussian()


def test_rules_are_resolved_on_what_the_kernel_sees(rng):
    X = rng.standard_normal((20, 2))
    found = Transformable(Gaussian("median"), [np.positive, lambda X: 5 * X]).resolve(X)
    expected = Gaussian("median").resolve(np.concatenate([X, 5 * X]))
    assert found.kernel == expected
    both = (Separable(Gaussian("median"), [[1.0]]) + Separable(Linear(), [[1.0]])).resolve(X)
    assert both.left.kernel == Gaussian("median").resolve(X)


def test_strings_and_tables():
    texts = ["abab", "abba", "ccab"]
    gram = Separable(Spectrum(2), [[2.0]]).gram(texts)
    np.testing.assert_allclose(gram.to_dense(), 2 * Spectrum(2)(texts))
    table = pd.DataFrame({"first": texts, "second": texts[::-1]})
    kernel = Transformable(Spectrum(2), [lambda t: list(t["first"]), lambda t: list(t["second"])])
    D = kernel.gram(table).to_dense()
    assert D[0, 1] == Spectrum(2)(["abab"], ["ccab"])[0, 0]


class TestBadInput:
    @pytest.mark.parametrize(
        ("matrix", "message"),
        [
            ([[1.0, 2.0], [2.0, 1.0]], "smallest eigenvalue is -1"),
            ([[1.0, 0.5], [0.2, 1.0]], "not symmetric"),
            ([[1.0, 2.0, 3.0]], "positive semi-definite matrix"),
            ([[np.nan]], "finite"),
            ("B", "positive semi-definite matrix"),
            ([[1.0], [2.0, 3.0]], "positive semi-definite matrix"),
            ([[1.0, 1j], [-1j, 1.0]], "it is complex"),
            (np.zeros((0, 0)), "positive semi-definite matrix"),
        ],
    )
    def test_matrix(self, matrix, message):
        with pytest.raises(ValueError, match=message):
            Separable(Gaussian(), matrix)

    def test_parts(self, B):
        with pytest.raises(ValueError, match="kernel must be a kernel"):
            Separable("rbf", B)
        with pytest.raises(ValueError, match="maps must be a list of functions"):
            Transformable(Gaussian(), [])
        with pytest.raises(ValueError, match="same number of outputs, got 3 and 1"):
            Separable(Gaussian(), B) + Separable(Gaussian(), [[1.0]])

    def test_shapes(self, rng, B):
        X = rng.standard_normal((5, 2))
        with pytest.raises(ValueError, match="one row per sample"):
            Separable(Gaussian(), B).gram(X) @ np.ones(5)
        with pytest.raises(ValueError, match=r"maps\[1\] must return one value per sample"):
            Transformable(Gaussian(), [np.positive, lambda X: X[:2]]).gram(X)
