"""Tables and model files that nobody would write by hand: ``python tests/tables/fuzz.py 2000``.

Every table goes from bytes to a model, through the command line: it is fitted, or refused in one
line; a model is asked to predict its rows and those of another table, and now and then to explain,
compare, plan, test and report. As many model files are changed at random (``tests/io/forge.py``),
and asked the same. A traceback, a number that is not finite, a file that is half-written, code from
a cell or a file that ran, what does not end, or memory that grows without bound is a failure.
"""

from __future__ import annotations

import bz2
import contextlib
import csv
import gzip
import importlib.util
import io
import json
import os
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

PATH = Path(__file__).resolve().parents[1] / "io" / "forge.py"
spec = importlib.util.spec_from_file_location("forge", PATH)
forge = importlib.util.module_from_spec(spec)
spec.loader.exec_module(forge)

CODE = forge.CODE
WORDS = ["", " ", "?", "n/a", "NaN", "inf", "-inf", "1e400", "-999", "99999", "0", "1", "-0.0",
         "1,5", "1.234,5", "12 %", "true", "False", "2024-02-30", "31.12.2023", "1/2/2024 10:00",
         "é", "\u202e", "\x1b[2J", "a,b", "x;y", 'say "hi"', "line\nbreak", "日本", "=1+1",
         "None", "x" * 300, "00012", "1e5", "0x1F", "💥", "\t", "'", "1 000", "NULL", "٣",
         "9" * 400, "-1e308", "1e-320", "1_000", "$3", "12:30", "a\x00b", "z" * 3000, CODE,
         "\ufeff", "e\u0301", "1.5.2", "--", "#N/A", "0001-01-01", "9999-12-31", "\r",
         "1'234.50", "12 €", "1\xa0234,5", "(5)", "1e", "+7", ".5", "5.", "١٢", "½", "1/3", "nil",
         "{\"a\": [1]}", "<b>x</b>", 'a"b', "'a'", "1h 20m", "P1D", "24:61", "0x", "NA", "\x0c",
         ]  # fmt: skip
NAMES = ["a", "b", "id", "x y", "größe", "", "y", "a", "date", "x" * 500, CODE, "\x1b[31m", "__class__"]  # noqa: E501 # fmt: skip
ENCODINGS = ["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252", "latin-1",
             "utf-16-be", "utf-32", "cp1251", "shift_jis", "gb18030", "mac-roman", "utf-7",
             ]  # fmt: skip
MODEL, OLD = "t.mercer", b"an old model"
ALLOWED = {"t.csv", "t.csv.gz", "t.csv.bz2", "t.csv.zip", "t.tsv", "t.txt", "t.parquet", "n.csv",
           MODEL, "p.csv", "t.html"}  # fmt: skip
SECONDS = 300  # that no table takes, however busy the machine
TAKEN = 1.5e9  # bytes that tables of a few kB may take, at most


def column(rng: np.random.Generator, n: int, kind: int | None = None) -> list[str]:
    """The cells of one column."""
    kind = rng.integers(21) if kind is None else kind
    if kind == 0:
        return [f"{x:.6g}" for x in rng.normal(size=n) * 10.0 ** rng.integers(-12, 13)]
    if kind == 1:
        return [f"{x}" for x in rng.integers(0, rng.integers(1, 50) + 1, n)]
    if kind == 2:
        return list(rng.choice([f"l{i}" for i in range(rng.integers(1, n + 2))], n))
    if kind == 3:
        return list(rng.choice(WORDS, n))
    if kind == 4:
        return ["".join(rng.choice(list("ACGT "), rng.integers(0, 60))) for _ in range(n)]
    if kind == 5:
        return [str(np.datetime64("1990-01-01") + int(d)) for d in rng.integers(0, 20_000, n)]
    if kind == 6:
        values = [f"{x:.3f}" for x in np.exp(5 * rng.normal(size=n))]
        return [v if rng.random() < 0.9 else "-999" for v in values]
    if kind == 7:
        return [str(i) for i in range(n)]
    if kind == 8:
        return ["same"] * n
    if kind == 9:
        return [f"{x:.2f}".replace(".", ",") for x in rng.normal(size=n)]
    if kind == 10:
        return [v if rng.random() < 0.5 else "" for v in (f"{x:.2f}" for x in rng.normal(size=n))]
    if kind == 11:
        return list(rng.choice(["True", "False", ""], n))
    if kind == 12:  # numbers at the ends of what floats and integers hold
        return [f"{x:.3g}" for x in rng.choice([-1, 1], n) * 10.0 ** rng.uniform(-307, 308, n)]
    if kind == 13:
        return [str(2**62 + int(x)) * int(rng.integers(1, 3)) for x in rng.integers(0, 9, n)]
    if kind == 14:
        return ["".join(rng.choice(list("ab é日"), rng.integers(0, 3000))) for _ in range(n)]
    if kind == 15:  # times, some with a zone
        zones = ["", "Z", "+02:00"][: rng.integers(1, 4)]
        at = np.datetime64("2020-01-01T00:00") + rng.integers(0, 10**6, n)
        return [f"{t}{rng.choice(zones)}" for t in at]
    if kind == 16:
        return [""] * n
    if kind == 17:  # of several kinds
        parts = [column(rng, n, int(k)) for k in rng.integers(16, size=3)]
        return [parts[k][i] for i, k in enumerate(rng.integers(3, size=n))]
    if kind == 18:  # one value nearly everywhere
        values = np.full(n, str(rng.choice(["0", "no", "", "1.5"])), dtype=object)
        values[rng.permutation(n)[: rng.integers(4)]] = str(rng.choice(["1", "yes", "-7e9", "NaN"]))
        return list(values)
    if kind == 19:  # dates, and what is nearly one
        days = np.datetime64("1999-12-01") + rng.integers(0, 9000, n)
        form = str(rng.choice(["{2}.{1}.{0}", "{1}/{2}/{0}", "{2}-{1}-{0}", "{0}{1}{2}"]))
        return [form.format(*str(d).split("-")) if rng.random() < 0.97 else "soon" for d in days]
    return [chr(int(c)) for c in rng.choice([*range(32, 0x3000), *range(0x1F300, 0x1F400)], n)]


def table(rng: np.random.Generator) -> tuple[bytes, str]:
    """The bytes of a file, and the name of its target."""
    if rng.random() < 0.04:
        return junk(rng), "a0"
    mild = rng.random() < 0.4  # enough rows, and a target that can be learned
    sizes = [30, 60, 90, 200] if mild else [0, 1, 2, 3, 6, 12, 30, 60, 60, 90, 300]
    n = int(rng.choice(sizes))
    d = int(rng.integers(2 if mild else 1, 7))
    names = [str(rng.choice(NAMES)) + str(i) for i in range(d)]
    if rng.random() < 0.05:
        names[0] = str(rng.choice([names[-1], f" {names[-1]} ", names[-1].upper()]))
    cells = [column(rng, n) for _ in range(d)]
    if mild:
        cells[0] = column(rng, n, int(rng.choice([0, 1, 9, 11, 18])))
    sep = str(rng.choice([",", ",", ";", "\t", "|"]))

    def quoted(text: str) -> str:
        text = str(text)
        needs = any(c in text for c in (sep, '"', "\n", "\r"))
        return '"' + text.replace('"', '""') + '"' if needs or rng.random() < 0.02 else text

    end = str(rng.choice(["\n", "\n", "\r\n", "\r"]))
    lines = [sep.join(map(quoted, names))]
    lines += [sep.join(quoted(c[i]) for c in cells) for i in range(n)]
    if rng.random() < 0.08:  # ragged
        for i in rng.integers(len(lines), size=3):
            lines[i] = rng.choice([lines[i] + sep, lines[i] + sep + "9", lines[i][:-3], "", sep])
    if rng.random() < 0.03:  # what other programs write above a table
        lines.insert(0, str(rng.choice([f"sep={sep}", "# exported", "", sep * d, "\ufeff"])))
    if rng.random() < 0.03:
        lines.append(str(rng.choice(['"', "\x1a", sep * 9, "total" + sep, '"open' + sep, "\x00"])))
    if rng.random() < 0.03:  # ends of lines of several systems
        text = "".join(x + str(rng.choice(["\n", "\r\n", "\r"])) for x in lines)
    else:
        text = end.join(lines) + end * int(rng.integers(3))
    data = text.encode(str(rng.choice(ENCODINGS[: 8 if mild else None])), "replace")
    if rng.random() < 0.08 and len(data):  # damaged: cut off, or bytes that changed
        data = data[: rng.integers(len(data))]
    if rng.random() < 0.05 and len(data):
        at = rng.integers(len(data), size=3)
        data = bytes(b if i not in at else int(rng.integers(256)) for i, b in enumerate(data))
    return data, names[0 if mild else int(rng.integers(d))]


def junk(rng: np.random.Generator) -> bytes:
    """What is no table at all."""
    noise = rng.integers(0, 256, rng.integers(1, 3000), dtype=np.uint8).tobytes()
    made = (b"", b"\n\n\n", b"\xff\xfe", b"\xef\xbb\xbf", b"a0", b",,,\n,,,\n", b'"', b'a0\n"' * 9,
            b"\x00" * 500, noise, b"a0,b\n" + noise, b"PK\x03\x04" + noise, b"a0\n" * 5000,
            b"," * 5000, b"a0\n" + b"\xf0\x9f" * 40, b"<html>" + b"x" * 200, b"{}\n[1, 2]\n",
            b"a0,b\n" + b"1,2\n" * 40 + b'"' + b"3,4\n" * 40)  # fmt: skip
    return made[int(rng.integers(len(made)))]


def packed(data: bytes, rng: np.random.Generator) -> str:
    """The file that holds the table, as it is or compressed, and perhaps damaged then."""
    name, kind = "t.csv", rng.random()
    if kind > 0.96:
        name = str(rng.choice(["t.tsv", "t.txt"]))
        Path(name).write_bytes(data)
        return name
    if kind < 0.03:
        name, data = "t.csv.gz", gzip.compress(data)
    elif kind < 0.06:
        name, data = "t.csv.bz2", bz2.compress(data)
    elif kind < 0.09:
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("t.csv", data)
        name, data = "t.csv.zip", stream.getvalue()
    if name != "t.csv" and rng.random() < 0.5:
        at = int(rng.integers(len(data)))
        data = data[:at] + bytes([int(rng.integers(256))]) + data[at + 1 :]
    Path(name).write_bytes(data)
    return name


def parquet(rng: np.random.Generator) -> tuple[str, str]:
    """A table with types that text does not have, and its target."""
    import pyarrow as pa
    from pyarrow import parquet

    n = int(rng.choice([0, 1, 5, 40, 80]))
    x, gap = rng.normal(size=n), rng.random(n) < 0.1
    whole = (100 * x).astype(int)
    words = list(rng.choice(WORDS, n))
    made = [
        pa.array(x, mask=gap), pa.array(x.astype(np.float16)), pa.array(x * 1e300, pa.float64()),
        pa.array(whole, pa.int8(), safe=False), pa.array(np.abs(whole), pa.uint64(), mask=gap),
        pa.array(x > 0, mask=gap), pa.array(words, pa.string(), mask=gap), pa.nulls(n),
        pa.array(words, pa.large_string()).dictionary_encode(), pa.array(whole, pa.duration("s")),
        pa.array([w.encode("utf-16") for w in words], pa.binary()),
        pa.array(whole, pa.int32()).cast(pa.date32()), pa.array(np.abs(whole), pa.time64("us")),
        pa.array(whole * 10**9, pa.timestamp("ns", "Asia/Kolkata")),
        pa.array([[1.0] * (i % 3) for i in range(n)], pa.list_(pa.float64())),
        pa.array([{"a": i} for i in range(n)], pa.struct([("a", pa.int64())])),
        pa.array([None if g else i for g, i in zip(gap, whole.tolist(), strict=True)]).cast(
            pa.decimal128(38, 2)
        ),
        pa.array(np.full(n, np.inf)), pa.array(np.where(gap, np.nan, x)),
    ]  # fmt: skip
    d = int(rng.integers(1, 7))
    columns = [made[i] for i in rng.integers(len(made), size=d)]
    names = [str(rng.choice(NAMES)) + str(i) for i in range(d)]
    if rng.random() < 0.05:
        names[0] = names[-1]
    parquet.write_table(pa.table(columns, names=names), "t.parquet")
    if rng.random() < 0.1:
        Path("t.parquet").write_bytes(forge.damage(Path("t.parquet").read_bytes(), rng))
    return "t.parquet", names[int(rng.integers(d))]


def called(arguments: list[str], seed: int) -> tuple[int, str, str]:
    """A command in this process: its exit code, and what it said and printed."""
    from mercer.cli.main import main

    said, printed = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(printed):
        try:
            with forge.at_most(SECONDS):
                code = main(arguments)
        except SystemExit as stop:
            code = int(stop.code or 0)
    words, out = said.getvalue(), printed.getvalue()
    what = f"seed {seed}: mercer {arguments[0]}"
    if code not in (0, 2) or "Traceback" in words or "--debug" in words:
        raise AssertionError(f"{what}: code {code}: {words[-300:]}")
    if code == 2 and (out or words.splitlines()[-1][:14] != "mercer: error:"):
        raise AssertionError(f"{what}: it refused, and printed {out[-200:]!r}, {words[-200:]!r}")
    if any(c in words + out for c in "\x1b\u202e\x00"):
        raise AssertionError(f"{what}: control characters reach the terminal")
    return code, words, out


def one(seed: int) -> tuple[int, str]:
    """The exit code of one table, and what was said; raises what must not happen."""
    rng = np.random.default_rng(seed)
    for name in ALLOWED:
        Path(name).unlink(missing_ok=True)
    if rng.random() < 0.06 and importlib.util.find_spec("pyarrow"):
        path, target = parquet(rng)
    else:
        data, target = table(rng)
        path = packed(data, rng)
    target = target.strip()
    Path(MODEL).write_bytes(OLD)
    options = ["--budget", "1 s", "--out", MODEL, *["--json"] * (rng.random() < 0.3)]
    options += [] if rng.random() < 0.1 else ["--no-baseline"]
    if rng.random() < 0.2:
        options += ["--task", str(rng.choice(["regression", "classification"]))]
    if rng.random() < 0.1:
        options += ["--missing", str(rng.choice(["drop", "error"]))]
    code, words, out = called(["fit", path, f"--target={target}", *options], seed)
    if code:
        if Path(MODEL).read_bytes() != OLD:
            raise AssertionError(f"seed {seed}: a table that was refused left a model")
    else:
        if "--json" in options:
            json.loads(out, parse_constant=lambda word: _not_finite(seed, word))
        elif "nan" in out.lower().replace("nan0", ""):
            _not_finite(seed, out[-500:])
        used(path, target, rng, seed)
    nothing_left(seed)
    errors = [line for line in words.splitlines() if line.startswith("mercer: error")]
    return code, errors[-1] if errors else ""


def nothing_left(seed: int) -> None:
    """Nothing but what was asked for lies in the folder."""
    left = set(os.listdir(".")) - ALLOWED
    if left or Path("../ran").exists():
        raise AssertionError(f"seed {seed}: {left or 'ran'} was left behind")


def used(path: str, target: str, rng: np.random.Generator, seed: int) -> None:
    """A model predicts every row of its table, and does some other thing."""
    from mercer.tables.reading import read_table

    code, words, _ = called(["predict", MODEL, path, "--out", "p.csv"], seed)
    if code:
        raise AssertionError(f"seed {seed}: it was fitted, but does not predict: {words}")
    with open("p.csv", newline="", encoding="utf-8") as file:
        found = sum(1 for _ in csv.reader(file)) - 1
    if found != len(read_table(path)):
        raise AssertionError(f"seed {seed}: {found} predictions of {len(read_table(path))} rows")
    others = [
        ["explain", MODEL, path],
        ["plan", path, f"--target={target}"],
        ["compare", path, f"--target={target}", "--budget", "1 s"],
        ["tune", path, f"--target={target}", "--kernel", "Gaussian() + 1", "--rows", "30"],
        ["test", "two-sample", path, path, "--permutations", "19", "--json"],
        ["report", MODEL, path, f"--target={target}", "--budget", "1 s", "--out", "t.html"],
    ]
    if rng.random() < 0.3:
        called(others[int(rng.integers(len(others)))], seed)
    if rng.random() < 0.3:
        rows = read_table(path)
        Path("n.csv").write_text(another(list(rows.columns), rng), "utf-8", "replace", newline="")
        Path("p.csv").write_bytes(OLD)
        if called(["predict", MODEL, "n.csv", "--out", "p.csv"], seed)[0]:
            kept("p.csv", seed)


def another(names: list[str], rng: np.random.Generator) -> str:
    """A table with the columns of a model, all or nearly all, and cells of other kinds."""
    n = int(rng.choice([0, 1, 3, 40]))
    names = [str(name) for name in rng.permutation(names)]
    names = names[1:] if rng.random() < 0.1 and len(names) > 1 else names
    names += ["more"] * (rng.random() < 0.2)
    cells = [column(rng, n) for _ in names]
    stream = io.StringIO()
    csv.writer(stream).writerows([names, *zip(*cells, strict=True)])
    return stream.getvalue()


def kept(path: str, seed: int) -> None:
    """What was refused has left the old file as it was."""
    if Path(path).read_bytes() != OLD:
        raise AssertionError(f"seed {seed}: what was refused has written {path}")


# ---- model files ---------------------------------------------------------------------------
def models() -> dict[str, tuple[bytes, str, str]]:
    """The bytes of several models, with their tables and an option of ``mercer predict``."""
    rng, found = np.random.default_rng(0), {}
    n = 40
    x, day = rng.normal(size=n), np.datetime64("2024-01-01")
    cells = {
        "x": x.round(3), "city": rng.choice(["Rome", "Ulm", ""], n),
        "day": [day + int(i) for i in rng.integers(500, size=n)],
        "note": ["".join(rng.choice(list("abc "), 30)) for _ in range(n)],
        "cost": [f"{v:.2f}".replace(".", ",") if v < 1 else "" for v in x],
        "k": rng.integers(3, size=n),
        "y": (x + rng.normal(size=n) / 9).round(4), "two": np.where(x > 0, "yes", "no"),
        "three": np.digitize(x, [-0.5, 0.5]),
    }  # fmt: skip
    stream = io.StringIO()
    csv.writer(stream).writerows([list(cells), *zip(*cells.values(), strict=True)])
    Path("t.csv").write_text(stream.getvalue(), "utf-8")
    fits = {
        "numbers": ["y", "--features", "x,k"],
        "mixed": ["y", "--features", "x,city,day,note,cost", "--text", "note"],
        "two": ["two", "--features", "x,city"],
        "three": ["three", "--task", "classification", "--features", "x,cost,note"],
        "given": ["y", "--kernel", "Gaussian(0.5).on('x') + Categorical().on('city')"],
        "text": ["two", "--kernel", "Spectrum(2).on('note')", "--text", "note"],
    }
    for name, (target, *options) in fits.items():
        fit = ["fit", "t.csv", "--target", target, *options, "--budget", "1 s", "--no-baseline"]
        code, words, _ = called([*fit, "--out", MODEL], -1)
        if code:
            raise AssertionError(f"model {name}: {words}")
        labels = target != "y"
        found[name] = (Path(MODEL).read_bytes(), target, "--proba" if labels else "--std")
    return found


def one_file(seed: int, known: dict[str, tuple[bytes, str, str]]) -> int:
    """The exit code of predictions by a file that was changed; raises what must not happen."""
    rng = np.random.default_rng(seed)
    data, target, option = known[sorted(known)[seed % len(known)]]
    Path(MODEL).write_bytes(forge.changed(data, rng))
    Path("p.csv").write_bytes(OLD)
    options = [option] * (rng.random() < 0.3)
    code = called(["predict", MODEL, "t.csv", "--out", "p.csv", *options], seed)[0]
    if code:
        kept("p.csv", seed)
    elif len(Path("p.csv").read_bytes().splitlines()) != 41:
        raise AssertionError(f"seed {seed}: not 40 predictions")
    others = [
        ["explain", MODEL],
        ["explain", MODEL, "t.csv", "--row", "3"],
        ["report", MODEL, "t.csv", f"--target={target}", "--budget", "1 s", "--out", "t.html"],
    ]
    share = 0.3 if code == 0 else 0.05
    if rng.random() < share:
        called(others[int(rng.integers(len(others)))], seed)
    nothing_left(seed)
    return code


def _not_finite(seed: int, words: str) -> None:
    raise AssertionError(f"seed {seed}: not finite: {words}")


def main(count: int, first: int = 0) -> None:
    """So many tables and model files; says how many were taken, and lists failures."""
    with tempfile.TemporaryDirectory() as folder:
        inside = Path(folder) / "inside"
        inside.mkdir()
        os.chdir(inside)
        seeds = range(first, first + count)
        tell("tables", (lambda seed: one(seed)[0]), seeds)
        for name in ALLOWED:
            Path(name).unlink(missing_ok=True)
        known = models()
        tell("model files", (lambda seed: one_file(seed, known)), seeds)
        os.chdir("/")


def tell(what: str, do: Callable[[int], int], seeds: Iterable[int]) -> None:
    """Many of a kind, and how they went."""
    start, codes, failures = time.perf_counter(), [], []
    for seed in seeds:
        try:
            codes.append(do(seed))
        except Exception as error:
            failures.append(seed)
            print(f"{type(error).__name__}: {error}", flush=True)
    print(
        f"{len(codes) + len(failures)} {what}, {codes.count(0)} taken, {len(failures)} failures "
        f"{failures[:20]}, {time.perf_counter() - start:.0f} s, {taken() / 1e6:.0f} MB",
        flush=True,
    )


def taken() -> float:
    """Bytes that this process has taken at most."""
    import resource  # which Windows lacks

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most * (1.0 if sys.platform == "darwin" else 1024.0)


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 200, int(sys.argv[2]) if len(sys.argv) > 2 else 0
    )
