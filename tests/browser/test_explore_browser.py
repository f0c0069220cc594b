"""`explore` in a real browser, started by the launcher: whole pages, charts, keyboard, the end."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from chromium import Browser, Page, browser
from test_report_browser import LIGHT, OVERFLOW, WIDTHS

from kept_runs import keep
from tlstax.store import Store
from tlstax.store.explore.questions import QUESTIONS
from turned_runs import in_turns_and_watched

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
FIRST, ANSWERED = (
    "what-does-tls-cost-my-server",
    ("what-does-tls-cost-my-server", "what-does-reconnecting-cost"),
)
PAGES = ("", "store", "store/runs", "store/findings?_size=5", *(f"store/{one.name}" for one in QUESTIONS))

PALE = (
    "(() => {"
    + LIGHT
    + """
  const paper = part => {
    const colour = part ? getComputedStyle(part).backgroundColor : 'rgb(255, 255, 255)'
    return /rgba.* 0\\)/.test(colour) ? paper(part.parentElement) : colour
  }
  const contrast = part => {
    const shades = [light(getComputedStyle(part).color), light(paper(part))].sort((one, other) => one - other)
    return (shades[1] + 0.05) / (shades[0] + 0.05)
  }
  return [...document.querySelectorAll('body *')]
    .filter(part => [...part.childNodes].some(own => own.nodeType == 3 && own.textContent.trim()))
    .filter(part => part.getClientRects().length && !/^(SCRIPT|STYLE)$/.test(part.tagName))
    .filter(part => contrast(part) < 4.5)
    .map(part => `${part.tagName}.${part.className}: ${part.textContent.trim().slice(0, 40)}`)
})()
"""
)
"""The texts with less than 4.5:1 to what is behind them (WCAG 2.2, 1.4.3)."""


@pytest.fixture(scope="module")
def running() -> Iterator[Browser]:
    with browser() as found:
        yield found


def started(data: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [ROOT / "tlstax", "runs", "explore", *words],
        env={**os.environ, "TLSTAX_DATA": str(data)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )


BEFORE_THAT = re.compile(
    "tlstax: ( *installing the Python packages|another tlstax is setting up|writing the rows of 1 run)"
)
"""What is said of what is done once: here or in another process of these tests."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    with Store.open(folder / "store.sqlite") as store:
        run = in_turns_and_watched()
        keep(store, run)
        store.finish(run.header.run, "complete", "done")
    return folder


@pytest.fixture(scope="module")
def address(data: Path) -> Iterator[str]:
    with started(data) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), process.stderr and process.stderr.read()
        yield address
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1].splitlines()
        assert [line for line in said if not BEFORE_THAT.match(line)] == []
    assert process.returncode == 0
    assert sorted(left.name for left in data.iterdir()) == ["store.sqlite", "store.sqlite-writers"]


def fetched(address: str, host: str = "") -> bytes:
    asked = Request(address, headers={"Host": host} if host else {})  # noqa: S310 (loopback's)
    with urlopen(asked) as answer:  # noqa: S310
        content: bytes = answer.read()
    return content


def visited(running: Browser, address: str, page: str, width: int = 1280) -> Page:
    tab = running.new_page()
    tab.set_width(width)
    tab.call("Page.navigate", url=address + page)
    running.wait_for("Page.loadEventFired")
    return tab


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_whole_and_asks_nobody_else(running: Browser, address: str, name: str, width: int) -> None:
    page = visited(running, address, name, width)
    assert page.complaints == []
    assert [asked for asked in page.requests if not asked.startswith((address, "data:"))] == []
    assert page.evaluate(OVERFLOW) <= 0
    assert page.evaluate("document.querySelectorAll('h1').length") == 1
    assert page.evaluate(PALE) == []


@pytest.mark.parametrize("name", ANSWERED)
def test_a_question_that_the_run_answers_has_a_chart(running: Browser, address: str, name: str) -> None:
    page = visited(running, address, f"store/{name}")
    dots = page.evaluate("document.querySelectorAll('.ratios .dot').length")
    assert dots == page.evaluate("document.querySelectorAll('.rows-and-columns tbody tr').length") > 0


def test_a_question_that_no_run_answers_says_what_measures_it(running: Browser, address: str) -> None:
    page = visited(running, address, "store/which-certificate")
    assert "./tlstax study run identity" in page.evaluate("document.body.innerText")


def test_the_keyboard_leads_from_the_first_page_to_an_answer(running: Browser, address: str) -> None:
    page = visited(running, address, "")
    for _ in range(20):
        for kind in ("keyDown", "keyUp"):
            page.call("Input.dispatchKeyEvent", type=kind, key="Tab", windowsVirtualKeyCode=9)
        if page.evaluate("document.activeElement.textContent") == QUESTIONS[0].title:
            break
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    for kind in ("keyDown", "keyUp"):
        page.call("Input.dispatchKeyEvent", type=kind, key="Enter", text="\r", windowsVirtualKeyCode=13)
    page.wait_until(
        f"location.pathname.endsWith('{FIRST}') && document.querySelector('.ratios .dot') != null"
    )


def test_what_is_asked_in_sql_is_answered_and_nothing_is_changed(address: str) -> None:
    assert json.loads(fetched(f"{address}store.json?sql=select+count(*)+from+trials"))["rows"][0][0] > 0
    with pytest.raises(HTTPError):
        fetched(f"{address}store.json?sql=delete+from+trial_rows")


@pytest.mark.parametrize(("path", "host"), [("/", ""), ("/store", ""), (None, "elsewhere.example")])
def test_only_the_printed_address_leads_in(address: str, path: str | None, host: str) -> None:
    begin = "/".join(address.split("/")[:3])
    asked = address if path is None else begin + path
    with pytest.raises(HTTPError, match="404"):
        fetched(asked, host)


def test_a_store_without_a_run_says_how_to_fill_it(tmp_path: Path) -> None:
    with started(tmp_path) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert err == "tlstax: there is no run in the store yet; `tlstax run` makes one\n"


def test_a_store_of_a_newer_version_is_refused_in_a_sentence(tmp_path: Path) -> None:
    Store.open(tmp_path / "store.sqlite").close()
    with closing(sqlite3.connect(tmp_path / "store.sqlite")) as connection:
        connection.execute("PRAGMA user_version = 99")
    with started(tmp_path) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.count("\n")) == (2, "", 1)
    assert "was written by a newer tlstax (version 99" in err


def test_a_port_that_is_taken_is_named(data: Path, address: str) -> None:
    port = address.split(":")[2].split("/", maxsplit=1)[0]
    with started(data, "--port", port) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (3, "")
    assert f"port {port} of 127.0.0.1 cannot be used (Address already in use)" in err
