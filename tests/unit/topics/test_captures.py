"""What a tap saw of a case: by hand round trips, handshakes and what can be read; a whole run's document."""

from __future__ import annotations

from typing import Any

import pytest

import golden
from captured_runs import HELLO, TAX, captured_run
from fake_trials import crashed, fake_header, fake_record, fake_run, tax_truth
from tlstax.plan.order import blocks, cases
from tlstax.plan.order import captures as planned
from tlstax.records.capture import Capture, Conversation, Frame, StatementSeen, TlsSeen, Traffic
from tlstax.records.trial import Changes, StoredRun, TrialRecord, Verdict
from tlstax.report.formats.render import FORMATS, render
from tlstax.results.document import FirstBytes, RunDocument
from tlstax.results.rows import Row, Told
from tlstax.run.progress import Outlook
from tlstax.run.resume import spent_s
from tlstax.study import Study, load_study, override
from tlstax.topics.answer.document import document
from tlstax.topics.captures import CAPTURED, NOT_CAPTURED, TOPIC, first_bytes, hexdump
from tlstax.topics.core.section import Items
from tlstax.topics.core.topic import Run
from told_runs import blocks_of

STUDY = override(load_study("tax").model_copy(update={"capture": True}), "workload", ["reconnect"])
LOGIN = "round trips to log in"
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


def told(stored: StoredRun) -> Told:
    return TOPIC.told(Run(stored))


def first_of_each(found: Told) -> list[Row]:
    """A row of each captured case."""
    return list({str(row.case): row for row in reversed(found.of(role=CAPTURED))}.values())[::-1]


def numbers(*talks: Conversation, **changes: Any) -> dict[str, float | None]:
    """What was counted of the one case, by its name."""
    found = told(run_of(record_of(seen(*talks, **changes))))
    return {row.outcome: row.value for row in found.of(role=CAPTURED)}


def agreed(*talks: Conversation) -> tuple[str, ...]:
    row = first_of_each(told(run_of(record_of(seen(*talks)))))[0]
    return tuple(row.word(name) for name in ("tls_versions", "ciphers", "key_groups"))


def bytes_of(*talks: Conversation, **changes: Any) -> FirstBytes:
    (found,) = first_bytes(run_of(record_of(seen(*talks, **changes))))
    return found


def test_cases_come_in_the_studys_order_with_their_verdicts() -> None:
    invalid = Verdict(value="invalid", reasons=("not encrypted", "and more"))
    found = told(run_of(record_of(seen(), 1, verdict=invalid), record_of(seen())))
    plain, encrypted = first_of_each(found)
    group = "reconnecting for every point select, 8 connections"
    assert (plain.label, plain.word("group_words")) == ("plaintext", group)
    assert (plain.judgement, plain.caveats, plain.blocks) == ("valid", (), 1)
    assert plain.case == {"workload": "reconnect", "connections": 8, "tls": "off", "resumption": "off"}
    assert encrypted.label == "TLS 1.3"
    assert (encrypted.judgement, encrypted.caveats) == ("invalid", ("not encrypted",))
    assert found.of(role=NOT_CAPTURED) == ()
    notes = TOPIC.sections(found, RunDocument.model_construct())
    (items,) = (one for section in notes for one in blocks_of(section, roomy=True) if isinstance(one, Items))
    assert items.texts == ("TLS 1.3: captured, and invalid: not encrypted",)


def test_it_is_said_of_each_case_what_can_be_read_where_the_user_asked_to_see_it() -> None:
    record = record_of(seen(talk(frames=(COMMAND,))))
    group = "reconnecting for every point select, 8 connections"
    assert told(run_of(record, asked=True)).sentences == (
        f"Plaintext ({group}): {CLEAR[0].upper()}{CLEAR[1:]}",
    )
    assert told(run_of(record)).sentences == ()


def test_a_run_that_was_not_to_be_captured_has_nothing() -> None:
    without = run_of(record_of(seen()), study=STUDY.model_copy(update={"capture": False}))
    assert told(without).rows == ()
    assert first_bytes(without) == ()


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
    found = first_of_each(told(run_of(*records, study=study)))
    assert [row.label for row in found] == ["8 connections", "64 connections"]
    assert [row.word("group_words") for row in found] == ["TLS 1.3, reconnecting for every point select"] * 2


def test_without_a_tap_there_is_only_the_verdict() -> None:
    found = told(run_of(record_of(None))).rows
    assert [(row.outcome, row.value) for row in found] == [("connections", 0), ("encrypted connections", 0)]
    assert {(row.judgement, row.negotiated) for row in found} == {("valid", "–")}
    assert first_bytes(run_of(record_of(None))) == ()


def test_only_trials_through_a_tap_are_told_and_no_control() -> None:
    record = record_of(seen())
    control = next(case for case in cases(STUDY) if case.role == "control")
    for update in ({"captured": False}, {"case": control}):
        other = record.model_copy(update={"trial": record.trial.model_copy(update=update)})
        assert told(run_of(other)).rows == ()


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
    found = told(run_of(study=override(STUDY, factor, levels))).of(role=NOT_CAPTURED)
    assert list(dict.fromkeys(row.caveats for row in found)) == [(why,) for why in whys]
    assert len(found) == len(whys) * 4, "four cases that are no control"


def test_a_case_without_a_tap_has_its_whole_name() -> None:
    found = told(run_of(study=ladder("direct", "unix-socket")))
    assert [row.label for row in found.of(role=NOT_CAPTURED)] == [
        "8 connections, TLS 1.3, over a Unix socket, reconnecting for every point select",
        "64 connections, TLS 1.3, over a Unix socket, reconnecting for every point select",
    ]


def test_round_trips_and_bytes_are_for_each_operation() -> None:
    """40 turns and 10 TCP connects in 20 operations are 2.5 each."""
    window = Traffic(turns=40, bytes_sent=500, bytes_received=5000)
    found = numbers(window=window, operations=20, window_connections=10)
    per_operation = {
        "round trips per operation": 2.5,
        "bytes sent per operation": 25.0,
        "bytes received per operation": 250.0,
        "operations": 20,
    }
    assert per_operation.items() <= found.items()
    rows = told(run_of(record_of(seen(window=window, operations=20)))).of(role=CAPTURED)
    in_bytes = {"bytes sent per operation", "bytes received per operation"}
    assert {row.outcome for row in rows if row.unit == "B"} == in_bytes
    assert {row.unit for row in rows} == {"1", "B"}
    for unknown in (numbers(window=None, operations=20), numbers(window=window, operations=0)):
        assert not per_operation.keys() & unknown.keys()
    assert numbers(window=window, operations=1)["round trips per operation"] == 40


def test_a_login_takes_its_turns_and_tcps_own() -> None:
    assert numbers(talk(turns_to_login=2))[LOGIN] == 3
    assert LOGIN not in numbers(talk())
    assert LOGIN not in numbers()


def handshakes(*talks: Conversation) -> tuple[float | None, ...]:
    """How many there are, how many met a HelloRetryRequest, and how many were resumed."""
    found = numbers(*talks)
    return tuple(
        found[name] for name in ("handshakes", "handshakes with a HelloRetryRequest", "resumed handshakes")
    )


def test_handshakes_are_those_of_the_window_where_there_are_any() -> None:
    before = talk(tls=tls(version="TLSv1.2", cipher="before", group="secp256r1", hello_retry=True))
    first = talk(tls=tls(cipher="b", group=None, resumed=True, hello_retry=True), in_window=True)
    second = talk(tls=tls(cipher="a", group="x25519", resumed=True), in_window=True)
    third = talk(tls=tls(cipher="b", hello_retry=True, resumed=True), in_window=True)
    cut_off = talk(tls=tls(version=None, cipher=None, group=None, resumed=True), in_window=True)
    plain = talk(in_window=True)
    everything = (before, plain, first, second, third, cut_off)
    assert agreed(*everything) == ("TLSv1.3", "b or a", "x25519")
    assert handshakes(*everything) == (3, 2, 3)
    assert agreed(before) == ("TLSv1.2", "before", "secp256r1")
    assert handshakes(before) == (1, 1, 0)
    assert agreed(before, plain) == ("", "", "")
    assert handshakes(before, plain) == (0, 0, 0)
    assert bytes_of(before, plain).offered is None


def test_what_is_offered_is_what_came_first_answered_or_not() -> None:
    other = HELLO.model_copy(update={"offers_session": True})
    cut_off = talk(tls=tls(version=None, hello=other))
    assert bytes_of(cut_off, talk(tls=tls())).offered == other
    assert bytes_of(talk(tls=tls()), cut_off).offered == HELLO


def test_the_connection_that_is_shown_is_the_first_of_the_work() -> None:
    silent = talk(turns_to_login=1, in_window=True)
    before = talk(turns_to_login=5, frames=frames(1))
    work = talk(turns_to_login=7, frames=frames(2), in_window=True)
    later = talk(turns_to_login=9, frames=frames(3), in_window=True)
    assert len(bytes_of(silent, before, work, later).after_login) == 2
    assert numbers(silent, before, work, later)[LOGIN] == 8
    assert numbers(silent, before)[LOGIN] == 6
    assert numbers(silent, talk(turns_to_login=3))[LOGIN] == 2


def test_only_the_first_frames_and_statements_are_shown() -> None:
    statements = tuple(StatementSeen(command="COM_QUERY", text=f"SELECT {n}") for n in range(30))
    found = bytes_of(talk(frames=frames(30), statements=statements), window_frames=frames(40))
    assert [frame.length for frame in found.after_login] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [frame.length for frame in found.in_window] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [one.text for one in found.statements] == [f"SELECT {n}" for n in range(20)]
    of_the_work = bytes_of(talk(frames=frames(1), in_window=True), window_frames=frames(40))
    assert of_the_work.in_window == (), "they are the same as those after the login"
    no_talk = bytes_of(window_frames=frames(2))
    assert (no_talk.after_login, no_talk.statements, len(no_talk.in_window)) == ((), (), 2)


CLEAR = "these bytes are MySQL's protocol in the clear: statements and rows can be read"
INFLATED = "these bytes are compressed and not encrypted: whoever inflates them can read all of it"


@pytest.mark.parametrize(
    ("after_login", "in_window", "encrypted", "says"),
    [
        ((COMMAND,), (SQUEEZED,), 0, CLEAR),
        ((), (COMMAND,), 0, CLEAR),
        ((SQUEEZED,), (COMMAND,), 0, INFLATED),
        ((), (SQUEEZED,), 0, INFLATED),
        ((SECRET,), (), 4, "these are TLSv1.2 Application Data records: nothing can be read"),
        ((), (SECRET,), 4, "these are TLSv1.2 Application Data records: nothing can be read"),
        ((), (), 4, "nothing crossed the wire after the login"),
        ((), (), 0, "nothing crossed the wire after the login"),
        (
            (SECRET,),
            (),
            1,
            "only 1 of 4 connections was encrypted on the wire",
        ),
        (
            (COMMAND,),
            (),
            3,
            "only 3 of 4 connections were encrypted on the wire",
        ),
    ],
)
def test_it_is_said_what_can_be_read(
    after_login: tuple[Frame, ...], in_window: tuple[Frame, ...], encrypted: int, says: str
) -> None:
    of_case: Any = {"window_frames": in_window, "encrypted": encrypted}
    found = numbers(talk(frames=after_login), **of_case)
    assert (found["connections"], found["encrypted connections"]) == (4, encrypted)
    assert bytes_of(talk(frames=after_login), **of_case).says == says


def test_postgresql_is_said_to_be_that_and_how_far_its_login_could_be_read() -> None:
    query = COMMAND.model_copy(update={"what": "Query"})
    login = ("StartupMessage", "AuthenticationSASL")
    found = bytes_of(talk(frames=(query,), spoken="postgresql", login=login))
    assert found.says == CLEAR.replace("MySQL", "PostgreSQL")
    assert (found.login, found.is_direct) == (login, False)
    assert bytes_of(talk(frames=(query,), spoken="mysql", login=login)).login == ()
    hello = HELLO.model_copy(update={"protocols": ("postgresql",)})
    direct = talk(frames=(SECRET,), spoken="postgresql", is_direct=True, tls=tls(hello=hello))
    asked = talk(frames=(SECRET,), spoken="postgresql", login=("SSLRequest", "yes (S)"), tls=tls())
    for one, shown in (
        (direct, ("; to speak postgresql within (ALPN)", "TLS was begun at once")),
        (asked, ("Read until the login&#39;s end: SSLRequest, yes (S)",)),
    ):
        run = run_of(record_of(seen(one, encrypted=4)))
        page = render(run, document(run), "html")
        for text in shown:
            assert text in page


@pytest.mark.parametrize(
    ("connections", "encrypted", "words"),
    [(0, 0, "–"), (4, 0, "no"), (4, 4, "TLSv1.3 TLS_AES_128_GCM_SHA256 x25519"), (4, 3, "3 of 4: TLSv1.3")],
)
def test_what_was_agreed_on_is_said_in_words(connections: int, encrypted: int, words: str) -> None:
    found = told(run_of(record_of(seen(talk(tls=tls()), connections=connections, encrypted=encrypted))))
    assert {row.negotiated.startswith(words) for row in found.rows} == {True}


def test_what_a_run_shows_that_was_asked_to_capture() -> None:
    run = captured_run(override(override(TAX, "workload", ["reconnect"]), "tls", ["off", "1.3"]))
    asked = run.header.model_copy(update={"changes": Changes(capture=True)})
    asking = run.model_copy(update={"header": asked})
    shown = golden.check("captures", asking, TOPIC)
    dump = "00000000  09 00 00 00 03 53 45 4c  45 43 54 20 31           |.....SELECT 1|"
    assert dump in render(asking, shown.document, "md")
    assert dump in render(run, document(run), "html")
    for form in set(FORMATS) - {"html", "json"}:
        assert dump not in render(run, document(run), form), f"{form}: not asked for"


def test_nothing_is_estimated_from_a_captured_trial_and_it_takes_none_of_the_budget() -> None:
    run = captured_run()
    plain = fake_run(TAX.model_copy(update={"capture": False}), number_of_blocks=3, invalid=False)
    assert document(run).findings == document(plain).findings
    assert document(run).trials == document(plain).trials
    assert "captures" not in document(plain).topics
    assert spent_s(run) == pytest.approx(spent_s(plain))
    trials = planned(TAX)
    outlook = Outlook(TAX, 0.1, 0.0, now_s=0.0)
    step = outlook.step(trials[0], 5.0)
    assert (step.place, step.of, step.left_s) == (1, len(trials), TAX.budget_s)
    assert step.label.startswith("capturing plaintext")
    first = next(iter(blocks(TAX, 1, {(-1, trial.position) for trial in trials})))[0]
    outlook.step(first, 20.0)
    assert outlook.spent_s(21.0) == pytest.approx(1.0)


def test_a_hexdump_is_as_people_know_it() -> None:
    assert list(hexdump(b"0123456789abcdef\0\xff|")) == [
        "00000000  30 31 32 33 34 35 36 37  38 39 61 62 63 64 65 66  |0123456789abcdef|",
        "00000010  00 ff 7c                                          |..||",
    ]
