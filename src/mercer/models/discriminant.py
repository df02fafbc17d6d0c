"""Fisher's discriminant in feature space."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from ..checks import as_numbers, check_count, check_positive
from ..data import Data
from ..gram.plan import Plan
from ..solvers.discriminant import fisher_directions
from .common import (
    Classifier,
    KernelByName,
    all_or_nothing,
    check_class_weights,
    check_data,
    check_weights,
)
from .kept import KEPT, KeepsSamples
from .labels import check_labels


@dataclass(eq=False, repr=False)
class KernelFisherDiscriminant(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, Classifier, KeepsSamples, KernelByName
):
    r"""Fisher's discriminant in feature space: functions that tell classes apart.

    .. math:: \max_{f \in H_k} \frac{\sum_c W_c (m_c(f) - m(f))^2}
              {\sum_i w_i (f(x_i) - m_{c(i)}(f))^2 + \alpha \|f\|^2}

    where m_c(f) is the (weighted) mean of f over class c, of total weight W_c. The best function,
    the best one uncorrelated with it, and so on: there is one fewer than there are classes.
    :meth:`transform` returns their values, scaled so that scatter within classes and penalty add up
    to 1. New samples are assigned to the class with the closest mean, taking priors into account.
    With the linear kernel this is regularised linear discriminant analysis.

    Parameters
    ----------
    n_components : int, optional
        The number of functions; all by default.
    alpha : float
        Strength of the penalty, > 0.
    kernel : Kernel, str or callable
        A kernel; a name known to scikit-learn; or a function of two samples.
    gamma, degree, coef0, kernel_params
        Parameters of kernels given by name, as in scikit-learn.
    priors : array of shape (k,), optional
        Probabilities of the classes; by default their shares of the weight.
    plan : Plan, optional
        Memory and threads to use, and how K is stored. With ``Plan(rank=500)`` time and memory
        grow with the number of samples, not with its square.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    ratios_ : ndarray of shape (q,)
        The criterion of each function.
    means_ : ndarray of shape (k, q)
        The means of the classes in the space of :meth:`transform`.
    priors_ : ndarray of shape (k,)
        The probabilities of the classes.
    dual_coef_ : ndarray of shape (n_kept, q)
        Coefficients of the functions.
    rkhs_function_ : RKHSFunction
        The functions, as elements of H_k.
    X_fit_, n_samples_seen_, kernel_, gram_
        As for :class:`KernelRidge`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, KernelFisherDiscriminant
    >>> angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> X, y = np.vstack([0.3 * ring, ring]), np.repeat(["in", "out"], 40)
    >>> model = KernelFisherDiscriminant(kernel=Gaussian(0.5), alpha=0.1).fit(X, y)
    >>> model.score(X, y), model.transform(X).shape
    (1.0, (80, 1))

    References
    ----------
    Mika, Rätsch, Weston, Schölkopf & Müller, *Fisher discriminant analysis with kernels*, 1999;
    Baudat & Anouar, *Generalized discriminant analysis using a kernel approach*, 2000.
    """

    n_components: int | None = None
    _: KW_ONLY
    alpha: float = 1.0
    kernel: Any = "rbf"
    priors: Any = None
    plan: Plan | None = None

    saved_state = (*KEPT, "classes_", "ratios_", "means_", "priors_", "_centre", "_weight")

    @all_or_nothing
    def fit(self, X: Data, y: Any, sample_weight: Any = None) -> Self:
        """Find the functions for samples X, labels y and weights."""
        check_positive("alpha", self.alpha)
        most = check_count("n_components", self.n_components, also=(None,))
        X = check_data(self, X, self.kernel, reset=True)
        y, codes = check_labels(self, X, y)
        given = check_weights(sample_weight, y)
        check_class_weights(self.classes_, codes, given)
        weights = np.ones(len(codes)) if given is None else given
        k = len(self.classes_)
        if most is not None and most > k - 1:
            raise ValueError(
                f"n_components={most} is more than {k - 1}, the maximum for {k} classes."
            )
        self.priors_ = self._check_priors(codes, weights)
        gram = self._stored((self.plan or Plan()).beside(2).gram(self._as_kernel(X), X))
        found = fisher_directions(gram, codes, weights, float(self.alpha), most or k - 1)
        self._keep_function(gram, X, found.coef)
        self.ratios_, self.means_, self._centre = found.ratios, found.means, found.centre
        self._weight = float(weights.sum())
        return self

    def transform(self, X: Data) -> np.ndarray:
        """Values of the functions, less their means: shape (m, q)."""
        return self._coordinates(X)

    def decision_function(self, X: Data) -> np.ndarray:
        """Scores of the classes, shape (m, k); of two classes the difference, (m,).

        log priors less half the squared distance to the mean, in units of the spread of classes.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Data) -> np.ndarray:
        """The class with the largest score."""
        best = np.argmax(self._scores(X), axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Data) -> np.ndarray:
        """Probabilities, if classes are normal along the functions, with the same spread."""
        return softmax(self._scores(X), axis=1)

    def _coordinates(self, X: Data) -> np.ndarray:
        return self._evaluate(X) - self._centre

    def _scores(self, X: Data) -> np.ndarray:
        Z = self._coordinates(X)  # transform may return a table
        distances = np.sum((Z[:, None] - self.means_) ** 2, axis=2)
        with np.errstate(divide="ignore"):
            return np.log(self.priors_) - self._weight / 2 * distances

    @property
    def _n_features_out(self) -> int:
        return self.dual_coef_.shape[1]

    def _check_priors(self, codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        if self.priors is None:
            totals = np.bincount(codes, weights)
            return totals / totals.sum()
        priors = as_numbers("priors", self.priors)
        fine = priors.shape == self.classes_.shape and np.all(priors >= 0) and priors.sum() > 0
        if not (fine and np.all(np.isfinite(priors))):
            raise ValueError(
                f"priors must be {len(self.classes_)} numbers >= 0, one for each class, got "
                f"{self.priors!r}."
            )
        return priors / priors.sum()
