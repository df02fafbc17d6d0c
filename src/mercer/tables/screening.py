"""Which columns of two tables differ, which ones a target depends on, and in which rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import check_choice, check_count
from ..engine.memory import require_memory
from ..frames import pandas
from ..gram.plan import Plan
from ..kernels.base import Kernel
from ..kernels.labels.categorical import Categorical
from ..kernels.strings.spectrum import Spectrum
from ..kernels.vectors.radial import Gaussian
from ..randomness import as_generator
from ..stats.aggregate import column_units, combine
from ..stats.bank import not_finite
from ..stats.gather import permuted_sums
from ..stats.multiple import METHODS, adjust_pvalues, max_t
from ..stats.permutations import exchange_samples
from ..stats.planned import planned
from ..stats.samples import Samples, relabelled
from ..stats.smoothers import centre_in_place
from ..stats.witnesses import witness
from .roles import Column, Table, describe, tidy
from .rows import complete_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTHS = (0.25, 1.0, 4.0)  # of Gaussian kernels, in units of the spread of a column
_ROWS = 5
_BLOCKS = 4.0 * 3  # bytes of an n x n matrix in single precision, of which there are three
_SAID = "max-T"


@dataclass(frozen=True, eq=False)
class Screening:
    """Hypotheses about the columns of a table, tested together; prints as a table.

    Attributes
    ----------
    names, roles : list of str
        The columns that were tested, and what they were taken for: number, label, text or date.
    statistics : ndarray of shape (columns,)
        The score of each: approximately standard normal under the null hypothesis.
    pvalues, adjusted : ndarray of shape (columns,)
        The p-value of each column alone, and corrected for all of them.
    correction : str
        How they were corrected.
    hypothesis : str
        What is tested of each column.
    rows : dict of str to list
        Labels (of the index) of rows in which the difference shows most, by name of the table.
    skipped : dict of str to str
        Columns that were not tested, and why.
    n_permutations : int
        The permutations, shared by all columns.
    """

    names: list[str]
    roles: list[str]
    statistics: np.ndarray
    pvalues: np.ndarray
    adjusted: np.ndarray
    correction: str
    hypothesis: str
    rows: dict[str, list] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    n_permutations: int = 0

    def significant(self, alpha: float = 0.05) -> list[str]:
        """The columns whose corrected p-value is at most alpha, the clearest first."""
        order = np.lexsort((-self.statistics, self.adjusted))
        return [self.names[i] for i in order if self.adjusted[i] <= alpha]

    def to_frame(self) -> Table:
        """The result as a table, one row for each column that was tested."""
        cells = {
            "role": self.roles,
            "statistic": self.statistics,
            "pvalue": self.pvalues,
            "adjusted": self.adjusted,
        }
        return pandas().DataFrame(cells, index=pandas().Index(self.names, name="column"))

    def __str__(self) -> str:
        order = np.lexsort((-self.statistics, self.adjusted))
        width = max(6, *(len(str(name)) for name in self.names))
        lines = [f"{self.hypothesis}? ({self.n_permutations} permutations, {self.correction})"]
        lines.append(f"  {'column'.ljust(width)}  role    score   p-value  corrected")
        for i in order:
            numbers = f"{self.statistics[i]:6.2f}  {self.pvalues[i]:8.4f}  {self.adjusted[i]:9.4f}"
            lines.append(f"  {str(self.names[i]).ljust(width)}  {self.roles[i]:6}  {numbers}")
        lines += [f"  skipped {name}: {why}" for name, why in self.skipped.items()]
        lines += [f"  rows of {name}: {', '.join(map(str, r))}" for name, r in self.rows.items()]
        return "\n".join(lines)

    def plot(self, ax: Axes | None = None) -> Axes:
        """The score of each column, those that are significant in another colour."""
        from ..plots.screening import plot_screening

        return plot_screening(self, ax=ax)


@planned
def compare_tables(
    first: Table,
    second: Table,
    *,
    correction: str = _SAID,
    roles: Mapping[str, str] | None = None,
    missing: str = "error",
    n_permutations: int = 999,
    groups: Any = None,
    blocks: Any = None,
    n_rows: int = _ROWS,
    alpha: float = 0.05,
    rng: Any = None,
    plan: Plan | None = None,
) -> Screening:
    """Test which columns of two tables have different distributions, and find rows that are typical
    of the difference.

    Each column has its own kernels: numbers and dates by Gaussian kernels of three
    bandwidths, labels by equality, text by shared substrings. All columns see the same
    permutations of rows, so corrected p-values take into account how columns depend on each other.

    Parameters
    ----------
    first, second : DataFrame
        The tables; columns that occur in both are compared.
    correction : {"max-T", "holm", "bonferroni", "bh", "by"}
        How p-values are corrected for the number of columns: by the largest score of all columns
        under the same permutations (:func:`mercer.stats.multiple.max_t`), or from the p-values
        alone (:func:`mercer.adjust_pvalues`).
    roles : dict of str to str, optional
        The roles of columns: "number", "label" or "text". By default they are inferred; dates
        become numbers of days.
    missing : {"error", "drop"}
        Reject rows with missing values, or leave them out.
    n_permutations : int
        Permutations.
    groups, blocks
        As for :func:`mercer.two_sample_test`.
    n_rows : int
        The number of rows to report for each table; 0 for none.
    alpha : float
        The level at which columns count as different, in the choice of rows.
    rng : None, int or Generator
        The source of randomness.
    plan : Plan, optional
        Memory and threads to use.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from mercer.tables import compare_tables
    >>> rng = np.random.default_rng(0)
    >>> def draw(age):
    ...     city = rng.choice(["Rome", "Oslo"], 80)
    ...     return pd.DataFrame({"age": rng.normal(age, 9, 80), "city": city})
    >>> compare_tables(draw(40), draw(48), rng=0).significant()
    ['age']
    """
    rng = _checked(correction, n_permutations, rng)
    check_count("n_rows", n_rows, 0)
    shared = [name for name in first.columns if name in set(second.columns)]
    if not shared:
        raise ValueError("the tables have no column in common.")
    pooled = pandas().concat([first[shared], second[shared]], ignore_index=True)
    read = _read(pooled, roles, missing)
    before = np.arange(len(pooled))[read.rows] < len(first)
    sizes = int(before.sum()), int(np.sum(~before))
    if min(sizes) < 2:
        raise ValueError(
            f"each table needs at least two complete rows, got {sizes[0]}, {sizes[1]}."
        )
    samples = Samples(*(read.table[mask].reset_index(drop=True) for mask in (before, ~before)))
    kernels = {name: _kernels(read.table[name], role) for name, role in read.roles.items()}
    flat = [k.on(name) for name, several in kernels.items() for k in several]
    units = exchange_samples(samples.sizes, _of(groups, read.rows), _of(blocks, read.rows))
    start = units.of_units(samples.labels, "blocks")[None]
    units.check_movable(start[0])
    labels = np.concatenate([start, units.shuffled(start[0], n_permutations, rng)])
    found = relabelled(flat, samples, units, labels, plan=plan)
    scores, singles, best, place = [], [], [], 0
    for name, several in kernels.items():
        at = slice(place, place + len(several))
        one = combine(found.values[at], None, found.tolerance[at])
        scores.append(one.values)
        singles.append((1 + one.exceeding.sum()) / (1 + n_permutations))
        best.append(several[int(np.argmax(one.scores[:, 0]))].on(name))
        place += len(several)
    result = _screened(
        read, np.array(scores), np.array(singles), correction, "which columns differ"
    )
    seen = [best[i] for i in np.flatnonzero(result.adjusted <= alpha)]
    if seen and n_rows:
        parts = [read.table[mask].reset_index(drop=True) for mask in (before, ~before)]
        w = witness(parts[0], parts[1], sum(seen[1:], seen[0]))
        index = [table.index[read.rows[part]] for table, part in (
            (first, slice(0, len(first))), (second, slice(len(first), None)))]  # fmt: skip
        for place, (name, sign) in enumerate((("the first", -1), ("the second", 1))):
            top = np.argsort(sign * w(parts[place]), kind="stable")[:n_rows]
            result.rows[name] = index[place][top].tolist()
    return result


@planned
def screen_columns(
    table: Table,
    target: str,
    *,
    correction: str = _SAID,
    roles: Mapping[str, str] | None = None,
    missing: str = "error",
    n_permutations: int = 999,
    rng: Any = None,
    plan: Plan | None = None,
) -> Screening:
    """Test which columns of a table a target depends on.

    HSIC of each column with the target, by kernels as in :func:`compare_tables`, the sum of all
    bandwidths. The target is permuted, by the same permutations for all columns.

    Parameters
    ----------
    table : DataFrame
        The table.
    target : str
        The column to test the others against; numbers, labels, text or dates.
    correction, roles, missing, n_permutations, rng, plan
        As for :func:`compare_tables`.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from mercer.tables import screen_columns
    >>> rng = np.random.default_rng(0)
    >>> t = pd.DataFrame(rng.normal(size=(100, 3)), columns=["a", "b", "c"])
    >>> t["y"] = t["b"] ** 2 + rng.normal(0, 0.5, 100)
    >>> screen_columns(t, "y", rng=0).significant()
    ['b']
    """
    rng = _checked(correction, n_permutations, rng)
    if target not in table.columns:
        raise ValueError(f"there is no column {target!r}.")
    read = _read(table, roles, missing)
    if target not in read.roles:
        raise ValueError(f"the target {target!r} cannot be used: {read.skipped[target]}.")
    n = len(read.table)
    if n < 4:
        raise ValueError(f"at least 4 complete rows are needed, got {n}.")
    require_memory(_BLOCKS * n * n, f"kernel matrices of {n} rows")
    moved = np.array([np.arange(n)] + [rng.permutation(n) for _ in range(n_permutations)])
    L = _centred(read.table[target], read.roles.pop(target))
    if not read.roles:
        raise ValueError("there is no other column that can be used.")
    scores, singles = [], []
    for name, role in read.roles.items():
        K = _centred(read.table[name], role)
        sums = permuted_sums([K, L], moved[:, None])
        values = sums.pairs + sums.own
        rounding = 4 * float(np.finfo(np.float32).eps) * float(np.sqrt(np.sum((K * L) ** 2)))
        one = combine(values[None], None, np.array([rounding]))
        scores.append(one.values)
        singles.append((1 + one.exceeding.sum()) / (1 + n_permutations))
    words = f"which columns does {target} depend on"
    return _screened(read, np.array(scores), np.array(singles), correction, words)


# ---- helpers -----------------------------------------------------------------------------------
@dataclass
class _Read:
    """Complete rows of the columns that can be used; ``rows`` is a mask of all rows."""

    table: Table
    roles: dict[str, str]
    rows: np.ndarray
    skipped: dict[str, str]
    dates: set[str]


def _checked(correction: str, n_permutations: int, rng: Any) -> np.random.Generator:
    check_count("n_permutations", n_permutations)
    check_choice("correction", correction, (_SAID, *METHODS))
    return as_generator(rng)


def _read(table: Table, roles: Mapping[str, str] | None, missing: str) -> _Read:
    if missing not in ("error", "drop"):
        raise ValueError(f'missing must be "error" or "drop", got {missing!r}.')
    table, dates = _in_days(table, roles or {})
    columns = describe(table, roles)
    used = {c.name: c.role for c in columns if c.role != "skipped"}
    skipped = {c.name: c.why for c in columns if c.role == "skipped"}
    if not used:
        reasons = "; ".join(f"{name}: {why}" for name, why in skipped.items())
        raise ValueError(f"no column can be used ({reasons}).")
    rows = _complete(table, columns, missing)
    styles = {c.name: c.style for c in columns}
    return _Read(tidy(table[rows], used, styles), used, rows, skipped, dates)


def _complete(table: Table, columns: list[Column], missing: str) -> np.ndarray:
    try:
        return complete_rows(table, np.ones(len(table), bool), columns, missing)
    except ValueError as error:
        raise ValueError(str(error).replace("--missing drop", 'missing="drop"')) from None


def _in_days(table: Table, given: Iterable[str]) -> tuple[Table, set[str]]:
    """The table with dates as numbers of days, and their names."""
    pd, dates = pandas(), set()
    for column in describe(table):
        name = column.name
        if name in given or column.role != "date":
            continue
        values = pd.to_datetime(table[name], errors="coerce", format="mixed", utc=True)
        days = (values - values.min()) / pd.Timedelta(days=1)
        table = table.assign(**{str(name): days}) if isinstance(name, str) else table
        dates |= {name}
    return table, dates


def _kernels(column: Any, role: str) -> list[Kernel]:
    """The kernels of one column."""
    if role == "number":
        unit = column_units(column.to_numpy(dtype=np.float64)[:, None])
        return [Gaussian(width * unit) for width in _WIDTHS]
    return [Categorical()] if role == "label" else [Spectrum(3).normalize()]


def _centred(column: Any, role: str) -> np.ndarray:
    """The centred matrix of all kernels of a column together, in single precision."""
    values = column.to_numpy(dtype=np.float64) if role == "number" else column.tolist()
    total = None
    for kernel in _kernels(column, role):
        P = kernel.prepare(values)
        K = kernel.pairwise(P, P).astype(np.float64)
        if not np.all(np.isfinite(K)):
            raise not_finite(repr(kernel))
        total = K if total is None else total + K
    assert total is not None
    return centre_in_place(total).astype(np.float32)


def _of(labels: Any, rows: np.ndarray) -> Any:
    """Labels of all rows, of those that are used."""
    return labels if labels is None or np.ndim(labels) == 0 else np.asarray(labels)[rows]


def _screened(
    read: _Read, scores: np.ndarray, singles: np.ndarray, correction: str, words: str
) -> Screening:
    adjusted = max_t(scores) if correction == _SAID else adjust_pvalues(singles, correction)
    roles = ["date" if name in read.dates else role for name, role in read.roles.items()]
    return Screening(
        list(read.roles),
        roles,
        scores[:, 0],
        singles,
        np.maximum(adjusted, singles),
        correction,
        words,
        {},
        read.skipped,
        scores.shape[1] - 1,
    )
