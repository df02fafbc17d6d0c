"""The calculus of properties, continued: kernels that were normalised, centred, restricted, ..."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

from .domains import subset
from .facts import UNKNOWN, Fact, Properties, Smoothness, close, lift, no, yes
from .properties import close_hilbert, if_yes, kept, psd_of


def of_normalized(p: Properties) -> Properties:
    """k(x, y) / sqrt(k(x, x) k(y, y)), and 0 where k(x, x) = 0."""
    one = yes("k(x, x) is 1 (or 0)")
    fine = bool(p.positive_diag)
    if p.stationary and fine and p.psd:
        return close(replace(p, bounded=one))
    regular = fine and bool(p.continuous)
    same = "dividing by a function without zeros keeps it"
    return close(
        Properties(
            p.domain,
            psd=psd_of(p),
            bounded=one,
            continuous=yes(same) if regular else UNKNOWN,
            smooth=Smoothness(p.smooth.at_least, inf, same) if fine else Smoothness(),
            analytic=if_yes(p.analytic, same) if fine else UNKNOWN,
            strictly_pd=kept(p.strictly_pd, same),
            integrally_pd=if_yes(p.integrally_pd, same),
            universal=kept(p.universal, same) if regular else UNKNOWN,
            finite_dim=kept(p.finite_dim, "the functions are those of k, divided by one function"),
            positive_diag=kept(p.positive_diag, "k(x, x) is 1, and 0 only where it was 0"),
        )
    )


def _of_space(
    p: Properties, rule: Callable[[Fact, str], Fact], because: str, **facts: Fact
) -> Properties:
    """What becomes of k where H_k stays as smooth as it was: by a rule, but for some facts."""
    names = ("bounded", "continuous", "analytic", "finite_dim")
    known: dict[str, Any] = {name: rule(getattr(p, name), because) for name in names} | facts
    return close_hilbert(Properties(p.domain, psd=psd_of(p), smooth=p.smooth, **known))


def of_centered(p: Properties) -> Properties:
    """k centred on a reference sample z: features phi(x) - mean phi(z).

    A constant vector is subtracted from phi, so phi is as continuous, smooth and bounded as before.
    """
    zero_mean = no("every f in H_k sums to zero over the reference sample")
    return _of_space(
        p,
        kept,
        "centring subtracts one vector from all features",
        strictly_pd=zero_mean,
        universal=zero_mean,
        characteristic=kept(p.characteristic, "a common shift cancels in the MMD"),
        finite_dim=kept(p.finite_dim, "centring removes at most one dimension"),
    )


def of_conditioned(p: Properties, noisy: bool) -> Properties:
    """k(x, y) - k(x, z) (K_zz + N)^-1 k(z, y): what a sample z, seen with noise N, leaves of k.

    In feature space this is <phi(x), (I - T) phi(y)> with T of finite rank and 0 <= T <= I. With
    noise T < I, so the space is H_k with an equivalent norm. Without, it is the closed subspace of
    the functions that vanish at z.
    """
    if noisy:
        same, names = "H_k with an equivalent norm", ("strictly_pd", "universal", "characteristic")
        return _of_space(p, kept, same, **{name: kept(getattr(p, name), same) for name in names})
    zero = no("every f in H_k vanishes at the reference sample")
    return _of_space(p, if_yes, "a closed subspace of H_k", strictly_pd=zero, universal=zero)


def of_modulated(p: Properties) -> Properties:
    """f(x) k(x, y) f(y) for a function f about which nothing is known."""
    times = "the functions are those of k times f"
    return close(Properties(p.domain, psd=psd_of(p), finite_dim=if_yes(p.finite_dim, times)))


def of_pullback(p: Properties) -> Properties:
    """k(A(x), A(y)) for a map about which nothing is known."""
    through = "k is evaluated at A(x)"
    return close(
        Properties(
            psd=psd_of(p),
            bounded=if_yes(p.bounded, through),
            finite_dim=if_yes(p.finite_dim, through),
            positive_diag=if_yes(p.positive_diag, through),
        )
    )


def of_restricted(p: Properties) -> Properties:
    """k on a subset about which nothing is known: what holds everywhere holds there."""
    return lift(p, subset(p.domain))


def of_features(p: Properties) -> Properties:
    """Finitely many features in place of those of a kernel."""
    return close(
        Properties(
            p.domain,
            psd=yes("an inner product of explicit features"),
            finite_dim=yes("finitely many features"),
        )
    )


def of_through(p: Properties) -> Properties:
    """sum_z k(x, z) k(z, y) over finitely many points z."""
    through = "a finite sum of products of functions k(., z)"
    return close(
        Properties(
            p.domain,
            psd=yes("an inner product of explicit features"),
            bounded=if_yes(p.bounded, through) if p.psd else UNKNOWN,
            continuous=if_yes(p.continuous, through),
            smooth=Smoothness(p.smooth.at_least, inf, through),
            analytic=if_yes(p.analytic, through),
            finite_dim=yes("spanned by the functions k(., z)"),
        )
    )
