"""Which rows and columns are used."""

import numpy as np
import pandas as pd
import pytest

from mercer import Linear
from mercer.tables import TableRegressor
from mercer.tables.rows import check_enough, check_share, select


def test_select():
    table = pd.DataFrame(
        {"x": [1.0, np.nan, 3.0, 4.0], "c": ["a", None, "b", "a"], "same": 1, "y": [1, 2, 3, 4]},
        index=[5, 6, 7, 8],
    )
    given = np.array([True, True, True, False])
    with pytest.raises(ValueError, match=r"x \(1 times\), the target \(1 times\); .* 2 rows of 4"):
        select(table, "y", given, missing="error")
    assert select(table, "y", given).X.index.tolist() == [5, 6, 7]
    with pytest.raises(ValueError, match="'y' is the target"):
        select(table, "y", given, features=["x", "y"])
    found = select(table, "y", given, missing="drop")
    assert found.roles == {"x": "number", "c": "label"}
    assert found.X.index.tolist() == [5, 7]
    assert found.rows.tolist() == [True, False, True, False]
    assert found.dropped == 2
    assert [c.role for c in found.columns] == ["number", "label", "skipped"]
    assert select(table, "y", given, features=["c"], missing="drop").dropped == 1
    assert select(table, "y", given, roles={"x": "label"}, missing="drop").roles["x"] == "label"
    with pytest.raises(ValueError, match="no column can be used to predict 'y'"):
        select(table, "y", given, features=["same"])


def test_how_numbers_are_read_is_said_once(rng):
    """A model that is fitted to some of the rows says nothing of the same strings."""
    share = rng.integers(0, 101, 60)
    table = pd.DataFrame(
        {"share": [f"{x} %" for x in share], "size": list(map(str, share)), "y": share}
    )
    table.loc[3, "size"] = "?"
    found = select(table, "y", np.full(60, True))
    model = TableRegressor(roles=found.roles, styles=found.styles, budget=1.0, kernel=Linear())
    model.fit(found.X.iloc[:50], table["y"][:50])
    said = {column.name: column.why for column in found.described(model.columns_)}
    assert said["share"].count("is read as") == 1
    assert said["size"].count("count as missing") == 1


def test_limits():
    for share in (-0.1, 0.95):
        with pytest.raises(ValueError, match="--test-size"):
            check_share(share)
    with pytest.raises(ValueError, match="1 row to fit a model to"):
        check_enough(1)
    check_share(0.9)
    check_enough(5)
