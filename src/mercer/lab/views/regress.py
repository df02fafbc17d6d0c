"""Regression on the line: a curve, how sure it is, and the bumps that it is the sum of."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.base import Kernel
from ...models.gp import GaussianProcessRegressor
from ...models.quantile import KernelQuantileRegressor
from ...models.ridge import KernelRidge
from ...models.smoothing import SmoothingSpline
from ...models.svr import SVR
from ...rkhs.function import RKHSFunction
from ..kernels import classes, written
from ..picture import BLUE, PURPLE, Panel, Picture, along, array, code, in_words, span
from ..state import Option, State

OPTIONS = (
    Option("model", "regression", "ridge", choices=(
        ("ridge", "ridge"), ("gp", "Gaussian process"), ("svr", "support vectors (tube)"),
        ("quantile", "quantiles 10, 50, 90 %"), ("spline", "natural cubic spline"))),
    Option("alpha", "λ, weight of the norm", 0.1, 1e-6, 100.0, log=True,
           when=("model", ("ridge", "quantile", "spline"))),
    Option("noise", "σ², variance of the noise", 0.05, 1e-4, 2.0, log=True,
           when=("model", ("gp",))),
    Option("C", "C, weight of errors", 10.0, 0.01, 1000.0, log=True, when=("model", ("svr",))),
    Option("epsilon", "ε, half the width of the tube", 0.3, 0.0, 1.5, when=("model", ("svr",))),
    Option("draws", "draws from the posterior", False, when=("model", ("gp",))),
)  # fmt: skip
_QUANTILES = [0.1, 0.5, 0.9]


def compute(state: State, kernel: Kernel) -> Picture:
    """The picture of a regression."""
    state.need(2)
    x, y = state.X[:, :1], state.X[:, 1]
    made, model = _model(state, kernel)
    model.fit(x, y)
    t = along()
    panel = Panel("fit", xlabel="x", ylabel="y", editable=True, wide=True)
    fitted = _draw(state, model, panel, t)
    at_points = np.asarray(fitted(x))
    facts = [("error", in_words(np.sqrt(np.mean((at_points - y) ** 2))),
              "root mean square over the points")]  # fmt: skip
    facts += _facts(state, model, kernel, x, y)
    panels = [panel]
    coef = _coefficients(state, model, len(x))
    if coef is not None:
        f = RKHSFunction(kernel, x, coef)
        facts.append(("‖f‖", in_words(f.norm()), "norm in the RKHS"))
        panels.append(_weights(x[:, 0], coef))
    return Picture(panels, facts, _python(state, kernel, made, x[:, 0], y))


def _model(state: State, kernel: Kernel) -> tuple[str, Any]:
    """A regression, and how it is written."""
    o, k = state.options, written(kernel)
    a, s, C, e = (float(f"{o[name]:.3g}") for name in ("alpha", "noise", "C", "epsilon"))
    q = _QUANTILES
    return {
        "ridge": lambda: (f"KernelRidge({a}, kernel={k})", KernelRidge(a, kernel=kernel)),
        "gp": lambda: (
            f"GaussianProcessRegressor({k}, alpha={s}, optimizer=None, normalize_y=False)",
            GaussianProcessRegressor(kernel, alpha=s, optimizer=None, normalize_y=False),
        ),
        "svr": lambda: (
            f"SVR(kernel={k}, C={C}, epsilon={e})",
            SVR(kernel=kernel, C=C, epsilon=e),
        ),
        "quantile": lambda: (
            f"KernelQuantileRegressor({q}, alpha={a}, kernel={k})",
            KernelQuantileRegressor(q, alpha=a, kernel=kernel),
        ),
        "spline": lambda: (f"SmoothingSpline(alpha={a})", SmoothingSpline(alpha=a)),
    }[o["model"]]()


def _draw(state: State, model: Any, panel: Panel, t: np.ndarray) -> Any:
    """Band and curve; returns the curve as a function."""
    kind, T = state.options["model"], t[:, None]
    if kind == "quantile":
        low, middle, high = model.predict(T).T
        panel.band(t, low, high, label="10 to 90 %").line(t, middle, BLUE, label="median")
        return lambda x: model.predict(x)[:, 1]
    f = model.predict(T)
    if kind == "gp":
        _, std = model.predict(T, return_std=True)
        _, wide = model.predict(T, return_std=True, include_noise=True)
        panel.band(t, f - 2 * wide, f + 2 * wide, faint=True, label="± 2 sd of y")
        panel.band(t, f - 2 * std, f + 2 * std, label="± 2 sd of f")
        if state.options["draws"]:
            for draw in model.sample_y(T, 5, random_state=0).T:
                panel.line(t, draw, PURPLE, thin=True)
    if kind == "svr":
        epsilon = state.options["epsilon"]
        panel.band(t, f - epsilon, f + epsilon, label="tube f ± ε")
        residual = np.abs(state.X[:, 1] - model.predict(state.X[:, :1]))
        beyond = residual[model.support_] > epsilon + 2 * model.tol
        panel.add("rings", free=np.asarray(model.support_)[~beyond].tolist(),
                  bounded=np.asarray(model.support_)[beyond].tolist())  # fmt: skip
    panel.line(t, f, BLUE, label="f")
    return model.predict


def _facts(
    state: State, model: Any, kernel: Kernel, x: np.ndarray, y: np.ndarray
) -> list[tuple[str, str, str]]:
    kind, n = state.options["model"], len(x)
    if kind in ("ridge", "gp"):
        shift = state.options["alpha" if kind == "ridge" else "noise"]
        d = np.maximum(np.linalg.eigvalsh(kernel(x)), 0)
        freedom = float(np.sum(d / (d + shift)))
        facts = [("degrees of freedom", in_words(freedom), f"tr K(K + λI)⁻¹, at most {n}")]
        if kind == "gp":
            evidence = model.log_marginal_likelihood_value_
            facts.append(("log evidence", in_words(evidence), "log p(y | x), larger is better"))
        return facts
    if kind == "svr":
        inside = n - len(model.support_)
        return [
            ("support vectors", str(len(model.support_)), f"{inside} points lie inside the tube")
        ]
    if kind == "quantile":
        low, _, high = model.predict(x).T
        covered = float(np.mean((y >= low) & (y <= high)))
        return [("coverage", f"{covered:.0%}", "of the points lie in the band; the target is 80 %")]
    return []


def _coefficients(state: State, model: Any, n: int) -> np.ndarray | None:
    """The weights of the bumps, of models that are one sum of them."""
    kind = state.options["model"]
    if kind in ("ridge", "gp"):
        return np.ravel(model.dual_coef_)
    if kind == "svr":
        coef = np.zeros(n)
        coef[model.support_] = np.ravel(model.dual_coef_)
        return coef
    return None


def _weights(x: np.ndarray, coef: np.ndarray) -> Panel:
    panel = Panel("weights of the bumps", (-4, 4), span(coef, [0]), "xᵢ", "αᵢ")
    return panel.stems(x, coef)


def _python(
    state: State, kernel: Kernel, model: str, x: np.ndarray, y: np.ndarray
) -> tuple[str, ...]:
    spline = state.options["model"] == "spline"
    plot = "plot_tube" if state.options["model"] == "svr" else "plot_fit"
    return code(
        [model.partition("(")[0], *([] if spline else classes(kernel))],
        [
            f"x, y = {array(x)}[:, None], {array(y)}",
            f"model = {model}.fit(x, y)",
            f"{plot}(model, x, y)",
        ],
        plot,
    )
