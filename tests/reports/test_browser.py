"""Pages as Chromium shows them: nothing sticks out, nothing is fetched, text can be read."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from matplotlib.image import imread

from mercer import Gaussian, KernelRidge, report, two_sample_test

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--hide-scrollbars",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-dev-shm-usage",
]
MEASURE = """
<iframe id=page src="{page}" style="width:{width}px;height:800px;border:0"></iframe>
<script>onload = () => {{
  const inside = document.getElementById("page").contentDocument;
  const root = inside.documentElement, wide = root.clientWidth;
  const out = [...inside.querySelectorAll("body *")].filter(e => {{
    if (e.closest("pre, .scroll, svg, math, .equation, .skip")) return false;
    const box = e.getBoundingClientRect();
    return box.width > 0 && (box.right > wide + 1 || box.left < -1);
  }}).map(e => e.tagName + "." + e.className);
  const levels = [...inside.querySelectorAll("h1, h2, h3")].map(e => e.tagName[1]).join("");
  const stops = inside.querySelectorAll("a[href], summary, [tabindex='0']").length;
  const found = {{scroll: root.scrollWidth, wide: wide, out: out, levels: levels, stops: stops,
    fetched: inside.defaultView.performance.getEntriesByType("resource").length,
    font: inside.defaultView.getComputedStyle(inside.querySelector("main p")).fontSize}};
  document.body.innerHTML = "<pre id=found>" + JSON.stringify(found) + "</pre>";
}}</script>
"""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed"),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A report with difficult names."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    names = ["x" * 200, "<script>document.title='broken'</script>", "two words", "Größe"]
    X = pd.DataFrame(rng.normal(size=(80, 4)), columns=names)
    y = X.iloc[:, 0].to_numpy() + 0.1 * rng.normal(size=80)
    path = tmp_path_factory.mktemp("pages") / "page.html"
    model = KernelRidge(0.1, kernel=Gaussian(1.0))
    report(model, X[:60], y[:60], test=(X[60:], y[60:]), max_rows=60).save(path)
    return path


def browse(folder, *arguments):
    command = [BROWSER, *FLAGS, f"--user-data-dir={folder / 'profile'}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def measured(folder, page, width):

    from html import unescape

    wrapper = folder / "measure.html"
    wrapper.write_text(MEASURE.format(page=page.as_uri(), width=width), encoding="utf-8")
    options = ("--allow-file-access-from-files", "--virtual-time-budget=4000", "--dump-dom")
    dom = browse(folder, *options, wrapper.as_uri())
    return json.loads(unescape(re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)[1]))


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_sticks_out(page, tmp_path, width):
    found = measured(tmp_path, page, width)
    assert found["scroll"] <= found["wide"]
    assert found["out"] == []
    assert found["levels"].startswith("12")  # headings begin at one, and skip no level
    assert "13" not in found["levels"]
    assert found["fetched"] == 0
    assert found["stops"] > 14
    assert float(found["font"].removesuffix("px")) >= 14


@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_on_a_model_of_a_table(tmp_path, width):
    """With the map of its search and its influential rows, labels and names being long."""
    pd = pytest.importorskip("pandas")
    from mercer.tables import TableClassifier

    rng = np.random.default_rng(0)
    X = pd.DataFrame({"w" * 60: rng.normal(size=60), "city": rng.choice(["Rome", "Ulm"], 60)})
    y = np.where(X.iloc[:, 0] + (X["city"] == "Rome") > 0.5, "a long label " * 4, "no")
    path = tmp_path / "table.html"
    report(TableClassifier(budget=1).fit(X, y), X, y, budget=20, max_rows=60, cv=2).save(path)
    found = measured(tmp_path, path, width)
    assert found["out"] == []
    assert found["scroll"] <= found["wide"]


def test_no_script_runs(page, tmp_path):
    dom = browse(tmp_path, "--dump-dom", page.as_uri())
    assert "<title>broken</title>" not in dom
    assert "KernelRidge on 60 rows" in dom


@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark(page, tmp_path, dark):
    shot = tmp_path / "shot.png"
    options = ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] if dark else []
    browse(tmp_path, *options, "--window-size=900,900", f"--screenshot={shot}", page.as_uri())
    pixels = imread(shot)[..., :3]
    corner = float(pixels[3, 3].mean())
    assert corner < 0.15 if dark else corner > 0.95
    assert pixels.std() > 0.03  # there is something to see


def test_a_page_can_be_printed(page, tmp_path):
    paper = tmp_path / "page.pdf"
    browse(tmp_path, f"--print-to-pdf={paper}", page.as_uri())
    assert paper.read_bytes().startswith(b"%PDF")


def test_results_of_tests(tmp_path):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(50, 3)), rng.normal(size=(60, 3)) + 1
    path = tmp_path / "test.html"
    report(two_sample_test(X, Y, rng=0, n_permutations=99), X, Y).save(path)
    assert measured(tmp_path, path, 390)["out"] == []
