"""The highest load is found whatever a server does, verdicts are as sure as they say, and all is told."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from random import Random

import pytest

from library_runs import MACHINE
from tlstax.report.formats.render import bench_report
from tlstax.results.document import BenchDocument, BenchStatus
from tlstax.results.rows import Row
from tlstax.tools.probes.storm_search import (
    CONFIDENCE,
    FACTS,
    FINE,
    LIMIT,
    MOST_TRIES,
    TOPIC,
    TRY,
    Search,
    verdict_of,
)


def searched(search: Search, does: Callable[[int], bool]) -> Search:
    while (load := search.next_load()) is not None:
        search.note(load, did=does(load))
    return search


def test_five_of_five_are_enough_and_four_are_not() -> None:
    assert verdict_of(5, 5) == "does"
    assert verdict_of(4, 4) == "undecided"
    assert verdict_of(0, 5) == "does not"
    assert verdict_of(8, 9) == "does"
    assert verdict_of(9, 12) == "undecided"
    assert verdict_of(2, 12) == "does not"


def test_a_load_that_does_half_of_the_time_gets_a_verdict_as_seldom_as_is_said() -> None:
    """All outcomes of at most MOST_TRIES tries, looked at after each, with their probabilities."""
    still, wrong = {0: 1.0}, 0.0
    for tries in range(1, MOST_TRIES + 1):
        after: dict[int, float] = {}
        for did, probability in still.items():
            for more in (0, 1):
                after[did + more] = after.get(did + more, 0.0) + probability / 2
        wrong += sum(share for did, share in after.items() if verdict_of(did, tries) == "does")
        still = {did: share for did, share in after.items() if verdict_of(did, tries) == "undecided"}
    assert 0.04 < wrong <= 1 - CONFIDENCE


@pytest.mark.parametrize("guess", [1, 70, 1_000, 50_000])
@pytest.mark.parametrize("limit", [64, 100, 777, 3_999])
def test_a_planted_limit_is_found_to_six_per_cent_from_any_guess(limit: int, guess: int) -> None:
    search = searched(Search(lowest=16, most=10_000, guess=guess), lambda load: load <= limit)
    assert search.highest is not None
    assert search.too_high is not None
    assert search.highest <= limit < search.too_high
    assert search.too_high <= search.highest * FINE + 1
    assert len({own.load for own in search.tried}) == len(search.tried)
    assert all(own.tries == 5 for own in search.tried)


def test_a_good_guess_takes_few_loads() -> None:
    search = searched(Search(lowest=16, most=10_000, guess=1_000), lambda load: load <= 950)
    assert len(search.tried) <= 5


def test_where_the_highest_does_or_the_lowest_does_not_the_search_ends() -> None:
    search = searched(Search(lowest=16, most=100, guess=30), lambda _: True)
    assert (search.highest, search.too_high) == (100, None)
    search = searched(Search(lowest=16, most=100, guess=30), lambda _: False)
    assert (search.highest, search.too_high) == (None, 16)
    search = searched(Search(lowest=16, most=100, guess=30_000), lambda _: True)
    assert [own.load for own in search.tried] == [100]
    assert search.tries_left() == 0


def test_a_load_that_does_as_often_as_not_is_left_as_soon_as_no_verdict_is_possible() -> None:
    turns = iter([True, False] * MOST_TRIES)
    search = searched(Search(lowest=16, most=80, guess=40), lambda load: load < 20 or next(turns))
    left = [own for own in search.tried if own.verdict == "undecided"]
    assert left
    # After three that did and three that did not, twelve tries can have no more than nine of a kind.
    assert all((own.tries, own.did) == (6, 3) for own in left)
    assert search.highest is not None
    assert search.highest < 20
    assert search.too_high == min(own.load for own in left)


def test_limits_by_chance_are_seldom_missed_by_much() -> None:
    """Loads do with a probability that falls from 1 to 0 within 10 % around the limit."""
    chance = Random(1)  # noqa: S311
    found = []
    for _ in range(200):
        search = Search(lowest=16, most=10_000, guess=chance.randrange(500, 1500))
        searched(search, lambda load: chance.random() < min(1.0, max(0.0, (1050 - load) / 100)))
        assert search.highest is not None
        found.append(search.highest)
    assert sum(900 <= highest <= 1050 for highest in found) > 180


def test_what_was_tried_is_known_at_any_time_and_a_load_without_a_verdict_is_not_too_high() -> None:
    search = Search(lowest=16, most=1000, guess=100)
    for did in (True, True, False):
        load = search.next_load()
        assert load == 80
        search.note(load, did=did)
    (own,) = search.tried
    assert (own.load, own.tries, own.did, own.verdict) == (80, 3, 2, "undecided")
    assert (search.highest, search.too_high) == (None, None)
    assert search.tries_left() > 0


def limit(
    tls: str, highest: int | None, too_high: int | None, *, rate: bool = False, **known: bool | float
) -> tuple[Row, ...]:
    """The row of a limit, of which this is known besides, and one of a load that was tried."""
    sought = "connections_per_s" if rate else "connections"
    common = {
        "outcome": sought,
        "unit": "1/s" if rate else "1",
        "label": "plaintext" if tls == "off" else f"TLS {tls}",
        "case": {"tls": tls, "resumption": "off"},
    }
    more = {
        "too_high": too_high,
        "is_refused": False,
        "is_found": True,
        "achieved_per_s": 1421.7 if highest else None,
        **known,
    }
    tried = {"role": TRY, "judgement": "does" if highest else "does not"}
    return (
        Row.model_validate({**common, "role": LIMIT, "value": highest, "more": more}),
        Row.model_validate({**common, **tried, "value": highest or too_high or 16, "more": {"tries": 5}}),
    )


def document(status: BenchStatus, *limits: tuple[Row, ...], caveats: tuple[str, ...] = ()) -> BenchDocument:
    rows = [row for own in limits for row in own]
    is_rate = rows[0].unit == "1/s"
    return BenchDocument(
        bench=TOPIC.name,
        status=status,
        started_at="2026-11-27T00:00:00+00:00",
        tlstax_version="0.1.0",
        seed=1,
        machine=MACHINE,
        facts={
            "sought": rows[0].outcome,
            "server": "mysql-9.7",
            "server_version": "9.7.4",
            "within_s": 1,
            "share": 0.99,
            "confidence": 0.95,
            "budget_s": 360,
            "lasting_s": 3 if is_rate else None,
            "at_once": 256 if is_rate else None,
            "promised": None,
            "back_log": "4096",
            "thread_cache_size": "9",
        },
        told=TOPIC.told(rows),
        caveats=caveats,
    )


STORMS = document(
    "interrupted",
    limit("off", 1420, 1500, client_share=0.95),
    limit("1.3", None, 16),
    limit("1.2", None, None, is_refused=True),
    caveats=("It was interrupted; this is what was known by then.",),
)
RATES = document(
    "budget",
    limit("off", 5000, None, is_found=False, rate=True),
    limit("1.3", 900, 1100, is_found=False, rate=True),
    limit("1.2", None, 800, is_found=False, rate=True),
    caveats=("The budget of 360 s ended the search; a longer --budget goes on.",),
)
UNKNOWN = document("budget", limit("1.3", None, None, is_found=False))


@pytest.mark.parametrize("width", [60, 100])
@pytest.mark.parametrize(
    ("shown", "table", "parts"),
    [
        (
            STORMS,
            (
                "connections too many came up a second client busy plaintext 1,420 1,500 1,422 95 %",
                "TLS 1.3 none 16 – – TLS 1.2 not taken",
            ),
            (
                "The largest storm on mysql-9.7 (9.7.4) of which 99 % are up within 1 s",
                "The server has back_log 4096, thread_cache_size 9.",
                "plaintext: the client used 95 % of a core in the largest storm, so it may be the limit",
                "interrupted",
                "half of all tries of that load would do, or would not, with 95 % confidence",
            ),
        ),
        (
            RATES,
            ("a second too fast came up a second client busy plaintext 5,000 ? 1,422 –",),
            (
                "The highest rate of new connections on mysql-9.7 (9.7.4) at which 99 % are up within 1 s",
                "plaintext: its limit is 5,000 connections a second or more; the search had not come to its",
                "TLS 1.3: its limit is from 900 to 1,100 connections a second",
                "TLS 1.2: its limit is less than 800 connections a second",
                "Each rate lasts 3 s",
                "The budget of 360 s ended the search",
            ),
        ),
        (UNKNOWN, ("TLS 1.3 ? ? – –",), ("TLS 1.3: nothing is known of its limit",)),
    ],
)
def test_on_a_terminal_each_kind_has_its_limit(
    shown: BenchDocument, table: tuple[str, ...], parts: tuple[str, ...], width: int
) -> None:
    text = bench_report(TOPIC, shown, "terminal", width=width)
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(text.replace("\N{BULLET}", " ").split())
    # Where columns have no room beside each other some stand below.
    for part in (*parts, *(table if width > 80 else ())):
        assert part in words
    assert ("had not come to its end" in words) == (shown is not STORMS)


def test_markdown_has_the_same_table() -> None:
    text = bench_report(TOPIC, STORMS, "md")
    assert "### The largest storm on mysql-9.7 (9.7.4) of which 99 % are up within 1 s" in text
    assert "| connection | connections | too many | came up a second | client busy |" in text
    assert "| plaintext | 1,420 | 1,500 | 1,422 | 95 % |" in text
    assert "- It was interrupted; this is what was known by then." in text


def test_csv_has_a_line_for_each_limit_and_each_try() -> None:
    first, tried, *_ = csv.DictReader(io.StringIO(bench_report(TOPIC, STORMS, "csv")))
    assert (first["bench"], first["role"], first["label"], first["case_tls"]) == (
        "storm",
        "limit",
        "plaintext",
        "off",
    )
    assert (first["outcome"], first["unit"], first["value"]) == ("connections", "1", "1420.0")
    assert (first["too_high"], first["is_found"], first["client_share"]) == ("1500", "1", "0.95")
    assert (tried["role"], tried["judgement"], tried["tries"]) == ("try", "does", "5")


def test_json_is_the_document_whose_facts_are_declared() -> None:
    assert BenchDocument.model_validate_json(bench_report(TOPIC, STORMS, "json")) == STORMS
    assert STORMS.facts.keys() <= {fact.name for fact in FACTS}
