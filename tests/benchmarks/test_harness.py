"""The benchmark harness: that it runs, judges and reports. No test here depends on a time."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def toy(calls, errors=lambda outputs: {}, **options):
    from benchmarks.harness import Case, Contest

    options = {"full": {"n": 3}, "quick": {"n": 2}, "tiny": {"n": 1}, **options}
    return Case("toy", "n={n}", lambda n: Contest(calls(n), errors), **options)


def missing():
    raise ModuleNotFoundError("No module named 'nowhere'")


def test_rows_of_a_case():
    from benchmarks.harness import Accuracy, run

    seen = []
    case = toy(
        lambda n: {"mercer": lambda: seen.append(n) or n, "twice": lambda: 2 * n, "gone": missing},
        lambda outputs: {name: float(value) for name, value in outputs.items()},
        accuracy=Accuracy("size", 3.0),
        rounds=2,
    )
    there, gone = run(case, "full")
    assert seen == [1, 3, 3]  # tiny first, then the rounds
    assert (there.peer, there.error, there.other_error) == ("twice", 3.0, 6.0)
    assert there.what == "n=3"
    assert there.mercer > 0
    assert there.other > 0
    assert there.verdict == "met"
    assert (gone.peer, gone.note, gone.other, gone.ratio) == ("gone", "not installed", None, None)


def test_rounds_alternate_and_stop_when_patience_ends():
    from benchmarks.harness import measure

    order = []
    calls = {name: (lambda name=name: order.append(name)) for name in ("mercer", "peer")}
    measure(calls, lambda outputs: {}, rounds=2)
    assert order == ["mercer", "peer", "peer", "mercer"]
    order.clear()
    measure(calls, lambda outputs: {}, rounds=5, patience=-1.0)
    assert order == ["mercer", "peer"]


def test_a_peer_that_fails_is_noted_and_mercer_failing_is_the_result(capsys):
    from benchmarks.harness import run

    def broken():
        raise ValueError("no")

    (row,) = run(toy(lambda n: {"mercer": lambda: n, "peer": broken}), "quick")
    assert row.note == "failed: ValueError"
    (row,) = run(toy(lambda n: {"mercer": broken, "peer": lambda: n}), "quick")
    assert row.verdict == "failed"
    assert "ValueError: no" in row.note
    assert "ValueError: no" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("bounds", "mercer", "peer", "met"),
    [
        ({"speed": 2.0}, 1.0, 2.0, True),
        ({"speed": 2.0}, 1.0, 1.9, False),
        ({"speed": 2.0}, 1.0, None, None),
        ({"cost": 0.65}, 0.65, 1.0, True),
        ({"cost": 0.65}, 0.7, 1.0, False),
        ({"limit": 0.5}, 0.4, None, True),
        ({"limit": 0.5}, 0.6, None, False),
        ({}, 1.0, 2.0, None),
    ],
)
def test_targets(bounds, mercer, peer, met):
    from benchmarks.harness import Target

    assert Target(**bounds).met(mercer, peer) is met


def test_inaccurate_beats_fast():
    from benchmarks.harness import Accuracy, Row, Target

    row = Row("c", "w", "time", Target(speed=2.0), "p", 1.0, 9.0, accuracy=Accuracy("e", 1e-8))
    for error, verdict in ((1e-9, "met"), (1e-7, "inaccurate"), (float("nan"), "inaccurate")):
        row.error = error
        assert row.verdict == verdict


def test_peers_known_to_crash_are_started_on_request_only(monkeypatch):
    from benchmarks import harness

    asked = []

    def in_child(*what):
        asked.append(what)
        return {"note": "crashed (SIGSEGV)"}

    monkeypatch.setattr(harness, "in_child", in_child)
    case = toy(lambda n: {"mercer": lambda: n, "peer": lambda: n}, crashes=("peer",))
    (row,) = harness.run(case, "full")
    assert (row.note, row.other, asked) == ("not run: it crashes", None, [])
    (row,) = harness.run(case, "full", crash=True)
    assert (row.note, row.other, asked) == ("crashed (SIGSEGV)", None, [("toy", "peer", "full")])


def test_results_are_written_merged_and_protected(tmp_path):
    from benchmarks.harness import Row, Target
    from benchmarks.report import Results

    here = {"processor": "P", "cores": 2, "memory": 8, "system": "S", "blas": "B", "versions": {}}
    order = ["a", "b"]
    rows = {
        name: [Row(name, f"job {name}", "time", Target(speed=2.0), "peer", 1.0, 3.0)]
        for name in order
    }
    Results(here, "full", rows["b"] + rows["a"]).write(tmp_path, order)
    again = rows["b"][0]
    again.other = 1.5
    assert "written" in Results(here, "full", [again]).write(tmp_path, order)
    found = json.loads((tmp_path / "latest.json").read_text())["rows"]
    assert [(r["case"], r["ratio"], r["verdict"]) for r in found] == [
        ("a", 3.0, "met"),
        ("b", 1.5, "missed"),
    ]
    table = (tmp_path / "table.md").read_text()
    assert "| job a | 1 s | 3 s (peer) | 3x the speed | ≥ 2x the speed |  | met |" in table
    again.other = 99.0
    assert "stays" in Results({**here, "cores": 4}, "full", [again]).write(tmp_path, order)
    assert (tmp_path / "table.md").read_text() == table


def test_memory_is_that_of_a_fresh_process():
    from benchmarks.harness import in_child

    found = in_child("gram.matvec.square", "mercer", "tiny")
    assert set(found) == {"seconds", "bytes"}
    assert 0 <= found["bytes"] < 1e9


def names():
    sys.path.insert(0, str(ROOT))
    try:
        from benchmarks.cases import load
    finally:
        sys.path.remove(str(ROOT))
    return [case.name for case in load()]


@pytest.mark.parametrize("name", names())
def test_every_case_runs_and_is_accurate_on_a_tiny_problem(name):
    from benchmarks.cases import load

    (case,) = (case for case in load() if case.name == name)
    contest = case.contest("tiny")
    pool = [name for name in contest.calls if "n_jobs" in name]  # slow to start
    outputs = {name: call() for name, call in contest.calls.items() if name not in pool}
    errors = contest.errors(outputs)
    assert case.accuracy is None or errors["mercer"] <= case.accuracy.most
    assert next(iter(contest.calls)) == "mercer"
    for size in ("full", "quick"):
        assert "{" not in case.title(size)
