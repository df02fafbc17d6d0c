"""Functions of a metric in the source of a fused product: profiles, powers of two, roots.

Some powers of two are polynomials on the units for products: the unit for functions is what limits
the others.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log2, sqrt
from struct import pack
from typing import NamedTuple

from ...kernels.formula import Profile

LOG2E = log2(2.718281828459045)
_POWERS = (0.69314698, 0.24022242, 0.05550734, 0.00967151, 0.00132647)  # of 2^f, |f| <= 1/2: 1e-7

_RATES = {0.5: 1.0, 1.5: 1.0, 2.5: sqrt(3)}  # of exponentials of sqrt(t), by nu

Number = Callable[[float], str]  # a number, as an expression


def value(profile: Profile, t: str, unit: float, bounded: bool, number: Number) -> str | None:
    """The profile of a weighted metric, as an expression; None if it is not known here.

    ``unit``: a factor that the weight has in addition, see :func:`unit_of`. ``bounded``: the metric
    is at most zero if the profile is an exponential of it.
    """
    made = PROFILES.get(profile.name)
    try:
        given = Given(t, unit, bounded, number)
        return None if made is None else made(given, **dict(profile.parameters))
    except TypeError:  # other parameters than those that are known here
        return None


def unit_of(profiles: list[Profile]) -> float:
    """A factor of the weight of a metric that saves all functions of it a multiplication."""
    if all(profile.name == "exp" for profile in profiles):
        return LOG2E
    rates = {_rate(profile) for profile in profiles}
    rate = rates.pop()
    return 1.0 if rates or rate is None else (rate * LOG2E) ** 2


def _rate(profile: Profile) -> float | None:
    """That of the exponential of the root of the metric; None if there is none."""
    if profile.name == "laplacian":
        return 1.0
    return _RATES.get(dict(profile.parameters)["nu"]) if profile.name == "matern" else None


class Given(NamedTuple):
    """The input for the source of a function of a metric."""

    t: str
    unit: float
    bounded: bool
    number: Number

    def exp(self) -> str:
        """exp(t)"""
        exponent = self.t if self.unit == LOG2E else f"{self.t} * {LOG2E}"
        return f"power({exponent})" if self.bounded else f"tl.exp2({exponent})"

    def root(self, rate: float = 1.0) -> str:
        """exp(-rate sqrt(t))"""
        factor = rate * LOG2E / sqrt(self.unit)
        return f"fall(root({self.t}){'' if abs(factor - 1) < 1e-12 else f' * {factor}'})"

    def matern(self, nu: float) -> str | None:
        """(1 + sqrt(t)) exp(-sqrt(t)), and others."""
        if nu not in _RATES:
            return None
        rate, exponential = _RATES[nu], self.root(_RATES[nu])
        if nu == 0.5:
            return exponential
        factor = f"1.0 + root({self.t}) * {rate / sqrt(self.unit)}"
        if nu == 2.5:
            factor += f" + {self.t} * {1 / self.unit}"
        return f"({factor}) * {exponential}"

    def rational(self, alpha: float) -> str:
        """(1 + t)^-alpha"""
        if alpha in (1, 2):
            return "(" + " * ".join([f"inverse(1.0 + {self.t})"] * int(alpha)) + ")"
        return f"fall({self.number(float(alpha))} * logarithm(1.0 + {self.t}))"

    def polynomial(self, degree: float, offset: float, scale: float) -> str:
        """An integer power, by multiplications."""
        base = f"({self.t} * {self.number(float(scale))} + {self.number(float(offset))})"
        return "(" + " * ".join([base] * int(degree)) + ")" if degree >= 1 else "1.0"

    def exponential(self, scale: float) -> str:
        """exp(scale t)"""
        return f"tl.exp2({self.number(float(scale) * LOG2E)} * {self.t})"

    def binomial(self, alpha: float) -> str:
        """(1 - t)^-alpha"""
        return f"tl.exp2({self.number(-float(alpha))} * tl.log2(1.0 - {self.t}))"


PROFILES: dict[str, Callable[..., str | None]] = {
    "exp": Given.exp,
    "laplacian": lambda given, **_: given.root(),
    "matern": Given.matern,
    "rational quadratic": Given.rational,
    "linear": lambda given: given.t,
    "polynomial": Given.polynomial,
    "exponential": Given.exponential,
    "binomial": Given.binomial,
}


class Powers(NamedTuple):
    """How 2^t is computed for t <= 0.

    Parameters
    ----------
    polynomials, of : int
        How many of how many are computed as polynomials.
    clamped : bool
        May t be below -125?
    """

    polynomials: int
    of: int
    clamped: bool


def functions(powers: Powers | None) -> list[str]:
    """Those that the assembler has for single precision, to a few units in the last place."""
    if powers is None:
        simple = {
            "power": "tl.exp2(t)",
            "fall": "tl.exp2(-t)",
            "root": "tl.sqrt(t)",
            "inverse": "1.0 / t",
            "logarithm": "tl.log2(t)",
        }
        return [line for f, of in simple.items() for line in (f"def {f}(t):", f"    return {of}")]
    return [
        *_assembled("power", _powers(powers, "mov"), powers.of),
        *_assembled("fall", _powers(powers, "neg"), powers.of),
        *_assembled("root", ["sqrt.approx.ftz.f32 $0, $1;"], 1),
        *_assembled("inverse", ["rcp.approx.ftz.f32 $0, $1;"], 1),
        *_assembled("logarithm", ["lg2.approx.ftz.f32 $0, $1;"], 1),
    ]


def _powers(powers: Powers, change: str) -> list[str]:
    """Powers of two of exponents, or of what is their negative."""
    lines = [".reg .f32 c, r, f, p;", ".reg .b32 e, q;"]
    for at in range(powers.of):
        lines += [f"{change}.f32 c, ${powers.of + at};"]
        if at >= powers.polynomials:
            lines += [f"ex2.approx.ftz.f32 ${at}, c;"]
            continue
        lines += [
            *([f"max.f32 c, c, {_hex(-125.0)};"] if powers.clamped else []),
            f"add.rn.f32 r, c, {_hex(1.5 * 2**23)};",  # rounds to an integer, in its last bits
            f"sub.rn.f32 f, r, {_hex(1.5 * 2**23)};",
            "sub.rn.f32 f, c, f;",
            f"fma.rn.f32 p, f, {_hex(_POWERS[4])}, {_hex(_POWERS[3])};",
            *(f"fma.rn.f32 p, p, f, {_hex(c)};" for c in (*_POWERS[2::-1], 1.0)),
            "mov.b32 e, r;",
            "shl.b32 e, e, 23;",
            "mov.b32 q, p;",
            "add.s32 q, q, e;",
            f"mov.b32 ${at}, q;",
        ]
    return lines


def _assembled(name: str, lines: list[str], of: int) -> list[str]:
    asm = "{ " + " ".join(lines) + " }"
    constraints = ",".join(["=f"] * of + ["f"] * of)
    return [
        f"def {name}(t):",
        f"    return tl.inline_asm_elementwise({asm!r}, {constraints!r}, [t],",
        f"        dtype=tl.float32, is_pure=True, pack={of})",
    ]


def _hex(x: float) -> str:
    """A number in single precision, as assemblers read it."""
    return "0f" + pack(">f", x).hex().upper()
