"""Calls of BLAS and LAPACK as tables, against NumPy; the same bits for any number of threads."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from mercer.engine import calls, threads
from mercer.engine.call_loops import BUSY
from mercer.engine.calls import At, Score
from mercer.engine.limits import within


@pytest.fixture(params=["compiled", "in Python"])
def way(request, monkeypatch):
    """Both ways to perform calls, whatever there is to do."""
    compiled = request.param == "compiled"
    monkeypatch.setattr(calls, "_pays", lambda work: compiled)
    if compiled:
        monkeypatch.setattr(calls, "_WORTH", 1.0)  # operations that are worth a thread
    return request.param


def tiles(n, size, dtype, phases=1):
    """C = A B, each tile a piece, several times over."""
    score = Score(dtype)
    starts = np.arange(0, n, size)
    counts = np.minimum(size, n - starts)
    i, j = (part.ravel() for part in np.meshgrid(range(len(starts)), range(len(starts))))
    for _ in range(phases):
        score.phase(
            score.calls(
                "gemm", "N", "N", counts[j], counts[i], n, 1, At(1, starts[j]), n,
                At(0, starts[i] * n), n, 0, At(2, starts[i] * n + starts[j]), n,
            )
        )  # fmt: skip
    return score


def problem(rng, n, dtype):
    return [rng.standard_normal((n, n)).astype(dtype) for _ in range(2)], np.zeros((n, n), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "size"), [(1, 1), (7, 3), (53, 10), (64, 64), (131, 17)])
def test_tiles_of_a_product(way, rng, n, size, dtype):
    (A, B), C = problem(rng, n, dtype)
    score, found = tiles(n, size, dtype, 2), []
    for workers in (1, 2, 5, 16):
        C[:] = np.nan
        assert score.perform(A, B, C, workers=workers).size == 0
        np.testing.assert_allclose(C, A @ B, rtol=1e-3, atol=1e-3 if dtype == np.float32 else 1e-9)
        found.append(C.copy())
    assert all(np.array_equal(found[0], other) for other in found)


def test_both_ways_have_the_same_bits(rng, monkeypatch):
    (A, B), C = problem(rng, 90, np.float64)
    found = []
    for compiled in (False, True):
        monkeypatch.setattr(calls, "_pays", lambda work, compiled=compiled: compiled)
        tiles(90, 32, np.float64).perform(A, B, C, workers=3)
        found.append(C.copy())
    assert np.array_equal(*found)


def test_calls_of_a_piece_and_phases_come_in_order(way):
    """Each call needs the result of the one before."""
    score, n = Score(np.float64), 40
    each = np.arange(n)
    later = score.calls("axpy", 1, 1, At(0, each), 1, At(1, each), 1)  # b += a
    doubled = score.calls("axpy", 1, 1, At(1, each), 1, At(1, each), 1)  # b += b
    score.phase(later.joined(doubled, later), np.tile(each, 3))
    score.phase(score.calls("axpy", n, -1, At(0), 1, At(1), 1))  # b -= a
    a, b = np.arange(1.0, n + 1), np.zeros(n)
    score.perform(a, b, workers=4)
    np.testing.assert_array_equal(b, 2 * a)


def test_calls_in_another_order_are_those(way):
    score = Score(np.float64)
    some = score.calls("axpy", 1, 1, At(0, np.arange(3)), 1, At(1), 1).taken(np.array([2, 0]))
    score.phase(some, np.zeros(2, int))
    total = np.zeros(1)
    score.perform(np.array([1.0, 10.0, 100.0]), total, workers=2)
    assert total[0] == 101.0


def test_pieces_of_different_lengths(way, rng):
    score, owner = Score(np.float64), rng.integers(0, 12, 200)
    owner[:12] = np.arange(12)  # each occurs
    score.phase(score.calls("axpy", 1, 1, At(0, np.arange(200)), 1, At(1, owner), 1), owner)
    values, sums = rng.random(200), np.zeros(12)
    score.perform(values, sums, workers=3)
    np.testing.assert_allclose(sums, np.bincount(owner, values))


def test_nothing_to_do(way):
    score = Score(np.float64)
    nothing = np.zeros(0, int)
    score.phase(score.calls("axpy", 1, 1, At(0, nothing), 1, At(1), 1))
    assert score.perform(np.zeros(1), np.zeros(1)).size == 0


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_what_routines_say(way, rng, workers):
    """Each call has a word of its own; what follows a failure is performed all the same."""
    n, count = 6, 20
    A = np.stack([np.eye(n)] * count)
    A[3, 2, 2] = A[11, 4, 4] = -1
    score, at = Score(np.float64), At(0, n * n * np.arange(count))
    one = score.calls("potrf", "U", n, at, n)
    score.phase(one)
    score.phase(score.calls("axpy", 1, 1, At(0), 1, At(1), 1))
    total = np.zeros(1)
    info = score.perform(A, total, workers=workers)[one.infos]
    assert dict(enumerate(info.tolist()))[3] == 3
    assert np.flatnonzero(info).tolist() == [3, 11]
    assert info[11] == 5
    assert total[0] == 1.0


def test_larger_numbers_than_any_before(way):
    n = 70_000
    score, a, b = Score(np.float32), np.ones(n, np.float32), np.zeros(n, np.float32)
    score.phase(
        score.calls("axpy", np.array([n - 1, 1]), 1, At(0), 1, At(1, np.array([0, n - 1])), 1)
    )
    score.perform(a, b, workers=2)
    assert np.all(b == 1)


def test_threads_that_write_tables_at_once(rng, monkeypatch):
    """What they point to is there as long as they are: once, an array was made twice, kept once."""
    monkeypatch.setattr(calls, "_ranges", {})
    (A, B), _ = problem(rng, 60, np.float64)
    barrier, wrong = threading.Barrier(8, timeout=20), []

    def work():
        barrier.wait()
        score, C = tiles(60, 7, np.float64), np.zeros((60, 60))
        gc.collect()
        for _ in range(20):
            score.perform(A, B, C, workers=1)
        if not np.allclose(C, A @ B):
            wrong.append(C)

    callers = [threading.Thread(target=work) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong
    assert len(calls._ranges) == 1


def test_several_callers_at_once(rng, monkeypatch):
    """One has the crew, and the others do without."""
    monkeypatch.setattr(calls, "_pays", lambda work: True)
    monkeypatch.setattr(calls, "_WORTH", 1.0)
    (A, B), C = problem(rng, 80, np.float64)
    score, wrong = tiles(80, 9, np.float64, 3), []
    score.perform(A, B, C, workers=1)

    def work():
        own = np.zeros_like(C)
        for workers in (2, 5, 3, 1, 16) * 20:
            own[:] = 0
            score.perform(A, B, own, workers=workers)
            if not np.array_equal(own, C):
                wrong.append(workers)

    callers = [threading.Thread(target=work) for _ in range(5)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong
    assert calls._crew.control[BUSY] == 0


def test_a_job_of_the_pool_performs_them_in_its_own_thread(rng, monkeypatch):
    monkeypatch.setattr(calls, "_pays", lambda work: pytest.fail("a second thread was wanted"))
    (A, B), _ = problem(rng, 40, np.float64)
    score, found = tiles(40, 9, np.float64), np.zeros((6, 40, 40))
    threads.run(lambda i: score.perform(A, B, found[i]), range(6), workers=3)
    np.testing.assert_allclose(found, np.broadcast_to(A @ B, found.shape))


def test_limits_are_kept(rng, monkeypatch):
    monkeypatch.setattr(calls, "_pays", lambda work: True)
    monkeypatch.setattr(calls, "_WORTH", 1.0)
    asked = []
    monkeypatch.setattr(calls, "share", lambda *args: asked.append(args[-1].max()), raising=True)
    (A, B), C = problem(rng, 80, np.float64)
    score = tiles(80, 5, np.float64)
    for workers in (2, 3):
        with within(workers, np.inf):
            score.perform(A, B, C)
    assert asked == [1, 2]  # others


def test_long_phases_are_divided(rng, monkeypatch):
    """So that Ctrl-C is heard; short ones come together."""
    monkeypatch.setattr(calls, "_pays", lambda work: True)
    (A, B), C = problem(rng, 60, np.float64)
    expected, shared = A @ B, []
    share = calls.share
    monkeypatch.setattr(calls, "share", lambda *args: (shared.append(args[3]), share(*args)))
    for at_once, times in ((1e12, 1), (2 * 60**3, 2), (1.0, 2 * 36)):
        monkeypatch.setattr(calls, "_AT_ONCE", at_once)
        C[:] = 0
        tiles(60, 10, np.float64, 2).perform(A, B, C, workers=2)
        assert len(shared) == times if at_once != 2 * 60**3 else len(shared) <= times
        np.testing.assert_allclose(C, expected)
        shared.clear()


def test_an_interrupt_between_two_batches(rng, monkeypatch):
    monkeypatch.setattr(calls, "_pays", lambda work: True)
    monkeypatch.setattr(calls, "_AT_ONCE", 1.0)
    monkeypatch.setattr(calls, "_WORTH", 1.0)
    (A, B), C = problem(rng, 60, np.float64)
    count, go_on = [], threads.go_on

    def interrupted():
        count.append(1)
        if len(count) == 3:
            raise KeyboardInterrupt
        go_on()

    monkeypatch.setattr(calls, "go_on", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tiles(60, 10, np.float64).perform(A, B, C, workers=3)
    assert calls._crew.control[BUSY] == 0
    count[:] = [1] * 5
    tiles(60, 10, np.float64).perform(A, B, C, workers=3)
    np.testing.assert_allclose(C, A @ B)


def test_compiled_code_ahead_of_time():
    look = "print(calls.share.ready, calls.assist.ready)"
    program = f"from mercer.engine import calls; calls.load(); {look}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "True True\n"


@pytest.mark.parametrize("work", [0.4, 0.6])
def test_compiled_code_is_loaded_when_there_has_been_enough_work(monkeypatch, work):
    class Loop:
        ready = False

    monkeypatch.setattr(calls, "share", Loop)
    monkeypatch.setattr(calls, "_done", 0.0)
    assert not calls._pays(work * calls._LOADED)
    assert calls._pays(work * calls._LOADED) == (work > 0.5)
    Loop.ready = True
    assert calls._pays(0.0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_has_a_crew_of_its_own(rng, monkeypatch):
    monkeypatch.setattr(calls, "_pays", lambda work: True)
    monkeypatch.setattr(calls, "_WORTH", 1.0)
    (A, B), C = problem(rng, 60, np.float64)
    score = tiles(60, 9, np.float64, 5)
    score.perform(A, B, C, workers=4)
    calls._crew.control[BUSY] = 1  # as if another thread were at it
    try:
        child = os.fork()
        if not child:
            signal.alarm(30)
            C[:] = 0
            score.perform(A, B, C, workers=4)
            own = calls._crew.begin(3) == 3 and calls._crew.control[BUSY] == 0
            os._exit(0 if own and np.allclose(C, A @ B) else 1)
    finally:
        calls._crew.control[BUSY] = 0
    assert os.waitpid(child, 0)[1] == 0


_LOOP = """
import sys, time
import numpy as np
from mercer.engine import calls
from mercer.engine.call_loops import BUSY
from mercer.engine.calls import At, Score

calls._pays = lambda work: True
n = 300
A, C = np.ones((n, n)), np.zeros((4, n, n))
score, out = Score(np.float64), At(1, n * n * np.arange(4))
for _ in range(int(sys.argv[1])):
    score.phase(score.calls("gemm", "N", "N", n, n, n, 1, At(0), n, At(0), n, 0, out, n))
print("begun", flush=True)
try:
    score.perform(A, C, workers=2)
    print("done", C.max(), flush=True)
except KeyboardInterrupt:
    print("interrupted", calls._crew.control[BUSY], flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_ends_a_long_score():
    command = [sys.executable, "-c", _LOOP, "4000"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    time.sleep(2.0)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=120)[0] == "interrupted 0\n"
    assert process.returncode == 0


def test_a_process_ends_right_after_its_threads_were_at_work():
    """While they still look out for more."""
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", _LOOP, "5"], capture_output=True, text=True, timeout=120
        )
        assert (done.returncode, done.stdout) == (0, "begun\ndone 300.0\n")
