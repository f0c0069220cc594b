"""A run as it goes in a real browser: it changes by itself, takes no focus, asks for nothing but its page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from chromium import Browser, Page, browser
from test_report_browser import OVERFLOW, PALE_TEXT, SMALLEST_TEXT, SMALLEST_TEXT_PX, WIDTHS

from live_runs import begun, hostile, over, preparing
from tlstax.report.page.live import live_parts
from tlstax.results.live import LiveRun
from tlstax.run.live_page import Audience, address, listening, new_token, served

LEAST_CONTRAST = 4.5
"""Of text to what is behind it (WCAG 2.2, 1.4.3)."""

REPORT = "<!doctype html><link rel=icon href=data:,><title>the report</title>"

STATUS = "document.querySelector('[data-part=status]').textContent"


@pytest.fixture(scope="module")
def running() -> Iterator[Browser]:
    with browser() as found:
        yield found


Shown = tuple[Page, Audience, str]


@contextmanager
def shown(running: Browser, live: LiveRun, *, width: int = 1280, dark: bool = False) -> Iterator[Shown]:
    """A browser's page of a run, what it is told of, and its address."""
    audience, token = Audience(live_parts(live)), new_token()
    with listening() as listener, served(listener, token, audience, lambda: REPORT):
        page = running.new_page()
        page.set_width(width)
        page.set_dark(dark=dark)
        where = address(listener, token)
        page.go(where)
        page.wait_until(f"location.href == '{where}' && document.readyState == 'complete'")
        yield page, audience, where


def said(page: Page, text: str) -> None:
    """Wait until the page's sentence has this text."""
    page.wait_until(f"{STATUS}.replaceAll('\\u00a0', ' ').includes('{text}')")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [*WIDTHS, 320])
@pytest.mark.parametrize("make", [preparing, lambda: begun(5), hostile, over])
def test_it_fits_and_can_be_read(
    running: Browser, make: Callable[[], LiveRun], width: int, *, dark: bool
) -> None:
    with shown(running, make(), width=width, dark=dark) as (page, _, where):
        assert page.evaluate(OVERFLOW) <= 0
        words, letters = page.evaluate(PALE_TEXT)
        assert words >= LEAST_CONTRAST
        if page.evaluate("document.querySelectorAll('svg text').length"):
            assert letters >= LEAST_CONTRAST
            assert page.evaluate(SMALLEST_TEXT) >= SMALLEST_TEXT_PX
        assert page.complaints == []
        assert set(page.requests) <= {where, f"{where}events?after=1"}


def test_it_follows_the_run_by_itself_to_its_end(running: Browser) -> None:
    with shown(running, preparing()) as (page, audience, where):
        said(page, "being made ready")
        for blocks in (1, 2, 3):
            audience.show(live_parts(begun(blocks)))
            said(page, f"{blocks} block")
        assert page.evaluate("document.querySelectorAll('.strip svg').length") == 8
        assert page.evaluate("document.querySelector('progress').value") == 40
        audience.show(live_parts(over(), has_report=True), is_last=True)
        said(page, "The run is complete")
        page.evaluate("document.querySelector('[data-part=report] a').click()")
        page.wait_until("document.title == 'the report'")
        assert page.complaints == []
        assert set(page.requests) == {where, f"{where}events?after=1", f"{where}report"}


def test_the_focus_stays_where_it_is_and_changes_are_said_politely(running: Browser) -> None:
    with shown(running, begun(2)) as (page, audience, _):
        page.evaluate("document.querySelector('[data-part=ratios]').focus()")
        audience.show(live_parts(begun(3)))
        said(page, "3 blocks")
        assert page.evaluate("document.activeElement.dataset.part") == "ratios"
        spoken = "[...document.querySelectorAll('[role=status], [aria-live]')]"
        assert page.evaluate(f"{spoken}.map(part => part.id || part.dataset.part)") == ["status", "lost"]


def test_the_keyboard_reaches_what_scrolls_and_the_report(running: Browser) -> None:
    with shown(running, over(), width=400) as (page, audience, _):
        audience.show(live_parts(over(), has_report=True), is_last=True)
        page.wait_until("document.querySelector('[data-part=report] a') !== null")
        reached = []
        for _ in range(2):
            for kind in ("keyDown", "keyUp"):
                page.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
            reached.append(page.evaluate("document.activeElement.tagName"))
        assert reached == ["A", "DIV"]
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_the_words_of_others_do_nothing(running: Browser) -> None:
    with shown(running, begun(1)) as (page, audience, _):
        audience.show(live_parts(hostile()))
        said(page, "3 blocks")
        assert page.evaluate("document.querySelectorAll('main script').length") == 0
        assert page.complaints == []


def test_a_page_whose_program_has_ended_says_so(running: Browser) -> None:
    with shown(running, begun(2)) as (page, audience, where):
        audience.show({**live_parts(begun(2)), "status": "soon"})
        page.wait_until(f"{STATUS} == 'soon'")
        audience.close()
        page.wait_until("document.getElementById('lost').textContent.includes('has ended')")
        assert set(page.requests) == {where, f"{where}events?after=1"}
        assert page.complaints == []
