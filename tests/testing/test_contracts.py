"""The checks pass on good kernels and operators, and name what is wrong with bad ones."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy.linalg import toeplitz

from mercer import (
    Constant,
    Custom,
    Exponential,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Plan,
    Polynomial,
    Taylor,
)
from mercer.gram.stored import DenseGram, KernelGram
from mercer.kernels.calculus import properties as prop
from mercer.kernels.vectors.kind import VECTORS
from mercer.testing import check_gram, check_kernel, check_properties, check_psd

X = np.random.default_rng(3).standard_normal((24, 3))

GOOD = [
    Gaussian(),
    Gaussian("median"),
    Gaussian([0.5, 1.0, 2.0]),
    Laplacian(p=1),
    Matern(nu=2.5),
    Exponential(0.1),
    Linear(),
    Polynomial(degree=2),
    Taylor([1, 0, 2]),
    Constant(2),
    2 * Gaussian() + 1,
    (Linear() + 1) ** 2 * Gaussian("scale"),
    Gaussian().on(0) * Linear().on([1, 2]),
    Gaussian().on(slice(0, 2)),
    Linear().normalize(),
    Gaussian().center(),
    Gaussian().through(),
    Linear().center(X[:4]),
]


@pytest.mark.parametrize("kernel", GOOD, ids=repr)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_good_kernels_pass(kernel, dtype):
    check_kernel(kernel, X.astype(dtype))


def test_few_samples():
    check_kernel(Gaussian(), X[:1])
    check_kernel(Gaussian(), X[:2])


@dataclass(eq=False, repr=False)
class Base(Kernel):
    """A correct kernel, <x, y> + 1, for the broken ones to derive from."""

    def prepare(self, X):
        return np.asarray(X, dtype=float)

    def pairwise(self, X, Y):
        return X @ Y.T + 1


class Asymmetric(Base):
    def pairwise(self, X, Y):
        return X @ Y.T + X[:, :1]


class Indefinite(Base):
    def pairwise(self, X, Y):
        return X @ Y.T - 1


class WrongDiag(Base):
    def diag(self, X):
        return np.einsum("ij,ij->i", X, X)


class Standardising(Base):
    def prepare(self, X):
        return (X - X.mean(axis=0)) / X.std(axis=0)


class Vocabulary(Base):
    """Learns its columns when it is used, as stateful kernels do."""

    def prepare(self, X):
        self.__dict__["width"] = len(X)
        return np.asarray(X)

    def pairwise(self, X, Y):
        return np.clip(X @ Y.T, -1, 1) * 0 + self.__dict__["width"]


class WrongFeatures(Base):
    def features(self, X):
        return X

    def n_features(self, X):
        return X.shape[1]


class WrongCount(Base):
    def features(self, X):
        return np.hstack([X, np.ones((len(X), 1))])

    def n_features(self, X):
        return X.shape[1]


class NoCount(Base):
    def features(self, X):
        return np.hstack([X, np.ones((len(X), 1))])


class LocalFeatures(Base):
    """Features that depend on which samples are together: signs and order of eigenvectors."""

    def features(self, X):
        phi = np.hstack([X, np.ones((len(X), 1))])
        return np.roll(phi, len(X) // 2, axis=1)

    def n_features(self, X):
        return X.shape[1] + 1


class Mutating(Base):
    def prepare(self, X):
        X[:, 2] = 7
        return X[:, :2].copy()


class Caching(Base):
    def pairwise(self, X, Y):
        store = self.__dict__.setdefault("store", {})
        key = (X.tobytes(), Y.tobytes())
        return store.setdefault(key, X @ Y.T + 1)


class WrongTiles(Base):
    def tiles(self, X, Y):
        return lambda rows, cols: X[rows] @ Y[cols].T


class NotANumber(Base):
    def pairwise(self, X, Y):
        return np.log(X @ Y.T - 100)


class Flat(Base):
    def pairwise(self, X, Y):
        return np.ones(len(X))


@dataclass(eq=False, repr=False)
class Converting(Base):
    """Changes its parameter in the constructor, which clone and set_params cannot follow."""

    width: float = field(default=1.0)

    def __post_init__(self):
        self.width = 2 * self.width


@dataclass(eq=False, repr=False)
class Undecided(Base):
    """Resolves to another value every time."""

    width: float = field(default=1.0)

    def resolve(self, X):
        return Undecided(self.width + 1)


class Misprinted(Base):
    def __repr__(self):
        return "Linear()"


class Stated(Base):
    """<x, y> + 1 with claims about it."""

    facts: dict = {}  # noqa: RUF012

    @property
    def domain(self):
        return VECTORS

    @property
    def properties(self):
        return self._stated(**self.facts)


class FirstColumn(Stated):
    facts = {"strictly_pd": prop.yes("wrongly")}  # noqa: RUF012

    def pairwise(self, X, Y):
        return np.exp(-((X[:, :1] - Y[:, 0]) ** 2))


class FiniteRank(Stated):
    facts = {"strictly_pd": prop.yes("wrongly")}  # noqa: RUF012


class NotStationary(Stated):
    facts = {"stationary": prop.yes("wrongly")}  # noqa: RUF012

    def pairwise(self, X, Y):
        f, g = np.cos(X).sum(axis=1), np.cos(Y).sum(axis=1)
        block = 0.1 * np.outer(f, g)
        same = np.all(X[:, None] == Y[None], axis=2)
        return np.where(same, 1.0, block / 10)


class WrongGradient(Stated):
    facts = {"analytic": prop.yes("a polynomial")}  # noqa: RUF012

    def grad_input(self, X, Y, W):
        return 2 * W @ Y


class Contradictory(Stated):
    facts = {"universal": prop.yes("a"), "strictly_pd": prop.no("b")}  # noqa: RUF012


class ZeroDiagonal(Stated):
    facts = {"positive_diag": prop.yes("wrongly")}  # noqa: RUF012

    def pairwise(self, X, Y):
        return np.maximum(X[:, :1], 0) * np.maximum(Y[:, 0], 0)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Asymmetric(), "not symmetric"),
        (Indefinite(), "not positive semi-definite"),
        (WrongDiag(), "diag differs"),
        (Standardising(), "sample by sample"),
        (Vocabulary(), "sample by sample"),
        (WrongFeatures(), "features do not reproduce"),
        (WrongCount(), "n_features is 3, features have 4"),
        (NoCount(), "both be None"),
        (LocalFeatures(), "features of a subset"),
        (Mutating(), "X was modified"),
        (Caching(), "fresh array"),
        (WrongTiles(), "tiles"),
        (NotANumber(), "NaN or infinity"),
        (Flat(), "shape"),
        (Converting(), "clone"),
        (Undecided(), "idempotent"),
        (Misprinted(), "does not read back"),
        (FirstColumn(), "have the same features"),
        (FiniteRank(), "Gram matrix of rank 4"),
        (NotStationary(), "shifting X changes K"),
        (WrongGradient(), "grad_input"),
        (Contradictory(), "universal is yes but strictly_pd is no"),
        (ZeroDiagonal(), "positive_diag is claimed"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Kernel) else None,
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_broken_kernels_fail_with_the_reason(kernel, message):
    Z = np.vstack([X, X[:2] + [0, 1, 1]])  # two pairs that agree in the first column
    with pytest.raises(AssertionError, match=message):
        check_kernel(kernel, Z)


def test_the_base_of_the_broken_kernels_is_not_broken():
    check_kernel(Base(), X)


def test_properties_survive_nearly_singular_gram_matrices():
    """Smooth kernels are singular to rounding on many points; that is no contradiction."""
    Z = np.linspace(0, 1, 50)[:, None]
    assert np.linalg.eigvalsh(Gaussian(2.0)(Z))[0] < 1e-15
    check_properties(Gaussian(2.0), Z)
    check_properties(Exponential(), Z)


# ---- check_psd -----------------------------------------------------------------------------
def test_psd_witness():
    result = check_psd(lambda x, y: float(np.tanh(x @ y - 1)), X)
    K = np.tanh(X @ X.T - 1)
    v = result.witness
    assert not result
    assert not result.psd
    assert np.isclose(v @ v, 1)
    assert np.isclose(v @ K @ v, result.min_eigenvalue)
    assert np.isclose(result.min_eigenvalue, np.linalg.eigvalsh(K)[0])
    assert result.min_eigenvalue < -result.tolerance
    assert "not positive definite" in str(result)


def test_psd_of_kernels_and_batches():
    assert check_psd(Gaussian("median"), X)
    assert check_psd(Custom(lambda A, B: np.minimum(A, B.T), batch=True), np.abs(X[:, :1]))
    assert "no evidence against" in str(check_psd(lambda x, y: min(x, y), [1.0, 2.0, 3.0]))


def test_psd_of_an_asymmetric_function():
    result = check_psd(lambda x, y: x**2 * y + x * y, [1.0, 2.0])
    assert not result
    assert "not symmetric" in str(result)
    assert result.asymmetry == 2.0


def test_psd_refuses_nan():
    with pytest.raises(ValueError, match="finite"):
        check_psd(lambda x, y: float("nan"), [1.0, 2.0])


# ---- check_gram ----------------------------------------------------------------------------
@pytest.mark.parametrize("storage", ["dense", "tiled", "lowrank"])
def test_good_operators_pass(storage):
    gram = Plan(storage=storage).gram(Linear() + 1, X)
    X_new = X[:5] + 1
    check_gram(gram, X @ X.T + 1, X_new, X_new @ X.T + 1)


class Off(DenseGram):
    """An operator with one method that is wrong."""

    broken = ""

    def block(self, rows, cols):
        right = super().block(rows, cols)
        wrong = self.broken == "block" and not isinstance(rows, slice)
        return right.T if wrong and right.shape[0] == right.shape[1] else right

    def _matmul(self, V):
        right = super()._matmul(V)
        return right[:, ::-1] if self.broken == "matmul" else right

    def diag(self):
        return super().diag() + (self.broken == "diag")

    def cross(self, X_new):
        return self if self.broken == "cross" else super().cross(X_new)


@pytest.mark.parametrize(
    ("broken", "message"),
    [("block", "block"), ("matmul", "K @ matrix"), ("diag", "diag"), ("cross", "cross has shape")],
)
def test_broken_operators_fail_with_the_reason(broken, message):
    gram = Off(Linear(), X)
    check_gram(gram, X @ X.T, X[:3])
    gram.broken = broken
    with pytest.raises(AssertionError, match=message):
        check_gram(gram, X @ X.T, X[:3])


def test_gram_of_another_matrix():
    with pytest.raises(AssertionError, match="shape"):
        check_gram(Linear().gram(X), np.eye(3))
    with pytest.raises(AssertionError, match="block"):
        check_gram(Linear().gram(X), X @ X.T + 1e-6)


def test_products_of_a_subset_are_checked():
    """An operator that multiplies by the structure of all samples, which a part of them lacks."""

    class Toeplitz(KernelGram):
        def __init__(self, kernel, X, Y=None, *, workers=None):
            super().__init__(kernel, X, Y, workers=workers)
            self.column = kernel.pairwise(X, X[:1])[:, 0]

        def _matmul(self, V):
            return toeplitz(self.column) @ V

    grid, k = np.arange(12.0)[:, None], Gaussian()
    with pytest.raises(AssertionError, match="subset @ V is wrong"):
        check_gram(k.gram(grid, Plan(storage=Toeplitz)), k(grid))
