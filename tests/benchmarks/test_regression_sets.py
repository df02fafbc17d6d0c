"""Regression on real sets: splits, scores, verdicts, tables. No model is judged here."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "vectors_regression"


@pytest.fixture(autouse=True)
def _on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.fixture
def folder(tmp_path, rng):
    """A set with two published splits, one without, and one that leaks."""
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    X[:, 1] = 5.0
    masks = np.zeros((60, 2), dtype=bool)
    masks[:20, 0] = masks[40:, 1] = True
    np.savez(tmp_path / "split.npz", X=X, y=y, test_mask=masks)
    np.savez(tmp_path / "whole.npz", X=X, y=y)
    np.savez(tmp_path / "bike.npz", X=rng.normal(size=(60, 17)), y=y)
    return tmp_path


def job(name, split=0, method="mercer ridge", max_train=1000, max_test=1000):
    from benchmarks.regression_methods import Job

    return Job(name, split, method, max_train, max_test)


def row(name, split, method, rmse, **others):
    return {"set": name, "split": split, "method": method, "rmse": rmse, "seconds": 1.0, **others}


# ---- data ----------------------------------------------------------------------------------------
def test_published_rows_are_held_out_in_units_of_the_training_rows(folder):
    from benchmarks.regression_methods import read

    data = read(folder, job("split"))
    file = np.load(folder / "split.npz")
    train = file["y"][20:]
    np.testing.assert_allclose(
        np.sort(data.target), np.sort((file["y"][:20] - train.mean()) / train.std())
    )
    assert data.X.shape == (40, 2)  # the constant feature is gone
    np.testing.assert_allclose(data.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(data.X.std(axis=0), 1)
    np.testing.assert_allclose([data.y.mean(), data.y.std()], [0, 1], atol=1e-12)
    centre, spread = file["X"][20:, 0].mean(), file["X"][20:, 0].std()
    order = np.argsort(data.target)
    expected = ((file["X"][:20, 0] - centre) / spread)[np.argsort(file["y"][:20])]
    np.testing.assert_allclose(data.new[order, 0], expected)
    np.testing.assert_allclose(data.lengths, np.sqrt([2, 2]))


def test_sizes_are_limited_and_drawn_anew_for_each_split(folder):
    from benchmarks.regression_methods import read

    first, second = (read(folder, job("whole", k, max_train=30, max_test=4)) for k in (0, 1))
    assert first.X.shape == (30, 2)
    assert first.target.shape == (4,)
    assert not np.array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.X, read(folder, job("whole", 0, max_train=30)).X)
    whole = read(folder, job("whole"))
    assert (len(whole.y), len(whole.target)) == (54, 6)


def test_columns_that_give_the_target_away_are_left_out(folder):
    from benchmarks.regression_methods import read

    assert read(folder, job("bike")).X.shape[1] == 15


def test_more_splits_than_published(folder):
    from benchmarks.regression_methods import read

    with pytest.raises(ValueError, match="split has 2 published splits"):
        read(folder, job("split", 2))


def test_the_rule_for_the_ten_sets(shared_data):
    from benchmarks.regression_sets import SETS

    found = []
    for path in sorted((shared_data / FOLDER).glob("*.npz")):
        with np.load(path) as file:
            if "test_mask" in file and file["test_mask"].sum(axis=0).min() >= 100:
                found.append(path.stem)
    assert tuple(found[:10]) == SETS


# ---- scores --------------------------------------------------------------------------------------
def test_scores_of_normal_predictions(rng):
    from benchmarks.regression_methods import normal_scores

    mean, std = rng.normal(size=50), rng.uniform(0.5, 2, 50)
    target = mean + std * rng.normal(size=50)
    found = normal_scores(target, mean, std)
    assert found["nlpd"] == pytest.approx(-norm.logpdf(target, mean, std).mean(), rel=1e-12)
    low, high = norm.interval(0.9, mean, std)
    assert found["coverage"] == np.mean((low <= target) & (target <= high))
    assert found["width"] == pytest.approx(np.mean(high - low))
    assert found["rmse"] == pytest.approx(np.sqrt(sum((target - mean) ** 2) / 50))


# ---- verdicts ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ([0.90, 0.91, 0.92], [1.0, 1.0, 1.0], "win"),
        ([1.10, 1.11, 1.12], [1.0, 1.0, 1.0], "loss"),
        ([0.80, 1.30, 1.00], [1.0, 1.0, 1.0], "tie"),  # 0.033 within 0.145
        ([0.996, 0.9961], [1.0, 1.0], "tie"),  # too small to be noticed
        ([1.004, 1.0041], [1.0, 1.0], "tie"),
        ([0.99, 1.99], [1.0, 2.01], "win"),  # the splits differ, the pairs hardly
        ([0.5], [1.0], None),
        ([], [], None),
    ],
)
def test_a_difference_counts_beyond_its_standard_error(ours, theirs, expected):
    from benchmarks.regression_table import verdict

    assert verdict(ours, theirs) == expected


def test_the_worst_verdict_counts():
    from benchmarks.regression_table import worst

    assert worst(["win", "tie", None]) == "tie"
    assert worst(["loss", "win"]) == "loss"
    assert worst([None]) is None


def some_rows():
    rows = []
    for split in range(3):
        step = 0.001 * split
        more = {"n_train": 40, "d": 2}
        rows += [
            row("a", split, "mercer GP", 0.5 + step, coverage=0.9, nlpd=-0.25, **more),
            row("a", split, "mercer ridge", 0.6 + step, coverage=0.95, **more),
            row("a", split, "scikit-learn GP", 0.6, coverage=0.8, nlpd=1.0),
            {"set": "a", "split": split, "method": "scikit-learn SVR", "note": "> 9 s"},
        ]
    return rows


def test_splits_that_one_did_not_finish_do_not_count():
    from benchmarks.regression_table import against

    rows = some_rows()
    assert against(rows, "a", "mercer GP", "scikit-learn GP") == "win"
    assert against(rows, "a", "mercer GP", "scikit-learn SVR") is None
    rows = [r for r in rows if r["method"] != "scikit-learn GP" or r["split"] == 0]
    assert against(rows, "a", "mercer GP", "scikit-learn GP") is None


def test_the_page():
    from benchmarks.regression_table import markdown

    page = markdown(some_rows(), {"max_train": 40, "max_test": 10}, "a machine")
    assert "| a, 40 × 2 | 0.5010 ± 0.0006 | 0.6010 ± 0.0006 | 0.6000 ± 0.0000 |  | > 9 s |" in page
    assert "| win | tie |" in page
    assert "* mercer GP: 1 won, 0 tied, 0 lost of 1 sets" in page
    assert "* mercer GP against scikit-learn SVR: 0 won, 0 tied, 0 lost of 0 sets" in page
    assert "without a result: scikit-learn SVR on a (3x)" in page
    assert (
        "| a | 90.0% ± 0.0% | 95.0% ± 0.0% | 80.0% ± 0.0% | -0.250 ± 0.000 | 1.000 ± 0.000 |"
        in page
    )
    assert (
        "mercer ridge, conformal: 95.0% over all sets; within the promised range on 0 of 1" in page
    )
    tables = [line for line in page.splitlines() if line.startswith("|")]
    widths = [line.count("|") for line in tables]
    assert widths == [widths[0]] * 3 + [widths[3]] * 3


# ---- runs ----------------------------------------------------------------------------------------
def test_the_plan_goes_split_by_split_and_leaves_out_what_is_done():
    from benchmarks.regression_sets import plan

    settings = {"max_train": 9, "max_test": 5}
    methods = ["mercer GP", "scikit-learn SVR"]
    jobs = plan(["a", "b"], methods, 2, settings, [row("b", 0, "scikit-learn SVR", 1.0)])
    found = [(j.split, j.method, j.set) for j in jobs]
    assert found[:3] == [(0, "scikit-learn SVR", "a"), (0, "mercer GP", "a"), (0, "mercer GP", "b")]
    assert [split for split, *_ in found] == [0, 0, 0, 1, 1, 1, 1]


def test_results_are_kept_if_the_settings_are_the_same(tmp_path):
    from benchmarks.regression_sets import earlier

    file = tmp_path / "x.json"
    settings = {"max_train": 9, "max_test": 5}
    assert earlier(file, settings) == []
    done, late = row("a", 0, "mercer GP", 1.0), {"set": "a", "note": "> 9 s"}
    file.write_text(json.dumps({"settings": settings, "rows": [done, late]}))
    assert earlier(file, settings) == [done]
    with pytest.raises(SystemExit, match="other settings"):
        earlier(file, {**settings, "max_train": 8})


def test_a_run_writes_what_it_finds_and_ends_what_takes_too_long(folder, tmp_path, capsys):
    from benchmarks.regression_sets import main

    out = tmp_path / "out"
    options = ["--data", str(folder), "--sets", "split", "--methods", "mercer ridge"]
    options += ["--max-train", "20", "--jobs", "1", "--out", str(out), "--repeats", "1"]
    assert main([*options, "--limit", "0.01"]) == 0
    assert "> 0.01 s" in capsys.readouterr().err
    assert "> 0.01 s" in (out / "regression_sets.md").read_text(encoding="utf-8")
    assert main([*options, "--resume"]) == 0
    (found,) = json.loads((out / "regression_sets.json").read_text(encoding="utf-8"))["rows"]
    assert found["rmse"] > 0
    assert 0 <= found["coverage"] <= 1
    assert (found["n_train"], found["d"]) == (20, 2)
    assert found["kernel"]
    assert main([*options, "--resume", "--budget", "60"]) == 0
    assert "0 jobs" in capsys.readouterr().err
    assert main(["--data", str(folder), "--sets", "nothing"]) == 2
