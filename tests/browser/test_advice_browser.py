"""The page of an advice in a real browser: no error, no request, nothing over the edge, a picture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Browser, browser
from test_report_browser import OVERFLOW, SMALLEST_TEXT, SMALLEST_TEXT_PX, WIDTHS

from made_advice import advice
from tlstax.report.page.html import advice_html

SEEN = """
[...document.querySelectorAll(".drawing svg")]
  .filter(drawing => drawing.getBoundingClientRect().width > 200).length
"""


@pytest.fixture(scope="module")
def running() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_is_whole(running: Browser, tmp_path: Path, width: int, *, dark: bool) -> None:
    path = tmp_path / "advice.html"
    path.write_text(advice_html(advice()), encoding="utf-8")
    page = running.new_page()
    page.set_width(width)
    page.set_dark(dark=dark)
    page.open(path)
    assert page.complaints == []
    assert page.requests == [path.as_uri()]
    assert page.evaluate(OVERFLOW) <= 0
    assert page.evaluate(SEEN) == 1
    assert page.evaluate(SMALLEST_TEXT) >= SMALLEST_TEXT_PX
    page.screenshot(tmp_path / "advice.png")
