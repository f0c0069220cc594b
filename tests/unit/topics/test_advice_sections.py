"""An advice on a terminal and as a page: what is unsafe comes first, each saving with its interval."""

from __future__ import annotations

import re

import pytest

from inspected_servers import inspected
from made_advice import GROUP, KEY, LITTLE, advice
from tlstax.report.page.html import advice_html
from tlstax.results.inspection import Step
from tlstax.topics.advice.advise import SeenUse
from tlstax.topics.advice.sections import advice_text


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
        "−61 % [−64 … −58] of the server's CPU (−2.90 ms [−3.00 … −2.80] a connection), "
        "measured on mysql-9.7",
        "−3.10 ms [−3.30 … −2.90] of a connection's time, measured here",
        "openssl genpkey …",
        "2 P-256 first in the clients' groups",
        "−1 round trip a connection, counted",
        "of the time of a connection inconclusive: too few blocks, or too unquiet",
        "seen: clients are asked for a second ClientHello",
        "3 TLS 1.2 in place of 1.3",
        "+2 % [−1 … +5] of the server's CPU",
        "not advised: it saves less than 5 %",
        "Not measured: x: y.",
        "1,234 connections to the server in all.",
    )
    places = [plain.find(words) for words in wanted]
    assert -1 not in places, wanted[places.index(-1)]
    assert places == sorted(places)
    assert "nothing to paste" not in text
    assert "Nothing to change" not in text


def test_where_nothing_is_worth_it_it_says_so() -> None:
    text = advice_text(advice(changes=()), width=80, colour=False)
    assert "Nothing to change" in text


def test_where_nothing_is_advised_the_ranking_says_why() -> None:
    kept = KEY.model_copy(update={"seen": "", "why_not": "no client was seen reconnecting"})
    text = " ".join(advice_text(advice(changes=(kept, LITTLE)), width=80, colour=False).split())
    assert "Nothing to change" not in text
    assert "No change is advised; what could be changed says why not." in text
    assert "1 EC P-256 in place of RSA 4096 −61 %" in text
    assert "not advised: no client was seen reconnecting 2 TLS 1.2" in text
    page = advice_html(advice(changes=(kept, LITTLE)))
    assert "no client was seen reconnecting" in page


def test_where_clients_get_no_tls_it_says_that_nothing_was_measured() -> None:
    seen = inspected()
    refused = seen.model_copy(
        update={"asked": (seen.asked[0].model_copy(update={"agreed": None}), *seen.asked[1:])}
    )
    text = advice_text(advice(changes=(), inspected=refused), width=80, colour=False)
    assert "Nothing to change" not in text
    assert "Nothing was measured, since clients left to themselves get no TLS there" in text


def test_lines_to_paste_are_never_broken() -> None:
    line = "ssl_cipher = " + ":".join(["ECDHE-ECDSA-AES128-GCM-SHA256"] * 9)
    long = KEY.model_copy(update={"steps": (Step(where="my.cnf", lines=("[mysqld]", line)),)})
    text = advice_text(advice(changes=(long,)), width=40, colour=False)
    assert f"\n       [mysqld]\n       {line}\n" in text


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
    assert page.index("mend first") < page.index("What could be changed, what saves most first")


def test_a_page_without_measurements_has_no_picture() -> None:
    page = advice_html(advice(changes=(GROUP,)))
    assert "<svg" not in page
    assert "−1 round trip" in page
