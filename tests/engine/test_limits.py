import threading

import pytest

from mercer.engine.limits import limits, most_memory, most_workers, within
from mercer.engine.memory import require_memory
from mercer.engine.threads import run
from mercer.exceptions import MemoryPlanError


def test_the_narrower_limit_counts_and_ends():
    assert limits() == (None, float("inf"))
    with within(4, 1e9):
        with within(None, 2e9):
            assert (most_workers(), most_memory()) == (4, 1e9)
        with within(2, 1e6):
            assert (most_workers(), most_memory()) == (2, 1e6)
    assert limits() == (None, float("inf"))


def test_they_end_after_an_error():
    with pytest.raises(KeyError), within(1, 1.0):
        raise KeyError
    assert limits() == (None, float("inf"))


def test_memory_is_refused_meanwhile():
    with within(None, 1e3), pytest.raises(MemoryPlanError, match="the plan allows 1 kB"):
        require_memory(2e3, "a matrix")
    require_memory(2e3, "a matrix")


def test_jobs_keep_to_them():
    seen, names = [], set()

    def job(_):
        seen.append(limits())
        names.add(threading.get_ident())

    with within(1, 1e3):
        run(job, range(5))
    assert names == {threading.get_ident()}
    with within(None, 1e3):
        run(job, range(20), 3)
    assert set(seen) == {(1, 1e3), (None, 1e3)}
    assert limits() == (None, float("inf"))
