"""Files are replaced whole: by threads, after a kill, through links, with their permissions."""

import os
import signal
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

from mercer import load, save
from mercer.engine.atomic import write_atomically

posix = pytest.mark.skipif(os.name != "posix", reason="permissions, links and locks of POSIX")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(stream):
        stream.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, fail)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_threads_that_write_to_one_path(tmp_path):
    """All are in the middle of writing at once; each file that is ever seen is whole."""
    path, together = tmp_path / "file", threading.Barrier(4)
    errors = []

    def work(byte):
        def write(stream):
            stream.write(byte * 5000)
            stream.flush()
            together.wait()
            stream.write(byte * 5000)

        try:
            for _ in range(5):
                write_atomically(path, write)
                data = path.read_bytes()
                assert data == data[:1] * 10_000
        except Exception as error:
            errors.append(error)
            together.abort()

    threads = [threading.Thread(target=work, args=(byte,)) for byte in (b"a", b"b", b"c", b"d")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert names(tmp_path) == ["file"]


def test_threads_that_save_to_one_path(tmp_path):
    path, errors = tmp_path / "model.mercer", []

    def work(value):
        try:
            for _ in range(20):
                save(np.full(3000, value), path)
                assert np.ptp(load(path)) == 0
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(value,)) for value in (1.0, 2.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


KILLED = """
import sys, time
from mercer.engine.atomic import write_atomically
def write(stream):
    stream.write(b"half"); stream.flush(); print("half", flush=True); time.sleep(60)
write_atomically(sys.argv[1], write)
"""


@posix
def test_the_draft_of_a_killed_process_is_removed_by_the_next(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"half\n"
        write_atomically(path, lambda stream: stream.write(b"new"))
        assert len(names(tmp_path)) == 2  # that of a process at work stays
        process.send_signal(signal.SIGKILL)
    assert len(names(tmp_path)) == 2
    write_atomically(path, lambda stream: stream.write(b"newer"))
    assert names(tmp_path) == ["file"]
    assert path.read_bytes() == b"newer"


@posix
def test_links_and_permissions_are_kept(tmp_path):
    (tmp_path / "there").mkdir()
    real, link = tmp_path / "there" / "file", tmp_path / "link"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to(real)
    write_atomically(link, lambda stream: stream.write(b"new"))
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert names(tmp_path) == ["link", "there"]
    assert names(tmp_path / "there") == ["file"]


@posix
def test_a_new_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "usual").write_bytes(b"")
    write_atomically(tmp_path / "file", lambda stream: stream.write(b"new"))
    usual, found = (stat.S_IMODE((tmp_path / n).stat().st_mode) for n in ("usual", "file"))
    assert found == usual


@posix
def test_pipes_and_devices_are_written_to_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(pipe, lambda stream: stream.write(b"new"))
    assert os.read(reader, 10) == b"new"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    with pytest.raises(IsADirectoryError):
        write_atomically(tmp_path, lambda stream: stream.write(b"new"))
