"""Long calls are those of LAPACK, and Ctrl-C does not wait for their end."""

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from mercer.engine import lapack as module
from mercer.engine import threads
from mercer.engine.lapack import lapack


@pytest.fixture
def long(monkeypatch):
    """Every call is long."""
    monkeypatch.setattr(module, "_LONG", 0)
    yield
    for thread in list(module._calls):
        thread.join(20)


@pytest.mark.parametrize("rows", [2, 10_000])
def test_results_and_errors_are_those_of_the_call(rows):
    A = np.array([[2.0, 1.0], [1.0, 2.0]])
    np.testing.assert_array_equal(
        lapack(rows, np.linalg.eigvalsh, A, UPLO="U"), np.linalg.eigvalsh(A, UPLO="U")
    )
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        lapack(rows, np.linalg.cholesky, -A)


def test_only_long_calls_leave_this_thread(long, monkeypatch):
    assert lapack(1, threading.current_thread).name == "mercer-lapack"
    monkeypatch.setattr(module, "_LONG", 10)
    assert lapack(1, threading.current_thread) is threading.current_thread()


def test_a_call_that_is_called_off_ends_its_job_at_once(long):
    """Both threads wait for calls of a minute; an error in one ends the other."""
    over, ended, barrier = threading.Event(), [], threading.Barrier(2, timeout=10)
    caller = threading.current_thread()

    def job(i):
        barrier.wait()
        if threading.current_thread() is caller:
            raise KeyError("here")
        try:
            lapack(1, over.wait, 60)
        except threads.Cancelled:
            ended.append(i)
            raise

    begun = time.perf_counter()
    with pytest.raises(KeyError, match="here"):
        threads.run(job, range(2), workers=2)
    over.set()
    assert len(ended) == 1
    assert time.perf_counter() - begun < 30


def test_blas_stays_held_in_a_call_that_nobody_waits_for(long):
    """Whoever leaves first must not give cores to a call that began with one."""
    over, seen = threading.Event(), []
    users = len(threads._hold.held)

    def call():
        seen.append(len(threads._hold.held))
        over.wait(60)

    with threads.one_blas_thread():
        thread = threading.Thread(target=lapack, args=(1000, call))
        thread.start()
        while not seen:
            time.sleep(0.001)
    assert (seen[0], len(threads._hold.held)) == (users + 2, users + 1)
    over.set()
    thread.join(10)
    for other in list(module._calls):
        other.join(10)
    assert len(threads._hold.held) == users


_FIT = """
import sys, numpy as np
from mercer import KernelRidgeCV
import mercer.engine.lapack as module
X = np.random.default_rng(0).standard_normal((4000, 3))
model = KernelRidgeCV(kernel="rbf")
call = module.blas_for
def begun(rows):
    print("begun", flush=True)
    return call(rows)
module.blas_for = begun
try:
    model.fit(X, X[:, 0])
except KeyboardInterrupt:
    alive = [thread.is_alive() for thread in module._calls]
    print("interrupted", alive, vars(model) == vars(KernelRidgeCV(kernel="rbf")))
    sys.exit(3)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_is_heard_within_an_eigendecomposition():
    """It is still under way when the process ends, without a crash, and with its own status."""
    process = subprocess.Popen([sys.executable, "-c", _FIT], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "begun\n"
        time.sleep(0.3)  # LAPACK is at work for several times as long
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=100)
    finally:
        process.kill()
    assert out == "interrupted [True] True\n"
    assert process.returncode == 3
