import threading

import pytest

from mercer.engine.limits import most_workers, within
from mercer.gram.device.shares import shared


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_items_go_round(workers, count):
    found = shared(range(count), [list] * workers)
    assert found == [list(range(first, count, workers)) for first in range(workers)]


def test_each_has_a_thread_within_the_same_limits():
    seen = []

    def work(own):
        seen.append((threading.get_ident(), most_workers()))
        return sum(own)

    with within(3, 1e9):
        assert shared(range(10), [work, work]) == [20, 25]
    assert len({thread for thread, _ in seen}) == 2
    assert {limit for _, limit in seen} == {3}


def test_an_error_of_one_ends_all():
    drawn, done = [], []

    def endless():
        for number in range(1_000_000):
            drawn.append(number)
            yield number

    def fails(own):
        for number in own:
            if number >= 10:
                raise LookupError("enough")

    def works(own):
        done.append(len(list(own)))

    with pytest.raises(LookupError, match="enough"):
        shared(endless(), [works, fails])
    assert len(drawn) < 100
    assert len(done) == 1


def test_an_error_of_the_source_ends_all():
    def broken():
        yield from range(5)
        raise OSError("no such file")

    with pytest.raises(OSError, match="no such file"):
        shared(broken(), [list, list])
