"""Reading tables, and telling numbers, labels, text and the useless apart."""

import builtins

import numpy as np
import pandas as pd
import pytest

from mercer.cli.tables import (
    Column,
    describe,
    few_whole_numbers,
    holds_labels,
    incomplete,
    label_target,
    numeric_target,
    read_table,
    tidy,
)


def roles(table, **settled):
    return {c.name: c.role for c in describe(table, settled)}


# ---- files -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "x,y\n1,2\n3,4\n"),
        ("a.csv", "x;y\n1;2\n3;4\n"),
        ("a.csv", "\ufeff x , y\n1, 2\n3, 4\n"),
        ("a.CSV", '"x"|"y"\n1|2\n3|4\n'),
        ("a.txt", "x\ty\n1\t2\n3\t4\n"),
        ("a.b.tsv", "x\ty\n1\t2\n3\t4\n"),
    ],
)
def test_separators(name, text, tmp_path):
    (tmp_path / name).write_text(text, encoding="utf-8")
    table = read_table(tmp_path / name)
    assert list(table.columns) == ["x", "y"]
    np.testing.assert_array_equal(table.to_numpy(), [[1, 2], [3, 4]])


def test_compressed_and_parquet(tmp_path):
    table = pd.DataFrame({"x": [1.5, 2.5], "who": ["a,b", "c"]})
    table.to_csv(tmp_path / "a.csv.gz", index=False)
    table.to_parquet(tmp_path / "a.parquet")
    pd.testing.assert_frame_equal(read_table(tmp_path / "a.csv.gz"), table)
    pd.testing.assert_frame_equal(read_table(tmp_path / "a.parquet"), table)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xlsx", b"PK", r"\.csv, \.tsv or \.parquet file, not '\.xlsx'"),
        ("a.csv", b"", "not a table"),
        ("a.csv", b"x,y\n", "no rows"),
        ("a.csv", b"x ,x\n1,2\n", "two columns of the same name"),
        ("a.csv", b"x,y\n1,2\n1,2,3\n", "not a table"),
        ("a.csv", b"x,y\n\xff\xfe,1\n", "not UTF-8"),
    ],
)
def test_bad_files(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / name)


def test_no_such_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file '.*gone\.csv'"):
        read_table(tmp_path / "gone.csv")


def test_without_pandas(tmp_path, monkeypatch):
    original = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "pandas":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r'pip install "mercer\[table\]"'):
        read_table(tmp_path / "a.csv")


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
        "when": "skipped",
        "day": "skipped",
        "power": "number",
    }
    assert "'?'" in next(c.why for c in describe(table) if c.name == "power")
    assert all(c.why for c in describe(table) if c.role == "skipped")
    assert roles(table, name="text", year="label")["name"] == "text"
    assert describe(table[["year"]], {"year": "label"}) == [Column("year", "label")]
    with pytest.raises(ValueError, match="no column 'wrong'"):
        describe(table, {"wrong": "label"})


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
    with pytest.raises(ValueError, match=r"no column 'z', 'w'; it has: 'x', 'y', 'c', 't'"):
        tidy(table, {"z": "number", "w": "label"})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["setosa", "virginica"] * 10, r"labels \('setosa', 'virginica'\), not numbers"),
        (["0", "1"] * 10, "--task classification"),
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
    np.testing.assert_array_equal(numeric_target(table, "y"), [0, 1, 1])
    with pytest.raises(ValueError, match="same value"):
        numeric_target(table, "z")
    text = pd.DataFrame({"y": [f"{x}.5" for x in range(20)] + ["n/a"]})
    np.testing.assert_array_equal(numeric_target(text, "y"), [*np.arange(20) + 0.5, np.nan])


@pytest.mark.parametrize(
    ("values", "labels", "few"),
    [
        (["a", "b"] * 10, True, 0),
        (["0", "1"] * 10, True, 2),
        ([True, False] * 10, True, 2),
        (pd.Categorical(np.arange(20)), True, 0),
        ([f"{x}.5" for x in range(20)], False, 0),
        (np.arange(20) % 3, False, 3),
        ([*[1.0, 2.0] * 5, np.nan], False, 2),
        ([1.5, 2.5] * 5, False, 0),
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
