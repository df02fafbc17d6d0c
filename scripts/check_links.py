"""Are all links of the built documentation whole? Pages, anchors, pictures; without the network.

``make docs-links``, or ``python scripts/check_links.py docs/_build/html``. Links to other sites are
not followed, but counted, and must be https.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LINKS = {"a": "href", "link": "href", "img": "src", "script": "src", "source": "src"}
_SKIPPED = {"mailto", "data", "javascript", "tel"}


class Page(HTMLParser):
    """The anchors of a page, and what it links to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep ids, names of anchors, and targets."""
        found = dict(attrs)
        self.anchors |= {v for k in ("id", "name") if (v := found.get(k))}
        target = found.get(_LINKS.get(tag, ""))
        if target:
            self.links.append(target)


def broken(folder: Path) -> Iterator[str]:
    """What is wrong, a line each."""
    pages = {
        path.resolve(): Page(path.read_text(encoding="utf-8"))
        for path in folder.rglob("*.html")
        if "_static" not in path.relative_to(folder).parts  # templates of the theme
    }
    if not pages:
        yield f"{folder} holds no pages: build them with make docs"
    for path, page in pages.items():
        here = path.relative_to(folder.resolve())
        for link in dict.fromkeys(page.links):
            parts = urlsplit(link)
            if parts.scheme in _SKIPPED:
                continue
            if parts.scheme or parts.netloc:
                if parts.scheme not in ("https", ""):
                    yield f"{here}: {link} is not https"
                continue
            if link.startswith("/"):
                yield f"{here}: {link} starts at the root of the server"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                yield f"{here}: {link} leads nowhere"
            elif parts.fragment and target in pages:
                anchor = unquote(parts.fragment)
                if anchor not in pages[target].anchors:
                    yield f"{here}: {link} has no such anchor"


def main(folder: str = "docs/_build/html") -> int:
    """Print what is broken; the exit code says whether anything is."""
    found = sorted(broken(Path(folder)))
    print(*found, sep="\n", end="\n" * bool(found))
    print(f"{len(found)} broken links in {sum(1 for _ in Path(folder).rglob('*.html'))} pages")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
