"""What is shared says nothing of whose server it is, and all else stays."""

from __future__ import annotations

import pytest

from inspected_servers import certificate, inspected, program
from tlstax.findings.advice.redact import redacted
from tlstax.results.advice import Advice, SeenUse
from tlstax.results.inspection import Certificate, Concern

SECRETS = ("db7.corp.example", "Corp Root 5", "orders-app", "10.1.2.3", "b" * 64)


def advice(server: str = "db7.corp.example:3307") -> Advice:
    own = Certificate.model_validate(
        {
            **certificate().model_dump(),
            "subject": "CN=db7.corp.example,O=Corp",
            "issuer": "CN=Corp Root 5",
            "names": ("db7.corp.example", "10.1.2.3"),
            "sha256": "b" * 64,
        }
    )
    concern = Concern(
        danger="unsafe",
        what="the certificate of CN=db7.corp.example,O=Corp ended; orders-app verifies nobody",
        why="so clients of db7.corp.example:3307 refuse it",
        remedy="renew it",
    )
    found = inspected(chain=(own,), programs=(program(3).model_copy(update={"program": "orders-app"}),))
    return Advice(
        inspected=found.model_copy(update={"server": server, "concerns": (concern,)}),
        use=SeenUse(connects_per_s=None, statements=10, answer_bytes=120, source="assumed"),
        advised=(),
        little=(),
        stand_in="mysql-9.7",
        runs=("20261126-000000-abcd",),
        connections_there=34,
        spent_there="",
        not_measured=("times at the server itself: db7.corp.example:3307 has no free connection",),
        status="complete",
    )


def test_no_name_is_left_anywhere() -> None:
    text = redacted(advice()).model_dump_json()
    for secret in SECRETS:
        assert secret in advice().model_dump_json()
        assert secret not in text
    assert "the server has no free connection" in text


def test_all_else_stays() -> None:
    before, after = advice(), redacted(advice())
    assert after.stand_in == "mysql-9.7"
    assert after.runs == before.runs
    assert after.use == before.use
    assert after.inspected.asked == before.inspected.asked
    assert after.inspected.chain[0].key == "RSA 2048"
    (concern,) = after.inspected.concerns
    assert concern.remedy == "renew it"
    assert concern.what == "the certificate of (left out) ended; (left out) verifies nobody"
    assert after.inspected.server == "the server"


@pytest.mark.parametrize("name", ["unsafe", "assumed", "complete", "version"])
def test_a_server_that_is_named_like_a_word_of_the_document_breaks_nothing(name: str) -> None:
    after = redacted(advice(f"{name}:3306"))
    assert after.inspected.server == "the server"
    assert after.status == "complete"


def test_a_part_of_a_longer_word_is_no_name() -> None:
    found = advice("base:3306")
    assert redacted(found).not_measured == (
        "times at the server itself: (left out):3307 has no free connection",
    )
