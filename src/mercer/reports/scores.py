"""Scores on unseen rows, with intervals, compared with baselines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from .judged import Answers, Judged
from .markup import Html, join, listed, number, paragraph, table, tag, text
from .page import Section, Tile
from .rivals import BOOSTED, CONSTANT, LINEAR
from .subject import Subject
from .svg import Chart, figure, figures, margin

_DRAWS = 1000  # of the bootstrap
_TINY = 1e-12
_BLOCK = 4_000_000  # numbers of resamples held at once


@dataclass(frozen=True)
class Score:
    """A score of one model: its value, and its values on resampled rows."""

    value: float
    draws: np.ndarray

    @property
    def interval(self) -> tuple[float, float]:
        """From the 2.5% to the 97.5% quantile of resamples."""
        if not len(self.draws) or not np.isfinite(self.draws).any():
            return float("nan"), float("nan")
        low, high = np.nanquantile(self.draws, [0.025, 0.975])
        return float(low), float(high)


@dataclass(frozen=True)
class Metric:
    """The name of a score, whether it is better small, and how it is computed."""

    name: str
    small: bool
    words: str
    scaled: bool = False  # has it the scale of the target?

    def show(self, value: float) -> str:
        """A value with as many digits as make sense."""
        if not np.isfinite(value):
            return "–"
        if self.scaled and not 1e-3 <= abs(value) < 1000:
            return number(value, 3)
        return f"{value:{'#.3g' if self.scaled else '.3f'}}".rstrip(".").replace("-", "−")

    def between(self, low: float, high: float) -> str:
        """An interval."""
        return f"{self.show(low)} to {self.show(high)}"


RMSE = Metric("RMSE", True, "root mean squared error", True)
MAE = Metric("MAE", True, "mean absolute error", True)
R2 = Metric("R²", False, "share of the variance that is explained")
ACCURACY = Metric("accuracy", False, "share of rows with the correct label")
BALANCED = Metric(
    "balanced accuracy",
    False,
    "mean over classes of the share of their rows with the correct label",
)
LOSS = Metric("log loss", True, "minus the mean logarithm of the probability of the true class")
AUC = Metric("ROC AUC", False, "probability that a row of the second class ranks above the first")


class Scores:
    """All scores of all models on the same rows, on the same resamples."""

    def __init__(self, judged: Judged, seed: int = 0) -> None:
        self.judged, self.seed = judged, seed
        known = np.array([p is not None and p == p for p in judged.model.prediction])
        if not known.any():
            raise ValueError("the model predicts none of the rows.")
        self.known, self.y = known, judged.y[known]
        models = {"model": judged.model, **judged.rivals}
        self.table: dict[str, dict[Metric, Score]] = {}
        for name, answers in models.items():
            self.table[name] = self._of(answers)

    @property
    def main(self) -> Metric:
        """The score by which models are compared."""
        if self.judged.classes is None:
            return RMSE
        return LOSS if LOSS in self.table["model"] else ACCURACY

    @property
    def metrics(self) -> list[Metric]:
        """Those of the model."""
        return list(self.table["model"])

    def best_rival(self) -> str | None:
        """The baseline with the best main score."""
        sign = 1 if self.main.small else -1
        found = {
            n: s[self.main].value for n, s in self.table.items() if n != "model" and self.main in s
        }
        return min(found, key=lambda n: sign * found[n]) if found else None

    def difference(self, rival: str) -> Score:
        """How much better the model is than a baseline, on the same resamples."""
        sign = 1 if self.main.small else -1
        a, b = self.table[rival][self.main], self.table["model"][self.main]
        return Score(sign * (a.value - b.value), sign * (a.draws - b.draws))

    def _of(self, answers: Answers) -> dict[Metric, Score]:
        prediction = answers.prediction[self.known]
        if self.judged.classes is None:
            return self._numbers(prediction.astype(float))
        proba = None if answers.proba is None else answers.proba[self.known]
        return self._labels(prediction, proba)

    def _numbers(self, f: np.ndarray) -> dict[Metric, Score]:
        y = self.y - self.y.mean()  # large offsets cancel
        error = self.y - f
        terms = np.stack([error**2, np.abs(error), y, y**2], axis=1)

        def values(sums: np.ndarray, n: np.ndarray) -> np.ndarray:
            spread = sums[:, 3] - sums[:, 2] ** 2 / n
            fine = spread > _TINY * np.maximum(sums[:, 3], 1e-300)
            r2 = np.where(fine, 1 - sums[:, 0] / np.where(fine, spread, 1), np.nan)
            return np.stack([np.sqrt(sums[:, 0] / n), sums[:, 1] / n, r2], axis=1)

        return self._resampled([RMSE, MAE, R2], terms, values)

    def _labels(self, label: np.ndarray, proba: np.ndarray | None) -> dict[Metric, Score]:
        classes = self.judged.classes
        assert classes is not None
        codes = np.searchsorted(classes, self.y)
        right = np.array([a == b for a, b in zip(label, self.y, strict=True)], dtype=float)
        present = np.eye(len(classes))[codes]
        terms = [right[:, None], present, present * right[:, None]]
        metrics = [ACCURACY, BALANCED]
        if proba is not None:
            seen = np.maximum(proba[np.arange(len(codes)), codes], 1e-15)
            terms.append(-np.log(seen)[:, None])
            metrics.append(LOSS)
        k = len(classes)

        def values(sums: np.ndarray, n: np.ndarray) -> np.ndarray:
            sizes, found = sums[:, 1 : 1 + k], sums[:, 1 + k : 1 + 2 * k]
            shares = np.where(sizes > 0, found / np.maximum(sizes, 1), np.nan)
            parts = [sums[:, 0] / n, np.nanmean(shares, axis=1)]
            return np.stack(parts + [sums[:, -1] / n] * (proba is not None), axis=1)

        result = self._resampled(metrics, np.concatenate(terms, axis=1), values)
        if proba is not None and k == 2 and len(np.unique(codes)) == 2:
            result[AUC] = self._auc(codes, proba[:, 1])
        return result

    def _resampled(
        self,
        metrics: list[Metric],
        terms: np.ndarray,
        values: Callable[[np.ndarray, np.ndarray], np.ndarray],
    ) -> dict[Metric, Score]:
        """Scores that are functions of sums over rows, with all rows and with resamples."""
        n = len(terms)
        exact = values(terms.sum(axis=0)[None], np.array([n]))[0]
        draws = [values(w @ terms, np.full(len(w), n)) for w in self._weights(n)]
        all_draws = np.concatenate(draws)
        return {m: Score(float(exact[j]), all_draws[:, j]) for j, m in enumerate(metrics)}

    def _auc(self, codes: np.ndarray, score: np.ndarray) -> Score:
        """Of pairs of a row of either class, the share in the right order; ties count half."""
        order = np.argsort(score, kind="stable")
        positive = codes[order] == 1
        _, place = np.unique(score[order], return_inverse=True)
        first = np.searchsorted(place, place)  # of those with the same score

        def values(weights: np.ndarray) -> np.ndarray:
            w = weights[:, order]
            below = np.cumsum(np.where(positive, 0.0, w), axis=1)
            below = np.concatenate([np.zeros((len(w), 1)), below], axis=1)
            last = np.searchsorted(place, place, side="right")
            middle = (below[:, first] + below[:, last]) / 2
            pairs = w[:, positive].sum(axis=1) * below[:, -1]
            found = (w[:, positive] * middle[:, positive]).sum(axis=1)
            return np.where(pairs > 0, found / np.maximum(pairs, 1), np.nan)

        draws = [values(weights) for weights in self._weights(len(codes))]
        return Score(float(values(np.ones((1, len(codes))))[0]), np.concatenate(draws))

    def _weights(self, n: int) -> Iterator[np.ndarray]:
        """How often each row is drawn in resamples, some of them at a time; always the same."""
        rng = np.random.default_rng(self.seed)
        step = max(1, min(_DRAWS, _BLOCK // n))
        for start in range(0, _DRAWS, step):
            size = min(step, _DRAWS - start)
            yield rng.multinomial(n, np.full(n, 1 / n), size=size).astype(float)


def score_section(subject: Subject, judged: Judged, scores: Scores) -> Section:
    """The table, a picture of the main score, and what it says."""
    main, rows = scores.main, []
    names = order(scores)
    for name in names:
        cells = [called(subject, name)]
        for metric in scores.metrics:
            found = scores.table[name].get(metric)
            cells.append(text("–") if found is None else _cell(metric, found))
        rows.append(cells)
    caption = f"Scores {judged.how}; 95% intervals from {_DRAWS} resamples of the rows."
    notes = [
        f"{m.name}: {m.words}; {'less' if m.small else 'more'} is better." for m in scores.metrics
    ]
    notes += [f"{words[0].upper()}{words[1:]}." for words in judged.missing]
    silent = int(np.sum(~scores.known))
    if silent:
        notes.append(f"{silent} rows with missing values have no prediction and are left out here.")
    if judged.fitted_to < subject.n:
        notes.append(
            f"Models were fitted to {judged.fitted_to} rows here; the given model was trained on "
            f"{subject.n} and may be better. More rows: max_rows, or a test set: test=(X, y)."
        )
    body = [
        paragraph(verdict(subject, scores)),
        table(caption, ["", *(m.name for m in scores.metrics)], rows, marked=0),
        figures(_picture(subject, scores, names, main)),
        listed(notes, class_="aside"),
    ]
    return Section("Scores", join(body))


def order(scores: Scores) -> list[str]:
    """The model, then baselines from best to worst."""
    sign = 1 if scores.main.small else -1
    rivals = [n for n in scores.table if n != "model"]
    return ["model", *sorted(rivals, key=lambda n: sign * _main(scores, n))]


def called(subject: Subject, name: str) -> str:
    """The name of a model in tables."""
    if name == "model":
        return f"{type(subject.inner).__name__} (this model)"
    if name == CONSTANT:
        return "shares of classes" if subject.classifier else "the mean"
    return {LINEAR: "a linear model", BOOSTED: "gradient boosting"}[name]


def verdict(subject: Subject, scores: Scores) -> Html:
    """The comparison with the best baseline, in a sentence or two."""
    main, rival = scores.main, scores.best_rival()
    own = scores.table["model"][main]
    article = "an" if main.name[0] in "aRM" else "a"
    start = f"The model has {article} {main.name} of {main.show(own.value)} "
    start += f"({main.between(*own.interval)})"
    if rival is None:
        return text(start + ".")
    low, high = scores.difference(rival).interval
    tone, word = ("good", "better") if low > 0 else ("bad", "worse") if high < 0 else ("warn", "")
    other = f"{called(subject, rival)} ({main.show(scores.table[rival][main].value)})"
    if not word:
        words = tag("strong", "no clear difference", class_=tone)
        gap = f"the gain is between {main.show(low)} and {main.show(high)}"
        return join([start, ": there is ", words, f" from {other}, {_rank(scores)}; {gap}."])
    ends = sorted((abs(low), abs(high)))
    gap = f", {_rank(scores)}, by {main.between(*ends)}."
    tail = "" if word == "better" else " Use that one, or try another kernel."
    return join([start, ", ", tag("strong", word, class_=tone), f" than {other}{gap}{tail}"])


def tiles(subject: Subject, scores: Scores) -> list[Tile]:
    """The numbers at the head of a report."""
    found = []
    wanted = [RMSE, R2] if scores.judged.classes is None else [ACCURACY, scores.main]
    for metric in dict.fromkeys(wanted):
        score = scores.table["model"].get(metric)
        if score is not None and np.isfinite(score.value):
            words = metric.between(*score.interval)
            found.append(Tile(metric.name, metric.show(score.value), words))
    rival = scores.best_rival()
    if rival is not None:
        value = scores.table[rival][scores.main].value
        name = f"{scores.main.name} of {called(subject, rival)}"
        found.append(Tile(name, scores.main.show(value), _rank(scores)))
    return found


def _rank(scores: Scores) -> str:
    """The rank of a baseline among those for which there were data and time."""
    return "the best baseline" if len(scores.judged.rivals) > 1 else "the only baseline"


def _picture(subject: Subject, scores: Scores, names: list[str], main: Metric) -> Html:
    """Main scores as dots with their intervals, best baseline first."""
    shown = [n for n in names if main in scores.table[n]]
    found = [scores.table[n][main] for n in shown]
    ends = np.array([[*s.interval, s.value] for s in found])
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    space = 0.06 * (high - low) or 0.1
    labels = ["this model" if n == "model" else called(subject, n) for n in shown]
    words = f"{main.name} of {len(shown)} models with intervals: " + "; ".join(
        f"{label} {number(s.value, 3)}" for label, s in zip(labels, found, strict=True)
    )
    chart = Chart(
        words,
        (low - space, high + space),
        (-len(shown) + 0.4, 0.6),
        xlabel=f"{main.name}, {'less' if main.small else 'more'} is better",
        yticks=[(-i, label) for i, label in enumerate(labels)],
        left=margin(labels, 165),
        height=66 + 36 * len(shown),
    )
    for i, score in enumerate(found):
        hue = 1 if i == 0 else 0
        chart.spans([-i], [score.interval[0]], [score.interval[1]], hue)
        chart.points([score.value], [-i], hue, size=9)
    return figure(chart, f"{main.name} with 95% intervals, all models on the same rows.", wide=True)


def _main(scores: Scores, name: str) -> float:
    found = scores.table[name].get(scores.main)
    return np.inf if found is None else found.value


def _cell(metric: Metric, score: Score) -> Html:
    words = f"({metric.between(*score.interval)})"
    return join([metric.show(score.value), " ", tag("span", words, class_="interval")])
