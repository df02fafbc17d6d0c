"""``mercer demo``, which ``make demo`` runs."""

from mercer.cli.main import main


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--budget", "2 s"]) == 0
    out = capsys.readouterr().out
    for command in ("fit", "predict", "explain", "report"):
        assert f"$ mercer {command}" in out
    for words in ("boosted trees", "adds", "sections", "patients.html"):
        assert words in out
    assert sorted(p.name for p in (tmp_path / "mercer-demo").iterdir()) == [
        "new.csv", "patients.csv", "patients.html", "patients.mercer"
    ]  # fmt: skip
