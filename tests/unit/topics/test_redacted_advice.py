"""What is shared says nothing of whose server it is, and what we say of it stays."""

from __future__ import annotations

import pytest

from inspected_servers import certificate, inspected, program
from made_advice import advice as made
from tlstax.results.inspection import Asked, Certificate, Concern, ServerWord
from tlstax.stats.programs import all_programs
from tlstax.topics.advice.advise import Advice, steps_for
from tlstax.topics.advice.redact import PUBLIC, redacted

SECRETS = ("db7.corp.example", "Corp Root 5", "orders-app", "10.1.2.3", "b" * 64, "jd", "12:34:56")


def advice(server: str = "db7.corp.example:3307") -> Advice:
    own = Certificate.model_validate(
        {
            **certificate().model_dump(),
            "subject": "CN=db7.corp.example,O=jd",
            "issuer": "CN=Corp Root 5",
            "names": ("db7.corp.example", "10.1.2.3"),
            "sha256": "b" * 64,
            "not_after": "2028-01-01T12:34:56+00:00",
        }
    )
    concern = Concern(
        danger="unsafe",
        what="the certificate of CN=db7.corp.example,O=jd ended; orders-app verifies nobody",
        why="so clients of db7.corp.example:3307 refuse it",
        remedy="renew it",
    )
    refused = Asked(topic="version", name="TLS 1.0", why_not="jd has no TLS 1.0 at db7.corp.example")
    found = inspected(
        chain=(own,),
        programs=(program(3).model_copy(update={"program": "orders-app", "client": "libmysql of jd"}),),
    )
    word = ServerWord(
        version="9.7.4-jd",
        tls_library="OpenSSL 3.5.5 jd",
        account_plugin="jd",
        requires_tls=None,
        account_is_encrypted=True,
    )
    found = found.model_copy(
        update={"asked": (refused,), "server": server, "concerns": (concern,), "word": word}
    )
    return made(
        inspected=found,
        not_measured=("times at the server itself: db7.corp.example:3307 has no free connection",),
    )


def test_every_field_is_classified() -> None:
    assert PUBLIC.unclassified(Advice) == []


@pytest.mark.parametrize("server", ["db7.corp.example:3307", "jd:3306", "unsafe:3306", "complete:1"])
def test_no_name_is_left_anywhere(server: str) -> None:
    found = redacted(advice(server))
    text = found.model_dump_json()
    for secret in SECRETS:
        assert secret in advice().model_dump_json()
        assert secret not in text
    assert found.inspected.server == "the server"
    assert found.status == "complete"


def test_what_we_say_of_it_stays() -> None:
    before, after = advice(), redacted(advice())
    assert after.stand_in == before.stand_in == "mysql-9.7"
    assert after.runs == before.runs
    assert after.use == before.use
    assert [own.saving for own in after.advised] == [own.saving for own in before.advised]
    assert after.inspected.chain[0].key == "RSA 2048"
    assert after.inspected.chain[0].not_after[:10] == "2028-01-01"
    assert after.inspected.word.version == "9.7.4"
    assert after.inspected.inside.programs[0].client == "libmysql"


@pytest.mark.parametrize(
    ("name", "stays"),
    [("TLS 1.0", True), ("x448", True), ("AES128-SHA", True), ("ECDHE with AES-GCM", True), ("jd", False)],
)
def test_what_the_server_was_asked_for_stays_by_its_public_name(name: str, stays: bool) -> None:
    (asked,) = PUBLIC.of(
        advice().inspected.model_copy(update={"asked": (Asked(topic="suite", name=name),)})
    ).asked
    assert asked.name == (name if stays else "(left out)")


def test_the_lines_to_paste_stay() -> None:
    for change in ("certificate", "resumption", "group", "pool", "version", "chain", "compression"):
        for version in ("9.7.4", "11.8.3-MariaDB"):
            steps = steps_for(change, version, all_programs())  # type: ignore[arg-type]
            for step in steps:
                assert PUBLIC.of(step) == step
