"""Flame graphs in the report, in a real browser: they open, zoom and search, and reach nothing outside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Browser, Page, browser

from fake_sampled_runs import ENCRYPTED, PLAIN, with_profiles
from report_runs import HOSTILE, one_workload_one_level
from tlstax.cli.flames_command import draw
from tlstax.records.profiles.stacks import Frame, folded
from tlstax.records.trial import StoredRun
from tlstax.report.page.html import html
from tlstax.topics.answer.case_choice import chosen_case
from tlstax.topics.answer.document import document
from tlstax.topics.flames import flame_graph

DRAWN = "document.querySelectorAll('#frames > g').length > 0"
MARKED = "[...document.querySelectorAll('#frames rect[fill=\"rgb(230,0,230)\"]')].length"
SHOWN = "[...document.querySelectorAll('#frames > g:not(.hide)')].length"
OVERFLOW = "document.documentElement.scrollWidth - innerWidth"


def profiled() -> StoredRun:
    """One TLS case, its baseline and a function with a name that would be a program."""
    stack = folded([Frame("main", "mysqld"), Frame(HOSTILE, "mysqld"), Frame("</svg><img src=x>", "x")])
    return with_profiles(one_workload_one_level(2), plain=PLAIN, encrypted={**ENCRYPTED, stack: 10})


@pytest.fixture(scope="module")
def running() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    stored = profiled()
    measured = stored.model_copy(update={"trials": stored.measured})
    path = tmp_path_factory.mktemp("flames") / "report.html"
    path.write_text(html(stored, document(measured), draw), encoding="utf-8")
    return path


def unfolded(running: Browser, report: Path, *, width: int = 1280, dark: bool = False) -> tuple[Page, Page]:
    """The page with its first flame graph unfolded, and that graph's frame."""
    page = running.new_page()
    page.set_width(width)
    page.set_dark(dark=dark)
    page.open(report)
    page.evaluate("document.querySelector('.flame').open = true")
    page.evaluate("document.querySelector('.flame').scrollIntoView()")
    page.wait_until("document.querySelector('.flame iframe').getClientRects().length > 0")
    (frame,) = [frame for frame in page.frames if frame.evaluate("innerWidth > 0")][:1]
    frame.listen()
    frame.wait_until(DRAWN)
    # inferno draws for a width of 1200 and then fits the picture into what there is.
    frame.wait_until("document.getElementById('frames').getAttribute('width') != '1180'")
    return page, frame


def search(frame: Page, wanted: str) -> str:
    """What the frame says after a user has typed that."""
    frame.evaluate("field.focus(); field.select()")
    if wanted:
        frame.call("Input.insertText", text=wanted)
    else:
        frame.evaluate("field.value = ''; field.dispatchEvent(new Event('input'))")
    return str(frame.evaluate("told.textContent"))


def click(frame: Page, name: str) -> None:
    frame.evaluate(
        "[...document.querySelectorAll('#frames > g')]"
        f".find(group => group.querySelector('title').textContent.startsWith('{name}'))"
        ".querySelector('rect').dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("dark", [False, True])
def test_a_graph_opens_and_asks_for_nothing(
    running: Browser, report: Path, width: int, *, dark: bool
) -> None:
    page, frame = unfolded(running, report, width=width, dark=dark)
    assert page.evaluate("innerWidth") == width
    assert page.evaluate(OVERFLOW) <= 0
    assert frame.evaluate(OVERFLOW) <= 0
    assert frame.evaluate("document.documentElement.scrollHeight - innerHeight") <= 0
    assert (page.complaints, frame.complaints) == ([], [])
    assert page.requests == [report.as_uri()]
    assert [url for url in frame.requests if not url.startswith("about:")] == []


def test_only_what_is_unfolded_is_drawn(running: Browser, report: Path) -> None:
    page, frame = unfolded(running, report)
    assert len(page.frames) > 1
    others = [other for other in page.frames if other is not frame]
    assert not any(other.evaluate(DRAWN) for other in others)


def test_search_marks_what_matches_and_tells_its_share(running: Browser, report: Path) -> None:
    _, frame = unfolded(running, report)
    # 65 of 110 samples are below RSA_private_encrypt.
    assert search(frame, "rsa_private") == "Matched: 59.1%"
    assert frame.evaluate(MARKED) == 1
    assert search(frame, "libcrypto") == "Matched: 59.1%"
    assert frame.evaluate(MARKED) == 3
    assert search(frame, "no such function") == "nothing matched"
    assert search(frame, "(") == "not a regular expression"
    assert frame.evaluate(MARKED) == 0
    assert search(frame, "^dispatch|tcp_") == "Matched: 31.8%"
    assert search(frame, "") == ""
    assert frame.evaluate(MARKED) == 0
    assert frame.complaints == []


def test_the_keys_that_search_elsewhere_lead_to_the_field(running: Browser, report: Path) -> None:
    _, frame = unfolded(running, report)
    frame.evaluate("document.activeElement.blur()")
    frame.evaluate("dispatchEvent(new KeyboardEvent('keydown', {ctrlKey: true, keyCode: 70}))")
    assert frame.evaluate("document.activeElement.id") == "wanted"
    assert frame.complaints == []


def test_a_click_zooms_in_and_another_out(running: Browser, report: Path) -> None:
    _, frame = unfolded(running, report)
    every = frame.evaluate(SHOWN)
    width = (
        "[...document.querySelectorAll('#frames > g')]"
        ".find(group => group.textContent.includes('SSL_accept')).querySelector('rect').getAttribute('width')"
    )
    assert frame.evaluate(width)[:5] == "59.09"
    click(frame, "SSL_accept")
    assert frame.evaluate(width) == "100.0000%"
    assert frame.evaluate(SHOWN) < every
    frame.evaluate(
        "document.getElementById('unzoom').dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    assert frame.evaluate(width)[:5] == "59.09"
    assert frame.evaluate(SHOWN) == every
    assert frame.complaints == []


def test_a_function_with_a_harmful_name_is_text(running: Browser, report: Path) -> None:
    page, frame = unfolded(running, report)
    names = frame.evaluate("[...document.querySelectorAll('title')].map(title => title.textContent)")
    assert any("<script>alert" in name for name in names)
    assert any("</svg><img src=x> [x]" in name for name in names)
    assert frame.evaluate("document.querySelectorAll('script, img').length") == 1
    assert page.evaluate("document.querySelectorAll('script, img').length") == 0


def test_the_policy_holds_in_a_frame(running: Browser, report: Path) -> None:
    _, frame = unfolded(running, report)
    frame.evaluate(
        "const own = document.createElement('script'); own.textContent = 'ran = true';"
        "document.body.append(own)"
    )
    assert frame.evaluate("typeof ran") == "undefined"
    assert any("Content Security Policy" in complaint for complaint in frame.complaints)
    frame.evaluate("fetch('https://example.org/').catch(() => { refused = true })")
    frame.wait_until("typeof refused == 'boolean'")
    assert frame.evaluate("origin") == "null"


def test_the_picture_as_a_file_zooms_and_searches_too(running: Browser, tmp_path: Path) -> None:
    stored = profiled()
    study = stored.header.study
    graph = flame_graph(stored, chosen_case(study, "tls=1.3"), "server", chosen_case(study, "tls=off"))
    assert graph is not None
    path = tmp_path / "flames.svg"
    path.write_text(draw(graph), encoding="utf-8")
    page = running.new_page()
    page.open(path)
    page.wait_until(DRAWN)
    page.evaluate("search('RSA_private')")
    assert page.evaluate("matchedtxt.textContent") == "Matched: 59.1%"
    click(page, "SSL_accept")
    assert page.complaints == []
    assert page.evaluate("document.getElementById('title').textContent").startswith("Server: TLS 1.3 against")
