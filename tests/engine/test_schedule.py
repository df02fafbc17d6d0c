"""Schedules of BLAS and LAPACK calls against NumPy; the same bits for any number of threads."""

import copy
import ctypes
import functools
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from mercer.engine import routines, threads
from mercer.engine import schedule as module
from mercer.engine.limits import within
from mercer.engine.schedule import At, Schedule, blocks
from mercer.engine.schedule_loops import BUSY


@pytest.fixture(params=["compiled", "in Python"])
def way(request, monkeypatch):
    """Both ways to execute a schedule, however little work it has."""
    compiled = request.param == "compiled"
    monkeypatch.setattr(module, "_compiled_pays", lambda work: compiled)
    if compiled:
        monkeypatch.setattr(module, "_PER_THREAD", 1.0)
    return request.param


def tiles(n, size, dtype, phases=1):
    """C = A B, each tile a task, several times over."""
    schedule = Schedule(dtype)
    starts = np.arange(0, n, size)
    counts = np.minimum(size, n - starts)
    i, j = (part.ravel() for part in np.meshgrid(range(len(starts)), range(len(starts))))
    for _ in range(phases):
        schedule.add_phase(
            schedule.calls(
                "gemm", "N", "N", counts[j], counts[i], n, 1, At(1, starts[j]), n,
                At(0, starts[i] * n), n, 0, At(2, starts[i] * n + starts[j]), n,
            )
        )  # fmt: skip
    return schedule


def problem(rng, n, dtype):
    return [rng.standard_normal((n, n)).astype(dtype) for _ in range(2)], np.zeros((n, n), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "size"), [(1, 1), (7, 3), (53, 10), (64, 64), (131, 17)])
def test_tiles_of_a_product(way, rng, n, size, dtype):
    (A, B), C = problem(rng, n, dtype)
    schedule, found = tiles(n, size, dtype, 2), []
    for workers in (1, 2, 5, 16):
        C[:] = np.nan
        assert schedule.execute(A, B, C, workers=workers).size == 0
        np.testing.assert_allclose(C, A @ B, rtol=1e-3, atol=1e-3 if dtype == np.float32 else 1e-9)
        found.append(C.copy())
    assert all(np.array_equal(found[0], other) for other in found)


def test_both_ways_have_the_same_bits(rng, monkeypatch):
    (A, B), C = problem(rng, 90, np.float64)
    found = []
    for compiled in (False, True):
        monkeypatch.setattr(module, "_compiled_pays", lambda work, compiled=compiled: compiled)
        tiles(90, 32, np.float64).execute(A, B, C, workers=3)
        found.append(C.copy())
    assert np.array_equal(*found)


def test_calls_of_a_task_and_phases_are_in_order(way):
    """Each call needs the result of the one before."""
    schedule, n = Schedule(np.float64), 40
    each = np.arange(n)
    later = schedule.calls("axpy", 1, 1, At(0, each), 1, At(1, each), 1)  # b += a
    doubled = schedule.calls("axpy", 1, 1, At(1, each), 1, At(1, each), 1)  # b += b
    schedule.add_phase(later.joined(doubled, later), np.tile(each, 3))
    schedule.add_phase(schedule.calls("axpy", n, -1, At(0), 1, At(1), 1))  # b -= a
    a, b = np.arange(1.0, n + 1), np.zeros(n)
    schedule.execute(a, b, workers=4)
    np.testing.assert_array_equal(b, 2 * a)


def test_calls_in_another_order(way):
    schedule = Schedule(np.float64)
    some = schedule.calls("axpy", 1, 1, At(0, np.arange(3)), 1, At(1), 1).taken(np.array([2, 0]))
    schedule.add_phase(some, np.zeros(2, int))
    total = np.zeros(1)
    schedule.execute(np.array([1.0, 10.0, 100.0]), total, workers=2)
    assert total[0] == 101.0


def test_tasks_of_different_lengths(way, rng):
    schedule, owner = Schedule(np.float64), rng.integers(0, 12, 200)
    owner[:12] = np.arange(12)  # each occurs
    schedule.add_phase(
        schedule.calls("axpy", 1, 1, At(0, np.arange(200)), 1, At(1, owner), 1), owner
    )
    values, sums = rng.random(200), np.zeros(12)
    schedule.execute(values, sums, workers=3)
    np.testing.assert_allclose(sums, np.bincount(owner, values))


def test_nothing_to_do(way):
    schedule = Schedule(np.float64)
    nothing = np.zeros(0, int)
    schedule.add_phase(schedule.calls("axpy", 1, 1, At(0, nothing), 1, At(1), 1))
    assert schedule.execute(np.zeros(1), np.zeros(1)).size == 0


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_codes_of_info_and_the_end_after_a_failure(way, rng, workers):
    """Each call has a code of its own; the phase of a failure is the last."""
    n, count = 6, 20
    A = np.stack([np.eye(n)] * count)
    A[3, 2, 2] = A[11, 4, 4] = -1
    schedule, at = Schedule(np.float64), At(0, n * n * np.arange(count))
    before = schedule.calls("axpy", 1, 1, At(0), 1, At(1), 1)
    one = schedule.calls("potrf", "U", n, at, n)
    schedule.add_phase(before)
    schedule.add_phase(one)
    schedule.add_phase(before)
    total = np.zeros(1)
    info = schedule.execute(A, total, workers=workers)[one.infos]
    assert {k: code for k, code in enumerate(info.tolist()) if code} == {3: 3, 11: 5}
    assert total[0] == 1.0
    total[0], A = 0.0, np.stack([np.eye(n)] * count)
    assert not schedule.execute(A, total, workers=workers).any()
    assert total[0] == 2.0


def test_invalid_arguments_of_routines(way):
    schedule = Schedule(np.float64)
    schedule.add_phase(schedule.calls("potrf", "U", 5, At(0), 4))
    with pytest.raises(ValueError, match="argument 4 of a LAPACK routine is invalid"):
        schedule.execute(np.eye(5), workers=2)


def test_arrays_of_another_precision_are_refused():
    """Their memory would be read as numbers of twice the size."""
    schedule = tiles(4, 2, np.float64)
    single = np.ones((4, 4), np.float32)
    with pytest.raises(TypeError, match="float64 cannot use float64, float32"):
        schedule.execute(np.ones((4, 4)), single, single)


def test_integers_that_routines_cannot_hold(monkeypatch):
    monkeypatch.setattr(module, "integer_type", lambda: np.dtype(np.int32))
    schedule = Schedule(np.float64)
    with pytest.raises(OverflowError, match="2147483648 is larger"):
        schedule.calls("axpy", np.array([1, 2**31]), 1, At(0), 1, At(1), 1)


def test_routines_with_integers_of_64_bits(way, rng, monkeypatch):
    """As of SciPy that is built so: NumPy comes with such a library."""
    folder = Path(np.__file__).parents[1] / "numpy.libs"
    found = [*folder.glob("libscipy_openblas64_*")]
    if not found:
        pytest.skip("NumPy has no OpenBLAS with integers of 64 bits")
    library = ctypes.CDLL(str(found[0]))

    def routine(name, where="lapack"):
        place = ctypes.cast(getattr(library, f"scipy_{name}_64_"), ctypes.c_void_p).value
        return ctypes.CFUNCTYPE(None)(place)

    assert routines.integer_type() == np.int32  # of SciPy on PyPI
    monkeypatch.setattr(routines, "_routine", routine)
    kind = functools.cache(routines.integer_type.__wrapped__)
    for place in (routines, module):
        monkeypatch.setattr(place, "integer_type", kind)
    monkeypatch.setattr(module, "address", routines.address.__wrapped__)
    assert kind() == np.int64
    n = 40
    B = rng.standard_normal((n, n))
    A = B @ B.T + n * np.eye(n)
    A[30, 30] = -1.0
    schedule, C = tiles(n, 9, np.float64), np.zeros((n, n))
    schedule.execute(A, B, C, workers=3)
    np.testing.assert_allclose(C, A @ B)
    one, L = Schedule(np.float64), A.copy()
    one.add_phase(one.calls("potrf", "U", n, At(0), n))
    assert one.execute(L, workers=2).tolist() == [31]
    assert routines.call("potrf", "U", n, A.copy(), n) == 31
    A[30, 30] = B[30] @ B[30] + n
    np.testing.assert_allclose(routines.solve_positive(A.copy(), B), np.linalg.solve(A, B))
    w, V = routines.eigh(A)
    np.testing.assert_allclose(V * w @ V.T, A, atol=1e-10)
    np.testing.assert_allclose(routines.eigh(A, 3)[0], w[-3:])
    Q, R, pivots = routines.qr_with_pivots(B)
    np.testing.assert_allclose(Q @ R, B[:, pivots], atol=1e-12)
    L, pivots, rank = routines.cholesky_with_pivots(A.copy(), 1e-12)
    assert rank == n
    np.testing.assert_allclose(np.tril(L) @ np.tril(L).T, A[np.ix_(pivots, pivots)], atol=1e-10)


@pytest.mark.parametrize(("start", "stop", "size"), [(0, 10, 3), (4, 9, 5), (3, 3, 2), (0, 1, 7)])
def test_blocks(start, stop, size):
    starts, lengths = blocks(start, stop, size)
    assert starts.dtype == lengths.dtype == np.int64  # by default not everywhere: n * n overflowed
    covered = [i for a, m in zip(starts, lengths, strict=True) for i in range(a, a + m)]
    assert covered == [*range(start, stop)]
    assert all(0 < m <= size for m in lengths)


def test_integers_of_more_than_16_bits(way):
    n = 70_000
    schedule, a, b = Schedule(np.float32), np.ones(n, np.float32), np.zeros(n, np.float32)
    schedule.add_phase(
        schedule.calls("axpy", np.array([n - 1, 1]), 1, At(0), 1, At(1, np.array([0, n - 1])), 1)
    )
    schedule.execute(a, b, workers=2)
    assert np.all(b == 1)


def test_integers_live_as_long_as_their_schedule(way, rng):
    """Tables hold their addresses."""
    (A, B), C = problem(rng, 60, np.float64)
    schedule = tiles(60, 7, np.float64)
    gc.collect()
    others = [np.full(200, 7, np.int32) for _ in range(1000)]  # in memory that was free
    schedule.execute(A, B, C, workers=2)
    np.testing.assert_allclose(C, A @ B)
    del others


def test_copies_hold_the_same_addresses():
    """Those of integers that were freed with the original would be read."""
    schedule = tiles(60, 7, np.float64)
    assert copy.deepcopy({"schedule": schedule})["schedule"] is schedule
    with pytest.raises(TypeError, match="holds addresses"):
        pickle.dumps(schedule)


def test_several_callers_at_once(rng, monkeypatch):
    """One has the team, and the others work alone."""
    monkeypatch.setattr(module, "_compiled_pays", lambda work: True)
    monkeypatch.setattr(module, "_PER_THREAD", 1.0)
    (A, B), C = problem(rng, 80, np.float64)
    schedule, wrong = tiles(80, 9, np.float64, 3), []
    schedule.execute(A, B, C, workers=1)

    def work():
        own = np.zeros_like(C)
        for workers in (2, 5, 3, 1, 16) * 20:
            own[:] = 0
            schedule.execute(A, B, own, workers=workers)
            if not np.array_equal(own, C):
                wrong.append(workers)

    callers = [threading.Thread(target=work) for _ in range(5)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong
    assert module._team.control[BUSY] == 0


def test_a_job_of_the_pool_executes_them_in_its_own_thread(rng, monkeypatch):
    monkeypatch.setattr(
        module, "_compiled_pays", lambda work: pytest.fail("asked for a second thread")
    )
    (A, B), _ = problem(rng, 40, np.float64)
    schedule, found = tiles(40, 9, np.float64), np.zeros((6, 40, 40))
    threads.run(lambda i: schedule.execute(A, B, found[i]), range(6), workers=3)
    np.testing.assert_allclose(found, np.broadcast_to(A @ B, found.shape))


def test_limits_are_kept(rng, monkeypatch):
    monkeypatch.setattr(module, "_compiled_pays", lambda work: True)
    monkeypatch.setattr(module, "_PER_THREAD", 1.0)
    asked = []
    monkeypatch.setattr(module, "execute", lambda *args: asked.append(args[-2].max()), raising=True)
    (A, B), C = problem(rng, 80, np.float64)
    schedule = tiles(80, 5, np.float64)
    for workers in (2, 3):
        with within(workers, np.inf):
            schedule.execute(A, B, C)
    assert asked == [1, 2]  # others


def test_long_phases_are_divided(rng, monkeypatch):
    """So that Ctrl-C is noticed; short ones are joined."""
    monkeypatch.setattr(module, "_compiled_pays", lambda work: True)
    (A, B), C = problem(rng, 60, np.float64)
    expected, shared = A @ B, []
    share = module.execute
    monkeypatch.setattr(module, "execute", lambda *args: (shared.append(args[3]), share(*args)))
    for at_once, times in ((1e12, 1), (2 * 60**3, 2), (1.0, 2 * 36)):
        monkeypatch.setattr(module, "_BATCH", at_once)
        C[:] = 0
        tiles(60, 10, np.float64, 2).execute(A, B, C, workers=2)
        assert len(shared) == times if at_once != 2 * 60**3 else len(shared) <= times
        np.testing.assert_allclose(C, expected)
        shared.clear()


def test_an_interrupt_between_two_batches(rng, monkeypatch):
    monkeypatch.setattr(module, "_compiled_pays", lambda work: True)
    monkeypatch.setattr(module, "_BATCH", 1.0)
    monkeypatch.setattr(module, "_PER_THREAD", 1.0)
    (A, B), C = problem(rng, 60, np.float64)
    count, check_cancelled = [], threads.check_cancelled

    def interrupted():
        count.append(1)
        if len(count) == 3:
            raise KeyboardInterrupt
        check_cancelled()

    monkeypatch.setattr(module, "check_cancelled", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tiles(60, 10, np.float64).execute(A, B, C, workers=3)
    assert module._team.control[BUSY] == 0
    count[:] = [1] * 5
    tiles(60, 10, np.float64).execute(A, B, C, workers=3)
    np.testing.assert_allclose(C, A @ B)


def test_compiled_code_ahead_of_time():
    look = "print(schedule.execute.ready, schedule.assist.ready)"
    program = f"from mercer.engine import schedule; schedule.load(); {look}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "True True\n"


@pytest.mark.parametrize("work", [0.4, 0.6])
def test_compiled_code_is_loaded_when_there_has_been_enough_work(monkeypatch, work):
    class Loop:
        ready = False

    monkeypatch.setattr(module, "execute", Loop)
    monkeypatch.setattr(module, "_executed", 0.0)
    assert not module._compiled_pays(work * module._LOADING)
    assert module._compiled_pays(work * module._LOADING) == (work > 0.5)
    Loop.ready = True
    assert module._compiled_pays(0.0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_has_a_team_of_its_own(rng, monkeypatch):
    monkeypatch.setattr(module, "_compiled_pays", lambda work: True)
    monkeypatch.setattr(module, "_PER_THREAD", 1.0)
    (A, B), C = problem(rng, 60, np.float64)
    schedule = tiles(60, 9, np.float64, 5)
    schedule.execute(A, B, C, workers=4)
    module._team.control[BUSY] = 1  # as if another thread were at it
    try:
        child = os.fork()
        if not child:
            signal.alarm(30)
            C[:] = 0
            schedule.execute(A, B, C, workers=4)
            own = module._team.start(3) == 3 and module._team.control[BUSY] == 0
            os._exit(0 if own and np.allclose(C, A @ B) else 1)
    finally:
        module._team.control[BUSY] = 0
    assert os.waitpid(child, 0)[1] == 0


_LOOP = """
import sys, time
import numpy as np
from mercer.engine import schedule as module
from mercer.engine.schedule_loops import BUSY
from mercer.engine.schedule import At, Schedule

module._compiled_pays = lambda work: True
n = 300
A, C = np.ones((n, n)), np.zeros((4, n, n))
schedule, out = Schedule(np.float64), At(1, n * n * np.arange(4))
for _ in range(int(sys.argv[1])):
    schedule.add_phase(schedule.calls("gemm", "N", "N", n, n, n, 1, At(0), n, At(0), n, 0, out, n))
print("begun", flush=True)
try:
    schedule.execute(A, C, workers=2)
    print("done", C.max(), flush=True)
except KeyboardInterrupt:
    print("interrupted", module._team.control[BUSY], flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_ends_a_long_schedule():
    command = [sys.executable, "-c", _LOOP, "4000"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    time.sleep(2.0)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=120)[0] == "interrupted 0\n"
    assert process.returncode == 0


def test_a_process_ends_right_after_its_threads_were_at_work():
    """While they still spin."""
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", _LOOP, "5"], capture_output=True, text=True, timeout=120
        )
        assert (done.returncode, done.stdout) == (0, "begun\ndone 300.0\n")
