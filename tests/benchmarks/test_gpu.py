"""The benchmark of GPUs, small and on the processor."""

from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
SHAPE = {"n": 2500, "d": 4, "m": 60, "steps": 5, "length": 2.0, "penalty": 1e-6, "asked": ""}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """A few samples at a time, and as few held out."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2]))
    from benchmarks import gpu_board, gpu_landmarks

    monkeypatch.setattr(gpu_board, "_BLOCK", 700)
    monkeypatch.setattr(gpu_landmarks, "_HELD_OUT", 300)
    monkeypatch.setattr(gpu_landmarks, "_SLAB", 1000)


def test_samples_are_functions_of_the_row(monkeypatch):
    from benchmarks import gpu_board
    from benchmarks.gpu_board import simulated

    X, y = simulated(2500, 4)
    assert set(y) == {-1.0, 1.0}
    fewer = simulated(900, 4)
    np.testing.assert_array_equal(fewer[0], X[:900])
    np.testing.assert_array_equal(fewer[1], y[:900])
    assert not np.array_equal(simulated(900, 4, seed=1)[0], X[:900])
    assert len(np.unique(X[:, 0])) > 2400  # no block repeats another
    monkeypatch.setattr(gpu_board, "ThreadPoolExecutor", lambda: ThreadPoolExecutor(1))
    np.testing.assert_array_equal(simulated(2500, 4)[0], X)


def test_calls_go_on_where_the_one_before_has_stopped(tmp_path, capsys):
    from benchmarks import gpu_landmarks
    from benchmarks.gpu_board import Board

    def call(path, until):
        board = Board(Namespace(checkpoint=path, until=until))
        model = gpu_landmarks.in_calls(board, "TAXI", device="torch-cpu", **SHAPE)
        return model, board.rows

    whole, rows = call(None, 0.0)
    assert "5 steps" in rows[0]["what"]
    shown = capsys.readouterr().out.split("squared error held out ")[1:]
    errors = [float(words.split()[0]) for words in shown]
    assert len(errors) == 5
    assert errors[-1] <= errors[0] < 1.5
    path, calls, model = tmp_path / "taxi.npz", 0, None
    while model is None:
        model, rows = call(path, 0.0)  # time for one step
        calls += 1
        assert ("goes on" in rows[0]["right"]) == (model is None)
    assert calls == 5
    scale = np.abs(whole.dual_coef_).max()
    np.testing.assert_allclose(model.dual_coef_, whole.dual_coef_, rtol=0, atol=1e-4 * scale)
    assert model.solution_.n_iter == 5
    assert not list(tmp_path.iterdir())
