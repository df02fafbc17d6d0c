"""Collections of graphs in text files, whole and damaged."""

import zipfile

import numpy as np
import pytest

from mercer import Graph, read_tu
from mercer.exceptions import FileFormatError

FILES = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n",
    "graph_labels": "1\n-1\n3\n",
    "node_labels": "7\n8\n7\n8\n8\n",
    "edge_labels": "0\n0\n1\n1\n0\n0\n",
    "node_attributes": "0.5, 1\n1, 1\n2, 1\n3, 1\n4, 1\n",
}
GRAPHS = [
    Graph(
        [(0, 1), (1, 2)],
        labels=[7, 8, 7],
        edge_labels=[0, 1],
        attributes=[[0.5, 1], [1, 1], [2, 1]],
    ),
    Graph([(0, 1)], labels=[8, 8], edge_labels=[0], attributes=[[3, 1], [4, 1]]),
]


def write(folder, files, name="SET"):
    for part, text in files.items():
        (folder / f"{name}_{part}.txt").write_text(text)
    return folder


def test_a_folder(tmp_path):
    graphs, y = found = read_tu(write(tmp_path, FILES))
    assert graphs[:2] == GRAPHS
    assert graphs[2].n_nodes == 0  # of the third, only the target is there
    assert y.tolist() == [1, -1, 3]
    assert repr(found) == "Records(3 samples, 3 classes)"


def test_an_archive(tmp_path):
    path = tmp_path / "set.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("SET/README.txt", "not a part of it")
        for part, text in FILES.items():
            archive.writestr(f"SET/SET_{part}.txt", text)
    graphs, y = read_tu(str(path))
    assert graphs[:2] == GRAPHS
    assert y.tolist() == [1, -1, 3]


def test_fewer_files(tmp_path):
    files = {"A": "1,2\n", "graph_indicator": "1\n1\n2\n", "graph_attributes": "0.5\n1.5\n"}
    graphs, y = read_tu(write(tmp_path, files))
    assert graphs == [Graph([(0, 1)]), Graph([], nodes=1)]
    assert y.tolist() == [0.5, 1.5]
    (tmp_path / "SET_graph_attributes.txt").unlink()
    found = read_tu(tmp_path)
    assert found.y is None
    assert repr(found) == "Records(2 samples)"


def test_directions(tmp_path):
    """Edges once, or all twice, have none; some of them twice have one."""
    once = {"A": "1,2\n2,3\n", "graph_indicator": "1\n1\n1\n"}
    assert not read_tu(write(tmp_path, once)).X[0].directed
    assert read_tu(tmp_path, directed=True).X[0].directed
    mixed = read_tu(write(tmp_path, {**once, "A": "1,2\n2,1\n2,3\n"})).X[0]
    assert mixed == Graph([(0, 1), (1, 0), (1, 2)], directed=True)
    both = {**once, "A": "1,2\n2,1\n", "edge_attributes": "2.5\n2.5\n"}
    assert [Graph([(0, 1)], nodes=3, weights=[2.5])] == read_tu(write(tmp_path, both)).X


def test_several_labels(tmp_path):
    files = {"A": "", "graph_indicator": "1\n1\n", "node_labels": "1, 2\n3, 4\n"}
    assert read_tu(write(tmp_path, files)).X[0].labels.tolist() == [(1, 2), (3, 4)]


@pytest.mark.parametrize(
    ("part", "text", "words"),
    [
        ("A", "1,2\n1,9\n", r"SET_A.txt: line 2 names a node that is not one of 1, \.\.\., 5"),
        ("A", "1,2\n3,4\n", "line 2 joins nodes of two graphs"),
        ("A", "1,2,3\n", "2 numbers per line are needed, not 3"),
        ("A", "1,x\n", "SET_A.txt: could not convert"),
        ("A", "1,2\n1\n", "SET_A.txt: .*column"),
        ("graph_indicator", "1\n2\n1\n2\n2\n", "line 3 returns to an earlier graph"),
        ("graph_indicator", "1\n1\n1\n2\n9\n", "line 5 does not name a graph from 1 to 3"),
        ("node_labels", "7\n8\n", "there are 2 lines, but 5 are needed"),
        ("edge_labels", "7\n8\n", "there are 2 lines, but 6 are needed"),
        ("node_attributes", "1\n1\n1\nnan\n1\n", "line 4 is not finite"),
    ],
)
def test_damaged_files(tmp_path, part, text, words):
    with pytest.raises(FileFormatError, match=words):
        read_tu(write(tmp_path, {**FILES, part: text}))


def test_no_collection(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such folder or archive"):
        read_tu(tmp_path / "nothing")
    with pytest.raises(FileFormatError, match=r"one file NAME_A\.txt, here are 0"):
        read_tu(tmp_path)
    write(tmp_path, {"A": "1,2\n"})
    with pytest.raises(FileFormatError, match=r"there is no file SET_graph_indicator\.txt"):
        read_tu(tmp_path)
    write(tmp_path, FILES, "OTHER")
    with pytest.raises(FileFormatError, match="here are 2"):
        read_tu(tmp_path)
    (tmp_path / "text.zip").write_text("no archive")
    with pytest.raises(FileFormatError, match="neither a folder nor a zip archive"):
        read_tu(tmp_path / "text.zip")


def test_archives_that_lie(tmp_path):
    path = tmp_path / "set.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, text in FILES.items():
            archive.writestr(f"SET_{part}.txt", text)
    whole = path.read_bytes()
    at = whole.rindex(b"PK\x01\x02", 0, whole.rindex(b"SET_A.txt"))
    claimed = whole[: at + 24] + (2**31).to_bytes(4, "little") + whole[at + 28 :]
    path.write_bytes(claimed)
    with pytest.raises(FileFormatError, match="claims to hold 2147483648 bytes"):
        read_tu(path)
    cut = whole[:20].replace(b"PK", b"PX") + whole[20:]
    path.write_bytes(cut)
    with pytest.raises(FileFormatError, match=r"SET_A\.txt"):
        read_tu(path)


def test_real_collections(shared_data):
    for name, count, edges in (("MUTAG", 188, 19.79), ("PTC_MR", 344, 14.69)):
        graphs, y = read_tu(shared_data / "graphs" / f"{name}.zip")
        assert len(graphs) == len(y) == count
        assert np.mean([g.n_edges for g in graphs]) == pytest.approx(edges, abs=0.01)
        assert not any(g.directed for g in graphs)
