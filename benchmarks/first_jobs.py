"""What is called first: samples of every kind, and each public kernel, model and test on them."""

from __future__ import annotations

from dataclasses import dataclass

_N = 200
_START = "import warnings; warnings.simplefilter('ignore')\nimport numpy as np\n"
_DATA = {  # lines that make n samples, by the name of what they make
    "X": "X = rng.standard_normal((n, 5)); y = X[:, 0] + 0.1 * rng.standard_normal(n); "
    "c = y > 0; three = np.digitize(y, [-0.5, 0.5])",
    "u": "u = rng.uniform(0, 1, n)",
    "P": "P = rng.dirichlet(np.ones(5), n)",
    "N": "N = rng.integers(0, 5, (n, 5))",
    "B": "B = (rng.random((n, 20)) > 0.5).astype(float)",
    "S": "S = [''.join(rng.choice(list('ACGT'), 40)) for _ in range(n)]",
    "A": "A = [''.join(rng.choice(list('ACDEFGHIKLMNPQRSTVWY'), 30)) for _ in range(n)]",
    "W": "W = [' '.join(rng.choice(['cat', 'dog', 'sun', 'sea'], 8)) for _ in range(n)]",
    "T": "T = [rng.standard_normal((int(t), 2)) for t in rng.integers(20, 40, n)]",
    "R": "R = rng.standard_normal((n, 60))",
    "U": "U = ['(S (NP (D %s) (N %s)) (VP (V %s) (NP (D a) (N e))))' % tuple(v) "
    "for v in rng.choice(list('abcdef'), (n, 3))]",
    "G": "from mercer import Graph\n"
    "G = [Graph([(i, (i + 1) % 12) for i in range(12)] + rng.integers(0, 12, (4, 2)).tolist(),"
    " labels=rng.choice(list('CNO'), 12).tolist()) for _ in range(n)]",
    "K": "K = np.array([rng.permutation(6) for _ in range(n)])",
    "E": "E = [set(rng.choice(list('abcdefgh'), 4).tolist()) for _ in range(n)]",
    "M": "M = [rng.standard_normal((15, 3)) for _ in range(n)]",
    "L": "L = rng.choice(['red', 'green', 'blue'], n).tolist()",
    "D": "import pandas as pd\nD = pd.DataFrame({'a': rng.standard_normal(n), "
    "'b': rng.standard_normal(n), 'l': rng.choice(list('xyz'), n)})",
    "C": "C = rng.standard_normal((n, 2))",
    "Z": "Z = [rng.dirichlet(np.ones(20), 30) for _ in range(n)]",
    "F": "F = [(rng.standard_normal(4), rng.uniform(0, 1, 4)) for _ in range(n)]",
}


@dataclass
class Job:
    """A call of mercer, and the same of scikit-learn where there is one."""

    name: str
    data: str
    call: str
    peer: str = ""
    n: int = _N

    @property
    def ours(self) -> str:
        """The program."""
        return self._program("import mercer as m\n" + self.call)

    @property
    def theirs(self) -> str:
        """That of scikit-learn, if any."""
        return self._program(self.peer) if self.peer else ""

    def _program(self, call: str) -> str:
        data = "\n".join(_DATA[name] for name in self.data)
        return f"{_START}rng = np.random.default_rng(0); n = {self.n}\n{data}\n{call}\n"


def _kernel(text: str, data: str, n: int = _N) -> Job:
    """All values of a kernel, written as one writes it."""
    return Job(text, data, f"k = m.{text}\nk.resolve({data})({data})", n=n)


def _model(
    text: str, fit: str, peer: str = "", data: str = "X", name: str = "", n: int = _N
) -> Job:
    """A model that is fitted, and used by ``fit``."""
    module, _, theirs = peer.partition(":")
    code = f"from {module} import {theirs.partition('(')[0]}\n{theirs}.{fit}" if peer else ""
    return Job(name or text, data, f"m.{text}.{fit}", code, n)


_VECTORS = (
    "Gaussian(2.0)", "Laplacian(2.0)", "Matern(2.0)", "RationalQuadratic(2.0)", "Linear()",
    "Polynomial()", "Exponential()", "Gaussian(2.0).normalize()",
)  # fmt: skip
_STRINGS = (
    "Spectrum(3)", "BlendedSpectrum(3)", "Mismatch()", "GappyKmer()", "RestrictedGappy()",
    "RestrictedGappy(decay=0.5)", "Wildcard()", "WeightedDegree()", "WeightedDegree(shift=2)",
    "Subsequence()", "BlendedSubsequence()", "AllSubsequences()", "LocalAlignment()",
    "ContextTree()", "StringPairHMM()", "Spectrum(8)", "Mismatch(8, 1)",
)  # fmt: skip
_SERIES = (
    "GlobalAlignment()", "GlobalAlignment(band=5)", "DynamicTimeWarping()",
    "DynamicTimeWarping(band=5)", "Signature()", "Signature(order=1)", "Signature(order=2)",
    "Signature(depth=3)", "PairHMM()", "SoftSubsequence()", "DilatedConvolution()",
    "DilatedConvolution(size=84)", "LagEmbedding(m.Gaussian(), 3)",
)  # fmt: skip
_TREES = (
    "Subtree()",
    "SubsetTree()",
    "PartialTree()",
    "ElasticTree()",
    "ElasticTree(mutation=0.5)",
)
_GRAPHS = (
    "WeisfeilerLehman()", "WLOptimalAssignment()", "WLAlignment()", "ShortestPath()",
    "ShortestPath(labels=False)", "Graphlet()", "Graphlet(3)", "Graphlet(samples=50)",
    "GraphFiltration()", "RandomWalk(0.01)", "RandomWalk(0.01, node='labels')",
    "RandomWalk(node='labels', steps=3)", "RandomWalk(kind='exponential')", "MarginalizedGraph()",
    "MultiscaleLaplacian()", "NestedGraph()", "NeighborhoodHash()", "Propagation()",
)  # fmt: skip
_LOSSES = (
    "squared", "absolute", "huber", "epsilon_insensitive", "squared_epsilon_insensitive",
    "quantile", "expectile",
)  # fmt: skip
_LABEL_LOSSES = ("hinge", "squared_hinge", "smoothed_hinge", "logistic")

KERNELS = [
    *(_kernel(text, "X") for text in _VECTORS),
    *(_kernel(text, "S") for text in _STRINGS),
    _kernel("Profile()", "Z"),
    _kernel("Conic()", "C"),
    _kernel("Substitution()", "A"),
    _kernel("Words()", "W"),
    _kernel("TfIdf(m.Words())", "W"),
    *(_kernel(text, "T") for text in _SERIES),
    *(_kernel(text, "U") for text in _TREES),
    *(_kernel(text, "G") for text in _GRAPHS),
    *(_kernel(text, "K") for text in ("Kendall()", "Mallows()", "AverageKendall()")),
    _kernel("WeightedKendall()", "K"),
    *(_kernel(text, "E") for text in ("Intersection()", "Jaccard()", "SymmetricDifference()")),
    *(
        _kernel(text, "M")
        for text in (
            "MeanEmbedding(m.Gaussian())", "EmbeddingGaussian(m.Gaussian())",
            "MultiInstance(m.Gaussian())", "ProbabilityProduct()",
            "SemigroupVariance(m.Gaussian())", "Minimax(m.Linear())",
        )
    ),
    *(_kernel(text, "P") for text in ("SemigroupEntropy()", "Induced(m.HilbertianMetric())")),
    _kernel("CrossProduct(m.Gaussian(), m.Linear())", "F", 40),
    _kernel("Categorical()", "L"),
    *(_kernel(text, "u") for text in ("Monomials()", "Spline()", "Periodic()", "Theta()")),
    _kernel("Fourier([1, 0.5])", "u"),
    _kernel("Fisher(m.DiscreteHMM.fit(S, 2))", "S", 40),
    _kernel("Marginalized(m.DiscreteHMM.fit(S, 2))", "S", 40),
    _kernel("MutualInformation(m.DirichletPrior())", "N"),
    _kernel("Fisher(m.GaussianHMM.fit(T, 2))", "T", 40),
    _kernel("Convolution('neighbours', [m.Categorical(), m.Categorical()])", "S", 40),
    _kernel("Gaussian(2.0).approximate(m.RandomFourier(100))", "X"),
    _kernel("Nystrom(m.Gaussian(2.0), rank=20)", "X"),
]  # fmt: skip
GRADIENTS = [
    Job(
        f"slopes of {text}",
        data,
        f"k = m.{text}.resolve({data}); p = k.prepare({data})\n"
        f"k.grad_theta(p, p, np.ones((n, n)))",
        n=40,
    )
    for data, kernels in {
        "S": ("Subsequence()", "LocalAlignment()", "ContextTree()", "StringPairHMM()"),
        "T": ("GlobalAlignment()", "Signature()", "PairHMM()", "SoftSubsequence()"),
        "U": ("SubsetTree()", "PartialTree()", "ElasticTree()"),
        "G": ("RandomWalk(0.01, node='labels')", "MarginalizedGraph()"),
        "K": ("Mallows()",),
    }.items()
    for text in kernels
]  # fmt: skip
MODELS = [
    _model("SVC()", "fit(X, c).predict(X)", "sklearn.svm:SVC()"),
    _model("SVC(kernel='linear')", "fit(X, c).predict(X)", "sklearn.svm:SVC(kernel='linear')"),
    Job("SVC() of three", "X", "m.SVC().fit(X, three).predict(X)",
        "from sklearn.svm import SVC\nSVC().fit(X, three).predict(X)"),
    Job("SVC() of single precision", "X",
        "X = X.astype(np.float32); m.SVC().fit(X, c).predict(X)",
        "from sklearn.svm import SVC\nX = X.astype(np.float32); SVC().fit(X, c).predict(X)"),
    Job("SVC() of bits", "BX", "m.SVC().fit(B, c).predict(B)",
        "from sklearn.svm import SVC\nSVC().fit(B, c).predict(B)"),
    Job("SVC(Spectrum(3))", "SX", "m.SVC(m.Spectrum(3)).fit(S, c).predict(S)"),
    _model("NuSVC()", "fit(X, c).predict(X)", "sklearn.svm:NuSVC()"),
    _model("SVR()", "fit(X, y).predict(X)", "sklearn.svm:SVR()"),
    _model("NuSVR()", "fit(X, y).predict(X)", "sklearn.svm:NuSVR()"),
    _model("OneClassSVM()", "fit(X).predict(X)", "sklearn.svm:OneClassSVM()"),
    _model("SVDD()", "fit(X).predict(X)"),
    _model("SVCCV()", "fit(X, c).predict(X)"),
    _model("KernelRidge(kernel='rbf')", "fit(X, y).predict(X)",
           "sklearn.kernel_ridge:KernelRidge(kernel='rbf')"),
    _model("KernelRidgeCV(kernel='rbf')", "fit(X, y).predict(X)"),
    _model("KernelPCA(2, kernel='rbf')", "fit_transform(X)",
           "sklearn.decomposition:KernelPCA(2, kernel='rbf')"),
    _model("GaussianProcessRegressor()", "fit(X, y).predict(X)",
           "sklearn.gaussian_process:GaussianProcessRegressor()"),
    _model("GaussianProcessClassifier()", "fit(X, c).predict(X)",
           "sklearn.gaussian_process:GaussianProcessClassifier()"),
    *(_model(f"KernelMachine('rbf', {loss!r})", "fit(X, y).predict(X)") for loss in _LOSSES),
    *(_model(f"KernelMachine('rbf', {loss!r})", "fit(X, c).predict(X)") for loss in _LABEL_LOSSES),
    _model("KernelMachine('rbf', 'multinomial')", "fit(X, three).predict(X)"),
    _model("KernelMachine('rbf', 'poisson')", "fit(X, np.abs(y)).predict(X)"),
    _model("KernelLogisticRegression()", "fit(X, c).predict(X)",
           "sklearn.linear_model:LogisticRegression()"),
    _model("KernelQuantileRegressor()", "fit(X, y).predict(X)"),
    _model("KernelExpectileRegressor()", "fit(X, y).predict(X)"),
    *(
        _model(f"OnlineKernelMachine(loss={loss!r})", "fit(X, y).predict(X)")
        for loss in ("squared", "absolute", "huber", "quantile")
    ),
    *(
        _model(f"OnlineKernelMachine(loss={loss!r})", "fit(X, c).predict(X)")
        for loss in ("hinge", "logistic", "squared_hinge")
    ),
    _model("OnlineKernelMachine(loss='hinge', budget=20)", "fit(X, c).predict(X)"),
    _model("OnlineOneClassSVM()", "fit(X).predict(X)"),
    _model("KernelRanker()", "fit(X, y).predict(X)"),
    _model("SequenceLabeller()", "fit(X, three, np.repeat(range(10), 20)).predict(X)"),
    _model("SparseKernelMachine()", "fit(X, y).predict(X)"),
    _model("MultipleKernelMachine([m.Gaussian(), m.Linear()])", "fit(X, y).predict(X)"),
    _model("SemiparametricRidge()", "fit(X, y).predict(X)"),
    _model("SmoothingSpline()", "fit(X[:, 0], y).predict(X[:, 0])"),
    _model("ThinPlateSpline()", "fit(X[:, :2], y).predict(X[:, :2])"),
    _model("MultiOutputKernelRidge(kernel=m.Gaussian())", "fit(X, X[:, :2]).predict(X)"),
    _model("LSSVC()", "fit(X, c).predict(X)"),
    _model("LSSVR()", "fit(X, y).predict(X)"),
    _model("KernelFisherDiscriminant()", "fit(X, c).predict(X)"),
    _model("SemiSupervised(m.KernelRidge(kernel='rbf'))", "fit(X, y).predict(X)"),
    _model("ConformalRegressor(m.KernelRidge(kernel='rbf'))", "fit(X, y).predict(X)"),
    _model("ConditionalEmbedding()", "fit(X, y).predict(X)"),
    _model("CCA()", "fit(X[:, :2], X[:, 2:]).transform([X[:, :2], X[:, 2:]])"),
    _model("KernelCCA()", "fit(X[:, :2], X[:, 2:]).transform([X[:, :2], X[:, 2:]])"),
    _model("KernelCCACV()", "fit(X[:, :2], X[:, 2:]).transform([X[:, :2], X[:, 2:]])"),
    _model("FunctionalCCA()", "fit(R[:, :30], R[:, 30:])", data="R"),
    _model("KernelICA()", "fit_transform(X)"),
    _model("KernelDensity()", "fit(X).score_samples(X)", "sklearn.neighbors:KernelDensity()"),
    _model("LevelSetTree()", "fit(X)"),
    _model("KernelKMeans()", "fit(X)", "sklearn.cluster:KMeans(8, n_init=10)"),
    _model("SpectralClustering()", "fit(X)", "sklearn.cluster:SpectralClustering()"),
    Job("TableRegressor()", "DX",
        "from mercer.tables import TableRegressor\nTableRegressor().fit(D, y).predict(D)"),
    Job("TableClassifier()", "DX",
        "from mercer.tables import TableClassifier\nTableClassifier().fit(D, c).predict(D)"),
    Job("KernelRidge on columns", "DX", "k = m.Gaussian().on(['a', 'b']) * "
        "m.Categorical().on('l')\nm.KernelRidge(kernel=k).fit(D, y).predict(D)"),
    Job("KernelRidge(alpha=1, plan=Plan(rank=20))", "X",
        "m.KernelRidge(kernel='rbf', plan=m.Plan(rank=20)).fit(X, y).predict(X)"),
    *(Job(f"tune(KernelRidge, {by})", "X",
          f"m.tune(m.KernelRidge(kernel=m.Gaussian()), X, y, by={by!r})")
      for by in ("marginal_likelihood", "loo")),
    Job("tune(LSSVC)", "X", "m.tune(m.LSSVC(kernel=m.Gaussian()), X, c)"),
    Job("tune(GlobalAlignment)", "TX",
        "m.tune(m.KernelRidge(kernel=m.GlobalAlignment()), T, y)", n=40),
    Job("preimage", "X", "model = m.KernelPCA(2, kernel='rbf', fit_inverse_transform=True).fit(X)\n"
        "model.inverse_transform(X[:5, :2])"),
]  # fmt: skip
TESTS = [
    Job(name, data, f"m.{call}", n=n)
    for name, data, call, n in (
        ("two_sample_test", "X", "two_sample_test(X[:100], X[100:])", _N),
        ("two_sample_test(Gaussian)", "X", "two_sample_test(X[:100], X[100:], m.Gaussian())", _N),
        ("two_sample_test(strings)", "S", "two_sample_test(S[:100], S[100:], m.Spectrum(3))", _N),
        ("two_sample_test(spectrum)", "X",
         "two_sample_test(X[:100], X[100:], m.Gaussian('median'), null='spectrum')", _N),
        ("two_sample_test(gamma)", "X",
         "two_sample_test(X[:100], X[100:], m.Gaussian('median'), null='gamma')", _N),
        ("k_sample_test", "X", "k_sample_test([X[:60], X[60:120], X[120:]])", _N),
        ("paired_test", "X", "paired_test(X[:100], X[100:])", _N),
        ("classifier_test", "X", "classifier_test(X[:100], X[100:])", _N),
        ("independence_test", "X", "independence_test(X[:, :2], X[:, 2:])", _N),
        ("independence_test of three", "X", "independence_test(X[:, 0], X[:, 1], X[:, 2:])", _N),
        ("independence_test(kcca)", "X",
         "independence_test(X[:, :2], X[:, 2:], statistic='kcca')", _N),
        ("conditional_independence_test", "X",
         "conditional_independence_test(X[:, 0], X[:, 1], X[:, 2])", _N),
        ("interaction_test", "X", "interaction_test(X[:, 0], X[:, 1], X[:, 2])", _N),
        ("goodness_of_fit_test", "X", "goodness_of_fit_test(X, lambda x: -x)", _N),
        ("relative_fit_test", "X", "relative_fit_test(X, lambda x: -x, lambda x: -x / 4)", _N),
        ("relative_test", "X", "relative_test(X[:60], X[60:120], X[120:])", _N),
        ("distribution_test", "X",
         "distribution_test(X[:, :1], __import__('scipy.stats').stats.norm(0, 1))", _N),
        ("causal_graph", "X", "causal_graph(X[:, :3])", _N),
        ("change_points", "X", "change_points(X)", _N),
        ("sensitivity_indices", "X", "sensitivity_indices(X[:, 1:], y)", _N),
        ("optimize_kernel", "X", "optimize_kernel(X[:100], X[100:])", _N),
        ("mmd", "X", "mmd(X[:100], X[100:])", _N),
        ("mmd_interval", "X", "mmd_interval(X[:100], X[100:])", _N),
        ("hsic", "X", "hsic(X[:, :2], X[:, 2:])", _N),
        ("dhsic", "X", "dhsic(X[:, 0], X[:, 1], X[:, 2])", _N),
        ("cka", "X", "cka(X[:, :2], X[:, 2:])", _N),
        ("coco", "X", "coco(X[:, :2], X[:, 2:])", _N),
        ("nocco", "X", "nocco(X[:, :2], X[:, 2:])", _N),
        ("distance_covariance", "X", "distance_covariance(X[:, :2], X[:, 2:])", _N),
        ("kernel_mutual_information", "X", "kernel_mutual_information(X[:, 0], X[:, 1])", _N),
        ("power", "X", "power(X[:100], X[100:], 300)", _N),
        ("sample_size", "X", "sample_size(X[:100], X[100:] + 0.5)", _N),
        ("ksd", "X", "ksd(X, lambda x: -x)", _N),
        ("mean_embedding", "X", "mean_embedding(m.Gaussian(), X)", _N),
        ("compress", "X", "compress(X, 10)", _N),
        ("ridge_path", "X", "ridge_path(m.Gaussian(), X, y, [0.1, 1.0])", _N),
        ("kernel_canonical_correlation", "X",
         "kernel_canonical_correlation(X[:, :2], X[:, 2:])", _N),
        ("kernel_quadrature", "X",
         "kernel_quadrature(m.Gaussian(), __import__('scipy.stats').stats.norm(0, 1))", _N),
    )
]  # fmt: skip
JOBS = [*MODELS, *TESTS, *KERNELS, *GRADIENTS]
