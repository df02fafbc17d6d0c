"""Two-variable steps of many problems at once, each by a program of Triton on a device.

The same steps as those of :mod:`.smo_loops`: up in the variable whose slope upwards is the lowest,
down in the one that would let the objective fall most if there were no bounds. A program holds the
gradient and the variables of its working set in registers, and reads two rows of its block of K
per step.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np

from ..gram.device.torch_ import get
from ..gram.device.triton_ import interpreted, launch
from .smo_loops import take_steps

Tensor = Any

_TINY = {"float32": 2.0**-23, "float64": 1e-12}  # curvatures are not below it
_END = 1e30  # the slope of a variable that a bound stops
_ROWS, _COLUMNS = 16, 128  # of a tile of kernel rows that are added up

_STEPS = f'''
def lowest(slope, at, room, other, slope_, at_, room_, other_):
    """The lowest slope, where it is, and the room there; and the highest of others."""
    first = (slope < slope_) | ((slope == slope_) & (at < at_))
    return (
        tl.where(first, slope, slope_), tl.where(first, at, at_), tl.where(first, room, room_),
        tl.maximum(other, other_),
    )


def largest(gain, at, room, excess, gain_, at_, room_, excess_):
    """The largest gain, where it is, and the room and the excess there."""
    first = (gain > gain_) | ((gain == gain_) & (at < at_))
    return (
        tl.where(first, gain, gain_), tl.where(first, at, at_), tl.where(first, room, room_),
        tl.where(first, excess, excess_),
    )


def fused(block, slope, value, below, above, group, goals, limits, taken, epsilon, tiny,
          W: tl.constexpr, GROUPS: tl.constexpr):
    p = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, W)
    own = block + p * W * W
    g, b = tl.load(slope + p * W + k), tl.load(value + p * W + k)
    lower, upper = tl.load(below + p * W + k), tl.load(above + p * W + k)
    part = tl.load(group + p * W + k)
    diagonal = tl.load(own + k * (W + 1))
    goal, limit = tl.load(goals + p), tl.load(limits + p)
    steps, going = 0, 1
    while going > 0:
        rises = g + tl.where(b >= 0, epsilon, -epsilon).to(g.dtype)
        falls = g + tl.where(b > 0, epsilon, -epsilon).to(g.dtype)
        rises = tl.where(b < upper, rises, {_END})
        falls = tl.where(b > lower, falls, -{_END})
        up = tl.where((epsilon > 0) & (b < 0), 0.0, upper)
        down = tl.where((epsilon > 0) & (b > 0), 0.0, lower)
        if GROUPS == 2:
            low, i, room, high = tl.reduce(
                (tl.where(part == 0, rises, {_END}), k, up - b,
                 tl.where(part == 0, falls, -{_END})),
                0, lowest)
            low_, i_, room_, high_ = tl.reduce(
                (tl.where(part == 1, rises, {_END}), k, up - b,
                 tl.where(part == 1, falls, -{_END})),
                0, lowest)
            second = high_ - low_ > high - low
            low, high = tl.where(second, low_, low), tl.where(second, high_, high)
            i, room = tl.where(second, i_, i), tl.where(second, room_, room)
            falls = tl.where(part == tl.where(second, 1, 0), falls, -{_END})
        else:
            low, i, room, high = tl.reduce((rises, k, up - b, falls), 0, lowest)
        going = ((high - low >= goal) & (steps < limit)).to(tl.int32)
        row = tl.load(own + i * W + k)
        excess = tl.maximum(falls - low, 0.0)
        curvature = tl.maximum(tl.load(own + i * (W + 1)) + diagonal - 2.0 * row, tiny)
        gain, j, room_, excess = tl.reduce(
            (excess * excess / curvature, k, b - down, excess), 0, largest)
        other = tl.load(own + j * W + k)
        curve = tl.load(own + i * (W + 1)) + tl.load(own + j * (W + 1))
        curve = tl.maximum(curve - 2.0 * tl.load(own + i * W + j), tiny).to(tl.float64)
        step = tl.minimum(excess.to(tl.float64) / curve, tl.minimum(room, room_))
        step = tl.where(going > 0, step, 0.0)
        b = tl.where(k == i, tl.where(step == room, up, b + step), b)
        b = tl.where(k == j, tl.where(step == room_, down, b - step), b)
        g += step.to(g.dtype) * (row - other).to(g.dtype)
        steps += going
    tl.store(value + p * W + k, b)
    tl.store(taken + p, steps)
'''

_ADDED = """
def fused(K, rows, weights, count, columns, g, n, M, W, BR: tl.constexpr, BN: tl.constexpr):
    p = tl.program_id(0).to(tl.int64)
    c = tl.program_id(1) * BN + tl.arange(0, BN)
    at = tl.load(columns + p * M + c, mask=c < M, other=0)
    total = tl.zeros((BR, BN), tl.float64)
    most = tl.load(count + p)
    for start in range(0, most, BR):
        r = start + tl.arange(0, BR)
        row = tl.load(rows + p * W + r, mask=r < most, other=0)
        weight = tl.load(weights + p * W + r, mask=r < most, other=0.0)
        tile = tl.load(K + row[:, None] * n + at[None, :])
        total += tile.to(tl.float64) * weight[:, None]
    inside = p * M + c
    before = tl.load(g + inside, mask=c < M, other=0.0)
    tl.store(g + inside, before + tl.sum(total, axis=0), mask=c < M)
"""


def on_triton(place: Any) -> bool:
    """Are there kernels of Triton for tensors at this place?"""
    there = place.type == "cuda" or interpreted()
    return there and importlib.util.find_spec("triton") is not None


def take_all_steps(
    block: Tensor,
    slope: Tensor,
    beta: Tensor,
    lower: Tensor,
    upper: Tensor,
    group: Tensor,
    groups: int,
    epsilon: float,
    goal: Tensor,
    limit: Tensor,
) -> Tensor:
    """Steps in each of several working sets until its violation is below a goal.

    ``block`` holds the matrix of each, (p, W, W), and all else its vectors, (p, W), with W a power
    of two. ``beta`` is changed. Returns the number of steps of each.

    Without Triton, they are taken on the processor.
    """
    p, W = beta.shape
    taken = limit.new_zeros(p)
    if on_triton(block.device):
        tiny = _TINY["float32" if block.element_size() == 4 else "float64"]
        launch(
            _STEPS, (p,),
            block, slope, beta, lower, upper, group, goal, limit, taken, epsilon, tiny,
            W=W, GROUPS=groups, num_warps=max(1, min(16, W // 64)),
        )  # fmt: skip
        return taken
    every = np.arange(W)
    for t in range(p):
        K, b = get(block[t]), get(beta[t])
        steps = take_steps(
            K, every, np.diagonal(K).copy(), get(slope[t]).astype(np.float64), b, get(lower[t]),
            get(upper[t]), epsilon, get(group[t]), groups, float(goal[t]), int(limit[t]),
        )  # fmt: skip
        beta[t] = beta.new_tensor(b)
        taken[t] = steps
    return taken


def add_rows_there(
    K: Tensor, rows: Tensor, weights: Tensor, count: Tensor, columns: Tensor, g: Tensor
) -> None:
    """g[p] += sum_r weights[p, r] K[rows[p, r], columns[p]], of the first ``count[p]`` rows."""
    (p, M), W = g.shape, rows.shape[1]
    if on_triton(K.device):
        launch(
            _ADDED, (p, -(-M // _COLUMNS)),
            K, rows, weights, count, columns, g, K.shape[1], M, W, BR=_ROWS, BN=_COLUMNS,
            num_warps=4,
        )  # fmt: skip
        return
    for t in range(p):
        some = int(count[t])
        part = K[rows[t, :some, None], columns[t]]
        g[t] += weights[t, :some] @ part.double()
