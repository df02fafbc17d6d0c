"""Loops compiled ahead of time: where they are kept, and what is said where they cannot be."""

import numpy as np
import pytest

from mercer.cli import warm_up
from mercer.cli.main import main
from mercer.kernels.trees.loops import node_codes


@pytest.fixture
def one_job(monkeypatch):
    none = np.empty(0, np.int64)
    job = ("codes of no nodes", lambda: node_codes(none, none, none, none, none))
    monkeypatch.setattr(warm_up, "_jobs", lambda: [job])


def test_it_says_where_loops_are_kept(one_job, capsys):
    assert main(["warm-up", "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("compiled loops (")
    assert "are kept in /" in out or ":" in out
    assert err == ""


def test_progress_is_shown(one_job, capsys):
    assert main(["warm-up"]) == 0
    assert "compiling" in capsys.readouterr().err


def test_it_is_an_error_if_they_are_kept_nowhere(one_job, monkeypatch, capsys):
    monkeypatch.setattr(warm_up, "folders", set)
    assert main(["warm-up", "--quiet"]) == 2
    assert "set NUMBA_CACHE_DIR" in capsys.readouterr().err


def test_jobs_call_loops_of_every_kind():
    names = " ".join(name for name, _ in warm_up._jobs())
    kinds = """
        SVC SVR OnlineOneClassSVM Mismatch Wildcard GlobalAlignment order=1 order=2 depth=3
        SubsetTree MeanEmbedding two_sample_test
    """
    for kind in kinds.split():
        assert kind in names
