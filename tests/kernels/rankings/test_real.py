"""Ballots of elections, and orders of genes, as they are."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from mercer import Gaussian, Kendall, KernelRidge, Mallows, rankings_from_orders, two_sample_test


@pytest.fixture
def ballots(shared_data):
    """(name, number of items, votes, order) of each ballot of a file."""

    def read(name):
        path = shared_data / "rankings" / name
        if not path.exists():
            pytest.skip(f"{name} is not available")
        with gzip.open(path, "rt", encoding="utf-8") as file:
            rows = [line.rstrip("\n").split("\t") for line in file][1:]
        return [(e, int(m), int(n), [int(i) for i in order.split(",")]) for e, m, n, order in rows]

    return read


def drawn(rows, n, rng):
    """Ballots of voters drawn at random."""
    votes = np.array([row[2] for row in rows], dtype=float)
    picked = rng.choice(len(rows), n, p=votes / votes.sum())
    return rankings_from_orders([rows[i][3] for i in picked], range(1, rows[0][1] + 1))


def test_elections_of_two_years(ballots, rng):
    rows = ballots("apa_1998_2004.tsv.gz")
    first, second = ([row for row in rows if row[0] == f"APA_{year}"] for year in (1998, 1999))
    A, B, C = drawn(first, 300, rng), drawn(first, 300, rng), drawn(second, 300, rng)
    for kernel in (Kendall(), Mallows()):
        assert two_sample_test(A, B, kernel=kernel, rng=0).pvalue > 0.01
        assert two_sample_test(A, C, kernel=kernel, rng=0).pvalue < 0.01


def test_level(ballots, rng):
    rows = [row for row in ballots("irish_2002.tsv.gz") if row[0] == "2002 Dublin North"]
    values = []
    for seed in range(40):
        pair = drawn(rows, 40, rng), drawn(rows, 40, rng)
        values.append(two_sample_test(*pair, kernel=Mallows(), n_permutations=99, rng=seed).pvalue)
    assert np.mean(np.array(values) <= 0.1) < 0.3  # of 40, four are expected


def test_goals(ballots):
    rows = ballots("german_goals.tsv.gz")
    X = rankings_from_orders([row[3] for row in rows], range(1, 5))
    assert len(X) == 24
    assert np.linalg.matrix_rank(Kendall()(X)) == 6
    assert np.linalg.eigvalsh(Mallows(0.5)(X))[0] > 0.1


def test_label_ranking(shared_data):
    """Features of rankings as outputs of a regression; ranks by the points that each item wins."""
    path = shared_data / "rankings" / "label_ranking_dtt.npz"
    if not path.exists():
        pytest.skip("label rankings are not available")
    data = np.load(path)
    X, ranks = data["X"].astype(float), data["ranks"].astype(float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    k, train, new = Kendall(), slice(0, 1800), slice(1800, None)
    phi = k.features(k.prepare(ranks))
    model = KernelRidge(30.0, kernel=Gaussian("median")).fit(X[train], phi[train])
    i, j = np.triu_indices(4, 1)
    wins = np.zeros((len(X) - 1800, 4))
    for column, (a, b) in zip(model.predict(X[new]).T, zip(i, j, strict=True), strict=True):
        wins[:, a] += column
        wins[:, b] -= column
    tau = np.mean([k([-w], [r])[0, 0] for w, r in zip(wins, ranks[new], strict=True)])
    assert tau > 0.09  # 0 by chance; methods made for it reach 0.12 to 0.16
