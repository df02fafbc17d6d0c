import faulthandler
import gc
import inspect
import os
import platform
import signal
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from mercer.engine import threads


def test_errors_in_a_worker_reach_the_caller():
    def fail(item):
        raise RuntimeError(f"item {item}")

    with pytest.raises(RuntimeError, match="item"):
        threads.run(fail, range(4), workers=2)


def test_after_an_error_no_item_is_begun():
    begun, barrier = [], threading.Barrier(2, timeout=5)

    def job(i):
        begun.append(i)
        barrier.wait()
        if i == 0:
            raise KeyError("no such thing")
        time.sleep(0.1)

    with pytest.raises(KeyError, match="no such thing"):
        threads.run(job, range(50), workers=2)
    assert sorted(begun) == [0, 1]
    done = []
    threads.run(done.append, range(3), workers=2)  # the pool is as it was
    assert sorted(done) == [0, 1, 2]


def test_the_caller_takes_part():
    barrier, names = threading.Barrier(2, timeout=5), set()

    def job(i):
        names.add(threading.current_thread().name)
        assert threads.on_pool()
        barrier.wait()  # two threads are here at once

    threads.run(job, range(4), workers=2)
    assert threading.current_thread().name in names
    assert len(names) == 2
    assert not threads.on_pool()


@pytest.fixture
def busy(monkeypatch):
    """A pool whose only thread has other things to do, until this is set."""
    monkeypatch.setattr(threads, "_pool", threads._Pool())
    go = threading.Event()
    threads._pool.submit(lambda: go.wait(20), 1)
    yield go
    go.set()


def test_a_busy_pool_is_not_waited_for(busy):
    """The caller does all of the work if the other threads have other things to do."""
    done = []
    threads.run(done.append, range(5), workers=2)
    assert sorted(done) == list(range(5))
    assert not busy.is_set()


def test_a_busy_pool_keeps_nothing_of_what_nobody_waits_for(busy):
    """Else arrays of jobs that are long done pile up until a thread of the pool looks at them."""
    try:
        arrays = [np.zeros(10)]
        gone = weakref.ref(arrays[0])
        threads.run(lambda i, held=arrays: held[0][i], range(3), workers=2)
        del arrays
        gc.collect()
        assert gone() is None
    finally:
        busy.set()


@pytest.mark.parametrize("workers", [1, 2])
def test_blas_is_held_to_one_thread(workers):
    def blas_threads():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    before, inside = blas_threads(), []
    threads.run(lambda i: inside.append(blas_threads()), range(2), workers=workers)
    assert inside == [{1}, {1}]
    assert blas_threads() == before
    with threads.one_blas_thread(), threads.one_blas_thread():
        assert blas_threads() == {1}
    assert blas_threads() == before


def test_the_real_blas_obeys_every_thread():
    """threadpoolctl listens to the first thread only, as long as it is alive, unless it is told."""

    def blas_threads():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    with threadpool_limits(2, user_api="blas"):
        with ThreadPoolExecutor(1) as other:
            held = threads.one_blas_thread(), threads.one_blas_thread()
            for first, second in ((other.submit, _now), (_now, other.submit)):
                first(held[0].__enter__).result()  # each comes first once, and leaves first
                second(held[1].__enter__).result()
                first(held[0].__exit__).result()
                assert blas_threads() == {1}
                second(held[1].__exit__).result()
                assert blas_threads() == {2}
        with threadpool_limits(1, user_api="blas"):  # others are listened to again
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def _now(function):
    """A call in this thread, in the form of one in another."""
    done = Future()
    done.set_result(function())
    return done


def test_nested_runs_do_not_wait_for_each_other():
    done = []

    def outer(i):
        threads.run(lambda j: done.append((i, j)), range(3), workers=2)

    threads.run(outer, range(4), workers=2)
    assert sorted(done) == [(i, j) for i in range(4) for j in range(3)]


class Blas:
    """A BLAS whose number of threads is looked at by the tests below, in two libraries."""

    class Library:
        def __init__(self, num_threads):
            self.num_threads = num_threads

        def set_num_threads(self, count):
            self.num_threads = count

    def __init__(self):
        self.lib_controllers = [self.Library(8), self.Library(4)]

    @property
    def threads(self):
        first, second = (library.num_threads for library in self.lib_controllers)
        assert (first, second) in ((1, 1), (8, 4))
        return first


@pytest.fixture
def blas(monkeypatch):
    fake = Blas()
    monkeypatch.setattr(threads, "_blas", lambda: fake)
    return fake


@pytest.mark.parametrize(("rows", "count"), [(200, 1), (2000, 8), (20_000, 1)])
def test_blas_has_threads_where_they_pay(blas, rows, count):
    """Those of small matrices wait for each other, and LAPACK with threads crashes on huge ones."""
    with threads.blas_for(rows):
        assert blas.threads == count
    assert blas.threads == 8


def test_the_last_to_leave_gives_blas_back(blas):
    """Two threads hold BLAS; the first to come is the first to leave."""
    inside, out = threading.Event(), threading.Event()

    def first():
        with threads.one_blas_thread():
            inside.set()
            assert second_is_in.wait(5)
        out.set()

    second_is_in = threading.Event()
    thread = threading.Thread(target=first)
    thread.start()
    assert inside.wait(5)
    with threads.one_blas_thread():
        second_is_in.set()
        assert out.wait(5)
        assert blas.threads == 1
    thread.join()
    assert blas.threads == 8


def test_fits_in_many_threads_leave_blas_as_it_was(blas):
    n = 4
    barrier = threading.Barrier(n, timeout=60)

    def fit(i):
        for _ in range(20):
            barrier.wait()
            with threads.one_blas_thread():
                assert blas.threads == 1
                threads.run(lambda j: None, range(3), workers=2)
                assert blas.threads == 1
        if i % 2:  # an error does not keep it either
            with pytest.raises(KeyError), threads.one_blas_thread():
                raise KeyError

    errors = []
    fitting = [threading.Thread(target=_caught(fit, errors), args=(i,)) for i in range(n)]
    for thread in fitting:
        thread.start()
    for thread in fitting:
        thread.join()
    assert not errors
    assert blas.threads == 8


def _caught(function, errors):
    def call(*args):
        try:
            function(*args)
        except BaseException as error:
            errors.append(error)

    return call


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_has_a_pool_and_blas_of_its_own(blas):
    threads.run(lambda i: None, range(4), workers=3)  # the parent has threads; the child will not
    with threads.one_blas_thread():
        child = os.fork()
        if not child:
            signal.alarm(20)
            barrier = threading.Barrier(3, timeout=10)
            threads.run(lambda i: barrier.wait(), range(3), workers=3)  # three at once, or never
            os._exit(0 if blas.threads == 8 else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert blas.threads == 1
    assert blas.threads == 8


# ---- interrupts ----------------------------------------------------------------------------
@pytest.mark.parametrize("guilty", ["here", "on the pool"])
def test_an_interrupt_in_a_job_is_raised_and_ends_the_others(guilty, blas):
    barrier, ended = threading.Barrier(2, timeout=5), []
    caller = threading.current_thread()

    def job(i):
        barrier.wait()
        if (threading.current_thread() is caller) == (guilty == "here"):
            raise KeyboardInterrupt
        try:
            for _ in range(2000):  # a long job, 20 s, that asks now and then
                threads.check_cancelled()
                time.sleep(0.01)
        except threads.Cancelled:
            ended.append(i)
            raise

    with pytest.raises(KeyboardInterrupt):
        threads.run(job, range(40), workers=2)
    assert len(ended) == 1
    assert blas.threads == 8
    assert not threads.on_pool()
    done = []
    threads.run(done.append, range(5), workers=2)
    assert sorted(done) == list(range(5))


def test_a_run_within_a_job_is_called_off_with_it():
    barrier, begun = threading.Barrier(2, timeout=5), []
    caller = threading.current_thread()

    def inner(j):
        begun.append(j)
        if j == 1:
            barrier.wait()
            while not failed.wait(0.001):
                pass
            time.sleep(0.05)

    def outer(i):
        if threading.current_thread() is caller:
            barrier.wait()
            failed.set()
            raise KeyError("here")
        threads.run(inner, range(1000))

    failed = threading.Event()
    with pytest.raises(KeyError, match="here"):
        threads.run(outer, range(2), workers=2)
    assert begun == [0, 1]


class InterruptAt:
    """Ctrl-C at the n-th place of this thread where Python looks for signals: after a call of C,
    and at the begin of a function."""

    def __init__(self, n):
        self.left = n

    def __call__(self, frame, event, argument):
        generator = frame.f_code.co_flags & inspect.CO_GENERATOR
        if event == "c_return" or (event == "call" and not generator):
            self.left -= 1
            if self.left == 0:
                sys.setprofile(None)
                raise KeyboardInterrupt

    def __enter__(self):
        sys.setprofile(self)

    def __exit__(self, *error):
        sys.setprofile(None)


def _nothing(i):
    pass


@pytest.mark.parametrize("fresh", [True, False], ids=["fresh pool", "old pool"])
@pytest.mark.parametrize("workers", [1, 3])
def test_an_interrupt_anywhere_leaves_the_pool_and_blas_as_they_were(
    fresh, workers, blas, monkeypatch
):
    """Locks that stayed locked, by which the next call waited for ever, were one outcome."""
    faulthandler.dump_traceback_later(240, exit=True)
    interrupted, n = 0, 1
    while interrupted == n - 1:
        if fresh:
            monkeypatch.setattr(threads, "_pool", threads._Pool())
        try:
            with InterruptAt(n):
                threads.run(_nothing, range(4), workers=workers)
        except KeyboardInterrupt:
            interrupted += 1
        assert not threads.on_pool()
        done = []
        threads.run(done.append, range(5), workers=3)
        assert sorted(done) == list(range(5))
        assert blas.threads == 8
        n += 1
    assert interrupted > 40
    faulthandler.cancel_dump_traceback_later()


def test_what_was_interrupted_is_not_begun_later(busy):
    """A helper that comes too late finds nothing to do."""
    done = []
    with pytest.raises(KeyError):
        threads.run(lambda i: done.append(i) or {}[i], range(4), workers=2)
    busy.set()
    threads.run(lambda i: time.sleep(0.01), range(4), workers=2)
    assert done == [0]


_LOOP = """
import time
from mercer.engine import threads

def job(i):
    if i == 1:
        print("begun", flush=True)
    time.sleep(0.02)

try:
    threads.run(job, range(100_000), workers=2)
except KeyboardInterrupt:
    done = []
    threads.run(done.append, range(9), workers=2)
    print("interrupted", len(done), flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_ends_a_long_run():
    """A real interrupt; without it this would go on for a quarter of an hour."""
    process = subprocess.Popen([sys.executable, "-c", _LOOP], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert out == "interrupted 9\n"
    assert process.returncode == 0


# ---- how many cores --------------------------------------------------------------------------
@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Eight cores, no limits."""
    for variable in ("OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(threads, "_CONTROL_GROUPS", tmp_path)
    threads.cores.cache_clear()
    yield tmp_path
    threads.cores.cache_clear()


def test_all_cores_by_default(machine):
    assert threads.cores() == 8


@pytest.mark.parametrize(
    ("variable", "value", "cores"),
    [
        ("OMP_NUM_THREADS", "3", 3),
        ("OMP_NUM_THREADS", "2,4", 2),
        ("OMP_NUM_THREADS", "100", 8),
        ("OMP_NUM_THREADS", "many", 8),
        ("OMP_NUM_THREADS", "0", 8),
        ("LOKY_MAX_CPU_COUNT", "5", 5),
    ],
)
def test_what_the_environment_allows(machine, monkeypatch, variable, value, cores):
    monkeypatch.setenv(variable, value)
    assert threads.cores() == cores


def test_the_quota_of_a_container(machine):
    (machine / "cpu.max").write_text("250000 100000\n")
    assert threads.cores() == 3


def test_no_quota(machine):
    (machine / "cpu.max").write_text("max 100000\n")
    assert threads.cores() == 8


def test_the_quota_of_an_older_container(machine):
    (machine / "cpu").mkdir()
    (machine / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
    (machine / "cpu" / "cpu.cfs_quota_us").write_text("-1\n")
    assert threads.cores() == 8
    threads.cores.cache_clear()
    (machine / "cpu" / "cpu.cfs_quota_us").write_text("50000\n")
    assert threads.cores() == 1


def test_a_daemon_takes_one_core_unless_told(machine, monkeypatch):
    monkeypatch.setattr(threads, "_is_daemon", lambda: True)
    assert threads.cores() == 1
    threads.cores.cache_clear()
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert threads.cores() == 2


def test_workers_of_joblib_share_the_machine(monkeypatch):
    """Two workers of a machine with four cores use two each; daemons one."""
    from joblib import Parallel, delayed

    for variable in ("OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT"):
        monkeypatch.delenv(variable, raising=False)
    inner = max(1, threads.cores() // 2)
    assert Parallel(2)(delayed(threads.cores)() for _ in range(4)) == [inner] * 4
    if sys.platform == "linux":
        assert Parallel(2, backend="multiprocessing")(
            delayed(threads.cores)() for _ in range(2)
        ) == [1, 1]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_memory_of_tiles_is_kept_for_the_next_ones():
    """Fresh pages are zeroed one by one, and all threads wait for them together."""
    script = """
import resource
import numpy as np
from mercer.engine.threads import run
job = lambda i: [np.ones(300_000) for _ in range(4)]
run(job, range(3), 1)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
run(job, range(60), 1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 60 * 4 * 300_000 * 8 / os.sysconf("SC_PAGE_SIZE") / 10


_AWAKE = """
import os, sys, time
from pathlib import Path
tasks = Path("/proc/self/task")
own = {task.name for task in tasks.iterdir()}
import numpy as np, scipy.linalg
theirs = [task for task in tasks.iterdir() if task.name not in own]
if not theirs:
    sys.exit("BLAS has one thread here")
import mercer as m
ran = lambda: sum(int((task / "schedstat").read_text().split()[0]) for task in theirs)
before, rng = -1, np.random.default_rng(0)
while before != ran():  # they look for work when they have been started, too
    before = ran()
    time.sleep(0.3)
X = rng.standard_normal((15_000, 2))
m.SVC().fit(X, X[:, 0] > 0)
m.KernelRidge(kernel="rbf").fit(X[:1500], X[:1500, 0])
m.two_sample_test(X[:1500], X[1500:3000], rng=0)
print(ran() - before)
X @ np.ones((2, 200)) @ np.ones((200, 100))
print(ran() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="Linux says who has worked")
def test_fits_and_tests_wake_no_threads_of_blas():
    """They would look out for work for a tenth of a second, on the cores of our own threads."""
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    ended = subprocess.run([sys.executable, "-c", _AWAKE], env=env, capture_output=True, text=True)
    if "BLAS has one thread" in ended.stderr:
        pytest.skip("BLAS has one thread here")
    ours, numpys = map(int, ended.stdout.split())
    if numpys == 0:
        pytest.skip("BLAS divides no work here")
    assert ours == 0
