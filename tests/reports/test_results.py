import numpy as np
import pytest

from mercer import Gaussian, Spectrum, change_points, independence_test, report, two_sample_test


@pytest.fixture
def samples(rng):
    X, Y = rng.normal(size=(60, 3)), rng.normal(size=(50, 3))
    Y[:, 1] += 2
    return X, Y


def titles(page):
    return {s.title: s.left_out for s in page.sections}


def test_two_samples_with_where_they_differ(samples, read):
    result = two_sample_test(*samples, rng=0, n_permutations=99)
    page = report(result, *samples)
    assert titles(page) == dict.fromkeys(
        ["Result", "Where they differ", "Kernel", "How it was computed"], ""
    )
    where = next(s.body for s in page.sections if s.title == "Where they differ")
    assert where.index("x1") < where.index("x0")
    assert "evidence against" in read(page.html).text
    assert page.tiles[0].value == "0.01"


def test_without_the_samples_it_says_what_to_give(samples, read):
    page = report(two_sample_test(*samples, Gaussian(1.0), rng=0, n_permutations=99))
    assert "pass them" in titles(page)["Where"]
    read(page.html)


def test_strings_show_what_is_typical(read):
    left, right = ["abab", "abba"] * 10, ["aabb", "bb<a"] * 10
    page = report(two_sample_test(left, right, Spectrum(2), rng=0, n_permutations=99), left, right)
    text = read(page.html).text
    assert "bb<a" in text
    assert "abab" in text


def test_two_variables_together(rng, read):
    x = rng.uniform(-2, 2, 80)
    y = x**2 + 0.1 * rng.normal(size=80)
    page = report(independence_test(x, y, rng=0, n_permutations=99), x, y)
    assert "How the variables are related" in titles(page)
    assert len(read(page.html).of("svg")) == 3
    X = np.column_stack([rng.normal(size=80), x])
    page = report(independence_test(X, x, rng=0, n_permutations=99), X, x)
    assert "Column x1" in page.html


def test_null_distributions_in_closed_form(samples, read):
    result = two_sample_test(*samples, Gaussian(1.0), null="gamma")
    read(report(result, *samples).html)


def test_tables(rng, read):
    pd = pytest.importorskip("pandas")
    A = pd.DataFrame({"<x>": rng.normal(size=40), "y": rng.normal(size=40)})
    B = A + [3.0, 0.0]
    page = report(two_sample_test(A, B, rng=0, n_permutations=99), A, B)
    where = next(s.body for s in page.sections if s.title == "Where they differ")
    assert where.index("&lt;x&gt;") < where.index(">y<")
    read(page.html)


def test_segmentations_are_refused(rng):
    with pytest.raises(TypeError, match="no report"):
        report(change_points(rng.normal(size=30)))
