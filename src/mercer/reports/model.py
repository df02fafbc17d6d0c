"""The model: its formula with an explanation, its plan, what it took; how to make it again."""

from __future__ import annotations

import hashlib
import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data import Data, is_frame, length, take
from ..engine.durations import duration_words
from ..engine.memory import memory_words
from ..kernels.base import Kernel
from ..kernels.calculus.properties import Properties
from .data import column_at
from .formula import formula, parameters
from .judged import Judged
from .markup import (
    Html,
    code,
    definitions,
    folded,
    join,
    listed,
    listing,
    number,
    paragraph,
    percent,
    short,
    table,
    tag,
)
from .page import Section
from .subject import Clock, Subject

_PROPERTIES = ("bounded", "continuous", "smooth", "analytic", "stationary", "strictly_pd",
               "universal", "characteristic", "finite_dim")  # fmt: skip
_WORDS = {"strictly_pd": "strictly positive definite", "finite_dim": "finite dimension"}
_PACKAGES = ("mercer", "numpy", "scipy", "scikit-learn", "numba", "pandas")
_MOST_PARAMETERS = 30


def model_section(subject: Subject) -> Section:
    """The formula typeset, with its explanation."""
    kernel, inner = subject.kernel, subject.inner
    lines: list[Any] = [paragraph(code(short(_repr(subject.model), 1500)))]
    if kernel is None and hasattr(inner, "kernel_words"):  # a blend, of a table
        return Section("Model", join([*lines, *_blend(inner)]))
    if kernel is None:
        words = f"{type(inner).__name__} has no kernel of this library, so there is no formula."
        return Section("Model", join(lines), left_out=words)
    lines += [
        tag("div", formula(kernel), class_="equation"),
        chips(kernel.properties),
        _parameters(kernel, inner),
        folded("Why this is a kernel, and what follows", listing(kernel.explain())),
    ]
    return Section("Model", join(lines))


def _blend(model: Any) -> list[Any]:
    """The kernels of a model of a table, and how much each column counts in their distances."""
    lines: list[Any] = [
        paragraph("A sum of ridge regressions, with these weights and kernels:"),
        listed(model.kernel_words()),
    ]
    rows = [(name, percent(share)) for name, share in model.relevance_.items()]  # largest first
    rows = rows[:_MOST_PARAMETERS]
    if len({share for _, share in rows}) > 1:
        caption = "The weight of each column in the distances, relative to the largest."
        lines.append(table(caption, ["column", "relevance"], rows, words=(0,)))
    return lines


def chips(p: Properties) -> Html:
    """Properties as a row of words: those that hold, that do not, and that are not known."""
    found, unknown = [], []
    for name in _PROPERTIES:
        fact = getattr(p, name)
        answer = str(fact)
        words = _WORDS.get(name, name.replace("_", " "))
        if name == "smooth":
            level = fact.at_least
            if level == float("inf"):
                found.append(tag("li", "infinitely smooth", class_="yes", title=fact.because))
            elif level >= 1:
                found.append(tag("li", f"{level:g} times differentiable", class_="yes"))
            continue
        if answer == "unknown":
            unknown.append(words)
        elif fact.value:
            found.append(tag("li", words, class_="yes", title=fact.because))
        else:
            found.append(tag("li", f"not {words}", class_="no", title=fact.because))
    if unknown:
        found.append(tag("li", f"unknown: {', '.join(unknown)}", class_="open"))
    return tag("ul", *found, class_="chips", aria_label="Properties")


def _parameters(kernel: Kernel, inner: Any) -> Html | None:
    own = [
        (name, number(value))
        for name, value in _settings(inner)
        if isinstance(value, int | float | str) and not isinstance(value, bool)
    ]
    rows = [*own, *parameters(kernel)][:_MOST_PARAMETERS]
    return (
        table("Parameters after fitting.", ["parameter", "value"], rows, words=range(2))
        if rows
        else None
    )


def _settings(inner: Any) -> list[tuple[str, Any]]:
    names = ("alpha", "alpha_", "C", "nu", "epsilon", "noise", "loss", "level")
    return [
        (name, getattr(inner, name)) for name in names if np.ndim(getattr(inner, name, [])) == 0
    ]


def plan_section(subject: Subject, judged: Judged | None, clock: Clock) -> Section:
    """How K is kept, what the solver says, and how long things took."""
    inner = subject.inner
    lines: list[Any] = []
    gram = getattr(inner, "gram_", None)
    plan = getattr(inner, "plan", None)
    if gram is not None and hasattr(gram, "explain"):
        lines.append(listing(gram.explain()))
    if plan is not None:
        lines.append(paragraph("Plan: ", code(repr(plan))))
    facts: list[tuple[str, str]] = []
    solution = getattr(inner, "solution_", None)
    if solution is not None:
        for name in ("method", "converged", "n_iter", "message"):
            value = getattr(solution, name, None)
            if value not in (None, ""):
                facts.append((name.replace("_", " "), short(number(value), 160)))
    if hasattr(inner, "n_support_"):
        facts.append(("support vectors", number(int(np.sum(inner.n_support_)))))
    if gram is not None and hasattr(gram, "nbytes"):
        facts.append(("memory of K", memory_words(gram.nbytes)))
    if subject.fit_seconds is not None:
        facts.append((f"fit to {subject.n} rows", duration_words(subject.fit_seconds)))
    if judged is not None:
        if np.isfinite(judged.fit_seconds) and judged.fitted_to != subject.n:
            facts.append((f"fit to {judged.fitted_to} rows", duration_words(judged.fit_seconds)))
        facts.append(
            (f"prediction of {len(judged.y)} rows", duration_words(judged.predict_seconds))
        )
    facts.append(
        ("this report", f"{duration_words(clock.spent)} of {duration_words(clock.budget)}")
    )
    lines.append(definitions(facts))
    if subject.said:
        lines += [
            paragraph("Warnings while models were fitted for this report:"),
            listed(subject.said[:12]),
        ]
    return Section("Plan and timings", join(lines))


def reproduce_section(subject: Subject, options: dict[str, Any], command: str = "") -> Section:
    """What is needed to get the same report again."""
    given = ", ".join(f"{name}={value!r}" for name, value in options.items())
    test = ", test=(X_test, y_test)" if subject.test is not None else ""
    call = f"report(model, X, y{test}, {given})"
    model = _shown(subject.model)
    lines: list[Any] = [
        paragraph("The same data, model and seed give the same numbers, except for timings and "
                  "what the budget allows."),
        listing("\n".join([*_imports(subject.model, model), "", f"model = {model}",
                           f'{call}.save("report.html")'])),
    ]  # fmt: skip
    if command:
        lines += [paragraph("Or from the command line:"), listing(command)]
    facts = [("data", fingerprint(subject.X, subject.y)), ("python", platform.python_version())]
    facts += [(name, found) for name in _PACKAGES if (found := _version(name))]
    facts.append(("system", f"{platform.system()} {platform.machine()}"))
    return Section("How to reproduce", join([*lines, definitions(facts)]))


def _imports(model: Any, words: str) -> list[str]:
    """Where the names in the code of a model come from; those of the user's own program are not."""
    found: dict[str, set[str]] = {"mercer": {"report"}}
    if re.search(r"(?<!\w)array\(", words):
        found["numpy"] = {"array"}
    for value in [model, *model.get_params().values()]:
        kind, name = type(value), type(value).__name__
        parts = kind.__module__.split(".")
        if parts[0] == "__main__" or not re.search(rf"(?<![\w.]){name}\(", words):
            continue
        packages = (".".join(parts[:i]) for i in range(1, len(parts) + 1))
        for package in packages:  # the first that offers it
            if getattr(sys.modules.get(package), name, None) is kind:
                found.setdefault(package, set()).add(name)
                break
    return [f"from {package} import {', '.join(sorted(found[package]))}" for package in found]


def fingerprint(X: Data, y: np.ndarray) -> str:
    """A short hash of the data: two samples with the same are the same."""
    hashed = hashlib.sha256()
    if sp.issparse(X):
        C = X.tocsr()
        parts: list[Any] = [C.indptr, C.indices, C.data]
    elif is_frame(X):
        parts = [repr([str(c) for c in X.columns]).encode("utf-8", "backslashreplace")]
        for values in (column_at(X, place) for place in range(len(X.columns))):
            words = isinstance(values, list)
            parts.append(repr(values).encode("utf-8", "backslashreplace") if words else values)
    elif isinstance(X, np.ndarray) and X.dtype != object:
        parts = [X]
    else:
        parts = [repr(take(X, [i])).encode("utf-8", "backslashreplace") for i in range(length(X))]
    for part in [*parts, np.asarray(y)]:
        if isinstance(part, np.ndarray):
            part = (
                repr(part.tolist()).encode() if part.dtype == object else np.ascontiguousarray(part)
            )
        hashed.update(part.tobytes() if isinstance(part, np.ndarray) else part)
    return f"sha256 {hashed.hexdigest()[:16]}"


def _repr(model: Any) -> str:
    """The model as code on one line, lines of long ones cut."""
    words = " ".join(repr(model).split())
    return words if len(words) < 3000 else words[:3000] + " ..."


def _shown(model: Any) -> str:
    """The model as code, on several lines where it is long."""
    words = repr(model)
    return words if len(words) < 3000 else words[:3000] + " ..."


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
