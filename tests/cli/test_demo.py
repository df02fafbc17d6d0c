"""make demo."""

import runpy
from pathlib import Path

from mercer.cli.main import main

DEMO = Path(__file__).resolve().parents[2] / "examples" / "demo.py"


def test_demo(capsys):
    runpy.run_path(str(DEMO), run_name="__main__")
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 100
    for words in (
        "mercer fit diabetes.csv",
        "universal",
        "90% interval",
        "the same to the last bit",
    ):
        assert words in out


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--budget", "2 s"]) == 0
    out = capsys.readouterr().out
    for words in ("$ mercer fit", "$ mercer predict", "$ mercer explain", "boosted trees", "adds"):
        assert words in out
    assert sorted(p.name for p in (tmp_path / "mercer-demo").iterdir()) == [
        "new.csv", "patients.csv", "patients.mercer"
    ]  # fmt: skip
