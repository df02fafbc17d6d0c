"""First answers: programs that can be read, and the line of a table."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def test_programs_can_be_read():
    from benchmarks.first_jobs import JOBS

    for job in JOBS:
        ast.parse(job.ours)
        ast.parse(job.theirs)
    assert len({job.name for job in JOBS}) == len(JOBS) > 200


def test_late_answers_are_marked():
    from benchmarks.first_answers import line

    row = {"job": "KernelRidge", "cold": 2.0, "cold_clock": 2.5, "warm": 1.2, "warm_clock": 1.3}
    assert not line({**row, "loops": []}).endswith("late")
    assert line({**row, "loops": [], "cold": 3.1}).endswith("late")
    assert line({**row, "loops": [], "sklearn": 0.9}).endswith("late")
