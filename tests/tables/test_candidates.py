"""The kernels that are tried on a table: right columns, right scales, all of them kernels."""

import numpy as np
import pandas as pd
import pytest

from mercer import Gaussian, Spectrum, parse
from mercer.tables.candidates import on_table, table_kernels, text_kernels
from mercer.testing import check_psd

ROLES = {"x": "number", "z": "number", "colour": "label", "side": "label", "dna": "text"}


@pytest.fixture
def table(rng):
    n = 30
    return pd.DataFrame(
        {
            "x": rng.normal(50, 5, n),
            "z": rng.normal(-1, 0.01, n),
            "colour": rng.choice(["r", "g", "b"], n),
            "side": rng.choice(["left", "right"], n),
            "dna": ["".join(rng.choice(list("ACGT"), 25)) for _ in range(n)],
        }
    )


def only(*roles):
    return {name: role for name, role in ROLES.items() if role in roles}


@pytest.mark.parametrize("used", [("number",), ("label",), ("number", "label")])
def test_kernels_of_numbers_and_labels(used, table):
    kernels = table_kernels(table, only(*used))
    assert len(kernels) == 11 * (1 + ("label" in used)) if "number" in used else 8
    for kernel in kernels:
        assert set(dict(kernel.domain.parts)) == set(only(*used))
        np.testing.assert_allclose(np.diag(kernel(table)), 1, rtol=1e-12)
        check_psd(kernel, table)
        assert parse(repr(kernel)) == kernel  # what is printed can be given with --kernel


def test_columns_are_scaled(table):
    """Units do not matter: up to the three digits that are kept."""
    first = [k(table) for k in table_kernels(table, only("number"))]
    table = table.assign(x=1000 * table["x"], z=table["z"] / 7 + 5)
    second = [k(table) for k in table_kernels(table, only("number"))]
    for a, b in zip(first, second, strict=True):
        np.testing.assert_allclose(a, b, atol=0.01)


def test_constant_columns_do_no_harm(table):
    for kernel in table_kernels(table.assign(z=3.0), only("number")):
        assert np.isfinite(kernel(table)).all()


def test_a_column_that_is_constant_up_to_rounding_of_its_mean():
    """A table may vary where the rows that a model is fitted to do not."""
    table = pd.DataFrame({"a": np.arange(57.0), "b": np.full(57, 0.1)})
    roles = {"a": "number", "b": "number"}
    for kernel in table_kernels(table, roles):
        other = table.head(1).assign(b=0.2)
        assert kernel(table.head(1), other)[0, 0] > 0.5 * kernel(table.head(1))[0, 0]


def test_text_kernels(table):
    rest = Gaussian(5.0).on("x")
    assert len(text_kernels(only("text"), None)) == 3
    for kernel in text_kernels(ROLES, rest) + text_kernels(only("text"), None):
        assert "dna" in dict(kernel.domain.parts)
        check_psd(kernel, table)
    two = text_kernels({"dna": "text", "side": "text"}, None)
    assert all(set(dict(k.domain.parts)) == {"dna", "side"} for k in two)


def test_kernels_of_users_find_their_columns():
    assert on_table(Gaussian(), ROLES) == Gaussian().on(["x", "z"])
    assert on_table(Spectrum(2), ROLES) == Spectrum(2).on("dna")
    assert on_table(Gaussian().on("x") + 1, ROLES) == Gaussian().on("x") + 1
    with pytest.raises(ValueError, match=r"2 columns of role 'label'; say which one with \.on"):
        on_table(parse("Categorical()"), ROLES)
    with pytest.raises(ValueError, match="0 columns of role 'number'"):
        on_table(Gaussian(), only("text"))
