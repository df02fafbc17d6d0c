"""The process in which pictures are computed: limits, and what is superseded."""

import os
import threading
import time
from pathlib import Path

import pytest

from mercer.lab.worker import Worker


def obedient(pipe):
    """Does what the payload says; stands for pictures that take long, or end the process."""
    pipe.send(True)
    while True:
        try:
            payload = pipe.recv()
        except EOFError:
            return
        if payload.get("die"):
            os._exit(9)
        time.sleep(payload.get("sleep", 0))
        pipe.send({"did": payload.get("view")})


@pytest.fixture
def worker(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2])  # where the process finds this file
    made = Worker(obedient, seconds=0.5, first=20)
    yield made
    made.stop()


def test_pictures_come_back(worker):
    assert worker.ask({"view": "a"}, "page", 1) == {"did": "a"}
    assert worker.ask({"view": "b"}, "page", 2) == {"did": "b"}


def test_what_takes_too_long_is_stopped_and_the_next_answered(worker):
    worker.ask({"view": "a"}, "page", 1)
    start = time.monotonic()
    found = worker.ask({"view": "a", "sleep": 60}, "page", 2)
    assert time.monotonic() - start < 10
    assert "more than 0.5 s" in found["error"]
    assert worker.ask({"view": "a"}, "page", 3) == {"did": "a"}
    again = worker.ask({"view": "a", "sleep": 60}, "page", 4)
    assert "more than 0.5 s" in again["error"]  # also in the process that came after


def test_a_process_that_dies_is_replaced(worker):
    worker.ask({"view": "a"}, "page", 1)
    assert "memory" in worker.ask({"die": True}, "page", 2)["error"]
    assert worker.ask({"view": "a"}, "page", 3) == {"did": "a"}


def test_older_requests_of_a_page_are_superseded(worker):
    worker.ask({"view": "a"}, "page", 1)
    found = {}

    def one(number):
        found[number] = worker.ask({"view": "a", "sleep": 0.2}, "page", number)

    threads = []
    for number in (2, 3, 4, 5):
        threads.append(threading.Thread(target=one, args=(number,)))
        threads[-1].start()
        time.sleep(0.03)
    for t in threads:
        t.join(20)
    assert found[2] == {"did": "a"}
    assert found[3] == found[4] == {"superseded": True}
    assert found[5] == {"did": "a"}


def test_pages_do_not_supersede_each_other(worker):
    worker.ask({"view": "a"}, "one", 50)
    assert worker.ask({"view": "b"}, "other", 1) == {"did": "b"}


def test_the_process_ends_with_the_worker(worker):
    worker.ask({"view": "a"}, "page", 1)
    process = worker._process
    worker.stop()
    assert not process.is_alive()


def test_the_process_of_the_lab_answers_and_refuses():
    worker = Worker()
    try:
        found = worker.ask({"view": "gram", "kernel": "Linear()", "points": [[1, 2, 0]]}, "p", 1)
        assert found["picture"]["panels"]
        assert "error" in worker.ask({"view": "gram", "kernel": "Gausian()"}, "p", 2)
    finally:
        worker.stop()
