"""Devices of PyTorch by name: which there are, what fits on them, how arrays get there and back."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numpy as np

from ...engine.memory import free_memory
from ...exceptions import DeviceError

HOST = "cpu"  # no device of torch: the engine of this library
_NAMES = re.compile(r"cuda(:\d+)?|torch-cpu")
_ENTRIES = 2**26  # of a tile, where memory allows it
_SHARE = 0.2  # of the free memory of a device that a tile may take: it is used with copies beside
_LEAST = 2**14  # entries of a tile that is not made smaller
_SERVERS = {(6, 0), (7, 0), (8, 0), (9, 0), (10, 0)}  # versions of GPUs, by their makers

Result = TypeVar("Result")


def is_device(name: Any) -> str | None:
    """None for the name of a device, or of several; what a name should be otherwise."""
    known = isinstance(name, str) and (name == HOST or all(map(_NAMES.fullmatch, devices(name))))
    words = 'one of "cpu", "cuda", "cuda:1", ... or "torch-cpu", or several: "cuda:0,cuda:1"'
    return None if known else words


def devices(name: str) -> list[str]:
    """The names of several devices, which are written with commas between them."""
    return [each.strip() for each in name.split(",")]


@cache
def torch_device(name: str) -> Any:
    """The device of torch with this name, the first of several; an error with the remedy if none.

    All of them have to be there.
    """
    name, *others = devices(name)
    for other in others:
        torch_device(other)
    torch = import_torch(name)
    if name == "torch-cpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise DeviceError(
            f"device={name!r}, but PyTorch {torch.__version__} finds no GPU that it can use; check "
            f'the driver and that this build has CUDA, or leave device="cpu".'
        )
    device = torch.device(name)
    if device.index is not None and device.index >= torch.cuda.device_count():
        raise DeviceError(f"device={name!r}, but there are {torch.cuda.device_count()} GPUs.")
    return device


def import_torch(name: str) -> Any:
    """The package, or an error that says how to get it."""
    try:
        import torch
    except ImportError:
        raise DeviceError(
            f'device={name!r} needs PyTorch: pip install "mercer[gpu]", or leave device="cpu".'
        ) from None
    return torch


def entries(name: str, itemsize: int) -> int:
    """How many numbers a tile on the device may have."""
    if torch_device(name).type != "cuda":
        return _ENTRIES
    return int(max(min(_ENTRIES, _SHARE * free_on(name) / itemsize), _LEAST))


def free_on(name: str) -> float:
    """Bytes that are free on a device; what PyTorch holds there without using it is."""
    device = torch_device(name)
    if device.type != "cuda":
        return free_memory()
    cuda = import_torch(name).cuda
    unused = cuda.memory_reserved(device) - cuda.memory_allocated(device)
    return float(cuda.mem_get_info(device)[0] + unused)


def quick_in_double(name: str) -> bool:
    """Is double precision half as fast there as single precision, as on GPUs for servers?"""
    device = torch_device(name)
    if device.type != "cuda":
        return True
    return import_torch(name).cuda.get_device_capability(device) in _SERVERS


def put(array: Any, name: str, dtype: Any = None) -> Any:
    """An array, or :class:`Points`, as a tensor on the device, in a precision.

    Whichever of the two precisions takes less room is sent.
    """
    torch, device = import_torch(name), torch_device(name)
    tensor = getattr(array, "tensor", None)
    if tensor is None:
        less = dtype if dtype is not None and np.dtype(dtype).itemsize < array.itemsize else None
        array = np.ascontiguousarray(array, less)
        # torch would warn of a read-only array
        tensor = torch.from_numpy(array if array.flags.writeable else array.copy())
    kind = None if dtype is None else getattr(torch, np.dtype(dtype).name)
    return tensor.to(device).to(kind or tensor.dtype)


def get(tensor: Any, dtype: Any = None) -> np.ndarray:
    """A tensor as an array."""
    array: np.ndarray = tensor.cpu().numpy()
    return array if dtype is None else array.astype(dtype, copy=False)


def within_memory(work: Callable[[int], Result], name: str, itemsize: int) -> Result:
    """work(size) with tiles of this many entries; of half as many where the device has no room."""
    torch, size = import_torch(name), entries(name, itemsize)
    while True:
        try:
            return work(size)
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
            if size <= _LEAST:
                raise DeviceError(
                    f"the memory of device={name!r} does not suffice, not even for small tiles; "
                    f"free some of it, take fewer landmarks, or use chunks of fewer rows."
                ) from None
            size //= 2
