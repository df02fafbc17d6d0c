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


def test_variables_are_uncorrelated_but_dependent(rng):
    from benchmarks.two_sample_data import dependent_bumps, rotated, sinusoid

    cases = (
        (dependent_bumps(40_000, 1.0, rng), (0, 0.25, 0.5, 0.75, 1)),
        (sinusoid(40_000, 2, rng), np.linspace(-np.pi, np.pi, 5)),
    )
    for (x, y), edges in cases:
        for v in (x, y):  # each one is uniform
            assert np.histogram(v, edges)[0] / 40_000 == pytest.approx(np.full(4, 0.25), abs=0.01)
        together = np.histogram2d(x, y, (edges, edges))[0] / 40_000
        assert np.abs(together - 1 / 16).min() > 0.005
    x, y = rotated(40_000, np.pi / 8, rng)
    assert np.corrcoef(x, y)[0, 1] == pytest.approx(0, abs=0.02)
    assert abs(np.corrcoef(x**2, y**2)[0, 1]) > 0.1


def _row(counts, both, published=None):
    from benchmarks.power import Row
    from benchmarks.power_problems import Problem, of_samples

    published = {"A": (0.95, 100)} if published is None else published
    problem = Problem("p", lambda rng: None, of_samples, promised=0.9, published=published)
    return Row.of(problem, {"repetitions": 100, "counts": counts, "both": both})


def test_rows_know_the_best_kernel_and_the_best_peer():
    from benchmarks.power import markdown

    counts = {"mercer": 80, "Gaussian 1": 85, "median": 20, "distance": 10, "dcor": 30,
              "MMD-FUSE": 86, "MMDAgg": 60}  # fmt: skip
    row = _row(counts, {"MMD-FUSE": 78})
    assert row.best == ("Gaussian 1", (0.85, 100))
    assert row.peer == ("MMD-FUSE", (0.86, 100))
    assert row.cells[1:5] == [
        "0.800 ± 0.040",
        "0.90, not kept",
        "0.850 ± 0.036 (Gaussian 1)",
        "-5.0",
    ]
    assert row.cells[7:] == ["0.860 ± 0.035 (MMD-FUSE)", "equal", "0.950 ± 0.022 (A)"]
    assert _row(counts, {}, {}).cells[-1] == ""
    text = markdown([row], [199, 199])
    assert len(text.splitlines()) == 5
    assert "199 permutations, 100 to 100" in text


def test_rows_compare_sample_by_sample():
    """Only samples on which one test rejects count: 1 against 7 is no even split."""
    counts = {"mercer": 80, "median": 86, "distance": 10}
    row = _row(counts, {"median": 79})  # 1 against 7
    assert row.error == pytest.approx(np.sqrt(8) / 100)
    assert row.verdict == "less"
    assert _row(counts, {"median": 75}).verdict == "equal"  # 5 against 11
    assert _row(counts, {}).verdict == "equal"  # as if samples were others
    assert _row(counts | {"mercer": 86}, {"median": 86}).verdict == "equal"
    assert _row(counts | {"mercer": 95}, {"median": 86}).verdict == "more"


def test_counts_of_packages_are_kept_for_the_same_samples():
    from benchmarks.power import with_packages

    new = {"repetitions": 9, "seed": 0, "counts": {"mercer": 5}, "both": {"mercer": 5}}
    old = {"repetitions": 9, "counts": {"mercer": 4, "dcor": 3, "median": 1}}
    assert with_packages(new, old)["counts"] == {"mercer": 5, "dcor": 3}
    assert with_packages(new, old)["both"] == {"mercer": 5}
    assert with_packages(new, old | {"both": {"dcor": 2}})["both"] == {"mercer": 5, "dcor": 2}
    assert with_packages(new, old | {"seed": 1}) == new
    assert with_packages(new, None) == new


def test_any_number_of_processes():
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from benchmarks.power import rejections
    from benchmarks.power_problems import PROBLEMS

    problem = next(p for p in PROBLEMS if p.name.startswith("nothing, d=10"))
    alone = rejections(problem, 6, 19, 0)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert rejections(problem, 6, 19, 0, pool.map) == alone
    assert alone["both"]["mercer"] == alone["counts"]["mercer"]


@pytest.mark.parametrize("name", ["nothing, d=10", "nothing, variables"])
def test_command_prints_rows(capsys, monkeypatch, name):
    from benchmarks import power

    monkeypatch.setattr("sys.argv", ["power", "--repetitions", "2", "--permutations", "19",
                                     "--quick", "--only", name])  # fmt: skip
    power.main()
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(name)
    assert line.count("|") == 9


def test_command_keeps_rows_without_data(capsys, monkeypatch, tmp_path):
    import json

    from benchmarks import power

    older = {"repetitions": 3, "permutations": 9,
             "counts": {"mercer": 2, "median": 1, "distance": 0}}  # fmt: skip
    (tmp_path / "power.json").write_text(json.dumps({"HIGGS, four angles, n=1000": older}))
    monkeypatch.setattr(power, "RESULTS", tmp_path)
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["power", "--repetitions", "2", "--permutations", "19",
                                     "--only", "HIGGS", "nothing, d=10"])  # fmt: skip
    power.main()
    skipped, line = capsys.readouterr().out.splitlines()
    assert "not at hand" in skipped
    assert line.startswith("nothing, d=10")
    found = json.loads((tmp_path / "power.json").read_text())
    assert found["HIGGS, four angles, n=1000"] == older
    assert len(found) == 2
    table = (tmp_path / "power.md").read_text(encoding="utf-8")
    assert "9 or 19 permutations" in table
    assert "| HIGGS, four angles, n=1000 | 0.667" in table


def test_table_of_measures():
    """Problems of variables alone, each measure in a column of its own."""
    from benchmarks.power import measures_markdown

    counts = {"mercer": 50, "coco": 40, "kcca": 30, "nocco": 100, "median": 7}
    found = {
        "of samples": {"repetitions": 100, "counts": {"mercer": 1}},
        "of variables": {"repetitions": 100, "counts": counts},
    }
    head, _, *rows = measures_markdown(found).splitlines()
    assert head == "| problem | HSIC | COCO | KCCA | NOCCO |"
    assert rows == [
        "| of variables | 0.500 ± 0.050 | 0.400 ± 0.049 | 0.300 ± 0.046 | 1.000 ± 0.000 |"
    ]
