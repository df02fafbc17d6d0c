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


def test_a_whole_run_replaces_results_of_another_machine(tmp_path):
    from benchmarks.harness import Row, Target
    from benchmarks.report import Results

    here = {"processor": "P", "cores": 2, "memory": 8, "system": "S", "blas": "B", "versions": {}}
    row = Row("a", "job a", "time", Target(), "peer", 1.0, 3.0)
    slow = Row("slow", "job slow", "time", Target(), "peer", 1.0, 3.0)
    order = ["a", "slow"]

    def cases():
        return [r["case"] for r in json.loads((tmp_path / "latest.json").read_text())["rows"]]

    Results(here, "full", [row, slow]).write(tmp_path, order)
    Results(here, "full", [row]).write(tmp_path, order, whole=True)
    assert cases() == ["a", "slow"]  # of this machine: kept
    Results({**here, "cores": 4}, "full", [row]).write(tmp_path, order, whole=True)
    assert cases() == ["a"]


def test_each_peer_has_its_own_promise():
    from benchmarks.harness import Target, run

    case = toy(
        lambda n: {"mercer": lambda: n, "one": lambda: n, "two": lambda: n},
        time=Target(speed=2.0),
        versus={"two": Target(speed=0.5)},
    )
    assert [row.target.speed for row in run(case, "full")] == [2.0, 0.5]


def test_a_case_without_its_data_is_left_out(capsys):
    from benchmarks.harness import Contest, Unavailable, run

    def calls(n):
        if n > 1:
            raise Unavailable("no file")
        return {"mercer": lambda: n}

    assert run(toy(calls), "full") == []
    assert "toy is left out: no file" in capsys.readouterr().err
    assert isinstance(toy(calls).contest("tiny"), Contest)


def test_geometric_means_by_group_and_peer(tmp_path):
    from benchmarks.harness import Accuracy, Group, Row, Target
    from benchmarks.report import Results, means_of

    group = Group("fits", {"a": 4.0, "b": 1.0}, within=Group("all", {"a": 5.0}))

    def row(case, peer, other, error=0.0):
        bound = Accuracy("e", 1e-6)
        return Row(case, "w", "time", Target(), peer, 2.0, other, error, None, bound, "", group)

    rows = [row("c1", "a", 4.0), row("c1", "b", None), row("c2", "a", 16.0)]
    rows += [row("c2", "b", 1.0), Row("c3", "w", "time", Target(), "a", 1.0, 99.0)]
    a, everything, b, _ = means_of(rows)
    assert (everything.group, everything.mean, everything.verdict) == ("all", a.mean, "missed")
    assert (a.mean, a.least, a.count, a.verdict) == (pytest.approx(4.0), 2.0, 2, "met")
    assert (b.mean, b.count, b.verdict) == (pytest.approx(0.5), 1, "missed")
    assert "fits: 0.5x the speed of b, geometric mean of 1 row, minimum 0.5x" in str(b)
    rows[0].error = 1.0
    assert means_of(rows)[0].verdict == "inaccurate"

    here = {"processor": "P", "cores": 2, "memory": 8, "system": "S", "blas": "B", "versions": {}}
    Results(here, "full", rows).write(tmp_path, ["c1", "c2", "c3"])
    again = Results.read(tmp_path / "latest.json")
    assert means_of(again.rows) == means_of(rows)
    assert "* fits: 4x the speed of a" in (tmp_path / "table.md").read_text()
    assert "fits: 4x the speed of a" in again.text()


def test_slow_cases_are_measured_on_request(monkeypatch, capsys):
    from benchmarks import cases, run

    case = toy(lambda n: {"mercer": lambda: n}, slow=True)
    monkeypatch.setattr(cases, "load", lambda: [case])
    assert run.measure(run.arguments(["--quick"])) == 2
    assert "add --slow" in capsys.readouterr().err
    assert run.measure(run.arguments(["--quick", "--slow"])) == 0
    assert "toy" in capsys.readouterr().out
    assert run.measure(run.arguments(["--list"])) == 0
    assert "only with --slow" in capsys.readouterr().out


def test_memory_is_that_of_a_fresh_process():
    from benchmarks.harness import in_child

    found = in_child("gram.matvec.square", "mercer", "tiny")
    assert set(found) == {"seconds", "processor", "bytes"}
    assert 0 <= found["bytes"] < 1e9


def names():
    """Of cases that differ in more than the numbers of their tiny problem."""
    sys.path.insert(0, str(ROOT))
    try:
        from benchmarks.cases import load
    finally:
        sys.path.remove(str(ROOT))
    found = {}
    for case in load():
        setup = getattr(case.setup, "func", case.setup), getattr(case.setup, "keywords", {})
        found.setdefault(repr((setup, case.tiny.get("data"))), case.name)
    return list(found.values())


@pytest.mark.parametrize("name", names())
def test_every_case_runs_and_is_accurate_on_a_tiny_problem(name):
    from benchmarks.cases import load
    from benchmarks.harness import Unavailable

    (case,) = (case for case in load() if case.name == name)
    try:
        contest = case.contest("tiny")
    except Unavailable as why:
        pytest.skip(str(why))
    assert next(iter(contest.calls)) == "mercer"
    pool = [name for name in contest.calls if "n_jobs" in name]  # slow to start
    outputs = {}
    for contender, call in contest.calls.items():
        if contender in pool:
            continue
        try:
            outputs[contender] = call()
        except ImportError:  # a peer that is not installed
            assert contender != "mercer"
    errors = contest.errors(outputs)
    alone = len(contest.calls) > 1 == len(outputs)
    if case.accuracy is not None and not case.accuracy.from_times and not alone:
        assert errors["mercer"] <= case.accuracy.most


def test_names_and_titles():
    from benchmarks.cases import load

    cases = load()
    assert len({case.name for case in cases}) == len(cases)
    for case in cases:
        assert not any("{" in case.title(size) for size in ("full", "quick"))
