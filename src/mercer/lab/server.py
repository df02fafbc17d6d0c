"""The server of the lab: for this machine and for requests with the token only.

Every request must carry the token in its path and the address of this server in its ``Host`` header
(a foreign page whose host name was made to resolve to this machine does not), and what changes
anything must come from the page itself. Files are a fixed list; no part of a request is ever used
as a path or a program.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
from collections.abc import Callable
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import BoundedSemaphore
from typing import Any, Protocol

from .answers import catalogue

LARGEST = 200_000  # bytes of a request
WAITING = 16  # requests at once
_JSON = "application/json"
_PATIENCE = 20.0  # seconds for a request to arrive
_FILES = {
    "": ("index.html", "text/html; charset=utf-8"),
    "lab.css": ("lab.css", "text/css; charset=utf-8"),
    "icon.svg": ("icon.svg", "image/svg+xml"),
    **{
        name: (name, "text/javascript; charset=utf-8")
        for name in ("lab.js", "draw.js", "field.js", "space.js", "editor.js", "controls.js",
                     "link.js")
    },
}  # fmt: skip
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Answers(Protocol):
    """The object that computes pictures: a :class:`~mercer.lab.worker.Worker`, or a stand-in."""

    def ask(self, payload: Any, page: str, number: int) -> dict[str, Any]:
        """The answer to a payload, the ``number``-th of a page."""


class LabServer(ThreadingHTTPServer):
    """Serves the page, the catalogue, and pictures.

    Parameters
    ----------
    answers : Answers
        The object that computes pictures.
    port : int
        0 for any that is free.

    Attributes
    ----------
    token : str
        The token that a request must have in its path.
    url : str
        The address of the page, with the token.
    """

    daemon_threads = True
    request_queue_size = 4 * WAITING  # connections that come at once are answered, not reset
    allow_reuse_address = (
        os.name != "nt"
    )  # a port can be used again at once; Windows would share it

    def __init__(self, answers: Answers, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.answers = answers
        self.token = secrets.token_urlsafe(24)
        self.places = BoundedSemaphore(WAITING)

    @property
    def url(self) -> str:
        """The address of the page, with the token."""
        return f"http://127.0.0.1:{self.server_address[1]}/{self.token}/"

    @property
    def hosts(self) -> tuple[str, str]:
        """What the ``Host`` header of a request may be."""
        port = self.server_address[1]
        return f"127.0.0.1:{port}", f"localhost:{port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Broken connections are ignored."""


class Refusal(Exception):
    """A request that is not answered: its status, and why in one sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    server: LabServer
    server_version, sys_version = "mercer", ""
    protocol_version = "HTTP/1.1"
    timeout = _PATIENCE
    wbufsize = 1 << 16  # headers and body in one piece: two would wait 40 ms for each other
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """A file of the page, or the catalogue."""
        self.answer(self.file)

    def do_POST(self) -> None:
        """A picture."""
        self.answer(self.picture)

    def answer(self, made: Callable[[str], tuple[bytes, str]]) -> None:
        """Check the request, and send the reply."""
        try:
            body, kind = made(self.checked())
            self.reply(200, body, kind)
        except Refusal as refused:
            self.close_connection = True  # there may be more to read
            sentence = json.dumps({"error": str(refused)}).encode()
            self.reply(refused.status, sentence, _JSON)

    def file(self, name: str) -> tuple[bytes, str]:
        """A file, and its type."""
        if name == "catalogue":
            return _catalogue(), _JSON
        if name not in _FILES:
            raise Refusal(404, "There is nothing here.")
        file, kind = _FILES[name]
        return _file(file), kind

    def picture(self, name: str) -> tuple[bytes, str]:
        """The answer to what was sent."""
        if name != "picture":
            raise Refusal(404, "There is nothing here.")
        payload = self.payload()
        page, number = str(payload.get("page", ""))[:64], payload.get("number", 0)
        number = number if isinstance(number, int) and 0 <= number < 2**53 else 0
        if not self.server.places.acquire(blocking=False):
            raise Refusal(503, "Too many requests are waiting; try again.")
        try:
            found = self.server.answers.ask(payload, page, number)
        finally:
            self.server.places.release()
        try:
            body = json.dumps({**found, "number": number}, allow_nan=False)
        except ValueError:  # a value that is not finite
            sentence = "This kernel is too large or too small here to be drawn; change its numbers."
            body = json.dumps({"error": sentence, "number": number})
        return body.encode(), _JSON

    # ---- checks ----------------------------------------------------------------------------
    def checked(self) -> str:
        """The path after the token."""
        if self.headers.get("Host", "") not in self.server.hosts:
            raise Refusal(403, "This address is not the lab's; open the link it printed.")
        origin = self.headers.get("Origin")
        if origin is not None and origin not in [f"http://{h}" for h in self.server.hosts]:
            raise Refusal(403, "Requests of other pages are not answered.")
        followed = self.command == "GET" and self.headers.get("Sec-Fetch-Mode") == "navigate"
        own = self.headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin")
        if not (own or followed):
            raise Refusal(403, "Requests of other pages are not answered.")
        token, _, name = self.path.partition("?")[0].removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            raise Refusal(403, "The token is missing or wrong; open the link the lab printed.")
        return name

    def payload(self) -> dict[str, Any]:
        """The object that was sent."""
        if self.headers.get("Content-Type", "").partition(";")[0] != "application/json":
            raise Refusal(415, "A request must be JSON.")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            raise Refusal(411, "A request must say how long it is.")
        if len(length) > 9 or int(length) > LARGEST:
            raise Refusal(413, f"A request may have at most {LARGEST} bytes.")
        try:
            found = json.loads(self.rfile.read(int(length)), parse_constant=_no_number)
        except (ValueError, RecursionError):
            raise Refusal(400, "The request is not valid JSON.") from None
        if not isinstance(found, dict):
            raise Refusal(400, "The request must be a JSON object.")
        return found

    # ---- replies ---------------------------------------------------------------------------
    def reply(self, status: int, body: bytes, kind: str) -> None:
        """Send a body with all headers."""
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *ignored: Any) -> None:
        """Requests are not logged: their paths contain the token."""


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number.")


@cache
def _file(name: str) -> bytes:
    return (files("mercer.lab") / "page" / name).read_bytes()


@cache
def _catalogue() -> bytes:
    return json.dumps(catalogue(), allow_nan=False).encode()
