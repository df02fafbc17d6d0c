"""Lines of files: plain, compressed, of any encoding, from any kind of source."""

import gzip
import io

import numpy as np
import pytest

from mercer import Records, read_fasta
from mercer.exceptions import FileFormatError
from mercer.readers.base import Lines

TEXT = ">näme one\nACGT\nacgt\n>two\nGG\n"


def written(folder, raw, name="some.fa"):
    path = folder / name
    path.write_bytes(raw)
    return path


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_all_sources_give_the_same(ends, packed, encoding, tmp_path):
    """Compression shows in the bytes, not in the name."""
    raw = TEXT.replace("\n", ends).encode(encoding)
    raw = gzip.compress(raw) if packed else raw
    path = written(tmp_path, raw)
    given = {"encoding": "latin-1"} if encoding == "latin-1" else {}
    with open(path, "rb") as binary, open(path, "rb", buffering=0) as unbuffered:
        sources = [path, str(path), binary, unbuffered, io.BytesIO(raw)]
        found = [read_fasta(source, **given) for source in sources]
        assert not binary.closed
        assert not sources[-1].closed
        assert sources[-1].read() == b""
    for records in found:
        assert records.X == ["ACGTacgt", "GG"]
        assert records.names == ["näme", "two"]


def test_open_text_files(tmp_path):
    path = written(tmp_path, gzip.compress(TEXT.encode()))
    with gzip.open(path, "rt", encoding="utf-8") as file, gzip.open(path) as binary:
        assert read_fasta(file).X == read_fasta(binary).X == ["ACGTacgt", "GG"]
    assert read_fasta(io.StringIO("\ufeff" + TEXT)).names == ["näme", "two"]


def test_files_are_closed_and_read_again(tmp_path):
    lines = Lines(path := written(tmp_path, TEXT.encode()))
    first, *_ = lines
    assert first == ">näme one"
    assert lines.number == 5
    path.unlink()
    with pytest.raises(FileNotFoundError):
        read_fasta(path)


def test_damage_is_told_with_file_and_line(tmp_path):
    packed = gzip.compress((TEXT * 20000).encode())
    cut = written(tmp_path, packed[: len(packed) // 2])
    with pytest.raises(
        FileFormatError, match=r"some\.fa, line \d+: the compressed file is damaged"
    ):
        read_fasta(cut)
    flipped = bytearray(packed)
    flipped[len(packed) // 2] ^= 255
    with pytest.raises(FileFormatError, match=r"some\.fa, line \d+: "):
        read_fasta(written(tmp_path, bytes(flipped)))
    wrong = written(tmp_path, ">a\nAC\n>ä\n".encode("latin-1"))
    with pytest.raises(FileFormatError, match=r'line 3: it is not text in utf-8.*"latin-1"'):
        read_fasta(wrong)
    with pytest.raises(FileFormatError, match="line 1: "):
        read_fasta(written(tmp_path, bytes(range(256))))
    with pytest.raises(FileFormatError, match="line 1: the compressed file is damaged"):
        read_fasta(written(tmp_path, packed[:5]))
    odd = written(tmp_path, ">a\nAC".encode("utf-16") + b"\x00")
    with pytest.raises(FileFormatError, match="line 1: what follows is not text in utf-16"):
        read_fasta(odd)


def test_only_a_line_is_kept_at_a_time(tmp_path):
    """A large compressed file, whose lines are looked at and let go."""
    import tracemalloc

    path = written(tmp_path, gzip.compress(b"x" * 79 + b"\n" * 1) * 200_000)
    tracemalloc.start()
    count = sum(1 for _ in Lines(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 200_000
    assert peak < 2e6  # of 16 MB


def test_records():
    records = Records(["a", "b"], np.array(["x", "y"]), ["one", "two"])
    X, y = records
    assert (X, list(y), len(records)) == (["a", "b"], ["x", "y"], 2)
    assert repr(records) == "Records(2 samples, 2 classes, names)"
    assert repr(Records([1], np.ones(1))) == "Records(1 samples, targets)"
