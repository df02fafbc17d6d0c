"""What happens in a round of a decomposition between the tasks of all threads."""

import numpy as np
import pytest

from mercer.solvers.smo_rounds import FEW, fall_of, gathered, moved, worst


def spaces(n):
    return np.empty(-(-n // FEW)), np.empty(n + 1, np.int64), np.empty(n + 1)


@pytest.mark.parametrize("n_groups", [1, 2])
@pytest.mark.parametrize("share", [1, 5, 40, 10_000])
@pytest.mark.parametrize("ties", [False, True])
def test_the_worst_violators_are_chosen(rng, n_groups, share, ties):
    n = 1000
    g = rng.integers(-4, 5, n) / 4 if ties else rng.standard_normal(n)
    rise, fall = g + (rng.random(n) < 0.2) * 1e30, g - (rng.random(n) < 0.2) * 1e30
    group = rng.integers(0, n_groups, n)
    among = rng.random(n) < 0.8
    ends = np.array([(rise[group == t].min(), fall[group == t].max()) for t in range(n_groups)])
    left = among.copy()
    found = np.sort(worst(rise, fall, ends, group, left, share, *spaces(n)))
    assert np.array_equal(found, np.unique(found))
    assert among[found].all()
    assert np.array_equal(np.flatnonzero(among & ~left), found)
    expected, there = [], among.copy()
    for t in range(n_groups):
        for side, bound in ((rise, ends[t, 1]), (-fall, -ends[t, 0])):
            violators = np.flatnonzero(there & (group == t) & (side < bound))
            chosen = violators[np.argsort(side[violators], kind="stable")[:share]]
            there[chosen] = False
            expected.append(chosen)
    assert np.array_equal(found, np.sort(np.concatenate(expected)))


def test_no_violators():
    g, among = np.zeros(50), np.ones(50, bool)
    ends = np.array([[0.0, 0.0]])
    assert not len(worst(g, g, ends, np.zeros(50, int), among, 8, *spaces(50)))
    assert among.all()


def test_parts_of_the_working_set(rng):
    arrays = [rng.standard_normal(40) for _ in range(4)]
    diagonal, group = rng.random(40).astype(np.float32), rng.integers(0, 2, 40)
    members = rng.permutation(40)[:12]
    *found, largest = gathered(members, *arrays, diagonal, group)
    for part, array in zip(found, [*arrays, diagonal, group], strict=True):
        assert part.dtype == array.dtype
        assert np.array_equal(part, array[members])
    assert largest == np.abs(arrays[0][members]).max()


@pytest.mark.parametrize("enough", [0, 3])
def test_what_has_moved(rng, enough):
    n, active = 60, np.sort(rng.choice(90, 60, replace=False))
    b, g = rng.standard_normal(n), rng.standard_normal(n)
    beta = np.zeros(90)
    beta[active] = b
    members = rng.permutation(n)[:20]
    point = b[members].copy()
    point[::2] += 1.0
    slot, repeats = np.full(90, -1), rng.integers(0, 4, 90)
    slot[active[members[:4]]] = 7
    before, old, times = b.copy(), repeats.copy(), repeats.copy()
    which, was, slopes, variables, change, once, missing = moved(
        members, active, point, b, beta, g, slot, repeats, enough
    )
    assert np.array_equal(which, members[::2])
    assert np.array_equal(was, before[which])
    assert np.array_equal(slopes, g[which])
    assert np.array_equal(b[which], point[::2])
    assert np.array_equal(beta[active], b)
    assert np.count_nonzero(b != before) == 10
    unknown = active[members[4::2]]
    times[unknown] += 1
    assert np.array_equal(repeats, times)
    often = old[unknown] + 1 >= enough
    assert np.array_equal(variables[:once], unknown[~often])
    assert np.array_equal(variables[once : once + missing], unknown[often])
    assert np.array_equal(variables[once + missing :], active[members[:4:2]])
    np.testing.assert_allclose(change, 1.0)


def test_fall_of_the_objective(rng):
    """Of a quadratic function, exactly: from the slopes at both ends."""
    A = rng.standard_normal((30, 30))
    K, t, epsilon = A @ A.T, rng.standard_normal(30), 0.3

    def value(b):
        return b @ K @ b / 2 - t @ b + epsilon * np.abs(b).sum()

    old, new = rng.standard_normal((2, 30))
    which = rng.permutation(30)[:11]
    now = old.copy()
    now[which] = new[which]
    slopes, later = K @ old - t, K @ now - t
    fall = fall_of(which, old[which], slopes[which], now, later, epsilon)
    np.testing.assert_allclose(fall, value(old) - value(now), rtol=1e-10)
