"""Devices of PyTorch by name: which there are, what fits on them, how arrays get there and back."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numpy as np

from ...exceptions import DeviceError

HOST = "cpu"  # no device of torch: the engine of this library
_NAMES = re.compile(r"cuda(:\d+)?|torch-cpu")
_ENTRIES = 2**26  # of a tile, where memory allows it
_SHARE = 0.2  # of the free memory of a device that a tile may take: it is used with copies beside
_LEAST = 2**14  # entries of a tile that is not made smaller

Result = TypeVar("Result")


def is_device(name: Any) -> str | None:
    """None for the name of a device; what a name should be otherwise."""
    known = isinstance(name, str) and (name == HOST or _NAMES.fullmatch(name))
    return None if known else 'one of "cpu", "cuda", "cuda:1", ... or "torch-cpu"'


@cache
def torch_device(name: str) -> Any:
    """The device of torch with this name; an error with the remedy if there is none."""
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
    device = torch_device(name)
    if device.type != "cuda":
        return _ENTRIES
    free = import_torch(name).cuda.mem_get_info(device)[0]
    return int(max(min(_ENTRIES, _SHARE * free / itemsize), _LEAST))


def put(array: Any, name: str, dtype: Any = None) -> Any:
    """An array as a tensor on the device, in a precision."""
    array = np.ascontiguousarray(array, dtype=dtype)
    if not array.flags.writeable:  # of which torch would warn
        array = array.copy()
    return import_torch(name).from_numpy(array).to(torch_device(name))


def get(tensor: Any, dtype: Any = None) -> np.ndarray:
    """A tensor as an array."""
    array: np.ndarray = tensor.cpu().numpy()
    return array if dtype is None else array.astype(dtype, copy=False)


def within_memory(work: Callable[[int], Result], name: str, itemsize: int) -> Result:
    """work(size) with tiles of so many entries; of half as many where the device has no room."""
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
