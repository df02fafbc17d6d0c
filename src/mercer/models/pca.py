"""Kernel principal component analysis: scikit-learn's estimator, on any kernel, data and size."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from ..checks import check_choice, check_count
from ..chunks.base import Chunk, Chunks
from ..data import Data, length, take
from ..gram.plan import Plan
from ..gram.scatter import scatter_of
from ..kernels.algebra.nystrom import Nystrom
from ..kernels.approximate.rules import Approximated
from ..kernels.base import Kernel
from ..kernels.notation.named import as_gamma
from ..ownership import owned
from ..randomness import as_generator
from ..rkhs.subspace import Subspace
from ..solvers.components import Spectrum, principal
from .common import SEEN, all_or_nothing, check_data, check_weights
from .kept import few_gram
from .pca_parts import Components, Place, Selection, Stream, from_spectrum, in_single
from .pca_subspace import PrincipalSubspace, in_precision_of
from .streamed import as_chunks, head

_LANDMARKS = 500
SOLVERS = ("auto", "dense", "arpack", "randomized", "krylov", "nystrom")


@dataclass(eq=False, repr=False)
class KernelPCA(PrincipalSubspace):
    r"""Kernel principal component analysis.

    The directions of largest variance among the features phi(x_i) = k(x_i, .), about their mean
    mu, as functions of norm one in H_k:

    .. math:: C = \frac1n \sum_i (\phi(x_i) - \mu) \otimes (\phi(x_i) - \mu), \qquad
              C v_j = \tfrac{\lambda_j}{n} v_j, \qquad
              v_j = \lambda_j^{-1/2} \sum_i u_{ij} (\phi(x_i) - \mu)

    where lambda_j and u_j are eigenvalues and unit eigenvectors of the centred Gram matrix H K H.
    A sample x has the coordinates <phi(x) - mu, v_j>. With weights w, the mean and the covariance
    are weighted, as if sample i occurred w_i times.

    A drop-in replacement for :class:`sklearn.decomposition.KernelPCA`: same parameters, same
    meaning, plus any :class:`~mercer.Kernel` on any data, sample weights, sample sizes at which an
    n x n matrix does not fit, incremental fits, and components as functions.

    Parameters
    ----------
    n_components : int, optional
        The number of components; by default all whose variance is not zero.
    kernel : Kernel, str or callable
        A kernel; a name known to scikit-learn; or a function of two samples or data sets.
    gamma, degree, coef0, kernel_params
        Parameters of kernels given by name, as in scikit-learn.
    alpha : float
        The penalty of the ridge regression that learns the inverse transform.
    fit_inverse_transform : bool
        Learn, by ridge regression with the same kernel, to go back from coordinates to samples.
    eigen_solver : {"auto", "dense", "arpack", "randomized", "krylov", "nystrom"}
        ``"dense"`` decomposes the whole matrix. ``"krylov"`` is block Lanczos: a few passes over K,
        which need not be stored. ``"randomized"`` is the same, stopped at a relative residual of
        0.05, where eigenvalues are accurate to about 1%, and in single precision (or after
        ``iterated_power`` + 1 passes, in that of the data). ``"nystrom"`` uses landmarks, and never
        computes all of K: see :class:`~mercer.Nystrom`; their number is the ``rank`` of the plan,
        or ten times ``n_components`` and at least 500.
    tol : float
        Relative residual ||A v - lambda v|| / lambda at which iterations stop; 0 is full
        precision (0.05 for ``"randomized"``).
    max_iter : int, optional
        The maximum number of iterations.
    iterated_power : int or "auto"
        Passes of ``"randomized"``.
    remove_zero_eig : bool
        Leave out components without variance.
    random_state : int, RandomState or None
        Used to draw starting vectors.
    copy_X : bool
        Keep a copy of X as ``X_fit_``. Otherwise X itself is kept, which saves memory, but then it
        must not change as long as the model is in use.
    n_jobs : int, optional
        The number of threads, unless the plan sets it; by default all cores.
    plan : Plan, optional
        Memory and threads to use, and how K is stored.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues lambda_j of the centred Gram matrix.
    eigenvectors_ : ndarray of shape (n_samples, n_components)
        Its unit eigenvectors u_j (with weights, of D^1/2 HKH D^1/2); not after ``partial_fit``, nor
        through fewer landmarks than samples (``transform(X) / sqrt(eigenvalues_)``), nor of chunks.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        lambda_j / n, and its share of the variance of all components.
    components_ : RKHSFunction
        The functions v_j: ``components_[j]`` is one of them.
    mean_ : RKHSFunction
        The mean mu of the features.
    subspace_ : Subspace
        mu + span{v_j}, with coordinates, projections and distances.
    X_fit_ : data
        The training samples, or the landmarks if these are fewer; not after ``partial_fit``.
    kernel_ : Kernel
        The kernel with data-dependent parameters resolved to numbers.
    gamma_ : float
        ``gamma`` as a number, for kernels given by name: 1 / n_features for None.
    gram_ : Gram
        The operator of ``X_fit_``; not after ``partial_fit``.
    solution_ : Spectrum
        The solver's certificate: method, residual, seconds; not after ``partial_fit``.
    n_samples_seen_ : int
        The number of samples in ``fit``, or in all calls of ``partial_fit``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, KernelPCA
    >>> angle = np.linspace(0, 6, 60)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> model = KernelPCA(2, kernel=Gaussian(2.0)).fit(X)
    >>> model.explained_variance_ratio_.round(2)
    array([0.48, 0.46])
    >>> model.components_.norm().round(6)
    array([1., 1.])

    References
    ----------
    Schölkopf, Smola & Müller, *Nonlinear component analysis as a kernel eigenvalue problem*, 1998.
    """

    n_components: int | None = None
    _: KW_ONLY
    kernel: Any = "linear"
    alpha: float = 1.0
    fit_inverse_transform: bool = False
    eigen_solver: str = "auto"
    tol: float = 0
    max_iter: int | None = None
    iterated_power: Any = "auto"
    remove_zero_eig: bool = False
    random_state: Any = None
    copy_X: bool = True
    n_jobs: int | None = None
    plan: Plan | None = None

    factorises: ClassVar[bool] = False
    saved_state = (
        *SEEN,
        "kernel_",
        "X_fit_",
        "eigenvalues_",
        "eigenvectors_",
        "n_samples_seen_",
        "gamma_",
        "dual_coef_",
        "X_transformed_fit_",
        "_affine",
        "_totals",
        "_stream",
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self.fit_inverse_transform
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # ---- fitting -------------------------------------------------------------------------
    @all_or_nothing
    def fit(self, X: Data, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the components of samples X, with weights; y is ignored.

        X may be :class:`~mercer.chunks.Chunks`, which carry their own weights, or a memory
        map where the plan has a rank: mean and scatter of landmark features are then summed up in
        one pass, and nothing else is kept.
        """
        chunks = as_chunks(X, None, sample_weight, self.plan, targets=False)
        if chunks is None:
            self._fit(X, sample_weight)
        else:
            self._fit_chunks(chunks)
        return self

    @all_or_nothing
    def fit_transform(self, X: Data, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Find the components, and return the coordinates of X, shape (n, n_components)."""
        chunks = as_chunks(X, None, sample_weight, self.plan, targets=False)
        if chunks is None:
            return in_precision_of(X, self._fit(X, sample_weight))
        self._fit_chunks(chunks)
        return self.transform(chunks)

    @available_if(lambda self: not self.fit_inverse_transform)
    @all_or_nothing
    def partial_fit(self, X: Data, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a batch of a stream, in memory that does not grow with its length.

        The first batch supplies the landmarks, chosen by randomly pivoted Cholesky, unless the
        kernel is a :class:`~mercer.Nystrom` that has some. From then on only the mean and the
        scatter of the landmark features are kept, so the result is exactly that of
        ``eigen_solver="nystrom"`` with these landmarks on all batches together. What later batches
        hold outside the span of the landmarks is not seen; ``explained_variance_ratio_`` counts
        it as unexplained. Not available with ``fit_inverse_transform``.
        """
        self._check_parameters()
        first = not hasattr(self, "_stream")
        X = check_data(self, X, self.kernel, reset=first)
        weights = check_weights(sample_weight, np.empty(length(X)))
        if first:
            self._forget()
            kernel = self._make_kernel(X)
            if not isinstance(kernel, Nystrom | Approximated):
                kernel = self._landmark_plan().through(kernel)
            self.kernel_ = kernel.resolve(X)
            self.n_samples_seen_ = 0
        P = self.kernel_.prepare(X)
        phi = self.kernel_.features(P)
        seen = Stream(*self._stream) if not first else Stream.empty(phi.shape[1])
        seen = seen.take_in(self.kernel_, P, weights)
        self.n_samples_seen_ += length(X)
        self._stream = tuple(seen)
        n, none, place = self.n_samples_seen_, phi[:0], Place.of_landmarks(self.kernel_)
        self._keep(seen.components(place, n, none, None, self._selection(phi.dtype)))
        return self

    def _fit(self, X: Data, sample_weight: Any) -> np.ndarray:
        """Everything; returns the coordinates of the training samples."""
        self._check_parameters()
        X = check_data(self, X, self.kernel, reset=True, keep=bool(self.copy_X))
        weights = check_weights(sample_weight, np.empty(length(X)))
        self._forget()
        plan = self._landmark_plan() if self.eigen_solver == "nystrom" else self._plan()
        self.X_fit_, self.n_samples_seen_ = X, length(X)
        self.gram_ = self._make_kernel(X).gram(X, plan)
        self.kernel_ = self.gram_.kernel
        if self.gram_.streamed:  # coordinates of all samples are stored in any case
            self.gram_ = few_gram(self.kernel_, X, plan)
        landmarks = isinstance(self.kernel_, Nystrom)
        found = self._from_landmarks(weights) if landmarks else self._exact(weights)
        self.eigenvectors_ = found.vectors
        self._keep(found)
        if weights is not None and np.any(weights == 0) and not landmarks:
            silent = np.flatnonzero(weights == 0)
            found.scores[silent] = self.subspace_.coordinates(take(X, silent))
        if self.fit_inverse_transform:
            self._learn_inverse(found.scores, weights)
        if landmarks:
            self._keep_landmarks()
        return found.scores

    def _fit_chunks(self, chunks: Chunks) -> None:
        """From sums over one pass."""
        self._check_parameters()
        if self.fit_inverse_transform:
            raise ValueError(
                "fit_inverse_transform needs the coordinates of all samples, which are not kept "
                "for chunks; inverse_transform works without it."
            )
        some = head(chunks)
        check_data(self, some, self.kernel, reset=True, keep=False)
        self._forget()
        gram: Any = self._landmark_plan().gram(self._make_kernel(some), chunks)
        seen, span = Stream(*scatter_of(gram)), gram.span()
        self.kernel_, self.n_samples_seen_ = gram.kernel, len(gram)
        self.X_fit_ = span.points(None)
        self.gram_ = few_gram(self.kernel_, self.X_fit_, self._plan())
        phi = gram.features_of(Chunk(self.X_fit_)).astype(np.float64)
        place, select = Place(phi, span.combine), self._selection(np.float64)
        found = seen.components(place, len(gram), phi[:0], None, select)
        stats = {"method": "passes", "rank": gram.rank, "lost": seen.lost}
        self.solution_ = Spectrum(found.affine.axes, stats=stats, values=found.values)
        self._keep(found)

    def _keep_landmarks(self) -> None:
        """Nothing else is needed of the samples, if they are more."""
        if length(self.kernel_.reference) < self.n_samples_seen_:
            self.X_fit_ = owned(self.kernel_.reference)
            self.gram_ = few_gram(self.kernel_, self.X_fit_, self._plan())
            self.solution_ = replace(self.solution_, coef=self._affine[0])
            del self.eigenvectors_

    def _exact(self, weights: np.ndarray | None) -> Components:
        def solve(gram: Any) -> Spectrum:
            power = self.iterated_power
            return principal(
                gram,
                self.n_components,
                weights,
                method="auto" if self.eigen_solver == "nystrom" else self.eigen_solver,
                tol=self.tol,
                max_iter=self.max_iter,
                passes=None if power == "auto" else int(power) + 1,
                rng=as_generator(self.random_state, "random_state"),
            )

        found = None
        if self.eigen_solver == "randomized" and self.iterated_power == "auto" and not self.tol:
            single = in_single(self.kernel_, self.X_fit_, self._plan())
            found = None if single is None else solve(single)
        if found is None or found.values[-1] < 100 * found.rounding:
            found = solve(self.gram_)
        found.warn()
        self.solution_ = found
        return from_spectrum(found, weights, self._selection(self.gram_.dtype))

    def _from_landmarks(self, weights: np.ndarray | None) -> Components:
        phi, n = self.kernel_.features(self.gram_.X), self.n_samples_seen_
        seen = Stream.empty(phi.shape[1]).take_in(self.kernel_, self.gram_.X, weights)
        place = Place.of_landmarks(self.kernel_)
        found = seen.components(place, n, phi, weights, self._selection(phi.dtype))
        stats = {"method": "nystrom", "rank": phi.shape[1], "lost": seen.lost}
        self.solution_ = Spectrum(found.vectors, stats=stats, values=found.values)
        return found

    def _keep(self, found: Components) -> None:
        self.eigenvalues_ = found.values
        self._affine, self._totals = tuple(found.affine), (found.mass, found.trace)
        self._place()

    # ---- parts ---------------------------------------------------------------------------
    def _check_parameters(self) -> None:
        check_choice("eigen_solver", self.eigen_solver, SOLVERS)
        check_count("n_components", self.n_components, also=(None,))
        check_count("iterated_power", self.iterated_power, 0, also=("auto",))
        check_count("max_iter", self.max_iter, also=(None,))
        if self.fit_inverse_transform and self.kernel == "precomputed":
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel.")
        if self.tol < 0 or self.alpha < 0:
            raise ValueError(f"tol and alpha must be >= 0, got {self.tol!r} and {self.alpha!r}.")

    def _make_kernel(self, X: Data) -> Kernel:
        gamma = self.gamma
        if isinstance(self.kernel, str):
            gamma = self.gamma_ = as_gamma(gamma, self.kernel, X)
        return self._as_kernel(X, gamma=gamma)

    def _plan(self) -> Plan:
        jobs = self.n_jobs if self.n_jobs is not None and self.n_jobs > 0 else None
        return self.plan or Plan(workers=jobs)

    def _selection(self, dtype: Any) -> Selection:
        return Selection(self.n_components, self.remove_zero_eig, dtype == np.float32)

    def _landmark_plan(self) -> Plan:
        """The plan with a rank, for "nystrom" and for streams."""
        plan = self._plan()
        enough = max(_LANDMARKS, 10 * (self.n_components or 0))
        return plan if plan.few is not None else plan.replace(rank=enough)

    def _forget(self) -> None:
        """Nothing of an earlier fit or stream is left."""
        for name in (*self.saved_state, "gram_", "solution_", "subspace_", "_inverse"):
            if name not in SEEN:
                self.__dict__.pop(name, None)

    def _place(self) -> None:
        axes, center, offset, norm = self._affine
        if isinstance(self.kernel_, Nystrom):
            kernel, points, gram = self.kernel_.kernel, self.kernel_.reference, None
        else:
            kernel, points, gram = self.kernel_, self.X_fit_, self.gram_
        self.subspace_ = Subspace(kernel, points, axes, center, offset, norm, gram)

    def _restore(self) -> None:
        """Called by :func:`mercer.load`: operators are rebuilt, not stored."""
        if hasattr(self, "X_fit_"):
            few = length(self.X_fit_) < self.n_samples_seen_
            make = few_gram if few else Kernel.gram
            self.gram_ = make(self.kernel_, self.X_fit_, self.plan)
        if hasattr(self, "X_transformed_fit_"):
            self._inverse = self._inverse_gram()
        self._place()
