"""Inner products of signatures of all pairs of paths, on a device.

The recursion is that of ``signature_loops.py``. A program compares one path with a lane of others,
in strips of columns: A(i - 1, j) and the sums along columns are in registers, and the sums along
rows go from one strip to the next. All numbers are in double precision, since terms may cancel.
Behind the ends of paths, increments are zero, which adds nothing.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from .on_device import LANES, AllPairs, padded, strips
from .ragged import Ragged

LARGEST = 4  # order, beyond which there are too many numbers for registers
_STRIPS = {1: 8, 2: 8, 3: 8}  # columns of a strip, by the channels; 4 for more


class DeviceSignatures(AllPairs):
    """<Phi(x), Phi(y)> of paths, given by their increments.

    Parameters
    ----------
    order : int
        How often one increment may be used in a row, at most 4.
    device : str
        The name of a device that runs kernels of Triton.
    """

    def __init__(self, order: int, device: str) -> None:
        super().__init__(device)
        self.order = order

    def _sorted(self, X: Ragged, Y: Ragged, symmetric: bool) -> Any:
        from ...engine.threads import check_cancelled
        from ...gram.device.torch_ import import_torch, put
        from ...gram.device.triton_ import launch

        torch, n, m, kept = import_torch(self.device), len(X), len(Y), self.order + 1
        strip = _STRIPS.get(X.channels, 4)
        longest = max(1, int(X.size.max()))
        width = max(1, -(-int(Y.size.max()) // strip)) * strip
        left = put(padded(X, 0.0, longest), self.device)
        right = put(padded(Y, 0.0, width).transpose(1, 2, 0), self.device)
        size = put(X.size, self.device)
        out = torch.zeros((n, m), dtype=torch.float64, device=left.device)
        blocks, rows = strips(n, m, kept * longest)
        edge = out.new_empty(rows * blocks * LANES * kept * longest)
        for start in range(0, n, rows):
            check_cancelled()
            launch(
                written(X.channels, self.order), (min(rows, n - start), blocks),
                left, right, size, edge, out, start, m, longest, width, int(symmetric), L=LANES,
                num_warps=LANES // 32,
            )  # fmt: skip
        return out


@cache
def written(channels: int, order: int) -> str:
    """The source, for paths with this many channels."""
    cells = range(_STRIPS.get(channels, 4))
    start = [f"a{b} = tl.zeros((L,), tl.float64)" for b in cells]
    start += [f"s{b}_{q} = a0" for b in cells for q in range(1, order)]
    row = _crossing("load", order)
    row += [f"x{c} = tl.load(x + (row.to(tl.int64) * Tx + i) * {channels} + {c})"
            for c in range(channels)]  # fmt: skip
    row += ["before = corner", "corner = edge_0"]
    for b in cells:
        row += _cell(b, channels, order)
    row += [f"edge_0 = a{cells[-1]}", *_crossing("store", order)]
    lines = [
        "k = tl.program_id(1) * L + tl.arange(0, L)",
        "m = tl.load(x_size + row)",
        "own = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)",
        f"own = own.to(tl.int64) * (Tx * {order + 1}) * L + tl.arange(0, L)",
        "value = tl.zeros((L,), tl.float64)",
        f"for j in range(0, Ty, {len(cells)}):",
        *("    " + line for line in start),
        "    corner = tl.zeros((L,), tl.float64)",
        "    known = tl.where(k >= 0, tl.where(j == 0, 0, m), 0)",
        "    for i in range(0, m):",
        *("        " + line for line in row),
        f"    value = a{cells[-1]}",
        "tl.store(out + row.to(tl.int64) * ny + k, 1.0 + value, mask=k < ny)",
    ]
    return "\n".join(
        [
            "def fused(x, y, x_size, edge, out, start, ny, Tx, Ty, symmetric, L: tl.constexpr):",
            "    row = start + tl.program_id(0)",
            "    if (symmetric == 0) | ((tl.program_id(1) + 1) * L > row):",
            *("        " + line for line in lines),
            "",
        ]
    )


def _crossing(how: str, order: int) -> list[str]:
    """What goes from one strip to the next: A, the sum of all R in the row, and of R_r for each r.

    Named ``edge_0``, ``total`` and ``t1``, ``t2``, ...
    """
    names = ["edge_0", "total", *(f"t{r}" for r in range(1, order))]
    places = [f"edge + own + (i * {order + 1} + {e}) * L" for e in range(order + 1)]
    if how == "store":
        return [f"tl.store({at}, {name})" for name, at in zip(names, places, strict=True)]
    return [
        f"{name} = tl.load({at}, mask=i < known, other=0.0)"
        for name, at in zip(names, places, strict=True)
    ]


def _cell(b: int, channels: int, order: int) -> list[str]:
    """R_rq of row i and column j + b, and the sums they are added to."""
    lines = []
    for c in range(channels):
        point = f"tl.load(y + ((j + {b}) * {channels} + {c}) * ny + k, mask=k < ny, other=0.0)"
        lines += [f"d = {'d + ' if c else ''}x{c} * {point}"]
    steps = range(1, order + 1)
    lines += ["r1_1 = d * (1.0 + before)"]
    for r in range(2, order + 1):
        lines += [f"r{r}_1 = d * t{r - 1} * {1 / r!r}", f"r1_{r} = d * s{b}_{r - 1} * {1 / r!r}"]
    for r in range(2, order + 1):
        for q in range(2, order + 1):
            lines += [f"r{r}_{q} = d * r{r - 1}_{q - 1} * {1 / (r * q)!r}"]
    for r in steps:
        lines += [f"h = {' + '.join(f'r{r}_{q}' for q in steps)}", "total += h"]
        lines += [f"t{r} += h"] if r < order else []
    for q in range(1, order):
        lines += [f"s{b}_{q} += {' + '.join(f'r{r}_{q}' for r in steps)}"]
    return [*lines, f"before = a{b}", f"a{b} += total"]
