"""Kernels between nodes against closed forms, the matrix exponential and each other."""

from itertools import product

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from mercer import (
    SVC,
    Diffusion,
    GaussianProcessRegressor,
    Graph,
    KernelPCA,
    PStep,
    RegularizedLaplacian,
    load,
    parse,
    save,
    two_sample_test,
)
from mercer.exceptions import DomainError
from mercer.kernels.graphs import spectral
from mercer.testing import check_kernel


def complete(n):
    return np.ones((n, n)) - np.eye(n)


def cycle(n):
    return np.roll(np.eye(n), 1, axis=0) + np.roll(np.eye(n), -1, axis=0)


def cube(d):
    corners = np.array(list(product([0, 1], repeat=d)))
    return (np.abs(corners[:, None] - corners[None]).sum(axis=2) == 1).astype(float)


def random_graph(rng, n=30, density=0.15):
    A = np.triu((rng.uniform(size=(n, n)) < density) * rng.uniform(0.5, 2, (n, n)), 1)
    A[-1] = A[:, -1] = 0  # a node without edges
    return A + A.T


def plain(A):
    return np.diag(A.sum(axis=1)) - A


def normalised(A):
    d = A.sum(axis=1)
    s = np.where(d > 0, 1 / np.sqrt(np.where(d > 0, d, 1)), 0)
    return s[:, None] * plain(A) * s


# ---- closed forms ------------------------------------------------------------------------
@pytest.mark.parametrize("n", [2, 4, 7])
@pytest.mark.parametrize("beta", [0.05, 0.5, 3.0])
def test_heat_on_complete_graphs(n, beta):
    e = np.exp(-n * beta)
    wanted = (1 - e) / n * np.ones((n, n)) + e * np.eye(n)
    np.testing.assert_allclose(Diffusion(complete(n), beta=beta)(range(n)), wanted, rtol=1e-13)


def test_published_values():
    K = Diffusion(complete(4), beta=0.5)(range(4))
    np.testing.assert_allclose([K[0, 0], K[0, 1]], [0.35150146, 0.21616618], atol=5e-9)
    K = Diffusion(cycle(4), beta=0.5)(range(4))
    np.testing.assert_allclose(K[0, :3], [0.46777354, 0.21616618, 0.09989410], atol=5e-9)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_heat_on_hypercubes(d):
    """A product over coordinates of the heat kernel of one edge."""
    beta = 0.3
    same, other = (1 + np.exp(-2 * beta)) / 2, (1 - np.exp(-2 * beta)) / 2
    corners = np.array(list(product([0, 1], repeat=d)))
    apart = np.abs(corners[:, None] - corners[None]).sum(axis=2)
    wanted = same ** (d - apart) * other**apart
    np.testing.assert_allclose(Diffusion(cube(d), beta=beta)(range(2**d)), wanted, rtol=1e-12)


@pytest.mark.parametrize("n", [3, 8, 11])
def test_heat_on_cycles(n):
    beta, steps = 0.7, np.arange(n)
    waves = np.exp(-2 * beta * (1 - np.cos(2 * np.pi * steps / n)))
    wanted = [np.mean(waves * np.cos(2 * np.pi * steps * k / n)) for k in range(n)]
    np.testing.assert_allclose(Diffusion(cycle(n), beta=beta)([0], range(n))[0], wanted, atol=1e-15)


# ---- against dense linear algebra ----------------------------------------------------------
@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("normalized", [False, True])
def test_against_functions_of_matrices(rng, monkeypatch, small, normalized):
    monkeypatch.setattr(spectral, "_SMALL", 2000 if small else 0)
    monkeypatch.setattr(spectral, "_BLOCK", 40)  # several blocks of columns
    A = random_graph(rng) + np.diag([0.5] * 3 + [0.0] * 27)  # three loops
    L = normalised(A) if normalized else plain(A)
    most = (
        2.0
        if normalized
        else max(A.sum(axis=1)[u] + A.sum(axis=1)[v] for u, v in zip(*np.nonzero(A), strict=True))
    )
    assert np.linalg.eigvalsh(L)[-1] <= most
    I = np.eye(30)
    cases = [
        (Diffusion(A, 0.8, normalized), scipy.linalg.expm(-0.8 * L)),
        (RegularizedLaplacian(A, 2.0, normalized), np.linalg.inv(I + 4 * L)),
        (PStep(A, 3, normalized=normalized), np.linalg.matrix_power(most * I - L, 3)),
        (PStep(A, 1, 50.0, normalized), 50 * I - L),
    ]
    rows, cols = [3, 3, 17, 29, 0], [5, 3, 29]
    for kernel, wanted in cases:
        scale = np.abs(wanted).max()
        np.testing.assert_allclose(kernel(range(30)), wanted, atol=1e-13 * scale)
        got = kernel(rows, cols)
        np.testing.assert_allclose(got, wanted[np.ix_(rows, cols)], atol=1e-13 * scale)
        diagonal = kernel.diag(kernel.prepare(rows))
        np.testing.assert_allclose(diagonal, np.diag(wanted)[rows], atol=1e-13 * scale)
        if not isinstance(kernel, PStep):
            check_kernel(kernel, list(range(25)))


def test_large_graphs_by_columns(rng):
    """A long path: heat at distance k is that of the line, e^-2b I_k(2b)."""
    from scipy.special import ive

    n = 5000
    kernel = Diffusion(sp.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1]).tocsr(), beta=2.0)
    got = kernel([2500], range(2490, 2511))[0]
    np.testing.assert_allclose(got, ive(np.abs(np.arange(-10, 11)), 4.0), atol=1e-14)
    P = kernel.prepare([10, 2500, 4999])
    assert kernel.features(P) is None
    assert kernel.n_features(P) is None
    np.testing.assert_allclose(kernel.diag(P)[1], ive(0, 4.0), rtol=1e-12)
    with pytest.raises(DomainError, match="smaller parameter"):
        kernel.replace(beta=1e12)([1, 2])


@pytest.mark.parametrize(
    "kernel",
    [
        Diffusion(cycle(12), beta=0.4),
        Diffusion(cycle(12), beta=1.5, normalized=True).normalize(),
        RegularizedLaplacian(cube(3), sigma=0.7),
        PStep(cube(3), p=4),
        PStep(cube(3), p=4, a=3.0) + 1,
    ],
    ids=repr,
)
def test_contract(kernel):
    check_kernel(kernel, [0, 1, 2, 5, 6, 7, 4])


# ---- use -----------------------------------------------------------------------------------
def test_all_forms_of_a_graph_are_the_same():
    A = np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0]])
    wanted = scipy.linalg.expm(-plain(A))
    forms = [A, sp.csr_array(A), sp.coo_matrix(A), (A,), Graph([(0, 1), (1, 2)], weights=[1, 2])]
    for form in forms:
        np.testing.assert_allclose(Diffusion(form)([0, 1, 2]), wanted, rtol=1e-13)
    assert Diffusion(forms[1]) == Diffusion(forms[2])
    assert Diffusion(A) != Diffusion(2 * A)
    assert Diffusion(A) != Diffusion(A, beta=2.0)


def test_networkx_names_its_nodes(tmp_path):
    nx = pytest.importorskip("networkx")
    graph = nx.grid_2d_graph(3, 3)
    kernel = Diffusion(graph, beta=0.5)
    nodes = [(0, 0), (2, 2), (1, 1)]
    A = nx.to_numpy_array(graph)
    wanted = scipy.linalg.expm(-0.5 * plain(A))[np.ix_([0, 8, 4], [0, 8, 4])]
    np.testing.assert_allclose(kernel(nodes), wanted, rtol=1e-12)
    check_kernel(kernel, nodes)
    assert repr(kernel) == "Diffusion(graph=<graph of 9 nodes>, beta=0.5)"
    save(kernel, tmp_path / "kernel")
    assert load(tmp_path / "kernel") == kernel


def test_in_models(rng, tmp_path):
    pd = pytest.importorskip("pandas")
    A = np.kron(np.eye(2), complete(10))
    A[0, 10] = A[10, 0] = 1
    nodes, y = list(range(20)), np.repeat([0, 1], 10)
    kernel = Diffusion(A, beta=0.2)
    model = SVC(kernel, C=10).fit(nodes[::2], y[::2])
    assert model.score(nodes, y) == 1
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(nodes), y)
    table = pd.DataFrame({"node": nodes, "x": rng.standard_normal(20)})
    assert SVC(kernel.on("node"), C=10).fit(table[::2], y[::2]).score(table, y) == 1
    process = GaussianProcessRegressor(kernel).fit(nodes, y + 0.01 * rng.standard_normal(20))
    assert process.kernel_.beta != 0.2
    assert KernelPCA(2, kernel=kernel.normalize()).fit_transform(nodes).shape == (20, 2)
    assert two_sample_test(nodes[:10] * 3, nodes[10:] * 3, kernel, rng=0).pvalue < 0.05
    few = RegularizedLaplacian([[0, 1], [1, 0]])
    with pytest.raises(DomainError, match="invalid graph"):
        few([0])
    small = PStep(np.array([[0, 1], [1, 0]]), p=3)
    assert "PStep(graph=[[0, 1], [1, 0]], p=3)" in repr(small)
    assert small == small.replace()
    named = Diffusion(([(0, 1)], 2))
    assert parse(repr(named)) == named


def test_edge_cases():
    alone = np.zeros((1, 1))
    assert Diffusion(alone)([0]) == 1
    assert PStep(alone, normalized=False)([0]) == 0  # L = 0, and its least bound a = 0
    assert RegularizedLaplacian(np.zeros((3, 3)))([2, 1]).tolist() == [[1, 0], [0, 1]]
    A = cycle(4)
    for bad, wrong in [
        (np.triu(A), "directed"),
        (-A, "weight -1"),
        (np.full((2, 2), np.nan), "finite"),
        ("abc", "invalid graph"),
    ]:
        with pytest.raises(DomainError, match=wrong):
            Diffusion(bad)([0])
    for samples, wrong in [
        ([0, 7], "7 is not a node"),
        ([[0], [1]], "not a node"),
        (["a"], "not a node"),
        ([], "no samples"),
        (np.zeros((2, 2)), "one column"),
        ([0.5], "not a node"),
    ]:
        with pytest.raises(DomainError, match=wrong):
            Diffusion(A)(samples)
    np.testing.assert_array_equal(Diffusion(A)(np.array([[0.0], [1.0]])), Diffusion(A)([0, 1]))
    with pytest.raises(DomainError, match="a must be at least 4"):
        PStep(A, normalized=False, a=3.0)([0, 1])
    with pytest.raises(ValueError, match="beta must be positive"):
        Diffusion(A, beta=-1)
