"""`tlstax storm`: bad options are one sentence each; what was found fits a narrow terminal."""

from __future__ import annotations

import pytest

from tlstax.cli.storm_command import StormOptions, storm_command
from tlstax.probes.storms.document import StormDocument, StormLimit, Tried
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
    ],
)
def test_a_bad_option_is_named(options: StormOptions, words: str) -> None:
    with pytest.raises(UserMistake) as caught:
        storm_command(options)
    assert words in caught.value.message


def limit(tls: str, connections: int | None, share: float | None) -> StormLimit:
    tried = (
        Tried(
            connections=16,
            tries=5,
            did=5 if connections else 0,
            verdict="does" if connections else "does not",
        ),
    )
    return StormLimit(
        tls=tls,
        resumed=False,
        label="plaintext" if tls == "off" else f"TLS {tls}",
        connections=connections,
        too_many=1500 if connections else 16,
        connections_per_s=1421.7 if connections else None,
        client_share=share,
        tried=tried,
    )


@pytest.mark.parametrize("width", [50, 100])
def test_on_a_terminal_each_kind_has_its_limit(width: int) -> None:
    found = StormDocument(
        status="interrupted",
        server="mysql-9.7",
        server_version="9.7.4",
        within_s=1,
        share=0.99,
        confidence=0.95,
        variables={"back_log": "4096", "thread_cache_size": "9"},
        limits=(limit("off", 1420, 0.95), limit("1.3", None, None)),
    )
    text = storm_text(found, width=width, colour=False)
    assert max(map(len, text.splitlines())) <= width
    plain = " ".join(text.split())
    for part in ("1,420", "1,500", "1,422", "none", "back_log 4096", "95 % of a core", "interrupted"):
        assert part in plain
