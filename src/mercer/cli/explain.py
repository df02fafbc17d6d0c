"""``mercer explain``: why an expression is a kernel, and what that implies."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ..kernels.notation.parse import parse


def add_arguments(parser: ArgumentParser) -> None:
    """What ``mercer explain`` understands."""
    parser.add_argument("kernel", metavar="EXPR", help='a kernel: "2 * Gaussian() + Linear() ** 2"')


def run(args: Namespace) -> None:
    """Do what the arguments say."""
    print(parse(args.kernel).explain())
