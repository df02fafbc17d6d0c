"""Pictures as objects, by scikit-learn's convention: made once, drawn again, with their axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

from ..data import Data
from .calibration import plot_coverage, plot_reliability
from .figure import Axes
from .functions import plot_kernel
from .grams import plot_gram
from .inspection import plot_correlations, plot_curve, plot_importance, plot_partial
from .models import plot_predictions
from .regression import plot_fit
from .selection import plot_grid
from .svm import plot_decision
from .two_sample import plot_null, plot_witness


class Display:
    """What is drawn, and where it was drawn last.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last call of ``plot``.
    figure_ : matplotlib Figure
        Their figure.
    """

    draws: ClassVar[Callable[..., Any]]

    def __init__(self, *subject: Any, **options: Any) -> None:
        self.subject, self.options = subject, options

    def plot(self, ax: Axes | None = None, **options: Any) -> Self:
        """Draw it, into the given axes or into a new figure; options replace earlier ones."""
        draws: Any = type(self).draws
        self.ax_: Any = draws(*self.subject, ax=ax, **self.options | options)
        self.figure_: Any = self.ax_.figure
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(type(s).__name__ for s in self.subject)})"


class _OfEstimator(Display):
    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Data, y: Any = None, *, ax: Axes | None = None, **options: Any
    ) -> Self:
        """The picture of a fitted estimator on samples X with targets y."""
        return cls(estimator, X, y, **options).plot(ax)


class FitDisplay(_OfEstimator):
    """A regression of one variable (:func:`plot_fit`).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, KernelRidge
    >>> from mercer.plots import FitDisplay
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> model = KernelRidge(0.1, kernel=Gaussian()).fit(X, np.sin(X[:, 0]))
    >>> shown = FitDisplay.from_estimator(model, X, np.sin(X[:, 0]))  # doctest: +SKIP
    >>> shown.figure_.savefig("fit.png")  # doctest: +SKIP
    """

    draws = staticmethod(plot_fit)


class DecisionDisplay(_OfEstimator):
    """The decision regions of a classifier in the plane (:func:`plot_decision`)."""

    draws = staticmethod(plot_decision)


class CoverageDisplay(_OfEstimator):
    """Coverage of prediction intervals (:func:`plot_coverage`)."""

    draws = staticmethod(plot_coverage)


class ReliabilityDisplay(_OfEstimator):
    """A reliability diagram of a classifier (:func:`plot_reliability`)."""

    draws = staticmethod(plot_reliability)


class PredictionDisplay(_OfEstimator):
    """Observed against predicted values (:func:`plot_predictions`)."""

    draws = staticmethod(plot_predictions)


class CurveDisplay(_OfEstimator):
    """ROC or precision-recall curves of a classifier (:func:`plot_curve`)."""

    draws = staticmethod(plot_curve)


class ImportanceDisplay(_OfEstimator):
    """Permutation importance of columns (:func:`plot_importance`)."""

    draws = staticmethod(plot_importance)


class CorrelationDisplay(_OfEstimator):
    """Scores of two views (:func:`plot_correlations`)."""

    draws = staticmethod(plot_correlations)


class PartialDisplay(Display):
    """How predictions depend on a column (:func:`plot_partial`)."""

    draws = staticmethod(plot_partial)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Data, column: Any, *, ax: Axes | None = None, **options: Any
    ) -> Self:
        """The picture of a fitted estimator on samples X, for one of their columns."""
        return cls(estimator, X, column, **options).plot(ax)


class GridDisplay(Display):
    """Cross-validated scores over a grid (:func:`plot_grid`)."""

    draws = staticmethod(plot_grid)

    @classmethod
    def from_estimator(cls, estimator: Any, across: str, *, ax: Axes | None = None) -> Self:
        """The scores of a fitted search, with the parameter ``across`` on the horizontal axis."""
        return cls(estimator.cv_results_, across).plot(ax)


class KernelDisplay(Display):
    """Sections of a kernel on the line (:func:`plot_kernel`)."""

    draws = staticmethod(plot_kernel)

    @classmethod
    def from_kernel(cls, kernel: Any, *, ax: Axes | None = None, **options: Any) -> Self:
        """The picture of a kernel of one variable."""
        return cls(kernel, **options).plot(ax)


class GramDisplay(Display):
    """A kernel matrix as a heat map (:func:`plot_gram`)."""

    draws = staticmethod(plot_gram)

    @classmethod
    def from_kernel(cls, kernel: Any, X: Data, *, ax: Axes | None = None, **options: Any) -> Self:
        """The heat map of a kernel on samples."""
        return cls(kernel.gram(X), **options).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None, **options: Any) -> Self:
        """The heat map of the kernel matrix that a fitted estimator keeps."""
        return cls(estimator.gram_, **options).plot(ax)


class NullDisplay(Display):
    """A null distribution with the observed statistic (:func:`plot_null`)."""

    draws = staticmethod(plot_null)

    @classmethod
    def from_result(cls, result: Any, *, ax: Axes | None = None) -> Self:
        """The picture of what a test returned."""
        return cls(result).plot(ax)


class WitnessDisplay(Display):
    """The witness function of two samples (:func:`plot_witness`)."""

    draws = staticmethod(plot_witness)

    @classmethod
    def from_samples(cls, X: Data, Y: Data, kernel: Any = None, *, ax: Axes | None = None) -> Self:
        """The picture of two samples on the line or in the plane."""
        return cls(X, Y, kernel).plot(ax)
