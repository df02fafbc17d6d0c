"""Screening of tables: every kind of column, rows, ties, corrections, errors."""

import numpy as np
import pytest

import mercer
from mercer.tables import compare_tables, screen_columns

pd = pytest.importorskip("pandas")


def people(rng, n, **changed):
    letters = np.array(list("abcdefgh"))
    columns = {
        "age": rng.normal(40, 10, n),
        "height": rng.normal(170, 9, n),
        "city": rng.choice(["Rome", "Oslo", "Bern"], n),
        "note": ["".join(rng.choice(letters, 30)) for _ in range(n)],
        "joined": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, n), "D"),
        "same": np.ones(n),
    }
    return pd.DataFrame(columns | changed)


@pytest.mark.parametrize("name", ["age", "city", "note", "joined"])
def test_the_column_that_differs_is_found(rng, name):
    n = 70
    changed = {
        "age": rng.normal(55, 10, n),
        "city": rng.choice(["Rome", "Oslo", "Bern"], n, p=[0.8, 0.1, 0.1]),
        "note": ["".join(rng.choice(list("abcd"), 30)) for _ in range(n)],
        "joined": pd.Timestamp("2021-06-01") + pd.to_timedelta(rng.integers(0, 1000, n), "D"),
    }
    found = compare_tables(
        people(rng, n), people(rng, n, **{name: changed[name]}), n_permutations=199, rng=0
    )
    assert found.significant() == [name]
    assert "same" in found.skipped
    assert len(found.names) == 5
    assert dict(zip(found.names, found.roles, strict=True))["joined"] == "date"
    assert np.all(found.adjusted >= found.pvalues)
    assert len(found.rows["the first"]) == 5
    assert name in str(found)
    assert found.to_frame().loc[name, "adjusted"] <= 0.05
    found.plot()


def test_rows_are_those_where_the_difference_is(rng):
    first, second = people(rng, 60), people(rng, 60)
    second.index = [f"r{i}" for i in range(60)]
    second.loc[second.index[:30], "age"] = 90 + rng.normal(size=30)
    found = compare_tables(first, second, n_permutations=199, alpha=0.006, rng=0)
    assert found.significant(0.006) == ["age"]
    assert set(found.rows["the second"]) <= {f"r{i}" for i in range(30)}


def test_missing_values_groups_and_other_corrections(rng):
    first, second = people(rng, 50), people(rng, 50)
    first.loc[3, "age"] = np.nan
    with pytest.raises(ValueError, match='missing="drop"'):
        compare_tables(first, second)
    for correction in ("holm", "bh", "by", "bonferroni"):
        found = compare_tables(
            first, second, missing="drop", correction=correction, n_permutations=99, rng=0
        )
        np.testing.assert_allclose(
            found.adjusted,
            np.maximum(mercer.adjust_pvalues(found.pvalues, correction), found.pvalues),
        )
    sites = rng.integers(0, 2, 100)
    compare_tables(first, second, missing="drop", groups=sites, n_permutations=99, rng=0)


def test_what_a_target_depends_on(rng, tmp_path):
    table = people(rng, 90)
    table["income"] = (
        np.cos(table["age"] / 3) + (table["city"] == "Rome") + 0.1 * rng.normal(size=90)
    )
    found = screen_columns(table, "income", n_permutations=199, rng=0)
    assert set(found.significant(0.006)) == {"age", "city"}
    labels = screen_columns(table, "city", n_permutations=199, rng=0)
    assert labels.significant()[0] == "income"
    mercer.save(found, tmp_path / "found.mercer")
    again = mercer.load(tmp_path / "found.mercer")
    assert again.significant() == found.significant()


def test_statistic_of_a_column_is_that_of_the_test(rng):
    """With one kernel, the p-value of a single column is that by brute force."""
    first, second = (pd.DataFrame({"c": rng.choice(list("ab"), 12)}) for _ in range(2))
    found = compare_tables(first, second, n_permutations=2000, rng=0)
    both = np.concatenate([first["c"], second["c"]])
    draws = [abs(np.sum(rng.permutation(both)[:12] == "a") - np.mean(both == "a") * 12)
             for _ in range(4000)]  # fmt: skip
    observed = abs(np.sum(both[:12] == "a") - np.mean(both == "a") * 12)
    assert found.pvalues[0] == pytest.approx(np.mean(np.array(draws) >= observed - 1e-9), abs=0.04)


def test_errors(rng):
    table = people(rng, 20)
    with pytest.raises(ValueError, match="in common"):
        compare_tables(table[["age"]], table[["city"]])
    with pytest.raises(ValueError, match="correction"):
        compare_tables(table, table, correction="fdr")
    with pytest.raises(ValueError, match="missing must"):
        compare_tables(table, table, missing="ignore")
    with pytest.raises(ValueError, match="no column 'x'"):
        screen_columns(table, "x")
    with pytest.raises(ValueError, match="same value"):
        screen_columns(table, "same")
    with pytest.raises(ValueError, match="no column can be used"):
        compare_tables(table[["same"]], table[["same"]])
