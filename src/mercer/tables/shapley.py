"""What each column adds to one prediction, by Shapley values over random orders."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..frames import is_frame, opened, pandas
from .roles import Table, tidy

_AT_ONCE = 20_000  # rows that are predicted together


def explained(model: Any, row: Any, n_orders: int, output: Any) -> Table:
    """See :meth:`mercer.tables.model.TableModel.explain`."""
    from .model import as_frame

    pd = pandas()
    given = as_frame(_one_row(row, model), model)
    if len(given) != 1:
        raise ValueError(f"explain takes one row, got {len(given)}.")
    if n_orders < 1:
        raise ValueError(f"n_orders must be at least 1, got {n_orders}.")
    mine = tidy(given, model.roles_, model.styles_)
    others = model.background_
    names = list(model.roles_)
    which, scale, base = model._explained_output(model._encoded(mine), output)
    rng = np.random.default_rng(model.random_state)
    orders = [rng.permutation(len(names)) for _ in range(n_orders)]
    orders += [order[::-1] for order in orders]
    starts = rng.integers(len(others), size=n_orders)
    starts = np.concatenate([starts, starts])
    # the rows on the way from another one to this one, a column changing at a time
    known = np.zeros((len(orders), len(names) + 1, len(names)), dtype=bool)
    for o, order in enumerate(orders):
        for step, j in enumerate(order):
            known[o, step + 1 :, j] = True
    flat = known.reshape(-1, len(names))
    index = np.repeat(starts, len(names) + 1)
    columns = {}
    for j, name in enumerate(names):
        before, after = others[name].to_numpy()[index], mine[name].to_numpy()[0]
        values = np.array([after if k else b for k, b in zip(flat[:, j], before, strict=True)],
                          dtype=object)  # fmt: skip
        columns[name] = values.astype(float) if others[name].dtype.kind == "f" else values
    rows = pd.DataFrame({n: pd.Series(v, dtype=v.dtype) for n, v in columns.items()})
    parts = [
        model._values(model._encoded(rows.iloc[i : i + _AT_ONCE].reset_index(drop=True)))
        for i in range(0, len(rows), _AT_ONCE)
    ]
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
    return "missing" if value is None or value != value else str(value)
