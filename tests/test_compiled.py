"""Loops are compiled when they are called, also where numba finds no place for its cache."""

import ast
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import caching, event
from numba.core.compiler_lock import global_compiler_lock

import mercer
from mercer import _compiled
from mercer._compiled import by_type, intrinsic, njit


def square(x):
    return x * x


def test_without_a_place_for_the_cache(monkeypatch):
    implementation = getattr(caching, "CacheImpl", None) or caching._CacheImpl
    monkeypatch.setattr(implementation, "_locator_classes", [])
    with pytest.raises(RuntimeError, match="no locator available"):
        numba.njit(cache=True)(square)
    assert njit(cache=True, nogil=True)(square)(3.0) == 9.0


def test_with_one():
    compiled = njit(cache=True)(square)
    assert isinstance(compiled._cache, caching.FunctionCache)


def test_a_loop_is_prepared_once():
    loop = njit(nogil=True)(square)
    assert (loop.__name__, loop._dispatcher) == ("square", None)
    assert loop(3.0) == 9.0
    first = loop._dispatcher
    assert loop(2) == 4
    assert loop._dispatcher is first
    assert len(loop.signatures) == 2


_INTERRUPTED = """
import signal, sys
from mercer._compiled import njit

class Finder:
    seen = []

    def find_spec(self, name, path=None, target=None):
        if name in ("numba", "numba.core.config"):
            self.seen.append(name)
        if self.seen.count(name) == 1 and name == "numba.core.config":
            signal.raise_signal(signal.SIGINT)

def twice(x):
    return 2 * x

sys.meta_path.insert(0, Finder())
loop = njit()(twice)
try:
    loop(1.0)
except KeyboardInterrupt:
    print("interrupted")
print(loop(3.0), *Finder.seen)
"""


def test_an_interrupt_does_not_cut_the_import_of_numba_short():
    command = [sys.executable, "-c", _INTERRUPTED]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["interrupted", "6.0", "numba", "numba.core.config"]


def test_loops_call_each_other():
    inner = njit(nogil=True)(square)
    inlined = njit(nogil=True, inline="always")(square)
    assert njit(nogil=True)(lambda x: inner(x) + inlined(x))(3.0) == 18.0


def test_what_loops_are_made_of_is_made_when_they_are_compiled():
    @intrinsic
    def half(typing, x):
        def generate(context, builder, signature, args):
            return builder.fmul(args[0], args[0].type(0.5))

        return numba.float64(numba.float64), generate

    @by_type
    def kind(x):
        return (lambda x: 1) if isinstance(x, numba.types.Integer) else (lambda x: 2)

    assert half._type is kind._type is None
    loop = njit(nogil=True)(lambda x: half(float(x)) + 10 * kind(x))
    assert (loop(3), loop(3.0)) == (11.5, 21.5)


@pytest.mark.parametrize("changed", ["inner", "limits"])
def test_cached_code_is_not_used_after_changes_of_other_files(tmp_path, changed):
    """Of a function that a loop calls, or of a constant in it, in files that are not its own."""
    files = {
        "limits": "LIMIT = {}\n",
        "inner": "from limits import LIMIT\nfrom mercer._compiled import njit\n\n\n"
        "@njit(cache=True)\ndef inner(x):\n    return min(x, LIMIT) * {}\n",
        "outer": "from inner import inner\nfrom mercer._compiled import njit\n\n\n"
        "@njit(cache=True)\ndef outer(x):\n    return inner(x) + 0.5\n",
    }
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    answers = "outer(100.0), sum(outer._dispatcher.stats.cache_hits.values())"
    command = [sys.executable, "-B", "-c", f"from outer import outer; print({answers})"]
    numbers, found = {"limits": 10, "inner": 1}, []
    for time in range(3):
        numbers[changed] *= 2 if time == 2 else 1
        for name, text in files.items():
            path, text = tmp_path / f"{name}.py", text.format(numbers.get(name, ""))
            if not path.exists() or path.read_text() != text:
                path.write_text(text)
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        found.append(done.stdout.split())
    assert found == [["10.5", "0"], ["10.5", "1"], ["20.5", "0"]]


def test_long_tuples_of_arrays_are_told_apart():
    """numba 0.60 forgot how they begin, and called what it had compiled for another kind."""
    loop = njit(nogil=True)(lambda tables: tables[0][0][0])
    rest = [(np.zeros(1),)] * 3 + [np.zeros(1)] * 3
    tables = [((np.full(1, 3, kind),), *rest) for kind in (float, complex, np.int64, np.float32)]
    for table in tables * 5:
        for found in [loop(table) for _ in range(30)]:
            assert (found, type(found)) == (3, type(table[0][0][0].item()))


@pytest.fixture
def impatient(monkeypatch):
    """As in a new process, where every moment of compiling is worth a message."""
    before = _compiled._ear
    if before is not None:
        event.unregister("numba:compile", before)
    for name, value in (("_PATIENCE", 0.0), ("_ear", None), ("_kept", True)):
        monkeypatch.setattr(_compiled, name, value)
    yield
    event.unregister("numba:compile", _compiled._ear)
    if before is not None:
        event.register("numba:compile", before)


@pytest.mark.parametrize("watching", [True, False])
def test_compiling_for_long_is_announced_to_people_only(impatient, monkeypatch, capsys, watching):
    monkeypatch.setattr("sys.stderr.isatty", lambda: watching)
    for _ in range(2):
        njit(nogil=True)(lambda x: x + 1)(1.0)
    assert capsys.readouterr().err.count("mercer warm-up") == int(watching)


def test_it_is_announced_before_all_is_compiled(impatient, monkeypatch):
    said, early = [], []
    monkeypatch.setattr(_compiled, "note", said.append)

    @by_type
    def inner(x):
        early.extend(said)
        return lambda x: x

    njit(nogil=True)(lambda x: inner(x))(1.0)
    assert early


def test_what_is_not_kept_is_not_promised_to_be(impatient, monkeypatch):
    said = []
    monkeypatch.setattr(_compiled, "note", said.append)
    implementation = getattr(caching, "CacheImpl", None) or caching._CacheImpl
    monkeypatch.setattr(implementation, "_locator_classes", [])
    njit(cache=True, nogil=True)(square)(3.0)
    assert ["NUMBA_CACHE_DIR" in line for line in said] == [True]


def test_garbage_is_collected_again_after_compiling(impatient):
    seen = []

    @by_type
    def inner(x):
        seen.append(gc.isenabled())
        return lambda x: x

    njit(nogil=True)(lambda x: inner(x))(1.0)
    assert (any(seen), gc.isenabled()) == (False, True)


LIGHT = """
import sys
import sklearn.base, sklearn.utils.validation  # it imports pandas where that is installed
before = set(sys.modules)
import mercer
from mercer import SVC, SVR, GaussianProcessRegressor, KernelPCA, KernelRidge, two_sample_test
KernelRidge(kernel="rbf").fit([[0.0], [1.0]], [0.0, 1.0]).predict([[2.0]])
KernelPCA(1, kernel="rbf").fit([[0.0], [1.0], [3.0]])
GaussianProcessRegressor().fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 0.0]).predict([[2.0]])
two_sample_test([[0.0], [1.0], [2.0]], [[1.0], [2.0], [4.0]])
for model in (SVC(), SVR(kernel="linear")):
    model.fit([[0.0], [1.0], [3.0]], [0, 1, 0]).predict([[2.0]])
line = [[0.01 * k] for k in range(100)]  # a product of features
SVC(kernel="linear").fit(line, [k > 30 for k in range(100)]).predict(line)
heavy = {"numba", "llvmlite", "pandas", "matplotlib", "sklearn.model_selection", "sklearn.metrics"}
assert not heavy & (set(sys.modules) - before), heavy & (set(sys.modules) - before)
"""


def test_models_without_loops_do_not_import_numba():
    done = subprocess.run(
        [sys.executable, "-c", LIGHT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_loop_is_compiled_by_it():
    """A single function that asks numba itself would break the import of its module."""
    root = Path(mercer.__file__).parent
    asking = [
        path.name
        for path in root.rglob("*.py")
        if "from numba import njit" in path.read_text(encoding="utf-8")
    ]
    assert asking == []


def compiled_functions(path):
    """The functions of a file that are decorated with njit."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        made = getattr(node, "decorator_list", ())
        if any(getattr(getattr(d, "func", None), "id", "") == "njit" for d in made):
            yield node


def is_slice(place):
    parts = place.slice.elts if isinstance(place.slice, ast.Tuple) else [place.slice]
    return any(isinstance(part, ast.Slice) for part in parts)


def test_loops_copy_and_reduce_arrays_by_loops():
    """What numba makes of ``a[:] = b`` takes two seconds to compile, of ``a.max()`` half a one.

    It includes all that writes the shapes of both in an error message.
    """
    slow = []
    for path in Path(mercer.__file__).parent.rglob("*.py"):
        for function in compiled_functions(path):
            for node in ast.walk(function):
                if isinstance(node, ast.Assign):
                    places = [p for t in node.targets for p in getattr(t, "elts", [t])]
                    values = getattr(node.value, "elts", [node.value])
                    into = any(isinstance(p, ast.Subscript) and is_slice(p) for p in places)
                    if into and not all(isinstance(v, ast.Constant) for v in values):
                        slow.append(f"{path.name}:{node.lineno} copies")
                if isinstance(node, ast.Attribute) and node.attr in ("max", "min", "sum"):
                    slow.append(f"{path.name}:{node.lineno} .{node.attr}")
    assert slow == []


EVERYTHING = """
import mercer
missing = []
for name in mercer.__all__:
    try:
        getattr(mercer, name)
    except Exception as error:
        missing.append((name, str(error)))
assert missing == [], missing
from mercer import SVC
assert SVC().fit([[0.0], [1.0]], [0, 1]).predict([[2.0]]) == [1]
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="permissions of Linux")
def test_a_read_only_installation_without_a_home():
    """All names are there, for a user who may write nowhere."""
    folder = Path(tempfile.mkdtemp())  # not that of pytest, which others may not enter
    package = folder / "mercer"
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(mercer.__file__).parent, package, ignore=ignore)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    places = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    environment = {k: v for k, v in os.environ.items() if k not in places}
    environment |= {"PYTHONPATH": str(package.parent), "HOME": str(folder / "home")}
    humble = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"]  # or else root may all
    done = subprocess.run(
        [*(humble if os.geteuid() == 0 else []), sys.executable, "-B", "-c", EVERYTHING],
        env=environment,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    for path in [folder, *(p for p in folder.rglob("*") if p.is_dir())]:
        path.chmod(0o755)
    shutil.rmtree(folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("lock", [_compiled._lock, global_compiler_lock])
def test_a_child_that_is_forked_while_another_thread_compiles(lock):
    """It has no such thread, which would have to release the lock."""
    holds, forks = threading.Event(), threading.Event()

    def compiles():
        with lock:
            holds.set()
            forks.wait(0.5)

    other = threading.Thread(target=compiles)
    other.start()
    assert holds.wait(20)
    child = os.fork()
    if not child:
        signal.alarm(20)
        os._exit(0 if njit(nogil=True)(square)(3.0) == 9.0 else 1)
    forks.set()
    other.join()
    assert os.waitpid(child, 0)[1] == 0
