"""Sources: what is wrong with the data is said with the file and the row."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import stream
from mercer.chunks import FunctionChunks


def chunks_of(*items):
    return FunctionChunks(lambda: iter(items))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_named_by_row_and_column(bad):
    X = np.zeros((30, 3))
    X[17, 2] = bad
    for form in (X, sp.csr_matrix(X), X.astype(np.float32)):
        with pytest.raises(ValueError, match=r"row 17: column 2 is (nan|inf|-inf)"):
            list(stream(form, rows=10))
    with pytest.raises(ValueError, match="row 17: the target is"):
        list(stream(np.zeros((30, 1)), target=X[:, 2], rows=4))
    with pytest.raises(ValueError, match="row 17: the weight is"):
        list(stream(np.zeros((30, 1)), weight=X[:, 2], rows=4))


def test_large_numbers_are_finite():
    assert len(list(stream(np.full((4, 2), 1e308)))) == 1


def test_columns_of_tables_are_named():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"age": [1.0, np.nan], "name": ["a", None]})
    with pytest.raises(ValueError, match="row 1: column 'age' is nan"):
        list(stream(table))


def test_negative_weights_are_refused():
    with pytest.raises(ValueError, match="row 5: the weight is negative"):
        list(stream(np.zeros((9, 1)), weight=np.array([1, 1, 1, 1, 1, -1, 1, 1, 1.0]), rows=2))


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (np.zeros((2, 3)), np.zeros((2, 4)), "3 columns"),
        (np.zeros((2, 3)), np.array([["a", "b", "c"]] * 2, dtype=object), "objects"),
        (np.zeros((2, 3)), sp.csr_matrix((2, 3)), "sparse"),
        ((np.zeros((2, 3)), np.zeros(2)), np.zeros((2, 3)), "targets are missing"),
        ((np.zeros((2, 3)), np.zeros(2)), (np.zeros((2, 3)), ["a", "b"]), "targets are objects"),
        (["a", "b"], np.zeros((2, 3)), "list"),
    ],
)
def test_chunks_have_to_agree(first, second, words):
    with pytest.raises(ValueError, match="rows 2 to 3") as caught:
        list(chunks_of(first, second))
    assert words in str(caught.value)


def test_lengths_within_a_chunk_have_to_agree():
    with pytest.raises(ValueError, match="rows 2 to 3: 2 samples, but 3 targets"):
        list(chunks_of((np.zeros((2, 1)), np.zeros(2)), (np.zeros((2, 1)), np.zeros(3))))


def test_a_source_that_changes_between_passes_is_noticed():
    sizes = iter([3, 3, 4])
    chunks = FunctionChunks(lambda: [np.zeros((next(sizes), 1))])
    for _ in range(2):
        assert [len(chunk) for chunk in chunks] == [3]
    with pytest.raises(ValueError, match="had 3 rows, and has 4 now"):
        [len(chunk) for chunk in chunks]


def test_a_file_that_is_written_to_is_noticed(tmp_path):
    path = tmp_path / "X.npy"
    np.save(path, np.zeros((5, 1)))
    chunks = stream(path)
    list(chunks)
    np.save(path, np.ones((6, 1)))
    with pytest.raises(ValueError, match=r"X\.npy was written to"):
        list(chunks)


def test_empty_chunks_are_left_out_and_empty_sources_refused():
    found = list(chunks_of(np.zeros((0, 2)), np.zeros((3, 2)), np.zeros((0, 2)), np.ones((1, 2))))
    assert [(c.start, len(c)) for c in found] == [(0, 3), (3, 1)]
    with pytest.raises(ValueError, match="no samples"):
        list(chunks_of(np.zeros((0, 2))))
    with pytest.raises(ValueError, match="no samples"):
        stream(np.zeros((0, 2))).reduce(len)
