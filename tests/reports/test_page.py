import re

import numpy as np
import pytest

from mercer.reports.page import Report, Section, style


def luminance(colour):
    """As contrast is defined for the web."""
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(a, b):
    low, high = sorted(map(luminance, (a, b)))
    return (high + 0.05) / (low + 0.05)


def palette(dark):
    blocks = [dict(re.findall(r"--(\w+): (#\w{6})", part)) for part in style().split("@media")]
    return blocks[0] | (blocks[1] if dark else {})


@pytest.mark.parametrize("dark", [False, True])
def test_text_can_be_read_and_charts_can_be_seen(dark):
    colours = palette(dark)
    for name in ("ink", "soft", "link", "good", "warn", "bad"):
        for ground in ("paper", "panel"):
            assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)
    for hue in "0123456":
        assert contrast(colours[f"h{hue}"], colours["paper"]) >= 2.5, hue


def test_a_section_that_is_left_out_says_why(read):
    page = Report("Title & more", (Section("One", left_out="no <reason>."), Section("Two Three")))
    found = read(page.html)
    assert "Left out: no <reason>." in found.text
    assert [a["id"] for a in found.of("h2")] == ["one", "two-three"]
    assert any("Content-Security-Policy" in a.get("http-equiv", "") for a in found.of("meta"))


def test_cards_bring_only_the_style_they_need():
    assert "body.mercer" not in style(False)
    assert len(style(False)) < 0.75 * len(style())
