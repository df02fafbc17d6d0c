"""Tables of pandas, polars and pyarrow, column by column and beside each other."""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from mercer import (
    Categorical,
    Custom,
    Gaussian,
    KernelRidge,
    Linear,
    Spectrum,
    change_points,
    classifier_test,
    conditional_independence_test,
    distance_correlation,
    hsic,
    independence_test,
    k_sample_test,
    mean_embedding,
    mmd,
    paired_test,
    two_sample_test,
)
from mercer.data import as_samples, as_vectors, columns, join, length, take
from mercer.exceptions import DomainError
from mercer.frames import align, distinct
from mercer.tables import TableClassifier, TableRegressor

STRINGS = ["abc", "abd", "xyz", "abz", "cde", "xab"]


@pytest.fixture
def X(rng):
    return rng.normal(size=(6, 2))


@pytest.fixture(params=["pandas", "polars"])
def Frame(request):
    return pytest.importorskip(request.param).DataFrame


@pytest.fixture
def table(Frame, X):
    return Frame({"a": X[:, 0], "b": X[:, 1], "s": STRINGS})


def test_columns_of_both_kinds(table, X):
    np.testing.assert_array_equal(columns(table, "a"), X[:, :1])
    np.testing.assert_array_equal(columns(table, ["b", "a"]), X[:, ::-1])
    np.testing.assert_array_equal(columns(table, slice(0, 2)), X)
    np.testing.assert_array_equal(columns(table, slice("a", "b")), X)
    assert columns(table, "s") == STRINGS
    assert length(table) == 6
    assert columns(take(table, [4, 1]), "s") == ["cde", "abd"]
    assert columns(take(table, slice(1, 3)), "s") == ["abd", "xyz"]
    assert columns(take(table, np.array([5])), "s") == ["xab"]
    with pytest.raises(DomainError, match="no column 'c'; it has: 'a', 'b', 's'"):
        columns(table, "c")
    with pytest.raises(DomainError, match="column 's' does not contain numbers"):
        columns(table, ["a", "s"])
    with pytest.raises(DomainError, match="column 's' does not contain numbers"):
        as_vectors(table, "Gaussian")


def test_kernels_on_tables(table, X):
    k = Gaussian().on(["a", "b"]) + Spectrum(2).on("s") + Categorical().on("s")
    expected = Gaussian()(X) + Spectrum(2)(STRINGS) + np.eye(6)
    np.testing.assert_allclose(k(table), expected, rtol=1e-12)
    product = Custom(lambda x, y: x["a"] * y["a"])
    np.testing.assert_allclose(product(table), np.outer(X[:, 0], X[:, 0]))


def test_models_on_tables(table, X):
    y = X[:, 0] ** 2
    k = Gaussian().on(["a", "b"]) + Spectrum(2).on("s")
    K = Gaussian()(X) + Spectrum(2)(STRINGS)
    model = KernelRidge(kernel=k, alpha=0.5).fit(table, y)
    expected = K @ np.linalg.solve(K + 0.5 * np.eye(6), y)
    np.testing.assert_allclose(model.predict(table), expected, rtol=1e-9)
    assert model.feature_names_in_.tolist() == ["a", "b", "s"]
    merged = mean_embedding(k, join(table, table)).simplify()
    assert len(merged.coef) == 6


def test_names_of_two_tables_are_matched(table, Frame, X):
    k, other = Linear().on(["a", "b"]), table[["s", "b", "a"]]
    np.testing.assert_allclose(k(table, other), k(table), rtol=1e-13)
    numbers = Frame({"a": X[:, 0], "b": X[:, 1]})
    swapped = numbers[["b", "a"]]
    weighted = Gaussian([0.5, 3.0])
    np.testing.assert_allclose(weighted(numbers, swapped), weighted(X), rtol=1e-12)
    np.testing.assert_allclose(weighted.distance(numbers, swapped), weighted.distance(X), atol=1e-6)
    f = mean_embedding(weighted, numbers)
    np.testing.assert_array_equal(f(swapped), f(numbers))
    np.testing.assert_array_equal(f.gradient(swapped), f.gradient(numbers))
    np.testing.assert_allclose(f.inner(mean_embedding(weighted, swapped)), f.norm() ** 2)
    np.testing.assert_allclose((f - mean_embedding(weighted, swapped)).norm(), 0, atol=1e-7)


def test_other_names_are_refused(Frame, X):
    numbers, other = Frame({"a": X[:, 0], "b": X[:, 1]}), Frame({"a": X[:, 0], "c": X[:, 1]})
    f = mean_embedding(Gaussian(), numbers)
    for compare in (
        lambda: Gaussian()(numbers, other),
        lambda: (Gaussian().on("a") + Linear())(numbers, other),
        lambda: f(other),
        lambda: f.gradient(other),
        lambda: f - mean_embedding(Gaussian(), other),
        lambda: two_sample_test(numbers, other),
    ):
        with pytest.raises(DomainError, match=r"different columns cannot be compared: 'b' is not"):
            compare()
    by_name = Gaussian().on("a")  # of no concern to a kernel that does not read it
    np.testing.assert_allclose(by_name(numbers, other), by_name(numbers), rtol=1e-13)


def test_tables_and_arrays(Frame, X):
    numbers = Frame({"a": X[:, 0], "b": X[:, 1]})
    np.testing.assert_allclose(Gaussian()(numbers, X), Gaussian()(X), rtol=1e-12)
    both = join(numbers, X)
    np.testing.assert_array_equal(as_vectors(both, ""), np.vstack([X, X]))
    np.testing.assert_array_equal(as_vectors(join(X, numbers), ""), np.vstack([X, X]))
    p = two_sample_test(numbers, X + 1, rng=0).pvalue
    assert p == two_sample_test(X, X + 1, rng=0).pvalue
    with pytest.raises(DomainError, match=r"table of 2 columns and an array of shape \(6, 3\)"):
        join(numbers, np.zeros((6, 3)))


def test_pandas_beside_polars(X):
    pl = pytest.importorskip("polars")
    theirs = pl.DataFrame({"b": X[:, 1], "a": X[:, 0]})
    ours = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    np.testing.assert_allclose(Gaussian([0.5, 3.0])(ours, theirs), Gaussian([0.5, 3.0])(X))
    with pytest.raises(DomainError, match=r"\.collect\(\)"):
        Gaussian()(theirs.lazy())


def test_missing_numbers_are_nan(Frame):
    table = Frame({"i": [1, None, 3], "f": [1.0, 2.0, 3.0]})
    np.testing.assert_array_equal(columns(table, "i"), [[1], [np.nan], [3]])
    for k in (Gaussian(), Gaussian().on("i"), Gaussian().on(["i", "f"])):
        with pytest.raises(DomainError, match="contains NaN or infinity"):
            k(table)


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean"])
def test_nullable_columns_of_pandas(dtype):
    table = pd.DataFrame({"x": pd.array([1, 0, 1], dtype=dtype), "y": [0.5, 1.5, 2.5]})
    expected = np.array([[1, 0.5], [0, 1.5], [1, 2.5]])
    np.testing.assert_array_equal(as_vectors(table, ""), expected)
    np.testing.assert_array_equal(columns(table, ["x", "y"]), expected)
    table.loc[1, "x"] = pd.NA
    for k in (Gaussian(), Gaussian().on("x"), Gaussian().on(["x", "y"])):
        with pytest.raises(DomainError, match="contains NaN or infinity"):
            k(table)


def test_decimals_are_numbers(Frame):
    prices = [Decimal("1.5"), Decimal("2")]
    expected = Gaussian()([[1.5], [2.0]])
    for data in (Frame({"p": prices}), [[p] for p in prices], np.array(prices)[:, None]):
        np.testing.assert_array_equal(Gaussian()(data), expected)
    np.testing.assert_array_equal(Gaussian().on("p")(Frame({"p": prices})), expected)
    np.testing.assert_array_equal(Gaussian().on(0)([(p, "a") for p in prices]), expected)


def test_dates_need_a_unit(Frame):
    days = [date(2024, 1, 1), date(2024, 1, 3)]
    stamps = np.array(days, dtype="datetime64[D]")
    for data in (Frame({"t": days}), Frame({"t": stamps}), stamps, stamps - stamps[0], days):
        with pytest.raises(DomainError, match=r"holds dates or durations; count them in a unit"):
            Gaussian()(data)
    for k in (Gaussian().on("t"), Gaussian().on(["t", "x"])):
        with pytest.raises(DomainError, match=r"holds dates or durations; count them in a unit"):
            k(Frame({"t": days, "x": [0.0, 1.0]}))
    with pytest.raises(DomainError, match="column 't' holds dates"):
        KernelRidge(kernel="rbf").fit(Frame({"t": stamps, "x": [0.0, 1.0]}), [0.0, 1.0])
    labels = Categorical().on("t")(Frame({"t": [*days, days[0]]}))  # as labels they are fine
    np.testing.assert_array_equal(labels, [[1, 0, 1], [0, 1, 0], [1, 0, 1]])


def test_columns_of_one_name(X):
    table = pd.DataFrame(np.hstack([X, X]), columns=["a", "b", "a", "c"])
    with pytest.raises(DomainError, match="2 columns 'a'; rename all but one"):
        Gaussian().on("a")(table)
    np.testing.assert_array_equal(Gaussian().on("b")(table), Gaussian()(X[:, 1:]))
    np.testing.assert_array_equal(Gaussian()(table), Gaussian()(np.hstack([X, X])))


@pytest.mark.parametrize("dtype", ["object", "string", "str", "category"])
def test_columns_of_strings(dtype, X):
    table = pd.DataFrame({"s": pd.Series(STRINGS, dtype=dtype), "a": X[:, 0]})
    np.testing.assert_array_equal(Spectrum(2).on("s")(table), Spectrum(2)(STRINGS))
    np.testing.assert_array_equal(Spectrum(2)(table["s"]), Spectrum(2)(STRINGS))


def test_align_leaves_the_rest_alone(X):
    table = pd.DataFrame(X, columns=["a", "b"])
    assert align(X, table, whole=True) is X
    assert align(table, X, whole=True) is table
    assert align(table, table, whole=True) is table


# ---- the same numbers, whatever holds them -------------------------------------------------
def _held_by(package, values):
    """A dict of columns as a table, or one column, of a package; as arrays for None."""
    table = isinstance(values, dict)
    if package is None:
        return np.column_stack(list(values.values())) if table else values
    module = pytest.importorskip(package)
    if package == "pyarrow":
        return module.table(values) if table else module.chunked_array([values[:4], values[4:]])
    return module.DataFrame(values) if table else module.Series(values)


def _table_model(X, y):
    return float(TableRegressor(budget="1 s").fit(X, y).predict(X)[0])


COMPUTATIONS = {
    "two_sample_test": lambda X, x, s: two_sample_test(X[:20], X[20:], rng=0).pvalue,
    "two_sample_test of columns": lambda X, x, s: two_sample_test(x[:20], x[20:], rng=0).pvalue,
    "two_sample_test of strings": lambda X, x, s: (
        two_sample_test(s[:20], s[20:], Spectrum(2), rng=0).pvalue
    ),
    "two_sample_test of halves": lambda X, x, s: (
        two_sample_test(X[:20], X[20:], "optimize", rng=0).pvalue
    ),
    "k_sample_test": lambda X, x, s: k_sample_test([x[:10], x[10:25], x[25:]], rng=0).pvalue,
    "independence_test": lambda X, x, s: independence_test(X, x, rng=0).pvalue,
    "conditional_independence_test": lambda X, x, s: (
        conditional_independence_test(x, x, s, rng=0).pvalue
    ),
    "classifier_test": lambda X, x, s: classifier_test(X[:20], X[20:], rng=0).pvalue,
    "paired_test": lambda X, x, s: paired_test(X, X, rng=0).pvalue,
    "mmd": lambda X, x, s: mmd(x[:20], x[20:]),
    "hsic": lambda X, x, s: hsic(X, x),
    "distance_correlation": lambda X, x, s: distance_correlation(x, X),
    "change_points": lambda X, x, s: len(change_points(x).segments),
    "ridge": lambda X, x, s: float(KernelRidge(kernel=Gaussian()).fit(X, x).predict(X)[0]),
    "ridge of strings": lambda X, x, s: float(
        KernelRidge(kernel=Spectrum(2)).fit(s, x).predict(s)[0]
    ),
    "embedding": lambda X, x, s: float(mean_embedding(Spectrum(2), s).norm()),
    "labels": lambda X, x, s: float(Categorical()(s).sum()),
    "table model": lambda X, x, s: _table_model(X, x),
}


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("name", COMPUTATIONS)
def test_any_package_gives_the_same_result(name, package, rng):
    a, b = rng.normal(size=40), rng.normal(size=40)
    strings = rng.choice(["abab", "bba", "abc", "cab"], 40)
    found, expected = (
        COMPUTATIONS[name](*(_held_by(p, values) for values in ({"a": a, "b": b}, a, strings)))
        for p in (package, None)
    )
    assert found == pytest.approx(expected, rel=1e-9)


def test_lazy_tables_are_asked_to_be_collected(rng):
    pl = pytest.importorskip("polars")
    whole = pl.DataFrame({"a": rng.normal(size=30), "b": rng.normal(size=30)})
    lazy, y = whole.lazy(), whole["a"]
    fitted = KernelRidge(kernel=Gaussian()).fit(whole, y)
    table_model = TableRegressor(budget="1 s").fit(whole, y)
    for compute in (
        lambda: two_sample_test(lazy, whole),
        lambda: independence_test(whole, lazy),
        lambda: mmd(lazy, lazy),
        lambda: Gaussian()(lazy),
        lambda: KernelRidge(kernel=Gaussian()).fit(lazy, y),
        lambda: KernelRidge(kernel=Gaussian()).fit(whole, lazy.select("a")),
        lambda: fitted.predict(lazy),
        lambda: TableRegressor().fit(lazy, y),
        lambda: TableRegressor().fit(whole, lazy.select("a")),
        lambda: TableClassifier().fit(lazy, ["a", "b"] * 15),
        lambda: table_model.predict(lazy),
        lambda: table_model.explain(lazy.head(1)),
    ):
        with pytest.raises(DomainError, match=r"lazy table of polars .* pass its \.collect\(\)"):
            compute()


def test_columns_of_polars_are_opened():
    pl = pytest.importorskip("polars")
    single = as_samples(pl.Series([1.0, 2.0], dtype=pl.Float32))
    assert single.dtype == np.float32
    assert as_samples(pl.Series([1, 2])).dtype == np.int64
    np.testing.assert_array_equal(as_samples(pl.Series([1, None])), [1, np.nan])
    np.testing.assert_array_equal(as_samples(pl.Series([True, None])), [1, np.nan])
    np.testing.assert_array_equal(as_samples(pl.Series([2**70], dtype=pl.Int128)), [2.0**70])
    np.testing.assert_array_equal(as_samples(pl.Series([Decimal("1.5")])), [1.5])
    assert as_samples(pl.Series(["a", None])) == ["a", None]
    assert as_samples(pl.Series([[1, 2], [3]])) == [[1, 2], [3]]
    assert as_samples(pl.Series([], dtype=pl.Float64)).shape == (0,)
    table = pl.DataFrame({"i": pl.Series([2**70, None], dtype=pl.Int128)})
    np.testing.assert_array_equal(columns(table, "i"), [[2.0**70], [np.nan]])


@pytest.mark.parametrize(
    "values",
    [
        pd.Series(["b", None, "a", "b"]),
        pd.Series(["b", None, "a", "b"], dtype=object),
        pd.Series(["b", np.nan, "a", "b"], dtype="category"),
        pd.Series([2.0, np.nan, -1.5, 2.0]),
        pd.Series([2, None, 1, 2], dtype="Int64"),
        pd.Series(pd.to_datetime(["2020-01-02", None, "2020-01-01", "2020-01-02"])),
    ],
)
def test_different_values_of_a_column(values):
    codes, levels = distinct(values)
    assert [None if code < 0 else levels[code] for code in codes] == [
        None if pd.isna(x) else x for x in values
    ]
    assert len(levels) == 2


def test_what_is_equal_and_not_the_same_stays_apart():
    codes, levels = distinct(pd.Series([1, True, "1", None, 1.0], dtype=object))
    assert codes.tolist() == [0, 1, 2, -1, 4]
    assert [str(levels[code]) for code in codes if code >= 0] == ["1", "True", "1", "1.0"]
