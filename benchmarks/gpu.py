"""What a GPU does: ``python -m benchmarks.gpu [--only NAME] [--write FILE]``.

Runs whole on one card in a few minutes: its ceilings, products with K as fractions of them,
landmark models of the shapes of published data sets, exact machines, processes and tests. Every
figure stands beside an error or a certificate. ``--write`` puts the table into a page.

Data are simulated in the shapes of the sets that they are named after: times depend on shapes,
errors on test samples do not compare with published ones.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

N, M = 10**6, 10**5  # of products
PRODUCTS = [  # kernel, columns, right-hand sides, entries per second that are asked for
    ("gaussian", 9, 1, 3.2e12), ("gaussian", 18, 1, 2.9e12), ("gaussian", 28, 1, 2.5e12),
    ("gaussian", 90, 1, 1.5e12), ("gaussian", 9, 10, None), ("gaussian", 18, 10, None),
    ("gaussian, short", 9, 1, None), ("laplacian", 9, 1, None), ("matern 3/2", 9, 1, None),
    ("matern 5/2", 9, 1, None), ("rational quadratic", 9, 1, None),
]  # fmt: skip
TASKS: dict[str, Callable[[Board], None]] = {}


@dataclass
class Board:
    """Rows of a table, printed as they come."""

    options: argparse.Namespace
    rows: list[dict[str, str]] = field(default_factory=list)

    def add(self, what: str, found: str, asked: str = "", right: str = "") -> None:
        """One row: what, how fast, what was asked for, and how right it is."""
        self.rows.append({"what": what, "found": found, "asked": asked, "right": right})
        print(f"{what:58} {found:28} {asked:18} {right}", flush=True)


def task(f: Callable[[Board], None]) -> Callable[[Board], None]:
    """Known to the command line by its name."""
    TASKS[f.__name__] = f
    return f


def seconds(call: Callable[[], Any], rounds: int = 3) -> float:
    """The median of calls, after one that compiles."""
    import torch

    found = []
    for _ in range(rounds + 1):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        found.append(time.perf_counter() - start)
    return float(np.median(found[1:]))


def once(call: Callable[[], Any]) -> tuple[float, Any]:
    """One call, and what it returns."""
    start = time.perf_counter()
    found = call()
    return time.perf_counter() - start, found


def normal(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Samples in single precision."""
    return np.random.default_rng(seed).standard_normal((n, d), dtype=np.float32)


# ---- ceilings ------------------------------------------------------------------------------------
@task
def ceilings(board: Board) -> None:
    """Powers of two in registers, products of matrices, copies."""
    import torch

    n = 8192
    for name in ("float16", "float32", "float64"):
        A = torch.randn(n, n, device="cuda").to(getattr(torch, name))
        speed = 2 * n**3 / seconds(partial(torch.matmul, A, A))
        board.add(f"product of 8192 x 8192, {name}", f"{speed:.2e}/s")
    x = torch.randn(2**30, device="cuda")
    took = seconds(partial(torch.empty_like(x).copy_, x))
    board.add("copy", f"{8 * len(x) / took:.2e} B/s")
    board.options.exponentials = _exponentials()
    board.add("2^t in registers", f"{board.options.exponentials:.2e}/s")


_WALL = """
def fused(out, rounds, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = i.to(tl.float32) * -1e-9
    total = tl.zeros((B,), tl.float32)
    for _ in range(rounds):
        total += tl.exp2(x)
        x -= 1e-3
    tl.store(out + i, total)
"""


def _exponentials() -> float:
    """How many powers of two a card takes in a second, with an addition each."""
    import torch

    from mercer.gram.device.triton_ import compiled

    block, programs, rounds = 4096, 132 * 16, 2000
    out = torch.empty(block * programs, device="cuda")
    kernel = compiled(_WALL)
    took = seconds(lambda: kernel[(programs,)](out, rounds, B=block, num_warps=4))
    return block * programs * rounds / took


# ---- products ------------------------------------------------------------------------------------
def kernel_of(name: str, d: int) -> Any:
    """A kernel with a lengthscale that suits standard normal samples of d columns."""
    import mercer as m

    length = float(np.sqrt(d))
    return {
        "gaussian": m.Gaussian(length), "gaussian, short": m.Gaussian(length / 3),
        "laplacian": m.Laplacian(length), "matern 3/2": m.Matern(length, nu=1.5),
        "matern 5/2": m.Matern(length, nu=2.5), "rational quadratic": m.RationalQuadratic(length),
    }[name]  # fmt: skip


@task
def products(board: Board) -> None:
    """K @ V with n = 10^6 and M = 10^5, beside double precision on some rows."""
    import torch

    from mercer.gram.device.fused import Fused

    wall = getattr(board.options, "exponentials", None) or _exponentials()
    rng = np.random.default_rng(1)
    for name, d, sides, asked in PRODUCTS:
        kernel, X = kernel_of(name, d), normal(N, d)
        Z = np.ascontiguousarray(X[rng.permutation(N)[:M]])
        V = torch.tensor(rng.standard_normal((M, sides)), device="cuda")
        K = Fused(*(kernel.formula(kernel.prepare(part)) for part in (X, Z)), "cuda")
        speed = N * M / seconds(lambda K=K, V=V: K(V))
        some = rng.choice(N, 200, replace=False)
        exact = kernel(X[some].astype(np.float64), Z.astype(np.float64)) @ V.cpu().numpy()
        error = np.linalg.norm(K(V)[some].cpu().numpy() - exact) / np.linalg.norm(exact)
        board.add(
            f"K @ V, {name}, d = {d}, {sides} sides",
            f"{speed:.2e}/s, {speed / wall:.0%} of 2^t",
            "" if asked is None else f"{asked:.1e}/s",
            f"error {error:.1e}",
        )


# ---- the same as on the processor ----------------------------------------------------------------
@task
def checks(board: Board) -> None:
    """Small models on the card beside the same models on the processor."""
    import mercer as m

    there, X = m.Plan(device="cuda"), normal(3000, 5).astype(np.float64)
    y = np.sin(X[:, 0]) + X[:, 1] ** 2 / 2
    models = {
        "KernelRidge": lambda plan: m.KernelRidge(0.1, kernel=m.Gaussian(2.0), plan=plan).fit(X, y),
        "KernelRidge, landmarks": lambda plan: m.KernelRidge(
            0.1, kernel=m.Nystrom(m.Gaussian(2.0), X[:200]), solver="falkon",
            plan=plan.replace(storage="streamed"),
        ).fit(X, y),
        "GaussianProcessRegressor": lambda plan: m.GaussianProcessRegressor(
            m.Gaussian(2.0), alpha=0.1, optimizer=None, plan=plan
        ).fit(X, y),
        "SVR": lambda plan: m.SVR(plan=plan).fit(X, y),
        "quantiles, landmarks": lambda plan: m.KernelMachine(
            m.Nystrom(m.Gaussian(2.0), X[:200]), loss="quantile",
            plan=plan.replace(storage="streamed"),
        ).fit(X, y),
    }  # fmt: skip
    for name, fit in models.items():
        here, far = (fit(plan).predict(X[:500]) for plan in (m.Plan(), there))
        board.add(f"{name}, n = 3,000", "", "", f"differs by {np.abs(here - far).max():.1e}")
    T = [normal(40 + i % 20, 2, i) for i in range(60)]
    kernel = m.GlobalAlignment().resolve(T)
    here, far = (kernel.gram(T, plan).to_dense() for plan in (None, there))
    board.add("GlobalAlignment", "", "", f"differs by {np.abs(here / far - 1).max():.1e}")
    tests = [
        m.two_sample_test(X[:1500], X[1500:] * 1.05, m.Gaussian(2.0), rng=0, plan=plan)
        for plan in (None, there)
    ]
    board.add("two_sample_test", "", "", f"p = {tests[0].pvalue:.4g}, {tests[1].pvalue:.4g}")


# ---- landmarks -----------------------------------------------------------------------------------
def landmarks(
    board: Board, name: str, n: int, d: int, m: int, steps: int, length: float, penalty: float,
    asked: str,
) -> None:  # fmt: skip
    """Ridge regression through landmarks, from arrays on the host to a model."""
    import mercer as mer

    X = normal(n + 100_000, d)
    w = normal(1, d, 5)[0]
    signal = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * (X @ w)
    y = np.sign(signal + normal(1, len(X), 6)[0]).astype(np.float32)
    plan = mer.Plan(device="cuda", rank=m, precision="fp32")

    def fit(rows: int, rank: int) -> Any:
        model = mer.KernelRidge(
            penalty * rows, kernel=mer.Gaussian(length), solver="falkon", tol=1e-14,
            plan=plan.replace(rank=rank), random_state=0,
            callback=lambda step: step.n_iter >= steps,
        )  # fmt: skip
        return model.fit(X[:rows], y[:rows])

    fit(50_000, 2_000)  # compiles
    took, model = once(lambda: fit(n, m))
    wrong = float(np.mean(np.sign(model.predict(X[n:])) != y[n:]))
    stats = model.solution_.stats
    board.add(
        f"{name}: {n:.1e} x {d}, M = {m:,}, {model.solution_.n_iter} steps",
        f"{took:.1f} s", asked, f"violation {stats['violation']:.0e}, test error {wrong:.2%}",
    )  # fmt: skip


@task
def susy(board: Board) -> None:
    """The shape of SUSY."""
    landmarks(board, "SUSY", 5_000_000, 18, 30_000, 20, 3.5, 1e-7, "5 s")


@task
def higgs(board: Board) -> None:
    """The shape of HIGGS."""
    landmarks(board, "HIGGS", 10_000_000, 28, 100_000, 20, 5.0, 1e-8, "35 s")


@task
def taxi(board: Board) -> None:
    """The shape of TAXI, of as many rows as are asked for."""
    landmarks(board, "TAXI", int(board.options.rows), 9, 100_000, 10, 1.0, 2e-7, "720 s for 1e9")


@task
def msd(board: Board) -> None:
    """The shape of MSD."""
    landmarks(board, "MSD", 463_715, 90, 50_000, 20, 9.5, 2e-6, "")


# ---- exact ---------------------------------------------------------------------------------------
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
def alignment(board: Board) -> None:
    """Global alignment of all pairs of 5,000 series."""
    import mercer as m

    T = [normal(100, 1, i) for i in range(5000)]
    kernel = m.GlobalAlignment().resolve(T)
    gram = lambda: kernel.gram(T, m.Plan(device="cuda")).to_dense()  # noqa: E731
    once(gram)
    took, K = once(gram)
    here = kernel(T[:50])
    error = np.abs(K[:50, :50] / here - 1).max()
    board.add(
        "GlobalAlignment, 5,000 x 5,000, length 100", f"{took:.2f} s", "", f"error {error:.0e}"
    )


# ---- the page ------------------------------------------------------------------------------------
def page(board: Board, card: str, command: str) -> str:
    """All rows as a page."""
    lines = [
        "# A GPU, measured", "",
        f"One {card}, {datetime.now(UTC):%Y-%m-%d}, by `{command}`. Times are wall-clock",
        "seconds from arrays of the host to a fitted model, after a small fit that compiles; data",
        "are simulated in the shapes of the sets that they are named after.", "",
        "| what | found | asked for | right |", "|---|---|---|---|",
    ]  # fmt: skip
    lines += ["| {what} | {found} | {asked} | {right} |".format(**row) for row in board.rows]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print, and write a page."""
    import torch

    parser = argparse.ArgumentParser(description="What a GPU does.")
    parser.add_argument("--only", action="append", choices=TASKS, metavar="NAME")
    parser.add_argument("--rows", type=float, default=1e8, help="of the shape of TAXI")
    parser.add_argument("--seconds", type=float, help="begin no task after so many")
    parser.add_argument("--write", type=Path, help="the page")
    options = parser.parse_args()
    card, begin = torch.cuda.get_device_name(), time.perf_counter()
    board = Board(options)
    for name in options.only or TASKS:
        if options.seconds and time.perf_counter() - begin > options.seconds:
            print(f"{name}: left out")
            continue
        try:
            TASKS[name](board)
        except Exception as error:  # one figure less, and said so
            board.add(name, "failed", "", f"{type(error).__name__}: {error}"[:200])
        torch.cuda.empty_cache()
        if options.write:
            options.write.write_text(page(board, card, "python -m benchmarks.gpu"))
            options.write.with_suffix(".json").write_text(json.dumps(board.rows, indent=1))


if __name__ == "__main__":
    main()
