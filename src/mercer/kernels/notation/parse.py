"""Kernels from text, without running it: for the command line, saved models and forms.

The text is parsed into a syntax tree, and only what a printed kernel consists of is understood:
names of kernels, numbers, strings, lists, + * / ** and a few methods. Nothing is evaluated.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from difflib import get_close_matches
from inspect import getattr_static, isabstract, signature
from math import inf
from numbers import Real
from typing import Any

from ...exceptions import NotAKernelError
from ...params import Params
from ..algebra.power import Power
from ..approximate.rules import FeatureRule
from ..base import Kernel

_LONGEST = 300_000  # characters: some thousand lengthscales
_DEEPEST = 100  # brackets within brackets
_MOST_TERMS = 200  # in one sum or product: the kernel nests as deeply
_METHODS = ("along", "approximate", "normalize", "center", "given", "on", "through")
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def parse(text: str) -> Kernel:
    """The kernel that a text such as ``"2 * Gaussian(0.5) + Linear()"`` describes.

    Reads back what a kernel without functions prints: ``parse(repr(k)) == k``. Nothing in the text
    is executed.

    Parameters
    ----------
    text : str
        An expression of kernels: constructors with numbers, strings, lists or kernels as
        arguments, ``+ * / **``, ``.normalize()``, ``.center()``, ``.given()``,
        ``.on(...)``, ``.through(...)`` and constructors such as ``Gaussian.from_gamma(0.5)``.

    Returns
    -------
    Kernel

    Raises
    ------
    ValueError
        If the text is not such an expression; the message names the part that is not understood.
    NotAKernelError
        If it is an expression, but not a kernel: a difference, a negative weight.

    Examples
    --------
    >>> from mercer import parse
    >>> parse("Gaussian(0.5).on('age') * Spectrum(3).on('sequence') + 1")
    Gaussian(lengthscale=0.5).on('age') * Spectrum().on('sequence') + 1
    >>> parse("Gausian()")
    Traceback (most recent call last):
        ...
    ValueError: 'Gausian' is not a kernel; did you mean Gaussian?
    """
    if not isinstance(text, str):
        raise ValueError(f"parse: text must be a string, got a {type(text).__name__}.")
    if len(text) > _LONGEST:
        raise ValueError(f"parse: text has {len(text)} characters, at most {_LONGEST} are read.")
    text = text.strip()
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", None) or str(error) or "nested too deeply"
        raise ValueError(f"parse: {_short(text)!r} is not an expression ({reason}).") from None
    value = _Reader(text).visit(tree.body)
    if not isinstance(value, Kernel):
        raise ValueError(f"{_short(text)!r} is not a kernel. Known kernels: {_listed()}.")
    return value


class _Reader(ast.NodeVisitor):
    """Values of the nodes a kernel expression may hold; every other node is rejected."""

    def __init__(self, text: str) -> None:
        self.text, self.depth = text, 0

    def visit(self, node: ast.AST) -> Any:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ValueError(f"parse: more than {_DEEPEST} levels of nesting are not read.")
        value = super().visit(node)
        self.depth -= 1
        return value

    def generic_visit(self, node: ast.AST) -> Any:
        raise self.refuse(
            node, "only kernels, numbers, strings, lists and + * / ** are allowed here"
        )

    def refuse(self, node: ast.AST, why: str) -> ValueError:
        piece = ast.get_source_segment(self.text, node) or self.text
        return ValueError(f"parse: {_short(piece)!r} cannot be parsed: {why}.")

    # ---- values --------------------------------------------------------------------------
    def visit_Constant(self, node: ast.Constant) -> Any:
        if not isinstance(node.value, int | float | str | None):
            raise self.refuse(node, "only numbers, strings, True, False and None are values")
        return node.value

    def visit_List(self, node: ast.List) -> list:
        return [self.visit(item) for item in node.elts]

    def visit_Tuple(self, node: ast.Tuple) -> tuple:
        return tuple(self.visit(item) for item in node.elts)

    def visit_Dict(self, node: ast.Dict) -> dict:
        if None in node.keys:
            raise self.refuse(node, "** in a dict is not read")
        pairs = zip(node.keys, node.values, strict=True)
        return {self.visit(key): self.visit(value) for key, value in pairs if key is not None}

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id == "inf":
            return inf
        raise self.refuse(node, f"write {_class(node.id).__name__}(...) with its brackets")

    # ---- expressions ---------------------------------------------------------------------
    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        value = self.visit(node.operand)
        negative = isinstance(node.op, ast.USub)
        if not (negative or isinstance(node.op, ast.UAdd)) or not _is_operand(value):
            return self.generic_visit(node)
        return -value if negative else value

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        """A chain ``a + b + ...`` is read in a loop, so that its length costs no depth."""
        chain = [node]
        while isinstance(chain[-1].left, ast.BinOp):
            chain.append(chain[-1].left)
        if len(chain) > _MOST_TERMS:
            raise ValueError(f"parse: more than {_MOST_TERMS} terms in a row are not read.")
        value = self.visit(chain[-1].left)
        for step in reversed(chain):
            value = self.combined(step, value, self.visit(step.right))
        return value

    def combined(self, node: ast.BinOp, left: Any, right: Any) -> Any:
        kind = type(node.op)
        if kind not in _OPERATORS or not (_is_operand(left) and _is_operand(right)):
            return self.generic_visit(node)
        if kind is ast.Pow and isinstance(left, Real):
            raise self.refuse(node, "powers of plain numbers are not computed; write the number")
        if kind is ast.Pow and isinstance(right, int) and right == 1:
            return Power(left, 1)  # Python's k ** 1 is k, but this is what prints so
        try:
            return _OPERATORS[kind](left, right)
        except NotAKernelError:
            raise
        except (ArithmeticError, TypeError) as error:
            raise self.refuse(node, str(error)) from None

    # ---- calls ---------------------------------------------------------------------------
    def visit_Call(self, node: ast.Call) -> Any:
        function = self.callee(node.func)
        arguments = [self.visit(a) for a in node.args]
        if any(k.arg is None for k in node.keywords):
            raise self.refuse(node, "** arguments are not read")
        named = {str(k.arg): self.visit(k.value) for k in node.keywords}
        if len(named) < len(node.keywords):
            raise self.refuse(node, "a parameter is given twice")
        try:
            signature(function).bind(*arguments, **named)
        except TypeError as error:
            takes = ", ".join(signature(function).parameters) or "none"
            raise self.refuse(node, f"{error}; the parameters are: {takes}") from None
        try:
            return function(*arguments, **named)
        except NotAKernelError:
            raise
        except (ArithmeticError, TypeError) as error:
            raise self.refuse(node, str(error)) from None

    def callee(self, node: ast.expr) -> Callable[..., Any]:
        if isinstance(node, ast.Name):
            return _slice if node.id == "slice" else _class(node.id)
        if not isinstance(node, ast.Attribute):
            raise self.refuse(node, "only kernels and their methods can be called")
        if isinstance(node.value, ast.Name):
            owner = _class(node.value.id)
            built = isinstance(getattr_static(owner, node.attr, None), classmethod)
            if not (node.attr.startswith("from_") and built):
                raise self.refuse(node, f"{owner.__name__} has no such constructor")
            return getattr(owner, node.attr)
        kernel = self.visit(node.value)
        if not isinstance(kernel, Kernel) or node.attr not in _METHODS:
            listed = ", ".join(f".{m}" for m in _METHODS)
            raise self.refuse(node, f"the methods that can be used on kernels here: {listed}")
        return getattr(kernel, node.attr)


def _slice(*parts: int | None) -> slice:
    return slice(*parts)


def _is_operand(value: Any) -> bool:
    return isinstance(value, Kernel | Real) and not isinstance(value, bool)


def _class(name: str) -> type[Kernel]:
    """The class of a name: a kernel, ours or one that a program has defined, or a part of one."""
    found = _shipped(name) or Params.registry.get(name)
    if found is not None and (_usable(found) or _is_part(found)):
        return found  # type: ignore[return-value]
    close = get_close_matches(name, _known(), n=1, cutoff=0.6)
    hint = f"; did you mean {close[0]}?" if close else f". Known kernels: {_listed()}."
    raise ValueError(f"{_short(name)!r} is not a kernel{hint}")


def _shipped(name: str) -> Any:
    import mercer

    return getattr(mercer, name) if name in mercer.__all__ else None


def _usable(found: Any, among: Any = Kernel | FeatureRule) -> bool:
    """A concrete kernel, or rule for features, and not a base class that shares code of ours."""
    import mercer

    concrete = isinstance(found, type) and issubclass(found, among) and not isabstract(found)
    internal = found.__module__.startswith("mercer.") and found.__name__ not in mercer.__all__
    return concrete and not internal


def _is_part(found: Any) -> bool:
    """What kernels of ours are made of without being one: a metric, a model."""
    import mercer

    concrete = isinstance(found, type) and issubclass(found, Params) and not isabstract(found)
    public = found.__name__ in mercer.__all__ and found.__module__.startswith("mercer.kernels.")
    return concrete and public


def _known() -> list[str]:
    import mercer

    ours = [
        name for name in mercer.__all__ if name[0].isupper() and _usable(_shipped(name), Kernel)
    ]
    theirs = [name for name, found in Params.registry.items() if _usable(found, Kernel)]
    return sorted({*ours, *theirs})


def _listed() -> str:
    return ", ".join(_known())


def _short(piece: str) -> str:
    return piece if len(piece) <= 60 else f"{piece[:57]}..."
