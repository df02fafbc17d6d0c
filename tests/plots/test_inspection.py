"""Curves, importance, partial dependence and correlations are those of independent numbers."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.inspection import partial_dependence
from sklearn.metrics import average_precision_score, roc_auc_score

from mercer import (
    LSSVR,
    SVC,
    Gaussian,
    KernelCCA,
    KernelLogisticRegression,
    KernelRidge,
    OneClassSVM,
)
from mercer.plots import (
    CorrelationDisplay,
    CurveDisplay,
    ImportanceDisplay,
    PartialDisplay,
    plot_correlations,
    plot_curve,
    plot_importance,
    plot_partial,
)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture
def table(rng):
    X = rng.normal(size=(120, 3))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=120)


@pytest.mark.parametrize("model", [SVC(), KernelLogisticRegression()])
def test_two_classes(table, model):
    X, y = table
    labels = np.where(y + np.cos(7 * X[:, 2]) > 0, "yes", "no")
    model.fit(X[:60], labels[:60])
    f = model.decision_function(X[60:])
    area = roc_auc_score(labels[60:] == "yes", f)
    ax = plot_curve(model, X[60:], labels[60:])
    assert ax.get_legend().get_texts()[0].get_text() == f"yes: area {area:.3f}"
    mean = average_precision_score(labels[60:] == "yes", f)
    ax = plot_curve(model, X[60:], labels[60:], curve="pr")
    assert ax.get_legend().get_texts()[0].get_text() == f"yes: mean {mean:.3f}"


def test_many_classes_and_novelties(table, rng):
    X, y = table
    three = np.digitize(y, [-0.5, 0.5])
    ax = plot_curve(SVC().fit(X, three), X, three)
    assert len(ax.get_legend().get_texts()) == 3
    far = np.vstack([X[:20], X[:20] + 6])
    ax = plot_curve(OneClassSVM(nu=0.1).fit(X), far, np.repeat([1, -1], 20))
    assert ax.get_legend().get_texts()[0].get_text() == "1: area 1.000"
    with pytest.raises(ValueError, match="curve must be"):
        plot_curve(SVC().fit(X, three), X, three, curve="lift")
    with pytest.raises(TypeError, match="no scores"):
        plot_curve(KernelRidge(kernel="rbf").fit(X, y), X, three)


def test_importance_finds_what_counts(table):
    pd = pytest.importorskip("pandas")
    X, y = table
    frame = pd.DataFrame(X, columns=["sine", "line", "noise"])
    model = KernelRidge(0.1, kernel=Gaussian(2.0)).fit(frame[:80], y[:80])
    ax = plot_importance(model, frame[80:], y[80:])
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[::-1] == ["sine", "line", "noise"]  # the largest on top
    widths = [bar.get_width() for bar in ax.patches]
    assert widths[0] < 0.1 < widths[1] < widths[2]


def test_partial_dependence_is_that_of_scikit_learn(table):
    X, y = table
    model = KernelRidge(0.1, kernel=Gaussian(2.0)).fit(X, y)
    ax = plot_partial(model, X, 1, grid=15)
    mean = next(line for line in ax.lines if line.get_label() == "mean")
    expected = partial_dependence(model, X, [1], grid_resolution=15, percentiles=(0, 1))
    np.testing.assert_allclose(mean.get_ydata(), expected["average"][0], atol=1e-10)
    assert len(ax.lines) == 30 + 2


def test_partial_dependence_of_tables_and_classes(table):
    pd = pytest.importorskip("pandas")
    X, y = table
    frame = pd.DataFrame(X, columns=list("abc"))
    model = KernelLogisticRegression(kernel=Gaussian(2.0)).fit(frame, y > 0)
    ax = plot_partial(model, frame, "b")
    assert ax.get_xlabel() == "b"
    values = next(line for line in ax.lines if line.get_label() == "mean").get_ydata()
    assert values[-1] > values[0] + 0.3
    assert np.all((values >= 0) & (values <= 1))
    with pytest.raises(ValueError, match="two classes"):
        plot_partial(SVC().fit(X, np.digitize(y, [-0.5, 0.5])), X, 0)


def test_correlations(table, rng):
    X, y = table
    Y = np.column_stack([y, rng.normal(size=120)])
    model = KernelCCA(1, kernels=Gaussian(2.0), regularization=0.1).fit(X, Y)
    ax = plot_correlations(model, X, Y)
    a, b = model.transform(X, Y)
    assert ax.get_title() == f"correlation {np.corrcoef(a[:, 0], b[:, 0])[0, 1]:.2f}"


def test_displays(table):
    X, y = table
    model, labels = LSSVR().fit(X, y), y > 0
    assert PartialDisplay.from_estimator(model, X, 0).ax_.lines
    assert ImportanceDisplay.from_estimator(model, X, y, n_repeats=2).ax_.patches
    assert CurveDisplay.from_estimator(SVC().fit(X, labels), X, labels, curve="pr").ax_.lines
    views = KernelCCA(1, kernels=Gaussian()).fit(X, y[:, None])
    assert CorrelationDisplay.from_estimator(views, X, y[:, None]).figure_ is not None


def test_partial_dependence_of_sparse_rows_and_arrow(table):
    X, y = table
    model = KernelRidge(0.1, kernel=Gaussian(2.0)).fit(sp.csr_matrix(X), y)
    expected = plot_partial(model, X, 1, grid=5).lines[-2].get_ydata()
    found = plot_partial(model, sp.csr_matrix(X), 1, grid=5).lines[-2].get_ydata()
    np.testing.assert_allclose(found, expected)
    pa = pytest.importorskip("pyarrow")
    frame = pa.table(dict(zip("abc", X.T, strict=True)))
    model = KernelRidge(0.1, kernel=Gaussian(2.0)).fit(frame, y)
    found = plot_partial(model, frame, "b", grid=5).lines[-2].get_ydata()
    np.testing.assert_allclose(found, expected)
