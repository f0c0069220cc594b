"""What a probe of PostgreSQL's drivers shows: alike drivers together, each trick in its column."""

from __future__ import annotations

import csv
from io import StringIO

from tlstax.records.capture import Conversation, StatementSeen, Traffic
from tlstax.report.formats.terminal import printed_sections
from tlstax.tools.probes.drivers.probed import Cost, Way
from tlstax.tools.probes.postgres_drivers.document import (
    Attack,
    Met,
    Outcome,
    OwnLogin,
    PostgresDriverRow,
    PostgresProbe,
    WordRow,
)
from tlstax.tools.probes.postgres_drivers.probe import STATES, facts
from tlstax.tools.probes.postgres_drivers.tables import ATTACK_HEADS, attack_cells, csv_text, sections


def word(*outcomes: Outcome, **more: object) -> WordRow:
    """A word, and how the driver met each server in order."""
    met = tuple(Met(server=state, outcome=own) for state, own in zip(STATES, outcomes, strict=False))
    known = {"meaning": "require", "written": "sslmode=require", "met": met, **more}
    return WordRow.model_validate(known)


def driver(name: str, *words: WordRow, **more: object) -> PostgresDriverRow:
    known = {"name": name, "product": name, "version": "1", "language": "C", "words": words, **more}
    return PostgresDriverRow.model_validate(known)


def shown(*drivers: PostgresDriverRow) -> str:
    return printed_sections(sections(document(*drivers)), width=100)


def document(*drivers: PostgresDriverRow) -> PostgresProbe:
    return PostgresProbe(
        status="complete", server="postgresql-18", server_version="PostgreSQL 18.6", drivers=drivers
    )


TAKES = word("encrypted", "encrypted", "encrypted", "encrypted", "refused")
VERIFIES = word("encrypted", "refused", "refused", "refused", "refused")


def test_drivers_that_do_the_same_share_a_line() -> None:
    lines = shown(driver("one", TAKES), driver("two", VERIFIES), driver("three", TAKES)).splitlines()
    (alike,) = (line for line in lines if line.startswith("one, three"))
    assert alike.split()[2:] == ["TLS", "TLS", "TLS", "TLS", "refused"]
    (other,) = (line for line in lines if line.startswith("two") and "refused" in line)
    assert other.split()[1:] == ["TLS", "refused", "refused", "refused", "refused"]


def test_of_one_driver_each_word_has_a_line() -> None:
    text = shown(driver("one", TAKES, VERIFIES.model_copy(update={"meaning": "verify-full"})))
    assert "Which server they take: one" in text
    assert [line.split()[0] for line in text.splitlines() if line.endswith("refused")] == [
        "require",
        "verify-full",
    ]


def test_a_word_that_is_not_taken_is_told_with_the_drivers_words_and_not_shown_as_one_that_verifies() -> None:
    refused = word("refused", refused_word='unrecognized configuration parameter "require_auth"')
    text = shown(driver("one", TAKES), driver("two", refused))
    assert 'two, told sslmode=require: unrecognized configuration parameter "require_auth"' in " ".join(
        text.split()
    )
    assert "Which server they take, told: require" in text
    assert not any(line.startswith("two ") and "TLS" in line for line in text.splitlines()[:12])


def test_each_trick_has_its_cell() -> None:
    attacks = (
        Attack(trick="offer taken away", over="clear", connected=True, ran=True, in_clear=True),
        Attack(trick="error", over="clear", repeats_error=True, words="an error"),
        Attack(trick="bytes behind the answer", over="clear", connected=True, ran=True),
        Attack(trick="clear password", over="clear", gave="password", connected=True, ran=True),
        Attack(trick="clear password", over="TLS", gave="password", connected=True, ran=True),
        Attack(trick="md5", over="clear", gave="hash", connected=True, ran=True),
        Attack(trick="md5", over="TLS", words="no"),
        Attack(trick="wrong proof", over="clear", gave="proof", words="no"),
        Attack(trick="wrong proof", over="TLS", gave="proof", words="no"),
        Attack(trick="no proof", over="TLS", gave="proof", connected=True, ran=True),
        Attack(trick="passed on", over="TLS", connected=True, ran=True),
    )
    cells = attack_cells(word(attacks=attacks, takes_any_certificate=True))
    assert dict(zip(ATTACK_HEADS, cells, strict=True)) == {
        "no": "yes",
        "error": "told",
        "behind": "yes",
        "certificate": "yes",
        "password": "both",
        "MD5": "clear",
        "wrong": "no",
        "none": "TLS",
        "at once": "–",
        "passed on": "TLS",
    }


def costed(name: str, *, connect_ms: tuple[float, float], cpu_ms: tuple[float, float]) -> PostgresDriverRow:
    """A driver whose connect takes this long, in the clear and over TLS, each known to half a millisecond."""

    def cost(of_ms: float) -> Cost:
        return Cost(
            value=of_ms * 1e3, low=of_ms * 1e3 - 500, high=of_ms * 1e3 + 500, confidence=0.95, blocks=4
        )

    ways = (
        Way(connect_us=cost(connect), connect_cpu_us=cost(cpu))
        for connect, cpu in zip(connect_ms, cpu_ms, strict=True)
    )
    return driver(name, TAKES, **dict(zip(("plain", "encrypted"), ways, strict=True)))


def test_a_driver_that_waits_for_a_delayed_acknowledgement_is_told() -> None:
    waits = costed("waits", connect_ms=(5, 50), cpu_ms=(1.5, 3.5))
    quick = costed("quick", connect_ms=(5, 9), cpu_ms=(1.5, 3.5))
    computes = costed("computes", connect_ms=(5, 50), cpu_ms=(1.5, 40))
    once = waits.model_copy(
        update={
            "name": "once",
            "encrypted": Way(connect_us=Cost(value=5e4, low=None, high=None, confidence=0.95, blocks=1)),
        }
    )
    told = " ".join(shown(quick, waits, computes, once, driver("unknown", TAKES)).split())
    assert "With waits a connect over TLS takes 35 ms or more longer than in the clear" in told
    assert "TCP_NODELAY" in told
    assert "TCP_NODELAY" not in shown(quick, computes, once)


def test_a_certificate_that_is_refused_ends_what_would_be_asked_behind_it() -> None:
    refused = Attack(trick="clear password", over="TLS", words="certificate verify failed")
    cells = attack_cells(word(attacks=(refused,), takes_any_certificate=False))
    assert cells == ("–", "–", "–", "no", "–", "–", "–", "–", "–", "–")


def test_bytes_behind_the_answer_are_taken_dropped_or_the_end() -> None:
    def cell(**more: object) -> str:
        known = {"trick": "bytes behind the answer", "over": "clear", **more}
        return attack_cells(word(attacks=(Attack.model_validate(known),)))[2]

    assert cell(connected=True, ran=True) == "yes"
    assert cell(gave="proof") == "dropped"
    assert cell(gave="proof", in_clear=True) == "clear"
    assert cell(words="received unencrypted data after SSL response") == "no"


def test_csv_has_a_row_for_each_answer_and_no_formula() -> None:
    login = OwnLogin(over="TLS", mechanism="SCRAM-SHA-256-PLUS")
    attack = Attack(trick="md5", over="clear", gave="hash", connected=True, words="=1+1")
    told = word("encrypted", "refused", logins=(login,), attacks=(attack,))
    rows = list(csv.DictReader(StringIO(csv_text(document(driver("one", told))))))
    assert [(row["by"], row["over"], row["outcome"], row["gave"]) for row in rows] == [
        ("right", "", "encrypted", ""),
        ("unknown authority", "", "refused", ""),
        ("login in order", "TLS", "SCRAM-SHA-256-PLUS", ""),
        ("md5", "clear", "", "hash"),
    ]
    assert rows[-1]["words"] == "'=1+1"


def test_a_drivers_own_statements_are_those_of_a_connection_that_is_opened_and_closed() -> None:
    told = [word(statements_on_connect=None), word(statements_on_connect=("SET a = 1",))]
    assert facts(told)["statements_on_connect"] == ("SET a = 1",)
    text = shown(driver("one", TAKES, statements_on_connect=("SET a = 1",)))
    assert "one: SET a = 1" in text


def test_without_a_handshake_nothing_is_known_of_one() -> None:
    talk = Conversation(
        tls=None,
        statements=(StatementSeen(command="Query", text="SELECT 1"),),
        frames=(),
        traffic=Traffic(turns=3, bytes_sent=1, bytes_received=1),
        ended_by="client",
    )
    clear = word("in the clear").model_copy(
        update={"met": (Met(server="right", outcome="in the clear", conversations=(talk,)),)}
    )
    assert facts([clear]) == {"statements_on_connect": None}


def test_a_driver_that_was_not_probed_says_why() -> None:
    text = shown(driver("one", TAKES), driver("two", failed="it needs cargo"))
    assert "two was not probed: it needs cargo" in text
