"""Some of the fuzzed tables and model files; ``python tests/tables/fuzz.py 2000`` runs many."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).with_name("fuzz.py")


@pytest.fixture
def fuzz(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("fuzz_tables", PATH)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    (tmp_path / "inside").mkdir()
    monkeypatch.chdir(tmp_path / "inside")
    return found


def test_fuzzed_tables(fuzz):
    assert {fuzz.one(seed)[0] for seed in range(20)} == {0, 2}


def test_fuzzed_model_files(fuzz):
    known = fuzz.models()
    assert {fuzz.one_file(seed, known) for seed in range(40)} == {0, 2}


@pytest.mark.slow
def test_many_fuzzed_tables(fuzz):
    pytest.importorskip("resource")
    before = fuzz.taken()
    codes = [fuzz.one(seed)[0] for seed in range(1000, 3000)]
    assert codes.count(0) > 200
    assert fuzz.taken() - before < fuzz.TAKEN


@pytest.mark.slow
def test_many_fuzzed_model_files(fuzz):
    pytest.importorskip("resource")
    known, before = fuzz.models(), fuzz.taken()
    codes = [fuzz.one_file(seed, known) for seed in range(1000, 3000)]
    assert codes.count(0) > 200
    assert fuzz.taken() - before < fuzz.TAKEN
