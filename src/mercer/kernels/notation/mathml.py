r"""TeX as MathML: formulas that a browser sets without scripts and without a network.

It reads what docstrings are written in: letters, numbers, ``_`` and ``^``, fractions, roots, sums,
brackets of all sizes, words. A command that it does not know is shown by its name.
"""

from __future__ import annotations

import re
from html import escape

_LETTERS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eta": "η", "theta": "θ",
    "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "pi": "π", "rho": "ρ", "sigma": "σ",
    "tau": "τ", "phi": "φ", "varphi": "φ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ",
    "Sigma": "Σ", "Phi": "Φ", "Omega": "Ω", "ell": "ℓ", "infty": "∞", "emptyset": "∅",
    "nabla": "∇", "top": "⊤",
}  # fmt: skip
_SIGNS = {
    "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "in": "∈", "notin": "∉", "cap": "∩",
    "cup": "∪", "mid": "∣", "ldots": "…", "dots": "…", "otimes": "⊗", "cdot": "·", "times": "×",
    "to": "→", "propto": "∝", "approx": "≈", "pm": "±", "sim": "∼", "#": "#", "%": "%", "&": "&",
    "_": "_", "Delta": "Δ",
}  # fmt: skip
_FENCES = {"{": "{", "}": "}", "|": "‖", "langle": "⟨", "rangle": "⟩", "lbrace": "{", "rbrace": "}"}
_LARGE = {"sum": "∑", "prod": "∏", "int": "∫", "bigotimes": "⨂", "bigcup": "⋃"}
_FUNCTIONS = {"exp", "log", "sin", "cos", "tan", "tanh", "min", "max", "det", "sup", "inf", "tr"}
_SPACES = {",": "0.17em", ":": "0.22em", ";": "0.28em", " ": "0.3em", "quad": "1em", "qquad": "2em"}
_SIZES = {"big", "Big", "bigg", "bigl", "bigr", "Bigl", "Bigr", "left", "right", "displaystyle"}
_WORDS = "text|mathrm|operatorname|mathbf|mathbb|mathbin|mathcal"
_TOKEN = re.compile(
    rf"\\(?:{_WORDS})\s*\{{[^{{}}]*\}}|\\(?:[a-zA-Z]+|.)|\d+(?:\.\d+)?|\S", re.DOTALL
)  # words keep their spaces, and are one token
_DOUBLE = {"R": "ℝ", "E": "𝔼", "N": "ℕ", "Z": "ℤ", "P": "ℙ"}
_TEXT = {"mi", "mn", "mo", "mtext"}
_DEEP = 60  # brackets within brackets


def mathml(tex: str, *, block: bool = False) -> str:
    r"""A formula as an element ``math``.

    Examples
    --------
    >>> from mercer.kernels.notation.mathml import mathml
    >>> print(mathml(r"x^2"))
    <math><msup><mi>x</mi><mn>2</mn></msup></math>
    """
    return tag("math", _Reader(tex).row(), display="block" if block else None)


def tag(element: str, /, *children: str, **attributes: str | None) -> str:
    """An element; signs and words in it are text, everything else is elements."""
    words = "".join(f' {key}="{escape(v)}"' for key, v in attributes.items() if v is not None)
    inside = (escape(c) if element in _TEXT else c for c in children)
    return f"<{element}{words}>{''.join(inside)}</{element}>"


class _Reader:
    """Reads tokens from left to right."""

    def __init__(self, tex: str) -> None:
        self.tokens = _TOKEN.findall(tex)
        self.at, self.depth = 0, 0

    def row(self, end: str | None = None) -> str:
        """Everything up to a token, or to the end."""
        parts: list[str] = []
        while self.at < len(self.tokens):
            if end is not None and self.tokens[self.at] == end:
                self.at += 1
                break
            parts.append(self.scripted())
        return parts[0] if len(parts) == 1 else tag("mrow", *parts) if end else "".join(parts)

    def scripted(self) -> str:
        """An atom with what stands below and above."""
        large = self.tokens[self.at].lstrip("\\") in {*_LARGE, "max", "min", "sup", "inf"}
        base = self.atom()
        below = above = None
        primes = ""
        while self.at < len(self.tokens) and self.tokens[self.at] in ("_", "^", "'"):
            sign = self.next()
            if sign == "'":
                primes += "′"
            elif sign == "_":
                below = self.argument()
            else:
                above = self.argument()
        if primes:
            mark = tag("mo", primes)
            above = mark if above is None else tag("mrow", mark, above)
        names = ("munder", "mover", "munderover") if large else ("msub", "msup", "msubsup")
        if below is not None and above is not None:
            return tag(names[2], base, below, above)
        if below is not None:
            return tag(names[0], base, below)
        return base if above is None else tag(names[1], base, above)

    def next(self) -> str:
        token = self.tokens[self.at] if self.at < len(self.tokens) else ""
        self.at += 1
        return token

    def argument(self) -> str:
        """An atom; of a number without braces, its first digit."""
        token = self.tokens[self.at] if self.at < len(self.tokens) else ""
        if token[:1].isdigit() and len(token) > 1:
            self.tokens[self.at : self.at + 1] = [token[0], token[1:]]
        return self.atom()

    def atom(self) -> str:
        """One letter, number, sign, group or command with its arguments."""
        token = self.next()
        if token == "{":
            self.depth += 1
            if self.depth > _DEEP:
                raise ValueError("the formula is nested too deeply.")
            found = self.row("}")
            self.depth -= 1
            return found
        if token.startswith("\\"):
            return self.command(token[1:])
        if not token:
            return tag("mrow")
        if token[:1].isdigit():
            return tag("mn", token)
        if token.isalpha():
            return tag("mi", token)
        if token == "'":
            return tag("mo", "′")
        sign = {"-": "−", "*": "∗", "~": " "}.get(token, token)
        fence = token in "()[]|"
        return tag("mo", sign, stretchy="false" if fence else None)

    def command(self, name: str) -> str:
        if name in ("frac", "tfrac", "dfrac"):
            return tag("mfrac", self.argument(), self.argument())
        if name == "binom":
            parts = tag("mfrac", self.argument(), self.argument(), linethickness="0")
            return tag("mrow", tag("mo", "("), parts, tag("mo", ")"))
        if name == "sqrt":
            return tag("msqrt", self.argument())
        if name in ("hat", "bar", "tilde"):
            accent = {"hat": "^", "bar": "¯", "tilde": "~"}[name]
            return tag("mover", self.atom(), tag("mo", accent), accent="true")
        words = re.fullmatch(rf"({_WORDS})(?:\s*\{{(.*)\}})?", name, re.DOTALL)
        if words is not None:
            return self.words(words[1], words[2])
        if name in _SIZES:
            return self.sized()
        if name in _FENCES:
            return tag("mo", _FENCES[name], stretchy="false")
        if name in _LARGE:
            return tag("mo", _LARGE[name])
        if name in _SPACES:
            return tag("mspace", width=_SPACES[name])
        if name in _LETTERS:
            return tag("mi", _LETTERS[name])
        if name in _SIGNS:
            return tag("mo", _SIGNS[name])
        if name in _FUNCTIONS:
            return tag("mi", name)
        return tag("mtext", name)

    def words(self, name: str, found: str | None) -> str:
        """Words as they are, with their spaces."""
        if found is None:  # of one letter, without braces
            return tag("mi", _DOUBLE.get(self.next(), "")) if name == "mathbb" else self.atom()
        if name in ("mathrm", "operatorname"):
            return tag("mi", found, mathvariant="normal")
        return tag("mi", _DOUBLE[found]) if found in _DOUBLE else tag("mtext", found)

    def sized(self) -> str:
        """A bracket of a given size, or one that grows; ``.`` is none."""
        token = self.next()
        if token in (".", ""):
            return ""
        name = token[1:] if token.startswith("\\") else token
        return tag("mo", _FENCES.get(name, name), stretchy="true")
