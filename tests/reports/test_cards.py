import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import SVC, Gaussian, KernelRidge, Linear, Spectrum


@pytest.fixture
def X(rng):
    return rng.normal(size=(40, 2))


def shown(X):
    y = X[:, 0]
    model = KernelRidge(0.1, kernel=Gaussian(1.0)).fit(X, y)
    return {
        "kernel": 2 * Gaussian(1.5).on("<age>") + Linear() ** 2,
        "leaf": mercer.Matern(1.0, nu=2.5),
        "stored": Gaussian(1.0).gram(X),
        "centred": Gaussian(1.0).gram(X).center(),
        "features": Spectrum(2).gram(["ab", "ba", "aab"]),
        "tiled": Gaussian(1.0).gram(X, mercer.Plan(storage="tiled")),
        "cross": Gaussian(1.0).gram(X).cross(X[:5]),
        "test": mercer.two_sample_test(X, X + 1, rng=0, n_permutations=99),
        "closed": mercer.two_sample_test(X, X + 1, Gaussian(1.0), null="gamma"),
        "changes": mercer.change_points(np.r_[y[:20], y[20:] + 9]),
        "path": mercer.ridge_path(Gaussian(1.0), X, y, np.logspace(-3, 1, 5)),
        "indices": mercer.sensitivity_indices(X, y, rng=0, n_permutations=0, n_bootstrap=0),
        "function": model.rkhs_function_,
        "functions": mercer.RKHSFunction(Gaussian(1.0), X, np.ones((40, 3))),
        "tuning": mercer.Tuning(Gaussian(1.0), 0.1, 3.0, 9, True, ""),
        "forecast": model.forecast(X, y),
    }


@pytest.mark.parametrize("name", sorted(shown(np.random.default_rng(0).normal(size=(40, 2)))))
def test_objects_have_cards(X, name, read):
    found = shown(X)[name]
    page = read(found._repr_html_())
    assert page.text
    assert page.elements[2] != ("pre", {"tabindex": "0"})  # not the card of last resort
    assert len(found._repr_html_()) < 120_000


def test_a_kernel_shows_formula_parameters_and_properties(read):
    page = read(mercer.Matern(1.25, nu=2.5)._repr_html_())
    assert "math" in page.names()
    assert "1.25" in page.text
    assert "2 times differentiable" in page.text
    assert "characteristic" in page.text


def test_a_picture_must_not_stand_in_the_way(X, monkeypatch, read):
    def broken(gram):
        raise RuntimeError("no picture")

    monkeypatch.setattr("mercer.reports.cards.thumbnail", broken)
    assert "DenseGram" in read(Gaussian(1.0).gram(X)._repr_html_()).text


def test_large_grams_whose_blocks_need_all_of_them_have_no_picture(read):
    gram = Gaussian(1.0).gram(np.linspace(0, 1, 3000)[:, None]).center()
    assert not read(gram._repr_html_()).of("img")


@pytest.mark.parametrize("fitted", [False, True])
def test_the_diagram_of_a_model_holds_its_kernel(X, fitted):
    model = make_pipeline(StandardScaler(), SVC(kernel=Gaussian(2.0) + Linear()))
    if fitted:
        model.fit(X, X[:, 0] > 0)
    html = model._repr_html_()
    assert "Gaussian(lengthscale=2.0) + Linear()" in html
    assert "is a kernel because" in html


def test_the_diagram_of_a_model_of_models_holds_both():
    html = mercer.ConformalRegressor(KernelRidge(kernel=Gaussian(2.0)))._repr_html_()
    assert "ConformalRegressor" in html
    assert "Gaussian(lengthscale=2.0)" in html


@pytest.mark.parametrize("model", [SVC(), KernelRidge(kernel="rbf"), mercer.KernelPCA()])
def test_kernels_by_name_leave_the_diagram_as_it_is(model):
    assert type(model).__name__ in model._repr_html_()
