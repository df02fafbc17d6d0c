"""``mercer lab``: a page on which kernels can be seen at work."""

from __future__ import annotations

import sys
import webbrowser
from argparse import ArgumentParser, Namespace
from threading import Thread, Timer

from .arguments import whole


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of ``mercer lab``."""
    parser.add_argument(
        "picture",
        nargs="?",
        default="",
        help='what to open: the part of a link after "#", such as preset=witness',
    )
    parser.add_argument(
        "--port", type=whole(0, 65535), default=0, help="the port (default: any free port)"
    )
    parser.add_argument("--no-browser", action="store_true", help="only print the address")


def run(args: Namespace) -> None:
    """Serve until Ctrl-C."""
    from ..lab.answers import catalogue
    from ..lab.server import LabServer
    from ..lab.worker import Worker

    worker = Worker()
    try:
        server = LabServer(worker, args.port)
    except OSError as error:
        raise ValueError(
            f"port {args.port} cannot be used ({error.strerror}); omit --port to use a free one."
        ) from None
    fragment = args.picture.removeprefix("#")
    address = f"{server.url}#{fragment}" if fragment else server.url
    print(
        f"The kernel lab is at {address}\nIt only answers requests from this machine. Stop it "
        "with Ctrl-C."
    )
    sys.stdout.flush()
    try:
        worker.start()
        Thread(target=catalogue, daemon=True).start()  # imports what the first page will need
        if not args.no_browser:
            Timer(0.2, webbrowser.open, [address]).start()
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        print("\nThe lab is closed.")
    finally:
        server.server_close()
        worker.stop()
