import inspect
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mercer
from mercer.reports.formula import definition, formula, mathml


def tree(tex):
    """Tags and text of a formula, nested."""

    def read(node):
        return node.tag if not (len(node) or node.text) else (
            f"{node.tag}:{node.text}" if node.text else [node.tag, *map(read, node)]
        )  # fmt: skip

    return read(ElementTree.fromstring(mathml(tex)))


def test_what_stands_above_and_below():
    assert tree("x_i^2") == ["math", ["msubsup", "mi:x", "mi:i", "mn:2"]]
    assert tree(r"\sum_{i<n} x") == [
        "math", ["munder", "mo:∑", ["mrow", "mi:i", "mo:<", "mi:n"]], "mi:x",
    ]  # fmt: skip
    assert tree("G'_l") == ["math", ["msubsup", "mi:G", "mi:l", "mo:′"]]


def test_fractions_take_one_digit_or_a_group():
    assert tree(r"\tfrac12") == ["math", ["mfrac", "mn:1", "mn:2"]]
    assert tree(r"\frac{10}{2^n}") == ["math", ["mfrac", "mn:10", ["msup", "mn:2", "mi:n"]]]
    assert tree("x^10") == ["math", ["msup", "mi:x", "mn:1"], "mn:0"]


def test_words_keep_their_spaces():
    assert tree(r"u \text{ of } \mathrm{con} \mathbb E") == [
        "math", "mi:u", "mtext: of ", "mi:con", "mi:𝔼",
    ]  # fmt: skip


def test_brackets_that_grow_and_those_that_do_not():
    found = ElementTree.fromstring(mathml(r"\left( \frac{a}{b} \right) (c) \right."))
    assert [node.get("stretchy") for node in found.iter("mo")] == ["true"] * 2 + ["false"] * 2


@given(st.text(alphabet="\\{}^_'abx12<&+-|[]() \n#frac", max_size=60))
def test_any_text_makes_a_formula_in_balance(tex):
    ElementTree.fromstring(mathml(tex))


KERNELS = [
    kernel
    for kernel in (getattr(mercer.kernels, name) for name in mercer.kernels.__all__)
    if inspect.isclass(kernel)
    and issubclass(kernel, mercer.Kernel)
    and not inspect.isabstract(kernel)
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_formulas_of_docstrings_are_understood(kernel):
    """No command is left that would be shown by its name."""
    found = definition(object.__new__(kernel))
    if found is None:
        return
    words = {node.text for node in ElementTree.fromstring(mathml(found)).iter("mtext")}
    assert not {word for word in words if word.isalpha() and f"\\{word}" in found}


def test_most_kernels_have_a_formula():
    have = [kernel for kernel in KERNELS if definition(object.__new__(kernel))]
    assert len(have) > 60


def test_the_algebra_is_set_as_it_is_written(read):
    k = 2 * mercer.Gaussian(1.5).on(["age", "bmi"]) * mercer.Spectrum(3).on("gene").normalize()
    page = read(str(formula((k + mercer.Linear()) ** 2 + 0.5)))
    assert "0.5" in page.text
    assert "on age, bmi" in page.text
    assert len(page.of("li")) == 3
    assert "normalised" in page.text


def test_equal_parts_are_listed_once(read):
    k = mercer.Gaussian(1.5)
    assert len(read(str(formula(k * k + k))).of("li")) == 1


def test_names_of_columns_are_escaped(read):
    page = read(str(formula(mercer.Linear().on("<script>") + 1)))
    assert "on <script>" in page.text
