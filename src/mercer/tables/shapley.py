"""What each column adds to one prediction, by Shapley values over random orders."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checks import check_count
from ..frames import is_frame, opened, pandas
from ..randomness import as_generator
from .roles import Table, tidy

_AT_ONCE, _VALUES = 20_000, 5_000_000  # rows that are predicted together, and values in them


def explained(model: Any, row: Any, n_orders: int, output: Any) -> Table:
    """See :meth:`mercer.tables.model.TableModel.explain`."""
    from .model import as_frame

    pd = pandas()
    given = as_frame(_one_row(row, model), model)
    if len(given) != 1:
        raise ValueError(f"explain takes one row, got {len(given)}.")
    check_count("n_orders", n_orders)
    mine = tidy(given, model.roles_, model.styles_)
    others = model.background_
    names = list(model.roles_)
    which, scale, base = model._explained_output(model._encoded(mine), output)
    rng = as_generator(model.random_state, "random_state")
    orders = [rng.permutation(len(names)) for _ in range(n_orders)]
    orders += [order[::-1] for order in orders]
    starts = rng.integers(len(others), size=n_orders)
    starts = np.concatenate([starts, starts])
    # the rows on the way from another one to this one, a column changing at a time
    ranks, width = np.argsort(orders, axis=1), len(names) + 1
    parts, most = [], max(1, min(_AT_ONCE, _VALUES // width))
    for first in range(0, len(orders) * width, most):
        path, step = np.divmod(np.arange(first, min(first + most, len(orders) * width)), width)
        changed = ranks[path] < step[:, None]
        columns = {}
        for j, name in enumerate(names):
            values = others[name].to_numpy()[starts[path]]
            values[changed[:, j]] = mine[name].to_numpy()[0]
            columns[name] = pd.Series(values, dtype=values.dtype)
        parts.append(model._values(model._encoded(pd.DataFrame(columns))))
    f = scale * np.concatenate(parts)[:, which].reshape(len(orders), len(names) + 1)
    adds = np.zeros(len(names))
    for o, order in enumerate(orders):
        adds[order] += np.diff(f[o]) / len(orders)
    every = float(np.mean(scale * model._values(model._encoded(others))[:, which]))
    total = float(f[0, -1])
    adds += (total - every - adds.sum()) / len(names)  # starts are a sample of the other rows
    order = np.argsort(-np.abs(adds), kind="stable")
    shown = [_shown(given, names[j]) for j in order]
    found = pd.DataFrame({"column": [names[j] for j in order], "value": shown, "adds": adds[order]})
    found.attrs |= {"base": base + every, "prediction": base + total}
    return found


def _one_row(row: Any, model: Any) -> Any:
    pd, row = pandas(), opened(row)
    if is_frame(row):
        return row
    if isinstance(row, dict):
        return pd.DataFrame([row])
    if hasattr(row, "to_frame") and hasattr(row, "index"):
        return row.to_frame().T.infer_objects()
    values = np.asarray(row, dtype=object)
    names = getattr(model, "feature_names_in_", None)
    table = pd.DataFrame(values.reshape(1, -1) if values.ndim == 1 else values).infer_objects()
    return table.to_numpy() if names is None else table.set_axis(list(names), axis=1)


def _shown(given: Table, name: str) -> str:
    value = given[name].iloc[0]
    if value is None or value != value:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
