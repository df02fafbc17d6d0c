"""Pieces: every row in one, the same on the way down, and what ridge regression gives there."""

import numpy as np
import pandas as pd
import pytest

from mercer import Gaussian, KernelRidge, Plan, load, save
from mercer.tables.encoding import Encoded
from mercer.tables.members import Given, Member


@pytest.fixture
def rows(rng):
    Z = rng.normal(size=(300, 3))
    return Encoded(Z, list("abc"), list("abc"), {}), (np.sin(3 * Z[:, :1]) * Z[:, 1:2])


def test_one_piece_is_ridge_regression(rows):
    X, Y = rows
    member = Member("l1", 1.0, alpha=0.1, leaf=300).fit(X, Y, np.ones(300))
    Z = X.Z * member.map_
    ridge = KernelRidge(0.1, kernel=member.profile.kernel).fit(Z, Y)
    np.testing.assert_allclose(member.predict(X), ridge.predict(Z), rtol=1e-10)
    np.testing.assert_allclose(member.variance(X), 0.1 + ridge.posterior_variance(Z), rtol=1e-8)


def test_pieces(rows):
    """Of 300 rows with at most 100 in each, four; every one has its own model."""
    X, Y = rows
    member = Member("l2", 1.0, False, 1, alpha=0.01, leaf=100).fit(X, Y, np.ones(300))
    sizes = [m.n_samples_seen_ for m in member.machines_]
    assert len(sizes) == 4
    assert sum(sizes) == 300
    assert max(sizes) <= 100
    places = member._place(X.Z @ member.map_)
    assert np.bincount(places).tolist() == sizes
    for place in range(4):
        part = X.take(places == place)
        alone = member.machines_[place].predict(part.Z @ member.map_)
        np.testing.assert_array_equal(member.predict(part), alone)
    assert np.mean((member.predict(X) - Y) ** 2) < 0.05 * Y.var()


def test_ties_stop_the_cutting():
    """Rows that are all the same cannot be told apart, however small a piece should be."""
    X = Encoded(np.zeros((50, 2)), list("ab"), list("ab"), {})
    member = Member(leaf=10).fit(X, np.arange(50.0)[:, None], np.ones(50))
    assert len(member.machines_) == 1


def test_files(rows, tmp_path):
    X, Y = rows
    member = Member("m52", 1.0, False, 2, alpha=0.01, leaf=100).fit(X, Y, np.ones(300))
    save(member, tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(X), member.predict(X))
    member.children_ = member.children_ * 0  # a tree that never ends
    save(member, tmp_path / "m")
    with pytest.raises(ValueError, match="do not fit together"):
        load(tmp_path / "m")


def test_given_kernels(rows):
    X, Y = rows
    own = pd.DataFrame(X.Z, columns=list("abc"))
    X.own = own
    member = Given(Gaussian(1.0).on(["a", "b"]), alpha=0.1).fit(X, Y, np.full(300, 2.0))
    ridge = KernelRidge(0.1, kernel=Gaussian(1.0).on(["a", "b"])).fit(own, Y, np.full(300, 2.0))
    np.testing.assert_array_equal(member.predict(X), ridge.predict(own))
    np.testing.assert_allclose(member.variance(X), 0.1 + ridge.posterior_variance(own))


def test_pieces_side_by_side(rows):
    """As many at once as memory allows, with the same outcome."""
    X, Y = rows
    member = Member("l1", 1.0, alpha=0.1, leaf=100).fit(X, Y, np.ones(300))
    narrow = Member("l1", 1.0, alpha=0.1, leaf=100, plan=Plan(memory="100 kB"))
    assert narrow._at_once(100) == 1
    np.testing.assert_allclose(narrow.fit(X, Y, np.ones(300)).predict(X), member.predict(X))
