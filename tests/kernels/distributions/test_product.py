"""The probability product kernel against quadrature, brute force and published values."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.integrate import quad
from scipy.stats import gamma, multivariate_normal, norm
from sklearn.mixture import GaussianMixture

from mercer import (
    SVC,
    DiscreteHMM,
    GaussianHMM,
    GaussianProcessRegressor,
    KernelRidge,
    NormalMixture,
    ProbabilityProduct,
    load,
    parse,
    save,
)
from mercer.exceptions import DomainError, FileFormatError
from mercer.testing import check_kernel, check_kind


@pytest.fixture
def normals(rng):
    found = []
    for _ in range(12):
        A = rng.normal(size=(3, 3))
        found.append((rng.normal(size=3), A @ A.T + 0.1 * np.eye(3)))
    return found


@pytest.fixture
def chains(rng):
    return [
        DiscreteHMM(
            rng.dirichlet(np.ones(s)),
            rng.dirichlet(np.ones(s), s),
            rng.dirichlet(np.ones(3), s),
            "abc",
        )
        for s in (1, 2, 3, 2, 3, 2)
    ]


def test_reference_values():
    X = [norm(0, 1), norm(1, 2)]
    assert ProbabilityProduct(0.5)(X)[0, 1] == pytest.approx(0.8508054622, abs=1e-10)
    assert ProbabilityProduct(1.0)(X)[0, 1] == pytest.approx(0.1614342259, abs=1e-10)


@pytest.mark.parametrize("rho", [0.3, 0.5, 1.0, 2.5])
def test_normals_on_the_line(rho):
    p, q = norm(0.3, 0.5), norm(-1, 2)
    wanted, _ = quad(lambda x: (p.pdf(x) * q.pdf(x)) ** rho, -20, 20, epsabs=1e-13, limit=200)
    assert ProbabilityProduct(rho)([p, q])[0, 1] == pytest.approx(wanted, rel=1e-8)


@pytest.mark.parametrize("rho", [0.5, 1.0, 1.7])
def test_normals_by_importance(rho, normals):
    """The integral of p^rho q^rho by importance sampling."""
    p, q = (multivariate_normal(*pair) for pair in normals[:2])
    rng = np.random.default_rng(1)
    sample = rng.multivariate_normal((p.mean + q.mean) / 2, 4 * (p.cov + q.cov), 400_000)
    proposal = multivariate_normal((p.mean + q.mean) / 2, 4 * (p.cov + q.cov))
    logs = rho * (p.logpdf(sample) + q.logpdf(sample)) - proposal.logpdf(sample)
    values = np.exp(logs)
    found = ProbabilityProduct(rho)([p, q])[0, 1]
    assert abs(found - values.mean()) < 5 * values.std() / np.sqrt(len(values))


def test_bhattacharyya_is_one_on_the_diagonal(normals):
    K = ProbabilityProduct(0.5)(normals)
    assert np.diagonal(K) == pytest.approx(np.ones(12))
    assert K.max() <= 1 + 1e-12


def test_forms_of_normals():
    S = np.array([[2.0, 0.3], [0.3, 1.0]])
    forms = [
        multivariate_normal([1.0, 2.0], S),
        (np.array([1.0, 2.0]), S),
        NormalMixture([1.0], [[1.0, 2.0]], [S]),
    ]
    K = ProbabilityProduct(0.7)(forms)
    assert np.ptp(K) < 1e-12
    K = ProbabilityProduct(0.7)([(0.0, 4.0), norm(0, 2), ([0.0], [4.0])])
    assert np.ptp(K) < 1e-12


def test_mixtures(rng):
    p = NormalMixture([0.3, 0.7], [[0.0], [2.0]], [1.0, 0.25], "spherical")
    q = NormalMixture([0.5, 0.2, 0.3], [[-1.0], [1.0], [4.0]], [0.5, 2.0, 1.0], "spherical")

    def densities(x):
        return np.exp(p.log_likelihood([[x]])[0] + q.log_likelihood([[x]])[0])

    wanted, _ = quad(densities, -15, 15, epsabs=1e-12, limit=200)
    assert ProbabilityProduct(1.0)([p, q])[0, 1] == pytest.approx(wanted)
    sample = rng.normal(size=(60, 2))
    for kind in ("full", "tied", "diag", "spherical"):
        model = GaussianMixture(2, covariance_type=kind, random_state=0).fit(sample)
        single = NormalMixture(model.weights_, model.means_, model.covariances_, kind)
        K = ProbabilityProduct(1.0)([model, single])
        assert np.ptp(K) < 1e-12
    with pytest.raises(DomainError, match="rho=1 only"):
        ProbabilityProduct(0.5)([p, q])


def test_histograms_and_bernoullis(rng):
    P = rng.dirichlet(np.ones(5), 8)
    assert ProbabilityProduct(0.5)(P) == pytest.approx(np.sqrt(P) @ np.sqrt(P).T)
    assert ProbabilityProduct(0.5)(P.tolist()) == pytest.approx(np.sqrt(P) @ np.sqrt(P).T)
    assert ProbabilityProduct(0.5)(sp.csr_matrix(P)) == pytest.approx(np.sqrt(P) @ np.sqrt(P).T)
    assert ProbabilityProduct(1.0)(pd.DataFrame(P)) == pytest.approx(P @ P.T)
    B = rng.uniform(size=(6, 4))
    B[0, 1], B[1, 1] = 0.0, 1.0
    events = np.array(list(product([0, 1], repeat=4)))
    joint = np.prod(np.where(events[None], B[:, None], 1 - B[:, None]), axis=2)
    for rho in (0.5, 1.0, 1.3):
        k = ProbabilityProduct(rho, family="bernoulli")
        assert k(B) == pytest.approx((joint**rho) @ (joint**rho).T)


def test_bags_are_fitted(rng):
    bags = [rng.normal(size=(n, 2)) for n in (5, 40, 9)]
    k = ProbabilityProduct(0.5, ridge=0.01)
    S = [np.cov(b.T, bias=True) for b in bags]
    exact = [
        (b.mean(axis=0), C + 0.01 * np.trace(C) / 2 * np.eye(2))
        for b, C in zip(bags, S, strict=True)
    ]
    assert k(bags) == pytest.approx(k(exact))
    assert k(np.stack([bags[0], bags[0]]))[0, 1] == pytest.approx(1)
    one = k([np.ones((1, 2)), np.ones((3, 2))])
    assert one == pytest.approx(np.ones((2, 2)))


@pytest.mark.parametrize("rho", [0.5, 1.0])
@pytest.mark.parametrize("length", [1, 2, 3])
def test_chains_by_all_paths(rho, length, chains):
    def brute(p, q):
        total = 0.0
        E, F = np.asarray(p.emission) ** rho, np.asarray(q.emission) ** rho
        for s in product(range(p.n_states), repeat=length):
            for u in product(range(q.n_states), repeat=length):
                chance = p.start[s[0]] * q.start[u[0]]
                for a, b in pairwise(s):
                    chance *= p.transition[a, b]
                for a, b in pairwise(u):
                    chance *= q.transition[a, b]
                total += chance * np.prod([E[a] @ F[b] for a, b in zip(s, u, strict=True)])
        return total

    K = ProbabilityProduct(rho, length=length)(chains)
    wanted = [[brute(p, q) for q in chains[:4]] for p in chains[:4]]
    assert K[:4, :4] == pytest.approx(np.array(wanted))


def test_chains_by_all_strings(chains):
    """For rho = 1 it is the sum of p(x) q(x) over all strings."""
    strings = ["".join(letters) for letters in product("abc", repeat=4)]
    L = np.exp([model.log_likelihood(strings) for model in chains])
    assert ProbabilityProduct(1.0, length=4)(chains) == pytest.approx(L @ L.T)


def test_chains_with_normal_emissions(rng):
    def draw():
        A = rng.dirichlet(np.ones(2), 2)
        return GaussianHMM([0.3, 0.7], A, rng.normal(size=(2, 1)), rng.uniform(0.5, 2, (2, 1, 1)))

    p, q = draw(), draw()
    grid = np.linspace(-8, 8, 321)
    series = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    area = (grid[1] - grid[0]) ** 2
    wanted = np.sum(np.exp(p.log_likelihood(series) + q.log_likelihood(series))) * area
    assert ProbabilityProduct(1.0, length=2)([p, q])[0, 1] == pytest.approx(wanted, rel=1e-6)


def test_long_chains_do_not_underflow(chains):
    k = ProbabilityProduct(1.0, length=600)
    assert np.any(k(chains) == 0)  # as numbers they do
    K = k.normalize()(chains)
    assert np.diagonal(K) == pytest.approx(np.ones(6))
    assert np.all(np.isfinite(K))
    far = [(np.zeros(800), np.eye(800)), (np.ones(800), 2 * np.eye(800))]
    K = ProbabilityProduct(1.0).normalize()(far)
    assert 0 < K[0, 1] < 1e-50


def test_promises(normals, chains, rng):
    check_kernel(ProbabilityProduct(0.5), normals)
    check_kernel(ProbabilityProduct(1.3), normals)
    check_kernel(ProbabilityProduct(1.0).normalize(), normals)
    check_kernel(ProbabilityProduct(0.5), chains)
    check_kernel(ProbabilityProduct(1.0, length=300).normalize(), chains)
    check_kernel(ProbabilityProduct(), rng.dirichlet(np.ones(4), 20))
    check_kernel(ProbabilityProduct(), sp.csr_matrix(rng.dirichlet(np.ones(4), 20)))
    check_kernel(ProbabilityProduct(0.7, family="bernoulli"), rng.uniform(size=(20, 30)))
    check_kernel(ProbabilityProduct(), [rng.normal(size=(n, 2)) for n in range(1, 20)])
    mixed = [
        NormalMixture(rng.dirichlet(np.ones(m)), rng.normal(size=(m, 2)), rng.uniform(1, 2, m),
                      "spherical")
        for m in (1, 3, 2, 4, 1, 2)
    ]  # fmt: skip
    check_kernel(ProbabilityProduct(1.0), mixed)
    check_kind("bags", mixed)
    check_kind("bags", normals)
    check_kind("bags", [multivariate_normal(*pair) for pair in normals])


def test_in_models(rng, tmp_path, normals):
    y = np.array([mean[0] for mean, _ in normals])
    k = ProbabilityProduct(0.5)
    model = KernelRidge(1e-6, kernel=k).fit(normals, y)
    assert model.score(normals, y) > 0.99
    save(model, tmp_path / "m")
    assert load(tmp_path / "m").predict(normals) == pytest.approx(model.predict(normals))
    assert GaussianProcessRegressor(k).fit(normals, y).predict(normals).shape == (12,)
    bags = [rng.normal(0, s, (30, 1)) for s in np.repeat([1.0, 3.0], 15)]
    table = pd.DataFrame({"bag": bags, "size": 1.0})
    labels = np.repeat(["a", "b"], 15)
    machine = SVC(k.on("bag")).fit(table, labels)
    assert machine.score(table, labels) == 1
    assert parse(repr(ProbabilityProduct(1.0, ridge=0.5))) == ProbabilityProduct(1.0, ridge=0.5)


def test_fitted_mixtures_are_stored(rng, tmp_path):
    X = rng.normal(size=(50, 2))
    for kind in ("full", "tied", "diag", "spherical"):
        model = GaussianMixture(2, covariance_type=kind, random_state=0).fit(X)
        save([model], tmp_path / "m")
        (back,) = load(tmp_path / "m")
        assert back.score_samples(X) == pytest.approx(model.score_samples(X))
        assert back.predict_proba(X) == pytest.approx(model.predict_proba(X))
    model.precisions_cholesky_ = model.precisions_cholesky_[:1]
    save([model], tmp_path / "m")
    with pytest.raises(FileFormatError, match="do not fit each other"):
        load(tmp_path / "m")
    with pytest.raises(ValueError, match="not fitted"):
        save([GaussianMixture(2)], tmp_path / "m")


def test_bad_input(rng, chains):
    k = ProbabilityProduct()
    with pytest.raises(ValueError, match="rho must be"):
        ProbabilityProduct(-1.0)
    with pytest.raises(DomainError, match="sample 1 is a rv_continuous_frozen"):
        k([norm(0, 1), gamma(2.0)])
    with pytest.raises(DomainError, match="sample 0 is a str"):
        k(["abc"])
    with pytest.raises(DomainError, match="numbers >= 0"):
        k(-np.ones((2, 2)))
    with pytest.raises(DomainError, match=r"in \[0, 1\]"):
        ProbabilityProduct(family="bernoulli")(2 * np.ones((2, 2)))
    with pytest.raises(DomainError, match="positive definite"):
        k([(np.zeros(2), -np.eye(2))])
    with pytest.raises(DomainError, match="symmetric"):
        k([(np.zeros(2), np.array([[1.0, 0.5], [0.0, 1.0]]))])
    with pytest.raises(DomainError, match="features"):
        k([(np.zeros(2), np.eye(2)), (np.zeros(3), np.eye(3))])
    with pytest.raises(ValueError, match="cannot be compared"):
        k(np.ones((2, 2)), chains)
    with pytest.raises(DomainError, match="have the same"):
        k([chains[0], DiscreteHMM([1.0], [[1.0]], [[0.5, 0.5]], "xy")])
    with pytest.raises(DomainError, match="no samples"):
        k([])
    with pytest.raises(DomainError, match="NaN"):
        k([np.full((3, 2), np.nan)])
