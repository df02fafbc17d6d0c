import subprocess
import sys

import numpy as np
import pytest

from mercer import Gaussian, Plan
from mercer.engine import memory
from mercer.exceptions import MemoryPlanError


def test_too_large_matrices_are_refused_before_they_are_made(rng, monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 1e6)
    monkeypatch.setattr(memory, "_UNCHECKED", 0)
    X = rng.standard_normal((1000, 2))
    for plan in (Plan(storage="dense"), Plan(storage="tiled")):
        with pytest.raises(
            MemoryPlanError, match=r"1000 x 1000 kernel matrix needs 8 MB, but 1 MB"
        ):
            Gaussian().gram(X, plan).to_dense()
    assert np.isfinite(Gaussian().gram(X, Plan(storage="tiled")) @ np.ones(1000)).all()


@pytest.mark.parametrize(
    ("nbytes", "words"), [(12, "12 B"), (8e8, "800 MB"), (1.5e9, "1.5 GB"), (2e13, "20 TB")]
)
def test_in_words(nbytes, words):
    assert memory.memory_words(nbytes) == words


def test_a_plan_is_a_limit(rng):
    memory.require_memory(1e6, "something small", 2e6)
    with pytest.raises(MemoryPlanError, match=r"needs 3 MB, but the plan allows 2 MB; raise"):
        memory.require_memory(3e6, "something large", 2e6)
    X = rng.standard_normal((30, 2))
    assert Gaussian().gram(X, Plan(memory="2 MB")).limit == 2e6
    assert Gaussian().gram(X, Plan(memory="2 MB")).detached().limit == 2e6
    assert Gaussian().gram(X).limit == np.inf


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("path", ["/", "/user/job", "/elsewhere"])
def test_limits_of_control_groups(tmp_path, version, path):
    """A job with 5 MB left, of which 1 MB is cached files, in a container with 3 MB left."""
    own, root = tmp_path / "own", tmp_path / "groups"
    own.write_text(f"0::{path}\n" if version == 2 else f"5:cpu:/x\n4:hugetlb,memory:{path}\n")
    top = root if version == 2 else root / "memory"
    names = {
        1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        2: ("memory.max", "memory.current", "inactive_file"),
    }[version]
    for group, most, now in ((top, "9000000", "6000000"), (top / "user/job", "8000000", "4000000")):
        group.mkdir(parents=True, exist_ok=True)
        (group / names[0]).write_text(most + "\n")
        (group / names[1]).write_text(now + "\n")
    (top / "user/job/memory.stat").write_text(f"file 5\n{names[2]} 1000000\n")
    assert memory._of_control_groups(own, root) == 3e6
    (top / names[0]).write_text("max\n")
    expected = 5e6 if path == "/user/job" else np.inf
    assert memory._of_control_groups(own, root) == expected
    assert memory._of_control_groups(tmp_path / "none", root) == np.inf


def test_limits_of_the_process():
    """In a process of its own, which may take 1 GB more than it has."""
    resource = pytest.importorskip("resource")
    code = (
        "import re, resource\n"
        "from pathlib import Path\n"
        "from mercer.engine.memory import free_memory\n"
        "import mercer; mercer.Plan\n"
        "for limit, used in ((resource.RLIMIT_DATA, 'VmData'), (resource.RLIMIT_AS, 'VmSize')):\n"
        "    status = Path('/proc/self/status').read_text()\n"
        "    now = int(re.search(used + r':\\s+(\\d+) kB', status)[1]) * 1024\n"
        "    resource.setrlimit(limit, (now + 10**9, resource.RLIM_INFINITY))\n"
        "    assert 0.8e9 < free_memory() <= 1e9, free_memory()\n"
        "    resource.setrlimit(limit, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
    )
    if memory.free_memory() < 1.2e9 or not memory._text(memory.Path("/proc/self/status")):
        pytest.skip("less memory is free than the limit allows, or nothing is known of it")
    assert resource.getrlimit(resource.RLIMIT_AS)[1] == resource.RLIM_INFINITY
    subprocess.run([sys.executable, "-c", code], check=True)
