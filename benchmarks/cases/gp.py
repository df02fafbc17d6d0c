"""Gaussian processes on Friedman's first problem: hyper-parameters by the marginal likelihood.

All searches begin at the same point. Errors: by how much the log marginal likelihood per sample
falls short of the best one found, computed anew from the numbers of each contender.

GPyTorch has no search of its own. It is given the one that needs the fewest of its gradients:
SciPy's L-BFGS-B, ended where a step brings less than 1e-5 per sample, and Cholesky factors. Beyond
800 samples its default is conjugate gradients; the noise of their gradients leads a search astray.

Of many samples (``gp.products``) it has no other way, and is used as its tutorials do: 50 steps of
Adam at a rate of 0.1, in single precision. Errors there: by how much the log density of new
samples, noise included, falls short of that of the true function. (Of 50,000 samples GPyTorch
stores several matrices of 10 GB, more than the machine has.)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from ..harness import MERCER, Accuracy, Case, Contest, Target

SKLEARN = "scikit-learn"
GPYTORCH = "GPyTorch"
_NOISE = 0.1  # where every search for the noise begins
_ADAM = 50  # steps


class Found(NamedTuple):
    """The hyper-parameters of a fitted process, whose lengthscale may be one for each feature."""

    model: Any
    variance: float
    lengthscale: Any
    noise: float


def fit(n: int, d: int, ard: bool, peers: tuple[str, ...]) -> Contest:
    from sklearn.datasets import make_friedman1

    X, y = make_friedman1(n, n_features=d, noise=1.0, random_state=0)
    y = (y - y.mean()) / y.std()
    start: Any = np.ones(d) if ard else 1.0
    searches = {MERCER: _mercer, SKLEARN: _sklearn, GPYTORCH: _gpytorch}

    def call(search: Callable[..., Found]) -> Callable[[], Found]:
        return lambda: search(X, y, start)

    def shortfall(outputs: Mapping[str, Found]) -> dict[str, float]:
        values = {name: _likelihood(X, y, *found[1:]) / n for name, found in outputs.items()}
        best = max(values.values())
        return {name: best - value for name, value in values.items()}

    return Contest({name: call(searches[name]) for name in (MERCER, *peers)}, shortfall)


def products(n: int, d: int, peers: tuple[str, ...]) -> Contest:
    from sklearn.datasets import make_friedman1

    X, y = make_friedman1(n + 1000, n_features=d, noise=1.0, random_state=0)
    _, truth = make_friedman1(n + 1000, n_features=d, noise=0.0, random_state=0)
    mean, scale = y.mean(), y.std()
    y, best = (y - mean) / scale, norm((truth[n:] - mean) / scale, 1 / scale)
    searches = {MERCER: _mercer_products, GPYTORCH: _gpytorch_products}

    def call(search: Callable[..., Any]) -> Callable[[], Any]:
        return lambda: search(X[:n], y[:n], X[n:])

    def shortfall(outputs: Mapping[str, Any]) -> dict[str, float]:
        most = best.logpdf(y[n:]).mean()
        return {
            name: float(most - norm(*found).logpdf(y[n:]).mean()) for name, found in outputs.items()
        }

    return Contest({name: call(searches[name]) for name in (MERCER, *peers)}, shortfall)


def _likelihood(X: np.ndarray, y: np.ndarray, variance: float, scale: Any, noise: float) -> float:
    """log p(y) of the process, by the textbook's formula."""
    from scipy.linalg import cho_factor, cho_solve
    from scipy.spatial.distance import cdist

    K = variance * np.exp(-cdist(X / scale, X / scale, "sqeuclidean") / 2)
    K.flat[:: len(K) + 1] += noise
    factor = cho_factor(K, lower=True, overwrite_a=True)
    half_logdet = np.log(np.diagonal(factor[0])).sum()
    return float(-y @ cho_solve(factor, y) / 2 - half_logdet - len(y) * np.log(2 * np.pi) / 2)


# ---- contenders ----------------------------------------------------------------------------------
def _mercer(X: np.ndarray, y: np.ndarray, start: Any) -> Found:
    from mercer import Gaussian, GaussianProcessRegressor

    model: Any = GaussianProcessRegressor(1 * Gaussian(start), random_state=0).fit(X, y)
    product = model.kernel_
    return Found(model, product.left.value, product.right.lengthscale, model.alpha_)


def _sklearn(X: np.ndarray, y: np.ndarray, start: Any) -> Found:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # parameters at their bounds
        kernel = ConstantKernel() * RBF(start) + WhiteKernel(_NOISE)
        model = GaussianProcessRegressor(kernel).fit(X, y)
    product, white = model.kernel_.k1, model.kernel_.k2
    return Found(model, product.k1.constant_value, product.k2.length_scale, white.noise_level)


def _mercer_products(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> Any:
    from mercer import Gaussian, GaussianProcessRegressor, Plan

    model: Any = GaussianProcessRegressor(
        1 * Gaussian(np.ones(X.shape[1])), plan=Plan(storage="tiled"), random_state=0
    )
    return model.fit(X, y).predict(new, return_std=True, include_noise=True)


def _gpytorch(X: np.ndarray, y: np.ndarray, start: Any) -> Found:
    import gpytorch
    import torch
    from scipy.optimize import minimize
    from torch.nn.utils import parameters_to_vector, vector_to_parameters

    data, target = torch.from_numpy(X), torch.from_numpy(y)
    model, likelihood = _process(data, target, np.size(start) if np.ndim(start) else None)
    covariance, noise = model.covariance, likelihood.noise_covar
    evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    free = list(model.parameters())

    def loss(point: np.ndarray) -> tuple[float, np.ndarray]:
        vector_to_parameters(torch.from_numpy(point.copy()), free)
        model.zero_grad()
        value = -evidence(model(data), target)
        value.backward()
        return value.item(), torch.cat([p.grad.reshape(-1) for p in free]).numpy()

    with gpytorch.settings.max_cholesky_size(len(X)), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jitter
        begin = parameters_to_vector(free).detach().numpy()
        best = minimize(loss, begin, jac=True, method="L-BFGS-B", options={"ftol": 1e-5})
    vector_to_parameters(torch.from_numpy(best.x), free)
    scale = covariance.base_kernel.lengthscale.detach().numpy().ravel()
    return Found(model, covariance.outputscale.item(), scale, noise.noise.item())


def _gpytorch_products(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> Any:
    import gpytorch
    import torch

    data, target, there = (torch.from_numpy(A.astype(np.float32)) for A in (X, y, new))
    model, likelihood = _process(data, target, X.shape[1])
    evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
    with gpytorch.settings.max_cholesky_size(0), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # conjugate gradients that do not converge
        for _ in range(_ADAM):
            optimiser.zero_grad()
            loss = -evidence(model(data), target)
            loss.backward()
            optimiser.step()
        model.eval()
        likelihood.eval()
        with torch.no_grad():
            found = likelihood(model(there))
            return found.mean.numpy(), found.stddev.numpy()


def _process(data: Any, target: Any, ard: int | None) -> tuple[Any, Any]:
    """A process of GPyTorch and its likelihood, where all searches begin."""
    import gpytorch
    import torch

    torch.set_num_threads(2)

    class Process(gpytorch.models.ExactGP):
        def __init__(self, likelihood: Any) -> None:
            super().__init__(data, target, likelihood)
            self.mean = gpytorch.means.ZeroMean()
            radial = gpytorch.kernels.RBFKernel(ard_num_dims=ard)
            self.covariance = gpytorch.kernels.ScaleKernel(radial)

        def forward(self, Z: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean(Z), self.covariance(Z))

    likelihood = gpytorch.likelihoods.GaussianLikelihood().to(data.dtype)
    model = Process(likelihood).to(data.dtype).train()
    model.covariance.initialize(outputscale=1.0)
    model.covariance.base_kernel.initialize(lengthscale=1.0)
    likelihood.noise_covar.initialize(noise=_NOISE)
    return model, likelihood


# ---- cases ---------------------------------------------------------------------------------------
def _case(name: str, words: str, d: int, ard: bool, peers: tuple[str, ...], slow: bool) -> Case:
    shape = {"d": d, "ard": ard, "peers": peers}
    return Case(
        f"gp.{name}",
        f"Gaussian process, hyper-parameters and fit, n = {{n:,}}, d = {{d}}, {words}",
        fit,
        {"n": 2000, **shape},
        {"n": 400, **shape},
        {"n": 60, **shape},
        time=Target(speed=4.0),
        versus={GPYTORCH: Target(speed=5.0)},
        memory=Target(speed=1.0),
        accuracy=Accuracy("shortfall of the log likelihood per sample", 1e-5),
        rounds=1 if slow else 2,
        slow=slow,
    )


_ARD = "one lengthscale per feature"

CASES = [
    _case("isotropic", "one lengthscale", 10, False, (SKLEARN, GPYTORCH), slow=False),
    _case("ard", _ARD, 8, True, (GPYTORCH,), slow=False),
    _case("ard-sklearn", _ARD, 8, True, (SKLEARN,), slow=True),
    *(
        Case(
            f"gp.products.{n}",
            "Gaussian process without a stored K, hyper-parameters, fit, 1000 variances, n = {n:,}",
            products,
            {"n": n, "d": 8, "peers": peers},
            {"n": 2000, "d": 8, "peers": peers},
            {"n": 1000, "d": 5, "peers": peers},
            versus=dict.fromkeys(peers, Target(speed=5.0)),
            accuracy=Accuracy(
                "shortfall of the log density on new samples from that of the true function", 0.03
            ),
            rounds=1,
            slow=True,
        )
        for n, peers in ((5_000, (GPYTORCH,)), (50_000, ()))
    ),
]
