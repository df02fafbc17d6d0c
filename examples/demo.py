"""Fit, explain, judge, save and reload a model of a real table: ``make demo``.

The table is that of Efron, Hastie, Johnstone & Tibshirani (*Least angle regression*, 2004): 442
diabetes patients, ten measurements each, and how far the disease had progressed a year later.
"""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.datasets import load_diabetes

from mercer import Categorical, Gaussian, load, save
from mercer.cli.fit import fit_table
from mercer.cli.output import entry, grid
from mercer.cli.summary import summary
from mercer.tables.reading import read_table


def heading(step: int, text: str) -> None:
    print(f"\n{step}  {text}\n{'-' * 98}")


def write_table(path: Path) -> None:
    """The data of scikit-learn as a hospital might keep them: a file, with names and labels.

    The source does not say which sex is coded 1 and which 2, so they are called A and B.
    """
    data = load_diabetes(as_frame=True, scaled=False)
    table = data.data.assign(sex=data.data["sex"].map({1.0: "A", 2.0: "B"}))
    table.insert(0, "patient", [f"P{i:03d}" for i in range(len(table))])
    table.assign(progression=data.target).to_csv(path, index=False)


def algebra() -> None:
    heading(1, "Kernels are built by algebra, print as their formula, and know what they can do")
    kernel = Gaussian(5.0).on("bmi") * (0.5 + 0.5 * Categorical().on("sex"))
    print('>>> kernel = Gaussian(5.0).on("bmi") * (0.5 + 0.5 * Categorical().on("sex"))')
    print(">>> print(kernel.explain())")
    shown = kernel.explain().split("\n\n")  # formula, derivation, properties, consequences
    properties = shown[2].splitlines()
    print(shown[0])
    print("...")
    print("\n".join(properties[:3] + properties[6:9]))
    print("...")


def show_predictions(table, found, rows: int = 6) -> None:
    heading(3, "Every prediction says how sure it is: patients the model has not seen")
    columns = ["patient", "sex", "age", "bmi", "bp"]
    chosen = found.held_out.sort_values("prediction").iloc[:: len(found.held_out) // (rows - 1)]
    cells = []
    for i, row in chosen.iterrows():
        low, high = row["low"], row["high"]
        about = [str(table.loc[i, name]) for name in columns]
        interval = f"{low:.0f} to {high:.0f}"
        cells.append([*about, f"{row['prediction']:.0f}", interval, f"{row['target']:.0f}"])
    print("\n".join(grid([*columns, "predicted", "90% interval", "it was"], cells)))


def save_and_load(table, found, path: Path) -> None:
    heading(4, "A model is a file of arrays and names, without code: safe to send, and to open")
    save(found.model, path)
    again = load(path)
    same = np.array_equal(again.predict(table), found.model.predict(table))
    print(entry("saved", f"{path.name}, {path.stat().st_size / 1e3:.0f} kB"))
    print(entry("loaded", f"predictions are {'the same to the last bit' if same else 'DIFFERENT'}"))
    adds = again.explain(table.iloc[[0]]).head(3)
    parts = ", ".join(f"{c} = {v} adds {a:+.0f}" for c, v, a in adds.to_numpy())
    print(entry("why", f"of the first patient: {parts}"))


def main() -> None:
    start = time.perf_counter()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "diabetes.csv"
        write_table(path)
        algebra()
        heading(2, "$ mercer fit diabetes.csv --target progression")
        table = read_table(path)
        found = fit_table(table, "progression", budget="20 s")
        print(summary(found))
        show_predictions(table, found)
        save_and_load(table, found, path.with_suffix(".mercer"))
    seconds = time.perf_counter() - start
    print(f"\nDone in {seconds:.1f} s. Your own table: mercer fit TABLE --target COLUMN")


if __name__ == "__main__":
    main()
