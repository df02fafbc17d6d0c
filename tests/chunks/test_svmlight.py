"""SVMlight files, read line by line."""

import bz2
import gzip
import lzma

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from mercer import stream
from mercer.chunks import SvmlightChunks
from mercer.exceptions import FileFormatError


def whole(chunks):
    found = list(chunks)
    return sp.vstack([c.X for c in found]).toarray(), np.concatenate([c.y for c in found])


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("rows", [None, 1, 37])
def test_the_same_as_scikit_learn(tmp_path, zero_based, rows):
    rng = np.random.default_rng(0)
    X = sp.random(200, 30, 0.2, random_state=1, format="csr")
    X.data *= 10.0 ** rng.integers(-30, 30, X.nnz)  # not all of them are easy to read
    X.data[::7] = rng.integers(-5, 5, len(X.data[::7]))
    path = str(tmp_path / "a.svm")
    dump_svmlight_file(X, rng.normal(size=200), path, zero_based=zero_based)
    known, y = load_svmlight_file(path, zero_based=zero_based)
    found, labels = whole(stream(path, zero_based=zero_based, rows=rows))
    np.testing.assert_array_equal(found, known.toarray())
    np.testing.assert_array_equal(labels, y)
    assert len(SvmlightChunks(path)) == 200


@pytest.mark.parametrize("text", ["0.1", "-.5", "5.", "1e-300", "123456789012345678901234567890",
    "2.2250738585072014e-308", "4.35", "0.000001", "1E+22", "1e23", "9007199254740993", "-0",
    "179769313486231570000000e285", "0.30000000000000004"])  # fmt: skip
def test_numbers_are_read_as_python_reads_them(tmp_path, text):
    path = tmp_path / "a.svm"
    path.write_text(f"{text} 1:{text}\n")
    X, y = whole(stream(path))
    assert X[0, 0] == y[0] == float(text)


def test_random_numbers_are_exact(tmp_path):
    rng = np.random.default_rng(0)
    values = rng.normal(size=3000) * 10.0 ** rng.integers(-12, 12, 3000)
    texts = [f"{v:.{p}g}" for v, p in zip(values, rng.integers(1, 18, 3000), strict=True)]
    path = tmp_path / "a.svm"
    path.write_text("\n".join(f"1 1:{text}" for text in texts))
    np.testing.assert_array_equal(whole(stream(path))[0][:, 0], [float(text) for text in texts])


def test_what_else_may_be_in_a_file(tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes(
        b"# made by hand\n\n+1 qid:3 2:1.5\t5:-2  # the first\r\n-1\n   0 1:1#last\n2.5 3:1"
    )
    X, y = whole(stream(path))
    np.testing.assert_array_equal(y, [1, -1, 0, 2.5])
    wanted = np.zeros((4, 5))
    wanted[0, [1, 4]], wanted[2, 0], wanted[3, 2] = [1.5, -2], 1, 1
    np.testing.assert_array_equal(X, wanted)
    assert stream(path, n_features=9).take(np.array([1])).X.shape == (1, 9)
    path.write_text("1 0:5 2:6\n")
    np.testing.assert_array_equal(whole(stream(path))[0], [[5, 0, 6]])


@pytest.mark.parametrize("packed", [(".gz", gzip), (".bz2", bz2), (".xz", lzma)])
def test_compressed_files(tmp_path, packed):
    suffix, module = packed
    path = tmp_path / f"a.svm{suffix}"
    text = b"".join(b"%d 1:%d 3:0.25\n" % (i, i) for i in range(5000))
    path.write_bytes(module.compress(text))
    X, y = whole(stream(path))
    np.testing.assert_array_equal(X[:, 0], y)
    path.write_bytes(module.compress(text)[:-30])
    with pytest.raises(FileFormatError, match="damaged"):
        list(stream(path))


def test_blocks_may_cut_lines_anywhere(tmp_path, monkeypatch):
    path = tmp_path / "a.svm"
    path.write_text("1 1:2.5 2:3.25\n-1 2:1\n\n1 1:0.125")
    known = whole(stream(path))
    for size in (1, 2, 3, 5, 11, 16):
        monkeypatch.setattr("mercer.chunks.svmlight._BLOCK", size)
        for a, b in zip(whole(stream(path)), known, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("line", "words"), [
    ("1 a:2", "an index is a whole number"),
    ("1 -3:2", "an index is a whole number"),
    ("1 2:x", "a value is a number"),
    ("1 2:", "a value is a number"),
    ("1 2", "pairs index:value follow"),
    ("1 2:3:4", "pairs index:value follow"),
    ("1 3:1 2:1", "indices increase"),
    ("1 2:1 2:1", "indices increase"),
    ("2:1 3:1", "begins with its label"),
    ("1,2 3:1", "begins with its label"),
    ("yes 3:1", "begins with its label"),
])  # fmt: skip
def test_what_is_wrong_is_said_with_the_line(tmp_path, line, words):
    path = tmp_path / "a.svm"
    path.write_text(f"1 1:1\n# more\n{line}\n1 1:1\n")
    with pytest.raises(FileFormatError, match=r"a\.svm, line 3: ") as caught:
        list(stream(path))
    assert words in str(caught.value)


def test_indices_out_of_range(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\n1 4:1\n")
    with pytest.raises(FileFormatError, match="row 1: index 4 is outside 1 to 3"):
        list(stream(path, n_features=3))
    path.write_text("1 0:1\n")
    with pytest.raises(FileFormatError, match="index 0 is outside"):
        list(stream(path, zero_based=False, n_features=3))
    path.write_text("1 1:nan\n")
    with pytest.raises(ValueError, match="row 0: column 0 is nan"):
        list(stream(path))
    with pytest.raises(ValueError, match="zero_based must be"):
        stream(path, zero_based=2.5)
    path.write_text("")
    with pytest.raises(ValueError, match="no samples"):
        list(stream(path))
