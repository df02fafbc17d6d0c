"""What explain() says, and how it is laid out."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import (
    Categorical,
    Constant,
    Custom,
    Exponential,
    Gaussian,
    Laplacian,
    Limit,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Spectrum,
    Taylor,
)

LONG = 2 * Gaussian(lengthscale=[0.5, 1.25]).on(["age", "bmi"]) * Spectrum(3).on(
    "sequence"
) + Categorical().on("sex") * Matern(nu=2.5, lengthscale="median").on(["height", "weight"])
EXAMPLES = [
    Gaussian(),
    Laplacian(),
    Gaussian() + Linear() + 1,
    LONG,
    (Linear() + 1) ** 3,
    Constant(0),
    Exponential().normalize(),
    Matern().center(),
    Gaussian().through(),
    Gaussian().pullback(np.log),
    Gaussian().modulate(np.ravel),
    Gaussian().restrict(np.isfinite),
    Limit(lambda n: Linear()),
    Taylor([1, 2]),
    Periodic(period=7).on("day"),
    Custom(min),
    Custom(min) * Gaussian(),
    Gaussian().center(np.zeros((500, 3))),
]


def sections(kernel):
    """The four parts of an explanation; sentences unwrapped."""
    parts = kernel.explain().split("\n\n")
    return [" ".join(part.split()) for part in parts]


@pytest.mark.parametrize("kernel", EXAMPLES, ids=lambda k: repr(k)[:40])
def test_layout(kernel):
    text = kernel.explain()
    assert all(len(line) <= 100 for line in text.splitlines())
    assert all(line == line.rstrip() for line in text.splitlines())
    assert text.startswith("k = ")
    assert "\nproperties\n" in text
    assert repr(kernel).replace(" ", "") in text.split("\non ")[0].replace("\n", "").replace(
        " ", ""
    )


def test_derivation_tree():
    tree = ((Gaussian() + Linear() + 1) ** 2).explain().split("\n\n")[1].splitlines()
    assert tree[0] == "is a kernel because"
    assert [len(line) - len(line.lstrip()) for line in tree[1:]] == [2, 4, 6, 6, 6]
    expected = [
        ("(Gaussian() + Linear() + 1) ** 2 ", "repeated product"),
        ("Gaussian() + Linear() + 1 ", "sum of kernels"),
        ("Gaussian() ", "Fourier transform"),
        ("Linear() ", "inner product"),
        ("1 ", "c = <sqrt(c), sqrt(c)>"),
    ]
    for line, (formula, rule) in zip(tree[1:], expected, strict=True):
        assert line.lstrip().startswith(formula)
        assert rule in line


def test_every_kernel_inside_is_told():
    tree = sections(LONG)[1]
    for piece in ("Spectrum()", "Categorical()", "Matern(", "Gaussian("):
        assert piece in tree
    assert tree.count("kernel of some coordinates") == 4


def test_table_is_aligned():
    table = Gaussian().explain().split("\n\n")[2].splitlines()[1:]
    starts = {line.index("yes") for line in table if " yes " in line}
    assert len(starts) == 1
    assert any(line.split()[:2] == ["smooth", "C^inf"] for line in table)
    assert "C^1, no more" in Matern().explain()
    unknown = [l for l in Gaussian().center().explain().splitlines() if l.endswith("unknown")]
    assert len(unknown) == 2  # without a reason


def test_consequences_always():
    for kernel in (Gaussian(), Linear(), Gaussian().on("a") + 1):
        says = sections(kernel)[3]
        assert "|f(x)| <= ||f|| sqrt(k(x, x))" in says
        assert "|f(x) - f(y)| <= ||f|| d(x, y)" in says


@pytest.mark.parametrize(
    ("kernel", "phrases"),
    [
        (
            Gaussian(),
            [
                "f is bounded",
                "f is analytic",
                "are invertible",
                "uniform limit",
                "can see every difference",
                "No finite list of features",
                "shifted f",
            ],
        ),
        (
            Polynomial(degree=2),
            [
                "Some f are unbounded",
                "f is analytic",
                "a linear solver applies",
                "needs alpha > 0",
                "cannot be learned",
                "cannot see every difference",
            ],
        ),
        (Matern(nu=2.5), ["f is twice continuously differentiable."]),
        (Matern(nu=1.5), ["f is once continuously differentiable."]),
        (Matern(nu=3.5), ["f is 3 times continuously differentiable."]),
        (Laplacian(), ["f is continuous."]),
        (Gaussian().on("a") + Gaussian().on("b"), ["rows that differ in columns 'a', 'b' can be"]),
        (Periodic(period=7), ["distinct points of the circle of circumference 7 are invertible"]),
        (
            Taylor(lambda n: 0.5**n, radius=1),
            ["may be singular", "It is not known whether MMD", "It is not known whether finitely"],
        ),
    ],
    ids=repr,
)
def test_consequences(kernel, phrases):
    says = sections(kernel)[3]
    for phrase in phrases:
        assert phrase in says


def test_no_consequences_without_a_kernel():
    parts = sections(Custom(min) + Gaussian())
    assert parts[1].startswith("is not known to be a kernel: ")
    assert len(parts) == 3


def test_the_bounds_hold():
    rng = np.random.default_rng(0)
    X, Z, alpha = rng.normal(size=(30, 2)), rng.normal(size=(5, 2)), rng.normal(size=5)
    for k in (Gaussian(), Gaussian() + Linear(), Polynomial(degree=2), Matern()):
        f = k(X, Z) @ alpha
        norm = np.sqrt(alpha @ k(Z) @ alpha)
        assert np.all(np.abs(f) <= norm * np.sqrt(np.diag(k(X))) + 1e-12)
        assert np.all(np.abs(f[:, None] - f[None, :]) <= norm * k.distance(X) + 1e-7)
