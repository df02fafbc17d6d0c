"""Models that the version before wrote: they predict what they predicted then."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mercer import load

FILES = Path(__file__).with_name("files")
NEW = pd.DataFrame({"x": [0.0, 1.0, None], "c": ["a", "b", "a"]})


def test_regressor():
    model = load(FILES / "regressor-0.1.zip")
    mean, std = model.predict(NEW, return_std=True)
    np.testing.assert_allclose(mean, [1.0000108324, 0.8409332899, np.nan], rtol=1e-6)
    np.testing.assert_allclose(std, [0.00024603495, 0.00045501746, np.nan], rtol=1e-2)
    assert list(model.tabulate(NEW, detail=True).columns) == ["prediction", "std"]
    with pytest.raises(ValueError, match="fit it again"):
        model.predict_interval(NEW)


def test_classifier():
    model = load(FILES / "classifier-0.1.zip")
    assert model.predict(NEW).tolist() == ["hi", "hi", None]
    wanted = [[0.79874127, 0.20125872], [0.65862772, 0.34137228], [np.nan, np.nan]]
    np.testing.assert_allclose(model.predict_proba(NEW), wanted, rtol=1e-5)
