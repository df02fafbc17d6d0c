"""Labels of sequences, by a kernel on their elements and on neighbouring labels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..checks import check_count, check_number, check_positive
from ..data import Data
from ..gram.plan import Plan
from ..solvers.chain import expectations, solve_chain
from ..solvers.chain_loops import best_labels
from .common import (
    Classifier,
    KernelByName,
    all_or_nothing,
    check_data,
    check_groups,
    without_masks,
)
from .kept import KEPT, KeepsSamples
from .labels import check_labels


@dataclass(eq=False, repr=False)
class SequenceLabeller(KeepsSamples, Classifier, KernelByName):
    r"""Sequence labelling by a kernel conditional random field: all labels of a sequence are
    predicted together.

    .. math:: p(y \mid x) \propto \exp \sum_t \bigl( f_{y_t}(x_t) + T_{y_{t-1} y_t} \bigr), \qquad
              \min_{f_a \in H_k,\, T} -\sum_i \log p(y_i \mid x_i)
              + \tfrac{\alpha}{2} \Bigl( \sum_a \|f_a\|^2
              + \tfrac{1}{\tau} \sum_{ab} T_{ab}^2 \Bigr)

    A conditional random field in the space of a joint kernel of sequences and their labellings,

    .. math:: K((x, y), (x', y')) = \sum_{s, t} [y_s = y'_t]\, k(x_s, x'_t)
              + \tau \sum_{s, t} [y_{s-1} = y'_{t-1},\, y_s = y'_t]

    An element may be anything that k takes: a vector, a word, a graph. The label of an element
    depends on the element and, through T, on the neighbouring labels; the first label of a sequence
    has its own scores. Without transitions, tau = 0, this is multinomial logistic regression of
    single elements.

    Samples are the elements of all sequences, and ``groups`` says which sequence each belongs to;
    within a sequence, they must be in order.

    Parameters
    ----------
    alpha : float
        Strength of the penalty, > 0.
    kernel : Kernel, str or callable
        A kernel on elements; a name known to scikit-learn; or a function of two elements.
    gamma, degree, coef0, kernel_params
        Parameters of kernels given by name, as in scikit-learn.
    transition_weight : float
        tau >= 0: the weight of transitions relative to elements.
    tol : float
        The duality gap, relative to the loss of equal probabilities, at which to stop.
    max_iter : int, optional
        The maximum number of steps; 1,000 by default.
    plan : Plan, optional
        Memory and threads to use, and how K is stored.

    Attributes
    ----------
    classes_ : ndarray of shape (k,)
        The labels.
    dual_coef_ : ndarray of shape (n, k)
        Coefficients of f_a = sum_t c_ta k(x_t, .).
    transitions_ : ndarray of shape (k, k)
        T: scores of one label (row) followed by another (column).
    first_ : ndarray of shape (k,)
        Scores of labels that come first.
    solution_ : ChainSolution
        The certificate: objective, duality gap, seconds.
    rkhs_function_ : RKHSFunction
        The functions f_a as elements of H_k.
    n_iter_, X_fit_, n_samples_seen_, kernel_, gram_
        As for :class:`KernelRidge`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, KernelLogisticRegression, SequenceLabeller
    >>> rng = np.random.default_rng(0)
    >>> groups = np.repeat(np.arange(40), 25)
    >>> y = np.cumsum(rng.random(1000) < 0.1) % 2  # states that last for ten steps
    >>> X = y[:, None] + rng.standard_normal((1000, 1))  # and are seen through noise
    >>> train, test = groups < 20, groups >= 20
    >>> model = SequenceLabeller(kernel=Gaussian()).fit(X[train], y[train], groups[train])
    >>> alone = KernelLogisticRegression(kernel=Gaussian()).fit(X[train], y[train])
    >>> model.score(X[test], y[test], groups[test]) > 0.75
    True
    >>> alone.score(X[test], y[test]) < 0.7
    True

    References
    ----------
    Lafferty, Zhu & Liu, *Kernel conditional random fields*, ICML 2004; Altun, Tsochantaridis &
    Hofmann, *Hidden Markov support vector machines*, ICML 2003.
    """

    alpha: float = 1.0
    _: KW_ONLY
    kernel: Any = "rbf"
    transition_weight: float = 1.0
    tol: float = 1e-5
    max_iter: int | None = None
    plan: Plan | None = None

    saved_state = (*KEPT, "classes_", "transitions_", "first_", "n_iter_")

    @all_or_nothing
    def fit(self, X: Data, y: Any, groups: Any = None) -> Self:
        """Fit to elements X, their labels, and the sequences that they belong to.

        Parameters
        ----------
        X, y : data
            Elements of all sequences, and their labels.
        groups : array of shape (n,), optional
            The sequence of each element; by default all are one.
        """
        check_positive("alpha", self.alpha)
        check_number("tol", self.tol, "> 0", lambda tol: tol > 0)
        check_number(
            "transition_weight", self.transition_weight, ">= 0 and finite",
            lambda tau: 0 <= tau < np.inf,
        )  # fmt: skip
        check_count("max_iter", self.max_iter, also=(None,))
        X = check_data(self, X, self.kernel, reset=True)
        _, codes = check_labels(self, X, y)
        order, starts = _sequences(X, groups)
        gram = self._stored((self.plan or Plan()).gram(self._as_kernel(X), X))
        found = solve_chain(
            gram, codes, order, starts, len(self.classes_), float(self.alpha),
            tau=float(self.transition_weight), tol=self.tol, max_iter=self.max_iter,
        )  # fmt: skip
        found.warn()
        self._keep_function(gram, X, found.coef)
        self.transitions_, self.first_ = found.transitions[:-1], found.transitions[-1]
        self.n_iter_, self.solution_ = max(1, found.n_iter), found
        return self

    def predict(self, X: Data, groups: Any = None) -> np.ndarray:
        """The labels of the most probable labelling of each sequence."""
        F, order, starts = self._scores(X, groups)
        labels = np.empty(len(F), np.int64)
        labels[order] = best_labels(np.ascontiguousarray(F[order]), self._table(), starts)
        return self.classes_[labels]

    def predict_proba(self, X: Data, groups: Any = None) -> np.ndarray:
        """Probabilities of the labels of each element, given its sequence; shape (n, k)."""
        F, order, starts = self._scores(X, groups)
        return expectations(F, self._table(), order, starts)[1]

    @without_masks
    def log_probability(self, X: Data, y: Any, groups: Any = None) -> np.ndarray:
        """log p(y | x) of each sequence as a whole, in the order of ``numpy.unique(groups)``."""
        F, order, starts = self._scores(X, groups)
        codes = self._codes_of(y, F)[order]
        T = self._table()
        own = np.add.reduceat(F[order, codes], starts[:-1])
        steps = T[np.append(len(self.classes_), codes[:-1]), codes]
        steps[starts[:-1]] = T[-1, codes[starts[:-1]]]
        totals = expectations(F, T, order, starts)[0]
        return own + np.add.reduceat(steps, starts[:-1]) - totals

    @without_masks
    def score(self, X: Data, y: Any, groups: Any = None) -> float:
        """The share of elements with the correct label."""
        found, y = self.predict(X, groups), column_or_1d(y)
        check_consistent_length(found, y)
        return float(np.mean(found == y))

    def _table(self) -> np.ndarray:
        return np.vstack([self.transitions_, self.first_])

    def _scores(self, X: Data, groups: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """f_a(x_t), and the sequences."""
        F = np.asarray(self._evaluate(X), dtype=np.float64)
        return F, *_sequences(F, groups)

    def _codes_of(self, y: Any, F: np.ndarray) -> np.ndarray:
        check_is_fitted(self)
        y = column_or_1d(y)
        check_consistent_length(F, y)
        strange = ~np.isin(y, self.classes_)
        if strange.any():
            raise ValueError(
                f"y has the label {y[strange].tolist()[0]!r}, which did not occur in fit; "
                f"{self.classes_.tolist()}."
            )
        return np.searchsorted(self.classes_, y)


def _sequences(X: Data, groups: Any) -> tuple[np.ndarray, np.ndarray]:
    """Elements, one sequence after the other, and where these begin."""
    codes = check_groups(X, groups)
    return np.argsort(codes, kind="stable"), np.append(0, np.cumsum(np.bincount(codes)))
