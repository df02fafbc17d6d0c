"""What surrounds functions of Triton."""

import pytest

from mercer.gram.device.triton_ import run_with_room


class OutOfResources(Exception):
    """As Triton calls it."""


@pytest.mark.parametrize("room", [1, 2, 3])
def test_fewer_tiles_on_their_way_where_there_is_no_room(room):
    def run(*arguments, num_stages, **options):
        if num_stages > room:
            raise OutOfResources
        return num_stages, arguments, options

    assert run_with_room(run, 3, 1, 2, BM=64) == (room, (1, 2), {"BM": 64})


def test_other_errors_and_the_last_one_are_raised():
    def run(num_stages):
        raise OutOfResources if num_stages == 1 else ValueError

    with pytest.raises(ValueError):
        run_with_room(run, 2)
    with pytest.raises(OutOfResources):
        run_with_room(run, 1)
