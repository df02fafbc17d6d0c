"""Bags as stacked points: pieces, groups, empty bags; and sums over segments of a block."""

import numpy as np
import pytest

from mercer import Gaussian, Linear
from mercer.kernels.bags.loops import add_segments
from mercer.kernels.bags.stacked import groups, pieces, stack
from mercer.kernels.bags.sums import SetSum


@pytest.mark.parametrize("sizes", [(3, 0, 2), (0, 700, 0, 0, 501, 1), (0, 0), (500, 500)])
def test_pieces_and_groups_cover_all_points_once(sizes):
    ends = np.concatenate([[0], np.cumsum(sizes)])
    counts = np.zeros(len(sizes), int)
    for piece in pieces(ends):
        assert piece.edges[-1] == piece.points.stop - piece.points.start
        counts[piece.bags] += np.diff(piece.edges)
    assert counts.tolist() == list(sizes)
    covered = [i for part in groups(np.array(sizes)) for i in range(part.start, part.stop)]
    assert covered == list(range(len(sizes)))


def test_sums_over_segments(rng):
    block = rng.normal(size=(7, 5)).astype(np.float32)
    rows, cols = np.array([0, 3, 3, 7]), np.array([0, 1, 5])
    out = np.ones((3, 2))
    add_segments(block, rows, cols, out)
    wanted = [
        [block[a:b, c:d].sum() for c, d in ((0, 1), (1, 5))] for a, b in ((0, 3), (3, 3), (3, 7))
    ]
    assert out - 1 == pytest.approx(np.array(wanted), abs=1e-5)


@pytest.mark.parametrize("kernel", [Gaussian(), Linear()], ids=repr)
def test_empty_bags_are_zero(kernel, rng):
    parts = [rng.normal(size=(2, 3)), np.zeros((0, 3)), rng.normal(size=(4, 3))]
    X, k = stack(parts, kernel.prepare), SetSum(kernel)
    K = k.pairwise(X, X)
    assert K[0, 2] == pytest.approx(kernel(parts[0], parts[2]).sum())
    assert not K[1].any()
    assert k.diag(X) == pytest.approx(np.diagonal(K))
    nothing = stack([[], []], kernel.prepare)
    assert not k.pairwise(nothing, X).any()
    assert not k.pairwise(X[1:2], X).any()
    assert not k.diag(nothing).any()
    assert k.features(nothing).nnz == 0
    assert k.grad_theta(nothing, X, np.ones((2, 3))) == pytest.approx(np.zeros(len(k.theta)))
