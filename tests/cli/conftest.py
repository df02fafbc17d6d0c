"""A table to fit."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch, rng):
    """A folder with a table: price is linear in size, with a wave in age, and a discount."""
    monkeypatch.chdir(tmp_path)
    n = 120
    table = pd.DataFrame(
        {
            "address": [f"{i} High Street" for i in range(n)],
            "size": rng.uniform(20, 200, n).round(1),
            "age": rng.integers(0, 30, n),
            "city": rng.choice(["Bonn", "Köln"], n),
            "planet": "earth",
        }
    )
    wave = 50 * np.sin(table["age"] / 4) - 80 * (table["city"] == "Bonn")
    table["price"] = (2 * table["size"] + wave + 5 * rng.normal(size=n)).round(2)
    table.to_csv("homes.csv", index=False)
    return tmp_path
