"""A captured trial is what went through the tap: as many connections as were made, encrypted as claimed."""

from __future__ import annotations

from captured_runs import captured_record
from check_by_check import doubts
from tlstax.checks import judge
from tlstax.checks.network import crossed
from tlstax.contract import TlsUnset
from tlstax.contract.job import PostgreSqlServer
from tlstax.plan.order import cases
from tlstax.records.capture import Capture
from tlstax.records.trial import Trial, TrialRecord
from tlstax.study import load_study

CASES = cases(load_study("tax"))
PLAIN = next(case for case in CASES if case.levels["tls"] == "off")
TLS = next(case for case in CASES if case.levels["tls"] == "1.3" and case.levels["workload"] == "reconnect")


def record_of(tls: str) -> TrialRecord:
    case = PLAIN if tls == "off" else TLS
    return captured_record(Trial(block=-1, position=0, case=case, captured=True))


def seen(record: TrialRecord, **changes: object) -> TrialRecord:
    capture = record.capture
    assert capture is not None
    return record.model_copy(update={"capture": capture.model_copy(update=changes)})


def capture_of(record: TrialRecord) -> Capture:
    assert record.capture is not None
    return record.capture


def test_what_crossed_as_the_case_has_it_is_no_doubt() -> None:
    for tls in ("off", "1.3"):
        assert judge(record_of(tls)).value == "valid"
        assert doubts(crossed, record_of(tls)) == []


def test_only_captured_trials_are_asked_for_a_tap() -> None:
    record = record_of("1.3").model_copy(update={"capture": None})
    assert doubts(crossed, record) == [("unknown", "no tap saw what crossed the wire")]
    ordinary = record.trial.model_copy(update={"captured": False})
    assert doubts(crossed, record.model_copy(update={"trial": ordinary})) == []


def test_every_connection_must_have_gone_through_the_tap() -> None:
    record = record_of("off")
    made = capture_of(record).connections
    assert doubts(crossed, seen(record, connections=made - 1)) == [
        ("invalid", f"{made - 1} connections went through the tap, the client made {made}")
    ]


def test_every_connection_must_be_encrypted_or_none() -> None:
    record = record_of("1.3")
    made = capture_of(record).connections
    assert doubts(crossed, seen(record, encrypted=made - 1)) == [
        (
            "invalid",
            f"{made - 1} of {made} connections were encrypted on the wire, and {made} must be",
        )
    ]
    plain = record_of("off")
    made = capture_of(plain).connections
    said = f"1 of {made} connections was encrypted on the wire, and none must be"
    assert doubts(crossed, seen(plain, encrypted=1)) == [("invalid", said)]
    nameless = {name: level for name, level in PLAIN.levels.items() if name != "tls"}
    assert doubts(crossed, seen(plain, encrypted=1), nameless) == [("invalid", said)], "no level is plaintext"


def test_what_is_left_to_the_driver_may_be_either() -> None:
    record = seen(record_of("1.3"), encrypted=1)
    assert record.job is not None
    unset = record.model_copy(update={"job": record.job.model_copy(update={"tls": TlsUnset()})})
    assert doubts(crossed, unset) == []
    assert doubts(crossed, record.model_copy(update={"job": None})) == []


def test_every_handshake_must_have_chosen_the_version() -> None:
    record = record_of("1.3")
    (one,) = capture_of(record).conversations
    assert one.tls is not None
    older = one.model_copy(update={"tls": one.tls.model_copy(update={"version": "TLSv1.2"})})
    unfinished = one.model_copy(update={"tls": one.tls.model_copy(update={"version": None})})
    plain = one.model_copy(update={"tls": None})
    changed = seen(record, conversations=(older, one, older, unfinished, plain))
    assert doubts(crossed, changed) == [("invalid", "2 of the handshakes on the wire chose TLSv1.2")]
    both = seen(record_of("off"), conversations=(older,))
    assert doubts(crossed, both) == [], "that none may be encrypted is counted, not read off a version"


def of_postgres(record: TrialRecord, *, direct: bool = False, **changes: object) -> TrialRecord:
    """The record of a job for PostgreSQL, and of each connection what is told beside."""
    assert record.job is not None
    server = PostgreSqlServer(ssl_negotiation="direct" if direct else "request")
    told = {"spoken": "postgresql", "is_direct": direct, **changes}
    conversations = tuple(one.model_copy(update=told) for one in capture_of(record).conversations)
    job = record.job.model_copy(update={"server": server})
    return seen(record, conversations=conversations).model_copy(update={"job": job})


def test_what_is_spoken_must_be_the_servers_protocol() -> None:
    assert doubts(crossed, of_postgres(record_of("off"))) == []
    said = [("invalid", "1 connection spoke the protocol of mysql on the wire")]
    assert doubts(crossed, of_postgres(record_of("off"), spoken="mysql")) == said


def test_a_connection_of_which_nothing_was_read_speaks_no_other_protocol() -> None:
    """Several that do are told together, each protocol by itself."""
    record = of_postgres(record_of("off"), spoken=None)
    assert doubts(crossed, record) == []
    (one,) = capture_of(of_postgres(record_of("off"))).conversations
    others = tuple(one.model_copy(update={"spoken": spoken}) for spoken in ("mysql", None, "mysql", "http"))
    assert doubts(crossed, seen(record, conversations=(one, *others))) == [
        ("invalid", "2 connections spoke the protocol of mysql on the wire"),
        ("invalid", "1 connection spoke the protocol of http on the wire"),
    ]
    assert doubts(crossed, seen(record_of("off"), conversations=(one,))) == [
        ("invalid", "1 connection spoke the protocol of postgresql on the wire")
    ]


def test_tls_must_begin_as_the_job_has_it() -> None:
    for direct, how in ((True, "after a question to the server"), (False, "at once")):
        assert doubts(crossed, of_postgres(record_of("1.3"), direct=direct)) == []
        said = [("invalid", f"1 of the handshakes on the wire was begun {how}")]
        assert doubts(crossed, of_postgres(record_of("1.3"), direct=direct, is_direct=not direct)) == said


def test_nothing_may_come_between_the_yes_to_tls_and_the_clienthello() -> None:
    record = of_postgres(record_of("1.3"), before_hello_bytes=23)
    said = (
        "bytes in the clear after it agreed to TLS, before the ClientHello; a client must not take them "
        "(CVE-2021-23222)"
    )
    assert doubts(crossed, record) == [("invalid", f"the server sent 23 {said}")]
    (one,) = capture_of(record).conversations
    assert doubts(crossed, seen(record, conversations=(one, one))) == [
        ("invalid", f"the server sent 46 {said}")
    ]
