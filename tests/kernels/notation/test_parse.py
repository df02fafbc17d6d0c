"""parse reads back what kernels print, and refuses everything else without running it."""

import time
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer import (
    Categorical,
    Constant,
    Exponential,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    On,
    Polynomial,
    Power,
    Precomputed,
    Product,
    Spectrum,
    Sum,
    Taylor,
    Through,
    parse,
)
from mercer.exceptions import NotAKernelError

positive = st.floats(1e-6, 1e6)
leaves = st.one_of(
    st.builds(Gaussian, positive | st.sampled_from(["median", "scale"])),
    st.builds(Gaussian, st.lists(positive, min_size=1, max_size=3)),
    st.builds(Laplacian, positive, st.sampled_from([1, 2])),
    st.builds(Matern, positive, st.floats(0.1, 9)),
    st.builds(Polynomial, st.integers(1, 5), st.floats(0, 10), positive),
    st.builds(Exponential, positive),
    st.builds(Taylor, st.lists(st.floats(0, 5), min_size=1, max_size=4), st.none() | positive),
    st.builds(Spectrum, st.integers(1, 9)),
    st.builds(Constant, st.floats(0, 1e6) | st.integers(0, 10)),
    st.sampled_from([Linear(), Categorical(), Precomputed(), Taylor([1, 2], radius=np.inf)]),
)
columns = st.one_of(
    st.integers(-3, 3),
    st.text(max_size=4),
    st.lists(st.integers(0, 5), min_size=1, max_size=3),
    st.builds(slice, st.integers(0, 3), st.integers(3, 5)),
    st.tuples(st.text(max_size=2), st.integers()),
)
points = st.none() | st.lists(st.lists(st.floats(-5, 5), min_size=1, max_size=1), max_size=3)


def grow(kernels):
    return st.one_of(
        st.builds(Sum, kernels, kernels),
        st.builds(Product, kernels, kernels),
        st.builds(Power, kernels, st.integers(1, 4)),
        st.builds(On, kernels, columns),
        st.builds(Normalized, kernels),
        st.builds(lambda k, z: k.center(z), kernels, points),
        st.builds(Through, kernels, points),
    )


@settings(max_examples=300, deadline=None)
@given(st.recursive(leaves, grow, max_leaves=8))
def test_reads_back_what_is_printed(kernel):
    assert parse(repr(kernel)) == kernel


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("Gaussian()", Gaussian()),
        (" Gaussian( 2 ) ", Gaussian(2)),
        ("Gaussian(lengthscale='median')", Gaussian("median")),
        ("2*Gaussian()+1", 2 * Gaussian() + 1),
        ("(Linear() + 1)**2", (Linear() + 1) ** 2),
        ("Linear() + Linear() * Gaussian()", Linear() + Linear() * Gaussian()),
        ("Gaussian() / 4", 0.25 * Gaussian()),
        ("1/2 * Gaussian()", 0.5 * Gaussian()),
        ("(3 - 1) * Gaussian()", 2 * Gaussian()),
        ("Gaussian() ** 0", Constant(1)),
        ("Gaussian.from_gamma(0.5)", Gaussian(1.0)),
        ("Laplacian.from_gamma(gamma=2, p=1)", Laplacian(0.5, 1)),
        ("Gaussian().on('a') * Spectrum(2).on(\"b\")", Gaussian().on("a") * Spectrum(2).on("b")),
        ("Linear().on([0, 1]).normalize()", Linear().on([0, 1]).normalize()),
        ("Linear().on(slice(2))", Linear().on(slice(2))),
        ("Sum(Gaussian(), Linear())", Gaussian() + Linear()),
        ("On(Gaussian(), ('a', 1))", Gaussian().on(("a", 1))),
        ("Linear().center([[1.0], [+2]])", Linear().center([[1.0], [2]])),
    ],
)
def test_reads_what_people_write(text, kernel):
    assert parse(text) == kernel


def test_arrays_and_zeros_are_read_back():
    assert parse(repr(Gaussian(np.array([1.0, 2.0])))) == Gaussian(np.array([1.0, 2.0]))
    k = (Gaussian() + 1).set_params(right__value=0)  # as a grid search would
    assert parse(repr(k)) == k
    assert parse(repr(sum([Gaussian(i + 1.0) for i in range(150)]))).left.right == Gaussian(149.0)


@pytest.mark.parametrize("count", [65, 784, 5000])
def test_many_lengthscales_and_columns_are_read_back(count):
    scales = np.linspace(0.1, 10, count)
    for kernel in (
        Gaussian(scales),
        Gaussian(scales.tolist()),
        Gaussian(tuple(scales)),
        Gaussian().on(list(range(count))),
        Gaussian().on([f"x{i}" for i in range(count)]),
    ):
        assert parse(repr(kernel)) == kernel


def test_every_shipped_kernel_is_known():
    with pytest.raises(ValueError, match="Known kernels") as caught:
        parse("Nothing()")
    listed = str(caught.value).removesuffix(".").split("Known kernels: ")[1].split(", ")
    for name in filter(str.istitle, mercer.__all__):
        value = getattr(mercer, name)
        kernel = isinstance(value, type) and issubclass(value, Kernel) and value is not Kernel
        assert kernel == (name in listed)


def test_kernels_of_the_user():
    @dataclass(eq=False, repr=False)
    class Homemade(Kernel):
        size: float = 1.0

        def pairwise(self, X, Y):
            return self.size * np.ones((len(X), len(Y)))

    assert parse("2 * Homemade(size=3)") == 2 * Homemade(size=3)


@pytest.mark.parametrize(
    "text",
    ["Gaussian() - Linear()", "2 - Gaussian()", "-Gaussian()", "-2 * Gaussian()", "Linear() + -1"]
    + ["Gaussian() ** 0.5", "Gaussian() ** -1", "Taylor([1, -1])", "Gaussian() / -2"],
)
def test_what_is_not_a_kernel_gets_the_sentence_of_the_library(text):
    with pytest.raises(NotAKernelError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Gausian()", "'Gausian' is not a kernel; did you mean Gaussian.$"),
        ("Gaussian", "write Gaussian.* with its brackets"),
        ("Gaussian(gamma=1)", "unexpected keyword argument 'gamma'; .* lengthscale"),
        ("Gaussian(1, 2)", "too many positional arguments"),
        ("Gaussian(1, lengthscale=2)", "multiple values"),
        ("Gaussian(lengthscale=1, lengthscale=2)", "given twice"),
        ("Gaussian(-1)", "lengthscale must be positive"),
        ("Gaussian(Linear())", "lengthscale must be positive"),
        ("On(Gaussian())", "missing a required argument: 'columns'"),
        ("Gaussian().pullback(1)", "methods that can be used"),
        ("Gaussian().__class__", "cannot be parsed"),
        ("Gaussian.__init__(1)", "no such constructor"),
        ("Gaussian.from_nowhere(1)", "no such constructor"),
        ("Gaussian.registry.clear()", "cannot be parsed"),
        ("Gaussian() / 0", "division by zero"),
        ("2 / Gaussian()", "cannot be parsed"),
        ("Gaussian() + True", "cannot be parsed"),
        ("Gaussian() * 'a'", "cannot be parsed"),
        ("Gaussian() @ Linear()", "cannot be parsed"),
        ("Gaussian() if True else Linear()", "cannot be parsed"),
        ("Gaussian(*[1])", "cannot be parsed"),
        ("Gaussian(**{})", "not read"),
        ("Gaussian()(1)", "only kernels and their methods can be called"),
        ("Custom(lambda x, y: 1)", "'lambda x, y: 1' cannot be parsed"),
        ("Custom(print)", "'print' is not a kernel"),
        ("Kernel()", "'Kernel' is not a kernel"),
        ("Transform(Linear())", "'Transform' is not a kernel"),
        ("Plan()", "'Plan' is not a kernel"),
        ("3", "'3' is not a kernel"),
        ("1 + 2j", "'2j' cannot be parsed"),
        ("", "not an expression"),
        ("Gaussian(", "not an expression"),
        ("import os", "not an expression"),
        ("x := Gaussian()", "not an expression"),
        ("Gaussian()\0", "not an expression"),
    ],
)
def test_errors_name_the_piece(text, message):
    with pytest.raises(ValueError, match=message):
        parse(text)


def test_text_only():
    with pytest.raises(ValueError, match="must be a string, got a Gaussian"):
        parse(Gaussian())


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').abort()",
        "exit()",
        "[abort() for abort in ()]",
        "Gaussian.__subclasses__()[0]()",
        "9**9**9**9 * Gaussian()",
        "'a' * 1000000000000",
        "Gaussian(9**999999999)",
        "9" * 9000 + " * Gaussian()",
        "9" * 4000 + " * Gaussian()",
        "1e999 * Gaussian()",
        "(" * 4000 + ")" * 4000,
        "[" * 99 + "]" * 99,
        "-" * 9000 + "1",
        "Gaussian()" + " + Linear()" * 800,
        "Gaussian()" + ".normalize()" * 400,
        "Gaussian()" + " ** 2" * 1500,
        " " * 20_000,
        "Sum(Linear(), " * 190 + "Linear()" + ")" * 190,
    ],
    ids=lambda text: text[:24],
)
def test_hostile_text_is_refused_at_once(text):
    parse("Linear()")
    start = time.perf_counter()
    with pytest.raises(ValueError, match=r"parse|not a kernel|must be"):
        parse(text)
    assert time.perf_counter() - start < 5


def test_dicts_are_values():
    found = parse("Jaccard({'a': 1.0, 2: 0.5})")
    assert found.measure == {"a": 1.0, 2: 0.5}
    assert parse(repr(found)) == found
    with pytest.raises(ValueError, match=r"\*\* in a dict"):
        parse("Jaccard({**{}})")
