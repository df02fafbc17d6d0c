"""What a newcomer does with an installed mercer: run by ``release_check.py`` in bare environments.

The README's session, files of earlier versions, a table from the command line.
"""

import doctest
import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

from sklearn.datasets import load_diabetes

import mercer

FILES = Path(sys.argv[1])  # a folder with README.md and stored models
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def command(*arguments: str) -> None:
    """Run ``mercer`` in the folder."""
    program = Path(sys.executable).with_name("mercer")
    subprocess.run([program, *arguments], cwd=FILES, check=True, stdout=subprocess.DEVNULL)


source = Path(mercer.__file__)
assert "site-packages" in source.parts, f"{source} is not the installed copy"
assert importlib.metadata.version("mercer") == mercer.__version__
assert source.with_name("py.typed").exists()

readme = (FILES / "README.md").read_text(encoding="utf-8")
blocks = re.findall(r"^```python\n(.*?)^```", readme, flags=re.DOTALL | re.MULTILINE)
session = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "README.md", None, 0)
assert doctest.DocTestRunner(optionflags=FLAGS).run(session).failed == 0

for stored in sorted(FILES.glob("*-0.*.zip")):
    model = mercer.load(stored)
    assert repr(model).startswith(type(model).__name__)

load_diabetes(as_frame=True).frame.to_csv(FILES / "diabetes.csv", index=False)
command("fit", "diabetes.csv", "--target", "target", "--quiet")
command("predict", "diabetes.mercer", "diabetes.csv", "--out", "predictions.csv")
assert len((FILES / "predictions.csv").read_text(encoding="utf-8").splitlines()) == 443
