"""make demo."""

import runpy
from pathlib import Path

DEMO = Path(__file__).resolve().parents[2] / "examples" / "demo.py"


def test_demo(capsys):
    runpy.run_path(str(DEMO), run_name="__main__")
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 100
    for words in (
        "mercer fit diabetes.csv",
        "universal",
        "95% interval",
        "the same to the last bit",
    ):
        assert words in out
