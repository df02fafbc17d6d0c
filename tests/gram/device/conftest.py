"""Triton's interpreter, for the tests that ask for it and no others."""

import sys
from importlib.util import find_spec

import pytest

_PROBE = """
def fused(out, n):
    for at in range(0, tl.minimum(n, 2)):
        tl.store(out + at, 1.0)
"""


def _of_triton():
    """Its modules in Python; the compiled one is loaded once in a process."""
    names = [name for name in sys.modules if name.partition(".")[0] == "triton"]
    return [name for name in names if not name.startswith("triton._C")]


@pytest.fixture(scope="module")
def interpreter():
    """Fused kernels run in Python, on the processor; Triton is imported anew before and after."""
    torch = pytest.importorskip("torch")
    if find_spec("triton") is None:
        pytest.skip("Triton is not installed")
    from mercer.gram.device.triton_ import TritonError, compiled, launch

    with pytest.MonkeyPatch.context() as patch:
        for name in _of_triton():
            patch.delitem(sys.modules, name)
        patch.setenv("TRITON_INTERPRET", "1")  # which Triton reads when it is imported
        compiled.cache_clear()
        try:
            launch(_PROBE, (1,), torch.zeros(2), 5)
            yield
        except TritonError as error:
            pytest.skip(f"the interpreter does not run with this NumPy: {error.why}")
        finally:
            compiled.cache_clear()
            for name in _of_triton():
                del sys.modules[name]


@pytest.fixture(params=["fused", "plain"])
def route(request, monkeypatch):
    """How products in single precision are computed."""
    if request.param == "fused":
        request.getfixturevalue("interpreter")
    else:
        monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    return request.param
