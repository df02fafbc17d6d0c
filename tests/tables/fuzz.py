"""Tables that nobody would write by hand, for ``python tests/tables/fuzz.py 2000``.

Every table goes from bytes to a model, through the command line: it is fitted, or refused in one
line. A traceback, a warning of NumPy or a result that is not finite is a failure.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import time

import numpy as np

WORDS = ["", " ", "?", "n/a", "NaN", "inf", "-inf", "1e400", "-999", "99999", "0", "1", "-0.0",
         "1,5", "1.234,5", "12 %", "true", "False", "2024-02-30", "31.12.2023", "1/2/2024 10:00",
         "é", "\u202e", "\x1b[2J", "a,b", "x;y", 'say "hi"', "line\nbreak", "日本", "=1+1",
         "None", "x" * 300, "00012", "1e5", "0x1F", "💥", "\t", "'", "1 000", "NULL", "٣",
         ]  # fmt: skip
ENCODINGS = ["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"]


def column(rng: np.random.Generator, n: int) -> list[str]:
    """The cells of one column."""
    kind = rng.integers(12)
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
    return list(rng.choice(["True", "False", ""], n))


def table(rng: np.random.Generator) -> tuple[bytes, str]:
    """The bytes of a file, and the name of its target."""
    n, d = int(rng.choice([0, 3, 6, 12, 30, 30, 60, 60, 90])), int(rng.integers(1, 7))
    names = [
        str(rng.choice(["a", "b", "id", "x y", "größe", "", "y", "a"])) + str(i) for i in range(d)
    ]
    if rng.random() < 0.05:
        names[0] = names[-1]
    cells = [column(rng, n) for _ in range(d)]
    sep = str(rng.choice([",", ",", ";", "\t", "|"]))

    def quoted(text: str) -> str:
        text = str(text)
        needs = any(c in text for c in (sep, '"', "\n", "\r"))
        return '"' + text.replace('"', '""') + '"' if needs or rng.random() < 0.02 else text

    end = str(rng.choice(["\n", "\n", "\r\n"]))
    lines = [sep.join(map(quoted, names))]
    lines += [sep.join(quoted(c[i]) for c in cells) for i in range(n)]
    text = end.join(lines) + end * int(rng.integers(3))
    data = text.encode(str(rng.choice(ENCODINGS)), "replace")
    if rng.random() < 0.08 and len(data):  # damaged: cut off, or bytes that changed
        data = data[: rng.integers(len(data))]
    if rng.random() < 0.05 and len(data):
        at = rng.integers(len(data), size=3)
        data = bytes(b if i not in at else int(rng.integers(256)) for i, b in enumerate(data))
    return data, names[int(rng.integers(d))]


def one(seed: int) -> tuple[int, str]:
    """The exit code of one table, and what was said; raises what must not happen."""
    from mercer.cli.main import main

    rng = np.random.default_rng(seed)
    data, target = table(rng)
    with open("t.csv", "wb") as file:
        file.write(data)
    said, printed = io.StringIO(), io.StringIO()
    options = ["--budget", "1 s", "--out", "t.mercer"]
    options += [] if rng.random() < 0.1 else ["--no-baseline"]
    if rng.random() < 0.2:
        options += ["--task", str(rng.choice(["regression", "classification"]))]
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(printed):
        try:
            code = main(["fit", "t.csv", "--target", target.strip(), *options])
            if code == 0:
                code = main(["predict", "t.mercer", "t.csv", "--out", "p.csv"])
        except SystemExit as stop:
            code = int(stop.code or 0)
    words = said.getvalue()
    errors = [line for line in words.splitlines() if line.startswith("mercer: error")]
    if code not in (0, 2) or "Traceback" in words or "--debug" in words:
        raise AssertionError(f"seed {seed}: code {code}: {words[-300:]}")
    if code == 0 and "nan" in printed.getvalue().lower().replace("nan0", ""):
        raise AssertionError(f"seed {seed}: not finite: {printed.getvalue()[-500:]}")
    return code, errors[-1] if errors else ""


def main(count: int, first: int = 0) -> None:
    """Many of them; says how many were fitted, and lists failures."""
    start, fitted, failures = time.perf_counter(), 0, []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for seed in range(first, first + count):
            try:
                fitted += one(seed)[0] == 0
            except (Exception, KeyboardInterrupt) as error:
                if isinstance(error, KeyboardInterrupt):
                    break
                failures.append(seed)
                print(f"{type(error).__name__}: {error}", flush=True)
        os.chdir("/")
    seconds = time.perf_counter() - start
    print(
        f"{count} tables, {fitted} fitted, {len(failures)} failures {failures[:20]}, "
        f"{seconds:.0f} s"
    )


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 200, int(sys.argv[2]) if len(sys.argv) > 2 else 0
    )
