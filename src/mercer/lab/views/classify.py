"""Classifiers in the plane: boundary, margins, support vectors, and the loss of every point."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.multiclass import OneVsRestClassifier

from ...kernels.base import Kernel
from ...models.logistic import KernelLogisticRegression
from ...models.lssvm import LSSVC
from ...models.svm import SVC, NuSVC
from ..kernels import classes, written
from ..picture import BLUE, GREEN, RED, Panel, Picture, array, code, in_words, over_plane, span
from ..state import WINDOW, Option, State

OPTIONS = (
    Option("model", "classifier", "svc", choices=(
        ("svc", "soft margin (C)"), ("hard", "hard margin"), ("nu", "ν-SVM"),
        ("ls", "least squares"), ("logistic", "logistic regression"))),
    Option("C", "C, weight of errors", 1.0, 0.01, 1000.0, log=True, when=("model", ("svc", "ls"))),
    Option("nu", "ν, bound on errors", 0.2, 0.01, 0.9, when=("model", ("nu",))),
    Option("alpha", "λ, weight of the norm", 0.1, 1e-4, 100.0, log=True,
           when=("model", ("logistic",))),
    Option("strategy", "more than two classes", "ovo", choices=(
        ("ovo", "one against one"), ("ovr", "one-vs-rest"))),
    Option("lines", "other separating lines", False),
)  # fmt: skip
_LINES = 40


def compute(state: State, kernel: Kernel) -> Picture:
    """The picture of a classifier."""
    state.need(2)
    state.need_classes()
    X, y = state.X, state.labels
    written_model, model = _model(state, kernel)
    panel = Panel("decision function", editable=True, wide=True)
    if len(np.unique(y)) > 2:
        return _many(state, kernel, panel, written_model, model)
    model.fit(X, y)
    f = model.decision_function(X)
    values = over_plane(model.decision_function)
    panel.field(values, scheme="sides", levels=[-1, 0, 1], hues=model.classes_.tolist())
    signs = np.where(y == model.classes_[1], 1, -1)
    facts = [("errors", in_words(int(np.sum(np.sign(f) != signs))), f"of {len(y)} points")]
    if state.options["lines"]:
        _draw_lines(panel, X, signs)
    if hasattr(model, "reports_"):
        report = model.reports_[0]
        free, bounded = _support(model, f, signs)
        panel.add("rings", free=free.tolist(), bounded=bounded.tolist())
        facts += [
            ("margin", in_words(report.margin), "2 / ‖f‖, its width in feature space"),
            ("‖f‖", in_words(2 / report.margin), "norm in the RKHS, without the offset"),
            ("free", str(len(free)), "support vectors on the margin, 0 < αᵢ < C"),
            ("bounded", str(len(bounded)), "support vectors beyond it, αᵢ = C"),
            ("duality gap", in_words(report.gap), "primal − dual, 0 at the optimum"),
        ]
    elif hasattr(model, "rkhs_function_"):
        norm = in_words(float(np.ravel(model.rkhs_function_.norm())[0]))
        facts.append(("‖f‖", norm, "norm in the RKHS, without the offset"))
    panels = [panel, _losses(state, signs * f, y)]
    return Picture(panels, facts, _python(state, kernel, written_model))


def _model(state: State, kernel: Kernel) -> tuple[str, Any]:
    """A classifier, and how it is written."""
    o, k = state.options, written(kernel)
    C, nu, alpha = (float(f"{o[name]:.3g}") for name in ("C", "nu", "alpha"))
    return {
        "svc": lambda: (f"SVC(kernel={k}, C={C})", SVC(kernel=kernel, C=C)),
        "hard": lambda: (f"SVC(kernel={k}, C=np.inf)", SVC(kernel=kernel, C=np.inf)),
        "nu": lambda: (f"NuSVC(kernel={k}, nu={nu})", NuSVC(kernel=kernel, nu=nu)),
        "ls": lambda: (f"LSSVC(kernel={k}, C={C})", LSSVC(kernel=kernel, C=C)),
        "logistic": lambda: (
            f"KernelLogisticRegression({alpha}, kernel={k})",
            KernelLogisticRegression(alpha, kernel=kernel),
        ),
    }[o["model"]]()


def _support(model: Any, f: np.ndarray, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Support vectors on the margin and beyond it: as many as the certificate counts."""
    support = np.asarray(model.support_)
    order = np.argsort(signs[support] * f[support], kind="stable")
    count = model.reports_[0].bounded
    return support[order[count:]], support[order[:count]]


def _losses(state: State, margins: np.ndarray, labels: np.ndarray) -> Panel:
    """The loss that the model minimises over the zero-one loss, and where the points are."""
    u = np.linspace(-2.5, 3, 200)
    name, loss = {
        "ls": ("squared", lambda u: (1 - u) ** 2),
        "logistic": ("logistic, base 2", lambda u: np.logaddexp(0, -u) / np.log(2)),
    }.get(state.options["model"], ("hinge", lambda u: np.maximum(0, 1 - u)))
    panel = Panel(
        "loss of each point", (-2.5, 3), (-0.15, 3.6), "margin y f(x)", "loss", key="right"
    )
    panel.line([-2.5, 0, np.nan, 0, 3], [1, 1, np.nan, 0, 0], RED, label="zero-one")
    panel.line(u, loss(u), BLUE, label=name)
    m = np.clip(margins, -2.45, 2.95)
    return panel.dots(m, np.minimum(loss(m), 3.5), labels)


def _draw_lines(panel: Panel, X: np.ndarray, signs: np.ndarray) -> None:
    """Lines that separate the classes as well: perceptrons from random starts."""
    rng = np.random.default_rng(0)
    Z = np.column_stack([X, np.ones(len(X))])
    for _ in range(_LINES):
        w = rng.normal(size=3) * [1, 1, 0.5]
        for _ in range(200):
            wrong = np.flatnonzero(signs * (Z @ w) <= 0)
            if not len(wrong):
                panel.line(*_across(w), GREEN, thin=True)
                break
            w = w + 0.3 * signs[wrong[0]] * Z[wrong[0]]


def _across(w: np.ndarray) -> tuple[list[float], list[float]]:
    """Two points of the line w₁x + w₂y + w₃ = 0 outside the window."""
    (left, right), (low, high) = WINDOW
    if abs(w[1]) >= abs(w[0]):
        ends = [left, right]
        return ends, [-(w[0] * t + w[2]) / w[1] for t in ends]
    ends = [low, high]
    return [-(w[1] * t + w[2]) / w[0] for t in ends], ends


def _many(state: State, kernel: Kernel, panel: Panel, written_model: str, model: Any) -> Picture:
    """More than two classes: their regions."""
    X, y = state.X, state.labels
    rest = state.options["strategy"] == "ovr"
    if rest:
        model, written_model = OneVsRestClassifier(model), f"OneVsRestClassifier({written_model})"
    model.fit(X, y)
    regions = over_plane(model.predict)
    panel.field(regions, scheme="regions", levels=[])
    scores = np.asarray(model.decision_function(X))
    share = [float(np.mean(regions == c)) for c in model.classes_]
    facts = [
        ("classes", str(len(model.classes_)), "one colour each"),
        ("errors", str(int(np.sum(model.predict(X) != y))), f"of {len(y)} points"),
        ("machines", str(len(share) if rest else len(share) * (len(share) - 1) // 2),
         "one for each class" if rest else "one for each pair, with votes"),
    ]  # fmt: skip
    best = Panel("score of the winning class", span(np.arange(len(y))), span(scores.max(axis=1)),
                 "point", "score")  # fmt: skip
    best.dots(np.arange(len(y)), scores.max(axis=1), y)
    return Picture([panel, best], facts, _python(state, kernel, written_model, rest))


def _python(state: State, kernel: Kernel, model: str, rest: bool = False) -> tuple[str, ...]:
    name = model.removeprefix("OneVsRestClassifier(").partition("(")[0]
    return code(
        [name, *classes(kernel)],
        [
            f"X, y = {array(state.X)}, {state.labels.tolist()}",
            f"model = {model}.fit(X, y)",
            "plot_decision(model, X, y)",
        ],
        "plot_decision",
        "from sklearn.multiclass import OneVsRestClassifier" if rest else "",
    )
