"""Properties of kernels, with reasons: a three-valued calculus over their construction.

Every property is a :class:`Fact`: yes, no or unknown, with the reason. Leaves state theirs;
:func:`of_sum`, :func:`of_product` and the other rules, here and in
``transformed.py``, derive those of composite kernels;
and :func:`close` adds what the theorems imply. No rule answers yes or no without a proof, and a
proof that is not in the references is sketched beside the rule.

Definitions used (X is the domain of the kernel, phi its canonical feature map)

psd              v'Kv >= 0 for every Gram matrix K; the other facts below need it
bounded          sup k(x, x) < inf
continuous       k is continuous on X x X
smooth           m: all mixed derivatives of order <= m in each argument exist, are continuous
analytic         k is real analytic
stationary       k(x, y) depends on x - y only
strictly_pd      Gram matrices on distinct points are non-singular
universal        H_k is dense in C(Z) for every compact Z in X (also called cc-universal)
characteristic   P -> mean embedding is injective on the probability measures that have one
integrally_pd    the same for all signed measures with integrable sqrt(k(x, x))
vanishing        k(x, .) is small outside some compact set, for every x: with k bounded and
                 continuous, H_k lies in C_0(X)
c0_universal     H_k lies in C_0(X), and is dense in it
separable        H_k has a countable dense subset, hence a countable orthonormal basis
finite_dim       H_k has finite dimension
positive_diag    k(x, x) > 0 for every x

References: Steinwart & Christmann, *Support Vector Machines* (2008), ch. 4; Sriperumbudur,
Fukumizu & Lanckriet, *Universality, characteristic kernels and RKHS embedding of measures*
(JMLR 2011); Szabó & Sriperumbudur, *Characteristic and universal tensor product kernels* (JMLR
2018).
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

from .domains import certain, disjoint, joint, separates
from .facts import SEPARATING, UNKNOWN, Fact, Properties, Smoothness, blind, close, lift, no, yes

__all__ = [
    "SEPARATING",
    "UNKNOWN",
    "Fact",
    "Properties",
    "Smoothness",
    "blind",
    "close",
    "lift",
    "no",
    "of_power",
    "of_product",
    "of_scaled",
    "of_sum",
    "yes",
]

_BUILT = yes("built by the closure rules")
_DOUBTFUL = Fact(None, "made from a function that is not known to be positive definite")


def _all(facts: list[Fact], because: str) -> Fact:
    return yes(because) if all(facts) else UNKNOWN


def _any(facts: list[Fact], because: str) -> Fact:
    return yes(because) if any(facts) else UNKNOWN


def kept(fact: Fact, because: str) -> Fact:
    """The same answer for another reason."""
    return fact if fact.unknown else replace(fact, because=because)


def if_yes(fact: Fact, because: str) -> Fact:
    """Yes for this reason where the fact is one, else unknown."""
    return yes(because) if fact else UNKNOWN


def psd_of(*parts: Properties) -> Fact:
    """Positive definite by the closure rules, where all parts are."""
    return _BUILT if all(p.psd for p in parts) else _DOUBTFUL


def close_hilbert(p: Properties) -> Properties:
    """What follows; refutations below rest on the Hilbert space, so they need one."""
    if not p.psd:
        refuted: dict[str, Any] = {n: UNKNOWN for n, fact in p.facts().items() if fact.no}
        p = replace(p, smooth=replace(p.smooth, at_most=inf), **refuted)
    return close(p)


def _margins(p: Properties) -> frozenset[frozenset]:
    """The sets of columns of which a kernel is a sum of kernels."""
    return p.margins or frozenset({p.domain.columns})


def of_sum(left: Properties, right: Properties) -> Properties:
    """k1 + k2.

    A summand is no rougher than the sum: H_k1 lies in H_k, the adjoint of that inclusion maps
    phi to phi1, and it is bounded, so every derivative of phi gives one of phi1.
    """
    domain = joint(left.domain, right.domain)
    a, b = lift(left, domain), lift(right, domain)

    def rough_if_either(name: str) -> Fact:
        pair = getattr(a, name), getattr(b, name)
        if any(f.no for f in pair):
            return no(
                f"a summand is not {name}, and a sum of kernels is no smoother than its parts"
            )
        return _all(list(pair), f"a sum of {name} kernels")

    bounded = _all([a.bounded, b.bounded], "a sum of bounded kernels")
    if a.bounded.no or b.bounded.no:
        bounded = no("a summand is unbounded, and the other is >= 0 on the diagonal")
    stationary = _all([a.stationary, b.stationary], "a sum of stationary kernels")
    if (a.stationary and b.stationary.no) or (b.stationary and a.stationary.no):
        stationary = no("one summand is stationary and the other is not")
    finite = _all([a.finite_dim, b.finite_dim], "dimensions add")
    if a.finite_dim.no or b.finite_dim.no:
        finite = no("H_k contains the space of a summand of infinite dimension")
    continuous = rough_if_either("continuous")
    apart: dict[str, Any] = {
        "strictly_pd": _any(
            [a.strictly_pd, b.strictly_pd], "a summand is strictly positive definite"
        ),
        "integrally_pd": _any(
            [a.integrally_pd, b.integrally_pd], "a summand is integrally positive definite"
        ),
        "universal": _any(
            [a.universal, b.universal], "H_k contains the space of a universal summand"
        )
        if continuous
        else UNKNOWN,
        "characteristic": _any(
            [a.characteristic, b.characteristic],
            "MMD^2 of a sum is the sum of both, and one is zero only for P = Q",
        ),
    }
    margins = _margins(left) | _margins(right)
    if all(seen < domain.columns for seen in margins) and all(map(certain, domain.columns)):
        # the corners of a box with alternating signs, or P on the even ones and Q on the odd
        blind = no("a sum of functions of fewer columns: it sees no interaction of all of them")
        apart = {"strictly_pd": blind, "characteristic": blind}
    return close_hilbert(
        Properties(
            domain,
            margins=margins,
            psd=psd_of(left, right),
            bounded=bounded,
            continuous=continuous,
            smooth=Smoothness(
                min(a.smooth.at_least, b.smooth.at_least),
                min(a.smooth.at_most, b.smooth.at_most),
                "the rougher summand decides",
            ),
            analytic=rough_if_either("analytic"),
            stationary=stationary,
            finite_dim=finite,
            vanishing=_all([a.vanishing, b.vanishing], "a sum of functions that vanish"),
            separable=_all([a.separable, b.separable], "spanned by two separable spaces"),
            positive_diag=_any(
                [a.positive_diag, b.positive_diag], "a summand is positive on the diagonal"
            ),
            **apart,
        )
    )


def of_product(left: Properties, right: Properties) -> Properties:
    """k1 * k2, on the same points or as a tensor product on different columns.

    With an orthonormal basis e_i of H_k2 (separable, because k2 is continuous),
    ``int int k1 k2 dmu dmu = sum_i int int k1 d(e_i mu) d(e_i mu)``. If k1 is integrally positive
    definite and this is 0, then e_i mu = 0 for all i, and mu = 0 where sum_i e_i^2 = k2(x, x) > 0.
    The same with signed measures on a compact set shows that a product of a universal kernel with
    a continuous one of positive diagonal is universal.
    """
    domain = joint(left.domain, right.domain)
    a, b = lift(left, domain), lift(right, domain)
    pairs = ((a, b), (b, a))
    continuous = _all([a.continuous, b.continuous], "a product of continuous kernels")
    analytic = _all([a.analytic, b.analytic], "a product of analytic kernels")
    stationary = _all([a.stationary, b.stationary], "a product of stationary kernels")
    bounded = _all([a.bounded, b.bounded], "a product of bounded kernels")
    finite = _all([a.finite_dim, b.finite_dim], "dimensions multiply")
    positive = _all([a.positive_diag, b.positive_diag], "a product of positive numbers")
    lo, hi = min(a.smooth.at_least, b.smooth.at_least), inf
    spectral = stationary and continuous and domain.euclidean
    apart = disjoint(left.domain, right.domain)
    for p, q in pairs:
        if p.positive_diag.no:
            positive = no("a factor vanishes at (x, x) for some x")
        if not q.positive_diag:
            continue
        # Near the diagonal p = (p q) / q; on other columns, p = (p q) / constant.
        if p.continuous.no and (q.continuous or apart):
            continuous = no("a factor is not continuous, and the other does not vanish at (x, x)")
        if p.analytic.no and (q.analytic or apart or spectral):
            analytic = no("a factor is not analytic, and the other does not vanish at (x, x)")
        if p.smooth.at_most < q.smooth.at_least or apart or spectral:
            hi = min(hi, p.smooth.at_most)
        if p.bounded.no and (q.stationary or apart):
            bounded = no("a factor is unbounded, and the other stays away from 0 on the diagonal")
        if p.finite_dim.no:
            finite = no("a factor has infinite dimension, and the other a positive diagonal")
    facts: dict[str, Any] = {}
    for name, words in (
        ("strictly_pd", "strictly positive definite"),
        ("integrally_pd", "integrally positive definite"),
        ("universal", "universal"),
    ):
        facts[name] = UNKNOWN
        if name != "strictly_pd" and not continuous:
            continue
        if any(getattr(p, name) and q.positive_diag for p, q in pairs):
            facts[name] = yes(f"a factor is {words} and the other has a positive diagonal")
        elif getattr(left, name) and getattr(right, name) and separates(left.domain, right.domain):
            facts[name] = yes(f"a tensor product of {words} kernels")
    for name in ("strictly_pd", "characteristic"):
        if apart and (getattr(left, name).no or getattr(right, name).no):
            facts[name] = no("with the columns of one factor fixed, it is a multiple of the other")
    vanishing = UNKNOWN
    if any(p.vanishing and q.bounded for p, q in pairs):
        vanishing = yes("a factor vanishes far out, and the other is bounded")
    elif apart and left.vanishing and right.vanishing and left.bounded and right.bounded:
        vanishing = yes("in each direction a factor vanishes, and the others are bounded")
    return close_hilbert(
        Properties(
            domain,
            vanishing=vanishing,
            separable=_all([a.separable, b.separable], "a tensor product of separable spaces"),
            psd=psd_of(left, right),
            bounded=bounded,
            continuous=continuous,
            smooth=Smoothness(lo, hi, "the rougher factor decides"),
            analytic=analytic,
            stationary=stationary,
            finite_dim=finite,
            positive_diag=positive,
            **facts,
        )
    )


def of_power(p: Properties, exponent: int) -> Properties:
    """k^p for an integer exponent: a product with itself, of which a little more is known."""
    if exponent == 1:
        return p
    twice = of_product(p, p)
    # Near the diagonal k is the p-th root of its power, which is smooth away from 0.
    rooted = bool(p.positive_diag and p.continuous)
    return close(
        replace(
            twice,
            domain=p.domain,
            bounded=kept(p.bounded, "k(x, x)^p is bounded exactly if k(x, x) is"),
            smooth=replace(twice.smooth, at_most=p.smooth.at_most if rooted else inf),
            analytic=p.analytic if rooted else twice.analytic,
            finite_dim=kept(
                p.finite_dim, "elementwise powers do not lower the rank of a Gram matrix"
            )
            if p.finite_dim.no
            else twice.finite_dim,
        )
    )


def of_scaled(p: Properties, weight: float) -> Properties:
    """weight * k: the same functions, another norm (or, for weight 0, none at all)."""
    if weight > 0:
        return p
    zero = "the zero kernel"
    held = ("bounded", "continuous", "analytic", "stationary", "finite_dim")
    facts: dict[str, Any] = dict.fromkeys(held, yes(zero)) | blind(zero)
    return close(Properties(p.domain, positive_diag=no(zero), **facts))
