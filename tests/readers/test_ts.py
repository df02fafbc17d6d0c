"""Series in .ts files."""

import io

import numpy as np
import pytest

from mercer import SVC, GlobalAlignment, KernelRidge, read_ts
from mercer.exceptions import FileFormatError

HEADER = "# made by hand\n@problemName Two\n@timeStamps false\n@missing false\n"


def read(text, **options):
    return read_ts(io.StringIO(text), **options)


def test_equal_lengths_are_an_array():
    found = read(
        HEADER + "@univariate true\n@equalLength true\n@seriesLength 3\n@classLabel true a b\n"
        "@data\n1,2,3:a\n\n -1.5 , 2e-3,0:b\n"
    )
    np.testing.assert_array_equal(found.X, [[1, 2, 3], [-1.5, 2e-3, 0]])
    assert found.y.tolist() == ["a", "b"]
    assert found.about["problemName"] == "Two"
    assert found.about["classLabel"] == ["a", "b"]
    assert found.about["missing_values"] == 0
    assert repr(found) == "Records(2 samples, 2 classes)"


def test_channels_and_lengths():
    text = "@dimensions 2\n@univariate false\n@classLabel true 1 2\n@data\n"
    X, y = read(text + "1,2:3,4:1\n5,6:7,8:2\n")
    np.testing.assert_array_equal(X, [[[1, 3], [2, 4]], [[5, 7], [6, 8]]])
    X, y = read(text + "1,2:3,4:1\n5:7:2\n")
    assert [x.shape for x in X] == [(2, 2), (1, 2)]
    assert y.tolist() == ["1", "2"]
    X, y = read("@data\n1,2\n3,4,5\n")
    assert y is None
    assert [x.tolist() for x in X] == [[1, 2], [3, 4, 5]]


def test_targets_and_missing_values():
    text = "@TARGETLABEL true\n@data\n?,1,?,?,4,?:2.5\n1,2,3,4,5,6:-1e3\n"
    found = read(text)
    assert found.y.tolist() == [2.5, -1000.0]
    assert found.about["missing_values"] == 4
    np.testing.assert_array_equal(np.isnan(found.X[0]), [1, 0, 1, 1, 0, 1])
    filled = read(text, missing="interpolate")
    np.testing.assert_allclose(filled.X[0], [1, 1, 2, 3, 4, 4])
    both = read("@data\n?,2:1,?\n", missing="interpolate")
    np.testing.assert_array_equal(both.X, [[[2, 1], [2, 1]]])
    model = KernelRidge(kernel=GlobalAlignment()).fit(filled.X, filled.y)
    assert np.isfinite(model.predict(filled.X)).all()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1: there is no line @data"),
        ("@problemName x\n", "line 1: there is no line @data"),
        ("@problemName x\n1,2,3:a\n", "line 2: a line of the header begins with @ or #"),
        ("@data\n", "line 1: there are no series"),
        ("@timestamps true\n@data\n(0,1),(1,2):a\n", "line 1: series with time stamps"),
        ("@equalLength maybe\n", "line 1: @equalLength must be true or false, got 'maybe'"),
        ("@classLabel true\n@data\n", "line 1: @classLabel true must list the labels"),
        ("@seriesLength x\n@data\n", "line 1: @seriesLength must be a number"),
        (
            "@classLabel true a b\n@data\n1,2:a\n1,2:c\n",
            "line 4: 'c' is not one of the labels .*a, b",
        ),
        ("@data\n1,2\n1,x2,3\n", "line 3: 'x2' stands for value 2, which is not a number"),
        ("@data\n1,2,\n", "line 2: nothing stands for value 3"),
        ("@data\n1,2:3,4\n1,2:3,4:5,6\n", "line 3: there are 3 channels instead of 2"),
        ("@univariate true\n@data\n1,2:3,4\n", "line 3: there are 2 channels instead of 1"),
        ("@data\n1,2:3\n", "line 2: the channels have 1 to 2 values"),
        (
            "@equalLength true\n@data\n1,2\n1\n",
            "line 4: the series has 1 values, but the header says 2",
        ),
        ("@equalLength true\n@seriesLength 3\n@data\n1,2\n", "line 4: the series has 2 values"),
        ("@classLabel true a\n@data\na\n", "line 3: there are 0 channels"),
    ],
)
def test_what_is_damaged(text, words):
    with pytest.raises(FileFormatError, match=f"the open file, {words}"):
        read(text)


def test_what_cannot_be_filled_in():
    with pytest.raises(FileFormatError, match="line 2: all values of a channel are missing"):
        read("@data\n?,?\n", missing="interpolate")
    with pytest.raises(ValueError, match='missing must be "keep" or "interpolate"'):
        read("@data\n1\n", missing="drop")


def test_what_was_written_is_read(rng, tmp_path):
    """Random series of several channels and lengths, into a file and into a model."""
    X = [rng.standard_normal((n, 3)) + (i % 2) * 3 for i, n in enumerate(rng.integers(3, 9, 20))]
    rows = [
        ":".join([*(",".join(map(repr, c.tolist())) for c in x.T), str(i % 2)])
        for i, x in enumerate(X)
    ]
    path = tmp_path / "made.ts"
    path.write_text("@dimensions 3\n@classLabel true 0 1\n@data\r\n" + "\r\n".join(rows))
    found, y = read_ts(path)
    for got, wanted in zip(found, X, strict=True):
        np.testing.assert_array_equal(got, wanted)
    assert SVC(kernel=GlobalAlignment()).fit(found, y).score(found, y) == 1
