"""Online learning with any loss: Newton steps, NORMA and its implicit form, within a budget."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..checks import check_number
from ..data import Data
from ..losses.classification import Logistic, Multinomial
from ..losses.named import as_loss
from ..params import copy_params
from .by_loss import ByLoss
from .common import (
    all_or_nothing,
    check_data,
    check_stream_weights,
    check_targets,
)
from .labels import check_stream_labels
from .logistic import _probabilities
from .online_base import OnlineModel


def _has_probabilities(machine: Any) -> bool:
    return isinstance(as_loss(machine.loss), Logistic | Multinomial)


@dataclass(eq=False, repr=False)
class OnlineKernelMachine(ByLoss, OnlineModel):
    r"""Online learning with any loss, sample by sample, in bounded memory.

    .. math:: \min_{f \in H_k,\, b} \mathrm{E}\, L(y, f(x) + b) + \tfrac{\alpha}{2} \|f\|^2

    Sample t moves f and b by one step of size :math:`\eta_t`,

    .. math:: (f_t, b_t) = \arg\min_{f, b} \tfrac12 \|f - f_{t-1}\|^2 + \tfrac12 (b - b_{t-1})^2
              + \eta_t w_t \Big( L(y_t, f(x_t) + b) + \tfrac{\alpha}{2} \|f\|^2 \Big),

    or, with ``update="explicit"``, by that of NORMA, :math:`f_t = (1 - \eta_t w_t \alpha) f_{t-1} -
    \eta_t w_t L'(y_t, f_{t-1}(x_t) + b_{t-1})\, k(x_t, \cdot)`. An implicit step never overshoots
    the minimum of the loss, whatever the scale of k, of y and of outliers. By default, steps are of
    second order: f moves along k preconditioned with the second moments of all samples so far, in
    the span of the kept ones. How the stream is divided into calls of :meth:`partial_fit` makes
    little difference, and for single steps none except for rounding; kernel parameters that depend
    on data, such as "median", are fixed by the first call.

    alpha is per sample: on n samples it corresponds to ``n * alpha`` for :class:`KernelMachine`.

    Parameters
    ----------
    kernel : Kernel, str or callable
        A kernel on samples of any kind, a name known to scikit-learn, or a function of two samples.
    loss : Loss or str
        As in :class:`KernelMachine`: it says what is predicted.
    alpha : float
        Strength of the penalty, > 0. With constant steps, a sample is forgotten after about
        1 / (alpha eta) others.
    eta : "auto" or float
        Size of the steps, > 0; not used with ``schedule="inverse"``. By default several sizes are
        tried side by side, each a quarter of the next: 3.75 to 240 for implicit steps; 0.0625 to 1
        for Newton steps, as factors of sqrt(t) in the step of Newton's method on all samples so
        far (32 times that step at most). They share kernel values and kept samples, so this takes
        little time. Each sample is predicted before it is learned, and the model uses the size with
        the smallest loss so far; samples are weighted like iterates for ``average``. For explicit
        steps, 15.
    schedule : {"auto", "sqrt", "constant", "inverse"}
        eta / sqrt(t), where t is the sum of the weights so far. By default, the clock t is set back
        and the average restarted when the last iterate has predicted better than the average for so
        long that chance is ruled out: the data have changed. ``"sqrt"``: it is never set back.
        ``"constant"``: eta, for data that drift all the time. ``"inverse"``: 1 / (alpha t), which
        makes alpha the only parameter.
    update : {"auto", "newton", "implicit", "explicit"}
        ``"implicit"``, ``"explicit"``: where the derivative of the loss is evaluated, after the
        step or before it. ``"newton"``: steps are implicit and of second order, in the span of the
        first ``budget`` samples that are not copies of each other; if later samples lie outside of
        it, they replace the older half. Functions that vary on many scales are learned in one pass.
        This needs nine matrices of budget x budget numbers, and a few budget x budget operations
        for each sample. By default Newton steps, but implicit ones if ``eta``, ``average``,
        ``removal`` or ``schedule`` (other than ``"sqrt"``) is set, which apply to single steps;
        with budgets of more than 2000, or too large for the memory; and for kernels that turn out
        not to be positive semi-definite. The last two cause a warning; see ``update_``.
    budget : int or str
        The number of samples to keep or, for vectors, memory such as ``"10 MB"``. A step takes as
        many kernel values as samples are kept.
    removal : {"merge", "oldest", "smallest"}
        What to do when the budget is exceeded by single steps. ``"merge"``: the term of the new
        sample, or the smallest other one, is projected onto the kept sample with the closest
        feature, whichever loses less; this needs a matrix of budget x budget numbers.
        ``"oldest"``: drop the oldest, as NORMA does. ``"smallest"``: drop the other term with the
        smallest norm.
    average : bool or float
        Predict with the average of all iterates, weighted by t; a number is the length of the
        longest window, in samples.
    nu : float, optional
        With ``loss="epsilon_insensitive"``: the fraction of samples outside the tube, whose width
        is learned, starting from epsilon.
    fit_intercept : bool
        Whether to fit a constant b, which is not penalised.

    Attributes
    ----------
    X_fit_, dual_coef_, intercept_
        The kept samples, oldest first; coefficients c of shape (n,) or (n, k); b.
    classes_ : ndarray
        The classes, if the loss is for classification.
    n_samples_seen_ : int
        The length of the stream so far.
    epsilon_ : float
        The half width of the tube, with ``nu``.
    eta_ : float
        The step size that has predicted best so far.
    update_ : str
        The kind of the latest steps.
    kernel_, loss_ : Kernel, Loss
        The kernel and the loss with all parameters resolved to numbers.
    rkhs_function_ : RKHSFunction
        f as an element of H_k.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, OnlineKernelMachine
    >>> rng = np.random.default_rng(0)
    >>> model = OnlineKernelMachine(Gaussian(0.5), "logistic", budget=100)
    >>> for _ in range(20):  # a stream
    ...     X = rng.uniform(-1, 1, (100, 2))
    ...     model = model.partial_fit(X, X[:, 0] * X[:, 1] > 0, classes=[False, True])
    >>> model.predict([[0.5, 0.5], [0.5, -0.5]]), len(model.X_fit_)
    (array([ True, False]), 100)

    References
    ----------
    Kivinen, Smola & Williamson, *Online learning with kernels*, 2004. Kulis & Bartlett, *Implicit
    online learning*, ICML 2010. Wang, Crammer & Vucetic, *Breaking the curse of kernelization:
    budgeted stochastic gradient descent*, 2012. Cesa-Bianchi & Lugosi, *Prediction, learning, and
    games*, 2006 (the best of several predictors). Bordes, Bottou & Gallinari, *SGD-QN*, JMLR 2009
    (second moments). Bach & Maloof, *Paired learners for concept drift*, ICDM 2008 (a predictor
    that reacts beside one that is stable).
    """

    kernel: Any = "rbf"
    loss: Any = "squared"
    alpha: float = 1e-5
    _: KW_ONLY
    eta: Any = "auto"
    schedule: str = "auto"
    update: str = "auto"
    budget: int | str = 1000
    removal: str = "merge"
    average: bool | float = True
    nu: float | None = None
    fit_intercept: bool = True

    saved_state = (*OnlineModel.saved_state, "loss_", "classes_")

    @all_or_nothing
    def fit(self, X: Data, y: Any, sample_weight: Any = None) -> Self:
        """One pass over samples X, targets or labels y, and weights, from the beginning."""
        self._forget()
        return self._take(X, y, None, sample_weight, whole=True)

    @all_or_nothing
    def partial_fit(self, X: Data, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Continue with more samples.

        Parameters
        ----------
        X, y : data, array
            Any number of samples, with targets or labels.
        classes : array, optional
            All classes that will occur; needed in the first call only, by default those of its
            labels.
        sample_weight : array, optional
            Factors of the steps; samples of weight 0 are ignored.
        """
        return self._take(X, y, classes, sample_weight, whole=False)

    @property
    def epsilon_(self) -> float:
        """The half width of the tube."""
        check_is_fitted(self)
        state = self._state
        return float((state.mean_tube if self.average else state.tube)[state.best])

    @property
    def eta_(self) -> float:
        """The step size that has predicted best so far."""
        check_is_fitted(self)
        return self._lengths(self.update_)[self._state.best]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Data) -> np.ndarray:
        """Probabilities of losses that have them, one column per class.

        Of one logistic machine against the rest for each class: scaled to a sum of one.
        """
        f = self._values(X)
        if f.ndim == 1 or self.loss_.targets == "classes":
            return _probabilities(f)
        each = expit(f)
        return each / each.sum(axis=1, keepdims=True)

    # ---- parts -----------------------------------------------------------------------------
    def _take(self, X: Data, y: Any, classes: Any, sample_weight: Any, whole: bool) -> Self:
        first = not hasattr(self, "_state")
        self._check_parameters()
        loss = copy_params(as_loss(self.loss))
        outside = self._check_nu(loss)
        if not first and loss.targets != self.loss_.targets:
            raise ValueError(
                f"loss={self.loss!r} is for other targets than {self.loss_!r}, with which "
                "training began; call fit to start again."
            )
        X = check_data(self, X, self.kernel, reset=first, keep=False)
        labels = loss.targets in ("sign", "classes")
        if labels:
            y = check_stream_labels(self, X, y, classes, first)
        else:
            y = column_or_1d(check_targets(self, X, y), warn=True)
        weights = check_stream_weights(X, sample_weight, begun=not first)
        if not labels:
            loss.check_targets(y, weights, intercept=whole and self.fit_intercept)
        several = labels and (len(self.classes_) > 2 or loss.targets == "classes")
        if labels and loss.targets == "sign":
            against = np.arange(len(self.classes_)) if several else [1]
            y = np.where(y[:, None] == against, 1.0, -1.0)
        else:
            y = y.astype(np.float64)[:, None]
        if first:
            dual = loss.dual(y[:1])
            tube = 0.0 if dual is None else float(dual.epsilon)
            self._begin(X, len(self.classes_) if several else 1, tube)
        self.loss_ = loss
        self._learn(X, loss, y, weights, self.fit_intercept, outside=outside)
        return self

    def _check_nu(self, loss: Any) -> float:
        """The fraction of samples outside an adaptive tube; -1 if there is none."""
        if self.nu is None:
            return -1.0
        check_number("nu", self.nu, "in (0, 1) or None", lambda nu: 0 < nu < 1)
        if loss.smooth or not hasattr(loss, "epsilon"):
            raise ValueError(
                f'nu={self.nu!r} is for loss="epsilon_insensitive", since it adapts the width of '
                f"the tube; got {loss!r}."
            )
        return float(self.nu)
