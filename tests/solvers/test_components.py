import numpy as np
import pytest
import scipy.linalg as sla

from mercer import Gaussian, Linear, Plan, Precomputed, Spectrum
from mercer.gram.stored import DenseGram
from mercer.solvers.components import METHODS, Scatter, choose, principal


def centred(K, w):
    """A, written out."""
    n = len(K)
    p = w / w.sum()
    H = np.eye(n) - np.outer(np.ones(n), p)
    root = np.diag(np.sqrt(w))
    return root @ H @ K @ H.T @ root


@pytest.fixture
def X(rng):
    centres = 2 * rng.standard_normal((6, 3))
    return centres[rng.integers(6, size=600)] + 0.4 * rng.standard_normal((600, 3))


@pytest.fixture(params=[False, True], ids=["plain", "weighted"])
def weights(request, rng):
    w = rng.uniform(0, 2, 600)
    w[:5] = 0
    return w if request.param else None


@pytest.mark.filterwarnings("ignore::mercer.exceptions.DenseWarning")
@pytest.mark.parametrize("storage", ["dense", "tiled"])
def test_scatter_is_the_centred_matrix(X, weights, storage, rng):
    kernel = Gaussian()
    w = np.ones(600) if weights is None else weights
    A = centred(kernel(X), w)
    scatter = Scatter(kernel.gram(X, Plan(storage=storage)), weights)
    V = rng.standard_normal((600, 3))
    for _ in range(2):  # the first product finds the row means, too
        np.testing.assert_allclose(scatter @ V, A @ V, atol=1e-10)
    np.testing.assert_allclose(scatter.row_means, kernel(X) @ w / w.sum(), atol=1e-12)
    assert scatter.trace == pytest.approx(np.trace(A))
    np.testing.assert_allclose(scatter.whole(), A, atol=1e-12)


@pytest.mark.filterwarnings("ignore::mercer.exceptions.DenseWarning")
@pytest.mark.parametrize("storage", ["dense", "tiled"])
@pytest.mark.parametrize("method", ["dense", "krylov", "arpack", "randomized"])
def test_methods_agree_with_a_dense_decomposition(X, weights, method, storage, rng):
    kernel = Gaussian()
    w = np.ones(600) if weights is None else weights
    A = centred(kernel(X), w)
    s, U = sla.eigh(A)
    s, U = s[::-1], U[:, ::-1]
    gram = kernel.gram(X, Plan(storage=storage))
    found = principal(gram, 5, weights, method=method, rng=rng)
    rough = method == "randomized"
    np.testing.assert_allclose(found.values, s[:5], rtol=1e-3 if rough else 1e-11)
    assert sla.subspace_angles(found.coef, U[:, :5]).max() < (0.05 if rough else 1e-8)
    np.testing.assert_allclose(found.coef.T @ found.coef, np.eye(5), atol=1e-10)
    residual = np.linalg.norm(A @ found.coef - found.coef * found.values, axis=0).max() / s[0]
    assert residual <= max(found.stats["residual"] * 1.01, 1e-13)
    assert found.stats["method"] == method
    assert found.trace == pytest.approx(np.trace(A))
    np.testing.assert_allclose(found.row_means, kernel(X) @ w / w.sum(), atol=1e-12)


def test_features(X, weights):
    w = np.ones(600) if weights is None else weights
    A = centred(X @ X.T, w)
    found = principal(Linear().gram(X), 3, weights)
    assert found.stats["method"] == "features"
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(A)[::-1][:3], rtol=1e-10)
    np.testing.assert_allclose(A @ found.coef, found.coef * found.values, atol=1e-9)


def test_sparse_features_of_strings(rng):
    words = ["".join(rng.choice(list("abc"), 12)) for _ in range(400)]
    K = Spectrum(3).gram(words)
    s = np.linalg.eigvalsh(centred(Spectrum(3)(words), np.ones(400)))[::-1]
    for method in ("features", "krylov", "dense"):
        found = principal(K, 4, method=method)
        np.testing.assert_allclose(found.values, s[:4], rtol=1e-9)


def test_choice(X):
    X = np.concatenate([X, X + 1])
    stored = Gaussian().gram(X, Plan(storage="dense"))
    assert choose(stored, 5) == "krylov"
    assert choose(stored, 300) == "dense"
    assert choose(Gaussian().gram(X[:50]), 5) == "dense"
    assert choose(Linear().gram(X), 2) == "features"
    assert choose(Gaussian().gram(X, Plan(storage="tiled")), 300) == "krylov"
    assert set(METHODS) > {"auto", "dense", "krylov"}


def test_nothing_of_K_is_kept(X):
    gram = Gaussian().gram(X, Plan(storage="dense"))
    assert isinstance(gram, DenseGram)
    for method in ("krylov", "dense"):
        principal(gram, 3, method=method)
        assert "array" not in vars(gram)


def test_all_eigenvalues(X):
    A = centred(Gaussian()(X[:80]), np.ones(80))
    found = principal(Gaussian().gram(X[:80]))
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(A)[::-1], atol=1e-12)
    few = principal(Gaussian().gram(X[:80]), 40, method="krylov")  # no room: decomposed
    assert few.stats["method"] == "dense"


def test_low_rank_and_precomputed_matrices(rng):
    """Fewer eigenvalues than asked for: the rest is zero."""
    phi = rng.standard_normal((500, 3))
    found = principal(Precomputed().gram(phi @ phi.T), 6, method="krylov")
    assert found.converged
    assert np.all(np.abs(found.values[3:]) < 1e-10 * found.values[0])
    for method in ("krylov", "randomized", "dense"):
        nothing = principal(Precomputed().gram(np.zeros((50, 50))), 6, method=method)
        assert not nothing.values.any()


@pytest.mark.parametrize("method", ["krylov", "randomized"])
def test_single_precision_stops_where_products_do(X, method):
    exact = principal(Gaussian().gram(X), 5, method="dense").values
    found = principal(Gaussian().gram(X.astype(np.float32)), 5, method=method)
    assert found.converged
    np.testing.assert_allclose(found.values, exact, rtol=1e-3 if method == "randomized" else 1e-5)


def test_randomized_for_a_number_of_passes(X):
    errors = []
    exact = principal(Gaussian().gram(X), 5, method="dense").values
    for passes in (1, 3):
        found = principal(Gaussian().gram(X), 5, method="randomized", passes=passes)
        assert found.n_iter == passes
        errors.append(np.abs(found.values / exact - 1).max())
    assert errors[1] < errors[0] < 0.1
