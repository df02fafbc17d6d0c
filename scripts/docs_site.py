"""Put the documentation that was just built beside those of other versions.

``python scripts/docs_site.py SITE URL`` copies ``docs/_build/html`` to ``SITE/<version>``, lists
it in ``SITE/versions.json``, which the switcher of every version reads, and lets
``SITE/index.html`` lead to the newest release. SITE is what the web server shows at URL; build
with ``MERCER_DOCS_URL=URL``.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

_BUILT = Path(__file__).resolve().parents[1] / "docs" / "_build" / "html"
_FINAL = re.compile(r"\d+(\.\d+)*")
_INDEX = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>mercer</title>
<meta http-equiv="refresh" content="0; url={version}/">
<p><a href="{version}/">mercer {version}</a></p></html>
"""


def order(version: str) -> tuple[bool, list[int], str]:
    """Releases by their numbers, and development versions before them."""
    numbers = [int(n) for n in re.findall(r"\d+", version)]
    return _FINAL.fullmatch(version) is not None, numbers, version


def publish(built: Path, site: Path, url: str, version: str) -> list[dict[str, object]]:
    """Copy, list, and lead to the newest; returns the list."""
    site.mkdir(parents=True, exist_ok=True)
    place = site / version
    if place.exists():
        shutil.rmtree(place)
    shutil.copytree(built, place)
    known = sorted(
        (p.name for p in site.iterdir() if (p / "index.html").is_file()), key=order, reverse=True
    )
    newest = known[0]
    listed: list[dict[str, object]] = []
    for name in known:
        entry: dict[str, object] = {"version": name, "url": f"{url.rstrip('/')}/{name}/"}
        if name == newest:
            entry |= {"name": f"{name} (newest)", "preferred": True}
        listed.append(entry)
    (site / "versions.json").write_text(json.dumps(listed, indent=2) + "\n", encoding="utf-8")
    (site / "index.html").write_text(_INDEX.format(version=newest), encoding="utf-8")
    return listed


def main(site: str, url: str, version: str | None = None) -> None:
    """Publish what ``make docs`` has built."""
    if version is None:
        import mercer

        version = mercer.__version__
    for entry in publish(_BUILT, Path(site), url, version):
        print(entry["url"])


if __name__ == "__main__":
    main(*sys.argv[1:])
