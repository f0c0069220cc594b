"""An advice on a terminal and as a page: what is unsafe comes first, each saving with its interval."""

from __future__ import annotations

import re

import pytest

from inspected_servers import inspected
from tlstax.report.advice.text import advice_text
from tlstax.report.page.html import advice_html
from tlstax.results.advice import Advice, Advised, Saving, SeenUse, Step
from tlstax.results.inspection import Concern
from tlstax.results.interval import Interval

UNSAFE = Concern(danger="unsafe", what="TLS 1.1 is <b>accepted</b>", why="it is old", remedy="forbid it")
WEAK = Concern(danger="weak", what="plaintext is accepted", why="nobody need encrypt", remedy="refuse it")


def interval(point: float, half: float) -> Interval:
    return Interval(point=point, low=point - half, high=point + half, confidence=0.95, blocks=5)


KEY = Advised(
    change="certificate",
    what="EC P-256 in place of RSA 4096",
    seen="the server signs each full handshake with RSA 4096",
    saving=Saving(
        server_cpu_us=interval(2900, 100),
        server_share=interval(0.61, 0.03),
        measured_on="mysql-9.7",
        time_us=interval(3100, 200),
    ),
    steps=(Step(where="a shell", lines=("openssl genpkey …", "openssl req …")),),
)
GROUP = Advised(
    change="group",
    what="P-256 first in the clients' groups",
    seen="clients are asked for a second ClientHello",
    saving=Saving(round_trips=1.0),
    steps=(),
)
LITTLE = Advised(
    change="version",
    what="TLS 1.2 in place of 1.3",
    seen="",
    saving=Saving(server_share=interval(-0.02, 0.03)),
    steps=(),
)


def advice(**changes: object) -> Advice:
    found = Advice(
        inspected=inspected().model_copy(update={"concerns": (WEAK, UNSAFE)}),
        use=SeenUse(connects_per_s=200.0, statements=2, answer_bytes=120, source="watched"),
        advised=(KEY, GROUP),
        little=(LITTLE,),
        stand_in="mysql-9.7",
        runs=("20261126-000000-abcd",),
        connections_there=1234,
        spent_there="1,200 connections were made there, one at a time, within 5 s",
        not_measured=("x: y",),
        status="complete",
    )
    return found.model_copy(update=changes)


@pytest.mark.parametrize("width", [50, 80, 120])
def test_each_thing_is_printed_in_its_order(width: int) -> None:
    text = advice_text(advice(), width=width, colour=False)
    assert max(map(len, text.splitlines())) <= width
    plain = " ".join(text.split())
    wanted = (
        "Watched: 200 connections/s, 2 statements a connection, 120 bytes each",
        "Unsafe: mend first",
        "TLS 1.1 is <b>accepted</b>",
        "plaintext is accepted",
        "1 EC P-256 in place of RSA 4096",
        "−61 % [−64, −58] of the server's CPU (−2.90 ms [−3.00, −2.80] a connection), measured on mysql-9.7",
        "−3.10 ms [−3.30, −2.90] of a connection's time, measured here",
        "openssl genpkey …",
        "2 P-256 first in the clients' groups",
        "−1 round trip a connection, counted",
        "TLS 1.2 in place of 1.3: +2 % [−1, +5] of the server's CPU",
        "Not measured: x: y.",
        "1,234 connections to the server in all.",
    )
    places = [plain.find(words) for words in wanted]
    assert -1 not in places, wanted[places.index(-1)]
    assert places == sorted(places)


def test_where_nothing_is_worth_it_it_says_so() -> None:
    text = advice_text(advice(advised=(), little=()), width=80, colour=False)
    assert "Nothing to change" in text


def test_a_use_that_nobody_knows_is_called_assumed() -> None:
    use = SeenUse(connects_per_s=None, statements=10, answer_bytes=120, source="assumed")
    assert "is not known; assumed are 10 statements" in " ".join(
        advice_text(advice(use=use), width=80, colour=False).split()
    )


def test_the_page_stands_alone_and_draws_what_is_left() -> None:
    page = advice_html(advice())
    assert "<script" not in page
    assert not re.search(r'(?:src|href)="(?!data:)', page)
    assert "&lt;b&gt;accepted" in page
    assert page.count("<svg") >= 2
    assert "EC P-256 in place of RSA 4096: −61\N{NO-BREAK SPACE}%" in page.replace(
        " %", "\N{NO-BREAK SPACE}%"
    )
    assert page.index("mend first") < page.index("Worth changing")


def test_a_page_without_measurements_has_no_picture() -> None:
    page = advice_html(advice(advised=(GROUP,), little=()))
    assert "<svg" not in page
    assert "−1 round trip" in page
