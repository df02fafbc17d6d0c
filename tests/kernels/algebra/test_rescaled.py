"""Normalisation from logarithms: of kernels whose values overflow, and of what is made of them."""

from __future__ import annotations

import warnings
from math import log

import numpy as np
import pytest

from mercer import AllSubsequences, Constant, Exponential, Gaussian, LocalAlignment
from mercer.testing import check_kernel, difficult_samples

X = np.random.default_rng(0).normal(size=(12, 3))
WORDS = ["abab", "ba", "aab", "", "bbba"]

VECTORS = [
    Exponential() * Exponential(0.3),
    2 * Exponential(),
    Exponential() ** 3,
    (Exponential() + 2) * Exponential(0.5),
    Exponential() + Exponential(0.2) + 1,
    (2 * Exponential() + 1) ** 2,
    Exponential().normalize() * Exponential(0.3),
    Exponential() + Exponential(0.1).normalize(),
    (Exponential() + 0.5).on([0, 1]) * Exponential(0.2),
    Exponential().center(X),
    Exponential().through(X),
    Constant(2) + 1,
]
STRINGS = [
    AllSubsequences() * AllSubsequences(0.5),
    3 * AllSubsequences() ** 2,
    AllSubsequences() + LocalAlignment(beta=0.2) + 1,
    AllSubsequences().center(WORDS),
    AllSubsequences().through(WORDS),
]


@pytest.mark.parametrize(
    ("kernel", "data"),
    [(k, X) for k in VECTORS] + [(k, WORDS) for k in STRINGS],
    ids=lambda value: repr(value)[:50] if not isinstance(value, np.ndarray | list) else "",
)
def test_composite_kernels_are_divided_by_their_diagonal(kernel, data):
    K = kernel(data)
    roots = np.sqrt(np.diag(K))
    assert np.allclose(kernel.normalize()(data), K / np.outer(roots, roots), rtol=1e-7, atol=1e-12)
    check_kernel(kernel.normalize(), data)


def test_a_product_with_zero_stays_zero():
    assert not (0 * Exponential()).normalize()(X).any()
    assert not (0 * AllSubsequences() * 2).normalize()(WORDS).any()


def test_features_of_a_normalised_constant():
    k = (Constant(3) + 1).normalize()
    phi = k.features(k.prepare(X))
    assert np.allclose(phi @ phi.T, 1)


@pytest.mark.parametrize("size", [1e2, 1e6, 1e9])
def test_composites_of_exponential_kernels_at_any_size(size):
    near = size + X
    wanted = Gaussian(1 / np.sqrt(0.7))(X)
    for kernel in (
        Exponential(0.5) * Exponential(0.2),
        3 * Exponential(0.7),
        Exponential(0.35) ** 2,
        Exponential(0.7) + 5,
        Exponential(0.7) + Exponential(0.1),
    ):
        found = kernel.normalize()(near)
        assert np.abs(found - wanted).max() < 1e-7 * max(1, size / 1e3)
        k = kernel.normalize()
        P, W = k.prepare(near), np.arange(144.0).reshape(12, 12)
        parts = k.grad_theta(P, P, W)
        assert np.isfinite(parts).all()
        assert np.sum(parts[np.abs(parts) > 1e-6]) == pytest.approx(
            np.sum(W * wanted * np.log(wanted)), rel=1e-6 * max(1, size / 1e3)
        )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_normalised_exponential_kernel_on_difficult_samples(dtype):
    """It is Gaussian; logarithms of its values cancel, where samples are far from the origin."""
    limit = np.sqrt(np.finfo(dtype).max)
    for name, sample in difficult_samples().items():
        if np.abs(sample).max() > limit and dtype is np.float32:
            continue
        Z = sample.astype(dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            K = Exponential(0.7).normalize()(Z)
        with np.errstate(over="ignore"):
            differences = Z[:, None].astype(np.longdouble) - Z.astype(np.longdouble)
            wanted = np.exp(-0.35 * np.square(differences).sum(axis=-1))
        assert np.abs(K - wanted).max() < (1e-10 if dtype is np.float64 else 1e-4), name


def test_products_of_string_kernels_beyond_floating_point_numbers():
    strings = ["ab" * 600, "abb" * 400, "ba" * 550]

    def exact(x: str, y: str) -> int:
        row = [1] * (len(y) + 1)
        for letter in x:
            run, before = 0, row[0]
            for j, other in enumerate(y):
                run += before if letter == other else 0
                before = row[j + 1]
                row[j + 1] += run
        return row[-1]

    logs = np.array([[log(exact(x, y)) for y in strings] for x in strings])
    cosines = logs - (np.diag(logs)[:, None] + np.diag(logs)) / 2
    for kernel, power in (
        (AllSubsequences() * AllSubsequences(), 2),
        (AllSubsequences() ** 3, 3),
        (AllSubsequences() * 5, 1),
        (AllSubsequences() + 1, 1),
        (AllSubsequences() + AllSubsequences(), 1),
    ):
        with np.errstate(divide="ignore"):
            found = np.log(kernel.normalize()(strings))
        wanted = power * cosines
        seen = wanted > -600
        assert np.allclose(found[seen], wanted[seen], atol=1e-9)
        assert np.all(found[~seen] < -600)
