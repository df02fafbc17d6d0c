import matplotlib as mpl
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

mpl.use("Agg")
import matplotlib.pyplot as plt

from mercer import (
    SVC,
    SVR,
    ConformalRegressor,
    Gaussian,
    GaussianProcessRegressor,
    KernelKMeans,
    KernelPCA,
    KernelRidge,
    KernelRidgeCV,
    Linear,
    OneClassSVM,
    Spectrum,
    coco,
    two_sample_test,
)
from mercer.plots import (
    CoverageDisplay,
    DecisionDisplay,
    FitDisplay,
    GramDisplay,
    GridDisplay,
    KernelDisplay,
    NullDisplay,
    PredictionDisplay,
    ReliabilityDisplay,
    WitnessDisplay,
    plot_confusion,
    plot_gram,
)
from mercer.plots.intervals import intervals


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.fixture
def plane(rng):
    X = rng.normal(size=(60, 2))
    return X, X[:, 0] + 0.1 * rng.normal(size=60)


def test_a_regression_of_one_variable_is_a_curve(plane):
    x, y = plane[0][:, :1], plane[1]
    assert KernelRidge(0.1, kernel=Gaussian()).fit(x, y).plot(x, y).get_ylabel() == "$y$"
    assert "f" in SVR(kernel=Gaussian()).fit(x, y).plot(x, y).get_legend_handles_labels()[1][1]


def test_a_regression_of_many_is_observed_against_predicted(plane):
    X, y = plane
    model = GaussianProcessRegressor(1 * Gaussian(), alpha=0.1, optimizer=None).fit(X, y)
    ax = model.plot(X, y)
    points = ax.collections[-1].get_offsets()
    np.testing.assert_allclose(points, np.column_stack([model.predict(X), y]))
    assert ax.get_legend_handles_labels()[1] == ["90% interval"]
    with pytest.raises(ValueError, match="pass y"):
        model.plot(X)
    assert model.plot(X, column=0).get_ylabel() == "$y$"


def test_pipelines_are_as_sure_as_their_last_step(plane):
    X, y = plane
    sure = make_pipeline(StandardScaler(), ConformalRegressor(KernelRidge(kernel=Gaussian())))
    sure.fit(X, y)
    found = intervals(sure, X, 0.8)
    expected = sure[-1].predict_interval(sure[0].transform(X), 0.8)
    np.testing.assert_allclose(np.hstack([found[0].low, found[0].high]), expected)


def test_classifiers_decide_in_the_plane_or_confuse(plane, rng):
    X, labels = plane[0], plane[1] > 0
    assert SVC(kernel=Gaussian()).fit(X, labels).plot(X, labels).get_xlabel()
    words = ["ab" * 3 if b else "ba" * 3 for b in labels]
    model = SVC(kernel=Spectrum(2)).fit(words, labels)
    ax = plot_confusion(model, words, labels)
    assert ax.get_title() == "accuracy 1.000"
    assert [t.get_text() for t in ax.texts] == [str(np.sum(~labels)), "0", "0", str(np.sum(labels))]
    assert OneClassSVM(kernel=Gaussian()).fit(X).plot(X).get_xlabel()


def test_components_and_clusters(plane):
    X, y = plane
    pca = KernelPCA(3, kernel=Gaussian()).fit(X)
    ax = pca.plot(X)
    np.testing.assert_allclose(ax.collections[0].get_offsets(), pca.transform(X)[:, :2])
    assert len(KernelKMeans(3, kernel=Gaussian(), random_state=0).fit(X).plot(X).collections) == 3
    assert pca.plot(X, y).collections[0].get_array() is not None


def test_searches_keep_their_map_and_have_a_picture(plane):
    X, y = plane
    search = KernelRidgeCV((0.1, 1.0), kernel=Gaussian()).fit(X, y)
    assert search.plot().get_xlabel() == "alpha"
    assert search.plot(X, y).get_xlabel() == "predicted"
    assert GridDisplay.from_estimator(search, "alpha").ax_.get_xlabel() == "alpha"


def test_gram_matrices_are_heat_maps(plane):
    X, _ = plane
    gram = Gaussian().gram(X)
    order = np.argsort(X[:, 0])
    ax = gram.plot(order=order)
    np.testing.assert_allclose(ax.images[0].get_array(), Gaussian()(X[order]))
    assert gram.center().plot().images[0].get_cmap().name == "RdBu"
    with pytest.raises(ValueError, match="order must contain"):
        plot_gram(gram, order=[0, 0])
    many = Gaussian().gram(np.linspace(0, 1, 2000)[:, None])
    assert many.plot().images[0].get_array().shape == (1000, 1000)


def test_kernels_are_drawn_on_the_line_or_on_samples(plane):
    assert Gaussian().plot(at=[0.0, 1.0]).get_ylabel() == "$k(x_0, x)$"
    assert Spectrum(2).plot(["ab", "ba"]).images
    with pytest.raises(ValueError, match="pass samples"):
        Spectrum(2).plot()
    assert (Linear() + 1).at(2.0).plot((-1, 1)).get_ylabel() == "$f(x)$"


def test_constrained_covariance(rng):
    x = rng.uniform(-2, 2, 50)
    assert len(coco(x, x**2).plot(x, x**2)) == 3


def test_displays_follow_scikit_learn(plane):
    X, y = plane
    labels = y > 0
    process = GaussianProcessRegressor(1 * Gaussian(), alpha=0.1, optimizer=None)
    classifier = SVC(kernel=Gaussian(), probability=True, random_state=0).fit(X, labels)
    found = [
        FitDisplay.from_estimator(process.fit(X[:, :1], y), X[:, :1], y),
        DecisionDisplay.from_estimator(classifier, X, labels),
        ReliabilityDisplay.from_estimator(classifier, X, labels, bins=4),
        CoverageDisplay.from_estimator(clone(process).fit(X, y), X, y),
        PredictionDisplay.from_estimator(clone(process).fit(X, y), X, y),
        KernelDisplay.from_kernel(Gaussian(), at=[0.0]),
        GramDisplay.from_kernel(Gaussian(), X),
        GramDisplay.from_estimator(process),
        NullDisplay.from_result(two_sample_test(X, X + 1, rng=0, n_permutations=49)),
        WitnessDisplay.from_samples(X[:, 0], X[:, 0] + 1),
    ]
    for display in found:
        assert display.figure_ is display.ax_.figure
        _, ax = plt.subplots()
        assert display.plot(ax=ax) is display
        assert display.ax_ is ax
        assert type(display).__name__ in repr(display)
