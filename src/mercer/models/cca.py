"""Kernel canonical correlation analysis of two or more views of the same samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.linalg as sla
from sklearn.utils.validation import check_is_fitted

from ..checks import check_count
from ..chunks.arrays import ArrayChunks
from ..chunks.base import Chunks
from ..data import Data, as_dense, length, take
from ..gram.plan import LEAN, Plan
from ..kernels.base import Kernel
from ..kernels.given.precomputed import Precomputed
from ..kernels.notation.named import as_kernel
from ..kernels.vectors.radial import Gaussian
from ..randomness import as_generator
from ..rkhs.function import RKHSFunction
from ..solvers.canonical import CanonicalProblem
from ..solvers.pivoted import pivoted_cholesky
from ..solvers.views import FactorView, GramView, View
from .cca_chunks import ChunkedView, chunked_views
from .common import all_or_nothing
from .multiview import (
    MultiViewModel,
    as_views,
    check_variance,
    check_weights,
    in_view,
    warn_if_trivial,
)
from .streamed import head, predicted

_EXACT = 3000  # samples up to which rank="auto" approximates nothing
_RANK = 500  # the most columns of a factor beyond
_NEGLIGIBLE = 0.01  # the variance a factor may leave out, relative to the regularization


class KernelView(NamedTuple):
    """A view in the form the solver takes, and how its functions are written.

    Attributes
    ----------
    view : View
        The Gram matrix or factor.
    kernel : Kernel
        The kernel with all parameters as numbers.
    X : data
        The samples.
    pivots : ndarray or None
        The samples at which functions are centred, if these are not all.
    left_out : float
        The share of the trace of K that a factor leaves out.
    """

    view: View
    kernel: Kernel
    X: Data
    pivots: np.ndarray | None
    left_out: float

    def written(self, coef: np.ndarray) -> tuple[Data, np.ndarray]:
        """The centres and dual coefficients of functions given as the solver gives them."""
        if isinstance(self.view, GramView):
            return self.X, coef
        assert isinstance(self.view, FactorView)
        if self.pivots is None:
            return self.X, self.view.dual(coef)
        corner = self.view.data[self.pivots]
        dual = sla.solve_triangular(corner, coef, trans="T", lower=True)
        if isinstance(self.kernel, Precomputed):  # its samples only exist within the full matrix
            full = np.zeros((length(self.X), dual.shape[1]))
            full[self.pivots] = dual
            return self.X, full
        return take(self.X, self.pivots), dual


@dataclass(eq=False, repr=False)
class KernelCCA(MultiViewModel):
    r"""Kernel canonical correlation analysis: functions of each view whose values are correlated.

    For two views of the same samples,

    .. math:: \max_{f \in H_k,\, g \in H_l} \frac{\operatorname{cov}(f(X), g(Y))}
              {\sqrt{\operatorname{var} f(X) + \lambda \|f\|^2}
               \sqrt{\operatorname{var} g(Y) + \lambda \|g\|^2}}

    and further pairs of functions that are uncorrelated with the pairs before. With centred Gram
    matrices K, L and f = sum_i c_i k(x_i, .) - mean, g likewise with d, this is the generalised
    eigenproblem

    .. math:: \begin{pmatrix} 0 & KL \\ LK & 0 \end{pmatrix} \begin{pmatrix} c \\ d \end{pmatrix}
              = \rho \begin{pmatrix} B_K & 0 \\ 0 & B_L \end{pmatrix}
              \begin{pmatrix} c \\ d \end{pmatrix}, \qquad
              B_K = K^2 + n \lambda K \quad\text{or}\quad (K + \kappa I)^2,\ \kappa = n\lambda/2

    For M > 2 views the matrices have M x M blocks, and the mean correlation of all pairs of views
    takes the place of the correlation.

    Without regularization, functions of a rich space agree on any finite sample: the correlation
    is 1 and means nothing. Choose it by cross-validation (:class:`KernelCCACV`), or judge a fit by
    :meth:`correlations` on samples it has not seen.

    Parameters
    ----------
    n_components : int
        The number of functions for each view.
    kernels : Kernel, str, callable, or list of them
        One kernel for all views, or one for each: views may be of different kinds. Kernels are
        given as in :class:`KernelRidge`. The default is ``Gaussian("median")``.
    regularization : float or list of float
        lambda >= 0, for all views or for each. It is compared with the variances of the principal
        components in feature space, which add up to at most 1 for a Gaussian kernel.
    form : {"ridge", "squared"}
        ``"ridge"`` is K^2 + n lambda K, the formula above; ``"squared"`` is (K + kappa I)^2 with
        kappa = n lambda / 2, which is larger by (n lambda)^2 / 4 I.
    rank : int, "auto" or None
        None is exact. A number replaces every Gram matrix by a pivoted Cholesky factor with this
        many columns, in O(n rank^2) time. ``"auto"`` is exact up to 3000 samples, and takes at
        most 500 columns beyond. Kernels with few features are exact in any case.
    plan : Plan, optional
        Memory and threads to use, and how K is stored.
    random_state : int, RandomState or None
        Used to draw the pivots of factors.

    Attributes
    ----------
    correlations_ : ndarray of shape (n_components,)
        rho, largest first: the regularised correlations in training; for M > 2 views, the
        eigenvalue divided by M - 1.
    dual_coef_ : list of ndarray of shape (n_centres, n_components)
        The coefficients of each view. The regularised variances of the functions of a component
        sum up to M; of two views, both are 1.
    points_ : list of data
        The samples x_i that the functions are centred at: the training samples, or the pivots.
    functions_ : list of RKHSFunction
        The canonical functions of each view as elements of its space, without the offset.
    offsets_ : list of ndarray of shape (n_components,)
        Their means over the training samples: scores are ``functions_[m](X) - offsets_[m]``.
    kernels_ : list of Kernel
        The kernels with every data-dependent parameter as a number.
    grams_ : list of Gram
        The operator of the ``points_`` of each view; ``explain()`` says how its K was used.
    left_out_ : ndarray of shape (M,)
        The share of the trace of each Gram matrix that its factor leaves out; 0 if exact.
    solution_ : CanonicalSolution
        The solver's certificate.

    Examples
    --------
    Two circles, run through at the same pace in different directions and with other noise:

    >>> import numpy as np
    >>> from mercer import KernelCCA
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(0, 2 * np.pi, 300)
    >>> X = np.column_stack([np.cos(t), np.sin(t)]) + rng.normal(0, 0.1, (300, 2))
    >>> Y = np.column_stack([np.sin(2 * t), np.cos(2 * t)]) + rng.normal(0, 0.1, (300, 2))
    >>> model = KernelCCA(n_components=2, regularization=0.01).fit(X[:200], Y[:200])
    >>> model.correlations(X[200:], Y[200:]).round(2)  # of samples the model has not seen
    array([0.96, 0.97])
    >>> [scores.shape for scores in model.transform([X, Y])]
    [(300, 2), (300, 2)]

    References
    ----------
    Akaho, *A kernel method for canonical correlation analysis*, IMPS 2001; Bach & Jordan, *Kernel
    independent component analysis*, JMLR 2002; Fukumizu, Bach & Gretton, *Statistical consistency
    of kernel canonical correlation analysis*, JMLR 2007.
    """

    n_components: int = 1
    _: KW_ONLY
    kernels: Any = None
    regularization: Any = 0.02
    form: str = "ridge"
    rank: Any = "auto"
    plan: Plan | None = None
    random_state: Any = None

    saved_state: ClassVar[tuple[str, ...]] = (
        "kernels_",
        "points_",
        "dual_coef_",
        "offsets_",
        "correlations_",
        "left_out_",
        "_columns",
    )

    @all_or_nothing
    def fit(self, X: Any, y: Data = None, sample_weight: Any = None) -> Self:
        """Find the canonical functions.

        Parameters
        ----------
        X : list of data
            Two or more data sets with one row per sample; or the first of two. They may be
            :class:`~mercer.chunks.Chunks`; kernels are then approximated with landmarks, as many as
            the ``rank`` of the plan or of the model, in one pass.
        y : data, optional
            The second view.
        sample_weight : array of shape (n,), optional
            Weights >= 0; a sample of weight two counts as two samples. Chunks have their own.
        """
        found = as_views(X, y)
        regularization = self._check_parameters(found, self.regularization, self.form)
        if any(isinstance(view, Chunks) for view in found):
            return self._solve(self._chunked(found, sample_weight), regularization)
        parts = self._make_views(found, sample_weight, float(regularization.min()))
        return self._solve(parts, regularization)

    def project(self, X: Data, view: int = 0) -> np.ndarray:
        self._check_number(view)
        if isinstance(X, Chunks):
            return predicted(partial(self.project, view=view), X)
        X = self._check_view(X, view, self.kernels_[view], reset=False)
        function = RKHSFunction(self.kernels_[view], self.points_[view], self.dual_coef_[view])
        return function(X) - self.offsets_[view]

    @property
    def functions_(self) -> list[RKHSFunction]:
        """The canonical functions of each view, without the offset."""
        check_is_fitted(self)
        names = [seen.get("feature_names_in_") for seen in self._columns]
        parts = zip(self.kernels_, self.points_, self.dual_coef_, names, strict=True)
        return [RKHSFunction(k, Z, dual, columns=known) for k, Z, dual, known in parts]

    @property
    def grams_(self) -> list[Any]:
        """The operator of the points of each view."""
        check_is_fitted(self)
        found = []
        for kernel, points, lost in zip(self.kernels_, self.points_, self.left_out_, strict=True):
            gram: Any = kernel.gram(points, self.plan)
            how = f"by a factor that leaves out {lost:.2g} of its trace" if lost else "exactly"
            gram.notes = (f"K of the training samples was used {how}",)
            found.append(gram)
        return found

    def _shares(self, X: Data, view: int, Q: np.ndarray) -> np.ndarray:
        X = self._check_view(X, view, self.kernels_[view], reset=False)
        gram = self.kernels_[view].gram(X, LEAN)
        ones = np.full((len(Q), 1), 1 / np.sqrt(len(Q)))
        V = np.hstack([Q, ones])
        squares = np.sum(V * (gram @ V), axis=0)
        return squares[:-1] / (float(gram.diag().sum()) - squares[-1])

    # ---- the parts of fit ------------------------------------------------------------------
    def _kernel_given(self, m: int) -> Any:
        kernels = self.kernels
        one = kernels[m] if isinstance(kernels, list | tuple) else kernels
        return Gaussian("median") if one is None else one

    def _make_views(
        self, views: list[Data], sample_weight: Any, smallest: float
    ) -> list[KernelView]:
        M, n = len(views), length(views[0])
        if isinstance(self.kernels, list | tuple) and len(self.kernels) != M:
            raise ValueError(
                f"kernels must be one kernel or one per view ({M}), got {len(self.kernels)}."
            )
        check_count("rank", self.rank, also=("auto", None))
        weights = check_weights(sample_weight, n)
        rng = as_generator(self.random_state, "random_state")
        self._columns = [{} for _ in views]
        parts = []
        for m, X in enumerate(views):
            given = self._kernel_given(m)
            X = self._check_view(X, m, given, reset=True)
            with in_view(m):
                gram = as_kernel(given, X).gram(X, self.plan)
                parts.append(self._make_view(gram, X, weights, smallest, rng))
            check_variance(m, *parts[-1].view.scale())
        return parts

    def _chunked(self, views: list[Any], sample_weight: Any) -> list[ChunkedView]:
        """Views of samples in chunks, through landmarks."""
        if sample_weight is not None:
            raise ValueError("chunks carry their own weights; omit it.")
        sources = [X if isinstance(X, Chunks) else ArrayChunks(X) for X in views]
        plan, rank = self.plan or Plan(), self.rank
        if plan.few is None:
            plan = plan.replace(rank=int(rank) if isinstance(rank, Integral) else _RANK)
        self._columns, kernels = [{} for _ in views], []
        for m, source in enumerate(sources):
            some = self._check_view(head(source), m, self._kernel_given(m), reset=True)
            with in_view(m):
                kernels.append(as_kernel(self._kernel_given(m), some))
        parts = chunked_views(sources, kernels, plan)
        for m, part in enumerate(parts):
            check_variance(m, *part.view.scale())
        return parts

    def _make_view(
        self,
        gram: Any,
        X: Data,
        weights: np.ndarray | None,
        regularization: float,
        rng: np.random.Generator,
    ) -> KernelView:
        """The exact Gram matrix or features where they are small enough, else a factor."""
        n, most = len(gram), n_columns(self.rank, len(gram))
        phi = gram.features
        if phi is not None and phi.shape[1] < n and phi.shape[1] <= most:
            phi = np.asarray(as_dense(phi))
            return KernelView(FactorView(phi, weights), gram.kernel, X, None, 0.0)
        if most >= n:
            what = f"an exact view of {n} samples"
            there = gram.fits(3)
            K = gram.arrays.get(gram.whole(what)) if there else gram.dense(what)
            exact = GramView(K, weights)
            exact.arrays = gram.arrays
            return KernelView(exact, gram.kernel, X, None, 0.0)
        gram = gram.unstored()  # a few columns are wanted, not all of K
        tol = 0.0
        if not isinstance(self.rank, Integral):
            tol = min(0.5, _NEGLIGIBLE * regularization / float(gram.diag().mean()))
        found = pivoted_cholesky(gram, most, tol, rng=rng)
        view = FactorView(found.factor, weights)
        return KernelView(view, gram.kernel, X, found.pivots, found.relative)

    def _solve(self, parts: Sequence[KernelView | ChunkedView], regularization: np.ndarray) -> Self:
        problem = CanonicalProblem([part.view for part in parts])
        found = problem.solve(regularization.tolist(), self.n_components, self.form).warn()
        if np.any(regularization == 0):
            ranks = [len(s) for s in problem.reduced.s]
            warn_if_trivial(ranks, regularization, parts[0].view.p)
        self.solution_ = found
        self.correlations_ = found.eigenvalues / (len(parts) - 1)
        self.kernels_ = [part.kernel for part in parts]
        written = [part.written(coef) for part, coef in zip(parts, found.coefs, strict=True)]
        self.points_ = [points for points, _ in written]
        self.dual_coef_ = [np.ascontiguousarray(dual) for _, dual in written]
        pairs = zip(parts, found.coefs, strict=True)
        self.offsets_ = [part.view.offset(coef) for part, coef in pairs]
        self.left_out_ = np.array([part.left_out for part in parts])
        return self


def n_columns(rank: Any, n: int) -> int:
    """The most columns of a factor; n where nothing is to be approximated."""
    if rank is None or (isinstance(rank, str) and n <= _EXACT):
        return n
    return min(n, _RANK if isinstance(rank, str) else int(rank))
