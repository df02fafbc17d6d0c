"""What models of tables share: reading tables, choosing kernels, blending, explaining."""

from __future__ import annotations

import sys
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..checks import check_positives
from ..engine.durations import parse_duration
from ..engine.memory import parse_memory
from ..frames import is_frame, opened, pandas
from ..gram.plan import Plan
from ..kernels.base import Kernel
from ..models.common import SEEN
from ..progress import ticker
from ..randomness import as_generator
from .candidates import on_table, text_similarities
from .encoding import Encoded, completed, encode, learn_parts, words_of
from .members import Given, Member
from .metric import ALPHAS
from .numbers import PLAIN, count, part_of
from .roles import ROLES, Column, Table, describe, tidy
from .search import Choice, Effort, choose, choose_alpha

MANY_ROWS = 10_000  # from here on a kernel that was given is approximated by landmarks,
RANK = 1000  # of which there are so many, unless rank says something else
_BACKGROUND = 60  # rows that stand for all others in explanations
_ADAPTIVE = 3000  # rows of a piece up to which intervals are wider where rows are rare


@dataclass(eq=False, repr=False)
class TableModel(BaseEstimator):
    """What models of tables share.

    ``detail`` is the option of ``mercer predict`` that asks how sure a prediction is, and
    ``target_`` the column that ``mercer fit`` has learned to predict.
    """

    saved_state: ClassVar[tuple[str, ...]] = (
        *SEEN, "roles_", "styles_", "parts_", "members_", "mean_", "std_", "scores_", "adaptive_",
        "background_", "validation_error_", "search_", "target_",
    )  # fmt: skip
    former_params: ClassVar[tuple[str, ...]] = ("cv", "Cs")  # of files of earlier versions
    detail: ClassVar[str]

    kernel: Kernel | None = None
    _: KW_ONLY
    budget: Any = "1 min"
    alphas: Any = ALPHAS
    roles: dict[str, str] | None = None
    styles: dict[str, str] | None = None
    plan: Any = None
    rank: Any = "auto"
    random_state: int = 0
    verbose: bool = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    # ---- reading -------------------------------------------------------------------------------
    def _read(
        self, X: Any, needed: Any = (), most: int | None = None
    ) -> tuple[Encoded, np.ndarray | None]:
        """A table to learn from: what its columns are, and the coordinates of its rows.

        Of more rows than the budget allows, or ``most``, some are drawn, and those that are needed.
        Their numbers come second; None if all are used.
        """
        frame = as_frame(X, self)
        if len(frame) < 2:
            raise ValueError(f"{count(len(frame), 'sample')} is too few: a model needs at least 2.")
        if frame.shape[1] == 0:
            raise ValueError(
                f"0 feature(s) (shape={frame.shape}) while a minimum of 1 is required: the table "
                f"has no columns."
            )
        self.columns_ = described(frame, self.roles, self.styles)
        self.roles_ = {c.name: c.role for c in self.columns_ if c.role != "skipped"}
        self.styles_ = {c.name: c.style for c in self.columns_ if c.style != PLAIN}
        self.n_features_in_ = frame.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        if is_frame(X) and all(isinstance(name, str) for name in X.columns):
            self.feature_names_in_ = np.array(list(frame.columns), dtype=object)
        table = tidy(frame, self.roles_, self.styles_)
        self.parts_ = learn_parts(table, self.roles_)
        said = {part["column"]: words_of(part) for part in self.parts_}
        self.columns_ = [
            replace(c, why="; ".join(filter(None, [c.why, said.get(c.name, "")])))
            for c in self.columns_
        ]
        rows = as_generator(self.random_state, "random_state").permutation(len(table))[:_BACKGROUND]
        self.background_ = table.iloc[np.sort(rows)].reset_index(drop=True)
        kept = self._kept(table, needed, most)
        self.rows_given_ = len(table)
        if kept is not None:
            table = table.iloc[kept].reset_index(drop=True)
        return self._encoded(table), kept

    def _kept(self, table: Table, needed: Any, most: int | None) -> np.ndarray | None:
        """The rows that a model is fitted to, if these are not all."""
        n = len(table)
        if self.kernel is None and most is None:
            width = encode(self.parts_, table.iloc[:2]).Z.shape[1]
            most = Effort.of(n, width, 1, self._seconds(), self._memory()).most
        if most is None or most >= n:
            return None
        some = as_generator(self.random_state, "random_state").permutation(n)[:most]
        return np.union1d(some, np.asarray(needed, dtype=int))

    def _encoded(self, table: Table) -> Encoded:
        found = encode(self.parts_, table)
        if self.kernel is not None:
            found.own = completed(self.parts_, table)
        return found

    def _new(self, X: Any) -> Encoded:
        """The coordinates of new rows."""
        frame = as_frame(X := opened(X), self)
        if not is_frame(X) and frame.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {frame.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return self._encoded(tidy(frame, self.roles_, self.styles_))

    # ---- fitting -------------------------------------------------------------------------------
    def _fit(self, X: Encoded, Y: np.ndarray, w: np.ndarray, groups: np.ndarray) -> Choice:
        """Choose members for standardised targets, and fit them to all rows."""
        effort = Effort.of(len(Y), X.Z.shape[1], Y.shape[1], self._seconds(), self._memory())
        alphas = sorted(check_positives("alphas", self.alphas).tolist())
        options: dict[str, Any] = {"groups": groups, "alphas": alphas, "seed": self.random_state}
        if self.kernel is not None:
            kernel = on_table(self.kernel, self.roles_)
            plan = self._plan(len(Y))
            choice = choose_alpha(X, Y, w, effort, kernel, plan=plan, **options)
        else:
            self._say(
                f"comparing {count(len(effort.profiles), 'kernel')} on "
                f"{effort.rows if effort.folds == 1 else len(Y)} of {count(len(Y), 'row')}"
            )
            texts = text_similarities(list(X.texts))
            costs = effort.costs(X.Z.shape[1], Y.shape[1])
            with ticker(self._bars, "kernels", effort.folds * sum(costs.values())) as tick:
                choice = choose(X, Y, w, effort, similarities=texts, tick=tick, **options)
        self.choice_, self.effort_ = choice, effort
        self._fit_members(choice.members, X, Y, w)
        self.validation_error_, self.search_ = choice.error, choice.searched
        self.linear_ = Member("linear", alpha=choice.linear[1], plan=self.plan)
        if X.Z.shape[1]:
            self.linear_.fit(X, Y, w)
        return choice

    def _fit_members(self, members: list, X: Encoded, Y: np.ndarray, w: np.ndarray) -> None:
        order = as_generator(self.random_state, "random_state").permutation(len(Y))
        self.rows_ = len(Y)
        self._say(f"fitting to {part_of(len(Y), self.rows_given_)}")
        X, Y, w = X.take(order), Y[order], w[order]
        fitted = []
        with ticker(self._bars, "fitting", len(members) * len(Y)) as tick:
            for member in members:
                own = clone(member)
                if isinstance(own, Member):
                    own.plan = self.plan
                fitted.append(own.fit(X, Y, w, tick))
        self.members_ = fitted
        pieces = [len(m.dual_coef_) for own in fitted for m in own.machines_]
        self.adaptive_ = bool(max(pieces) <= _ADAPTIVE)

    def _values(self, X: Encoded) -> np.ndarray:
        """The blend: standardised values of each output."""
        values = [m.weight * m.predict(X) for m in self.members_]
        return np.sum(values, axis=0)

    def _spread(self, X: Encoded) -> np.ndarray:
        if not self.adaptive_:
            return np.ones(len(X))
        return np.sum([m.weight * np.sqrt(m.variance(X)) for m in self.members_], axis=0)

    def _again(self, X: Any, needed: Any = ()) -> tuple[Self, Encoded, np.ndarray | None]:
        """A model with the same members and roles, for other rows, of which some are used."""
        check_is_fitted(self)
        other = clone(self).set_params(roles=self.roles_, styles=self.styles_)
        frame = as_frame(X, self)[list(self.roles_)]
        whole = getattr(self, "rows_", 0) == getattr(self, "rows_given_", 0)
        encoded, kept = other._read(frame, needed, len(frame) if whole else self.rows_)
        for name in {*SEEN, "search_"} & set(vars(self)):  # new rows come with unused columns
            setattr(other, name, getattr(self, name))
        return other, encoded, kept

    def _seconds(self) -> float:
        """The budget."""
        return 60.0 if self.budget is None else parse_duration(self.budget)

    def _memory(self) -> float | None:
        """The requested bytes."""
        memory = None if self.plan is None else self.plan.memory
        return None if memory is None else float(parse_memory(memory))

    def _plan(self, n: int) -> Any:
        """The plan of a kernel that was given: with many rows, it is approximated."""
        rank = self.rank if self.rank != "auto" else (RANK if n > MANY_ROWS else None)
        return self.plan if rank is None else replace(self.plan or Plan(), rank=rank)

    # ---- what a person sees --------------------------------------------------------------------
    @property
    def relevance_(self) -> dict[str, float]:
        """How much each column counts in the distances that were learned; the largest is 1."""
        check_is_fitted(self)
        sources = encode(self.parts_, self.background_.iloc[:1]).sources
        places = {name: i for i, name in enumerate(self.roles_)}
        codes, sums = np.array([places[name] for name in sources], dtype=int), np.zeros(len(places))
        for member in self.members_:
            if not isinstance(member, Member) or not len(sources):
                continue
            A = np.asarray(member.map_)
            sizes = np.abs(A) if A.ndim == 1 else np.linalg.norm(A, axis=1)
            sizes = sizes / (sizes.max() or 1.0)
            sums += member.weight * np.sqrt(np.bincount(codes, sizes**2, minlength=len(places)))
        total = dict(zip(places, sums.tolist(), strict=True))
        most = max(total.values(), default=0.0)
        ordered = sorted(total.items(), key=lambda item: -item[1])
        return {name: value / most if most else 0.0 for name, value in ordered}

    def kernel_words(self) -> list[str]:
        """The kernels of the blend, a line each."""
        check_is_fitted(self)
        lines = []
        for m in self.members_:
            if isinstance(m, Given):
                lines.append(repr(m.machine_.kernel_))
                continue
            learned = ""
            if m.kind == "likely":
                learned = "; the most likely lengthscales"
            elif m.rounds:
                what = "weights of columns" if np.ndim(m.map_) == 1 else "a matrix of directions"
                learned = f"; {what} learned in {count(m.rounds, 'round')}"
            text = "" if m.similarity is None else f" + {m.similarity!r}"
            pieces = f"; {len(m.machines_)} pieces" if len(m.machines_) > 1 else ""
            formula = FORMULAS[m.kind]
            lines.append(f"{m.weight:.2f} {formula}{text}, alpha {m.alpha:g}{learned}{pieces}")
        return lines

    @property
    def summary_(self) -> str:
        """The kernels of the blend in one line."""
        return " + ".join(
            "given" if isinstance(m, Given) else
            f"{m.weight:.2f} {m.kind}({m.scale:g}{'' if m.diagonal else ' full'} t{m.rounds} "
            f"a{m.alpha:g}{' text' if m.similarity is not None else ''})x{len(m.machines_)}"
            for m in self.members_
        )  # fmt: skip

    def explain(self, row: Any, *, n_orders: int = 32, output: Any = None) -> Table:
        """What each column adds to the prediction of one row: Shapley values.

        f(row) minus the mean of f over rows of the training table is shared out among the columns,
        and the parts add up to it exactly. A part is the mean change of f when the value of the
        column comes in place of that of another row, over random orders of the columns.

        Parameters
        ----------
        row : table of one row, or a Series, dict or list
            What to explain.
        n_orders : int
            How many random orders are taken, each with its reverse.
        output : label, optional
            Of a classifier: the class whose score is explained; by default the one predicted.

        Returns
        -------
        DataFrame
            A row for each column: its name, its value and what it adds, the largest first.
        """
        from .shapley import explained

        return explained(self, row, n_orders, output)

    def _say(self, text: str) -> None:
        """Report what is being done, if requested."""
        if self.verbose:
            print(f"mercer: {text} ...", file=sys.stderr, flush=True)

    @property
    def _bars(self) -> bool:
        """Show progress bars, if they are visible."""
        return self.verbose and sys.stderr.isatty()

    def _restore(self) -> None:
        """Convert the state of files of earlier versions, and check it."""
        self.styles_ = getattr(self, "styles_", {})
        if not (set(self.roles_.values()) <= set(ROLES) and set(self.styles_) <= set(self.roles_)):
            raise ValueError("a model of tables with columns of no known role.")
        former = getattr(self, "ridge_", None) or getattr(self, "machine_", None)
        if former is not None:
            return
        if not self.members_ or {part["column"] for part in self.parts_} != set(self.roles_):
            raise ValueError("a model of tables without its parts.")
        values = self._values(self._encoded(self.background_.iloc[:2]))
        if values.ndim != 2 or not self._knows(values):
            raise ValueError("a model of tables whose parts do not fit together.")

    def _knows(self, values: np.ndarray) -> bool:
        """Can predictions be made of these standardised values?"""
        raise NotImplementedError


FORMULAS = {
    "l1": "exp(-|x - z|_1)", "l2": "exp(-|x - z|_2)", "m52": "Matern-5/2(|x - z|_2)",
    "linear": "(x'z + 1)", "likely": "Matern-5/2(|x - z|_2)",
}  # fmt: skip


def given_targets(model: Any, y: Any) -> np.ndarray:
    """The targets as a vector."""
    if y is None:
        raise ValueError(
            f"requires y to be passed, but the target y is None: {type(model).__name__} learns "
            f"from targets."
        )
    return column_or_1d(np.asarray(opened(y)), warn=True)


def described(frame: Table, roles: Any, styles: Any) -> list[Column]:
    """The columns of a table, of which one at least can be used."""
    columns = describe(frame, roles, styles)
    if all(c.role == "skipped" for c in columns):
        reasons = "; ".join(f"{c.name!r}: {c.why}" for c in columns[:5])
        more = "; ..." * (len(columns) > 5)
        raise ValueError(f"no column of the table can be used ({reasons}{more}).")
    return columns


def as_frame(X: Any, owner: Any) -> Table:
    """A table of pandas, from one of polars, an array, or lists of rows."""
    pd, X = pandas(), opened(X)
    if is_frame(X):
        if hasattr(X, "iloc"):
            frame = X.set_axis([str(name) for name in X.columns], axis=1)
        else:
            frame = pd.DataFrame({name: _of_polars(pd, X[name]) for name in X.columns})
        twice = frame.columns[frame.columns.duplicated()]
        if len(twice):
            raise ValueError(f"the table has two columns {twice[0]!r}; rename one.")
        return frame
    if hasattr(X, "toarray"):
        raise TypeError(
            f"{type(owner).__name__} works on tables, and X is sparse: a dense table is required. "
            "Use X.toarray(), or KernelRidge, which accepts sparse rows."
        )
    array = np.asarray(X)
    if array.ndim != 2:
        hint = "Reshape your data: a table has rows and columns"
        raise ValueError(f"Expected 2D array, got {array.ndim}D array instead. {hint}.")
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: a table holds real numbers.")
    if not array.shape[0]:
        raise ValueError(f"0 sample(s) (shape={array.shape}) while a minimum of 1 is required.")
    if array.dtype.kind == "O":
        frame = pd.DataFrame(array, dtype=object).infer_objects()
    else:
        frame = pd.DataFrame(array)
    frame.columns = [f"x{i}" for i in range(frame.shape[1])]
    return frame


def _of_polars(pd: Any, series: Any) -> Any:
    dtype = series.dtype
    kind = str(dtype).partition("(")[0]
    if dtype.is_numeric() and kind not in ("Int128", "UInt128") and not series.null_count():
        return series.to_numpy()
    items = series.to_list()
    if dtype.is_numeric():
        return pd.Series(items, dtype=object).astype(float)
    if kind == "Boolean":
        return pd.Series(items, dtype=object).astype("boolean")
    if kind in ("Date", "Datetime"):
        return pd.Series(pd.to_datetime(items))
    if kind in ("Duration", "Time"):  # numbers of seconds
        clock = [None if x is None else str(x) for x in items] if kind == "Time" else items
        return pd.Series(pd.to_timedelta(clock)).dt.total_seconds()
    return pd.Series(items, dtype=object)
