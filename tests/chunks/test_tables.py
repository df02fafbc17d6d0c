"""Chunks of Parquet, Arrow and CSV files."""

import gzip

import numpy as np
import pytest

from mercer import Gaussian, stream
from mercer.exceptions import FileFormatError

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pq = pytest.importorskip("pyarrow.parquet")


def table(n=100):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.normal(size=n),
            "dose": rng.integers(0, 9, n),
            "name": rng.choice(["ann", "bob", "eve"], n),
            "y": rng.normal(size=n),
            "w": rng.random(n),
        }
    )


def whole(chunks):
    return pd.concat([c.X for c in chunks], ignore_index=True)


@pytest.fixture(params=["parquet", "folder", "parts", "list", "table", "dataset", "feather", "csv",
                        "semicolons", "compressed"])  # fmt: skip
def source(request, tmp_path):
    T = table()
    kind = request.param
    if kind == "parquet":
        pq.write_table(pa.Table.from_pandas(T), tmp_path / "t.parquet", row_group_size=13)
        return tmp_path / "t.parquet"
    if kind in ("folder", "list", "dataset"):
        for i in range(4):
            T[25 * i : 25 * (i + 1)].to_parquet(tmp_path / f"part-{i}.parquet", index=False)
        if kind == "list":
            return sorted(tmp_path.iterdir())
        return pa.dataset.dataset(tmp_path) if kind == "dataset" else tmp_path
    if kind == "parts":
        for i, part in enumerate((T[:50], T[50:])):
            (tmp_path / f"half={i}").mkdir()
            part.to_parquet(tmp_path / f"half={i}" / "a.parquet", index=False)
        return tmp_path
    if kind == "table":
        return pa.Table.from_pandas(T)
    if kind == "feather":
        T.to_feather(tmp_path / "t.feather")
        return tmp_path / "t.feather"
    suffix = "csv.gz" if kind == "compressed" else "csv"
    path = tmp_path / f"t.{suffix}"
    T.to_csv(path, index=False, sep=";" if kind == "semicolons" else ",")
    return path


def test_all_rows_come_in_order_with_their_roles(source):
    T = table()
    chunks = stream(source, "y", "w", columns=["age", "dose", "name"], rows=30)
    assert len(chunks) == 100
    for _ in range(2):
        assert [len(c) for c in chunks] == [30, 30, 30, 10]
    X = whole(chunks)
    assert list(X.columns) == ["age", "dose", "name"]
    np.testing.assert_allclose(X[["age", "dose"]], T[["age", "dose"]], rtol=1e-15)
    assert X["name"].tolist() == T["name"].tolist()
    np.testing.assert_allclose(np.concatenate([c.y for c in chunks]), T["y"], rtol=1e-15)
    np.testing.assert_allclose(np.concatenate([c.weight for c in chunks]), T["w"], rtol=1e-15)


def test_kernels_on_columns_work_on_chunks(source):
    T = table()
    k = Gaussian(1.0).on("age")
    (chunk,) = stream(source, "name", "w")
    np.testing.assert_allclose(k(chunk.X), k(T))
    assert set(chunk.y) == {"ann", "bob", "eve"}
    assert "name" not in chunk.X.columns


def test_partitions_of_a_folder_are_columns(tmp_path):
    for year in (2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        table(10).to_parquet(tmp_path / f"year={year}" / "a.parquet", index=False)
    X = whole(stream(tmp_path, columns=["age", "year"]))
    assert X["year"].tolist() == [2023] * 10 + [2024] * 10


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_missing_values_are_named_or_dropped(tmp_path, suffix):
    T = table()
    T.loc[57, "age"] = np.nan
    T.loc[80, "name"] = None
    path = tmp_path / f"t.{suffix}"
    T.to_parquet(path) if suffix == "parquet" else T.to_csv(path, index=False)
    with pytest.raises(ValueError, match="row 57: column 'age' has no value"):
        list(stream(path, "y"))
    with pytest.raises(ValueError, match="row 80: column 'name' has no value"):
        list(stream(path, "name", columns=["dose"]))
    assert len(stream(path, "y", columns=["dose"])) == 100
    dropped = stream(path, "y", missing="drop", rows=20)
    assert len(dropped) == 98
    np.testing.assert_allclose(whole(dropped)["age"], T["age"].drop([57, 80]), rtol=1e-15)
    with pytest.raises(ValueError, match="missing must be one of"):
        stream(path, missing="guess")


def test_columns_that_are_not_there_are_named(source):
    with pytest.raises(ValueError, match=r"no column 'Y'; there are 'age', 'dose', 'name'"):
        stream(source, "Y")
    with pytest.raises(ValueError, match="no column 'x'"):
        stream(source, "y", columns=["x"])


def test_decimals_dictionaries_and_booleans(tmp_path):
    from decimal import Decimal

    T = pa.table(
        {
            "price": pa.array([Decimal("1.50"), Decimal("2.25")]),
            "kind": pa.array(["a", "b"]).dictionary_encode(),
            "on": pa.array([True, False]),
        }
    )
    (chunk,) = stream(T, target="kind")
    np.testing.assert_array_equal(chunk.X["price"], [1.5, 2.25])
    assert chunk.X["price"].dtype == float
    assert chunk.y.tolist() == ["a", "b"]
    np.testing.assert_array_equal(Gaussian(1.0).on("on")(chunk.X), Gaussian(1.0)([[1.0], [0.0]]))


def test_files_that_are_damaged_missing_or_empty(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no\.parquet"):
        stream(tmp_path / "no.parquet")
    with pytest.raises(FileNotFoundError, match=r"no\.csv"):
        stream(tmp_path / "no.csv")
    pq.write_table(pa.Table.from_pandas(table()), tmp_path / "t.parquet")
    content = (tmp_path / "t.parquet").read_bytes()
    for bad in (content[:-200], b"text", b""):
        (tmp_path / "bad.parquet").write_bytes(bad)
        with pytest.raises(FileFormatError, match=r"bad\.parquet"):
            stream(tmp_path / "bad.parquet")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(FileFormatError, match=r"empty\.csv"):
        stream(tmp_path / "empty.csv")
    (tmp_path / "header.csv").write_text("a,b\n")
    with pytest.raises(ValueError, match=r"no samples: .*header\.csv"):
        list(stream(tmp_path / "header.csv"))
    (tmp_path / "twice.csv").write_text("a,a\n1,2\n")
    with pytest.raises(ValueError, match="two columns with the same name, 'a'"):
        stream(tmp_path / "twice.csv")
    packed = gzip.compress(table(20_000).to_csv(index=False).encode())
    (tmp_path / "cut.csv.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(FileFormatError, match=r"cut\.csv\.gz"):
        list(stream(tmp_path / "cut.csv.gz"))


def test_a_csv_file_whose_types_change_later(tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.chunks.tables._BLOCK", 1000)
    path = tmp_path / "t.csv"
    n = 700
    path.write_text("a,b\n" + "1,2\n" * n + "1.5,3\n")
    assert stream(path).reduce(lambda c: (c.X["a"].sum(),))[0] == n + 1.5
    path.write_text("a,b\n" + "1,2\n" * n + "1,x\n")
    with pytest.raises(FileFormatError, match=r"t\.csv, after row .*'x'"):
        list(stream(path))
    path.write_text("a,b\n1,2\n1,2,3\n")
    with pytest.raises(FileFormatError, match="Expected 2 columns, got 3"):
        list(stream(path))


def test_days_with_gaps_are_stamps(tmp_path):
    path = tmp_path / "days.csv"
    path.write_text("day,y\n2021-03-19,1\n,2\n2020-02-29,3\n")
    [chunk] = stream(path, target="y", missing="keep")
    assert chunk.X["day"].dtype.kind == "M"
    assert chunk.X["day"].isna().tolist() == [False, True, False]
    assert str(chunk.X["day"][2].date()) == "2020-02-29"
