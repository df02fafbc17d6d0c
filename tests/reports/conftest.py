"""Pages, read as a browser would: elements in balance, and all text."""

from html.parser import HTMLParser

import numpy as np
import pytest

from mercer import Gaussian, KernelRidge

VOID = {"meta", "img", "br", "hr"}


class Page(HTMLParser):
    """The elements of a page, each closed where it should be."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.text, self.wrong = [], [], "", []
        self.feed(html)
        self.close()
        if self.open:
            self.wrong.append(f"{self.open} not closed")

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data

    def names(self):
        return {tag for tag, _ in self.elements}

    def of(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


@pytest.fixture
def read():
    """A page read, after what all pages have to fulfil was checked."""

    def check(html):
        page = Page(html)
        assert page.wrong == []
        assert not page.names() & {"script", "link", "object", "embed"}
        assert not [a for _, attrs in page.elements for a in attrs if a.startswith("on")]
        for _, attrs in page.elements:
            for name in ("src", "href"):
                assert attrs.get(name, "#").startswith(("#", "data:image/png;base64,"))
        assert all(attrs.get("aria-label") for attrs in page.of("svg") if "role" in attrs)
        assert all(attrs.get("alt") for attrs in page.of("img"))
        return page

    return check


@pytest.fixture
def wave():
    """Two columns, of which the first makes a wave, and the second nothing."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (90, 2))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=90)


@pytest.fixture
def ridge():
    return KernelRidge(0.1, kernel=Gaussian(1.0))
