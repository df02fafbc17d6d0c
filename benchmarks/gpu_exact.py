"""Tasks of ``benchmarks.gpu``: exact machines and processes, tests, series."""

from __future__ import annotations

from typing import Any

import numpy as np

from .gpu_board import Board, normal, once, task


@task
def svc(board: Board) -> None:
    """Ten classes, in the shape of MNIST."""
    import mercer as m

    rng = np.random.default_rng(2)
    centres = rng.standard_normal((10, 40, 30))
    y = rng.integers(0, 10, 60_000)
    latent = centres[y, rng.integers(0, 40, len(y))] + 0.9 * rng.standard_normal((len(y), 30))
    X = np.maximum(latent @ rng.standard_normal((30, 784)) / 6, 0).astype(np.float32)
    fit = lambda: m.SVC(C=10, plan=m.Plan(device="cuda")).fit(X, y)  # noqa: E731
    once(fit)
    took, model = once(fit)
    worst = max(report.violation for report in model.reports_)
    board.add(
        "SVC, 60,000 x 784, ten classes, C = 10", f"{took:.2f} s", "2 s",
        f"violation {worst:.0e}, {len(model.support_)} support vectors",
    )  # fmt: skip


@task
def gp(board: Board) -> None:
    """An exact process with a lengthscale for each column."""
    import mercer as m

    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (102_000, 8))
    f = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 - X[:, 2] * X[:, 3] + 0.5 * np.cos(2 * X[:, 4])
    y = f + 0.2 * rng.standard_normal(len(f))
    n = 100_000
    model = m.GaussianProcessRegressor(
        1 * m.Gaussian(np.ones(8)), random_state=0, plan=m.Plan(device="cuda")
    )
    took, _ = once(lambda: model.fit(X[:n], y[:n]))
    error = np.sqrt(np.mean((model.predict(X[n:]) - f[n:]) ** 2))
    board.add(
        "GaussianProcessRegressor, 100,000 x 8, hyper-parameters learned", f"{took:.1f} s", "60 s",
        f"error of the mean {error:.3f} at noise 0.2, converged {model.solution_.converged}",
    )  # fmt: skip


@task
def mmd(board: Board) -> None:
    """Two samples, exactly and by features, with 1,000 permutations."""
    import mercer as m

    X = np.random.default_rng(4).standard_normal((200_000, 8))
    plan = m.Plan(device="cuda", memory="60 GB")
    options: Any = {"rng": 0, "n_permutations": 1000, "plan": plan}
    took, found = once(lambda: m.two_sample_test(
        X[:100_000], 1.005 * X[100_000:], m.Gaussian(2.0), bins=None, landmarks=None, **options
    ))  # fmt: skip
    board.add("MMD, 1e5 + 1e5, exact", f"{took:.1f} s", "10 s", f"p = {found.pvalue:.3g}")
    Z = normal(2_000_000, 8)
    took, found = once(lambda: m.two_sample_test(Z[:1_000_000], Z[1_000_000:], **options))
    board.add("MMD, 1e6 + 1e6, by features", f"{took:.1f} s", "10 s", f"p = {found.pvalue:.3g}")


@task
def hsic(board: Board) -> None:
    """Independence of two variables, with 1,000 permutations."""
    import mercer as m

    X = np.random.default_rng(5).standard_normal((40_000, 5))
    Y = 0.02 * X**2 + np.random.default_rng(6).standard_normal(X.shape)

    def test(n: int, device: str) -> Any:
        plan = m.Plan(device=device, memory="60 GB")
        options: Any = {"rng": 0, "n_permutations": 1000, "landmarks": None, "plan": plan}
        return m.independence_test(X[:n], Y[:n], **options)

    here, there = (test(3000, device) for device in ("cpu", "cuda"))
    took, found = once(lambda: test(len(X), "cuda"))
    board.add(
        "HSIC, 40,000, three kernels each", f"{took:.1f} s", "",
        f"p = {found.pvalue:.3g}; n = 3,000: p = {here.pvalue:.4g}, {there.pvalue:.4g}, statistic "
        f"differs by {abs(there.statistic / here.statistic - 1):.1e}",
    )  # fmt: skip


@task
def components(board: Board) -> None:
    """Kernel principal components without K."""
    import mercer as m

    X = normal(50_000, 10)

    def fit(n: int, device: str) -> Any:
        model = m.KernelPCA(20, kernel=m.Gaussian(3.0), plan=m.Plan(device=device), random_state=0)
        return model.fit(X[:n])

    here, there = (fit(3000, device).eigenvalues_ for device in ("cpu", "cuda"))
    took, model = once(lambda: fit(len(X), "cuda"))
    board.add(
        "KernelPCA, 50,000 x 10, 20 components", f"{took:.1f} s", "",
        f"eigenvalues {model.eigenvalues_[0]:.0f} to {model.eigenvalues_[-1]:.0f}; n = 3,000 "
        f"differs by {np.abs(there / here - 1).max():.1e}",
    )  # fmt: skip


@task
def alignment(board: Board) -> None:
    """Global alignment of all pairs of 5,000 series."""
    import mercer as m

    T = [normal(100, 1, i) for i in range(5000)]
    kernel = m.GlobalAlignment().resolve(T)
    gram = lambda: kernel.gram(T, m.Plan(device="cuda")).to_dense()  # noqa: E731
    once(gram)
    took, K = once(gram)
    few = T[:400]
    on_cores = lambda: kernel.gram(few, m.Plan(workers=2)).to_dense()  # noqa: E731
    once(on_cores)
    cores, here = once(on_cores)
    ratio = cores * (len(T) / len(few)) ** 2 / took
    error = np.abs(K[:400, :400] / here - 1).max()
    board.add(
        "GlobalAlignment, 5,000 x 5,000, length 100", f"{took:.2f} s, {ratio:.0f} x two cores",
        "20 x two cores", f"error {error:.0e}",
    )  # fmt: skip
