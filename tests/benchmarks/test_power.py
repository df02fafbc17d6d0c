"""The problems of the power study are what they are said to be."""

from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def test_bumps_have_their_density(rng):
    """Mass moves within each cell from one half to the other, and its amount is known."""
    from benchmarks.two_sample_data import perturbed_uniform
    from scipy.integrate import quad

    X, Y = perturbed_uniform(40_000, 1, 1.0, rng)
    moved = quad(lambda t: np.e * np.exp(-1 / (1 - (4 * t - 1) ** 2)), 0, 0.5)[0] / 2
    halves = np.histogram(X, np.linspace(0, 1, 5))[0] / 40_000
    assert np.abs(halves - 0.25) == pytest.approx(np.full(4, moved), abs=0.01)
    assert halves[0] + halves[1] == pytest.approx(0.5, abs=0.01)
    assert np.histogram(Y, 4, (0, 1))[0] / 40_000 == pytest.approx(np.full(4, 0.25), abs=0.01)
    assert perturbed_uniform(50, 2, 1.0, rng)[0].shape == (50, 2)


def test_blobs_and_mixtures(rng):
    from benchmarks.two_sample_data import blobs, mean_shift, mixture, variance_shift

    X, Y = blobs(90_000, rng)
    corner = (np.round(Y) == [0, 0]).all(axis=1) & (np.abs(Y - np.round(Y)) < 0.5).all(axis=1)
    inside = Y[corner]
    assert np.cov(inside.T) == pytest.approx(np.array([[0.03, -0.02], [-0.02, 0.03]]), abs=0.002)
    middle = X[(np.round(X) == [1, 1]).all(axis=1)]
    assert np.cov(middle.T) == pytest.approx(0.03 * np.eye(2), abs=0.002)
    X, Y = mixture(20_000, 2.0, rng)
    for Z, std in ((X, 1.0), (Y, 2.0)):
        last = Z[(Z < 0).all(axis=1)]
        assert last.std(axis=0) == pytest.approx([std, std], rel=0.05)
        assert len(last) == pytest.approx(5000, rel=0.05)
    assert mean_shift(5000, 2, 1.0, rng)[1].mean(axis=0) == pytest.approx([1, 0], abs=0.06)
    assert variance_shift(5000, 2, 2.0, rng)[1].std(axis=0) == pytest.approx([2, 1], rel=0.05)


def test_command_prints_a_table(capsys, monkeypatch):
    from benchmarks import power

    monkeypatch.setattr("sys.argv", ["power", "--repetitions", "2", "--permutations", "19",
                                     "--only", "nothing, d=10"])  # fmt: skip
    power.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| problem | mercer")
    assert lines[2].startswith("| nothing, d=10")
