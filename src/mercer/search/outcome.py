"""What a search for hyper-parameters found, and in words what is odd about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..data import Data
from ..exceptions import BoundWarning, ConvergenceWarning, warn
from ..kernels.algebra.sums import Product
from ..kernels.base import Kernel
from ..params import Hyperparameter, copy_params
from ..shown import Shown

_ON = 1e-6  # from a bound, as a logarithm or as a part of the range
_NEAR = float(np.log(10))  # the same at the end of a plateau, on which a search stops early
_NOTHING = 1e-3  # of the variance of y: what a part that is not needed may explain


@dataclass(frozen=True)
class Tuning(Shown):
    """The result of a hyper-parameter search. ``print`` shows it with rounded numbers.

    Attributes
    ----------
    kernel : Kernel
        The kernel with its best hyper-parameters.
    alpha : float
        The best noise or penalty.
    value : float
        The criterion there: small is good.
    n_evaluations : int
        How often it was computed on all samples.
    converged : bool
        Whether the optimiser reached a stationary point.
    message : str
        What the optimiser says.
    at_bounds : tuple of str
        Hyper-parameters that ended on a bound, with that bound.
    unneeded : tuple of str
        Parts that the data do not need: summands whose weight reached its lower bound (and that are
        small compared with the rest and the noise), features or kernels whose lengthscale reached
        its upper bound, and alpha if targets are treated as exact (though not because of features
        that a shared lengthscale hides: see ``at_bounds``).

    Examples
    --------
    >>> from mercer import Gaussian, Tuning
    >>> print(Tuning(2.0 * Gaussian(1 / 3), 0.012345678, 3.21, 9, True, ""))
    2 * Gaussian(lengthscale=0.3333), alpha = 0.01235: criterion 3.21 after 9 evaluations
    """

    kernel: Kernel
    alpha: float
    value: float
    n_evaluations: int
    converged: bool
    message: str
    at_bounds: tuple[str, ...] = ()
    unneeded: tuple[str, ...] = ()

    def warn(self) -> None:
        """Warn if the optimiser did not converge, or ended on a bound."""
        if not self.converged:
            warn(
                f"the search for hyper-parameters stopped early ({self.message}); standardise the "
                "data, pass better starting values, or use restarts.",
                ConvergenceWarning,
            )
        if self.at_bounds:
            warn(
                f"the search for hyper-parameters ended on a bound: {', '.join(self.at_bounds)}. "
                "Standardise X and y, so that bounds are further away and no feature is "
                "negligible next to larger ones (ard=True gives each a lengthscale), or use "
                "restarts; if this persists, the kernel tends to a simpler one (Linear, a "
                "constant, no kernel at all): use that, or name the parameter in fixed.",
                BoundWarning,
            )

    def __str__(self) -> str:
        lines = [
            f"{readable(self.kernel)}, alpha = {self.alpha:.4g}: criterion {self.value:.6g} after "
            f"{self.n_evaluations} evaluations"
        ]
        if not self.converged:
            lines.append(f"not converged: {self.message}")
        if self.at_bounds:
            lines.append(f"on a bound: {', '.join(self.at_bounds)}")
        if self.unneeded:
            lines.append(f"not needed: {', '.join(self.unneeded)}")
        return "\n".join(lines)


class Candidate(NamedTuple):
    """One of several kernels that were tried.

    Attributes
    ----------
    kernel : Kernel or list of Kernel
        As it was tuned: one for each problem of a GaussianProcessClassifier.
    value : float
        The criterion: small is good.
    """

    kernel: Any
    value: float


def readable(kernel: Kernel) -> Kernel:
    """The same kernel with numbers of four digits."""
    rounded = copy_params(kernel)
    for h in kernel.hyperparameters():
        digits = np.array([float(f"{v:.4g}") for v in np.ravel(h.value)])
        rounded.set_params(**{h.name: digits if np.ndim(h.value) else float(digits[0])})
    return rounded


def bounded(kernel: Kernel, unit: float = 1.0) -> list[Hyperparameter]:
    """The hyper-parameters of a kernel; weights are bounded in multiples of a variance."""

    def range_of(h: Hyperparameter) -> tuple[float, float]:
        return (h.bounds[0] * unit, h.bounds[1] * unit) if _is_constant(h) else h.bounds

    return [h._replace(bounds=range_of(h)) for h in kernel.hyperparameters()]


def ends(
    kernel: Kernel, fixed: tuple[str, ...], X: Data, noise: float, unit: float = 1.0
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Which hyper-parameters that were free ended on a bound, and which parts are not needed.

    A weight at its lower bound switches off what it multiplies, and nothing there matters, unless
    that is not small beside the rest of K and the noise: a bound may be too high. A lengthscale at
    its upper bound switches off a feature, or a kernel, unless all are there.
    """
    known = [h for h in bounded(kernel, unit) if h.name not in fixed]
    low_ones = [h for h in known if _is_constant(h) and _on(h, _NEAR)[0].any()]
    off = [_owner(kernel, h.name) for h in low_ones if _share(kernel, h, X, noise) < _NOTHING]
    known = [h for h in known if not any(h.name.startswith(prefix) for prefix in off)]
    lengths = [_on(h, _NEAR)[1] for h in known if _is_length(h)]
    some_matter = bool(lengths) and not np.concatenate(lengths).all()
    bounds: list[str] = []
    unneeded = [repr(readable(_part(kernel, prefix))) for prefix in off]
    for h in known:
        low, high = _on(h)
        bounds += [f"{name} = {h.bounds[0]:g}" for name in _named(h, low)]
        if _is_length(h) and some_matter:
            unneeded += _named(h, _on(h, _NEAR)[1])
        else:
            bounds += [f"{name} = {h.bounds[1]:g}" for name in _named(h, high)]
    return tuple(bounds), tuple(unneeded)


def _share(kernel: Kernel, h: Hyperparameter, X: Data, noise: float) -> float:
    """The part of the variance of y, under the model, that goes with a weight."""

    def variance(k: Kernel) -> float:
        return float(np.mean(k.diag(k.prepare(X)), dtype=float))

    half = copy_params(kernel).set_params(**{h.name: h.value / 2})
    total = variance(kernel)
    return 2 * (total - variance(half)) / (total + noise or 1.0)


def _is_constant(h: Hyperparameter) -> bool:
    return h.name.endswith("__value")


def _is_length(h: Hyperparameter) -> bool:
    return h.name.endswith("lengthscale")


def _on(h: Hyperparameter, within: float = _ON) -> tuple[np.ndarray, np.ndarray]:
    """Which entries are on the lower, and on the upper bound."""
    low, high = h.bounds
    value = np.ravel(h.value)
    if h.log:
        return np.log(value / low) < within, np.log(high / value) < within
    return value - low < _ON * (high - low), high - value < _ON * (high - low)


def _named(h: Hyperparameter, which: np.ndarray) -> list[str]:
    return [f"{h.name}[{i}]" if np.ndim(h.value) else h.name for i in np.flatnonzero(which)]


def _owner(kernel: Kernel, name: str) -> str:
    """The prefix of what a constant switches off at zero: the product it is in, or itself."""
    itself = name.removesuffix("value")
    product, _, _ = itself.removesuffix("__").rpartition("__")
    product = f"{product}__" if product else ""
    return product if isinstance(_part(kernel, product), Product) else itself


def _part(kernel: Kernel, prefix: str) -> Any:
    """The kernel that a nested name begins with."""
    for name in prefix.split("__")[:-1]:
        kernel = getattr(kernel, name)
    return kernel
