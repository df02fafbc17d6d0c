"""Tasks of ``benchmarks.gpu``: models through landmarks, in the shapes of published data sets."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np

from .gpu_board import Board, once, simulated, task

_HELD_OUT = 100_000
_SLAB = 2**19  # rows that a card works on at a time


class TimeIsUp(Exception):
    """The time of this call is over; the solver has kept its state."""


def landmarks(
    board: Board, name: str, n: int, d: int, m: int, steps: int, length: float, penalty: float,
    asked: str,
) -> None:  # fmt: skip
    """Ridge regression through landmarks, from arrays on the host to a model."""
    X, y = simulated(n, d)
    new, truth = simulated(_HELD_OUT, d, seed=1)

    def fit(rows: int, rank: int, **options: Any) -> Any:
        return ridge(rows, rank, length, penalty, steps, **options).fit(X[:rows], y[:rows])

    fit(min(n, 50_000), min(m, 2_000))  # compiles
    took, model = once(lambda: fit(n, m))
    report(board, name, model, d, took, asked, new, truth)


def ridge(
    n: int, rank: int, length: float, penalty: float, steps: int, device: str = "cuda",
    **options: Any,
) -> Any:  # fmt: skip
    """A model that takes so many steps."""
    import mercer as m

    plan = m.Plan(device=device, rank=rank, precision="fp32")
    options = {"callback": lambda step: step.n_iter >= steps, **options}
    return m.KernelRidge(
        penalty * n, kernel=m.Gaussian(length), solver="falkon", tol=1e-14, plan=plan,
        random_state=0, **options,
    )  # fmt: skip


def report(
    board: Board, name: str, model: Any, d: int, took: float, asked: str, new: np.ndarray,
    truth: np.ndarray,
) -> None:  # fmt: skip
    """The row of a fit."""
    wrong = float(np.mean(np.sign(model.predict(new)) != truth))
    solution, n, m = model.solution_, model.n_samples_seen_, len(model.X_fit_)
    board.add(
        f"{name}: {n:.1e} x {d}, M = {m:,}, {solution.n_iter} steps", f"{took:.1f} s", asked,
        f"violation {solution.stats['violation']:.0e}, test error {wrong:.2%}",
    )  # fmt: skip


def in_calls(
    board: Board, name: str, n: int, d: int, m: int, steps: int, length: float, penalty: float,
    asked: str, device: str = "cuda",
) -> Any:  # fmt: skip
    """The same in several calls, with the error on samples held out after each step.

    The model, or None where the next call goes on.
    """
    import mercer

    path, until = board.options.checkpoint, board.options.until
    X, y = simulated(n, d)
    new, truth = simulated(_HELD_OUT, d, seed=1)
    print(f"{name}: {n:.1e} samples after {time.perf_counter() - board.begin:.0f} s", flush=True)
    few = min(n, 50_000)
    ridge(few, min(m, 2_000), length, penalty, 3, device).fit(X[:few], y[:few])  # compiles
    spent = None if path is None else path.with_suffix(".json")
    before = json.loads(spent.read_text()) if spent and path.exists() and spent.exists() else 0.0
    start = last = time.perf_counter()

    def look(step: Any) -> bool:
        nonlocal last
        now = time.perf_counter()
        seconds, took, last = before + now - start, now - last, now
        error = step.held_out / len(truth)
        print(
            f"{name}, step {step.n_iter}: {seconds:.0f} s, squared error held out {error:.4f}",
            flush=True,
        )
        if spent is not None:
            spent.write_text(json.dumps(seconds))
            if step.n_iter < steps and now + took - board.begin > until:
                raise TimeIsUp(f"{step.n_iter} of {steps} steps; the same command goes on")
        return step.n_iter >= steps

    model = ridge(
        n, m, length, penalty, steps, device, callback=look, checkpoint=path,
        validation=(new, truth),
    )  # fmt: skip
    try:
        model.fit(mercer.stream(X, target=y, rows=_SLAB))  # which copies nothing
    except TimeIsUp as stopped:
        so_far = f"{before + last - start:.0f} s so far"
        board.add(f"{name}: {n:.1e} x {d}", so_far, asked, str(stopped))
        return None
    report(board, name, model, d, before + time.perf_counter() - start, asked, new, truth)
    if spent is not None:
        spent.unlink(missing_ok=True)
    return model


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
    in_calls(board, "TAXI", int(board.options.rows), 9, 100_000, 10, 1.0, 2e-7, "720 s for 1e9")


@task
def msd(board: Board) -> None:
    """The shape of MSD."""
    landmarks(board, "MSD", 463_715, 90, 50_000, 20, 9.5, 2e-6, "")


@task
def logistic(board: Board) -> None:
    """Logistic regression through landmarks; a small one beside the same on the processor."""
    import mercer as m

    X, y = simulated(1_000_000, 18)
    new, truth = simulated(_HELD_OUT, 18, seed=1)

    def fit(rows: int, rank: int, device: str) -> Any:
        kernel = m.Nystrom(m.Gaussian(4.0), X[:rank])
        plan = m.Plan(device=device, storage="streamed")
        model = m.KernelLogisticRegression(1e-6 * rows, kernel=kernel, plan=plan)
        return model.fit(X[:rows], y[:rows])

    here, there = (fit(3000, 200, at).decision_function(new[:500]) for at in ("cpu", "cuda"))
    took, model = once(lambda: fit(len(X), 10_000, "cuda"))
    wrong = float(np.mean(model.predict(new) != truth))
    board.add(
        "logistic regression, 1e6 x 18, M = 10,000", f"{took:.1f} s", "",
        f"test error {wrong:.2%}; n = 3,000 differs by {np.abs(here - there).max():.1e}",
    )  # fmt: skip
