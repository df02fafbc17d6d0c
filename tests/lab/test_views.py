"""What views compute, against the definitions."""

from collections import Counter

import numpy as np
import pytest
from sklearn.svm import SVC as Peer

from mercer import SVC, Gaussian, Linear
from mercer.kernels.notation.parse import parse
from mercer.lab.answers import answer
from mercer.lab.picture import COLUMNS, ROWS, in_words, over_plane, plane, span, spectrum
from mercer.lab.views import VIEWS
from mercer.lab.views.dependence import witness_values
from mercer.lab.views.space import _coordinates, _plane
from mercer.lab.views.strings import shared


@pytest.fixture
def draw(preset):
    """The picture of a preset: its panels, facts, and marks of a panel by kind."""

    def drawn(name, **changes):
        found = answer(preset(name, **changes))
        assert "error" not in found, found
        picture = found["picture"]
        facts = {name: value.replace("−", "-") for name, value, _ in picture["facts"]}
        marks = [{m["kind"]: m for m in p["marks"]} for p in picture["panels"]]
        return facts, marks, picture

    return drawn


def points(payload):
    P = np.array(payload["points"])
    return P[:, :2], P[:, 2].astype(int)


def values(mark):
    return np.array(mark["values"]).reshape(ROWS, COLUMNS)


# ---- pieces --------------------------------------------------------------------------------
def test_the_field_goes_row_by_row_from_below():
    grid = plane()
    assert grid[0].tolist() == [-4, -3]
    assert grid[1, 1] == -3
    assert grid[-1].tolist() == [4, 3]
    f = over_plane(lambda Z: Z[:, 0] + 10 * Z[:, 1])
    assert f[0, 0] == -34
    assert f[-1, 0] == 26


def test_numbers_in_words():
    assert [in_words(v) for v in (3, 0.12345, 1e-5, -2.5, 123456.0)] == [
        "3", "0.123", "1e−5", "−2.5", "1.23e5",
    ]  # fmt: skip
    assert span([1.0, 1.0])[0] < 1 < span([1.0, 1.0])[1]
    assert span([np.nan]) == (-1.0, 1.0)


def test_spectra_of_nothing_can_be_drawn():
    for given in ([0.0, 0.0], [1.0], [1.0, -1e-17, 0.0]):
        panel = spectrum(np.array(given))
        assert panel.y[0] < panel.y[1]


# ---- classifiers ---------------------------------------------------------------------------
def test_the_boundary_is_that_of_another_library(draw, preset):
    payload = preset("radial")
    X, y = points(payload)
    _, marks, _ = draw("radial")
    peer = Peer(C=5.0, gamma=1 / (2 * 0.8**2), tol=1e-6).fit(X, y)
    expected = peer.decision_function(plane()).reshape(ROWS, COLUMNS)
    assert np.abs(values(marks[0]["field"]) - expected).max() < 0.02


def test_support_vectors_are_free_or_bounded_by_their_multipliers(draw, preset):
    X, y = points(preset("margins"))
    facts, marks, _ = draw("margins")
    model = SVC(kernel=Linear(), C=1.0).fit(X, y)
    alpha = np.zeros(len(X))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    rings = marks[0]["rings"]
    assert sorted(rings["bounded"]) == np.flatnonzero(alpha >= 1 - 1e-9).tolist()
    assert sorted(rings["free"]) == np.flatnonzero((alpha > 0) & (alpha < 1 - 1e-9)).tolist()
    assert float(facts["margin"]) == pytest.approx(2 / np.linalg.norm(model.coef_), rel=0.01)


def test_losses_are_those_of_the_margins(draw, preset):
    X, y = points(preset("hinge"))
    _, marks, _ = draw("hinge")
    f = SVC(kernel=Linear(), C=0.3).fit(X, y).decision_function(X)
    m = np.clip((2 * y - 1) * f, -2.45, 2.95)
    np.testing.assert_allclose(marks[1]["dots"]["x"], m, atol=1e-3)
    np.testing.assert_allclose(marks[1]["dots"]["y"], np.maximum(0, 1 - m), atol=1e-3)


def test_the_other_lines_separate_and_the_margin_of_none_is_wider(draw, preset):
    X, y = points(preset("many-lines"))
    facts, _, picture = draw("many-lines")
    lines = [m for m in picture["panels"][0]["marks"] if m["kind"] == "line"]
    assert len(lines) >= 20
    for line in lines:
        (x0, x1), (y0, y1) = line["x"], line["y"]
        normal = np.array([y0 - y1, x1 - x0]) / np.hypot(x1 - x0, y1 - y0)
        side = (X - [x0, y0]) @ normal
        assert (side[y == 0].max() < 0 < side[y == 1].min()) or (
            side[y == 1].max() < 0 < side[y == 0].min()
        )
        assert 2 * np.abs(side).min() <= float(facts["margin"]) + 0.01


def test_what_cannot_be_separated_is_said(preset):
    found = answer(preset("margins", options={"model": "hard"}))
    assert "hard margin" in found["error"]
    assert found["kernel"]["text"] == "Linear()"


def test_regions_of_many_classes_are_predictions(draw, preset):
    X, y = points(preset("one-vs-rest"))
    _, marks, _ = draw("one-vs-rest")
    scores = [
        Peer(kernel="linear", tol=1e-6).fit(X, y == c).decision_function(plane()) for c in range(3)
    ]
    expected = np.argmax(scores, axis=0).reshape(ROWS, COLUMNS)
    assert np.mean(values(marks[0]["field"]) != expected) < 0.01


# ---- regressions ---------------------------------------------------------------------------
def test_ridge_is_the_closed_form(draw, preset):
    X, _ = points(preset("good-fit"))
    x, y = X.T
    K = np.exp(-((x[:, None] - x) ** 2) / (2 * 0.7**2))
    a = np.linalg.solve(K + 0.1 * np.eye(len(x)), y)
    facts, marks, _ = draw("good-fit")
    t = np.array(marks[0]["line"]["x"])
    f = np.exp(-((t[:, None] - x) ** 2) / (2 * 0.7**2)) @ a
    np.testing.assert_allclose(marks[0]["line"]["y"], f, atol=1e-3)
    np.testing.assert_allclose(marks[1]["stems"]["y"], a, atol=1e-3)
    assert float(facts["‖f‖"]) == pytest.approx(np.sqrt(a @ K @ a), rel=0.01)
    freedom = np.trace(K @ np.linalg.inv(K + 0.1 * np.eye(len(x))))
    assert float(facts["degrees of freedom"]) == pytest.approx(freedom, rel=0.01)


def test_bands_of_a_process_are_its_posterior(draw, preset):
    X, _ = points(preset("gp"))
    x, y = X.T
    _, _, picture = draw("gp")
    bands = [m for m in picture["panels"][0]["marks"] if m["kind"] == "band"]
    t = np.array(bands[1]["x"])
    k = np.exp(-((t[:, None] - x) ** 2) / (2 * 0.8**2))
    inverse = np.linalg.inv(np.exp(-((x[:, None] - x) ** 2) / (2 * 0.8**2)) + 0.01 * np.eye(len(x)))
    mean, variance = k @ inverse @ y, 1 - np.einsum("ti,ij,tj->t", k, inverse, k)
    np.testing.assert_allclose(bands[1]["high"], mean + 2 * np.sqrt(variance), atol=2e-3)
    np.testing.assert_allclose(bands[0]["low"], mean - 2 * np.sqrt(variance + 0.01), atol=2e-3)


def test_points_with_weight_lie_on_or_outside_the_tube(draw, preset):
    X, _ = points(preset("tube"))
    _, marks, _ = draw("tube")
    weights = np.array(marks[1]["stems"]["y"])
    rings = marks[0]["rings"]
    assert sorted(rings["free"] + rings["bounded"]) == np.flatnonzero(weights).tolist()
    f = np.interp(X[:, 0], marks[0]["line"]["x"], marks[0]["line"]["y"])
    away = np.abs(X[:, 1] - f)
    assert away[weights == 0].max() < 0.41
    assert away[rings["bounded"]].min() > 0.39


# ---- components, clusters, spaces ------------------------------------------------------------
def test_components_are_eigenfunctions_of_the_centred_matrix(draw, preset):
    X, _ = points(preset("kernel-pca"))
    facts, marks, _ = draw("kernel-pca")
    k = Gaussian(1.0)
    H = np.eye(len(X)) - 1 / len(X)
    K = k(X)
    w, V = np.linalg.eigh(H @ K @ H)
    assert float(facts["variance"]) == pytest.approx(w[-1] / len(X), rel=0.01)
    new = (k(plane(), X) - K.mean(axis=0)) @ H @ V[:, -1] / np.sqrt(w[-1])
    found = values(marks[0]["field"]).ravel()
    assert min(np.abs(found - new).max(), np.abs(found + new).max()) < 1e-3


def test_features_in_space_have_the_inner_products_of_the_kernel(draw, preset):
    for name, kernel in (("xor-space", "XOR()"), ("ellipse-space", "Linear() ** 2")):
        X, _ = points(preset(name))
        _, phi = _coordinates(parse(kernel), X)
        np.testing.assert_allclose(phi(X) @ phi(X).T, parse(kernel)(X), atol=1e-10)
        facts, marks, _ = draw(name)
        assert facts["errors"] == "0"
        assert len(marks[1]["space"]["points"]) == len(X)


def test_planes_are_cut_by_the_cube(rng):
    for _ in range(50):
        normal, offset = rng.normal(size=3), rng.normal()
        for corner in _plane(normal, offset):
            assert abs(normal @ corner + offset) < 1e-3
            assert np.max(np.abs(corner)) <= 1.1501
    assert _plane(np.array([1.0, 0, 0]), 9.0) == []


def test_nu_bounds_what_is_left_outside(draw):
    facts, marks, _ = draw("level-sets")
    assert int(facts["outside"].rstrip("%")) <= 10
    assert int(facts["support vectors"].rstrip("%")) >= 10
    assert len(marks[0]["rings"]["bounded"]) == int(facts["bounded"])


def test_clusters_are_found(draw, preset):
    _, y = points(preset("rings"))
    _, marks, _ = draw("rings")
    found = np.array(marks[0]["recolour"]["labels"])
    assert set(zip(y.tolist(), found.tolist(), strict=True)) in ({(0, 0), (1, 1)}, {(0, 1), (1, 0)})


# ---- tests ---------------------------------------------------------------------------------
def test_the_witness_is_a_difference_of_means(draw, preset):
    X, y = points(preset("witness-plane"))
    facts, marks, _ = draw("witness-plane")
    k = Gaussian(0.8)
    expected = k(plane(), X[y == 1]).mean(axis=1) - k(plane(), X[y == 0]).mean(axis=1)
    np.testing.assert_allclose(values(marks[0]["field"]).ravel(), expected, atol=1e-4)
    K = k(X)
    signs = np.where(y == 0, 1, -1) / 50
    assert float(facts["‖witness‖"]) == pytest.approx(np.sqrt(signs @ K @ signs), rel=0.01)
    A, B = K[np.ix_(y == 0, y == 0)], K[np.ix_(y == 1, y == 1)]
    unbiased = (
        sum((M.sum() - 50) / (50 * 49) for M in (A, B)) - 2 * K[np.ix_(y == 0, y == 1)].mean()
    )
    assert float(facts["MMD²"]) == pytest.approx(unbiased, rel=0.01)
    assert 0 < float(facts["p-value"]) <= 0.05


def test_dependence_is_seen_and_independence_is_not(draw):
    dependent, _, picture = draw("circle")
    assert float(dependent["p-value"]) < 0.05
    assert abs(float(dependent["correlation"])) < 0.3
    assert abs(float(dependent["of f and g"])) > 0.5
    assert "are dependent" in picture["note"]
    assert float(draw("independent")[0]["p-value"]) > 0.05


def test_the_witness_of_dependence_is_a_difference_of_embeddings(preset):
    X, _ = points(preset("circle"))
    k = Gaussian(0.7)
    found = witness_values(k, X[:, :1], X[:, 1:])
    assert found.shape == (ROWS, COLUMNS)
    for row, column in ((7, 5), (30, 40), (48, 0)):
        a, b = plane()[COLUMNS * row + column]
        u, v = k([[a]], X[:, :1])[0], k([[b]], X[:, 1:])[0]
        assert found[row, column] == pytest.approx(np.mean(u * v) - u.mean() * v.mean(), abs=1e-12)


# ---- matrices, functions, strings ------------------------------------------------------------
def test_facts_of_a_gram_matrix(draw, preset):
    X, y = points(preset("gram"))
    facts, marks, _ = draw("gram")
    K = Gaussian(0.8)(X)
    order = np.lexsort((X[:, 0], y))
    np.testing.assert_allclose(marks[1]["matrix"]["values"], K[np.ix_(order, order)], atol=1e-4)
    assert int(facts["rank"]) == np.linalg.matrix_rank(K, 1e-10 * np.linalg.norm(K, 2))
    centred, *_ = draw("gram", options={"centred": True})
    assert float(centred["trace"]) == pytest.approx(len(X) - K.mean() * len(X), rel=0.01)


def test_bumps_add_up(draw, preset):
    X, _ = points(preset("sum-of-bumps"))
    facts, marks, _ = draw("sum-of-bumps")
    x, a = X.T
    t = np.array(marks[0]["line"]["x"])
    f = np.exp(-((t[:, None] - x) ** 2) / (2 * 0.7**2)) @ a
    np.testing.assert_allclose(marks[0]["line"]["y"], f, atol=1e-3)
    K = np.exp(-((x[:, None] - x) ** 2) / (2 * 0.7**2))
    assert float(facts["‖f‖"]) == pytest.approx(np.sqrt(a @ K @ a), rel=0.01)
    assert float(facts["largest |f|"]) <= float(facts["bound"])


def test_series_and_eigenfunctions(draw):
    hat, _, picture = draw("top-hat")
    norms = next(m for m in picture["panels"][2]["marks"])["y"]
    assert np.all(np.diff(norms) >= 0)
    assert float(hat["‖f‖"]) == pytest.approx(10 ** norms[-1], rel=0.01)
    assert float(draw("theta")[0]["largest error"]) < 1e-10
    _, _, eigen = draw("eigenfunctions")
    lines = [np.array(m["y"]) for m in eigen["panels"][0]["marks"] if m["kind"] == "line"]
    t = np.linspace(-3.5, 3.5, 241)
    density = np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi)
    products = [[np.sum(e * g * density) * (t[1] - t[0]) for e in lines] for g in lines]
    np.testing.assert_allclose(products, np.eye(3), atol=0.02)


def test_shared_pieces_are_counted():
    what, found = shared(parse("Spectrum(2)"), "ABABC", "BABX")
    assert what == "shared 2-mers"
    assert found == [("AB", 2, 1), ("BA", 1, 1)]
    assert sum(a * b for _, a, b in found) == parse("Spectrum(2)")(["ABABC"], ["BABX"])[0, 0]
    what, found = shared(parse("Words().normalize()"), "the dog", "The cat, the dog")
    assert what == "shared words"
    assert {u: (a, b) for u, a, b in found} == {"the": (1, 2), "dog": (1, 1)}


def test_the_matrix_of_strings_is_that_of_counts(draw, preset):
    S = preset("k-mers")["strings"]
    _, marks, _ = draw("k-mers")
    C = [Counter(s[i : i + 3] for i in range(len(s) - 2)) for s in S]
    K = np.array([[sum(a[u] * b[u] for u in a) for b in C] for a in C], dtype=float)
    K /= np.sqrt(np.outer(np.diag(K), np.diag(K)))
    np.testing.assert_allclose(marks[0]["matrix"]["values"], K, atol=1e-4)


def test_digits_lose_their_noise(draw):
    facts, marks, _ = draw("denoising")
    assert float(facts["kernel PCA"]) < float(facts["linear PCA"]) < float(facts["noisy"])
    assert np.shape(marks[0]["images"]["rows"]) == (4, 10, 64)


@pytest.mark.parametrize(
    ("name", "words"),
    [("margins", "Add 2 more points"), ("good-fit", "Add 2 more"), ("circle", "Add 6 more"),
     ("gram", "Add 1 more point."), ("k-means", "Add 4 more"), ("witness", "2 classes")],
)  # fmt: skip
def test_an_empty_plane_says_what_is_missing(preset, name, words):
    assert words in answer(preset(name, points=[]))["error"]


@pytest.mark.parametrize("kernel", ["Gaussian(1.0)", "Linear()", "Polynomial(3)"])
def test_points_on_top_of_each_other(kernel):
    """A picture or a sentence for users, in every view."""
    same = [[1.0, 1.0, i % 2] for i in range(20)]
    for view in VIEWS.values():
        if view.data in ("plane", "line"):
            found = answer({"view": view.name, "kernel": kernel, "points": same})
            assert ("error" in found) != ("picture" in found)
            assert "Error" not in found.get("error", "")
