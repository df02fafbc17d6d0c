"""Durations in words and from words."""

import pytest

from mercer.engine.durations import duration_words, parse_duration


@pytest.mark.parametrize(
    ("given", "seconds"),
    [(3, 3.0), ("3 s", 3.0), ("2min", 120.0), ("1.5 hours", 5400.0), ("2 days", 172_800.0)],
)
def test_from_words(given, seconds):
    assert parse_duration(given) == seconds


@pytest.mark.parametrize("given", ["", "min", "3 weeks", "1..2 s"])
def test_what_is_no_duration(given):
    with pytest.raises(ValueError, match="a duration is"):
        parse_duration(given)


def test_in_words():
    assert duration_words(0.25) == "250 ms"
    assert duration_words(float("inf")) == "for ever"
    assert duration_words(1e7) == "116 days"
