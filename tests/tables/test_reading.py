"""Reading tables: separators, headers, compression, and what is refused."""

import builtins

import numpy as np
import pandas as pd
import pytest

from mercer.tables.reading import read_table


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
        ("a.csv", b"x ,x\n1,2\n", "two columns of the same name, 'x'"),
        ("a.csv", b"x,y,x\n1,2,3\n", "two columns of the same name, 'x'"),
        ("a.csv", b"x,y\na,1,2\nb,3,4\n", "rows have 3 values, and the first line has 2 names"),
        ("a.csv", b"x,y\n1,2\n1,2,3\n", "not a table"),
        ("a.csv", b"x,y\n\x00\x01,1\n", "no text"),
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


@pytest.mark.parametrize(
    "text",
    [
        "x,y\n1,2,\n3,4,\n",
        "x,y,\n1,2,\n3,4,\n",
        "x,y\n1,2,,\n3,4,,\n",
        '"x";"y"\n1;2;\n3;4;\n',
        "\nx,y\n1,2,\n3,4,\n",
    ],
)
def test_rows_that_end_in_a_separator(text, tmp_path):
    """No column moves."""
    (tmp_path / "a.csv").write_text(text)
    table = read_table(tmp_path / "a.csv")
    assert list(table.columns) == ["x", "y"]
    np.testing.assert_array_equal(table.to_numpy(), [[1, 2], [3, 4]])


def test_columns_without_a_name_are_kept(tmp_path):
    (tmp_path / "a.csv").write_text(',x,"a,b"\n0,1,2\n1,3,4\n')
    assert list(read_table(tmp_path / "a.csv").columns) == ["Unnamed: 0", "x", "a,b"]


def test_bytes_in_parquet_are_strings(tmp_path):
    table = pd.DataFrame({"s": [b"K\xc3\xb6ln", None, b"Bonn"], "raw": [b"\xff", b"\xfe", b"a"]})
    table.to_parquet(tmp_path / "a.parquet")
    found = read_table(tmp_path / "a.parquet")
    assert [x for x in found["s"] if isinstance(x, str)] == ["Köln", "Bonn"]
    assert found["raw"].tolist() == [b"\xff", b"\xfe", b"a"]
