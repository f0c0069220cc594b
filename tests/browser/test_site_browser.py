"""A published site in a real browser: from a disk, below another path, at both widths, by keyboard alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Browser, Page, browser
from test_report_browser import CUT_OFF, LIGHT, OVERFLOW, WIDTHS

from report_runs import guest, hostile, one_workload_one_level
from tlstax import __version__
from tlstax.cli.export_command import publish_command
from tlstax.report.page import html as page_html
from tlstax.store.anonymise import anonymous
from tlstax.store.pack import packed

PALE = f"""(() => {{{LIGHT}
  const paper = light(getComputedStyle(document.body).backgroundColor)
  const contrast = part => {{
    const ink = light(getComputedStyle(part).color)
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05)
  }}
  const words = document.querySelectorAll('main *, header *, footer *')
  return Math.min(...[...words].map(contrast))
}})()"""
"""The least contrast of any element's text with the paper (WCAG 2.2, contrast ratio)."""

FOCUS = """(() => {
  const at = document.activeElement
  return [at.tagName, at.getAttribute('href') || '', getComputedStyle(at).outlineStyle]
})()"""

REACHED = (
    "[...document.querySelectorAll('a[href], summary, .scroll')].filter(e => e.checkVisibility()).length"
)


@pytest.fixture(scope="module")
def running() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Below a path with a blank, as a site may be."""
    folder = tmp_path_factory.mktemp("published")
    packs = []
    for place, make in enumerate((one_workload_one_level, guest, hostile), 1):
        stored = anonymous(make())
        name = f"20261121-19550{place}-ab12"
        named = stored.model_copy(update={"header": stored.header.model_copy(update={"run": name})})
        packs.append(folder / f"{name}.tlstax")
        packs[-1].write_bytes(packed(named, by=__version__, names_left_out=True))
    (folder / "a sub path").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_html, "FOLDED_FROM", 5)
        publish_command(folder / "a sub path" / "site", packs)
    return folder / "a sub path" / "site"


def opened(running: Browser, path: Path, *, width: int = 1280, dark: bool = False) -> Page:
    page = running.new_page()
    page.set_width(width)
    page.set_dark(dark=dark)
    page.open(path)
    return page


def press(page: Page, key: str, code: int) -> None:
    for kind in ("rawKeyDown", "char", "keyUp") if key == "Enter" else ("rawKeyDown", "keyUp"):
        text = {"text": "\r"} if kind == "char" else {}
        page.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_index_is_whole(running: Browser, site: Path, tmp_path: Path, width: int, *, dark: bool) -> None:
    page = opened(running, site / "index.html", width=width, dark=dark)
    assert page.complaints == []
    assert page.requests == [(site / "index.html").as_uri()]
    assert page.evaluate(OVERFLOW) <= 0
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert page.evaluate(OVERFLOW) <= 0
    assert page.evaluate(CUT_OFF) == []
    assert page.evaluate(PALE) >= 4.5
    page.screenshot(tmp_path / "index.png")


@pytest.mark.parametrize("width", WIDTHS)
def test_the_pages_of_runs_are_whole(running: Browser, site: Path, width: int) -> None:
    for path in sorted((site / "runs").iterdir()):
        page = opened(running, path, width=width)
        assert page.complaints == []
        assert page.requests == [path.as_uri()]
        assert page.evaluate(OVERFLOW) <= 0


def test_a_figure_leads_to_its_proof_and_back(running: Browser, site: Path) -> None:
    page = opened(running, site / "index.html")
    assert page.evaluate("document.querySelectorAll('details').length") == 2
    page.evaluate("document.querySelector('td a[href$=\"#proof\"]').click()")
    page.wait_until("location.hash == '#proof' && document.readyState == 'complete'")
    top = "document.getElementById('proof').querySelector('h2').getBoundingClientRect().top"
    assert page.evaluate(f"{top} >= 0 && {top} < innerHeight")
    assert (
        page.evaluate("document.getElementById('proof').querySelector('h2').textContent") == "What really ran"
    )
    page.evaluate("document.querySelector('nav a').click()")
    page.wait_until("location.pathname.endsWith('/index.html')")
    assert page.complaints == []


def test_everything_is_reached_by_keyboard_and_seen_to_be(running: Browser, site: Path) -> None:
    page = opened(running, site / "index.html")
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    wanted = page.evaluate(REACHED)
    seen = []
    for _ in range(wanted):
        press(page, "Tab", 9)
        seen.append(tuple(page.evaluate(FOCUS)))
    assert all(outline != "none" for _, _, outline in seen), seen
    links = {href for tag, href, _ in seen if tag == "A"}
    assert any(href.endswith("#proof") for href in links)
    assert any(href.startswith("packs/") for href in links)
    assert {tag for tag, _, _ in seen} >= {"A", "DIV"}
    page = opened(running, site / "index.html")
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    while page.evaluate("(document.activeElement.getAttribute('href') || '').endsWith('#proof')") is False:
        press(page, "Tab", 9)
    press(page, "Enter", 13)
    page.wait_until("location.hash == '#proof'")
