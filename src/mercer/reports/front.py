"""The front door: a report on a model, or on the result of a test."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np

from ..checks import check_count, check_folds
from ..data import Data
from ..progress import ticker
from ..stats.result import TestResult
from ..stats.segmentation_result import Segmentation
from .columns import dependence_section, relevance_section
from .curves import learning_section
from .data import data_section
from .drift import drift_section
from .errors import calibration_section, residual_section, surprise_section
from .influence import influence_section
from .judged import Judged, judge
from .markup import Html, count, number
from .model import model_section, plan_section, reproduce_section
from .page import Report, Section, Tile
from .results import result_report
from .scores import Scores, score_section, tiles, verdict
from .subject import Clock, Subject, subject_of
from .surface import surface_section

_NEEDS = "scores could not be computed"


def report(
    subject: Any,
    X: Data | None = None,
    y: Any = None,
    *,
    test: tuple[Data, Any] | None = None,
    title: str | None = None,
    budget: float | str = "1 min",
    max_rows: int = 2000,
    cv: Any = 5,
    groups: Any = None,
    random_state: int = 0,
    verbose: bool = False,
    command: str = "",
) -> Report:
    """Make a report on a model, or on the result of a test: one self-contained HTML page.

    On a model: the data, the formula of its kernel with an explanation, scores on unseen rows, with
    intervals and next to baselines (a constant, a linear model, gradient boosting), calibration,
    residuals or confusions, relevance of columns and partial dependence, learning curve, validation
    surface, influential training rows, surprising rows, drift between training and test rows, plan
    and timings, how to reproduce it. Sections that do not apply to the data or the model are left
    out, and the page says why.

    Scores are those of copies of the model refitted without the rows they predict, unless there is
    a test set: then the model is scored as it is.

    Parameters
    ----------
    subject : estimator or TestResult
        A classifier or regressor of this library or of scikit-learn, also at the end of a pipeline
        or a search; fitted, or it is fitted to X and y. Or what a test returned.
    X : data, optional
        The samples it was trained on: an array, a table, a list of anything. Of a test, the first
        sample.
    y : array of shape (n,), optional
        Their targets. Of a test, the second sample.
    test : (X_test, y_test), optional
        Samples that it was not trained on.
    title : str, optional
        The heading.
    budget : float or str
        The total time, in seconds or as ``"2 min"``. Sections that would take longer are shortened,
        or left out with a note. Single fits are not interrupted.
    max_rows : int
        Refits use at most this many rows, drawn at random.
    cv : int or splitter
        Folds; or what divides the rows, as in scikit-learn.
    groups : array of shape (n,), optional
        Rows of the same group stay together in folds.
    random_state : int
        Used to draw rows, folds, permutations and resamples.
    verbose : bool
        Show what is being done.
    command : str
        A line for the command line that makes the same report, to be shown in it.

    Returns
    -------
    Report
        With ``save(path)``, ``html`` and ``sections``; a notebook shows it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, KernelRidge, report
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, (120, 2))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=120)
    >>> page = report(KernelRidge(0.1, kernel=Gaussian("median")), X, y)
    >>> page.save("report.html")  # doctest: +SKIP
    >>> [section.title for section in page.sections][:4]
    ['Data', 'Model', 'Scores', 'Calibration']
    """
    clock = Clock(budget)
    if isinstance(subject, TestResult):
        samples = tuple(s for s in (X, y) if s is not None)
        return result_report(subject, samples, title)
    if isinstance(subject, Segmentation):
        raise TypeError("there is no report on a Segmentation; print it, or draw it with plot().")
    if X is None:
        raise ValueError("a report on a model needs X and y: report(model, X, y).")
    _check(max_rows, cv)
    options = {"budget": budget, "max_rows": max_rows, "cv": cv, "random_state": random_state}
    chosen = {"max_rows": max_rows, "cv": cv, "groups": groups, "seed": random_state}
    found = subject_of(subject, X, y, clock, test, **chosen)
    with ticker(verbose, "report") as tick:
        return _Maker(found, tick).make(title, options, command)


class _Maker:
    """Makes one section after the other; sections that fail are left out, with the reason."""

    def __init__(self, subject: Subject, tick: Callable[[str], None]) -> None:
        self.subject, self.tick = subject, tick
        self.sections: list[Section] = []

    def make(self, title: str | None, options: dict[str, Any], command: str) -> Report:
        s, clock = self.subject, self.subject.clock
        self.add("Data", lambda: data_section(s))
        self.add("Model", lambda: model_section(s))
        self.tick("scores")
        judged, scores, trouble = self._judged()
        needs: dict[str, Any] = {"judged": judged, "trouble": trouble}
        self.add("Scores", lambda: score_section(s, _known(judged), _known(scores)), **needs)
        self.add("Calibration", lambda: calibration_section(s, _known(judged)), **needs)
        name = "Confusions" if s.classifier else "Residuals"
        self.add(name, lambda: residual_section(s, _known(judged)), **needs)
        ranked: list[int] = list(range(len(s.names)))

        def relevance() -> Section:
            section, found = relevance_section(s, _known(judged), clock.share(0.15))
            ranked[:] = found or ranked
            return section

        self.add("Relevance of columns", relevance, costly=True, **needs)
        self.add(
            "Partial dependence",
            lambda: dependence_section(s, _known(judged), ranked, clock.share(0.1)),
            costly=True,
            **needs,
        )
        self.add(
            "Learning curve",
            lambda: learning_section(s, _known(judged), clock.share(0.2)),
            costly=True,
            **needs,
        )
        self.add(
            "Validation surface",
            lambda: surface_section(s, _known(judged), clock.share(0.2)),
            **needs,
        )
        self.add("Influential rows", lambda: influence_section(s, ranked))
        self.add(
            "Most surprising rows", lambda: surprise_section(s, _known(judged), ranked), **needs
        )
        self.add("Drift", lambda: drift_section(s), costly=True)
        self.add("Plan and timings", lambda: plan_section(s, judged, clock))
        self.add("How to reproduce", lambda: reproduce_section(s, options, command))
        return Report(
            title or f"{type(s.inner).__name__} on {count(s.n, 'row')}",
            tuple(self.sections),
            Html("") if scores is None else verdict(s, scores),
            self._kicker(),
            (*([] if scores is None else tiles(s, scores)), *self._tiles()),
            f"Made with mercer on {date.today().isoformat()}. This page needs no network.",
        )

    def add(
        self,
        title: str,
        make: Callable[[], Section],
        *,
        costly: bool = False,
        judged: Any = None,
        trouble: str = "",
    ) -> None:
        """A section, timed; left out when the budget is used up or something is missing."""
        self.tick(title.lower())
        start = time.perf_counter()
        if trouble:
            section = Section(title, left_out=trouble)
        elif costly and self.subject.clock.left <= 0:
            section = Section(title, left_out=self.subject.clock.refusal())
        else:
            try:
                with self.subject.listening():
                    section = make()
            except Exception as error:  # whatever a user's model or data do to one section
                words = " ".join(str(error).split())[:300]
                section = Section(title, left_out=f"it failed with {type(error).__name__}: {words}")
        took = time.perf_counter() - start
        self.sections.append(Section(section.title, section.body, section.left_out, took))

    def _judged(self) -> tuple[Judged | None, Scores | None, str]:
        try:
            with np.errstate(all="ignore"):
                judged = judge(self.subject)
                return judged, Scores(judged, self.subject.seed), ""
        except Exception as error:  # whatever a user's model does when it is fitted again
            return None, None, f"{_NEEDS}: {' '.join(str(error).split())[:300]}"

    def _kicker(self) -> str:
        s = self.subject
        shape = f"{count(s.n, 'row')}" + (f", {count(len(s.names), 'column')}" if s.names else "")
        return f"Report on a {'classifier' if s.classifier else 'regression'}: {shape}"

    def _tiles(self) -> list[Tile]:
        s = self.subject
        words = f"{number(len(s.names))} columns" if s.names else ""
        return [Tile("training rows", number(s.n), words)]


def _known(value: Any) -> Any:
    """The result of an earlier section."""
    assert value is not None
    return value


def _check(max_rows: Any, cv: Any) -> None:
    check_count("max_rows", max_rows, 10)
    check_folds(cv)
