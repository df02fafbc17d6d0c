"""Is it fit to be released? ``make release-check``.

Builds the wheel and the source distribution, looks inside, installs them into bare environments
(every Python from 3.11 on that is found, the newest and the lowest versions of what mercer needs),
and does there what a newcomer does (``newcomer.py``).
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def run(*command: object, **options: object) -> None:
    """Run a command; what it printed is shown only if it fails."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def starts(interpreter: str) -> bool:
    """Whether there is such an interpreter."""
    found = shutil.which(interpreter)
    return found is not None and not subprocess.run([found, "-V"], capture_output=True).returncode


def environment(python: str, folder: Path) -> Path:
    """A bare environment; its interpreter."""
    run(python, "-m", "venv", folder)
    return folder / "bin" / "python"


def build(folder: Path) -> tuple[Path, Path]:
    """The wheel and the source distribution, made from a clean copy of what git knows."""
    copy = folder / "source"
    copy.mkdir()
    known = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(copy)], input=known.stdout, check=True)
    python = environment(sys.executable, folder / "build")
    run(python, "-m", "pip", "install", "--quiet", "build", "twine")
    run(python, "-m", "build", "--outdir", folder / "dist", copy)
    wheel, sdist = (next((folder / "dist").glob(end)) for end in ("*.whl", "*.tar.gz"))
    run(python, "-m", "twine", "check", "--strict", wheel, sdist)
    return wheel, sdist


def look_inside(wheel: Path, sdist: Path) -> None:
    """Everything of the library, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(n for n in names if n.endswith("METADATA"))).decode()
    expected = {
        f"mercer/{p.relative_to(ROOT / 'src' / 'mercer').as_posix()}"
        for p in (ROOT / "src" / "mercer").rglob("*")
        if p.is_file() and "__pycache__" not in p.parts
    }
    inside = {n for n in names if ".dist-info/" not in n}
    assert inside == expected, f"in one place only: {sorted(inside ^ expected)}"
    for line in (r"License-Expression: BSD-3-Clause", r"Requires-Python: >=3\.11"):
        assert re.search(f"^{line}$", metadata, flags=re.MULTILINE), line
    with tarfile.open(sdist) as archive:
        inside_source = {Path(n).name for n in archive.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml"} <= inside_source
    print(f"{wheel.name}: {len(names)} files, {wheel.stat().st_size / 2**20:.1f} MB")


def main() -> None:
    """Build, look, install, use."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", action="append", help="only these versions, such as 3.12")
    wanted = parser.parse_args().python or PYTHONS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel, sdist = build(folder)
        look_inside(wheel, sdist)
        lowest = ("-c", ROOT / "tests" / "lowest.txt")
        trials = [(version, wheel, ()) for version in wanted]
        trials += [(wanted[0], sdist, ()), (wanted[0], wheel, lowest)]
        for number, (version, archive, limits) in enumerate(trials):
            what = f"Python {version}, {archive.suffix[1:]}{', lowest versions' if limits else ''}"
            interpreter = f"python{version}"
            if not starts(interpreter):
                print(f"{what}: no such interpreter here, left out")
                continue
            files = folder / f"user-{number}"
            files.mkdir()
            for each in (ROOT / "README.md", *(ROOT / "tests" / "io" / "files").iterdir()):
                shutil.copy(each, files)
            python = environment(interpreter, folder / f"env-{number}")
            run(python, "-m", "pip", "install", "--quiet", *limits, f"{archive}[table]")
            run(python, ROOT / "scripts" / "newcomer.py", files, cwd=files)
            print(f"{what}: works", flush=True)
            shutil.rmtree(folder / f"env-{number}")


if __name__ == "__main__":
    main()
