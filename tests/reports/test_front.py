import re
from html import unescape

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import (
    SVC,
    SVR,
    Gaussian,
    GaussianProcessRegressor,
    KernelLogisticRegression,
    KernelPCA,
    KernelRidge,
    KernelRidgeCV,
    Linear,
    Spectrum,
    WeisfeilerLehman,
    report,
)
from mercer.tables import TableRegressor

FAST = {"budget": 600, "max_rows": 40, "cv": 2}
SECTIONS = (
    "Data;Model;Scores;Calibration;{};Relevance of columns;Partial dependence;Learning curve;"
    "Validation surface;Influential rows;Most surprising rows;Drift;Plan and timings;"
    "How to reproduce"
)


def left_out(page):
    """Titles of what is empty, with reasons; nothing may have failed."""
    found = {s.title: s.left_out for s in page.sections if s.left_out}
    assert not [words for words in found.values() if "failed" in words or "could not" in words]
    return found


@pytest.fixture(scope="module")
def labels():
    X, y = make_classification(80, 3, n_informative=2, n_redundant=0, random_state=0)
    return X, np.array(["no", "yes"])[y]


def test_a_regression_has_all_sections(wave, ridge, read):
    X, y = wave
    page = report(ridge, X[:70], y[:70], test=(X[70:], y[70:]), **FAST)
    assert ";".join(s.title for s in page.sections) == SECTIONS.format("Residuals")
    assert list(left_out(page)) == ["Calibration"]
    found = read(page.html)
    assert len(found.of("h1")) == 1
    assert found.of("html")[0]["lang"] == "en"
    anchors = [a["href"] for a in found.of("a")]
    assert set(anchors) - {"#content"} == {f"#{a['id']}" for a in found.of("h2")}
    assert "RMSE" in found.text
    assert len(page.html) < 3e6


@pytest.mark.parametrize(
    "model",
    [
        KernelLogisticRegression(kernel=Gaussian(1.0)),
        make_pipeline(StandardScaler(), SVC(kernel=Gaussian(1.0))),
        GridSearchCV(SVC(kernel=Gaussian(1.0)), {"C": [0.1, 1.0]}, cv=2),
    ],
    ids=["logistic", "pipeline", "search"],
)
def test_classifiers_have_reports(labels, model, read):
    page = report(model, *labels, **FAST)
    assert set(left_out(page)) <= {"Drift", "Calibration"}
    assert ";".join(s.title for s in page.sections) == SECTIONS.format("Confusions")
    read(page.html)


@pytest.mark.parametrize(
    ("model", "absent"),
    [
        (GaussianProcessRegressor(1 * Gaussian(1.0), alpha=0.1, optimizer=None), {"Drift"}),
        (SVR(kernel=Gaussian(1.0)), {"Calibration", "Drift"}),
        (KernelRidgeCV((0.1, 1.0), kernel=Gaussian(1.0)), {"Calibration", "Drift"}),
        (
            mercer.KernelQuantileRegressor((0.1, 0.5, 0.9), kernel=Gaussian(1.0)),
            {"Drift", "Influential rows", "Validation surface"},
        ),
        (Ridge(), {"Model", "Calibration", "Validation surface", "Influential rows", "Drift"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_regressors_have_reports(wave, model, absent):
    assert set(left_out(report(model, *wave, **FAST))) <= absent


def test_names_of_columns_cannot_break_out(read):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    names = ["<script>alert(1)</script>", "a\"b'c", "new\nline", "</style></svg>", "\u202eback"]
    X = pd.DataFrame(rng.normal(size=(60, 5)), columns=names)
    y = np.where(X.iloc[:, 0] > 0, "<b>yes</b>", "&amp;no")
    model = KernelLogisticRegression(kernel=Gaussian(2.0))
    title = "</title><script>alert(2)</script>"
    page = report(model, X[:40], y[:40], test=(X[40:], y[40:]), title=title, **FAST)
    assert set(left_out(page)) == set()
    found = read(page.html)  # which refuses scripts
    assert "<script>alert(1)</script>" in found.text
    assert "<b>yes</b>" in found.text
    assert "&amp;no" in found.text
    assert "\\u202eback" in found.text


def test_strings_leave_out_what_is_about_columns(read):
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(60)]
    y = np.array([x.count("A") > 3 for x in X])
    model = KernelLogisticRegression(kernel=Spectrum(2).normalize())
    page = report(model, X[:40], y[:40], test=(X[40:], y[40:]), **FAST)
    assert set(left_out(page)) == {"Relevance of columns", "Partial dependence"}
    assert X[0][:5] in page.html or X[1][:5] in page.html
    read(page.html)


def test_graphs_have_reports():
    rng = np.random.default_rng(0)
    graphs, y = [], np.arange(30) % 2
    for label in y:
        n = 6
        edges = [(i, i + 1) for i in range(n - 1)] + ([(0, n - 1)] if label else [])
        graphs.append(mercer.Graph(edges, labels=rng.choice(["C", "N"], n).tolist()))
    page = report(SVC(kernel=WeisfeilerLehman(2)), graphs, y, **FAST)
    absent = {"Relevance of columns", "Partial dependence", "Calibration", "Drift"}
    assert set(left_out(page)) <= absent


def test_wide_tables_show_some_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2000))
    y = X[:, 7] + 0.1 * rng.normal(size=40)
    page = report(KernelRidge(1.0, kernel=mercer.Linear()), X, y, budget=300, max_rows=40, cv=2)
    assert not [s for s in page.sections if "failed" in s.left_out]
    assert len(page.html) < 300_000
    assert re.search(r"\d+ of 2000 columns were shuffled", page.html)


def test_three_rows_are_enough_and_two_are_not(ridge):
    page = report(ridge, [[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0])
    assert "Learning curve" in left_out(page)
    with pytest.raises(ValueError, match="needs at least 3"):
        report(ridge, [[0.0], [1.0]], [1.0, 2.0])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": [np.nan] + [1.0] * 89}, "y has 1 missing or infinite"),
        ({"y": None}, "needs y"),
        ({"y": np.ones((90, 2))}, "report for each target"),
        ({"y": [1.0] * 5}, "90 rows and y has 5"),
        ({"max_rows": 3}, "max_rows"),
        ({"cv": 1}, "an integer >= 2 or a splitter"),
        ({"budget": -1}, "budget must be"),
        ({"test": 3}, "pair"),
        ({"X": None}, "needs X and y"),
    ],
)
def test_what_no_report_can_be_made_of_is_refused(wave, ridge, change, words):
    given = {"X": wave[0], "y": wave[1]} | change
    with pytest.raises(ValueError, match=words):
        report(ridge, given.pop("X"), given.pop("y"), **given)


def test_one_class_and_other_estimators_are_refused(wave):
    X, y = wave
    with pytest.raises(ValueError, match="only one class"):
        report(SVC(kernel=Gaussian(1.0)), X, np.ones(90, int))
    with pytest.raises(TypeError, match="not about KernelPCA"):
        report(KernelPCA(kernel=Gaussian(1.0)), X, y)


def test_a_short_budget_leaves_out_and_says_so(wave, ridge):
    page = report(ridge, *wave, budget=1e-3)
    assert [s for s in page.sections if "budget" in s.left_out]
    assert "linear" in str(page.lead)  # a baseline that costs nothing is always there
    assert "longer than the budget" in page.html  # trees are not


def test_the_same_seed_gives_the_same_page(wave, ridge):
    pages = [report(ridge, *wave, **FAST) for _ in range(2)]
    bodies = [[s.body for s in p.sections if s.title != "Plan and timings"] for p in pages]
    assert bodies[0] == bodies[1]


def test_the_model_and_the_data_stay_as_they_are(wave, ridge):
    X, y = wave
    before = X.copy(), y.copy()
    ridge.fit(X, y)
    coef = ridge.dual_coef_.copy()
    report(ridge, X, y, **FAST)
    np.testing.assert_array_equal(ridge.dual_coef_, coef)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


def test_relevance_finds_the_column_that_matters(wave, ridge):
    body = next(s.body for s in report(ridge, *wave, **FAST).sections if "Relevance" in s.title)
    assert body.index("x0") < body.index("x1")


def test_drift_names_the_column_that_moved(wave, ridge):
    X, y = wave
    other = X[60:].copy()
    other[:, 1] += 4
    page = report(ridge, X[:60], y[:60], test=(other, y[60:]), **FAST)
    body = next(s.body for s in page.sections if s.title == "Drift")
    assert "Training and test rows differ" in body
    assert body.index("x1") < body.index("x0")


def test_files_are_complete_or_not_there(wave, ridge, tmp_path):
    page = report(ridge, *wave, **FAST)
    assert page.save(tmp_path / "page.html") is page
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html
    with pytest.raises(FileNotFoundError, match="no folder"):
        page.save(tmp_path / "nowhere" / "page.html")


def test_a_notebook_shows_the_page_in_a_frame(wave, ridge, read):
    page = report(ridge, *wave, **FAST)
    frame = read(page._repr_html_())
    assert frame.of("iframe")[0]["srcdoc"] == page.html
    assert repr(page).startswith("Report('KernelRidge on 90 rows', 14 sections")


def test_tables_with_mixed_columns(read):
    pd = pytest.importorskip("pandas")
    from mercer.tables import TableRegressor

    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"size": rng.normal(size=60), "city": rng.choice(["Rome", "Ulm"], 60), "same": 1.0}
    )
    y = X["size"].to_numpy() + (X["city"] == "Rome")
    page = report(TableRegressor(budget=1, alphas=(0.1, 1.0)), X, y, budget=20, max_rows=60, cv=2)
    assert set(left_out(page)) <= {"Drift"}
    text = read(page.html).text
    assert "Constant, so not used: same" in text
    assert "kernels with 2 penalties each, on rows held out" in text


def test_table_classifiers_have_all_sections(read, tmp_path):
    pd = pytest.importorskip("pandas")
    from mercer.tables import TableClassifier

    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=80), "city": rng.choice(["Rome", "Ulm"], 80)})
    y = np.where(X["size"] + (X["city"] == "Rome") > 0.5, "yes", "no")
    model = TableClassifier(budget=1).fit(X, y)
    mercer.save(model, tmp_path / "m")
    model = mercer.load(tmp_path / "m")  # which keeps what the search has found
    page = report(model, X, y, budget=20, max_rows=60, cv=2)
    assert set(left_out(page)) <= {"Drift"}
    text = read(page.html).text
    assert "l1, scale 0.4" in text
    assert "The effect of leaving out each row in turn" in text
    del model.search_
    other = {"Validation surface", "Influential rows"}
    found = left_out(report(model, X[:40], y[:40], budget=20, max_rows=40, cv=2))
    assert set(found) - {"Drift"} == other
    assert "earlier version" in found["Validation surface"]
    assert "exactly these rows" in found["Influential rows"]


def test_relevance_is_computed_once(monkeypatch):
    """Which thousands of columns would feel."""
    pd = pytest.importorskip("pandas")
    from mercer.reports.model import _blend
    from mercer.tables import TableRegressor
    from mercer.tables.model import TableModel

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 5)), columns=list("abcde"))
    model = TableRegressor(budget=1, alphas=(0.1,)).fit(X, X["a"] * X["b"])
    shares, calls = model.relevance_, []
    monkeypatch.setattr(TableModel, "relevance_", property(lambda m: calls.append(m) or shares))
    assert "a" in str(_blend(model)[-1])
    assert len(calls) == 1


def test_polars_tables():
    pl = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    X = pl.DataFrame({"a": rng.normal(size=50), "b": rng.normal(size=50)})
    page = report(KernelRidge(1.0, kernel=Gaussian(1.0)), X, X["a"].to_numpy(), **FAST)
    assert set(left_out(page)) <= {"Calibration", "Drift"}


def test_real_data(shared_data, read):
    found = np.load(shared_data / "vectors_regression" / "yacht.npz")
    model = make_pipeline(StandardScaler(), KernelRidge(0.01, kernel=Gaussian("median")))
    page = report(model, found["X"], found["y"], budget=20)
    assert set(left_out(page)) == {"Calibration", "Drift"}
    assert "better" in page.lead
    read(page.html)


def test_learning_curves_begin_with_a_few_rows_of_each_class():
    from mercer.tables import TableClassifier

    rng = np.random.default_rng(0)
    y = np.repeat([f"class {i:02d}" for i in range(12)], 16)
    X = np.repeat(rng.normal(size=(12, 3)), 16, axis=0) + 0.1 * rng.normal(size=(192, 3))
    page = report(TableClassifier(budget=1), X, y, budget=30, max_rows=192, cv=2)
    assert "Learning curve" not in left_out(page)


@pytest.mark.parametrize(
    "model",
    [
        KernelRidge(0.1, kernel=2 * Gaussian(1.5).on([0]) + Linear()),
        make_pipeline(StandardScaler(), KernelRidge(kernel=Gaussian([1.0, 2.0]).normalize())),
        GridSearchCV(KernelRidge(kernel=Gaussian()), {"alpha": [0.1, 1.0]}, cv=3),
        TableRegressor(budget=1.0, kernel=Gaussian()),
    ],
)
def test_the_code_that_reproduces_a_page_makes_the_model(wave, model):
    page = report(model, *wave, budget=1e-3)
    shown = next(s for s in page.sections if s.title == "How to reproduce").body
    code, call = unescape(re.search(r"<code>(.*?)</code>", shown, re.DOTALL)[1]).rsplit("\n", 1)
    assert call.startswith("report(model, X, y, ")
    names = {}
    exec(code, names)
    assert repr(names["model"]).replace(", verbose=False", "") == repr(model)
    assert names["report"] is report
