"""How a server is used, from what is known best; and what clients get of it, as levels of a study."""

from __future__ import annotations

import pytest

from inspected_servers import certificate, inspected, use, view
from tlstax.findings.advice.situation import ASSUMED_BYTES, ASSUMED_STATEMENTS, level_of, now_of, use_of
from tlstax.results.inspection import InspectedServer


def seen(found: InspectedServer) -> tuple[float | None, int, int, str]:
    own = use_of(found, None, None, None)
    return own.connects_per_s, own.statements, own.answer_bytes, own.source


def test_what_was_watched_comes_before_what_is_long_ago() -> None:
    found = inspected(
        watched=use(4.0, 3.4, sent_bytes_per_s=4 * 3.4 * 700), since_start=use(9.0, 50.0, over_s=600.0)
    )
    assert seen(found) == (4.0, 3, 700, "watched")
    few = inspected(watched=use(3.9, 3.4), since_start=use(9.0, 50.0, over_s=600.0))
    assert seen(few) == (9.0, 50, ASSUMED_BYTES, "since its start")


def test_a_server_that_nobody_uses_says_nothing_of_its_use() -> None:
    assumed = (None, ASSUMED_STATEMENTS, ASSUMED_BYTES, "assumed")
    assert seen(inspected()) == assumed
    assert seen(inspected(watched=use(0.0, None), since_start=use(0.99, 2.0, over_s=600.0))) == assumed
    assert seen(inspected(since_start=use(1.0, 2.0, over_s=600.0)))[3] == "since its start"
    assert seen(inspected(since_start=use(1.0, 2.0, over_s=599.0)))[3] == "assumed", "it has only just begun"


def test_what_is_given_comes_before_all() -> None:
    found = inspected(watched=use(100.0, 3.0))
    given = use_of(found, None, 40, 2048)
    assert (given.connects_per_s, given.statements, given.answer_bytes) == (100.0, 40, 2048)
    assert given.source == "given"
    rate = use_of(inspected(), 20.0, None, None)
    assert (rate.connects_per_s, rate.statements, rate.source) == (20.0, ASSUMED_STATEMENTS, "given")
    size = use_of(found, None, None, 64)
    assert (size.answer_bytes, size.source) == (64, "watched")


def test_numbers_stay_within_what_can_be_measured() -> None:
    own = use_of(inspected(watched=use(100.0, 5e6, sent_bytes_per_s=1e18)), None, None, None)
    assert (own.statements, own.answer_bytes) == (1000, 1 << 20)
    assert use_of(inspected(watched=use(100.0, 0.2)), None, None, None).statements == 1
    assert use_of(inspected(watched=use(100.0, 0.0)), None, None, None).statements == ASSUMED_STATEMENTS


def test_what_clients_get_is_read_from_what_was_asked() -> None:
    now = now_of(inspected(default=view("1.3", hello_retry=True), chain=(certificate("RSA 4096"),)))
    assert now is not None
    assert (now.tls, now.certificate, now.key, now.hello_retry) == ("1.3", "rsa-4096", "RSA 4096", True)
    assert (now.resumes, now.other_version) == (True, "1.2")
    old = now_of(inspected(default=view("1.2"), versions=("1.2",), resumes=("1.3",), chain=()))
    assert old is not None
    assert (old.tls, old.certificate, old.key, old.hello_retry) == ("1.2", "", "", False)
    assert (old.resumes, old.other_version) == (False, None)


def test_without_tls_there_is_nothing_to_ask() -> None:
    found = inspected()
    none = found.asked[0].model_copy(update={"agreed": None})
    assert now_of(found.model_copy(update={"asked": (none, *found.asked[1:])})) is None
    unasked = now_of(found.model_copy(update={"asked": found.asked[:3]}))
    assert unasked is not None
    assert unasked.resumes is None


@pytest.mark.parametrize(
    ("key", "level"),
    [
        ("RSA 2048", "rsa-2048"),
        ("RSA 3072", "rsa-3072"),
        ("EC P-256", "ec-p256"),
        ("EC P-384", "ec-p384"),
        ("Ed25519", "ed25519"),
        ("RSA 8192", ""),
        ("DSA 1024", ""),
        ("", ""),
    ],
)
def test_a_key_is_a_level_where_a_private_server_can_have_it(key: str, level: str) -> None:
    assert level_of(key) == level
