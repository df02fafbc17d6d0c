"""A team of threads in compiled code: its results, and its protocol in every order of events."""

import gc
import threading
import time
import weakref

import numpy as np
import pytest

from mercer._compiled import njit
from mercer.engine import team as module
from mercer.engine.team import (
    PARAMETERS,
    Team,
    await_phase,
    await_tasks,
    claim_task,
    finish_task,
    start_phase,
)

from .interleavings import explore


@njit(nogil=True)
def add_up(control, member, values, sums, times, by):
    """times[t] of each task, and sums[t] = the factor of the phase times the sum of a row."""
    known = np.int64(0)
    while True:
        if member == 0:
            start_phase(control)
        else:
            known = await_phase(control, member, known)
            if known < 0:
                return
        while True:
            task = claim_task(control)
            if task < 0:
                break
            total = 0.0
            for k in range(values.shape[1]):
                total += values[task, k]
            sums[task] = control[PARAMETERS] * total
            times[task] += 1
            by[member] += 1
            finish_task(control)
        if member == 0:
            await_tasks(control)
            return


class Sums:
    def __init__(self, workers, rows=60, width=50):
        self.values = np.random.default_rng(0).random((rows, width))
        self.sums, self.times = np.zeros(rows), np.zeros(rows, np.int64)
        self.by = np.zeros(workers, np.int64)
        self.team = Team(self.loop, workers)

    def loop(self, control, member):
        add_up(control, member, self.values, self.sums, self.times, self.by)


@pytest.mark.parametrize("workers", [1, 2, 3, 7, 22])
def test_each_task_of_each_phase_is_executed_once(workers, rng):
    work = Sums(workers)
    expected = work.values.sum(axis=1)
    try:
        for factor in range(1, 300):
            tasks = int(rng.integers(1, 61))
            work.sums[:], work.times[:] = -1.0, 0
            work.team.run(tasks, int(rng.integers(0, 30)), factor)
            assert np.all(work.times[:tasks] == 1)
            assert not work.times[tasks:].any()
            np.testing.assert_allclose(work.sums[:tasks], factor * expected[:tasks])
            assert np.all(work.sums[tasks:] == -1)
    finally:
        work.team.dismiss()


def test_others_take_part():
    work = Sums(3, width=200_000)
    try:
        for _ in range(20):
            work.team.run(60, 2, 1)
            if np.all(work.by > 0):
                break
        assert np.all(work.by > 0)
    finally:
        work.team.dismiss()


def test_no_thread_begins_before_it_is_wanted(monkeypatch):
    monkeypatch.setattr(module._thread, "start_new_thread", lambda *args: pytest.fail("too early"))
    work = Sums(4)
    work.team.run(60, 0, 1)
    work.team.run(1, 3, 1)
    assert work.by[0] == 61
    work.team.dismiss()


def test_threads_leave():
    work = Sums(5)
    work.team.run(60, 4, 1)
    team = work.team
    team.dismiss()
    team.dismiss()  # a second time changes nothing
    deadline = time.monotonic() + 30
    while team._left < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert team._left == 5  # the caller, too
    with pytest.raises(RuntimeError, match="dismissed"):
        team.run(1, 0)


def test_nothing_is_kept_by_a_team_that_was_dismissed():
    """Arrays of a fit are freed when it ends, not when garbage is collected."""
    work = Sums(1)
    work.team.run(60, 0, 1)
    work.team.dismiss()
    gone = weakref.ref(work)
    gc.disable()
    try:
        del work
        assert gone() is None
    finally:
        gc.enable()


def test_fewer_threads_where_there_are_too_many(monkeypatch):
    start, begun = module._thread.start_new_thread, []

    def few(function, args):
        if len(begun) == 2:
            raise RuntimeError("can't start new thread")
        begun.append(args)
        return start(function, args)

    monkeypatch.setattr(module._thread, "start_new_thread", few)
    work = Sums(10)
    try:
        for factor in range(1, 50):
            work.team.run(60, 9, factor)
            np.testing.assert_allclose(work.sums, factor * work.values.sum(axis=1))
    finally:
        work.team.dismiss()
    assert len(begun) == 2


def test_a_thread_without_memory_leaves_its_tasks_to_others():
    class Poor(Sums):
        def loop(self, control, member):
            if member:
                raise MemoryError
            super().loop(control, member)

    work = Poor(4)
    try:
        for factor in range(1, 20):
            work.team.run(60, 3, factor)
            np.testing.assert_allclose(work.sums, factor * work.values.sum(axis=1))
    finally:
        work.team.dismiss()


def test_teams_of_several_callers(rng):
    """Each fit has a team of its own."""
    failed = []

    def fit():
        work = Sums(4)
        try:
            for factor in range(1, 200):
                work.team.run(60, 3, factor)
                if not np.allclose(work.sums, factor * work.values.sum(axis=1)):
                    failed.append(factor)
        finally:
            work.team.dismiss()

    callers = [threading.Thread(target=fit) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not failed


def _threads(phases, members):
    return [("caller", phases, members - 1, True), *(("helper", m) for m in range(1, members))]


@pytest.mark.parametrize(
    ("phases", "members"),
    [
        ([(2, 1), (2, 0), (2, 1)], 2),
        ([(1, 2)], 3),
        pytest.param([(2, 2)], 3, marks=pytest.mark.slow),
        pytest.param([(1, 2), (1, 2)], 3, marks=pytest.mark.slow),
    ],
)
def test_every_order_of_events_ends_with_each_task_executed_once(phases, members):
    """So there is neither a deadlock nor a lost wake-up, and no lock is released twice."""
    for world in explore(_threads(phases, members), members):
        assert world.steps == [None] * members
        assert world.control[module._PHASE] == module._CLOSED
        assert not any(world.locks.values())
        expected = {("task", k, task) for k, (n, _) in enumerate(phases) for task in range(n)}
        assert set(world.events) == expected | {("end", k) for k in range(len(phases))}


def test_helpers_leave_whenever_another_thread_closes_the_team():
    """As at the end of a process, while a daemon thread is between two phases or in one."""
    phases = [(1, 1), (1, 1)]
    threads = [("caller", phases, 1, False), ("helper", 1), ("closer", 1)]
    for world in explore(threads, 2):
        assert world.steps == [None] * 3
        assert world.control[module._PHASE] == module._CLOSED
        assert {("task", 0, 0), ("task", 1, 0)} <= set(world.events)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("_load(control, _PHASE) == known or exchange(control, own, 0) == 0", "True"),
        (" or exchange(control, own, 0) == 0:", ":"),
        (" or exchange(control, _CALLER_SLEEPS, 0) == 0:", ":"),
        ("not done or exchange(control, _CALLER_SLEEPS, 0) == 0", "True"),
        (" and exchange(control, own, 0) == 1:", ":"),
        ("compare_and_swap(control, _REMAINING, left, left - 1)", "left"),
    ],
)
def test_the_search_finds_protocols_that_are_wrong(right, wrong):
    try:
        ends = explore(_threads([(2, 1), (1, 1)], 2), 2, (right, wrong))
    except AssertionError:
        return
    assert any(world.steps != [None] * 2 for world in ends)
