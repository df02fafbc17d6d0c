"""mercer fit on tables of several times the memory that the process may have."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")
resource = pytest.importorskip("resource")

ROWS, COLUMNS = 1_600_000, 20  # 300 MB as text
PLAN, BESIDE = 100, 250  # MB: the plan, and what libraries, their threads and tables take

CHILD = """
import resource, sys, threading
from mercer.cli.main import main
import mercer, pandas, pyarrow.parquet, pyarrow.csv, numba, scipy.linalg, sklearn.ensemble
def memory(name):
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name + ":"))
limit = memory("VmData") + int(sys.argv[1]) * 10**6
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
before = memory("VmRSS")
code = main(sys.argv[2:])
print("USED", (memory("VmHWM") - before) // 10**6, file=sys.stderr)
sys.exit(code)
"""


def write(path, form):
    """y = sin(x0) + x1 with noise; written in pieces."""
    import pyarrow as pa
    import pyarrow.csv as csv
    import pyarrow.parquet as parquet

    rng = np.random.default_rng(0)
    names = [*(f"x{j}" for j in range(COLUMNS - 1)), "y"]
    writer = None
    for _ in range(16):
        X = rng.standard_normal((ROWS // 16, COLUMNS - 1)).round(6)
        y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(len(X))
        table = pa.table(dict(zip(names, [*X.T, y], strict=True)))
        if writer is None:
            make = csv.CSVWriter if form == "csv" else parquet.ParquetWriter
            writer = make(str(path), table.schema)
        writer.write_table(table)
    writer.close()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_fit_stays_inside_its_plan(tmp_path, form):
    path = tmp_path / f"large.{form}"
    write(path, form)
    assert path.stat().st_size > 2.4e8
    arguments = ["fit", path.name, "--target", "y", "--memory", f"{PLAN} MB", "--budget", "20 s"]
    found = subprocess.run(
        [sys.executable, "-c", CHILD, str(PLAN + BESIDE), *arguments, "--json"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr[-2000:]
    told = json.loads(found.stdout)
    assert sum(told["rows"].values()) == ROWS
    assert told["scores"]["kernels"]["R2"] > 0.9
    assert Path(tmp_path / "large.mercer").exists()
    used = int(found.stderr.rsplit("USED", 1)[1].split()[0])
    assert used < PLAN + BESIDE
