"""Some of the fuzzed tables; ``python tests/tables/fuzz.py 2000`` runs many."""

import importlib.util
from pathlib import Path

PATH = Path(__file__).with_name("fuzz.py")


def test_fuzzed_tables(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("fuzz_tables", PATH)
    fuzz = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fuzz)
    monkeypatch.chdir(tmp_path)
    codes = [fuzz.one(seed)[0] for seed in range(20)]
    assert 0 in codes
    assert 2 in codes
    assert {p.name for p in tmp_path.iterdir()} <= {"t.csv", "t.mercer", "p.csv"}
