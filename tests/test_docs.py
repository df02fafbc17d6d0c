"""What the documentation shows is what the library does: every ``>>>`` in it is run here."""

import doctest
import os
import pkgutil
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import mercer
from mercer.kinds import _KINDS, registered

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted(
    page
    for pattern in (
        "*.rst",
        "*.md",
        "tutorials/*.rst",
        "guide/*.rst",
        "guide/*/*.rst",
        "coming_from/*.rst",
    )
    for page in (ROOT / "docs").glob(pattern)
    if ">>> " in page.read_text(encoding="utf-8")
)
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def run(text, name):
    """Run the interactive sessions in a text; what differs, as doctest prints it."""
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, name, name, 0)
    report = []
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    known = {kind.name for kind in registered()}
    runner.run(test, out=report.append)
    for name in _KINDS.keys() - known:  # kinds of data that a page has registered
        del _KINDS[name]
    assert test.examples, f"{name} holds no session"
    return "".join(report)


def code_blocks(text):
    """The Python blocks of a Markdown file."""
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def test_readme_blocks_run():
    blocks = code_blocks((ROOT / "README.md").read_text(encoding="utf-8"))
    assert blocks
    assert run("\n".join(blocks), "README.md") == ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_runs(page):
    assert run(page.read_text(encoding="utf-8"), page.name) == ""


@pytest.mark.peer
@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs" / "coming_from").glob("*.rst")), ids=lambda page: page.stem
)
def test_code_of_other_libraries_runs(page):
    """What a page shows of another library is run where that library is installed."""
    pattern = r"^\.\. code-block:: python\n   :class: peer-(\w+)\n\n((?:   .*\n|\n)+)"
    blocks = re.findall(pattern, page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if not blocks:
        pytest.skip("shows no code that can be run")
    for library, code in blocks:
        pytest.importorskip(library)
        exec(compile(textwrap.dedent(code), page.name, "exec"), {"__name__": "__main__"})


def test_no_output_depends_on_how_numpy_prints_its_numbers():
    """From NumPy 2 on, scalars print as np.float64(0.5) or np.True_."""
    scalar = re.compile(r"^\s*[(\[]?np\.(\w+_\b|\w+\d+\()", re.MULTILINE)
    pages = [*PAGES, ROOT / "README.md"]
    assert [page.name for page in pages if scalar.search(page.read_text(encoding="utf-8"))] == []
    assert scalar.search("(np.True_, np.False_)\n")
    assert scalar.search("  np.float64(0.5)\n")


def test_all_tutorials_are_run():
    assert len([page for page in PAGES if page.parent.name == "tutorials"]) == 4


def test_a_wrong_output_is_found():
    assert "Expected" in run(">>> 1 + 1\n3\n", "wrong")


def test_links_between_files_hold():
    broken = []
    for page in [*ROOT.glob("*.md"), ROOT / "docs" / "architecture.md"]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
            if not (page.parent / target).exists():
                broken.append(f"{page.name}: {target}")
    assert not broken


def test_architecture_maps_every_file():
    """Every file of the library is on the map, and every file on the map exists."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = text.split("## File map")[1].split("\n## ")[0]
    folder, mapped = "", set()
    for row in re.findall(r"^\| (.*?) \|", section, flags=re.MULTILINE):
        if row.startswith("**"):
            folder = row.strip("*`")
        mapped |= {folder + name for name in re.findall(r"`([\w.]+\.py)`", row)}
    library = ROOT / "src" / "mercer"
    files = {
        path.relative_to(library).as_posix()
        for path in library.rglob("*.py")
        if path.name != "__init__.py" or path.parent == library
    }
    assert not mapped - files, f"on the map, but gone: {sorted(mapped - files)}"
    assert not files - mapped, f"add to the file map: {sorted(files - mapped)}"


def test_the_guide_leads_to_every_picture():
    """Every page of the gallery is linked from the guide, a tutorial or the front page."""
    pages = (ROOT / "docs").rglob("*.rst")
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    lost = [script.name for script in EXAMPLES if f"auto_examples_{script.name}" not in text]
    assert not lost, f"no page of the guide has a link to {lost}"


def test_reference_lists_every_public_name():
    listed = set((ROOT / "docs" / "api" / "index.rst").read_text(encoding="utf-8").split())
    missing = set(mercer.__all__) - {"__version__"} - listed
    assert not missing, f"add to docs/api/index.rst: {sorted(missing)}"


def test_names_of_the_reference_exist():
    """Every name that docs/api/index.rst lists can be imported."""
    text = (ROOT / "docs" / "api" / "index.rst").read_text(encoding="utf-8")
    module, gone = "mercer", []
    for block in re.split(r"^\.\. (?=currentmodule|autosummary)", text, flags=re.MULTILINE):
        if block.startswith("currentmodule"):
            module = block.split()[1]
        elif block.startswith("autosummary"):
            for name in re.findall(r"^   (\w[\w.]*)$", block, flags=re.MULTILINE):
                home, _, last = f"{module}.{name}".rpartition(".")
                try:
                    owner = pkgutil.resolve_name(home)
                except ImportError:
                    owner = None
                if not hasattr(owner, last):
                    gone.append(f"{home}.{last}")
    assert not gone


@pytest.mark.slow
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_example_runs(script):
    environment = {**os.environ, "MPLBACKEND": "agg", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", str(script)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
