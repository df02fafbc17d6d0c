"""Functions, operators and paths of solutions in files."""

import numpy as np
import pytest

import mercer
from mercer import Gaussian, Linear, Plan, Spectrum, load, save
from mercer.exceptions import FileFormatError
from mercer.io.codecs import kinds

WORDS = ["kernel", "kerning", "colonel", "corn", "cork", "keel"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m"


def round_trip(value, path):
    save(value, path)
    return load(path)


def test_covariances(path, rng):
    X = rng.normal(size=(12, 2))
    C = mercer.covariance(Gaussian("median"), X)
    found = round_trip(C, path)
    assert found.kernel_x == C.kernel_x
    assert found.hs_norm() == C.hs_norm()
    values, functions = C.eigenfunctions(3)  # it is still known to be self-adjoint
    again, others = found.eigenfunctions(3)
    np.testing.assert_array_equal(again, values)
    np.testing.assert_array_equal(others(X), functions(X))


def test_operators_of_any_making(path, rng):
    X = rng.normal(size=(6, 2))
    C = mercer.cross_covariance(Gaussian(), X, Spectrum(2), WORDS)
    f, g = Gaussian().at(X[0]), Spectrum(2).at("corner")
    operators = [
        C,
        C.T,
        2 * C + mercer.outer(f, g),
        C @ C.T,
        mercer.HSOperator.from_matrix(Gaussian(), X, rng.normal(size=(6, 6)), Spectrum(2), WORDS),
    ]
    for A in operators:
        found = round_trip(A, path)
        assert repr(found) == repr(A)
        np.testing.assert_allclose(found.hs_norm(), A.hs_norm(), rtol=1e-12)
        np.testing.assert_allclose((found - A).hs_norm(), 0, atol=1e-6)


@pytest.mark.parametrize(
    ("kernel", "plan"),
    [
        (Gaussian("median"), None),
        (Gaussian(), Plan(storage="tiled")),
        (Gaussian(), Plan(rank=4)),
        (Linear(), None),
    ],
)
@pytest.mark.filterwarnings("ignore::mercer.exceptions.DenseWarning")
def test_paths(kernel, plan, path, rng):
    X, y = rng.normal(size=(15, 2)), rng.normal(size=(15, 2))
    p = mercer.ridge_path(kernel, X, y, [0.01, 1.0], plan=plan)
    found = round_trip(p, path)
    for name in ("alphas", "coefs", "dof", "loo", "gcv"):
        np.testing.assert_array_equal(getattr(found, name), getattr(p, name))
    assert found.best_alpha == p.best_alpha
    new = rng.normal(size=(4, 2))
    np.testing.assert_allclose(
        found.gram.cross(new) @ found.coefs[0], p.gram.cross(new) @ p.coefs[0]
    )


def test_a_path_on_strings(path):
    p = mercer.ridge_path(Spectrum(2), WORDS, np.arange(6.0), [0.1, 1.0])
    expected = p.gram.cross(["coke"]) @ p.coefs[1]
    np.testing.assert_allclose(round_trip(p, path).gram.cross(["coke"]) @ p.coefs[1], expected)


def forge(value, path, monkeypatch, **parts):
    """Saves a value with other nodes in its description."""
    name = f"mercer.{type(value).__name__}"
    encoder = kinds.ENCODERS[name]
    monkeypatch.setitem(kinds.ENCODERS, name, lambda *args: {**encoder(*args), **parts})
    save(value, path)


@pytest.mark.parametrize(
    "parts",
    [
        {"weights": [[1.0, 2.0]]},
        {"weights": []},
        {"weights": [{"type": "float", "value": "nan"}]},
        {"terms": [[0, 1]]},
        {"terms": [], "weights": []},
        {"frames": [{"type": "params", "class": "Gaussian", "fields": {}}]},
    ],
)
def test_damaged_operators(parts, path, monkeypatch):
    forge(mercer.covariance(Gaussian(), [0.0, 1.0, 2.0]), path, monkeypatch, **parts)
    with pytest.raises(FileFormatError):
        load(path)


@pytest.mark.parametrize(
    "parts",
    [
        {"alphas": [1.0]},
        {"coefs": [[1.0, 2.0], [3.0, 4.0]]},
        {"coefs": 1.0},
        {"loo": [0.1, {"type": "float", "value": "inf"}]},
        {"X": [0.0, 1.0]},
        {"plan": 3},
    ],
)
def test_damaged_paths(parts, path, monkeypatch):
    p = mercer.ridge_path(Gaussian(), [0.0, 1.0, 2.0], [0.0, 1.0, 0.0], [0.1, 1.0])
    forge(p, path, monkeypatch, **parts)
    with pytest.raises(FileFormatError):
        load(path)
