import os
import sys

import numpy as np
import pytest

from mercer import Gaussian, KernelRidge, Plan
from mercer.exceptions import DeviceError
from mercer.gram.device.torch_ import is_device, torch_device

INTERPRETED = os.environ.get("TRITON_INTERPRET")  # before any test has run


def test_the_interpreter_of_other_tests_is_off_again():
    assert os.environ.get("TRITON_INTERPRET") == INTERPRETED


def test_names_of_devices():
    assert [is_device(name) for name in ("cpu", "cuda", "cuda:3", "torch-cpu")] == [None] * 4
    for name in ("gpu", "cuda:", "cuda:x", "CUDA", None, 0):
        with pytest.raises(ValueError, match=r'device.*"cuda:1"'):
            Plan(device=name).gram(Gaussian(), np.zeros((2, 1)))


def test_without_torch_the_remedy_is_named(monkeypatch):
    torch_device.cache_clear()
    monkeypatch.setitem(sys.modules, "torch", None)
    model = KernelRidge(kernel=Gaussian(), plan=Plan(device="cuda"))
    with pytest.raises(DeviceError, match=r'pip install "mercer\[gpu\]"'):
        model.fit(np.zeros((5, 1)), np.zeros(5))
