"""What a search for limits shows, in every format: each kind's limit, what is not known of it, and why."""

from __future__ import annotations

import csv
import io

import pytest

from library_runs import MACHINE
from tlstax.report.formats.render import bench_report
from tlstax.results.bench import BenchDocument, BenchStatus
from tlstax.results.rows import Row
from tlstax.tools.probes.storms.limits import FACTS, LIMIT, TOPIC, TRY


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
