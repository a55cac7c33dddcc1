"""Pages as a browser shows them: headless Chromium over trial, session, study and check, on a screen and on a phone."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.browser import Browser, browser, chromium
from support.made_folder import made_folder, two_by_two
from support.standards import Point, points

from biodyn.study import run_session
from biodyn.trial.inspection import write_check_page
from biodyn.trial.result_comparison import compare

pytestmark = pytest.mark.slow
SAMPLES = Path(__file__).parents[2] / "sample_data"
SCREEN, PHONE = (1200, 800), (390, 844)
PAGES = ("trial", "session", "study", "check", "compare")
AXE = "axe-core@4.10.2"
_CONTRAST = """(() => {
  const SKIP = ["SCRIPT", "STYLE", "OPTION"];
  const parse = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
  const light = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (node) => { for (let at = node; at; at = at.parentElement) {
    const c = parse(getComputedStyle(at).backgroundColor); if (c[3] === 1) { return c; } } return [255, 255, 255, 1]; };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !node.checkVisibility() || SKIP.includes(node.tagName)) { continue; }
    const own = node.closest("svg") ? getComputedStyle(node).fill : getComputedStyle(node).color;
    const [a, b] = [light(parse(own)), light(ground(node))].sort((p, q) => q - p), ratio = (a + 0.05) / (b + 0.05);
    const words = walker.currentNode.textContent.trim().slice(0, 40);
    if (ratio < 4.5) { found.push(`${ratio.toFixed(2)} ${node.tagName} ${node.getAttribute("class")}: ${words}`); }
  }
  return found;
})()"""
_CLIPPED = """[...document.querySelectorAll("table")].filter((one) => one.checkVisibility() && !one.closest(".scroll, .tall")
  && one.scrollWidth > one.parentElement.clientWidth + 1).map((one) => one.innerText.slice(0, 60))"""
_NAMELESS = """[...document.querySelectorAll("svg, img, canvas")].filter((one) => !one.closest("[aria-hidden=true]")
  && !(one.getAttribute("aria-label") || one.getAttribute("alt") || one.querySelector(":scope > title"))
  && !one.parentElement.closest("svg")).map((one) => one.outerHTML.slice(0, 80))"""
_OPENED = 'document.querySelectorAll("details").forEach((one) => { one.open = true; })'
_TOP = '{const one = document.querySelector(".cell[data-name=hip_flexion_moment]"); one.getBoundingClientRect().top + scrollY}'


@pytest.fixture(scope="module")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("chromium")) as page:
        yield page


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages of the sample data, by kind, and of a made study of two groups and conditions."""
    chromium()
    folder = tmp_path_factory.mktemp("pages")
    session = run_session(SAMPLES / "subject01", folder / "session", workers=1).folder
    study = made_folder(folder / "study", two_by_two())
    _, check = write_check_page(SAMPLES / "subject01" / "walk01.c3d", folder / "check")
    trial, other, *_ = sorted((session / "trials").rglob("report.html"))
    compared = compare(trial.parent, other.parent).save(folder / "compared") / "report.html"
    return {
        "trial": trial, "session": session / "report.html", "study": study / "report.html", "check": check, "compare": compared,
    }  # fmt: skip


@pytest.mark.parametrize("size", [SCREEN, PHONE], ids=["screen", "phone"])
@pytest.mark.parametrize("kind", PAGES)
def test_a_page_is_whole(chrome: Browser, pages: dict[str, Path], kind: str, size: tuple[int, int]) -> None:
    """No error, nothing asked for but the file, nothing wider than the window, readable, every picture described; all opened."""
    chrome.open(pages[kind], *size)
    chrome.run(_OPENED)
    assert chrome.run("document.documentElement.scrollWidth") <= size[0]
    assert chrome.run(_CLIPPED) == []
    assert chrome.run(_CONTRAST) == []
    assert chrome.run(_NAMELESS) == []
    assert chrome.console == []
    assert chrome.requests == [pages[kind].resolve().as_uri()]
    assert pages[kind].stat().st_size <= 1_500_000


@pytest.mark.parametrize("size", [SCREEN, PHONE], ids=["screen", "phone"])
def test_the_first_moment_curve_stands_within_two_screens(
    chrome: Browser, pages: dict[str, Path], size: tuple[int, int]
) -> None:
    chrome.open(pages["trial"], *size)
    assert chrome.run(_TOP) <= 2 * size[1]
    assert chrome.run('document.querySelector("#scene canvas").getBoundingClientRect().top') <= size[1]


@pytest.mark.parametrize("kind", ["trial", "check"])
def test_the_scene_moves_and_the_cursor_with_it(chrome: Browser, pages: dict[str, Path], kind: str) -> None:
    chrome.open(pages[kind], *SCREEN)
    canvas = 'document.querySelector("#scene canvas")'
    chrome.run(f"{canvas}.focus()")
    before, frame, cursor = _pixels(chrome), chrome.run(f"{canvas}.dataset.row"), chrome.run(_CURSOR)
    for _ in range(4):
        chrome.key(".")
    assert int(chrome.run(f"{canvas}.dataset.row")) == int(frame) + 4
    stepped = _pixels(chrome)
    assert stepped != before
    chrome.key("ArrowLeft")
    assert _pixels(chrome) != stepped
    if kind == "trial":
        assert chrome.run(_CURSOR) != cursor


_CANVAS = 'document.querySelector("[data-scene] canvas")'
_CURSOR = '[...document.querySelectorAll(".now")].map((one) => one.getAttribute("x1") + one.getAttribute("visibility")).join()'


def _pixels(chrome: Browser) -> str:
    return str(chrome.run(f"{_CANVAS}.toDataURL()"))


def test_a_curve_that_is_pointed_at_moves_all_cursors_and_the_scene(chrome: Browser, pages: dict[str, Path]) -> None:
    chrome.open(pages["trial"], *SCREEN)
    chrome.run('document.querySelector("#standard").scrollIntoView({behavior: "instant"})')
    rows = set()
    for share in (0.35, 0.6, 0.85):
        box = chrome.run(
            '(({x, y, width, height}) => [x, y, width, height])(document.querySelector(".cell[data-name=hip_flexion] svg")'
            ".getBoundingClientRect())"
        )
        chrome.mouse("mouseMoved", box[0] + share * box[2], box[1] + 0.5 * box[3])
        rows.add(chrome.run('document.querySelector("#scene canvas").dataset.row'))
        places = chrome.run(
            '[...new Set([...document.querySelectorAll(".now")].map((one) => one.getAttribute("x1")))].length'
        )
        assert places == 1  # all panels and both sides at one place
    assert len(rows) == 3
    reading = chrome.run('document.querySelector(".reading").textContent')
    assert "Hip flexion at" in reading
    chrome.run('document.querySelector(".standard-page").focus()')
    chrome.key("ArrowRight")
    assert chrome.run('document.querySelector(".reading").textContent') != reading


def test_the_scene_draws_thirty_frames_a_second(chrome: Browser, pages: dict[str, Path]) -> None:
    """The time of the processor that a frame needs, by the browser's own count: others may use the machine too."""
    chrome.open(pages["trial"], *SCREEN)
    chrome.send("Performance.enable", timeDomain="threadTicks")
    before = _script_seconds(chrome)
    chrome.run('for (let i = 0; i < 60; i += 1) { document.querySelector("[data-do=on]").click(); }')
    assert (_script_seconds(chrome) - before) / 60 <= 1.0 / 30.0


@pytest.mark.parametrize("kind", ["compare", "session"])
def test_two_walks_stand_in_one_view_and_move_the_cursor(chrome: Browser, pages: dict[str, Path], kind: str) -> None:
    """Over each other or side by side, by gait cycle or by time; each by its key."""
    chrome.open(pages[kind], *SCREEN)
    chrome.run(f"{_CANVAS}.focus()")
    for key, what in (("o", "abreast"), ("t", "cycle")):
        button = f'document.querySelector("[data-do={what}]").getAttribute("aria-pressed")'
        before, pressed = _pixels(chrome), chrome.run(button)
        chrome.key(key)
        assert chrome.run(button) != pressed
        assert _pixels(chrome) != before
        chrome.key(key)
        assert chrome.run(button) == pressed
    cursor = chrome.run(_CURSOR)
    for _ in range(5):
        chrome.key(".")
    assert chrome.run('document.querySelector("[data-scene] output").textContent') == "5 % of the cycle"
    assert chrome.run(_CURSOR) != cursor
    chrome.run('document.querySelector(".standard-page").focus()')
    for _ in range(7):
        chrome.key("ArrowRight")
    assert "at 7 % of the cycle" in chrome.run('document.querySelector(".reading").textContent')


def test_the_band_is_drawn_when_asked_for(chrome: Browser, pages: dict[str, Path]) -> None:
    chrome.open(pages["trial"], *SCREEN)
    chrome.run(f"{_CANVAS}.focus()")
    before = _pixels(chrome)
    chrome.key("g")
    assert chrome.run('document.querySelector("[data-show=ghost]").checked') is True
    assert _pixels(chrome) != before
    chrome.key("g")
    assert _pixels(chrome) == before


@pytest.mark.parametrize("kind", ["trial", "compare"])
def test_every_control_is_reached_by_keyboard_and_seen(chrome: Browser, pages: dict[str, Path], kind: str) -> None:
    """The tab key meets each button, box, slider and choice of the view in turn, and what has the focus is outlined."""
    chrome.open(pages[kind], *SCREEN)
    controls = '[...document.querySelectorAll("[data-scene] :is(canvas, button, input, select, summary)")]'
    count = chrome.run(f"{controls}.length")
    chrome.run(f"{_CANVAS}.focus()")
    _tab(chrome)
    _tab(chrome, back=True)  # what a script gave the focus to is outlined from the first key on
    for place in range(count):
        assert chrome.run(f"{controls}.indexOf(document.activeElement)") == place
        seen = "(({outlineStyle, outlineWidth}) => outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1)"
        assert chrome.run(f"{seen}(getComputedStyle(document.activeElement))"), place
        _tab(chrome)


def _tab(chrome: Browser, back: bool = False) -> None:
    key = {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9, "modifiers": 8 if back else 0}
    for kind in ("rawKeyDown", "keyUp"):
        chrome.send("Input.dispatchKeyEvent", type=kind, **key)


def test_fingers_turn_the_view_and_come_nearer(chrome: Browser, pages: dict[str, Path]) -> None:
    """One finger turns, two apart come nearer; the page does not move meanwhile."""
    chrome.open(pages["trial"], *PHONE)
    chrome.send("Emulation.setTouchEmulationEnabled", enabled=True)
    try:
        chrome.run(f'{_CANVAS}.scrollIntoView({{behavior: "instant", block: "center"}})')
        left, top, wide, high = chrome.run(
            f"(({{x, y, width, height}}) => [x, y, width, height])({_CANVAS}.getBoundingClientRect())"
        )
        x, y = left + wide / 2, top + high / 2

        def touch(kind: str, *places: tuple[float, float]) -> None:
            points = [{"x": place[0], "y": place[1], "id": number} for number, place in enumerate(places)]
            chrome.send("Input.dispatchTouchEvent", type=kind, touchPoints=points)

        scrolled, before = chrome.run("scrollY"), _pixels(chrome)
        touch("touchStart", (x, y))
        touch("touchMove", (x + 60, y + 5))
        touch("touchEnd")
        turned = _pixels(chrome)
        assert turned != before
        touch("touchStart", (x - 20, y), (x + 20, y))
        touch("touchMove", (x - 40, y), (x + 40, y))
        touch("touchMove", (x - 60, y), (x + 60, y))
        touch("touchEnd")
        assert _pixels(chrome) != turned
        assert chrome.run("scrollY") == scrolled
    finally:
        chrome.send("Emulation.setTouchEmulationEnabled", enabled=False)


def _script_seconds(chrome: Browser) -> float:
    found = {one["name"]: one["value"] for one in chrome.send("Performance.getMetrics")["metrics"]}
    return float(found["ScriptDuration"])


def test_without_scripts_the_page_says_so_in_place_of_the_scene(chrome: Browser, pages: dict[str, Path]) -> None:
    chrome.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        chrome.open(pages["trial"], *SCREEN, scripts=False)
        chrome.picture(False)
    finally:
        chrome.send("Emulation.setScriptExecutionDisabled", value=False)
    shown = (
        '["noscript", "canvas", ".controls"].map((one) => document.querySelector("#scene " + one).checkVisibility())'
    )
    assert chrome.run(shown) == [True, False, False]


@pytest.mark.parametrize("kind", PAGES)
def test_nothing_is_cut_on_paper(chrome: Browser, pages: dict[str, Path], kind: str) -> None:
    """On the width of a page of A4 inside its margins; the PDF is one."""
    chrome.open(pages[kind], 700, 900)
    chrome.send("Emulation.setEmulatedMedia", media="print")
    try:
        chrome.run('window.dispatchEvent(new Event("beforeprint"))')
        assert chrome.run("document.documentElement.scrollWidth") <= 700
        wide = (
            '[...document.querySelectorAll("main *")].filter((one) => one.checkVisibility() && !one.closest("svg")'
            " && one.getBoundingClientRect().right > 701).length"
        )
        assert chrome.run(wide) == 0
    finally:
        chrome.send("Emulation.setEmulatedMedia", media="")
    assert chrome.pdf().startswith(b"%PDF")


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of axe-core, fetched beside the tests' other folders."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm was not found: axe-core cannot be fetched")
    folder = tmp_path_factory.mktemp("axe")
    done = subprocess.run(
        [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), AXE],
        capture_output=True,
        check=False,
        timeout=120,
    )
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if done.returncode or not script.is_file():
        pytest.skip("axe-core cannot be fetched")
    return script.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", PAGES)
def test_axe_finds_nothing_serious(chrome: Browser, pages: dict[str, Path], axe: str, kind: str) -> None:
    chrome.open(pages[kind], *SCREEN)
    chrome.run(f"{axe}; 0")
    chrome.run(_OPENED)
    found = chrome.run(
        "axe.run().then((told) => told.violations.filter((one) => ['serious', 'critical'].includes(one.impact))"
        ".map((one) => `${one.id}: ${one.nodes.length} x ${one.nodes[0].html.slice(0, 120)}`))"
    )
    assert found == []


@pytest.mark.parametrize("point", [point for point in points() if point.page == "session"], ids=lambda one: one.place)
def test_what_is_claimed_of_a_session_is_in_its_page(pages: dict[str, Path], point: Point) -> None:
    assert point.words in point.seen_in(pages["session"].read_text(encoding="utf-8")), point
