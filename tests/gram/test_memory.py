import numpy as np
import pytest

from mercer import Gaussian, Plan
from mercer.exceptions import MemoryPlanError
from mercer.gram import memory


def test_too_large_matrices_are_refused_before_they_are_made(rng, monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 1e6)
    monkeypatch.setattr(memory, "_UNCHECKED", 0)
    X = rng.standard_normal((1000, 2))
    for plan in (Plan(storage="dense"), Plan(storage="tiled")):
        with pytest.raises(
            MemoryPlanError, match=r"1000 x 1000 kernel matrix needs 8 MB, but 1 MB"
        ):
            Gaussian().gram(X, plan).to_dense()
    assert np.isfinite(Gaussian().gram(X, Plan(storage="tiled")) @ np.ones(1000)).all()


@pytest.mark.parametrize(
    ("nbytes", "words"), [(12, "12 B"), (8e8, "800 MB"), (1.5e9, "1.5 GB"), (2e13, "20 TB")]
)
def test_in_words(nbytes, words):
    assert memory.memory_words(nbytes) == words
