"""Telling numbers, labels, text and the useless apart."""

import numpy as np
import pandas as pd
import pytest

from mercer.tables.reading import read_table
from mercer.tables.roles import (
    Column,
    describe,
    few_whole_numbers,
    holds_labels,
    incomplete,
    label_target,
    numeric_target,
    tidy,
)


def roles(table, **settled):
    return {c.name: c.role for c in describe(table, settled)}


# ---- roles -----------------------------------------------------------------------------------
def test_roles(rng):
    n = 50
    table = pd.DataFrame(
        {
            "id": np.arange(n),
            "year": np.arange(1950, 1950 + n),
            "x": rng.normal(size=n),
            "yes": rng.random(n) < 0.5,
            "colour": rng.choice(["red", "blue"], n),
            "kind": pd.Categorical(rng.integers(0, 3, n)),
            "name": [f"P{i}" for i in range(n)],
            "smiles": ["".join(rng.choice(list("CNO()="), 30)) for _ in range(n)],
            "same": 1.0,
            "empty": np.nan,
            "when": pd.date_range("2020-01-01", periods=n),
            "day": [f"2020-01-{i % 28 + 1:02d}" for i in range(n)],
            "power": [str(x) for x in range(n - 3)] + ["?"] * 3,
        }
    )
    found = roles(table)
    assert found == {
        "id": "skipped",
        "year": "number",
        "x": "number",
        "yes": "label",
        "colour": "label",
        "kind": "label",
        "name": "skipped",
        "smiles": "text",
        "same": "skipped",
        "empty": "skipped",
        "when": "date",
        "day": "date",
        "power": "number",
    }
    assert "'?'" in next(c.why for c in describe(table) if c.name == "power")
    assert all(c.why for c in describe(table) if c.role == "skipped")
    assert roles(table, name="text", year="label")["name"] == "text"
    assert describe(table[["year"]], {"year": "label"}) == [Column("year", "label")]
    with pytest.raises(ValueError, match="no column 'wrong'"):
        describe(table, {"wrong": "label"})


def test_columns_that_hold_objects():
    """Lists, arrays and bytes, as Parquet files have them."""
    table = pd.DataFrame(
        {
            "list": [[1, 2], [3]] * 3,
            "array": [np.arange(2), np.arange(3)] * 3,
            "bytes": [b"\xff", b"\xfe"] * 3,
        }
    )
    for column in describe(table):
        assert column.role == "skipped"
        assert "objects" in column.why
    with pytest.raises(ValueError, match="'list' holds list objects, which are not labels"):
        describe(table, {"list": "label"})


def test_numbers_too_large_to_square():
    table = pd.DataFrame({"x": [1.0, 2.0, 1e308], "y": [1.0, 2.0, 1e99]})
    found = describe(table)
    assert [c.role for c in found] == ["skipped", "number"]
    assert "1e+308" in found[0].why


def test_numbers_as_people_write_them():
    """Roles, values, and a word on each thing that was done."""
    n = 20
    table = pd.DataFrame(
        {
            "german": [f"{i},5" for i in range(n)],
            "english": [f"{i},250.5" for i in range(1, n + 1)],
            "percent": [f"{i} %" for i in range(n)],
            "holes": ["?", "-", "n/a", *(str(i) for i in range(n - 3))],
            "mixed": ["left", "right"] * 7 + [str(i) for i in range(6)],
        }
    )
    found = {c.name: c for c in describe(table)}
    assert [c.role for c in found.values()] == ["number"] * 4 + ["label"]
    assert found["german"].why == "commas are decimal: '0,5' is read as 0.5"
    assert "'1,250.5' is read as 1250.5" in found["english"].why
    assert found["percent"].why == "'0 %' is read as 0"
    assert found["holes"].why == "'?' and the like, 3 in all, count as missing"
    assert found["mixed"].why == "read as labels: only 30% of its values are numbers"
    styles = {c.name: c.style for c in found.values()}
    values = tidy(table, dict.fromkeys(table.columns[:4], "number"), styles)
    np.testing.assert_array_equal(values["german"], np.arange(n) + 0.5)
    np.testing.assert_array_equal(values["english"], 1000 * np.arange(1, n + 1) + 250.5)
    np.testing.assert_allclose(values["percent"], np.arange(n) / 100)
    assert values["holes"].isna().sum() == 3


# ---- values ----------------------------------------------------------------------------------
def test_labels_are_the_same_from_every_file(tmp_path):
    """Booleans, whole numbers and strings with zeros in front: by hand, CSV or Parquet."""
    table = pd.DataFrame({"flag": [True, False], "code": ["007", "x"], "level": [1.0, 2.0]})
    wanted = {"flag": ["True", "False"], "code": ["007", "x"], "level": ["1", "2"]}
    known = dict.fromkeys(table.columns, "label")
    table.to_csv(tmp_path / "a.csv", index=False)
    table.to_parquet(tmp_path / "a.parquet")
    (tmp_path / "b.csv").write_text("flag,code,level\nTRUE,007,1\nfalse,x,2\n")
    for found in (
        table,
        read_table(tmp_path / "a.csv"),
        read_table(tmp_path / "a.parquet"),
        read_table(tmp_path / "b.csv", strings=known),
    ):
        assert tidy(found, known).to_dict("list") == wanted
    (tmp_path / "c.csv").write_text("flag,code,level\nTRUE,007,1\n")
    assert tidy(read_table(tmp_path / "c.csv", strings=known), known)["code"].tolist() == ["007"]


def test_missing_values():
    table = pd.DataFrame(
        {
            "x": ["1", "?", "3"],
            "y": [1.0, np.inf, 2.0],
            "c": ["a", None, pd.NA],
            "t": ["u", "v", None],
        }
    )
    known = {"x": "number", "y": "number", "c": "label", "t": "text"}
    found = tidy(table, known)
    np.testing.assert_array_equal(found["x"], [1, np.nan, 3])
    np.testing.assert_array_equal(found["y"], [1, np.nan, 2])
    assert found["c"].tolist() == ["a", None, None]
    np.testing.assert_array_equal(incomplete(found, known), [False, True, True])
    with pytest.raises(ValueError, match=r"no columns 'z', 'w'; it has: 'x', 'y', 'c', 't'"):
        tidy(table, {"z": "number", "w": "label"})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["setosa", "virginica"] * 10, r"labels \('setosa', 'virginica'\), not numbers"),
        ([*range(15), 1e308], "values as large as 1e\\+308"),
        (1e-200 * np.arange(20), "differ by 2e-199, whose squares underflow"),
        ([True, False] * 10, "--task classification"),
        ([2.0] * 20, "same value in every row"),
        ([np.nan] * 20, "missing in every row"),
    ],
)
def test_targets_that_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        numeric_target(pd.DataFrame({"y": values}), "y")


def test_targets():
    table = pd.DataFrame({"y": [0, 1, 1], "z": [1.5, np.nan, np.inf]})
    np.testing.assert_array_equal(numeric_target(table, "y")[0], [0, 1, 1])
    with pytest.raises(ValueError, match="same value"):
        numeric_target(table, "z")
    text = pd.DataFrame({"y": [f"{x}.5" for x in range(20)] + ["n/a"]})
    np.testing.assert_array_equal(numeric_target(text, "y")[0], [*np.arange(20) + 0.5, np.nan])
    german = pd.DataFrame({"y": ["1,5", "12,25", "1.000,0", "?", "3"] * 3})
    values, how = numeric_target(german, "y")
    np.testing.assert_array_equal(values[:5], [1.5, 12.25, 1000, np.nan, 3])
    assert how == "commas are decimal: '1,5' is read as 1.5"


@pytest.mark.parametrize(
    ("values", "labels", "few"),
    [
        (["a", "b"] * 10, True, 0),
        (["0", "1"] * 10, True, 2),
        ([True, False] * 10, True, 2),
        (pd.Categorical(np.arange(20)), True, 0),
        ([f"{x}.5" for x in range(20)], False, 0),
        (np.arange(20) % 3, False, 3),
        ([*[1.0, 2.0] * 5, np.nan], True, 2),
        ([0, 1] * 10, True, 2),
        ([1.5, 2.5] * 5, True, 0),
        ([1.5, 2.5, 3.5] * 5, False, 0),
        (np.arange(20), False, 0),
    ],
)
def test_labels_or_numbers(values, labels, few):
    table = pd.DataFrame({"y": values})
    assert holds_labels(table, "y") is labels
    if not labels:
        assert few_whole_numbers(table, "y") == few


def test_label_targets():
    table = pd.DataFrame({"y": [1.0, np.nan, 2.0], "z": [True, False, True], "w": ["a", "a", None]})
    assert label_target(table, "y").tolist() == ["1", None, "2"]
    assert label_target(table, "z").tolist() == ["True", "False", "True"]
    with pytest.raises(ValueError, match="same value in every row"):
        label_target(table, "w")
    with pytest.raises(ValueError, match="missing in every row"):
        label_target(pd.DataFrame({"y": [None, None]}), "y")
    with pytest.raises(ValueError, match="no column 'v'"):
        label_target(table, "v")


def test_what_only_resembles_dates():
    (column,) = describe(pd.DataFrame({"version": ["1.2.2024555", "1.3.2024555"] * 4}))
    assert column.role == "label"


def test_copies_counters_and_codes(rng):
    """What says nothing new is skipped, with the reason; names are not codes."""
    n = 60
    x = rng.normal(size=n)
    table = pd.DataFrame(
        {
            "x": x,
            "again": x,
            "PassengerId": rng.permutation(n) + 100,
            "uuid": [f"{i:08x}-{i * 7919:012x}" for i in range(n)],
            "who": [f"{a}{b} {i}son" for i, (a, b) in enumerate(rng.choice(list("AbCdE"), (n, 2)))],
            "there": np.where(rng.random(n) < 0.5, "yes", None),
        }
    )
    found = {c.name: c for c in describe(table)}
    assert {name: c.role for name, c in found.items()} == {
        "x": "number", "again": "skipped", "PassengerId": "skipped", "uuid": "skipped",
        "who": "text", "there": "label",
    }  # fmt: skip
    assert found["again"].why == "the same as 'x' in every row"
    assert roles(table, again="number")["again"] == "number"
    with pytest.raises(ValueError, match="role of 'x' must be one of number, label, text, date"):
        describe(table, {"x": "nummber"})
