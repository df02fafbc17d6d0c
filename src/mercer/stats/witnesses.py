"""Where two samples differ: the witness function, its extremes, and the features it moves with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from ..data import Data, as_dense, as_vectors, length, take
from ..rkhs.function import RKHSFunction
from .samples import Samples


def witness(X: Data, Y: Data, kernel: Any = None) -> RKHSFunction:
    r"""The witness function: the function that best separates two samples, among all of a given
    norm in H_k.

    .. math:: w(\cdot) = \frac1n \sum_i k(x_i, \cdot) - \frac1m \sum_j k(y_j, \cdot)

    It is positive where X has more mass and negative where Y has. Its norm is the (biased) MMD,
    and so is the difference of its means over both samples, divided by the norm.

    Parameters
    ----------
    X, Y : data
        The samples.
    kernel : Kernel, str or callable, optional
        The kernel; by default ``Gaussian("median")``, resolved on both samples. After a test with
        several kernels, ``result.details["best"]`` is the one to look at.

    Returns
    -------
    RKHSFunction
        Call it at new points; ``w.norm()`` is the MMD.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, mmd, witness
    >>> X, Y = np.array([-1.0, 0.0, 1.0]), np.array([2.0, 3.0])
    >>> w = witness(X, Y, Gaussian())
    >>> bool(w([[0.0]])[0] > 0 > w([[3.0]])[0])
    True
    >>> bool(np.isclose(w.norm() ** 2, mmd(X, Y, Gaussian(), biased=True)))
    True

    References
    ----------
    Gretton, Borgwardt, Rasch, Schölkopf & Smola, *A kernel two-sample test*, JMLR 2012,
    section 2.3.
    """
    samples = Samples(X, Y, least=1)
    k = samples.kernel(kernel)
    n, m = samples.sizes
    return RKHSFunction(k, samples.data, np.where(samples.labels == 0, 1 / n, -1 / m))


class Extremes(NamedTuple):
    """Indices of samples where a function is largest, and where it is smallest."""

    highest: np.ndarray
    lowest: np.ndarray


def extremes(w: RKHSFunction, points: Data, count: int = 5) -> Extremes:
    """The samples at which a witness function is largest and smallest, most extreme first.

    Works for data of any kind: these are the strings, graphs or rows most typical of one sample
    and not of the other.

    Parameters
    ----------
    w : RKHSFunction
        The function.
    points : data
        Samples to choose from.
    count : int
        The number of samples at each end.

    Examples
    --------
    >>> from mercer import Spectrum, witness
    >>> from mercer.stats.witnesses import extremes
    >>> words = ["banana", "cabana", "kernel", "colonel"]
    >>> w = witness(words[:2], words[2:], Spectrum(2).normalize())
    >>> found = extremes(w, words, 1)
    >>> words[found.highest[0]], words[found.lowest[0]]
    ('cabana', 'colonel')
    """
    if not 1 <= count <= length(points):
        raise ValueError(f"count must be between 1 and {length(points)}, got {count!r}.")
    order = np.argsort(w(points), kind="stable")
    return Extremes(order[::-1][:count], order[:count])


def peak(w: RKHSFunction, points: Data, sign: float = 1.0) -> np.ndarray:
    """The point where a function of vectors is largest, by gradient ascent from the best sample.

    Parameters
    ----------
    w : RKHSFunction
        The function, of a differentiable kernel.
    points : array of shape (m, d)
        Samples; the search begins at the five best ones.
    sign : {1, -1}
        Look for the largest value or for the smallest.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, RKHSFunction
    >>> from mercer.stats.witnesses import peak
    >>> w = RKHSFunction(Gaussian(), [[0.0], [1.0]], [1.0, 1.0])
    >>> peak(w, np.array([[-1.0], [0.2]])).round(4)
    array([0.5])
    """
    P = as_vectors(points, "peak")
    order = np.argsort(-sign * w(P), kind="stable")[:5]

    def descend(start: np.ndarray) -> Any:
        def negative(x: np.ndarray) -> tuple[float, np.ndarray]:
            return -sign * float(w(x[None])[0]), -sign * w.gradient(x[None])[0]

        return minimize(negative, start, jac=True, method="L-BFGS-B")

    found = [descend(np.asarray(take(P, [i]), dtype=float)[0]) for i in order]
    return np.asarray(min(found, key=lambda result: result.fun).x)


def relevance(w: RKHSFunction, points: Data) -> np.ndarray:
    r"""The share of each feature in the gradient of a witness function; the shares sum to 1.

    .. math:: r_j \propto \sigma_j^2 \; \frac1m \sum_i \left(\partial_j w(x_i)\right)^2

    with the standard deviation of the feature, so that units do not matter. A description of the
    difference, not a test: correlated features share what either would get alone.

    Parameters
    ----------
    w : RKHSFunction
        The function, of a differentiable kernel on vectors.
    points : array of shape (m, d)
        Samples over which slopes are averaged, for example X and Y together.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import witness
    >>> from mercer.stats.witnesses import relevance
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(2, 200, 3))
    >>> Y[:, 1] += 1
    >>> print(relevance(witness(X, Y), np.vstack([X, Y])).argmax())
    1
    """
    P = as_dense(as_vectors(points, "relevance"))
    slopes = np.mean(w.gradient(P) ** 2, axis=0) * P.var(axis=0)
    total = slopes.sum()
    return np.asarray(slopes / total if total > 0 else np.full(len(slopes), 1 / len(slopes)))
