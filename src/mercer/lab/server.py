"""The server of the lab: this machine only, for whoever holds the token, and nothing else.

Every request must carry the token in its path and the address of this server in its ``Host`` header
(a page elsewhere whose name was made to point here does not), and what changes anything must come
from the page itself. Files are a fixed list; nothing of a request is ever a path or a program.
"""

from __future__ import annotations

import hmac
import json
import secrets
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import BoundedSemaphore
from typing import Any, Protocol

from .answers import catalogue

LARGEST = 200_000  # bytes of a request
WAITING = 16  # requests at once
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
    """What computes pictures: a :class:`~mercer.lab.worker.Worker`, or a stand-in."""

    def ask(self, payload: Any, page: str, number: int) -> dict[str, Any]:
        """The answer to a payload, the ``number``-th of a page."""


class LabServer(ThreadingHTTPServer):
    """Serves the page, the catalogue, and pictures.

    Parameters
    ----------
    answers : Answers
        What computes pictures.
    port : int
        0 for any that is free.

    Attributes
    ----------
    token : str
        What a request must have in its path.
    url : str
        The address of the page, with the token.
    """

    daemon_threads = True
    allow_reuse_address = False

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
        """A connection that breaks is no news."""


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    server: LabServer
    server_version, sys_version = "mercer", ""
    protocol_version = "HTTP/1.1"
    timeout = _PATIENCE

    def do_GET(self) -> None:
        """A file of the page, or the catalogue."""
        name = self.checked()
        if name is None:
            return
        if name == "catalogue":
            self.reply(200, _catalogue(), "application/json")
        elif name in _FILES:
            file, kind = _FILES[name]
            self.reply(200, _file(file), kind)
        else:
            self.refuse(404, "There is nothing here.")

    def do_POST(self) -> None:
        """A picture."""
        name = self.checked()
        if name is None:
            return
        if name != "picture":
            return self.refuse(404, "There is nothing here.")
        payload = self.payload()
        if payload is None:
            return None
        page, number = str(payload.get("page", ""))[:64], payload.get("number", 0)
        number = number if isinstance(number, int) and 0 <= number < 2**53 else 0
        if not self.server.places.acquire(blocking=False):
            return self.refuse(503, "Too many requests are waiting; try again.")
        try:
            found = self.server.answers.ask(payload, page, number)
        finally:
            self.server.places.release()
        body = json.dumps({**found, "number": number}, allow_nan=False).encode()
        return self.reply(200, body, "application/json")

    # ---- checks ----------------------------------------------------------------------------
    def checked(self) -> str | None:
        """What is asked for, below the token; None if the request was refused."""
        if self.headers.get("Host", "") not in self.server.hosts:
            return self.refuse(403, "This address is not the lab's; open the link it printed.")
        origin = self.headers.get("Origin")
        if origin is not None and origin not in [f"http://{h}" for h in self.server.hosts]:
            return self.refuse(403, "Requests of other pages are not answered.")
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            if not (self.command == "GET" and self.headers.get("Sec-Fetch-Mode") == "navigate"):
                return self.refuse(403, "Requests of other pages are not answered.")
        token, _, name = self.path.partition("?")[0].removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            return self.refuse(403, "The token is missing or wrong; open the link the lab printed.")
        return name

    def payload(self) -> dict[str, Any] | None:
        """The object that was sent; None if the request was refused."""
        if self.headers.get("Content-Type", "").partition(";")[0] != "application/json":
            return self.refuse(415, "A request must be JSON.")
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            return self.refuse(411, "A request must say how long it is.")
        if len(length) > 9 or int(length) > LARGEST:
            return self.refuse(413, f"A request may have at most {LARGEST} bytes.")
        body = self.rfile.read(int(length))
        try:
            found = json.loads(body, parse_constant=_no_number)
        except (ValueError, RecursionError):
            return self.refuse(400, "The request is not valid JSON.")
        if not isinstance(found, dict):
            return self.refuse(400, "The request must be a JSON object.")
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

    def refuse(self, status: int, sentence: str) -> None:
        """One sentence, and no more to read from this connection."""
        self.close_connection = True
        self.reply(status, json.dumps({"error": sentence}).encode(), "application/json")

    def log_message(self, *ignored: Any) -> None:
        """Nothing is written about requests: their paths hold the token."""


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON.")


@cache
def _file(name: str) -> bytes:
    return (files("mercer.lab") / "page" / name).read_bytes()


@cache
def _catalogue() -> bytes:
    return json.dumps(catalogue(), allow_nan=False).encode()
