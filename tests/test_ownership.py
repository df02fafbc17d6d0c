"""What is kept does not change with what was given."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from mercer.ownership import owned
from mercer.params import same


def spoil(x):
    """Change everything that can be changed, at every level."""
    if isinstance(x, np.ndarray) and x.dtype != object:
        if x.flags.writeable:
            x[...] = 7
    elif isinstance(x, list | tuple | np.ndarray):
        for item in x:
            spoil(item)
        if isinstance(x, list):
            x.append("more")
    elif isinstance(x, dict):
        for item in x.values():
            spoil(item)
        x["more"] = 1
    elif isinstance(x, set):
        x.add("more")
    elif sp.issparse(x):
        x.data[:] = 7
        x.indices[:] = 0
    elif isinstance(x, pd.DataFrame):
        for name in x.columns:
            if x[name].dtype == object:
                spoil(x[name].tolist())
        x.iloc[0, 0] = 7
    elif isinstance(x, pd.Series):
        x.iloc[0] = 7


def series_in_cells():
    cells = np.empty(2, dtype=object)
    cells[0], cells[1] = np.arange(3.0), np.arange(4.0)
    return cells


MAKERS = {
    "array": lambda: np.arange(6.0).reshape(3, 2),
    "fortran": lambda: np.asfortranarray(np.arange(6.0).reshape(3, 2)),
    "view": lambda: np.arange(12.0).reshape(3, 4)[:, ::2],
    "csr": lambda: sp.csr_matrix(np.eye(3)),
    "csr array": lambda: sp.csr_array(np.eye(3)),
    "frame": lambda: pd.DataFrame(np.arange(6.0).reshape(3, 2), columns=["a", "b"]),
    "frame of objects": lambda: pd.DataFrame({"a": [1.0, 2.0], "s": series_in_cells()}),
    "series": lambda: pd.Series([1.0, 2.0]),
    "list of arrays": lambda: [np.arange(3.0), np.arange(4.0)],
    "tuple of arrays": lambda: (np.arange(3.0), np.arange(4.0)),
    "nested lists": lambda: [[1.0, 2.0], [3.0]],
    "tuples": lambda: [(np.arange(2.0), "abc"), (np.arange(3.0), "abd")],
    "dicts": lambda: [{"x": np.arange(2.0), "s": "abc"}, {"x": np.arange(1.0), "s": "b"}],
    "sets": lambda: [{1, 2}, {3}],
    "objects": series_in_cells,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_copy_at_every_level(make):
    X, untouched = make(), make()
    kept = owned(X)
    assert same(_plain(kept), _plain(untouched))
    spoil(X)
    assert not same(_plain(X), _plain(untouched))
    assert same(_plain(kept), _plain(untouched))


def _plain(x):
    if isinstance(x, pd.DataFrame | pd.Series):
        return _plain(x.values.tolist())
    if isinstance(x, np.ndarray) and x.dtype == object:
        return [_plain(item) for item in x]
    if isinstance(x, list | tuple):
        return [_plain(item) for item in x]
    return x


def test_nothing_is_copied_twice():
    given = [[1.0, 2.0], [3.0, 4.0]]
    made = np.array(given)
    assert owned(made, given) is made
    other = sp.csr_matrix(np.eye(3))
    assert owned(other, sp.coo_matrix(np.eye(3))) is other
    half = sp.csr_matrix((other.data.copy(), other.indices, other.indptr))  # shares its indices
    assert owned(half, other) is not half


def test_strings_and_numbers_are_not_copied():
    X = ["abc", "abd"]
    assert all(a is b for a, b in zip(owned(X), X, strict=True))


def test_a_map_that_is_read_stays_on_disk(tmp_path):
    np.save(tmp_path / "X.npy", np.eye(3))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert owned(X) is X
    assert owned(X[1:]).base is not None
    writable = np.load(tmp_path / "X.npy", mmap_mode="r+")
    assert owned(writable) is not writable
    hidden = np.eye(3)
    view = hidden.view()
    view.flags.writeable = False  # the array behind it can change
    kept = owned(view)
    hidden[:] = 7
    np.testing.assert_array_equal(kept, np.eye(3))


def test_deep_trees_are_kept_as_they_are():
    tree = ("leaf",)
    for _ in range(5000):
        tree = ("node", tree)
    assert owned([tree])[0] is tree


def test_objects_of_others_are_kept_as_they_are():
    class Graph:
        pass

    graph = Graph()
    assert owned([graph])[0] is graph


def test_arrays_inside_containers_of_others_are_copied():
    """Some hand out the array they hold, which owns its memory, instead of a view of it."""

    class Labelled:
        def __init__(self, values):
            self.values = values

        def __array__(self, dtype=None, copy=None):
            return self.values

    given = Labelled(np.ones((3, 2)))
    kept = owned(np.asarray(given), given)
    assert not np.shares_memory(kept, given.values)
    np.testing.assert_array_equal(kept, 1)
