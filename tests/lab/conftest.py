"""A lab to ask, and states to ask for."""

import http.client
import json
import threading

import pytest

from mercer.lab.answers import answer
from mercer.lab.presets import PRESETS
from mercer.lab.server import LabServer


@pytest.fixture
def preset():
    """The payload of a preset, by its name."""
    known = {p.name: p for p in PRESETS}
    return lambda name, **changes: known[name].payload() | changes


class Direct:
    """Computes pictures where it is called."""

    def ask(self, payload, page, number):
        return answer(payload)


class Client:
    """Requests to a server, with headers that can be wrong."""

    def __init__(self, server):
        self.server, self.port = server, server.server_address[1]

    def ask(self, path, body=None, method=None, token=None, **headers):
        sent = {"Host": f"127.0.0.1:{self.port}", "Content-Type": "application/json"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            where = f"/{self.server.token if token is None else token}/{path}"
            connection.request(method or ("GET" if body is None else "POST"), where, data, sent)
            reply = connection.getresponse()
            text = reply.read()
        finally:
            connection.close()
        kind = reply.headers.get("Content-Type", "")
        return reply.status, json.loads(text) if "json" in kind else text, reply.headers


@pytest.fixture
def serve():
    """Start a server around something that computes pictures."""
    running = []

    def start(answers=None):
        server = LabServer(answers or Direct())
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        running.append((server, thread))
        return Client(server)

    yield start
    for server, thread in running:
        server.shutdown()
        server.server_close()
        thread.join(5)


@pytest.fixture
def client(serve):
    return serve()
