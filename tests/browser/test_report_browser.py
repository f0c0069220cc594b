"""The page in a real browser: no error, no request, nothing that hangs over the edge, text one can read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Browser, Page, browser

from fake_openssl_study import small_openssl_run
from report_runs import (
    Make,
    all_invalid,
    exact_run,
    guest,
    hostile,
    many_levels,
    noisy_run,
    not_begun,
    one_block,
    page_of,
    published_tables,
)

WIDTHS = (1280, 400)
SMALLEST_TEXT_PX = 10.0

OVERFLOW = "document.documentElement.scrollWidth - innerWidth"

SMALLEST_TEXT = """
Math.min(...[...document.querySelectorAll('svg text')].filter(text => text.getClientRects().length)
  .map(text => parseFloat(getComputedStyle(text).fontSize) *
    text.ownerSVGElement.getBoundingClientRect().width / text.ownerSVGElement.viewBox.baseVal.width))
"""

CUT_OFF = """
[...document.querySelectorAll('.card *, h1, h2, h3, h4, figcaption, .figures th, .figures td')]
  .filter(part => part.scrollWidth > part.clientWidth + 1 && getComputedStyle(part).display != 'inline')
  .map(part => part.textContent.trim().slice(0, 60))
"""

LIGHT = """
  const light = colour => {
    const [red, green, blue] = colour.match(/[\\d.]+/g).slice(0, 3).map(Number).map(value => {
      const share = value / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
"""
"""The relative luminance of a colour (WCAG 2.2, definition of relative luminance)."""

PALE_TEXT = (
    "(() => {"
    + LIGHT
    + """
  const paper = light(getComputedStyle(document.body).backgroundColor)
  const contrast = colour => {
    const [low, high] = [light(colour), paper].sort((one, other) => one - other)
    return (high + 0.05) / (low + 0.05)
  }
  const words = [...document.querySelectorAll('p, li, th, td, h1, h2, h3, h4, dt, dd')]
    .map(part => getComputedStyle(part).color)
  const letters = [...document.querySelectorAll('svg text')].map(part => getComputedStyle(part).fill)
  return [Math.min(...words.map(contrast)), Math.min(...letters.map(contrast))]
})()
"""
)


PALE_FIGURES = (
    "(() => {"
    + LIGHT
    + """
  const contrast = (part, shade) => {
    const [low, high] = [light(getComputedStyle(part).color), light(shade)].sort((one, other) => one - other)
    return (high + 0.05) / (low + 0.05)
  }
  const shaded = [...document.querySelectorAll('.heat td, .pooled td')]
    .filter(cell => /^[wb][1-4]$/.test(cell.className))
  return Math.min(...shaded.flatMap(cell => [cell, ...cell.children]
    .map(part => contrast(part, getComputedStyle(cell).backgroundColor))))
})()
"""
)


@pytest.fixture(scope="module")
def running() -> Iterator[Browser]:
    with browser() as found:
        yield found


def opened(running: Browser, make: Make, folder: Path, *, width: int = 1280, dark: bool = False) -> Page:
    path = folder / "report.html"
    path.write_text(page_of(make), encoding="utf-8")
    page = running.new_page()
    page.set_width(width)
    page.set_dark(dark=dark)
    page.open(path)
    return page


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "make",
    [
        exact_run,
        noisy_run,
        guest,
        one_block,
        all_invalid,
        not_begun,
        hostile,
        many_levels,
        small_openssl_run,
        published_tables,
    ],
)
def test_it_opens_without_a_complaint_and_asks_for_nothing(
    running: Browser, make: Make, width: int, tmp_path: Path
) -> None:
    page = opened(running, make, tmp_path, width=width)
    assert page.complaints == []
    assert page.requests == [(tmp_path / "report.html").as_uri()]
    page.screenshot(tmp_path / f"report-{width}.png")
    assert (tmp_path / f"report-{width}.png").stat().st_size > 10_000


@pytest.mark.parametrize("width", [*WIDTHS, 720, 320])
@pytest.mark.parametrize(
    "make", [noisy_run, all_invalid, hostile, many_levels, small_openssl_run, published_tables]
)
def test_nothing_hangs_over_the_edge(running: Browser, make: Make, width: int, tmp_path: Path) -> None:
    page = opened(running, make, tmp_path, width=width)
    assert page.evaluate(OVERFLOW) <= 0
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert page.evaluate(OVERFLOW) <= 0
    assert page.evaluate(CUT_OFF) == []


@pytest.mark.parametrize("width", [*WIDTHS, 720])
@pytest.mark.parametrize("make", [noisy_run, small_openssl_run, published_tables])
def test_the_text_in_charts_is_large_enough(running: Browser, make: Make, width: int, tmp_path: Path) -> None:
    page = opened(running, make, tmp_path, width=width)
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert page.evaluate(SMALLEST_TEXT) >= SMALLEST_TEXT_PX


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("make", [noisy_run, small_openssl_run, published_tables])
def test_text_stands_out_from_the_paper(running: Browser, make: Make, *, dark: bool, tmp_path: Path) -> None:
    words, letters = opened(running, make, tmp_path, dark=dark).evaluate(PALE_TEXT)
    assert words >= 4.5
    assert letters >= 3


@pytest.mark.parametrize("dark", [False, True])
def test_figures_stand_out_from_the_shades_of_a_heat_map(
    running: Browser, *, dark: bool, tmp_path: Path
) -> None:
    page = opened(running, small_openssl_run, tmp_path, dark=dark)
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert page.evaluate(PALE_FIGURES) >= 4.5


def test_one_drawing_of_each_chart_is_shown(running: Browser, tmp_path: Path) -> None:
    shown = "[...document.querySelectorAll('.drawing')].map(part => part.getClientRects().length > 0)"
    for width in WIDTHS:
        page = opened(running, noisy_run, tmp_path, width=width)
        drawings = page.evaluate(shown)
        pairs = page.evaluate("document.querySelectorAll('.drawing.wide').length")
        assert pairs > 5
        assert sum(drawings) == len(drawings) - pairs


def test_a_test_that_looks_for_complaints_finds_them(running: Browser, tmp_path: Path) -> None:
    path = tmp_path / "bad.html"
    path.write_text("<!doctype html><p>x</p><script>nothing()</script><img src=absent.png>", encoding="utf-8")
    page = running.new_page()
    page.open(path)
    assert any("Uncaught" in complaint for complaint in page.complaints)
    assert len(page.requests) == 2


def test_published_tables_and_their_figures_are_on_the_page(running: Browser, tmp_path: Path) -> None:
    page = opened(running, published_tables, tmp_path)
    sections = (
        "[...document.querySelectorAll('section:has(> h2)')].filter(part => /^Table /.test(part.innerText))"
    )
    titles = f"{sections}.map(part => part.querySelector('h2').textContent.split('.')[0])"
    assert page.evaluate(titles) == ["Table VI", "Table II", "Table III", "Table IV", "Table V"]
    rows = f"{sections}[1].querySelectorAll('table')[0].querySelectorAll('tbody tr').length"
    assert page.evaluate(rows) == 15 + 1
    drawings = "[...part.querySelectorAll('figure svg:not(.sign)')]"
    drawn = f"{sections}.flatMap(part => {drawings}).filter(drawing => drawing.clientWidth).length"
    assert page.evaluate(drawn) == 4 * 5 + 4 + 5, "%system in 5 ways, ratios of 4 lines, times in 5 ways"
    assert page.evaluate("document.querySelectorAll('script').length") == 0
