"""The layout of the library: what each room may know, and the names that packages list."""

import ast
from pathlib import Path

import pytest

import mercer

LIBRARY = Path(mercer.__file__).parent
FLOORS = [  # a file imports from its own floor's room and from lower floors
    {"_lazy", "checks", "exceptions", "kinds", "progress", "shown"},
    {"_compiled", "tensors"},
    {"frames", "mixing", "params", "randomness"},
    {"data"},
    {"ownership", "engine"},
    {"chunks"},
    {"features"},
    {"kernels"},
    {"gram", "losses"},
    {"solvers"},
    {"rkhs"},
    {"search"},
    {"models", "stats"},
    {"explain", "tuning"},
    {"io", "plots", "readers", "tables"},
    {"lab", "reports"},
    {"cli", "testing"},
    {"__main__"},
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
ASKED = {"isinstance", "issubclass", "type"}
PACKAGES = """
    chunks explain gram io kernels losses models plots readers reports rkhs solvers stats
    tables testing tuning
"""


def imports(path):
    """(room, line) of what a file imports from the library when it is itself imported."""
    inside = path.relative_to(LIBRARY).parts[:-1]
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            above = list(inside[: len(inside) - (node.level - 1)])
            target = above + (node.module.split(".") if node.module else [node.names[0].name])
            yield target[0], node.lineno


def test_every_room_has_a_floor():
    rooms = {p.stem for p in LIBRARY.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert rooms - {"__init__"} == set(FLOOR)


def test_imports_go_down():
    wrong = []
    for path in LIBRARY.rglob("*.py"):
        room = path.relative_to(LIBRARY).with_suffix("").parts[0]
        if room == "__init__":
            continue
        for other, line in imports(path):
            if other in FLOOR and other != room and FLOOR[other] >= FLOOR[room]:
                wrong.append(f"{path.relative_to(LIBRARY)}:{line} imports {other}")
    assert not wrong


@pytest.mark.parametrize("name", PACKAGES.split())
def test_packages_list_their_names(name):
    package = getattr(mercer, name)
    assert package.__all__ == sorted(package.__all__)
    assert set(package.__all__) <= set(dir(package))
    for each in package.__all__:
        found = getattr(package, each)
        assert not isinstance(found, type(mercer)), f"{each} is a module"
        assert getattr(package, each) is found
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = package.nothing


def test_flat_names_are_those_of_the_packages():
    from mercer.kernels import Gaussian
    from mercer.models import SVC
    from mercer.stats import mmd

    assert (mercer.Gaussian, mercer.SVC, mercer.mmd) == (Gaussian, SVC, mmd)
    assert {"kernels", "plots", "SVC", "__version__"} <= set(dir(mercer))
    with pytest.raises(AttributeError, match="no attribute 'Gausian'") as raised:
        _ = mercer.Gausian
    assert (raised.value.name, raised.value.obj) == ("Gausian", mercer)  # for "Did you mean ...?"


def test_tests_mirror_the_library():
    """A folder of tests is one of the library, but for those of benchmarks."""
    tests = Path(__file__).parent
    folders = {p.parent.relative_to(tests) for p in tests.rglob("test_*.py")}
    gone = [str(f) for f in folders if not (LIBRARY / f).is_dir() and f.parts[0] != "benchmarks"]
    assert not gone


def test_nobody_asks_for_the_class_of_a_gram():
    """Solvers, models and statistics choose by the traits of an operator (``gram/base.py``)."""
    asked = []
    for path in LIBRARY.rglob("*.py"):
        if path.parent.name == "gram":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            question = isinstance(node, ast.Call) and getattr(node.func, "id", "") in ASKED
            if question and any(word.endswith("Gram") for word in names(node)):
                asked.append(f"{path.relative_to(LIBRARY)}:{node.lineno}")
    assert not asked


def test_a_file_fits_in_the_head():
    """At 400 lines there is a second idea in it."""
    lines = {p: p.read_text(encoding="utf-8").count("\n") for p in LIBRARY.rglob("*.py")}
    long = {str(p.relative_to(LIBRARY)) for p, count in lines.items() if count > 400}
    assert long <= {"models/gp.py"}  # which is to be divided


def names(node):
    """All names and attributes in an expression."""
    found = [getattr(n, "id", None) or getattr(n, "attr", None) for n in ast.walk(node)]
    return [name for name in found if name]
