"""The command itself: version, help, errors as one line, nothing imported in vain."""

import os
import subprocess
import sys
import warnings

import pytest

import mercer
from mercer.cli.main import COMMANDS, main
from mercer.exceptions import NumericalWarning


def run(*arguments):
    try:
        return main(list(arguments))
    except SystemExit as stop:  # of argparse
        return stop.code


def test_version_and_help(capsys):
    assert run("--version") == 0
    assert capsys.readouterr().out == f"mercer {mercer.__version__}\n"
    for arguments in ((), ("--help",)):
        assert run(*arguments) == 0
        assert all(name in capsys.readouterr().out for name in [*COMMANDS][:1])
    for name in COMMANDS:
        assert run(name, "--help") == 0
        assert f"usage: mercer {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["frobnicate"], "invalid choice: 'frobnicate'"),
        (["fit"], "required: TABLE (see mercer fit --help)"),
        (["fit", "gone.csv", "--target", "y"], "there is no file 'gone.csv'"),
        (["fit", "t.csv", "--target", "y", "--budget", "soon"], "a time of a second or more"),
        (["fit", "t.csv", "--target", "y", "--alphas", "1,-2"], "positive numbers"),
        (["fit", "t.csv", "--target", "y", "--kernel", "Gausian()"], "did you mean Gaussian?"),
        (["fit", "t.csv", "--target", "y", "--memory", "much"], "memory must be"),
        (["fit", "t.csv", "--target", "y", "--out", "gone/m"], "there is no folder 'gone'"),
        (["predict", "gone.mercer", "t.csv"], "there is no file 'gone.mercer'"),
        (["explain", "Gausian()"], "did you mean Gaussian?"),
        (["explain", "Gaussian() - Linear()"], "A difference of kernels is not a kernel"),
        (["explain", "__import__('os')"], "'__import__' is not a kernel"),
        (["explain", "Gaussian("], "is not an expression"),
    ],
)
def test_errors_are_one_line(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(*arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("mercer: error: ")
    assert captured.err.count("\n") == 1
    assert words in captured.err


@pytest.mark.parametrize(
    "arguments", [["--debug", "explain", "X()"], ["explain", "X()", "--debug"]]
)
def test_debug_raises(arguments):
    with pytest.raises(ValueError, match="not a kernel"):
        main(arguments)


def test_bugs_and_interruptions(capsys, monkeypatch):
    def broken(error):
        def explain(text):
            raise error

        return explain

    monkeypatch.setattr("mercer.cli.explain.parse", broken(ZeroDivisionError("oh")))
    assert run("explain", "x") == 2
    assert (
        capsys.readouterr().err == "mercer: error: ZeroDivisionError: oh (see where with --debug)\n"
    )
    monkeypatch.setattr("mercer.cli.explain.parse", broken(KeyboardInterrupt()))
    assert run("explain", "x") == 130


def test_warnings_are_one_line(capsys, monkeypatch):
    def warn(text):
        warnings.warn("raise alpha.", NumericalWarning, stacklevel=1)
        warnings.warn("of somebody else", FutureWarning, stacklevel=1)
        return mercer.Gaussian()

    monkeypatch.setattr("mercer.cli.explain.parse", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert run("explain", "x") == 0
    assert capsys.readouterr().err == "mercer: warning: raise alpha.\n"


def test_explain(capsys):
    assert run("explain", "2 * Gaussian() + Linear() ** 2") == 0
    out = capsys.readouterr().out
    assert out.startswith("k = 2 * Gaussian() + Linear() ** 2\n")
    assert "universal" in out


def test_explain_needs_neither_pandas_nor_scikit_learn():
    code = (
        "import sys; from mercer.cli.main import main; main(['explain', 'Linear()']); "
        "sys.exit(any(m in sys.modules for m in ('pandas', 'sklearn')))"
    )
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL).returncode == 0


def test_a_pager_may_stop_reading():
    code = "import sys; from mercer.cli.main import main; sys.exit(main(['explain', 'Linear()']))"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--version"], 0, f"mercer {mercer.__version__}"),
        (["frobnicate"], 2, "mercer: error: argument COMMAND: invalid choice"),
        (["fit", "gone.csv", "--target", "y"], 2, "mercer: error: there is no file 'gone.csv'"),
    ],
)
def test_as_a_module(arguments, code, words, tmp_path):
    """``python -m mercer`` does what ``mercer`` does, with the same exit codes."""
    done = subprocess.run(
        [sys.executable, "-m", "mercer", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert words in done.stdout + done.stderr


def test_interrupted_imports_leave_no_traceback(monkeypatch, capsys):
    def interrupted(name):
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.cli.main.import_module", interrupted)
    assert main(["explain", "Gaussian()"]) == 130
    assert capsys.readouterr().err == "mercer: error: stopped.\n"


def test_terminals_that_cannot_show_everything(tmp_path):
    """Letters beyond ASCII are spelled out there, and written as UTF-8 to files and pipes."""
    (tmp_path / "t.csv").write_text(
        "größe,y\n" + "".join(f"{i},{i % 5}\n" for i in range(30)), encoding="utf-8"
    )
    code = "import sys; from mercer.cli.main import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "fit", "t.csv", "--target", "y", "--kernel", "Gaussian(2.0)"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"gr\\xf6\\xdfe" in done.stdout
    assert b"fitting to 24 rows" in done.stderr  # stages are told as they begin


def test_escape_codes_in_names_do_not_reach_the_terminal(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    name = "a\x1b[2J\u202eb"
    rows = "".join(f"{i},{i % 5}\n" for i in range(30))
    (tmp_path / "t.csv").write_text(f"{name},y\n{rows}", encoding="utf-8")
    assert main(["fit", "t.csv", "--target", "y", "--kernel", "Gaussian(2.0)"]) == 0
    assert main(["fit", "t.csv", "--target", "gone"]) == 2
    captured = capsys.readouterr()
    for text in captured:
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "a\\x1b[2J\\u202eb" in text
