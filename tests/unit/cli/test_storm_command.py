"""`tlstax storm`: bad options are one sentence each; what was found fits a narrow terminal."""

from __future__ import annotations

import pytest

from tlstax.cli.storm_command import StormOptions, storm_command
from tlstax.probes.storms.document import Ending, Limit, Sought, StormDocument, Tried
from tlstax.probes.storms.table import storm_text
from tlstax.support.errors import UserMistake


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (StormOptions(within="soon"), "--within"),
        (StormOptions(within="2m"), "--within"),
        (StormOptions(share="0%"), "--share"),
        (StormOptions(share="most"), "--share"),
        (StormOptions(most=10**9), "--most"),
        (StormOptions(budget="soon"), "--budget"),
        (StormOptions(lasting="3s"), "--lasting goes with --steady"),
        (StormOptions(lasting="2m", steady=True), "--lasting"),
        (StormOptions(most=10**9, steady=True), "--most"),
        (StormOptions(budget="40s"), "has no room for the search"),
        (StormOptions(budget="90s", steady=True), "has no room for the search"),
    ],
)
def test_a_bad_option_is_named(options: StormOptions, words: str) -> None:
    with pytest.raises(UserMistake) as caught:
        storm_command(options)
    assert words in caught.value.message


def limit(
    tls: str,
    highest: int | None,
    too_high: int | None,
    *,
    share: float | None = None,
    is_found: bool = True,
) -> Limit:
    load = highest or too_high or 16
    verdict = "does" if highest else "does not"
    return Limit(
        tls=tls,
        resumed=False,
        label="plaintext" if tls == "off" else f"TLS {tls}",
        highest=highest,
        too_high=too_high,
        is_refused=False,
        is_found=is_found,
        achieved_per_s=1421.7 if highest else None,
        client_share=share,
        tried=(Tried(load=load, tries=5, did=5 if highest else 0, verdict=verdict),),
    )


def document(status: Ending, *limits: Limit, sought: Sought = "connections") -> StormDocument:
    return StormDocument(
        status=status,
        sought=sought,
        server="mysql-9.7",
        server_version="9.7.4",
        within_s=1,
        share=0.99,
        confidence=0.95,
        budget_s=360,
        lasting_s=3 if sought == "connections_per_s" else None,
        at_once=256 if sought == "connections_per_s" else None,
        variables={"back_log": "4096", "thread_cache_size": "9"},
        limits=limits,
    )


def text_of(found: StormDocument, width: int) -> str:
    text = storm_text(found, width=width, colour=False)
    assert max(map(len, text.splitlines())) <= width
    return " ".join(text.split())


@pytest.mark.parametrize("width", [60, 100])
def test_on_a_terminal_each_kind_has_its_limit(width: int) -> None:
    refused = limit("1.2", None, None).model_copy(update={"is_refused": True, "tried": ()})
    limits = (limit("off", 1420, 1500, share=0.95), limit("1.3", None, 16), refused)
    text = text_of(document("interrupted", *limits), width)
    for part in (
        "1,420",
        "1,500",
        "1,422",
        "none",
        "TLS 1.2 not taken",
        "back_log 4096",
        "95 % of a core",
        "interrupted",
    ):
        assert part in text
    assert "had not come to its end" not in text


@pytest.mark.parametrize("width", [60, 100])
def test_a_rate_is_one_and_a_budget_that_ended_leaves_between_what_the_limits_lie(width: int) -> None:
    limits = (
        limit("off", 5000, None, is_found=False),
        limit("1.3", 900, 1100, is_found=False),
        limit("1.2", None, 800, is_found=False),
    )
    text = text_of(document("budget", *limits, sought="connections_per_s"), width)
    for part in (
        "The highest rate of new connections on mysql-9.7 (9.7.4) at which 99 % are up within 1 s",
        "plaintext: its limit is 5,000 connections a second or more; the search had not come to its end",
        "TLS 1.3: its limit is from 900 to 1,100 connections a second",
        "TLS 1.2: its limit is less than 800 connections a second",
        "Each rate lasts 3 s",
        "The budget of 360 s ended the search",
    ):
        assert part in text
    unknown = document("budget", limit("1.3", None, None, is_found=False))
    assert "nothing is known of its limit" in text_of(unknown, width)
