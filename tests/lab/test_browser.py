"""The page in a real browser: pointer, keyboard, links, narrow screens, and no complaints."""

import subprocess
import sys
import threading

import pytest

from mercer.lab.presets import PRESETS
from mercer.lab.server import LabServer
from mercer.lab.views import VIEWS
from mercer.lab.worker import Worker

from .webdriver import CHROMIUM, DRIVER, Browser

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (DRIVER and CHROMIUM), reason="Chromium and its driver are needed"),
]
DESKTOP, PHONE = (1280, 900), (390, 844)


@pytest.fixture(scope="module")
def lab():
    worker = Worker()
    server = LabServer(worker)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server.url
    server.shutdown()
    server.server_close()
    thread.join(5)
    worker.stop()


@pytest.fixture(scope="module")
def browser():
    made = Browser(*DESKTOP)
    yield made
    made.quit()


@pytest.fixture
def page(browser, lab):
    """Opens a picture, and waits until it is drawn."""

    def opened(fragment, on=browser):
        on.go("about:blank")
        on.go(f"{lab}#{fragment}")
        settle(on)
        return on

    yield opened
    assert browser.logs() == []


def settle(browser):
    """Wait until the newest request has been answered, and the link says so."""
    browser.until("document.documentElement.dataset.linked > 0")
    browser.until(
        "document.documentElement.dataset.linked === document.documentElement.dataset.answered"
    )


def after(browser, act):
    """Do something, and wait for the picture that follows."""
    old = browser.run("return Number(document.documentElement.dataset.answered)")
    act()
    browser.until("Number(document.documentElement.dataset.answered) > arguments[0]", old)
    settle(browser)


def fact(browser, name):
    return browser.run(
        "return [...document.querySelectorAll('.facts div')].find("
        "(e) => e.querySelector('dt').textContent === arguments[0])"
        "?.querySelector('.dd').textContent", name,
    )  # fmt: skip


def text(browser, selector):
    return browser.run("return document.querySelector(arguments[0]).textContent", selector)


def points(browser):
    """Centres of the points, in pixels of the window."""
    return browser.run(
        "return [...document.querySelectorAll('.point')].map((e) => {"
        "const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })"
    )


def place(browser, x, y):
    """Where a point of the plane is in the window."""
    left, top, width, height = browser.run(
        "const r = document.querySelector('.editable .axes .box').getBoundingClientRect();"
        "return [r.x, r.y, r.width, r.height]"
    )
    return left + width * (x + 4) / 8, top + height * (3 - y) / 6


def choose(browser, selector, value):
    browser.run(
        "const e = document.querySelector(arguments[0]); e.value = arguments[1];"
        "e.dispatchEvent(new Event(e.type === 'range' || e.tagName !== 'SELECT' ? 'input' : "
        "'change', {bubbles: true}))", selector, value,
    )  # fmt: skip


# ---- every view, wide and narrow, light and dark ---------------------------------------------
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_every_tab_is_drawn_and_fits(lab, size, dark):
    browser = Browser(*size, dark=dark)
    try:
        browser.go(lab)
        settle(browser)
        for name, view in VIEWS.items():
            if browser.run("return document.getElementById(arguments[0]).ariaSelected",
                           f"tab-{name}") != "true":  # fmt: skip
                click = "document.getElementById(arguments[0]).click()"
                after(browser, lambda n=name, c=click: browser.run(c, f"tab-{n}"))
            assert text(browser, "h1") == view.title
            assert "bad" not in browser.run("return document.getElementById('note').className")
            assert browser.run("return document.querySelectorAll('.panel').length") >= 1
            assert fact(browser, "nothing") is None
            assert browser.run("return document.querySelectorAll('.facts div').length") >= 1
            wide = "return document.documentElement.scrollWidth - window.innerWidth"
            assert browser.run(wide) <= 0, name
        ground = browser.run("return getComputedStyle(document.documentElement).backgroundColor")
        light = sum(map(int, ground[4:-1].split(","))) > 380
        assert light != dark
        assert browser.logs() == []
        origins = "return performance.getEntriesByType('resource').map((e) => e.name)"
        assert all(name.startswith(lab) for name in browser.run(origins))
    finally:
        browser.quit()


@pytest.mark.parametrize("given", PRESETS, ids=lambda p: p.name)
def test_every_preset_is_a_link(page, given):
    browser = page(f"preset={given.name}")
    assert text(browser, "h1") == VIEWS[given.view].title
    assert browser.run("return document.getElementById('presets').value") == given.name
    assert text(browser, "#kernel-error") == ""
    assert text(browser, "#python").startswith("import numpy")
    assert text(browser, "#words").startswith("k = ")
    drawn = "return document.querySelector('#formula math').getBoundingClientRect().width"
    assert browser.run(drawn) > 20
    assert browser.run("return location.hash") == f"#preset={given.name}"


# ---- pointer -------------------------------------------------------------------------------
def test_points_are_placed_moved_and_removed_by_pointer(page):
    browser = page("preset=hard-margin")
    assert len(points(browser)) == 24
    after(browser, lambda: browser.drag(place(browser, 0.1, -2.5)))
    assert len(points(browser)) == 25
    assert fact(browser, "errors") == "0"
    margin = fact(browser, "margin")
    start, end = place(browser, 0.1, -2.5), place(browser, -2.5, -2.0)
    after(browser, lambda: browser.drag(start, place(browser, -1, -2.2), end))
    moved = points(browser)[-1]
    assert abs(moved[0] - end[0]) < 2
    assert abs(moved[1] - end[1]) < 2
    assert fact(browser, "margin") == margin  # it is not near the boundary
    start, end = end, place(browser, 0.5, -0.1)
    after(browser, lambda: browser.drag(start, end))
    assert float(fact(browser, "margin")) < float(margin)
    after(browser, lambda: browser.drag(end, button=2))
    assert len(points(browser)) == 24
    after(browser, lambda: browser.run("[...document.querySelectorAll('#tools button')].find("
                                       "(b) => b.textContent === 'Undo').click()"))  # fmt: skip
    assert len(points(browser)) == 25


def test_a_sample_is_sprayed(page):
    browser = page("view=two_samples&kernel=Gaussian(1.0)")
    assert "2 classes" in text(browser, "#note")
    for label, x in ((0, -2), (1, 2)):
        browser.run("document.querySelector(`#tools button[aria-label='Class ${arguments[0]}']`)"
                    ".click()", label)  # fmt: skip
        browser.run("document.querySelector(\"#tools button[aria-label^='Draw']\").click()")
        for y in (-1, 0, 1):
            after(browser, lambda x=x, y=y: browser.drag(place(browser, x, y)))
    assert len(points(browser)) == 6
    assert fact(browser, "sizes") == "3, 3"


# ---- keyboard ------------------------------------------------------------------------------
def test_points_are_placed_moved_and_removed_by_keyboard(page):
    browser = page("preset=hard-margin")
    browser.run("document.getElementById('skip').focus()")
    browser.press("Enter")
    active = "return document.activeElement.getAttribute('aria-label')"
    assert "24 points" in browser.run(active)
    after(browser, lambda: browser.press("Shift+Left", "Shift+Left", "Up", "Enter"))
    assert len(points(browser)) == 25
    assert "25 points" in text(browser, "#live")
    cross = place(browser, -1.0, 0.05)
    assert max(abs(a - b) for a, b in zip(points(browser)[-1], cross, strict=True)) < 2
    browser.press("p")
    assert "Point 25 of 25" in text(browser, "#live")
    after(browser, lambda: browser.press("Shift+Left"))
    assert max(abs(a - b) for a, b in
               zip(points(browser)[-1], place(browser, -1.5, 0.05), strict=True)) < 2  # fmt: skip
    after(browser, lambda: browser.press("1"))
    assert "selected" in browser.run(
        "return document.querySelectorAll('.h1.point')[12].className.baseVal"
    )
    after(browser, lambda: browser.press("Delete"))
    assert len(points(browser)) == 24
    after(browser, lambda: browser.press("Control+z"))
    assert len(points(browser)) == 25


def test_tabs_and_focus_go_by_keyboard(page):
    browser = page("preset=margins")
    browser.run("document.getElementById('tab-classify').focus()")
    after(browser, lambda: browser.press("Right"))
    assert text(browser, "h1") == "Regress"
    assert browser.run("return document.activeElement.id") == "tab-regress"
    after(browser, lambda: browser.press("End"))
    assert text(browser, "h1") == "Digits"
    seen, outlined = [], []
    for _ in range(8):
        browser.press("Tab")
        seen.append(
            browser.run("return document.activeElement.id || document.activeElement.tagName")
        )
        outlined.append(browser.run("return getComputedStyle(document.activeElement).outlineStyle"))
    assert seen.index("theme") < seen.index("presets") < seen.index("kernel")
    assert all(style != "none" for style in outlined)


def test_everything_that_can_be_used_has_a_name(page):
    nameless = """
        return [...document.querySelectorAll('button, select, input, textarea, svg[tabindex]')]
          .filter((e) => e.offsetParent !== null || e.tagName === 'svg')
          .filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim()
            || [...(e.labels || [])].some((l) => l.textContent.trim())))
          .map((e) => e.outerHTML.slice(0, 80))
    """
    for name in ("margins", "gp", "xor-space", "k-mers", "denoising"):
        assert page(f"preset={name}").run(nameless) == []


# ---- kernels and options -------------------------------------------------------------------
def test_a_slider_moves_the_kernel_and_the_picture(page):
    browser = page("preset=radial")
    free = fact(browser, "margin")
    after(browser, lambda: choose(browser, "#parameters input", 300))
    written = browser.run("return document.getElementById('kernel').value")
    assert written.startswith("Gaussian(")
    assert written != "Gaussian(0.8)"
    assert fact(browser, "margin") != free
    assert (
        browser.run("return new URLSearchParams(location.hash.slice(1)).get('kernel')") == written
    )


def test_the_last_of_many_moves_is_what_is_shown(page):
    browser = page("preset=radial")
    moves = """
        const e = document.querySelector('#parameters input');
        for (let i = 100; i <= 300; i += 5) { e.value = i; e.dispatchEvent(new Event('input')); }
    """
    after(browser, lambda: browser.run(moves))
    last = browser.run("return document.querySelector('#parameters output').textContent")
    browser.until("document.getElementById('kernel').value === `Gaussian(${arguments[0]})`", last)
    shown = fact(browser, "margin")
    link = browser.run("return location.hash.slice(1)")
    assert fact(page(link), "margin") == shown


def test_a_kernel_is_typed_and_mistakes_are_explained(page):
    browser = page("preset=radial")
    browser.run("document.getElementById('kernel').focus()")
    after(browser, lambda: choose(browser, "#kernel", "Gausian(1)"))
    assert "did you mean Gaussian" in text(browser, "#kernel-error")
    assert browser.run("return document.getElementById('kernel').ariaInvalid") == "true"
    assert browser.run("return document.getElementById('kernel').value") == "Gausian(1)"
    after(browser, lambda: choose(browser, "#kernel", "Gaussian(0.5) + 0.1 * Linear()"))
    assert text(browser, "#kernel-error") == ""
    assert browser.run("return document.querySelectorAll('#parameters .control').length") == 2
    assert "+" in text(browser, "#formula math")
    assert "a sum of kernels is a kernel" in text(browser, "#words")


def test_options_appear_with_the_model_they_belong_to(page):
    browser = page("preset=good-fit")
    shown = ("return [...document.querySelectorAll('#options .control')].filter((e) => !e.hidden)"
             ".map((e) => e.querySelector('label').textContent[0])")  # fmt: skip
    assert browser.run(shown) == ["λ"]
    after(browser, lambda: choose(browser, "#options select", "svr"))
    assert browser.run(shown) == ["C", "ε"]
    assert "SVR(" in text(browser, "#python")


def test_space_turns_by_keyboard(page):
    browser = page("preset=xor-space")
    corner = "return document.querySelector('.plane3').getAttribute('d')"
    before = browser.run(corner)
    browser.run("document.querySelector('.turns').focus()")
    browser.press("Right", "Up")
    assert browser.run(corner) != before


# ---- strings, links, failures --------------------------------------------------------------
def test_strings_are_typed_and_stay_text(page):
    browser = page("preset=k-mers")
    typed = "<img src=x onerror=alert(1)>\n<img src=y>\n<b>bold</b>"
    after(browser, lambda: choose(browser, "#strings", typed))
    assert browser.run("return document.querySelectorAll('.stage img, .stage b').length") == 0
    assert "<im" in text(browser, ".pieces")
    assert fact(browser, "rank") == "3"
    link = browser.run("return location.hash.slice(1)")
    assert page(link).run("return document.getElementById('strings').value") == typed


def test_a_link_is_the_whole_picture(page):
    browser = page(
        "view=classify&kernel=Polynomial(2)&C=3.5&points=-1,0,0;-2,1,0;1,0,1;2,-1,1;0,2,0"
    )
    assert len(points(browser)) == 5
    assert browser.run("return document.getElementById('kernel').value") == "Polynomial(2)"
    margin = fact(browser, "margin")
    after(browser, lambda: browser.drag(place(browser, 3, -2)))
    link = browser.run("return location.hash.slice(1)")
    assert link.count(";") == 5
    again = page(link)
    assert len(points(again)) == 6
    assert fact(again, "margin") is not None
    assert margin is not None


@pytest.mark.parametrize(
    "fragment",
    ["preset=nothing", "view=nothing", "%%%", "view=classify&points=a,b,c;1,2;;NaN,1,0&C=-5",
     "view=clusters&count=1e9&kernel=%3Cscript%3E", "view=strings&strings=" + "x" * 2000],
)  # fmt: skip
def test_links_that_are_wrong_do_no_harm(page, fragment):
    browser = page(fragment)
    assert text(browser, "h1")
    assert browser.run("return document.querySelectorAll('script').length") == 1


def test_the_page_says_when_the_lab_is_gone(browser):
    start = "import sys; from mercer.cli.main import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-u", "-c", start, "lab", "--no-browser", "preset=margins"]
    gone = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        browser.go(gone.stdout.readline().split()[-1])
        settle(browser)
    finally:
        gone.terminate()
        gone.communicate(timeout=20)
    browser.drag(place(browser, 0, 0))
    browser.until("document.getElementById('note').textContent.includes('does not answer')")
    assert len(points(browser)) == 57  # nothing is lost
    browser.logs()  # which say that the connection failed
