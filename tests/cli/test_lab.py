"""``mercer lab``: starts, answers, and stops with Ctrl-C."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from mercer.cli.main import main

START = "import sys; from mercer.cli.main import main; sys.exit(main(sys.argv[1:]))"


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent otherwise")
def test_the_lab_answers_until_ctrl_c():
    command = [sys.executable, "-u", "-c", START, "lab", "--no-browser", "#preset=witness"]
    lab = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        address = lab.stdout.readline().split()[-1]
        assert address.endswith("/#preset=witness")
        base = address.partition("#")[0]
        with urllib.request.urlopen(base, timeout=20) as reply:
            assert b"Kernel lab" in reply.read()
        body = {"view": "gram", "kernel": "Gaussian(1)", "points": [[0, 0, 0], [1, 1, 1]]}
        kind = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{base}picture", json.dumps(body).encode(), kind)
        with urllib.request.urlopen(request, timeout=60) as reply:
            assert json.load(reply)["picture"]["panels"]
        os.killpg(lab.pid, signal.SIGINT)
        out, err = lab.communicate(timeout=20)
    finally:
        if lab.poll() is None:
            lab.kill()
            lab.communicate()
    assert lab.returncode == 0
    assert "closed" in out
    assert err == ""


def test_a_port_that_is_taken_is_named(capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["lab", "--no-browser", "--port", str(port)]) == 2
    assert f"port {port} cannot be used" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["x", "-1", "65536", "80.5"])
def test_a_port_is_a_number(port, capsys):
    with pytest.raises(SystemExit):
        main(["lab", "--port", port])
    assert capsys.readouterr().err.startswith("mercer: error:")
