"""A probe of PostgreSQL's drivers as a user starts it: real drivers, a real server, and a hostile wire."""

from __future__ import annotations

import json

import pytest
from command_line import Home
from driver_jobs import obtainable

from tlstax.specimens.server_build import ServerBuild
from tlstax.tools.probes.postgres_drivers.document import PostgresDriverRow, PostgresProbe, WordRow
from tlstax.tools.probes.postgres_drivers.words import Meaning

QUICK = "psycopg-3"
OTHERS = ("asyncpg-0.32", "pgx-5")
"""With a protocol of their own: in Python and in Go."""


@pytest.fixture(
    scope="module", params=[QUICK, *(pytest.param(name, marks=pytest.mark.long) for name in OTHERS)]
)
def probed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, postgresql_build: ServerBuild
) -> tuple[PostgresDriverRow, str]:
    """What a driver does, and all that was printed."""
    home = Home(tmp_path_factory.mktemp("probe"))
    name = obtainable(str(request.param))
    done = home.run("drivers", "probe", name, "--no-costs", "--attacks", "--json")
    assert done.returncode == 0, done.stderr
    document = PostgresProbe.model_validate(json.loads(done.stdout))
    assert document.server == postgresql_build.specimen.name
    (row,) = document.drivers
    assert row.failed is None
    return row, done.stdout


def word(row: PostgresDriverRow, meaning: Meaning) -> WordRow:
    return next(own for own in row.words if own.meaning == meaning)


def outcomes(own: WordRow) -> list[str]:
    return [met.outcome for met in own.met]


def test_each_word_meets_each_server_as_it_says(probed: tuple[PostgresDriverRow, str]) -> None:
    row, _ = probed
    assert outcomes(word(row, "disable")) == ["in the clear"] * 5
    assert outcomes(word(row, "prefer")) == [*["encrypted"] * 4, "in the clear"]
    assert outcomes(word(row, "verify-ca")) == ["encrypted", "refused", "encrypted", "refused", "refused"]
    assert outcomes(word(row, "verify-full")) == ["encrypted", *["refused"] * 4]
    assert outcomes(word(row, "require"))[-1] == "refused"


def test_round_trips_are_counted_on_the_wire(probed: tuple[PostgresDriverRow, str]) -> None:
    """TCP, and two turns of SCRAM before the last word; the question for TLS and TLS 1.3 are one each."""
    row, _ = probed
    clear, strict, direct = (word(row, own) for own in ("disable", "verify-full", "direct"))
    assert clear.round_trips_per_connect is not None
    own = clear.round_trips_per_connect
    assert own >= 4
    retried = int(bool(row.hello_retry))
    assert strict.round_trips_per_connect == own + 2 + retried
    assert direct.round_trips_per_connect == own + 1 + retried
    assert row.tls_version == "TLSv1.3"
    assert row.offers_session is False


def test_a_login_in_order_succeeds_at_the_server_that_is_played(
    probed: tuple[PostgresDriverRow, str],
) -> None:
    """Else what is refused there would show nothing."""
    row, _ = probed
    for own in row.words:
        if own.refused_word is None:
            assert own.logins, own.meaning
            assert {(login.words, login.mechanism is not None) for login in own.logins} == {("", True)}


def test_who_verifies_gives_nothing_away(probed: tuple[PostgresDriverRow, str]) -> None:
    row, _ = probed
    for meaning in ("verify-ca", "verify-full", "direct"):
        own = word(row, meaning)
        assert own.takes_any_certificate is False
        for attack in own.attacks:
            assert (attack.connected, attack.ran) == (False, False), attack.trick
            # Some drop the bytes and go on, with the right server.
            assert attack.gave == "nothing" or attack.trick == "bytes behind the answer"


def test_who_does_not_is_deceived_and_the_wire_has_seen_it(probed: tuple[PostgresDriverRow, str]) -> None:
    row, _ = probed
    own = word(row, "prefer")
    taken_away = own.attack("offer taken away", "clear")
    asked = own.attack("clear password", "clear")
    at_once = own.attack("nothing asked", "TLS")
    assert taken_away is not None
    assert taken_away.ran
    assert asked is not None
    assert (asked.gave, asked.ran) == ("password", True)
    assert at_once is not None
    assert (at_once.gave, at_once.ran) == ("nothing", True)
    wrong = own.attack("wrong proof", "TLS")
    assert wrong is not None
    assert (wrong.gave, wrong.connected) == ("proof", False)
    assert wrong.words


def test_each_attack_has_its_messages_and_no_password(probed: tuple[PostgresDriverRow, str]) -> None:
    row, _ = probed
    for own in row.words:
        for attack in own.attacks:
            assert attack.messages, (own.meaning, attack.trick)
    asked = word(row, "prefer").attack("clear password", "clear")
    assert asked is not None
    (given,) = [message for message in asked.messages if message.what == "proof of the account"]
    # A type, a length, a generated password as asterisks, and an end.
    assert set(bytes.fromhex(given.hex)[5:-1]) == {ord("*")}
    assert given.length == len(bytes.fromhex(given.hex))


def test_channel_binding_that_is_required_ends_what_was_not_bound(
    probed: tuple[PostgresDriverRow, str],
) -> None:
    row, _ = probed
    bound = next((own for own in row.words if own.meaning == "bound"), None)
    if bound is None:
        pytest.skip(f"{row.name} has no word for it")
    assert [login.mechanism for login in bound.logins] == ["SCRAM-SHA-256-PLUS"]
    assert {attack.connected for attack in bound.attacks} == {False}
    passed_on = word(row, "require").attack("passed on", "TLS")
    assert passed_on is not None
    assert passed_on.ran, "without it, who passes all on reads all of it"
    assert {attack.gave for attack in bound.attacks} <= {"nothing", "proof"}
