"""Work that is shared out among devices: a thread for each, and the items in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import Full, Queue
from threading import Event
from typing import Any, TypeVar

from ...engine.limits import limits, within

T = TypeVar("T")
R = TypeVar("R")

_PATIENCE = 0.05  # seconds after which one looks whether a worker is still there
_END = object()


def shared(items: Iterable[T], workers: list[Callable[[Iterator[T]], R]]) -> list[R]:
    """What each worker makes of its items: the first of k gets items 0, k, 2k, ...

    Which item goes where does not depend on who is faster. A single worker works in this thread.

    Examples
    --------
    >>> from mercer.gram.device.shares import shared
    >>> shared(range(5), [list, list])
    [[0, 2, 4], [1, 3]]
    """
    if len(workers) == 1:
        return [workers[0](iter(items))]
    allowed, called_off = limits(), Event()
    queues: list[Queue[Any]] = [Queue(1) for _ in workers]

    def own(queue: Queue[Any]) -> Iterator[T]:
        for item in iter(queue.get, _END):
            if called_off.is_set():
                return
            yield item

    def work(number: int) -> R:
        with within(*allowed):
            return workers[number](own(queues[number]))

    with ThreadPoolExecutor(len(workers), thread_name_prefix="mercer-device") as pool:
        found = [pool.submit(work, number) for number in range(len(workers))]
        turns = list(zip(queues, found, strict=True))
        try:
            for number, item in enumerate(items):
                if not _offered(item, *turns[number % len(turns)]):
                    called_off.set()  # by an error of this worker, which is raised below
                    break
        except BaseException:
            called_off.set()
            raise
        finally:
            for turn in turns:
                _offered(_END, *turn)
        return [each.result() for each in found]


def _offered(item: Any, queue: Queue[Any], worker: Future[Any]) -> bool:
    """Put an item into the queue of a worker; False if it has stopped."""
    while not worker.done():
        with suppress(Full):
            queue.put(item, timeout=_PATIENCE)
            return True
    return False
