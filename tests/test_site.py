"""The site: links of built pages are checked, versions lie side by side."""

import importlib.util
import json
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"


def script(name):
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(folder, pages):
    for name, body in pages.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"<!doctype html><html><body>{body}</body></html>")


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ('<a href="b.html#there">', None),
        ('<a href="sub/">', None),
        ('<a href="#here" id="here">', None),
        ('<a href="https://example.org/x#y">', None),
        ('<a href="mailto:a@example.org">', None),
        ('<img src="data:image/png;base64,AA">', None),
        ('<a href="gone.html">', "leads nowhere"),
        ('<img src="gone.png">', "leads nowhere"),
        ('<a href="b.html#gone">', "no such anchor"),
        ('<a href="#gone">', "no such anchor"),
        ('<a href="/b.html">', "root of the server"),
        ('<a href="http://example.org">', "not https"),
    ],
)
def test_links_are_checked(link, words, tmp_path, capsys):
    check = script("check_links")
    b = '<h1 id="there">'
    theme = {"_static/t.html": "<a href=x>"}
    write(tmp_path, {"a.html": link, "b.html": b, "sub/index.html": ""} | theme)
    found = list(check.broken(tmp_path))
    assert len(found) == (words is not None)
    assert not words or (words in found[0] and found[0].startswith("a.html: "))
    assert check.main(str(tmp_path)) == (words is not None)
    assert f"{len(found)} broken links" in capsys.readouterr().out


def test_nothing_built_is_an_error(tmp_path):
    assert "make docs" in next(script("check_links").broken(tmp_path))


def test_versions_lie_side_by_side(tmp_path):
    site = script("docs_site")
    write(tmp_path / "built", {"index.html": "one"})
    for version in ("0.2.0", "0.10.0", "0.11.0.dev0"):
        listed = site.publish(tmp_path / "built", tmp_path / "site", "https://host/m/", version)
    assert [entry["version"] for entry in listed] == ["0.10.0", "0.2.0", "0.11.0.dev0"]
    assert listed[0] == {
        "version": "0.10.0", "name": "0.10.0 (newest)", "url": "https://host/m/0.10.0/",
        "preferred": True,
    }  # fmt: skip
    assert json.loads((tmp_path / "site" / "versions.json").read_text()) == listed
    assert "url=0.10.0/" in (tmp_path / "site" / "index.html").read_text()
    write(tmp_path / "built", {"index.html": "two"})
    (tmp_path / "site" / "0.10.0" / "stale.html").write_text("")
    site.publish(tmp_path / "built", tmp_path / "site", "https://host/m", "0.10.0")
    assert "two" in (tmp_path / "site" / "0.10.0" / "index.html").read_text()
    assert not (tmp_path / "site" / "0.10.0" / "stale.html").exists()
