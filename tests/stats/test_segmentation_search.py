"""The search on any Gram operator: items of unequal sizes, and values that are no numbers."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from mercer.exceptions import DomainError
from mercer.gram.base import Gram
from mercer.stats.segmentation_search import best_segmentations


class Stored(Gram):
    def __init__(self, K):
        self.K, self.shape, self.dtype = K, K.shape, K.dtype

    def block(self, rows, cols):
        return self.K[rows, cols]


def test_items_of_unequal_sizes(rng):
    """Bins of samples: costs are those of the samples in them."""
    phi = rng.normal(size=(24, 2))
    edges = np.array([0, 1, 4, 6, 11, 15, 16, 24])
    sums = np.add.reduceat(phi, edges[:-1])
    trace = np.add.reduceat((phi**2).sum(axis=1), edges[:-1])
    found = best_segmentations(Stored(sums @ sums.T), trace, np.diff(edges), 7, 1)
    for segments in range(1, 8):
        cuts = [(0, *c, 24) for c in combinations(edges[1:-1], segments - 1)]
        costs = [
            sum(np.var(phi[a:b], axis=0).sum() * (b - a) for a, b in pairwise(c)) for c in cuts
        ]
        assert found.costs[segments - 1] == pytest.approx(min(costs))
        assert tuple(edges[found.changes(segments)]) == cuts[int(np.argmin(costs))][1:-1]


@pytest.mark.parametrize("at", [(290, 1), (1290, 3), (1290, 1200), (1200, 700)])
def test_values_that_are_no_numbers(at):
    K = np.eye(1300)
    K[at] = K[at[::-1]] = np.nan
    with pytest.raises(DomainError, match="not finite"):
        best_segmentations(Stored(K), np.ones(1300), np.ones(1300), 3, 2)
