"""What surrounds functions of Triton."""

import pytest

torch = pytest.importorskip("torch")
from mercer.exceptions import DeviceError  # noqa: E402
from mercer.gram.device import triton_  # noqa: E402
from mercer.gram.device.triton_ import TritonError, launch  # noqa: E402


class OutOfResources(Exception):
    """As Triton calls it."""


@pytest.fixture
def calls(monkeypatch):
    """Calls of a function that has room for two stages, or raises what it is given."""
    made = []

    class Kernel:
        def __getitem__(self, grid):
            def run(*arguments, num_stages=None, **options):
                if isinstance(arguments[0], Exception):
                    raise arguments[0]
                if num_stages and num_stages > 2:
                    raise OutOfResources("shared memory")
                made.append((grid, arguments, num_stages, options))

            return run

    monkeypatch.setattr(triton_, "compiled", lambda source, name: Kernel())
    return made


def test_fewer_tiles_on_their_way_where_there_is_no_room(calls):
    launch("", (5,), 1, 2, stages=4, BM=64)
    launch("", (5,), 1, 2, BM=64)
    assert calls == [((5,), (1, 2), 2, {"BM": 64}), ((5,), (1, 2), None, {"BM": 64})]


def test_other_errors_say_what_to_do(calls):
    with pytest.raises(DeviceError, match=r"ValueError: one\); update Triton"):
        launch("", (5,), ValueError("one\ntwo"), stages=2)
    with pytest.raises(TritonError, match="OutOfResources"):
        launch("", (5,), OutOfResources(), stages=1)
    with pytest.raises(torch.OutOfMemoryError):  # which smaller tiles help against
        launch("", (5,), torch.OutOfMemoryError("no room"), stages=1)
