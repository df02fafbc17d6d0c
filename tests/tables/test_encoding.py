"""Columns as coordinates: gaps, sentinels, tails, rare labels, letters."""

import numpy as np
import pandas as pd
import pytest

from mercer.tables.encoding import LEVELS, completed, encode, learn_parts, words_of


def encoded(table, roles, new=None):
    parts = learn_parts(table, roles)
    return parts, encode(parts, table if new is None else new)


def test_numbers_are_standardised(rng):
    table = pd.DataFrame({"x": rng.normal(50, 5, 200)})
    _, found = encoded(table, {"x": "number"})
    x = table["x"].to_numpy()
    np.testing.assert_allclose(found.Z[:, 0], (x - x.mean()) / x.std(), rtol=1e-12)
    assert found.names == ["x"]


def test_missing_numbers(rng):
    x = rng.normal(size=100)
    x[::7] = np.nan
    parts, found = encoded(pd.DataFrame({"x": x, "y": x + 1}), {"x": "number", "y": "number"})
    assert found.names == ["x", "x (missing)", "y"]  # both are missing together, said once
    assert parts[0]["median"] == np.nanmedian(x)
    assert set(found.Z[::7, 1]) == {1.4}
    assert found.Z[1::7, 1].max() == 0
    assert words_of(parts[0]) == "15 missing"
    own = completed(parts, pd.DataFrame({"x": [np.nan, 2.0], "y": [0.0, np.inf]}))
    assert own["x"].tolist() == [np.nanmedian(x), 2.0]


@pytest.mark.parametrize("sentinel", [-999.0, 99999.0, -1.0])
def test_sentinels(sentinel, rng):
    """Far out, repeated and an end; -1 among numbers around zero is a number."""
    x = rng.normal(size=300)
    x[:9] = sentinel
    parts, found = encoded(pd.DataFrame({"x": x}), {"x": "number"})
    assert parts[0]["sentinels"] == ([] if sentinel == -1 else [sentinel])
    assert found.Z.shape[1] == (1 if sentinel == -1 else 2)
    once = np.append(x[9:], sentinel)
    assert learn_parts(pd.DataFrame({"x": once}), {"x": "number"})[0]["sentinels"] == []


def test_the_only_negative_number_of_a_skewed_column(rng):
    """However far the tail goes on the other side; other negative numbers say that it is one."""
    income = np.exp(rng.normal(10, 1.5, 400))
    income[:8] = -99999
    (part,) = learn_parts(pd.DataFrame({"x": income}), {"x": "number"})
    assert part["sentinels"] == [-99999]
    balance = np.where(np.arange(400) % 5 == 4, -0.3 * np.abs(income), income)
    (part,) = learn_parts(pd.DataFrame({"x": balance}), {"x": "number"})
    assert part["sentinels"] == []


def test_two_sentinels(rng):
    x = rng.uniform(10, 20, 300)
    x[:5], x[5:12] = -9999, 9999
    (part,) = learn_parts(pd.DataFrame({"x": x}), {"x": "number"})
    assert sorted(part["sentinels"]) == [-9999, 9999]
    assert part["missing"] == 12


def test_long_tails_are_bent(rng):
    x = np.exp(2 * rng.normal(size=1000))
    parts, found = encoded(pd.DataFrame({"x": x}), {"x": "number"})
    assert parts[0]["bend"] > 0
    assert np.abs(found.Z).max() < 8 < (x.max() - x.mean()) / x.std()
    assert np.all(np.diff(found.Z[np.argsort(x), 0]) >= 0)  # order is kept
    outlier = pd.DataFrame({"x": [1e8, -1e300, np.inf]})
    far = encode(parts, outlier).Z[:, 0]
    assert far[0] == pytest.approx(found.Z.max() + 1)
    assert np.isfinite(far).all()


def test_labels():
    table = pd.DataFrame({"c": pd.Series(["a", "b", "c", None] * 5, dtype=object)})
    parts, found = encoded(table, {"c": "label"})
    assert sorted(found.names) == ["c = a", "c = b", "c = c", "c = missing"]
    D = np.abs(found.Z[:, None] - found.Z).sum(axis=2)
    same = table["c"].fillna("-").to_numpy()[:, None] == table["c"].fillna("-").to_numpy()
    np.testing.assert_allclose(D[same], 0)
    np.testing.assert_allclose(D[~same], 1.4)
    new = encode(parts, pd.DataFrame({"c": pd.Series(["z", None], dtype=object)})).Z
    assert new[0].max() == 0
    assert new[1].max() == 0.7


def test_many_labels(rng):
    """Rare ones count as one, and are told apart by frequency and letters."""
    names = [f"street {i}" for i in range(200)] + ["avenue"] * 100
    table = pd.DataFrame({"c": pd.Series(names + names[:50], dtype=object)})
    parts, found = encoded(table, {"c": "label"})
    assert len(parts[0]["levels"]) == LEVELS
    assert "c (frequency)" in found.names
    assert any("letters" in name for name in found.names)
    near = encode(parts, pd.DataFrame({"c": pd.Series(["street 1999", "avenues"], dtype=object)})).Z
    letters = [i for i, name in enumerate(found.names) if "letters" in name]
    street, avenue = (found.Z[i, letters] for i in (150, 250))
    assert np.linalg.norm(near[0, letters] - street) < np.linalg.norm(near[0, letters] - avenue)
    assert np.linalg.norm(near[1, letters] - avenue) < np.linalg.norm(near[1, letters] - street)


def test_text_and_dates(rng):
    words = rng.choice(["the cat sat", "dogs bark", "birds sing"], 60)
    text = [f"{a} and {b} {i}" for i, (a, b) in enumerate(zip(words, words[::-1], strict=True))]
    table = pd.DataFrame({"t": pd.Series(text, dtype=object), "d": np.arange(60.0) * 30})
    table.loc[3, "d"] = np.nan
    parts, found = encoded(table, {"t": "text", "d": "date"})
    assert found.texts["t"] == text
    assert np.isfinite(found.Z).all()
    assert "d (year, sin)" in found.names
    assert "d (missing)" in found.names
    assert "trend, year" in words_of(parts[1])
    part = found.take(np.array([4, 2]))
    assert part.texts["t"] == [text[4], text[2]]
    assert encode(
        parts, pd.DataFrame({"t": pd.Series([None], dtype=object), "d": [np.nan]})
    ).Z.shape == (1, found.Z.shape[1])


def test_rows_do_not_depend_on_each_other(rng):
    table = pd.DataFrame(
        {"x": rng.normal(size=50), "c": pd.Series(list("abcde") * 10, dtype=object)}
    )
    parts, found = encoded(table, {"x": "number", "c": "label"})
    np.testing.assert_array_equal(encode(parts, table.iloc[7:9]).Z, found.Z[7:9])
