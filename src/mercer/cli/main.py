"""The command ``mercer``: its sub-commands, errors and exit codes."""

from __future__ import annotations

import os
import sys
import warnings
from argparse import SUPPRESS, ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn

from .. import __version__
from ..exceptions import MercerWarning
from .output import printable, warn

COMMANDS = {
    "fit": "fit a model to a table and save it",
    "predict": "predict the target for the rows of a table",
    "explain": "explain a prediction, or why an expression is a kernel",
    "compare": "compare targets, kernels and baselines on the same rows",
    "tune": "tune the hyper-parameters of a kernel on a table",
    "plan": "say what a fit would do, and at what cost",
    "test": "test whether two tables differ, or whether columns are independent",
    "report": "make an HTML report on a saved model and its table",
    "lab": "open an interactive page for exploring kernels",
    "demo": "run the commands on a real table",
    "bench": "measure the speed on this machine, beside scikit-learn",
    "warm-up": "compile all loops ahead of time, so that first calls are fast",
}
_EXAMPLES = """\
examples:
  mercer fit houses.csv --target price
  mercer predict houses.mercer new.csv --out predictions.csv
  mercer explain houses.mercer new.csv --row 3
  mercer compare houses.csv --target price,rent
  mercer test two-sample before.csv after.csv
  mercer explain "2 * Gaussian() + Linear() ** 2"
"""


class _Parser(ArgumentParser):
    """One line for an error, as for all others."""

    def error(self, message: str) -> NoReturn:
        _complain(f"{message} (see {self.prog} --help)")
        raise SystemExit(2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with its arguments; returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show ö shows \\xf6
            stream.reconfigure(errors="backslashreplace")
    debug = "--debug" in given
    try:
        parser = _parser(given)  # imports what the command needs, which may be interrupted too
        args, rest = parser.parse_known_args(given)
        if rest:
            _not_known(args, rest, parser)
        if args.command is None:
            parser.print_help()
            return 0
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            args.run(args)
            sys.stdout.flush()
    except KeyboardInterrupt:
        _complain("stopped.")
        return 130
    except BrokenPipeError:  # of a pager or head that has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if debug:
            raise
        _complain(_words(error))
        return 2
    return 0


def _parser(given: list[str]) -> ArgumentParser:
    """The parser; of the commands, only the one that is meant is imported."""
    parser = _Parser(
        prog="mercer",
        description="Kernel methods on tables, from the command line.",
        epilog=_EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"mercer {__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of errors")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    meant = next((word for word in given if not word.startswith("-")), None)
    close = get_close_matches(meant or "", COMMANDS, n=1, cutoff=0.6)
    if close and meant not in COMMANDS:
        parser.error(f"there is no command {meant!r}; did you mean {close[0]}?")
    for name, words in COMMANDS.items():
        sub = commands.add_parser(name, help=words, description=f"{words.capitalize()}.")
        sub.add_argument("--debug", action="store_true", default=SUPPRESS, help=SUPPRESS)
        if name == meant:
            module = import_module(f"mercer.cli.{name.replace('-', '_')}")
            module.add_arguments(sub)
            sub.set_defaults(run=module.run, parser=sub)
    return parser


def _not_known(args: Namespace, rest: list[str], parser: ArgumentParser) -> None:
    """Refuse arguments that a command does not have; an option that was meant, perhaps, is told."""
    parser = getattr(args, "parser", parser)
    options = [word.partition("=")[0] for word in rest if word.startswith("-")]
    known = [name for name in parser._option_string_actions if name.startswith("--")]
    close = get_close_matches(options[0], known, n=1, cutoff=0.75) if options else []
    hint = f"; did you mean {close[0]}?" if close else ""
    parser.error(f"unrecognized arguments: {' '.join(rest)}{hint}")


def _words(error: Exception) -> str:
    """An error as one line; what is not meant for users says its type and how to see more."""
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}"
    if isinstance(error, ValueError | TypeError | OSError | ImportError | MemoryError) and text:
        return text
    return f"{type(error).__name__}: {text} (see where with --debug)"


def _complain(text: str) -> None:
    print(f"mercer: error: {printable(text)}", file=sys.stderr)


def _warn(message: Warning | str, category: type[Warning], *place: Any, **options: Any) -> None:
    """Our own warnings as one line; those of other packages are not about the user's data."""
    if issubclass(category, MercerWarning):
        warn(str(message))
