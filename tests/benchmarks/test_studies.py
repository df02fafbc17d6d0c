"""Studies on real data: the frame, with a made-up study. No model is judged here."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def made_up(**others):
    from benchmarks.studies.frame import Study, Trial

    def trials():
        yield Trial("Spectrum(3)", "accuracy", lambda: 0.5, "theirs 0.4", 0.45)
        yield Trial("Constant(1) | none", "accuracy", lambda: (0.25, "C = 10"), least=0.3)

    return Study("made_up", "A made-up study", trials, **others)


def test_rows_become_a_table():
    from benchmarks.studies.frame import run, table

    reported = []
    rows = run(made_up().trials(), reported.append)
    assert reported == rows
    assert [row.kept for row in rows] == [True, False]
    head, rule, first, second = table(rows).splitlines()
    assert head == "| model | measure | mercer | chosen | reference | promised | CPU s |"
    assert rule == "|" + " --- |" * 7
    assert first == "| Spectrum(3) | accuracy | 0.5000 |  | theirs 0.4 | ≥ 0.45 ✓ | 0.0 |"
    assert second == "| Constant(1) \\| none | accuracy | 0.2500 | C = 10 |  | ≥ 0.3 ✗ | 0.0 |"


def test_files_are_written_where_the_pages_look_for_them(tmp_path):
    from benchmarks.studies.frame import PICTURES, TABLES, draw, run, write

    study = made_up(picture=lambda path: path.write_text("drawn"))
    rows = run(study.trials())
    assert write(study, rows, tmp_path / "tables").name == "made_up.md"
    assert draw(study, tmp_path / "pictures").read_text() == "drawn"
    assert draw(made_up(), tmp_path) is None
    assert TABLES == ROOT / "benchmarks" / "results" / "studies"
    assert PICTURES == ROOT / "docs" / "studies"


def test_a_broken_promise_is_a_bad_exit(monkeypatch, tmp_path, capsys):
    runner = importlib.import_module("benchmarks.studies.__main__")
    monkeypatch.setattr(runner, "study", lambda name: made_up())
    monkeypatch.setattr(runner, "write", lambda study, rows: tmp_path / "made_up.md")
    assert runner.main(["--only", "promoters"]) == 1
    assert "less than promised" in capsys.readouterr().out


def test_missing_data_are_left_out(monkeypatch, tmp_path, capsys):
    from benchmarks.studies.frame import Unavailable, data_file

    runner = importlib.import_module("benchmarks.studies.__main__")
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    with pytest.raises(Unavailable, match="MERCER_DATA"):
        data_file("strings/promoters.tsv.gz")
    assert runner.main(["--only", "promoters", "--draw"]) == 0
    assert "left out" in capsys.readouterr().out


def test_every_study_has_a_page():
    """A name on the list is a module with a study, and a page in the documentation."""
    runner = importlib.import_module("benchmarks.studies.__main__")
    index = (ROOT / "docs" / "studies" / "index.rst").read_text(encoding="utf-8")
    for name in runner.NAMES:
        study = runner.study(name)
        assert study.name == name
        page = (ROOT / "docs" / "studies" / f"{name}.rst").read_text(encoding="utf-8")
        assert f"benchmarks/results/studies/{name}.md" in page
        assert f"   {name}\n" in index
