"""One front door: what each source becomes."""

import numpy as np
import pytest

from mercer import Chunks, stream
from mercer.chunks import ArrayChunks, CsvChunks, FunctionChunks, ParquetChunks, SvmlightChunks


def test_names_of_files_say_what_is_in_them(tmp_path):
    (tmp_path / "a.SVM").write_text("1 1:1\n")
    assert type(stream(tmp_path / "a.SVM")) is SvmlightChunks
    (tmp_path / "a9a").write_text("1 1:1\n")
    assert type(stream(tmp_path / "a9a", format="svmlight")) is SvmlightChunks
    with pytest.raises(ValueError, match="does not show its format"):
        stream(tmp_path / "a9a")
    with pytest.raises(ValueError, match="format must be one of"):
        stream(tmp_path / "a9a", format="xls")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        stream(tmp_path / "nowhere")


def test_tables(tmp_path):
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    T = pd.DataFrame({"a": [1.0], "b": [2.0]})
    T.to_csv(tmp_path / "a.tsv", sep="\t", index=False)
    assert type(stream(str(tmp_path / "a.tsv"), "b")) is CsvChunks
    T.to_parquet(tmp_path / "a.parquet")
    assert type(stream(tmp_path / "a.parquet")) is ParquetChunks
    assert type(stream([tmp_path / "a.parquet"] * 2)) is ParquetChunks
    assert len(stream([tmp_path / "a.parquet"] * 2)) == 2


def test_containers_and_functions():
    assert type(stream(["ab", "c"])) is ArrayChunks  # strings are samples, too
    assert type(stream(lambda: [np.zeros((1, 1))])) is FunctionChunks
    chunks = stream(np.zeros((3, 1)))
    assert stream(chunks) is chunks
    assert isinstance(stream(chunks, columns=[0]), Chunks)


def test_lazy_tables_are_refused():
    pl = pytest.importorskip("polars")
    with pytest.raises(TypeError, match="sink_parquet"):
        stream(pl.LazyFrame({"a": [1.0]}))


def test_options_that_a_source_does_not_have_are_refused():
    with pytest.raises(TypeError, match="missing"):
        stream(np.zeros((3, 1)), missing="drop")
