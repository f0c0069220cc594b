"""What a tap saw of a case, worked out by hand: round trips, handshakes, and what can be read."""

from __future__ import annotations

from typing import Any

import pytest

from captured_runs import HELLO
from fake_trials import crashed, fake_header, fake_record, tax_truth
from tlstax.findings.connect.captures import captures
from tlstax.plan.order import captures as planned
from tlstax.records.capture import Capture, Conversation, Frame, StatementSeen, TlsSeen, Traffic
from tlstax.records.trial import Changes, StoredRun, TrialRecord, Verdict
from tlstax.results.captures import Captures, CaseCrossed
from tlstax.study import Study, load_study, override

STUDY = override(load_study("tax").model_copy(update={"capture": True}), "workload", ["reconnect"])
COMMAND = Frame(sender="client", what="COM_QUERY", length=13, hex="09")
SQUEEZED = Frame(sender="client", what="compressed packet", length=13, hex="09")
SECRET = Frame(sender="server", what="TLSv1.2 Application Data", length=37, hex="17")


def frames(count: int, *, of: Frame = COMMAND) -> tuple[Frame, ...]:
    """Frames that are told apart by their lengths: 1, 2, 3 …"""
    return tuple(of.model_copy(update={"length": length + 1}) for length in range(count))


def tls(**changes: Any) -> TlsSeen:
    told = {
        "hello": HELLO,
        "version": "TLSv1.3",
        "cipher": "TLS_AES_128_GCM_SHA256",
        "group": "x25519",
        "hello_retry": False,
        "resumed": False,
        "finished": True,
    }
    return TlsSeen(**{**told, **changes})


def talk(**changes: Any) -> Conversation:
    told: dict[str, Any] = {
        "tls": None,
        "statements": (),
        "frames": (),
        "traffic": Traffic(turns=1, bytes_sent=1, bytes_received=1),
        "ended_by": "client",
    }
    return Conversation(**{**told, **changes})


def seen(*talks: Conversation, **changes: Any) -> Capture:
    told: dict[str, Any] = {"entry_port": 1, "server_port": 2, "connections": 4, "conversations": talks}
    return Capture(**{**told, **changes})


def run_of(*records: TrialRecord, study: Study = STUDY, asked: bool = False) -> StoredRun:
    header = fake_header(study).model_copy(update={"changes": Changes(capture=asked)})
    return StoredRun(header=header, status="complete", trials=records)


def record_of(capture: Capture | None, place: int = 0, **changes: Any) -> TrialRecord:
    trial = planned(STUDY)[place]
    record = fake_record(trial, tax_truth(trial.case), duration_s=0.01)
    return record.model_copy(update={"capture": capture, **changes})


def told(stored: StoredRun) -> Captures:
    found = captures(stored)
    assert found is not None
    return found


def crossed(*talks: Conversation, **changes: Any) -> CaseCrossed:
    (found,) = told(run_of(record_of(seen(*talks, **changes)))).cases
    return found


def test_cases_come_in_the_studys_order_with_their_verdicts() -> None:
    invalid = Verdict(value="invalid", reasons=("not encrypted", "and more"))
    found = told(run_of(record_of(seen(), 1, verdict=invalid), record_of(seen())))
    plain, encrypted = found.cases
    assert (plain.label, plain.group) == ("plaintext", "reconnecting for every point select, 8 connections")
    assert (plain.role, plain.verdict, plain.reason) == ("baseline", "valid", "")
    assert plain.case == {"workload": "reconnect", "connections": 8, "tls": "off", "resumption": "off"}
    assert (encrypted.label, encrypted.role) == ("TLS 1.3", "treatment")
    assert (encrypted.verdict, encrypted.reason) == ("invalid", "not encrypted")
    assert (found.without, found.asked_for) == ((), False)
    assert told(run_of(asked=True)).asked_for
    assert captures(run_of(study=STUDY.model_copy(update={"capture": False}))) is None


def ladder(*paths: str) -> Study:
    """A study that compares numbers of connections, on each path."""
    return Study(
        name="ladder",
        title="Ladder",
        question="q",
        factors={"workload": ("reconnect",), "connections": (8, 64), "tls": ("1.3",), "path": paths},
        baseline={"connections": 8},
        capture=True,
    )


def test_a_case_is_called_as_its_study_calls_it() -> None:
    study = ladder("direct")
    records = [crashed(trial) for trial in planned(study)]
    found = told(run_of(*records, study=study)).cases
    assert [one.label for one in found] == ["8 connections", "64 connections"]
    assert [one.group for one in found] == ["TLS 1.3, reconnecting for every point select"] * 2


def test_without_a_tap_there_is_only_the_verdict() -> None:
    (found,) = told(run_of(record_of(None))).cases
    assert (found.verdict, found.connections, found.says, found.reading) == ("valid", 0, "", "none")


def test_only_trials_through_a_tap_are_told() -> None:
    record = record_of(seen())
    plain = record.model_copy(update={"trial": record.trial.model_copy(update={"captured": False})})
    assert told(run_of(plain)).cases == ()


@pytest.mark.parametrize(
    ("factor", "levels", "whys"),
    [
        ("path", ["direct", "unix-socket"], ["a Unix socket has no place for a tap"]),
        ("path", ["direct", "stunnel"], ["stunnel is between client and server, where a tap would be"]),
        (
            "rtt_ms",
            ["0", "10"],
            [
                "in a study with distances all servers stand at their far end, where no tap is",
                "no tap is put into a distance",
            ],
        ),
    ],
)
def test_it_is_said_why_a_case_has_no_tap(factor: str, levels: list[str], whys: list[str]) -> None:
    found = told(run_of(study=override(STUDY, factor, levels)))
    assert list(dict.fromkeys(missing.why for missing in found.without)) == whys
    assert len(found.without) == len(whys) * 4, "four cases that are no control"


def test_a_case_without_a_tap_has_its_whole_name() -> None:
    found = told(run_of(study=ladder("direct", "unix-socket")))
    assert [missing.label for missing in found.without] == [
        "8 connections, TLS 1.3, over a Unix socket, reconnecting for every point select",
        "64 connections, TLS 1.3, over a Unix socket, reconnecting for every point select",
    ]


def test_round_trips_and_bytes_are_for_each_operation() -> None:
    """40 turns and 10 TCP connects in 20 operations are 2.5 each."""
    window = Traffic(turns=40, bytes_sent=500, bytes_received=5000)
    found = crossed(window=window, operations=20, window_connections=10)
    assert (found.operations, found.round_trips_per_operation) == (20, 2.5)
    assert (found.bytes_sent_per_operation, found.bytes_received_per_operation) == (25.0, 250.0)
    for unknown in (crossed(window=None, operations=20), crossed(window=window, operations=0)):
        assert (unknown.operations, unknown.round_trips_per_operation) == (0, None)
        assert (unknown.bytes_sent_per_operation, unknown.bytes_received_per_operation) == (None, None)
    assert crossed(window=window, operations=1).round_trips_per_operation == 40


def test_a_login_takes_its_turns_and_tcps_own() -> None:
    assert crossed(talk(turns_to_login=2)).round_trips_of_login == 3
    assert crossed(talk()).round_trips_of_login is None
    assert crossed().round_trips_of_login is None


def test_handshakes_are_those_of_the_window_where_there_are_any() -> None:
    before = talk(tls=tls(version="TLSv1.2", cipher="before", group="secp256r1", hello_retry=True))
    first = talk(tls=tls(cipher="b", group=None, resumed=True, hello_retry=True), in_window=True)
    second = talk(tls=tls(cipher="a", group="x25519", resumed=True), in_window=True)
    third = talk(tls=tls(cipher="b", hello_retry=True, resumed=True), in_window=True)
    cut_off = talk(tls=tls(version=None, cipher=None, group=None, resumed=True), in_window=True)
    plain = talk(in_window=True)
    found = crossed(before, plain, first, second, third, cut_off)
    assert (found.versions, found.ciphers, found.groups) == (("TLSv1.3",), ("b", "a"), ("x25519",))
    assert (found.handshakes, found.hello_retries, found.resumed) == (3, 2, 3)
    kept = crossed(before)
    assert (kept.versions, kept.handshakes, kept.hello_retries) == (("TLSv1.2",), 1, 1)
    none = crossed(before, plain)
    assert (none.versions, none.handshakes, none.offered) == ((), 0, None)


def test_what_is_offered_is_what_came_first_answered_or_not() -> None:
    other = HELLO.model_copy(update={"offers_session": True})
    cut_off = talk(tls=tls(version=None, hello=other))
    assert crossed(cut_off, talk(tls=tls())).offered == other
    assert crossed(talk(tls=tls()), cut_off).offered == HELLO


def test_the_connection_that_is_shown_is_the_first_of_the_work() -> None:
    silent = talk(turns_to_login=1, in_window=True)
    before = talk(turns_to_login=5, frames=frames(1))
    work = talk(turns_to_login=7, frames=frames(2), in_window=True)
    later = talk(turns_to_login=9, frames=frames(3), in_window=True)
    assert len(crossed(silent, before, work, later).after_login) == 2
    assert crossed(silent, before, work, later).round_trips_of_login == 8
    assert crossed(silent, before).round_trips_of_login == 6
    assert crossed(silent, talk(turns_to_login=3)).round_trips_of_login == 2


def test_only_the_first_frames_and_statements_are_shown() -> None:
    statements = tuple(StatementSeen(command="COM_QUERY", text=f"SELECT {n}") for n in range(30))
    found = crossed(talk(frames=frames(30), statements=statements), window_frames=frames(40))
    assert [frame.length for frame in found.after_login] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [frame.length for frame in found.in_window] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [one.text for one in found.statements] == [f"SELECT {n}" for n in range(20)]
    of_the_work = crossed(talk(frames=frames(1), in_window=True), window_frames=frames(40))
    assert of_the_work.in_window == (), "they are the same as those after the login"
    nobody = crossed(window_frames=frames(2))
    assert (nobody.after_login, nobody.statements, len(nobody.in_window)) == ((), (), 2)


CLEAR = "these bytes are MySQL's protocol in the clear: statements and rows can be read"
INFLATED = "these bytes are compressed and not encrypted: whoever inflates them can read all of it"


@pytest.mark.parametrize(
    ("after_login", "in_window", "encrypted", "reading", "says"),
    [
        ((COMMAND,), (SQUEEZED,), 0, "clear", CLEAR),
        ((), (COMMAND,), 0, "clear", CLEAR),
        ((SQUEEZED,), (COMMAND,), 0, "compressed", INFLATED),
        ((), (SQUEEZED,), 0, "compressed", INFLATED),
        ((SECRET,), (), 4, "encrypted", "these are TLSv1.2 Application Data records: nothing can be read"),
        ((), (SECRET,), 4, "encrypted", "these are TLSv1.2 Application Data records: nothing can be read"),
        ((), (), 4, "none", "nothing crossed the wire after the login"),
        ((), (), 0, "none", "nothing crossed the wire after the login"),
        (
            (SECRET,),
            (),
            1,
            "encrypted",
            "only 1 connection of 4 were encrypted where they crossed the wire",
        ),
        (
            (COMMAND,),
            (),
            3,
            "encrypted",
            "only 3 connections of 4 were encrypted where they crossed the wire",
        ),
    ],
)
def test_it_is_said_what_can_be_read(
    after_login: tuple[Frame, ...], in_window: tuple[Frame, ...], encrypted: int, reading: str, says: str
) -> None:
    found = crossed(talk(frames=after_login), window_frames=in_window, encrypted=encrypted)
    assert (found.connections, found.encrypted, found.reading, found.says) == (4, encrypted, reading, says)
