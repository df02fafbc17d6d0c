"""Yes, no or unknown, each with a reason; and the theorems that lead from one fact to another."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import inf
from typing import Any

from .domains import ANY, Domain


@dataclass(frozen=True)
class Fact:
    """Yes (True), no (False) or unknown (None), and the reason. Truthy only when yes."""

    value: bool | None = None
    because: str = "nothing known"

    def __bool__(self) -> bool:
        return self.value is True

    @property
    def no(self) -> bool:
        """Known to be false."""
        return self.value is False

    @property
    def unknown(self) -> bool:
        """Neither known to be true nor known to be false."""
        return self.value is None

    def __str__(self) -> str:
        return {True: "yes", False: "no", None: "unknown"}[self.value]


UNKNOWN = Fact()


def yes(because: str) -> Fact:
    """A proved property."""
    return Fact(True, because)


def no(because: str) -> Fact:
    """A refuted property."""
    return Fact(False, because)


def blind(because: str) -> dict[str, Fact]:
    """What is refuted by different points, or mixtures of points, with the same features."""
    return dict.fromkeys(("strictly_pd", "universal", "characteristic"), no(because))


@dataclass(frozen=True)
class Smoothness:
    """k is C^m for every m <= at_least and for no m > at_most."""

    at_least: float = -1
    at_most: float = inf
    because: str = "nothing known"

    def __str__(self) -> str:
        if self.at_most < 0:
            return "none"
        if self.at_least < 0:
            return "unknown"
        if self.at_least == inf:
            return "C^inf"
        exact = self.at_least == self.at_most
        return f"C^{self.at_least:g}" + (", no more" if exact else " at least")

    def differentiable(self, m: int) -> Fact:
        """Is k m times continuously differentiable in each argument?"""
        if m <= self.at_least:
            return yes(self.because)
        return no(self.because) if m > self.at_most else UNKNOWN


@dataclass(frozen=True)
class Properties:
    """The known properties of a kernel on its domain; see ``properties.py``."""

    domain: Domain = ANY
    bounded: Fact = UNKNOWN
    continuous: Fact = UNKNOWN
    smooth: Smoothness = Smoothness()
    analytic: Fact = UNKNOWN
    stationary: Fact = UNKNOWN
    strictly_pd: Fact = UNKNOWN
    universal: Fact = UNKNOWN
    characteristic: Fact = UNKNOWN
    integrally_pd: Fact = UNKNOWN
    c0_universal: Fact = UNKNOWN
    vanishing: Fact = UNKNOWN
    separable: Fact = UNKNOWN
    finite_dim: Fact = UNKNOWN
    positive_diag: Fact = UNKNOWN
    psd: Fact = Fact(True, "built by the closure rules")
    margins: frozenset[frozenset] = frozenset()  # of an additive kernel: what its summands see

    def facts(self) -> dict[str, Fact]:
        """Every yes/no/unknown property by name."""
        return {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if isinstance(getattr(self, f.name), Fact)
        }


SEPARATING = ("strictly_pd", "universal", "characteristic", "integrally_pd", "c0_universal")
REGULAR = ("continuous", "analytic")

_FULL = "its spectral measure is supported on all of R^d"
_FEW = "H_k has finite dimension, but the domain has infinitely many points"
_ORTHOGONAL = "no finite signed measure is orthogonal to H_k, which lies in C_0"
_DENSE = "continuous, and points with rational coordinates are dense"
_NOT_STRICT = "not strictly positive definite"

# If all of these hold ("-x": x is refuted; else a fact or a trait of the domain), then ... because
_THEOREMS = (
    ("-continuous", "-analytic", "not even continuous"),
    ("discrete", "continuous", "every function on a discrete set is continuous"),
    ("stationary", "bounded", "stationary: k(x, x) is the same number everywhere"),
    ("-bounded", "-stationary", "k(x, x) is unbounded, so not constant"),
    ("continuous compact", "bounded", "continuous on a compact domain"),
    ("stationary continuous characteristic euclidean", "integrally_pd", _FULL),
    ("universal continuous compact", "integrally_pd", "universal on a compact domain"),
    ("integrally_pd stationary continuous euclidean", "universal", _FULL),
    ("integrally_pd stationary continuous euclidean", "strictly_pd", _FULL),
    ("integrally_pd", "characteristic", "even signed measures have distinct embeddings"),
    ("integrally_pd", "strictly_pd", "even signed measures have distinct embeddings"),
    ("integrally_pd continuous", "universal", "no signed measure on a compact set is orthogonal"),
    ("universal", "strictly_pd", "universal kernels are strictly positive definite"),
    ("continuous compact", "vanishing", "the domain is compact: there is no infinity"),
    ("vanishing continuous bounded integrally_pd", "c0_universal", _ORTHOGONAL),
    ("c0_universal", "universal", "functions on a compact set extend to ones that vanish far out"),
    ("c0_universal", "integrally_pd", _ORTHOGONAL),
    ("finite_dim", "separable", "of finite dimension"),
    ("continuous euclidean", "separable", _DENSE),
    ("continuous compact", "separable", "continuous on a compact set: by Mercer's theorem"),
    ("strictly_pd discrete", "universal", "compact sets are finite here"),
    ("strictly_pd", "positive_diag", "strictly positive definite"),
    ("strictly_pd infinite", "-finite_dim", "infinitely many independent functions k(x, .)"),
    ("blind", "-strictly_pd", "it does not look at the sample"),
    ("blind", "-characteristic", "it does not look at the sample"),
    ("finite_dim infinite", "-strictly_pd", _FEW),
    ("finite_dim infinite", "-universal", _FEW),
    ("finite_dim infinite", "-characteristic", _FEW),
    ("-positive_diag", "-strictly_pd", "k(x, x) = 0 for some x"),
    ("-strictly_pd", "-universal", _NOT_STRICT),
    ("-strictly_pd", "-integrally_pd", _NOT_STRICT),
    ("-characteristic", "-integrally_pd", "not even characteristic"),
    ("-characteristic continuous compact", "-universal", "on a compact domain it would be both"),
    ("-universal continuous", "-integrally_pd", "not universal"),
    ("-universal", "-c0_universal", "not even universal on compact sets"),
    ("-bounded", "-c0_universal", "functions of C_0 are bounded, and some of H_k are not"),
    ("-vanishing", "-c0_universal", "functions of H_k do not vanish at infinity"),
    ("-characteristic", "-c0_universal", "not even characteristic"),
)


def close(p: Properties) -> Properties:
    """Add everything that follows from the facts."""
    facts: dict[str, Any] = dict(p.facts())
    smooth = p.smooth
    if facts["analytic"] and smooth.at_least < inf:
        smooth = Smoothness(inf, inf, "analytic functions are infinitely differentiable")
    if smooth.at_least >= 0 and facts["continuous"].unknown:
        facts["continuous"] = yes(
            "differentiable, hence continuous" if smooth.at_least else smooth.because
        )
    if smooth.at_most < inf and facts["analytic"].unknown:
        facts["analytic"] = no("not infinitely differentiable")
    if facts["continuous"].no:
        smooth = Smoothness(-1, -1, "not continuous")
    if not p.psd:  # without a Hilbert space there is nothing more to say
        kept = (*REGULAR, "stationary", "psd")
        facts |= {name: UNKNOWN for name in facts if name not in kept}
        return replace(p, smooth=smooth, **facts)

    def holds(premise: str) -> bool:
        if premise.startswith("-"):
            return facts[premise[1:]].no
        return bool(facts[premise] if premise in facts else getattr(p.domain, premise))

    news = True
    while news:
        news = False
        for premises, conclusion, because in _THEOREMS:
            name = conclusion.lstrip("-")
            if facts[name].unknown and all(map(holds, premises.split())):
                facts[name] = no(because) if conclusion.startswith("-") else yes(because)
                news = True
    return replace(p, smooth=smooth, **facts)


def lift(p: Properties, domain: Domain) -> Properties:
    """The same kernel seen on the joint domain of a larger expression.

    What is refuted may hold on fewer points. Properties that distinguish points or distributions
    fail if points are identified. All else only needs that samples are mapped to points of the old
    domain, and that this map is a projection (so continuous, and linear between vectors).
    """
    merges, shrinks = p.domain.relation(domain)
    facts: dict[str, Any] = dict(p.facts())
    smooth = p.smooth
    if shrinks or merges is not False:  # what is far away may have moved
        facts["vanishing"] = facts["c0_universal"] = UNKNOWN
    if shrinks:
        facts = {name: UNKNOWN if fact.no else fact for name, fact in facts.items()}
        smooth = replace(smooth, at_most=inf)
    if merges:
        merged = no(f"it only sees {p.domain}")
        facts |= {
            name: fact if fact.no else merged for name, fact in facts.items() if name in SEPARATING
        }
    elif merges is None:
        facts |= dict.fromkeys(SEPARATING, UNKNOWN)
        if not (p.domain.euclidean or domain.discrete):  # who knows what is near what
            facts |= dict.fromkeys(REGULAR, UNKNOWN)
            smooth = Smoothness()
    return close(replace(p, domain=domain, smooth=smooth, **facts))
