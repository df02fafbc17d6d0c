"""Models that earlier versions have written: they load, and say what they said then."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from mercer import load

spec = importlib.util.spec_from_file_location(
    "write_files", Path(__file__).with_name("write_files.py")
)
writer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(writer)
CLASSES = writer.zoo()
NOTED = {}
for path in writer.FILES.glob("answers-*.npz"):
    with np.load(path) as file:
        NOTED |= {(path.stem.partition("-")[2], key): value for key, value in file.items()}
STORED = sorted({(version, key.split(".")[0]) for version, key in NOTED})


@pytest.mark.parametrize(("version", "name"), STORED)
def test_former_models(version, name):
    model = load(writer.FILES / f"{name}-{version}.zip")
    data = CLASSES.X[:, :1] if name == "SmoothingSpline" else CLASSES.X
    data = CLASSES.VIEWS if "CCA" in name else data
    found = writer.flat(CLASSES.answers(model, data))
    expected = {
        key.removeprefix(f"{name}."): value
        for (v, key), value in NOTED.items()
        if v == version and key.startswith(f"{name}.")
    }
    assert expected
    for what, value in expected.items():
        if value.dtype.kind in "US":
            np.testing.assert_array_equal(found[what], value)
        else:
            np.testing.assert_allclose(found[what], value, rtol=1e-6, atol=1e-7)


def test_every_class_has_a_file_of_the_first_version():
    names = {name for version, name in STORED if version == "0.1"}
    assert {*CLASSES.REGRESSION, *CLASSES.CLASSIFICATION, *CLASSES.OTHERS} == names
