"""What is known of a kernel, and why: a three-valued calculus over its construction.

Every property is a :class:`Fact`: yes, no or unknown, with the reason. Leaves state theirs;
:func:`of_sum`, :func:`of_product` and the other rules derive those of composite kernels; and
:func:`close` adds what the theorems imply. No rule answers yes without a theorem behind it.

Definitions used (X is the domain of the kernel)

bounded          sup k(x, x) < inf
continuous       k is continuous on X x X
smooth           m: all mixed derivatives of order <= m in each argument exist, are continuous
analytic         k is real analytic
stationary       k(x, y) depends on x - y only
strictly_pd      Gram matrices on distinct points are non-singular
universal        H_k is dense in C(Z) for every compact Z in X
characteristic   P -> mean embedding is injective on the probability measures that have one
finite_dim       H_k has finite dimension
positive_diag    k(x, x) > 0 for every x

References: Steinwart & Christmann, *Support Vector Machines* (2008), ch. 4; Sriperumbudur,
Fukumizu & Lanckriet, *Universality, characteristic kernels and RKHS embedding of measures*
(JMLR 2011); Szabó & Sriperumbudur, *Characteristic and universal tensor product kernels* (JMLR
2018).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import inf

from .domains import ANY, Domain, joint


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


@dataclass(frozen=True)
class Smoothness:
    """k is C^m for every m <= at_least and for no m > at_most."""

    at_least: float = -1
    at_most: float = inf
    because: str = "nothing known"

    def __str__(self) -> str:
        if self.at_least == inf:
            return "C^inf"
        if self.at_least < 0:
            return "unknown"
        exact = self.at_least == self.at_most
        return f"C^{self.at_least:g}" + (", no more" if exact else " at least")

    def differentiable(self, m: int) -> Fact:
        """Is k m times continuously differentiable in each argument?"""
        if m <= self.at_least:
            return yes(self.because)
        return no(self.because) if m > self.at_most else UNKNOWN


@dataclass(frozen=True)
class Properties:
    """All that is known of one kernel on its domain."""

    domain: Domain = ANY
    bounded: Fact = UNKNOWN
    continuous: Fact = UNKNOWN
    smooth: Smoothness = Smoothness()
    analytic: Fact = UNKNOWN
    stationary: Fact = UNKNOWN
    strictly_pd: Fact = UNKNOWN
    universal: Fact = UNKNOWN
    characteristic: Fact = UNKNOWN
    finite_dim: Fact = UNKNOWN
    positive_diag: Fact = UNKNOWN
    psd: Fact = Fact(True, "built by the closure rules")

    def facts(self) -> dict[str, Fact]:
        """Every yes/no/unknown property by name."""
        return {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if isinstance(getattr(self, f.name), Fact)
        }


SEPARATING = ("strictly_pd", "universal", "characteristic")


def close(p: Properties) -> Properties:
    """Add what follows from what is known."""
    new = dict(p.facts())

    def imply(name: str, fact: Fact) -> None:
        if new[name].unknown:
            new[name] = fact

    smooth = p.smooth
    if new["analytic"] and smooth.at_least < inf:
        smooth = Smoothness(inf, inf, "analytic functions are infinitely differentiable")
    if smooth.at_least >= 0:
        imply("continuous", yes("differentiable, hence continuous"))
    if smooth.at_most < inf:
        imply("analytic", no("not infinitely differentiable"))
    if new["finite_dim"] and p.domain.infinite:
        dim = "H_k has finite dimension but the domain has infinitely many points"
        for name in SEPARATING:
            imply(name, no(dim))
    if new["stationary"] and p.domain.euclidean:
        imply("bounded", yes("stationary: k(x, x) is the same number everywhere"))
        if new["characteristic"] and new["continuous"]:
            full = "stationary and characteristic: its spectral measure has full support"
            imply("universal", yes(full))
            imply("strictly_pd", yes(full))
    if new["universal"]:
        imply("strictly_pd", yes("universal kernels are strictly positive definite"))
        if p.domain.compact:
            imply("characteristic", yes("universal on a compact domain"))
    if new["strictly_pd"]:
        imply("positive_diag", yes("strictly positive definite"))
        if p.domain.infinite:
            imply("finite_dim", no("infinitely many linearly independent k(x, .)"))
    if new["strictly_pd"].no:
        imply("universal", no("not strictly positive definite"))
    return replace(p, smooth=smooth, **new)


def lift(p: Properties, domain: Domain) -> Properties:
    """The same kernel seen on the joint domain of a larger expression."""
    relation = p.domain.relation(domain)
    if relation == "same":
        return p
    facts = p.facts()
    if relation == "refinement":
        merged = no(f"only sees {p.domain}, which merges points of {domain}")
        facts |= dict.fromkeys(SEPARATING, merged)
        return replace(p, domain=domain, **facts)
    for name, fact in facts.items():
        keep = fact and (relation == "restriction" or name not in SEPARATING)
        if not (keep or name == "psd"):
            facts[name] = UNKNOWN
    smooth = replace(p.smooth, at_most=inf)
    return close(replace(p, domain=domain, smooth=smooth, **facts))


def _both(a: Fact, b: Fact, rule: str) -> Fact:
    return yes(rule) if a and b else UNKNOWN


def _difference(a: Fact, b: Fact, name: str) -> Fact:
    """A linear class of functions: both in gives in, exactly one in gives out."""
    if a and b:
        return yes(f"a sum of {name} kernels")
    if (a and b.no) or (b and a.no):
        return no(f"exactly one summand is {name}, and a difference of {name} functions would be")
    return UNKNOWN


def of_sum(left: Properties, right: Properties) -> Properties:
    """k1 + k2."""
    domain = joint(left.domain, right.domain)
    a, b = lift(left, domain), lift(right, domain)
    if a.bounded and b.bounded:
        bounded = yes("a sum of bounded kernels")
    elif a.bounded.no or b.bounded.no:
        bounded = no("a summand is unbounded on the diagonal and the other is >= 0 there")
    else:
        bounded = UNKNOWN
    lo = min(a.smooth.at_least, b.smooth.at_least)
    hi = min(a.smooth.at_most, b.smooth.at_most)
    exact = a.smooth.at_least > b.smooth.at_most or b.smooth.at_least > a.smooth.at_most
    smooth = Smoothness(lo, hi if exact else inf, "the rougher summand decides")
    continuous = _difference(a.continuous, b.continuous, "continuous")
    one = [p for p in (a, b) if p.strictly_pd]
    wide = [p for p in (a, b) if p.universal]
    telling = [p for p in (a, b) if p.characteristic]
    return close(
        Properties(
            domain,
            bounded,
            continuous,
            smooth,
            _difference(a.analytic, b.analytic, "analytic"),
            _difference(a.stationary, b.stationary, "stationary"),
            yes("one summand is strictly positive definite") if one else UNKNOWN,
            yes("H_k contains the space of a universal summand")
            if wide and continuous
            else UNKNOWN,
            yes("MMD^2 of a sum is the sum of MMD^2, one of them is zero only for P = Q")
            if telling
            else UNKNOWN,
            _both(a.finite_dim, b.finite_dim, "dimensions add"),
            yes("a summand is positive on the diagonal")
            if a.positive_diag or b.positive_diag
            else UNKNOWN,
        )
    )


def of_product(left: Properties, right: Properties) -> Properties:
    """k1 * k2, on the same points or as a tensor product on different columns."""
    domain = joint(left.domain, right.domain)
    a, b = lift(left, domain), lift(right, domain)
    continuous = _both(a.continuous, b.continuous, "a product of continuous kernels")
    stationary = _both(a.stationary, b.stationary, "a product of stationary kernels")
    strictly = UNKNOWN
    if left.strictly_pd and right.strictly_pd and domain != ANY:
        strictly = yes("a (tensor) product of strictly positive definite kernels")
    elif (a.strictly_pd and b.positive_diag) or (b.strictly_pd and a.positive_diag):
        strictly = yes(
            "Schur product of a strictly positive definite kernel with one of positive diagonal"
        )
    universal = UNKNOWN
    if left.universal and right.universal and continuous and domain != ANY:
        universal = yes("a (tensor) product of universal kernels")
    characteristic = UNKNOWN
    spectral = stationary and continuous and domain.euclidean
    full = "stationary: spectral measures convolve, and the support fills R^d"
    if (spectral and left.characteristic and right.characteristic) or (
        spectral
        and ((a.characteristic and b.positive_diag) or (b.characteristic and a.positive_diag))
    ):
        characteristic = yes(full)
    lo = min(a.smooth.at_least, b.smooth.at_least)
    return close(
        Properties(
            domain,
            _both(a.bounded, b.bounded, "a product of bounded kernels"),
            continuous,
            Smoothness(lo, inf, "the rougher factor decides"),
            _both(a.analytic, b.analytic, "a product of analytic kernels"),
            stationary,
            strictly,
            universal,
            characteristic,
            _both(a.finite_dim, b.finite_dim, "dimensions multiply"),
            _both(a.positive_diag, b.positive_diag, "a product of positive numbers"),
        )
    )


def of_scaled(p: Properties, weight: float) -> Properties:
    """weight * k: the same functions, another norm (or, for weight 0, none at all)."""
    if weight > 0:
        return p
    zero = "the zero kernel"
    return close(
        Properties(
            p.domain,
            bounded=yes(zero),
            continuous=yes(zero),
            analytic=yes(zero),
            stationary=yes(zero),
            strictly_pd=no(zero),
            universal=no(zero),
            characteristic=no(zero),
            finite_dim=yes(zero),
            positive_diag=no(zero),
        )
    )


def of_normalized(p: Properties) -> Properties:
    """k(x, y) / sqrt(k(x, x) k(y, y))."""
    fine = bool(p.positive_diag)
    regular = fine and bool(p.continuous)
    same = "normalising by a non-vanishing function keeps it"
    one = yes("k(x, x) is 1 (or 0)")
    if p.stationary and fine:
        return close(replace(p, bounded=one))
    return close(
        Properties(
            p.domain,
            bounded=one,
            continuous=yes(same) if regular else UNKNOWN,
            smooth=Smoothness(p.smooth.at_least, inf, same) if fine else Smoothness(),
            analytic=yes(same) if fine and p.analytic else UNKNOWN,
            strictly_pd=yes(same) if p.strictly_pd else UNKNOWN,
            universal=yes("normalised universal kernels are universal")
            if regular and p.universal
            else UNKNOWN,
            finite_dim=p.finite_dim,
            positive_diag=p.positive_diag,
        )
    )


def of_centered(p: Properties) -> Properties:
    """k centred on a reference sample z: features phi(x) - mean phi(z)."""
    zero_mean = "every f in H_k sums to zero over the reference sample"
    shift = "centring subtracts functions of the same kind"
    return close(
        Properties(
            p.domain,
            bounded=yes(shift) if p.bounded else UNKNOWN,
            continuous=yes(shift) if p.continuous else UNKNOWN,
            smooth=Smoothness(p.smooth.at_least, inf, shift),
            analytic=yes(shift) if p.analytic else UNKNOWN,
            strictly_pd=no(zero_mean),
            universal=no(zero_mean),
            characteristic=replace(p.characteristic, because="a common shift cancels in the MMD"),
            finite_dim=p.finite_dim,
        )
    )


def of_pullback(p: Properties) -> Properties:
    """k(A(x), A(y)) for a map about which nothing is known."""
    through = "k is evaluated at A(x)"
    return Properties(
        bounded=yes(through) if p.bounded else UNKNOWN,
        finite_dim=yes(through) if p.finite_dim else UNKNOWN,
        positive_diag=yes(through) if p.positive_diag else UNKNOWN,
    )


def of_restricted(p: Properties) -> Properties:
    """k on a subset about which nothing is known: what holds everywhere holds there."""
    facts = {name: fact if fact or name == "psd" else UNKNOWN for name, fact in p.facts().items()}
    return replace(p, smooth=replace(p.smooth, at_most=inf), **facts)


def of_through(p: Properties) -> Properties:
    """sum_z k(x, z) k(z, y) over finitely many points z."""
    through = "a finite sum of products of functions k(., z)"
    return close(
        Properties(
            p.domain,
            bounded=yes(through) if p.bounded else UNKNOWN,
            continuous=yes(through) if p.continuous else UNKNOWN,
            smooth=Smoothness(p.smooth.at_least, inf, through),
            analytic=yes(through) if p.analytic else UNKNOWN,
            finite_dim=yes("spanned by the functions k(., z)"),
        )
    )
