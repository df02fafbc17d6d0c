"""``mercer fit`` and ``mercer predict`` on files of gigabytes: seconds and peak memory.

    python -m benchmarks.large_files                        # 0.15 and 0.3 GB, a few minutes
    python -m benchmarks.large_files --gb 1.5,5 --folder /scratch
    python -m benchmarks.large_files --show                 # the table of the documentation

Files are made in a temporary folder and removed afterwards. ``numbers`` has 18 columns of numbers,
``mixed`` has numbers with gaps, labels and dates; the target is a function of some of them with
noise, whose share of the variance is the best R2. Each command runs in a process of its own; its
peak is that of the resident size, libraries included. Sizes are those of the CSV file; the Parquet
file has the same rows. A result replaces that of the same file and budget in the table of results.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).resolve().parent / "results" / "large_files.json"
_HERE = {"PYTHONPATH": str(Path(__file__).resolve().parents[1] / "src")}  # not what is installed
ROWS = 100_000  # of a piece that is written at a time
_CITIES = np.array([f"city {i}" for i in range(60)])
_WAYS = np.array(["card", "cash", "transfer", "voucher"])


def numbers(seed: int) -> dict[str, Any]:
    """Columns of numbers, five of which tell something of y; noise is 6 % of the variance."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((ROWS, 18))
    y = np.sin(X[:, :4].sum(axis=1)) + X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(ROWS)
    return {f"x{j}": np.round(X[:, j], 6) for j in range(18)} | {"y": np.round(y, 5)}


def mixed(seed: int) -> dict[str, Any]:
    """Numbers with gaps, labels, days and times; noise is 4 % of the variance."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    X = rng.standard_normal((ROWS, 8))
    city, way = rng.zipf(1.5, ROWS) % 60, rng.integers(0, 4, ROWS)
    day, second = rng.integers(0, 1500, ROWS), rng.integers(0, 86_400, ROWS)
    season = 0.3 * np.sin(2 * np.pi * day / 365)
    y = np.sin(2 * X[:, 0]) + X[:, 1] * (way == 0) + 0.5 * np.cos(city) + season
    days = np.datetime64("2019-01-01") + day.astype("timedelta64[D]")
    times = days.astype("datetime64[s]") + second.astype("timedelta64[s]")
    gaps = [rng.random(ROWS) < 0.05 * (j % 3 == 0) for j in range(8)]
    return {
        **{f"x{j}": pa.array(np.round(X[:, j], 4), mask=gaps[j]) for j in range(8)},
        "age": rng.integers(18, 90, ROWS),
        "city": pa.array(_CITIES[city], mask=rng.random(ROWS) < 0.03),
        "way": _WAYS[way],
        "day": days,
        "at": times,
        "member": np.where(rng.random(ROWS) < 0.5, "yes", "no"),
        "y": np.round(y + 0.2 * rng.standard_normal(ROWS), 4),
    }


KINDS: dict[str, Callable[[int], dict[str, Any]]] = {"numbers": numbers, "mixed": mixed}


def pieces(kind: str, count: int | None = None) -> Iterator[Any]:
    """Tables of pyarrow, one after the other."""
    import pyarrow as pa

    seed = 0
    while count is None or seed < count:
        yield pa.table(KINDS[kind](seed))
        seed += 1


def write(kind: str, csv: Path, parquet: Path | None, nbytes: float) -> int:
    """A CSV file of so many bytes, the same rows as Parquet if asked for; how many there are."""
    from pyarrow import csv as text
    from pyarrow import parquet as pq

    writer, rows = None, 0
    with open(csv, "wb") as file:
        for table in pieces(kind):
            text.write_csv(table, file, text.WriteOptions(include_header=rows == 0))
            rows += table.num_rows
            if parquet is not None:
                writer = writer or pq.ParquetWriter(parquet, table.schema)
                writer.write_table(table)
            if file.tell() >= nbytes:
                break
    if writer is not None:
        writer.close()
    return rows


def timed(command: list[str], folder: Path) -> tuple[float, float, int, str]:
    """Seconds by the clock and of the processor, the peak resident size, and what was printed."""
    out = folder / "printed"
    start = time.perf_counter()
    with open(out, "wb") as file:
        child = subprocess.Popen(command, stdout=file, cwd=folder, env=os.environ | _HERE)
        _, code, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    if code:
        raise SystemExit(f"{' '.join(command)} ended with the code {code}.")
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return seconds, usage.ru_utime + usage.ru_stime, peak, out.read_text()


def measure(kind: str, form: str, path: Path, rows: int, nbytes: int, options: list[str]) -> dict:
    """Fit a model to a file, and predict all of its rows."""
    mercer = [sys.executable, "-m", "mercer"]
    fit = [*mercer, "fit", path.name, "--target", "y", "--out", "m.mercer", "--json", *options]
    seconds, busy, peak, printed = timed(fit, path.parent)
    told = json.loads(printed)
    found = {
        "kind": kind, "form": form, "csv_bytes": nbytes, "bytes": path.stat().st_size,
        "rows": rows, "options": " ".join(options), "fit_seconds": round(seconds, 1),
        "fit_processor": round(busy, 1), "fit_peak": peak, "rows_used": told["rows_used"],
        "r2": round(told["scores"]["kernels"]["R2"], 4),
        "trees_r2": round(told["scores"].get("boosted trees", {}).get("R2", np.nan), 4),
        "load": round(os.getloadavg()[0], 1),
    }  # fmt: skip
    predict = [*mercer, "predict", "m.mercer", path.name, "--out", "p.csv"]
    seconds, busy, peak, _ = timed(predict, path.parent)
    (path.parent / "p.csv").unlink()
    return found | {
        "predict_seconds": round(seconds, 1), "predict_processor": round(busy, 1),
        "predict_peak": peak,
    }  # fmt: skip


def show() -> str:
    """The results as rows of a table."""
    lines = []
    for r in sorted(known(), key=lambda r: (r["kind"], r["form"], r["csv_bytes"], r["options"])):
        lines.append(
            f"{r['kind']}, {r['form']}{' ' * bool(r['options'])}{r['options']}, "
            f"{r['bytes'] / 1e9:.2f}, {r['rows'] / 1e6:.1f}, {r['rows_used'] / 1e6:.2f}, "
            f"{r['fit_seconds']:.0f}, {r['fit_processor']:.0f}, {r['fit_peak'] / 1e6:.0f}, "
            f"{r['r2']:.3f}, {r['predict_seconds']:.0f}, {r['predict_processor']:.0f}, "
            f"{r['predict_peak'] / 1e6:.0f}"
        )
    return "\n".join(lines)


def known() -> list[dict]:
    """What was measured."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else []


def keep(found: dict) -> None:
    """Beside other results, in place of an older one of the same."""
    same = ("kind", "form", "csv_bytes", "options")
    others = [r for r in known() if any(r[name] != found[name] for name in same)]
    RESULTS.write_text(json.dumps([*others, found], indent=1) + "\n")


def main() -> None:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--gb", default="0.15,0.3", help="sizes of the CSV files")
    parser.add_argument("--kinds", default="numbers,mixed")
    parser.add_argument("--forms", default="csv,parquet")
    parser.add_argument("--folder", help="where files are made")
    parser.add_argument("--options", default="", help='of mercer fit: "--budget=5min"')
    parser.add_argument("--show", action="store_true", help="print what was measured")
    args = parser.parse_args()
    forms = args.forms.split(",")
    for size in [] if args.show else args.gb.split(","):
        for kind in args.kinds.split(","):
            with tempfile.TemporaryDirectory(dir=args.folder, prefix="mercer-") as name:
                csv, parquet = Path(name, "t.csv"), Path(name, "t.parquet")
                rows = write(kind, csv, parquet if "parquet" in forms else None, 1e9 * float(size))
                nbytes = csv.stat().st_size
                for form in forms:
                    path = csv if form == "csv" else parquet
                    found = measure(kind, form, path, rows, nbytes, args.options.split())
                    print(json.dumps(found), flush=True)
                    keep(found)
    print(show())


if __name__ == "__main__":
    main()
