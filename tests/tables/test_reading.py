"""Reading tables: separators, headers, compression, and what is refused."""

import builtins
import bz2
import gzip
import io
import lzma
import zipfile

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
        ("a.csv", b"x,y\n\x00\x01,1\n", "not text"),
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


@pytest.mark.parametrize(
    ("suffix", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)]
)
def test_damaged_compressed_files(suffix, pack, tmp_path):
    """Wherever a byte is wrong: the table, or an error that names the file."""
    data = pack(b"x,y\n" + b"".join(b"%d,%d\n" % (i, i * i % 97) for i in range(200)))
    path, refused = tmp_path / f"a.csv.{suffix}", []
    for at in range(0, len(data), 7):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x5A]) + data[at + 1 :])
        try:
            read_table(path)
        except ValueError as error:
            refused.append(str(error))
    assert len(refused) > len(data) // 14
    assert all(str(path) in words for words in refused)


def test_archives_of_a_later_version(tmp_path):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a.csv", "x,y\n1,2\n")
    data = bytearray(stream.getvalue())
    data[data.index(b"PK\x01\x02") + 6] = 116  # the version that is needed to unpack it, times ten
    (tmp_path / "a.csv.zip").write_bytes(data)
    with pytest.raises(
        ValueError, match=r"a\.csv\.zip cannot be decompressed: zip file version 11\.6"
    ):
        read_table(tmp_path / "a.csv.zip")


def test_archives_with_a_password(tmp_path):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a.csv", "x,y\n1,2\n")
    data = bytearray(stream.getvalue())
    data[6] |= 1  # the flag, in the file's own header and in the directory
    data[data.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "a.csv.zip").write_bytes(data)
    with pytest.raises(ValueError, match=r"a\.csv\.zip cannot be decompressed: .* encrypted"):
        read_table(tmp_path / "a.csv.zip")


def test_what_unpacks_to_more_than_the_memory_is_refused(tmp_path, monkeypatch):
    """A small file may hold a table of any size."""
    import pyarrow as pa
    from pyarrow import parquet

    monkeypatch.setattr("mercer.tables.reading._UNCHECKED", 1e4)
    monkeypatch.setattr("mercer.tables.reading.free_memory", lambda: 1e5)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"x\n" + b"0\n" * 50_000))
    parquet.write_table(pa.table({"x": np.zeros(50_000)}), tmp_path / "a.parquet")
    for name in ("a.csv.gz", "a.parquet"):
        assert (tmp_path / name).stat().st_size < 2000
        with pytest.raises(ValueError, match="more than fits in the 100 kB of memory"):
            read_table(tmp_path / name)
    (tmp_path / "b.csv").write_text("x\n" + "0\n" * 5000)
    assert len(read_table(tmp_path / "b.csv")) == 5000


def test_bytes_that_are_no_utf_8_at_the_end(tmp_path):
    """A letter that is cut off in the middle makes the file one of cp1252."""
    (tmp_path / "a.csv").write_bytes(b"x,y\n" + b"1,a\n" * 70_000 + "2,é".encode()[:-1])
    assert read_table(tmp_path / "a.csv")["y"].iloc[-1] == "Ã"
