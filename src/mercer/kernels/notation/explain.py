"""A kernel in words: its formula, why it is a kernel, its properties, and what they imply."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill

from ..algebra.constant import Constant, number
from ..algebra.sums import Binary
from ..base import Kernel
from ..calculus.properties import Fact, Properties

WIDTH = 100
_LEFT = 32  # the widest that the left column of a table may be

_NAMES = {
    "bounded": "bounded",
    "continuous": "continuous",
    "smooth": "smooth",
    "analytic": "analytic",
    "stationary": "stationary",
    "strictly_pd": "strictly pos. def.",
    "universal": "universal",
    "characteristic": "characteristic",
    "integrally_pd": "integrally pos. def.",
    "c0_universal": "c0-universal",
    "separable": "separable space",
    "finite_dim": "finite dimension",
    "positive_diag": "k(x, x) > 0",
}


def explain(kernel: Kernel) -> str:
    """Why this is a kernel, its properties, and what they imply for functions in H_k.

    Parameters
    ----------
    kernel : Kernel
        Any kernel expression; parameters that depend on data need not be resolved.

    Returns
    -------
    str
        Text for a terminal of 100 columns.

    Examples
    --------
    >>> from mercer import Linear
    >>> print((Linear() ** 2).explain())
    k = Linear() ** 2
    on vectors in R^d
    <BLANKLINE>
    is a kernel because
      Linear() ** 2  an integer power is a repeated product of kernels
        Linear()     <x, y> is an inner product
    <BLANKLINE>
    properties
      bounded               no     k(x, x)^p is bounded exactly if k(x, x) is
    ...
    """
    p = kernel.properties
    parts = [
        _wrap("k = ", repr(kernel)) + "\n" + _wrap("on ", str(p.domain)),
        f"{_verdict(p)}\n{_table(list(_derivation(kernel)))}",
        f"properties\n{_table(list(_answers(p)))}",
    ]
    if p.psd:
        sentences = "\n".join(_wrap("  * ", s) for s in _consequences(p))
        parts.append(f"what follows for every f in H_k\n{sentences}")
    return "\n\n".join(parts)


def _verdict(p: Properties) -> str:
    if p.psd:
        return "is a kernel because"
    if p.psd.no:
        return _wrap("is not a kernel: ", p.psd.because)
    return _wrap("is not known to be a kernel: ", p.psd.because)


def _derivation(kernel: Kernel, depth: int = 0) -> Iterator[tuple[str, ...]]:
    """The expression tree: every sub-expression with the rule that makes it a kernel."""
    formula = repr(kernel)
    if isinstance(kernel, Constant) and depth:
        formula = number(kernel, "")
    if not depth and len(formula) > _LEFT:
        formula = "k"
    yield "  " * depth + formula, kernel.because
    for part in _operands(kernel):
        yield from _derivation(part, depth + 1)


def _operands(kernel: Kernel) -> list[Kernel]:
    """The kernels inside; a + b + c has three of them, not (a + b) and c."""
    inner = [value for _, value in kernel._items() if isinstance(value, Kernel)]
    if isinstance(kernel, Binary) and type(inner[0]) is type(kernel):
        return [*_operands(inner[0]), *inner[1:]]
    return inner


def _answers(p: Properties) -> Iterator[tuple[str, ...]]:
    for name, shown in _NAMES.items():
        answer = str(fact := getattr(p, name))
        yield shown, answer, "" if answer == "unknown" else fact.because


# ---- what the properties imply ------------------------------------------------------------
def _consequences(p: Properties) -> Iterator[str]:
    yield "|f(x)| <= ||f|| sqrt(k(x, x)) at every x (reproducing property and Cauchy-Schwarz)."
    if p.bounded:
        yield "f is bounded: |f| <= ||f|| sup sqrt(k(x, x)) everywhere."
    elif p.bounded.no:
        yield "Some f are unbounded: the bound above grows with k(x, x)."
    yield (
        "|f(x) - f(y)| <= ||f|| d(x, y) in the kernel metric d(x, y)^2 = k(x, x) + k(y, y) - "
        "2 k(x, y): ||f|| bounds the Lipschitz constant of f."
    )
    if (regularity := _regularity(p)) is not None:
        yield regularity
    if p.stationary and p.domain.euclidean:
        yield "A shifted f is again in H_k, with the same norm: no point is special."
    yield _dimension(p)
    yield from _approximation(p)


def _regularity(p: Properties) -> str | None:
    if p.analytic:
        return "f is analytic: near every point it equals its Taylor series."
    m = p.smooth.at_least
    if m == float("inf"):
        return "f is infinitely differentiable."
    if m >= 1:
        times = {1: "once", 2: "twice"}.get(int(m), f"{m:g} times")
        return f"f is {times} continuously differentiable."
    return "f is continuous." if p.continuous and not p.domain.discrete else None


def _dimension(p: Properties) -> str:
    if p.finite_dim:
        return (
            "f is determined by finitely many coefficients: there are finitely many features, so "
            "Gram matrices of many samples have low rank and a linear solver applies."
        )
    if p.finite_dim.no:
        return (
            "No finite list of features spans H_k: f is found through the Gram matrix (representer "
            "theorem) or through approximate features."
        )
    return "It is not known whether finitely many features span H_k."


def _approximation(p: Properties) -> Iterator[str]:
    """What the space can represent, and which differences between distributions it sees."""
    points = {
        "columns": f"rows that differ in {p.domain}",
        "circle": f"distinct points of {p.domain}",
    }.get(p.domain.kind, "distinct points")
    yield _said(
        p.strictly_pd,
        f"Gram matrices of {points} are invertible: some f interpolates any values there.",
        f"Gram matrices of {points} can be singular: not all values can be interpolated, and ridge "
        f"regression needs alpha > 0.",
        f"Gram matrices of {points} may be singular: ridge regression needs alpha > 0.",
    )
    yield _said(
        p.universal,
        "Any continuous function on a compact set is a uniform limit of such f: with enough data, "
        "every continuous target can be learned.",
        "Some continuous functions on compact sets cannot be learned, however much data there is.",
        "It is not known whether such f approximate every continuous function.",
    )
    yield _said(
        p.characteristic,
        "MMD(P, Q) = 0 only if P = Q: a two-sample test with this kernel can see every difference.",
        "MMD(P, Q) = 0 for some P != Q: a two-sample test with this kernel cannot see every "
        "difference.",
        "It is not known whether MMD(P, Q) = 0 only if P = Q: a two-sample test with this kernel "
        "may miss differences.",
    )


def _said(fact: Fact, if_yes: str, if_no: str, if_unknown: str) -> str:
    return {True: if_yes, False: if_no, None: if_unknown}[fact.value]


# ---- layout -------------------------------------------------------------------------------
def _wrap(start: str, text: str) -> str:
    hang = " " * min(len(start), 6)
    return fill(
        text,
        WIDTH,
        initial_indent=start,
        subsequent_indent=hang,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _table(rows: list[tuple[str, ...]]) -> str:
    """Aligned columns; the last one is wrapped, and a first one too long gets its own line."""
    columns = [list(column) for column in zip(*rows, strict=True)][:-1]
    widths = [
        max(len(cell) for cell in column if len(cell) <= _LEFT or column is not columns[0])
        for column in columns
    ]
    lines = []
    for row in rows:
        *cells, text = row
        start = "  " + "".join(f"{cell:<{w}}  " for cell, w in zip(cells, widths, strict=True))
        room = 2 + sum(w + 2 for w in widths)
        if len(cells[0]) > widths[0]:
            depth = len(cells[0]) - len(cells[0].lstrip())
            lines.append(_wrap("  " + " " * depth, cells[0].lstrip()))
            start = " " * room
        lines.append(
            fill(
                text,
                WIDTH,
                initial_indent=start,
                subsequent_indent=" " * room,
                break_on_hyphens=False,
            )
            if text
            else start.rstrip()
        )
    return "\n".join(lines)
