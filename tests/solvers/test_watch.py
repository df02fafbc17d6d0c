"""What goes on beside iterations: callbacks, checkpoints, early stopping, the time left."""

import numpy as np
import pytest

from mercer.exceptions import FileFormatError
from mercer.solvers.watch import Watch


def halve(watch, steps, problem=("a problem",), fail_at=None):
    """A solver that halves its state in each step."""
    with watch:
        found = watch.resume(*problem)
        n_iter, x = (found[0], found[1]["x"]) if found else (0, np.ones(3))
        while n_iter < steps:
            x, n_iter = x / 2, n_iter + 1
            if n_iter == fail_at:
                raise KeyboardInterrupt
            if watch(n_iter, float(x[0]), 1e-9, {"x": x}):
                break
    return n_iter, watch.best["x"] if watch.best else x


def test_an_interrupted_solver_goes_on_where_it_was(tmp_path):
    file = tmp_path / "state.npz"
    with pytest.raises(KeyboardInterrupt):
        halve(Watch(checkpoint=file), 20, fail_at=11)
    assert file.exists()
    seen = []
    n_iter, x = halve(Watch(checkpoint=file, callback=lambda s: seen.append(s.n_iter)), 20)
    assert seen[0] == 11
    assert n_iter == 20
    np.testing.assert_array_equal(x, np.full(3, 2.0**-20))
    assert not file.exists()


def test_checkpoints_are_written_now_and_then(tmp_path):
    file = tmp_path / "state.npz"
    there = []
    watch = Watch(checkpoint=file, every=0.0, callback=lambda s: there.append(file.exists()))
    halve(watch, 3)
    assert all(there)


def test_a_checkpoint_of_another_problem_is_refused(tmp_path):
    file = tmp_path / "state.npz"
    with pytest.raises(KeyboardInterrupt):
        halve(Watch(checkpoint=file), 9, (np.arange(4.0), 0.1), fail_at=5)
    with pytest.raises(ValueError, match="belongs to another problem"):
        halve(Watch(checkpoint=file), 9, (np.arange(4.0), 0.2))
    file.write_bytes(b"something else")
    with pytest.raises(FileFormatError, match="not a mercer checkpoint"):
        halve(Watch(checkpoint=file), 9)


def test_a_callback_stops_it():
    watch = Watch(callback=lambda step: step.n_iter == 4)
    assert halve(watch, 100)[0] == 4
    assert "callback" in watch.stopped


def test_the_best_state_outlives_an_interruption(tmp_path):
    file = tmp_path / "state.npz"

    def watch():
        return Watch(None, file, validation=lambda state: abs(state["x"][0] - 0.1), patience=3)

    with pytest.raises(KeyboardInterrupt):
        halve(watch(), 100, fail_at=6)
    assert halve(watch(), 100) == (6, pytest.approx(np.full(3, 0.125)))


def test_the_best_state_on_validation_data_is_kept():
    watch = Watch(validation=lambda state: abs(state["x"][0] - 0.1), patience=3)
    n_iter, x = halve(watch, 100)
    assert (n_iter, x[0]) == (6, 0.125)  # 1/8 is nearest to 0.1, then three worse ones
    assert "validation" in watch.stopped


def test_a_callback_is_told_the_error_on_validation_data():
    told = []
    watch = Watch(lambda s: told.append(s.held_out), validation=lambda state: state["x"][0])
    halve(watch, 3)
    assert told == [0.5, 0.25, 0.125]
    halve(Watch(lambda s: told.append(s.held_out)), 1)
    assert np.isnan(told[-1])


def test_a_step_at_which_a_callback_stops_may_be_the_best():
    stop = Watch(lambda s: s.n_iter == 4, validation=lambda state: state["x"][0])
    assert halve(stop, 100)[1][0] == 2.0**-4


def test_the_time_left_follows_from_how_fast_the_error_falls(monkeypatch):
    clock = iter(np.arange(100.0))
    monkeypatch.setattr("mercer.solvers.watch.time.monotonic", lambda: next(clock))
    left = []
    with Watch(callback=lambda step: left.append(step.left)) as watch:
        for i in range(4):  # a factor of ten in a second
            watch(i, 10.0**-i, 1e-8, {})
        watch(4, 1e-9, 1e-8, {})
    assert left[0] == np.inf
    np.testing.assert_allclose(left[1:], [7, 6, 5, 0])
