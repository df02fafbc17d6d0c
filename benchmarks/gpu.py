"""What a GPU does: ``python -m benchmarks.gpu [--only NAME] [--write FILE]``.

Runs whole on one card in a few minutes: its ceilings, products with K as fractions of them,
landmark models of the shapes of published data sets, exact machines, processes and tests. Every
figure stands beside an error or a certificate. ``--write`` puts the table into a page.

``--only taxi --rows 1e9 --checkpoint FILE --until 500`` stops after so many seconds, and the same
command goes on from there.

Data are simulated in the shapes of the sets that they are named after: times depend on shapes,
errors on test samples do not compare with published ones.
"""

from __future__ import annotations

import argparse
import json
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from . import gpu_exact, gpu_landmarks  # noqa: F401  whose tasks are known from then on
from .gpu_board import TASKS, Board, normal, seconds, task

COMMAND = "python -m benchmarks.gpu"
N, M = 10**6, 10**5  # of products
PRODUCTS = [  # kernel, columns, right-hand sides; entries per second that are asked for, or,
    # below 10, the part of the speed of a Gaussian kernel with one side and as many columns
    ("gaussian", 9, 1, 3.2e12), ("gaussian", 18, 1, 2.9e12), ("gaussian", 28, 1, 2.5e12),
    ("gaussian", 90, 1, 1.5e12), ("gaussian", 9, 10, 0.8), ("gaussian", 18, 10, 0.8),
    ("gaussian", 28, 10, 0.8), ("gaussian, short", 9, 1, None), ("laplacian", 9, 1, 1 / 1.6),
    ("matern 3/2", 9, 1, 1 / 1.6), ("matern 5/2", 9, 1, 1 / 1.6),
    ("rational quadratic", 9, 1, 1 / 1.6),
]  # fmt: skip


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
    rng, alone = np.random.default_rng(1), {}
    for name, d, sides, asked in PRODUCTS:
        kernel, X = kernel_of(name, d), normal(N, d)
        Z = np.ascontiguousarray(X[rng.permutation(N)[:M]])
        V = torch.tensor(rng.standard_normal((M, sides)), device="cuda")
        K = Fused(*(kernel.formula(kernel.prepare(part)) for part in (X, Z)), "cuda")
        speed = N * M / seconds(lambda K=K, V=V: K(V))
        if (name, sides) == ("gaussian", 1):
            alone[d] = speed
        if asked is not None and asked < 10:
            asked *= alone[d]
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


# ---- the page ------------------------------------------------------------------------------------
def write(board: Board, card: str, path: Path) -> None:
    """A page and its rows, among those of other tasks that were measured before."""
    stored = path.with_suffix(".json")
    before = json.loads(stored.read_text()) if stored.exists() else []
    now = {row["task"] for row in board.rows}
    rows = [row for row in before if row["task"] not in now] + board.rows
    rows.sort(key=lambda row: list(TASKS).index(row["task"]))
    stored.write_text(json.dumps(rows, indent=1))
    path.write_text(page(rows, card))


def page(rows: list[dict[str, str]], card: str) -> str:
    """All rows as a page."""
    lines = [
        "# A GPU, measured", "",
        f"One {card}, {datetime.now(UTC):%Y-%m-%d}, by `{COMMAND}`. Times are wall-clock",
        "seconds from arrays in host memory to a fitted model, after a small fit that triggers",
        "compilation; data are simulated, with the sizes of the sets they are named after. For",
        "products with K, the entries of K per second are also given as a share of the rate of",
        "exponentials 2^t in registers; *sides* are right-hand sides.", "",
        "| what | measured | target | error, certificate |", "|---|---|---|---|",
    ]  # fmt: skip
    lines += ["| {what} | {found} | {asked} | {right} |".format(**row) for row in rows]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print, and write a page."""
    import torch

    parser = argparse.ArgumentParser(description="What a GPU does.")
    parser.add_argument("--only", action="append", choices=TASKS, metavar="NAME")
    parser.add_argument("--rows", type=float, default=1e8, help="of the shape of TAXI")
    parser.add_argument("--checkpoint", type=Path, help="of TAXI: a file to go on from")
    parser.add_argument("--until", type=float, default=500, help="seconds after which it stops")
    parser.add_argument("--seconds", type=float, help="begin no task after so many")
    parser.add_argument("--write", type=Path, help="the page, beside a file of its rows")
    options = parser.parse_args()
    card, board = torch.cuda.get_device_name(), Board(options)
    for name in options.only or TASKS:
        if options.seconds and time.perf_counter() - board.begin > options.seconds:
            print(f"{name}: left out")
            continue
        board.task = name
        try:
            TASKS[name](board)
        except Exception as error:  # one figure less, and said so
            board.add(name, "failed", "", f"{type(error).__name__}: {error}"[:200])
        torch.cuda.empty_cache()
        if options.write:
            write(board, card, options.write)


if __name__ == "__main__":
    main()
