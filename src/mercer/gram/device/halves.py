"""Operands of products on tensor cores: coordinates and squared norms, split into short numbers."""

from __future__ import annotations

from typing import Any

HELD = 256  # numbers of an operand of rows that are held while columns pass by
_MORE = 1.1  # work of tensor cores that shared halves are worth: less has to be read


def pieces(width: int, unit: int, parts: int = 1) -> tuple[int, ...]:
    """Powers of two, at least 16, into which operands with this many parts of a width are cut."""
    unit = max(unit, 16)
    width = -(-max(width, 1) // unit) * unit
    if parts * width > HELD:
        return (32,) * -(-width // 32)
    return tuple(1 << b for b in reversed(range(9)) if width >> b & 1)


def padded(torch: Any, part: Any, width: int) -> Any:
    """With columns of zeros, up to a width."""
    return torch.nn.functional.pad(part, (0, width - part.shape[1])).contiguous()


def split(torch: Any, x: Any, kind: Any, parts: int) -> list[Any]:
    """Numbers as sums of shorter ones."""
    out = []
    for _ in range(parts):
        out.append(x.to(kind))
        x = x - out[-1].to(x.dtype)
    return out


def shared(d: int) -> bool:
    """Are h and l of this many coordinates read once, for all three products?"""
    return 3 * sum(pieces(d + 2, 16, 2)) <= _MORE * sum(pieces(3 * d + 4, 16))


def halves(torch: Any, X: Any, Y: Any, nx: Any, ny: Any, sign: float) -> tuple[Any, int]:
    """[h, h, l] and [h', l', h'] in half precision, with norms in two parts beside them.

    Or, if they are shared, [h, l] and [h', l'], in which norms are two more coordinates.
    """
    (xh, xl), (yh, yl) = (split(torch, Z, torch.half, 2) for Z in (-2 * sign * X, Y))
    norms = [split(torch, sign * n, torch.half, 2) for n in (nx, ny)]
    if not shared(X.shape[1]):
        left, right = torch.cat([xh, xh, xl], 1), torch.cat([yh, yl, yh], 1)
        return _beside(torch, left, right, *norms)
    width = sum(pieces(X.shape[1] + 2, 16, 2))
    both = []
    for parts, norm, first in (((xh, xl), norms[0], True), ((yh, yl), norms[1], False)):
        of = []
        for part, n, one in zip(parts, norm, (1.0, 0.0), strict=True):
            ones = torch.full_like(n, one)
            more = torch.stack([n, ones] if first else [ones, n], 1)
            of.append(padded(torch, torch.cat([part, more], 1), width))
        both.append(torch.cat(of, 1))
    return tuple(both), width


def singles(torch: Any, X: Any, Y: Any, nx: Any, ny: Any, sign: float) -> tuple[Any, int]:
    """In single precision; the hardware splits."""
    left, right = (-2 * sign * X).float(), Y.float()
    return _beside(
        torch, left, right, *(split(torch, sign * n, torch.float32, 1) for n in (nx, ny))
    )


def short(torch: Any, X: Any, Y: Any, nx: Any, ny: Any, sign: float) -> tuple[Any, int]:
    """Coordinates of 11 bits; norms have more, in three parts."""
    left, right = (-2 * sign * X).float(), Y.float()
    norms = ([h.float() for h in split(torch, sign * n, torch.bfloat16, 3)] for n in (nx, ny))
    return _beside(torch, left, right, *norms)


def _beside(torch: Any, left: Any, right: Any, nx: list[Any], ny: list[Any]) -> tuple[Any, int]:
    kind, k = left.dtype, len(nx)
    ones = [torch.ones((len(Z), k), dtype=kind, device=Z.device) for Z in (left, right)]
    left = torch.cat([left, torch.stack(nx, 1).to(kind), ones[0]], 1)
    right = torch.cat([right, ones[1], torch.stack(ny, 1).to(kind)], 1)
    return (left, right), left.shape[1]


def longer(torch: Any, array: Any, short: int, value: float) -> Any:
    """With this many more rows of a value."""
    return torch.nn.functional.pad(array, (0, 0) * (array.ndim - 1) + (0, short), value=value)
