"""Threads that share one short task after another in compiled code."""

import gc
import threading
import time
import weakref

import numpy as np
import pytest

from mercer._compiled import njit
from mercer.engine import crew
from mercer.engine.crew import FREE, Crew, await_call, await_pieces, call, finish_piece, take_piece


@njit(nogil=True)
def add_up(control, member, values, sums, times, by):
    """times[p] of each piece, and sums[p] = the factor of the task times the sum of a row."""
    known = np.int64(0)
    while True:
        if member == 0:
            call(control)
        else:
            known = await_call(control, member, known)
            if known < 0:
                return
        while True:
            piece = take_piece(control)
            if piece < 0:
                break
            total = 0.0
            for k in range(values.shape[1]):
                total += values[piece, k]
            sums[piece] = control[FREE] * total
            times[piece] += 1
            by[member] += 1
            finish_piece(control)
        if member == 0:
            await_pieces(control)
            return


class Sums:
    def __init__(self, workers, rows=60, width=50):
        self.values = np.random.default_rng(0).random((rows, width))
        self.sums, self.times = np.zeros(rows), np.zeros(rows, np.int64)
        self.by = np.zeros(workers, np.int64)
        self.crew = Crew(self.loop, workers)

    def loop(self, control, member):
        add_up(control, member, self.values, self.sums, self.times, self.by)


@pytest.mark.parametrize("workers", [1, 2, 3, 7, 22])
def test_each_piece_of_each_task_is_done_once(workers, rng):
    work = Sums(workers)
    expected = work.values.sum(axis=1)
    try:
        for task in range(1, 300):
            pieces = int(rng.integers(1, 61))
            work.sums[:], work.times[:] = -1.0, 0
            work.crew.share(pieces, int(rng.integers(0, 30)), task)
            assert np.all(work.times[:pieces] == 1)
            assert not work.times[pieces:].any()
            np.testing.assert_allclose(work.sums[:pieces], task * expected[:pieces])
            assert np.all(work.sums[pieces:] == -1)
    finally:
        work.crew.dismiss()


def test_others_take_part():
    work = Sums(3, width=200_000)
    try:
        for _ in range(20):
            work.crew.share(60, 2, 1)
            if np.all(work.by > 0):
                break
        assert np.all(work.by > 0)
    finally:
        work.crew.dismiss()


def test_no_thread_begins_before_it_is_wanted(monkeypatch):
    monkeypatch.setattr(crew._thread, "start_new_thread", lambda *args: pytest.fail("too early"))
    work = Sums(4)
    work.crew.share(60, 0, 1)
    work.crew.share(1, 3, 1)
    assert work.by[0] == 61
    work.crew.dismiss()


def test_threads_leave():
    work = Sums(5)
    work.crew.share(60, 4, 1)
    team = work.crew
    team.dismiss()
    team.dismiss()  # a second time changes nothing
    deadline = time.monotonic() + 30
    while team._gone < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert team._gone == 5  # the caller, too
    with pytest.raises(RuntimeError, match="dismissed"):
        team.share(1, 0)


def test_nothing_is_kept_by_a_crew_that_was_dismissed():
    """Arrays of a fit are freed when it ends, not when garbage is collected."""
    work = Sums(1)
    work.crew.share(60, 0, 1)
    work.crew.dismiss()
    gone = weakref.ref(work)
    gc.disable()
    try:
        del work
        assert gone() is None
    finally:
        gc.enable()


def test_fewer_threads_where_there_are_too_many(monkeypatch):
    start, begun = crew._thread.start_new_thread, []

    def few(function, args):
        if len(begun) == 2:
            raise RuntimeError("can't start new thread")
        begun.append(args)
        return start(function, args)

    monkeypatch.setattr(crew._thread, "start_new_thread", few)
    work = Sums(10)
    try:
        for task in range(1, 50):
            work.crew.share(60, 9, task)
            np.testing.assert_allclose(work.sums, task * work.values.sum(axis=1))
    finally:
        work.crew.dismiss()
    assert len(begun) == 2


def test_a_thread_without_memory_leaves_its_pieces_to_others():
    class Poor(Sums):
        def loop(self, control, member):
            if member:
                raise MemoryError
            super().loop(control, member)

    work = Poor(4)
    try:
        for task in range(1, 20):
            work.crew.share(60, 3, task)
            np.testing.assert_allclose(work.sums, task * work.values.sum(axis=1))
    finally:
        work.crew.dismiss()


def test_crews_of_several_callers(rng):
    """Each fit has a crew of its own."""
    failed = []

    def fit():
        work = Sums(4)
        try:
            for task in range(1, 200):
                work.crew.share(60, 3, task)
                if not np.allclose(work.sums, task * work.values.sum(axis=1)):
                    failed.append(task)
        finally:
            work.crew.dismiss()

    callers = [threading.Thread(target=fit) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not failed
