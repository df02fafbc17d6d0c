"""The server: who is answered, how much, and that it survives everything else."""

import json
import socket
import threading
import time
from contextlib import suppress

import pytest

from mercer.lab import server as server_module
from mercer.lab.server import LARGEST, LabServer


def test_it_listens_on_this_machine_only(client):
    assert client.server.server_address[0] == "127.0.0.1"
    assert client.server.url.startswith(f"http://127.0.0.1:{client.port}/")


def test_tokens_are_long_and_differ():
    class Silent:
        def ask(self, payload, page, number):
            return {}

    servers = [LabServer(Silent()) for _ in range(3)]
    tokens = {s.token for s in servers}
    for s in servers:
        s.server_close()
    assert len(tokens) == 3
    assert min(map(len, tokens)) >= 32


@pytest.mark.parametrize("path", ["", "lab.js", "lab.css", "catalogue"])
def test_nothing_without_the_token(client, path):
    for token in ("", "x", client.server.token[:-1], client.server.token + "x", "%C3%A9"):
        status, found, _ = client.ask(path, token=token)
        assert status == 403
        assert "token" in found["error"]
    assert client.ask(path)[0] == 200


def test_pictures_need_the_token_too(client, preset):
    assert client.ask("picture", preset("margins"), token="x")[0] == 403
    status, found, _ = client.ask("picture", preset("margins") | {"number": 7})
    assert (status, found["number"]) == (200, 7)
    assert found["picture"]["panels"]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "", "0.0.0.0:1"])
def test_names_that_were_made_to_point_here_are_refused(client, host):
    assert client.ask("", Host=host)[0] == 403


def test_other_pages_are_refused(client, preset):
    ours = f"http://127.0.0.1:{client.port}"
    body = preset("margins")
    assert client.ask("picture", body, Origin="http://evil.example")[0] == 403
    assert client.ask("picture", body, Origin="null")[0] == 403
    assert client.ask("picture", body, Sec_Fetch_Site="cross-site")[0] == 403
    assert client.ask("lab.js", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")[0] == 403
    assert client.ask("picture", body, Origin=ours, Sec_Fetch_Site="same-origin")[0] == 200
    assert client.ask("", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0] == 200


def test_the_page_may_load_nothing_from_elsewhere(client):
    _, page, headers = client.ask("")
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    for name in server_module._FILES:
        text = client.ask(name)[1].decode()
        assert "https://" not in text
        links = text.replace("http://www.w3.org/", "")
        assert "http://" not in links
    assert b"<script>" not in page


@pytest.mark.parametrize(
    "path", ["../server.py", "%2e%2e/server.py", "lab.js/..", "page/lab.js", "x"]
)
def test_files_are_a_fixed_list(client, path):
    assert client.ask(path)[0] == 404


def test_every_file_of_the_page_is_served():
    from importlib.resources import files

    inside = {f.name for f in (files("mercer.lab") / "page").iterdir()}
    assert inside == {name for name, _ in server_module._FILES.values()}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400), (b"", 400), (b"[]", 400), (b"3", 400), (b'{"view": NaN}', 400),
        (b"[" * 50_000, 400), (b"\xff\xfe", 400), (b'{"view": "classify"', 400),
    ],
)  # fmt: skip
def test_what_is_not_json_is_refused_in_one_sentence(client, body, status):
    found = client.ask("picture", body)
    assert found[0] == status
    assert found[1]["error"].endswith(".")


def test_requests_have_a_largest_size(client):
    assert client.ask("picture", b" " * (LARGEST + 1))[0] == 413
    assert client.ask("picture", {}, Content_Length="9" * 40)[0] == 413
    assert client.ask("picture", {}, Content_Length="-1")[0] == 411
    assert client.ask("picture", {}, Content_Type="text/plain")[0] == 415
    assert client.ask("", method="PUT")[0] == 501
    assert client.ask("catalogue")[0] == 200


def test_bytes_that_are_no_request_do_no_harm(client):
    strange = b"GET /\xe9\xff/ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % client.port
    for text in (
        strange,
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"A" * 70_000 + b"\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", client.port), timeout=5) as s:
            s.sendall(text)
            s.settimeout(5)
            with suppress(OSError):
                s.recv(1000)
    assert client.ask("catalogue")[0] == 200


def test_only_so_many_wait(serve):
    gate, inside = threading.Event(), []

    class Slow:
        def ask(self, payload, page, number):
            inside.append(number)
            gate.wait(10)
            return {}

    client = serve(Slow())
    found = []

    def one(i):
        found.append(client.ask("picture", {"number": i})[0])

    threads = [threading.Thread(target=one, args=(i,)) for i in range(server_module.WAITING)]
    for t in threads:
        t.start()
    end = time.monotonic() + 10
    while len(inside) < server_module.WAITING and time.monotonic() < end:
        time.sleep(0.01)
    status, refused, _ = client.ask("picture", {"number": 99})
    gate.set()
    for t in threads:
        t.join(10)
    assert status == 503
    assert "waiting" in refused["error"]
    assert found == [200] * server_module.WAITING
    assert client.ask("picture", {})[0] == 200


def test_many_pages_at_once_get_their_own_answers(client, preset):
    names = ["margins", "good-fit", "level-sets", "gram", "sum-of-bumps", "k-mers"]
    found = {}

    def one(i):
        reply = client.ask("picture", preset(names[i % len(names)]) | {"number": i, "page": str(i)})
        found[i] = reply[1]

    threads = [threading.Thread(target=one, args=(i,)) for i in range(12)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(30)
    for i, reply in found.items():
        alone = client.ask("picture", preset(names[i % len(names)]))[1]
        assert reply["number"] == i
        assert json.dumps(reply["picture"]) == json.dumps(alone["picture"])


def test_values_that_are_not_finite_become_a_sentence(serve):
    class Infinite:
        def ask(self, payload, page, number):
            return {"picture": float("inf")}

    status, found, _ = serve(Infinite()).ask("picture", {"number": 3})
    assert (status, found["number"]) == (200, 3)
    assert "too large" in found["error"]


def test_nothing_is_written_about_requests(client, capfd):
    client.ask("")
    client.ask("nothing")
    assert capfd.readouterr() == ("", "")
