import pytest

from mercer.reports.markup import Html, number, short, table, tag, text, visible


def test_what_comes_from_data_is_escaped_once():
    assert text("<b>&\"'") == "&lt;b&gt;&amp;&quot;&#x27;"
    assert text(text("<b>")) == "&lt;b&gt;"
    assert tag("p", "<i>", Html("<i>x</i>")) == "<p>&lt;i&gt;<i>x</i></p>"
    assert tag("a", href='"><script>') == '<a href="&quot;&gt;&lt;script&gt;"></a>'
    assert Html("<i>") + "<" == "<i>&lt;"


def test_hidden_characters_are_spelled_out():
    assert visible("a\x1b[31m\u202eb\ud800") == "a\\x1b[31m\\u202eb\\ud800"
    assert visible("Köln\t\n") == "Köln\t\n"
    text("a\ud800b").encode()  # can be written to a file


def test_names_are_short_and_on_one_line():
    assert short("a\n  b\tc") == "a b c"
    assert len(short("x" * 10_000)) == 60


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (12345, "12,345"),
        (0.123456, "0.1235"),
        (-2.5, "−2.5"),
        (1e-9, "1.00·10⁻⁹"),
        (-3e20, "−3.00·10²⁰"),
        (123456.7, "123,457"),
        (float("nan"), "–"),
        (float("-inf"), "−∞"),
        (True, "yes"),
        (None, ""),
    ],
)
def test_numbers_as_people_write_them(value, shown):
    assert number(value) == shown


def test_tables_have_headers_for_rows_and_columns(read):
    page = read(table("Two & two", ["a", "<b>"], [["x", 1], ["y", 2]]))
    assert [a.get("scope") for a in page.of("th")] == ["col", "col", "row", "row"]
    assert page.text == "Two & twoa<b>x1y2"
