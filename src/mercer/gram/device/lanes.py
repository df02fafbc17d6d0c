"""Transfers to a device and back during its computations: pinned memory, streams, and their order.

On the CPU everything happens immediately, in the order of calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any, TypeVar

import numpy as np

from .torch_ import free_on, import_torch, torch_device

T = TypeVar("T")
Tensor = Any

_SHARE = {"cuda": 0.6, "cpu": 0.2}  # of the free memory that samples may take between passes


class Lane:
    """One device, as the thread that works on it sees it.

    Parameters
    ----------
    name : str
        Of the device.
    """

    def __init__(self, name: str) -> None:
        self.name, self.torch, self.place = name, import_torch(name), torch_device(name)
        self.cuda = self.place.type == "cuda"
        if self.cuda:
            self.main = self.torch.cuda.current_stream(self.place)
            self.side = _stream_beside(name)

    def here(self) -> AbstractContextManager[Any]:
        """A context in which kernels go to this device."""
        return self.torch.cuda.device(self.place) if self.cuda else nullcontext()

    def free(self) -> float:
        """Bytes that samples may take which stay on the device."""
        return _SHARE[self.place.type] * free_on(self.name)

    def buffer(self, shape: tuple[int, ...], dtype: Any = np.float64) -> Tensor:
        """Memory of the host that the device reads and writes by itself."""
        kind, pinned = getattr(self.torch, np.dtype(dtype).name), self.cuda and 0 not in shape
        return self.torch.empty(shape, dtype=kind, pin_memory=pinned)

    def settle(self) -> None:
        """Wait until all transfers are complete."""
        if self.cuda:
            self.torch.cuda.synchronize(self.place)

    def send(self, array: np.ndarray, to: Tensor | None = None) -> Tensor:
        """A copy of an array on the device, or its rows ``to`` there, without waiting."""
        staged = self.buffer(array.shape, array.dtype)
        staged.numpy()[...] = array
        return self.sent(staged, to)

    def sent(self, staged: Tensor, to: Tensor | None = None) -> Tensor:
        """The same of a :meth:`buffer`, which is not written to any more."""
        if to is not None:
            return to.copy_(staged, non_blocking=True)
        return staged.to(self.place, non_blocking=True)

    def fetch(self, tensor: Tensor) -> Callable[[], np.ndarray]:
        """A function that waits for a tensor, and returns it as an array."""
        if not self.cuda:
            return lambda: np.asarray(tensor.numpy())
        host = self.buffer(tuple(tensor.shape), str(tensor.dtype).rpartition(".")[2])
        host.copy_(tensor, non_blocking=True)
        done = self.torch.cuda.Event()
        done.record(self.torch.cuda.current_stream(self.place))

        def wait() -> np.ndarray:
            done.synchronize()
            return np.asarray(host.numpy())

        return wait

    def beside(self, work: Callable[[], T]) -> tuple[T, Any]:
        """The result of ``work``, done in another thread while the device computes; and its end."""
        if not self.cuda:
            return work(), None
        with self.here(), self.torch.cuda.stream(self.side):
            found = work()
            done = self.torch.cuda.Event()
            done.record(self.side)
        return found, done

    def after(self, done: Any, tensors: Iterable[Tensor]) -> None:
        """What is computed from now on waits for that end, and uses these tensors of it."""
        if done is not None:
            self.main.wait_event(done)
            for tensor in tensors:  # whose memory is not given away before it is read
                tensor.record_stream(self.main)


@cache
def _stream_beside(name: str) -> Any:
    """One for each device: memory that is free again stays with the stream that had it.

    Its small kernels do not wait until all blocks of a large one are done.
    """
    return import_torch(name).cuda.Stream(torch_device(name), priority=-1)
