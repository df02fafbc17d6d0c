"""Waiting without going to sleep."""

import threading
import time

import numpy as np

from mercer.engine.awake import _watch, watch
from mercer.engine.words import give_way


def test_it_ends_when_the_words_add_up():
    words = np.zeros(3, np.int64)
    _watch(words, 0, give_way())  # compiles
    seen = []

    def wait():
        while words.sum() < 2:
            watch(words, 2)
        seen.append(words.sum())

    thread = threading.Thread(target=wait)
    thread.start()
    words[0] = 1
    time.sleep(0.01)
    assert not seen
    words[2] = 1
    thread.join(10)
    assert seen == [2]


def test_it_ends_by_itself():
    words = np.zeros(1, np.int64)
    for _ in range(3):
        watch(words, 1)
    assert words[0] == 0
