"""By what a path is known to carry: the first words of whichever server stands behind it."""

from __future__ import annotations

import pytest

from tlstax.network.paths.opening import FIRST_WORDS
from tlstax.records.capture import Spoken

GREETING = b"\x4a\0\0\0\x0a9.7.4\0"
BLOCKED = b"\x45\0\0\0\xff\x6a\x04Host is blocked"


@pytest.mark.parametrize(
    ("spoken", "said", "carries"),
    [
        ("mysql", GREETING, True),
        ("mysql", GREETING[:5], True),
        ("mysql", GREETING[:4], False),
        ("mysql", BLOCKED, False),
        ("mysql", b"", False),
        ("postgresql", b"S", True),
        ("postgresql", b"N", True),
        ("postgresql", b"E", False),
        ("postgresql", b"", False),
        ("postgresql", GREETING, False),
    ],
)
def test_a_path_carries_once_a_servers_first_words_come(spoken: Spoken, said: bytes, carries: bool) -> None:
    words = FIRST_WORDS[spoken]
    assert words.are_answered_by(said[: words.least_bytes]) == carries


def test_only_postgresql_is_asked_first() -> None:
    assert {spoken for spoken, words in FIRST_WORDS.items() if words.request} == {"postgresql"}
    # SSLRequest: eight bytes, 1234 and 5679 (PostgreSQL, "Message Formats").
    request = FIRST_WORDS["postgresql"].request
    assert [int.from_bytes(part) for part in (request[:4], request[4:6], request[6:])] == [8, 1234, 5679]
