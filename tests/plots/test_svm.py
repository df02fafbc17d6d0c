"""Pictures of support vector machines: lines and rings are where they belong."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm as sk
from sklearn.datasets import load_iris, make_moons

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.contour import QuadContourSet  # noqa: E402

from mercer import (  # noqa: E402
    LSSVC,
    SVC,
    SVR,
    Categorical,
    Gaussian,
    Linear,
    NuSVC,
    NuSVR,
    OneClassSVM,
)
from mercer.plots.svm import plot_decision, plot_losses, plot_tube  # noqa: E402

FREE, BOUNDED = "free support vectors", "bounded support vectors"


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.fixture
def moons():
    X, y = make_moons(120, noise=0.25, random_state=0)
    return X, np.array(["lower", "upper"])[y]


def lines(ax):
    """Vertices of the contour lines by level."""
    sets = [c for c in ax.collections if isinstance(c, QuadContourSet) and not c.filled]
    return {float(c.levels[0]): np.concatenate([p.vertices for p in c.get_paths()]) for c in sets}


def marked(ax, label):
    """The points with this label in the legend, in the order of their coordinates."""
    found = [c for c in ax.collections if c.get_label() == label]
    points = np.concatenate([np.empty((0, 2)), *(np.asarray(c.get_offsets()) for c in found)])
    return in_order(points)


def in_order(points):
    return points[np.lexsort(points.T)]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


class TestTwoClasses:
    def test_boundary_and_margins_of_two_points(self):
        X = np.array([[0.0, 0.0], [4.0, 0.0], [-1.0, 3.0], [5.0, -3.0]])
        y = [0, 1, 0, 1]
        ax = plot_decision(SVC(C=np.inf, kernel="linear").fit(X, y), X, y)
        drawn = lines(ax)
        assert sorted(drawn) == [-1.0, 0.0, 1.0]
        for level, vertices in drawn.items():
            assert vertices[:, 0] == pytest.approx(2 + 2 * level, abs=1e-5)
        np.testing.assert_array_equal(marked(ax, FREE), [[0, 0], [4, 0]])
        assert len(marked(ax, BOUNDED)) == 0
        assert legend(ax) == ["0", "1", FREE]

    @pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
    def test_rings_follow_the_coefficients(self, moons, C):
        X, y = moons
        model = SVC(C=C, kernel=Gaussian(0.5)).fit(X, y)
        ax = plot_decision(model, X, y, resolution=20)
        at_bound = np.abs(model.dual_coef_[0]) >= C
        np.testing.assert_array_equal(marked(ax, BOUNDED), in_order(X[model.support_[at_bound]]))
        np.testing.assert_array_equal(marked(ax, FREE), in_order(X[model.support_[~at_bound]]))

    def test_rings_with_weights(self, moons, rng):
        X, y = moons
        weight = rng.uniform(0.5, 2, len(y))
        model = SVC(C=2.0, class_weight={"upper": 3.0}, tol=1e-8).fit(X, y, weight)
        limit = 2.0 * weight * np.where(y == "upper", 3.0, 1.0)
        at_bound = np.abs(model.dual_coef_[0]) >= limit[model.support_]
        ax = plot_decision(model, X, y, resolution=20)
        np.testing.assert_array_equal(marked(ax, BOUNDED), in_order(X[model.support_[at_bound]]))

    def test_values_on_the_lines(self, moons):
        X, y = moons
        model = NuSVC(nu=0.4, kernel=Gaussian(0.7)).fit(X, y)
        ax = plot_decision(model, X, y)
        for level, vertices in lines(ax).items():
            # lines are straight between the points of the grid, f is not
            assert np.abs(model.decision_function(vertices) - level).max() < 0.02
        report = model.decision_path()[0]
        assert (len(marked(ax, FREE)), len(marked(ax, BOUNDED))) == (report.free, report.bounded)

    def test_points_need_not_be_those_of_the_fit(self, moons):
        X, y = moons
        model = SVC(C=0.5).fit(X[:60], y[:60])
        ax = plot_decision(model, X[60:], y[60:], resolution=20)
        rings = np.concatenate([marked(ax, FREE), marked(ax, BOUNDED)])
        np.testing.assert_array_equal(in_order(rings), in_order(model.support_vectors_))
        np.testing.assert_array_equal(marked(ax, "upper"), in_order(X[60:][y[60:] == "upper"]))

    def test_least_squares_has_no_rings(self, moons):
        X, y = moons
        ax = plot_decision(LSSVC(kernel=Gaussian()).fit(X, y), X, y)
        assert legend(ax) == ["lower", "upper"]
        assert 0.0 in lines(ax)

    def test_machines_of_scikit_learn(self, moons):
        X, y = moons
        model = sk.SVC(tol=1e-5).fit(X, y)
        ax = plot_decision(model, X, y, resolution=20)
        at_bound = np.abs(model.dual_coef_[0]) >= 1
        np.testing.assert_array_equal(marked(ax, BOUNDED), in_order(X[model.support_[at_bound]]))

    def test_sparse_samples(self, moons):
        X, y = moons
        dense, sparse = (SVC(tol=1e-8).fit(Z, y) for Z in (X, sp.csr_matrix(X)))
        rings = marked(plot_decision(sparse, sp.csr_matrix(X), y, resolution=10), FREE)
        np.testing.assert_allclose(rings, marked(plot_decision(dense, X, y), FREE))

    @pytest.mark.filterwarnings("error")
    def test_a_picture_without_a_boundary(self):
        X = np.array([[0.0, 0.0], [1.0, 1.0], [9.0, 9.0]])
        model = SVC(kernel="linear").fit(X, [0, 0, 1])
        assert lines(plot_decision(model, X[:1], [0])) == {}


class TestRegions:
    @pytest.mark.parametrize("model", [SVC(C=10.0), LSSVC(C=10.0)], ids=str)
    def test_tints_are_predictions(self, model):
        X, y = load_iris(return_X_y=True)
        X = X[:, 2:]
        ax = plot_decision(model.fit(X, y), X, y, resolution=80)
        filled = [c for c in ax.collections if isinstance(c, QuadContourSet) and c.filled]
        assert len(filled) == 3
        inside = np.stack([c.get_paths()[0].contains_points(X) for c in filled], axis=1)
        np.testing.assert_array_equal(np.argmax(inside, axis=1), model.predict(X))
        assert legend(ax) == ["0", "1", "2"]


class TestOneClass:
    def test_level_set_and_rings(self, rng):
        X = rng.standard_normal((100, 2))
        model = OneClassSVM(nu=0.2, kernel=Gaussian(), tol=1e-6).fit(X)
        ax = plot_decision(model, X)
        edge = lines(ax)
        assert list(edge) == [0.0]
        scale = np.abs(model.decision_function(X)).max()
        assert np.abs(model.decision_function(edge[0.0])).max() < 2e-3 * scale
        at_bound = model.dual_coef_[0] >= 1
        np.testing.assert_array_equal(marked(ax, BOUNDED), in_order(X[model.support_[at_bound]]))
        assert legend(ax) == [FREE, BOUNDED]

    def test_labels_may_be_shown(self, rng):
        X = np.concatenate([rng.standard_normal((50, 2)), [[6.0, 6.0]]])
        ax = plot_decision(OneClassSVM(nu=0.1).fit(X), X, [1] * 50 + [-1])
        assert legend(ax)[:2] == ["-1", "1"]


class TestSections:
    def test_other_columns_are_at_their_medians(self, rng):
        X = rng.standard_normal((80, 3))
        y = (X @ [1.0, -1.0, 2.0] > 0).astype(int)
        model = SVC(kernel=Linear()).fit(X, y)
        ax = plot_decision(model, X, y, columns=(2, 0))
        u, v = lines(ax)[0.0].T
        section = np.column_stack([v, np.full(len(u), np.median(X[:, 1])), u])
        assert model.decision_function(section) == pytest.approx(0, abs=1e-6)
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("$x_{3}$", "$x_{1}$")
        np.testing.assert_array_equal(marked(ax, "1"), in_order(X[y == 1][:, [2, 0]]))

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize("package", ["pandas", "polars"])
    def test_tables_of_mixed_columns(self, rng, package):
        Frame = pytest.importorskip(package).DataFrame
        age, dose = rng.standard_normal((2, 90))
        ward = ["A"] * 50 + ["B"] * 40
        table = Frame({"age": age, "dose": dose, "ward": ward})
        y = np.where(dose + (np.array(ward) == "B") > 0.3, "well", "ill")
        kernel = Gaussian().on(["age", "dose"]) + Categorical().on("ward")
        model = SVC(C=10.0, kernel=kernel).fit(table, y)
        ax = plot_decision(model, table, y, columns=("dose", "age"))
        dose, age = lines(ax)[0.0].T
        f = model.decision_function(Frame({"age": age, "dose": dose, "ward": ["A"] * len(age)}))
        assert np.abs(f).max() < 0.02
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("dose", "age")

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize("package", ["pandas", "polars"])
    def test_models_that_turn_tables_into_arrays(self, moons, package):
        X, y = moons
        table = pytest.importorskip(package).DataFrame({"a": X[:, 0], "b": X[:, 1]})
        ax = plot_decision(SVC().fit(table, y), table, y)
        np.testing.assert_array_equal(
            marked(ax, FREE), marked(plot_decision(SVC().fit(X, y), X, y), FREE)
        )
        assert ax.get_xlabel() == "a"


class TestBadInput:
    def test_columns(self, rng):
        X, y = rng.standard_normal((20, 3)), np.repeat([0, 1], 10)
        model = SVC().fit(X, y)
        with pytest.raises(ValueError, match=r"X has 3; choose them with columns=\(0, 2\)"):
            plot_decision(model, X, y)
        with pytest.raises(ValueError, match="two of 0, 1, 2"):
            plot_decision(model, X, y, columns=(0, 5))
        with pytest.raises(ValueError, match="two of 0, 1, 2"):
            plot_decision(model, X, y, columns=(0, 1, 2))

    def test_the_rest(self, moons, monkeypatch):
        X, y = moons
        model = SVC().fit(X, y)
        with pytest.raises(ValueError, match="inconsistent numbers"):
            plot_decision(model, X, y[:5])
        with pytest.raises(ValueError, match="resolution must be an integer >= 2"):
            plot_decision(model, X, y, resolution=1)
        K = Gaussian()(X)
        with pytest.raises(ValueError, match="evaluates the kernel on a grid"):
            plot_decision(SVC(kernel="precomputed").fit(K, y), K, y)
        with pytest.raises(ValueError, match="works on vectors"):
            plot_decision(model, ["ab", "ba"])
        monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
        with pytest.raises(ImportError, match=r'pip install "mercer\[plot\]"'):
            plot_decision(model, X, y)


def test_losses():
    ax = plot_losses()
    curves = {line.get_label().split(" ")[0]: line for line in ax.lines}
    u, hinge = curves["hinge"].get_data()
    np.testing.assert_allclose(hinge, [max(0, 1 - v) for v in u])
    zero_one = (u < 0).astype(float)
    for name in ("hinge", "squared", "logistic"):
        v, loss = curves[name].get_data()
        np.testing.assert_array_equal(v, u)
        assert np.all(loss >= zero_one)
        assert np.all(np.diff(loss, 2) >= -1e-12)  # convex
        assert np.interp(0, u, loss) == pytest.approx(1, abs=1e-3)
    x, y = curves["zero-one"].get_data()
    np.testing.assert_array_equal(y, [1, 1, np.nan, 0, 0])
    np.testing.assert_array_equal(x[1:4], [0, np.nan, 0])
    assert len(legend(ax)) == 4
    _, given = plt.subplots()
    assert plot_losses(ax=given) is given


class TestTube:
    @pytest.fixture
    def data(self, rng):
        x = np.sort(rng.uniform(0, 6, 70))
        return x[:, None], np.sin(x) + rng.normal(0, 0.2, 70)

    @pytest.mark.parametrize(
        "model", [SVR(C=3.0, epsilon=0.15, kernel=Gaussian()), NuSVR(nu=0.4, kernel=Gaussian())]
    )
    def test_curve_edges_and_rings(self, data, model):
        X, y = data
        model.set_params(tol=1e-7).fit(X, y)  # on the edge or beyond it is told up to tol
        epsilon = getattr(model, "epsilon_", 0.15)
        ax = plot_tube(model, X, y)
        low, high, f = ax.lines[:3]
        t = f.get_xdata()
        assert f.get_ydata() == pytest.approx(model.predict(t[:, None]))
        assert high.get_ydata() - f.get_ydata() == pytest.approx(epsilon)
        assert f.get_ydata() - low.get_ydata() == pytest.approx(epsilon)
        at_bound = np.abs(model.dual_coef_[0]) >= model.C
        points = np.column_stack([X, y])[model.support_]
        np.testing.assert_array_equal(marked(ax, BOUNDED), in_order(points[at_bound]))
        np.testing.assert_array_equal(marked(ax, FREE), in_order(points[~at_bound]))
        assert legend(ax)[1:] == ["$f$", FREE, BOUNDED]

    def test_points_on_the_line_and_given_axes(self, data):
        X, y = data
        _, ax = plt.subplots()
        assert plot_tube(SVR(kernel=Gaussian()).fit(X, y), X[:, 0], y, ax=ax) is ax

    def test_bad_input(self, data):
        X, y = data
        model = SVR().fit(X, y)
        with pytest.raises(ValueError, match="needs the 70 samples"):
            plot_tube(model, X[:5], y[:5])
        with pytest.raises(ValueError, match="one variable, but X has 2"):
            plot_tube(model, np.zeros((70, 2)), y)


def test_the_picture_can_be_written(moons, tmp_path):
    X, y = moons
    plot_decision(SVC().fit(X, y), X, y).figure.savefig(tmp_path / "svm.png")
    assert (tmp_path / "svm.png").stat().st_size > 20000
