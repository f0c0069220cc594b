"""Which trials stand for a side of a published table, what they ran, and when two cannot be compared."""

from __future__ import annotations

import pytest

from fake_trials import VALID, Truth, fake_record
from tlstax.contract import Handshakes, Negotiated, TlsView
from tlstax.records.trial import ConnectionsSeen, Trial, TrialRecord, Verdict
from tlstax.study import Case, Level, Part, load_study
from tlstax.study.design import Role
from tlstax.topics.tables.measured import Measured, Shown, Side, part_row, parts_of, why_not_tested

STUDY = load_study("crud-tls")
TRUTH = Truth(100.0, {}, 20.0, 10.0)
VIEW = TlsView(version="TLSv1.2", cipher="X", resumed=None)


def invalid(*reasons: str) -> Verdict:
    return Verdict(value="invalid", reasons=reasons)


def unknown(*reasons: str) -> Verdict:
    return Verdict(value="unknown", reasons=reasons)


def record(
    verdict: Verdict = VALID, *, block: int = 0, role: Role = "treatment", tls: str = "off", **levels: Level
) -> TrialRecord:
    case = Case(levels={"tls": tls, "client": "engine", "workload": "people-select", **levels}, role=role)
    return fake_record(Trial(block=block, position=0, case=case), TRUTH, verdict=verdict)


def side(*records: TrialRecord) -> Side:
    return Measured(STUDY, STUDY.parts, records).side({})


def shown(*records: TrialRecord) -> Shown:
    return side(*records).shown


def test_a_side_is_the_trials_that_have_all_its_levels_but_controls() -> None:
    wanted = record(tls="1.3")
    run = Measured(
        STUDY,
        STUDY.parts,
        (
            wanted,
            record(tls="off"),
            record(tls="1.3", role="control"),
            record(tls="1.3", client="mysqlslap-9.7"),
            record(tls="1.3", block=1, role="baseline", queries=500),
        ),
    )
    found = run.side({"client": "engine"}, {"tls": ("1.2", "1.3")})
    assert [(kept.trial.block, kept.trial.case.role) for kept in found.records] == [
        (0, "treatment"),
        (1, "baseline"),
    ]
    assert found.levels == wanted.trial.case.levels
    nothing = run.side({"tls": "1.1"})
    assert (nothing.records, nothing.levels) == ((), None)
    assert nothing.shown == Shown(standing="not run")


def test_valid_trials_stand_for_a_side_alone() -> None:
    good, bad = record(), record(invalid("it was not so"), block=1)
    found = side(bad, good, bad)
    assert found.records == (good,)
    assert found.shown == Shown(standing="valid", trials=1, left_out=2, ran="plaintext")


def test_where_none_is_valid_all_are_shown_with_the_most_frequent_reason() -> None:
    trials = [
        record(invalid("rare")),
        record(invalid("frequent", "beside that")),
        record(invalid("frequent", "beside that")),
        record(invalid("beside that")),
    ]
    assert side(*trials).records == tuple(trials)
    assert shown(*trials) == Shown(standing="invalid", trials=4, left_out=0, why="frequent", ran="plaintext")
    assert shown(record(invalid())).why == ""


def test_what_is_not_valid_is_invalid_if_any_of_it_is() -> None:
    assert shown(record(unknown("not seen"))).standing == "unknown"
    assert shown(record(unknown()), record(invalid("so"))).standing == "invalid"


def test_what_a_trial_ran_is_the_servers_word_on_the_working_connections() -> None:
    plain, over_tls = record(), record(tls="1.3")
    assert plain.server is not None
    seen = (
        ConnectionsSeen(connections=3, version="TLSv1.3", cipher="X"),
        ConnectionsSeen(connections=2, version=None, cipher=None),
    )
    told = plain.server.model_copy(update={"connections": seen})
    assert shown(plain.model_copy(update={"server": told})).ran == "TLSv1.3 and plaintext"
    encrypted = plain.server.model_copy(update={"connections": seen[:1]})
    assert shown(plain.model_copy(update={"server": encrypted})).ran == "TLSv1.3"
    assert shown(plain, over_tls).ran == "TLSv1.3 and plaintext"
    assert shown(over_tls.model_copy(update={"server": None})).ran == "TLSv1.3"


def test_else_it_is_what_the_window_shook_hands_on() -> None:
    made = record()
    assert made.done is not None
    hands = tuple(
        Handshakes(version=version, cipher="X", group=None, resumed=False, hello_retry=None, count=1)
        for version in ("TLSv1.2", "TLSv1.1")
    )
    window = made.done.window.model_copy(update={"handshakes": hands})
    done = made.done.model_copy(update={"window": window})
    assert shown(made.model_copy(update={"done": done})).ran == "TLSv1.1 and TLSv1.2"


@pytest.mark.parametrize(
    ("server", "client", "ran"),
    [(VIEW, None, "TLSv1.2"), (None, VIEW, "TLSv1.2"), (None, None, "plaintext")],
)
def test_else_it_is_what_either_side_said_before(
    server: TlsView | None, client: TlsView | None, ran: str
) -> None:
    made = record()
    assert made.ready is not None
    told = Negotiated(connections=1, client=client, server=server)
    asked = made.model_copy(update={"ready": made.ready.model_copy(update={"negotiated": (told,)})})
    assert shown(asked).ran == ran
    assert shown(asked.model_copy(update={"done": None, "server": None})).ran == ran


def test_a_trial_that_never_was_ready_ran_nothing() -> None:
    lost = record(invalid("so")).model_copy(update={"ready": None, "done": None, "server": None})
    assert shown(lost).ran == ""


def test_a_study_without_parts_is_one() -> None:
    (whole,) = parts_of(STUDY.model_copy(update={"parts": ()}))
    assert (whole.key, whole.title, whole.within) == ("all", "this run", {})
    assert parts_of(STUDY) == STUDY.parts


def test_a_part_counts_its_trials_and_tells_why_some_are_not_valid() -> None:
    part = Part(
        key="a", title="as published", within={"client": ("engine", "mysqlslap-9.7"), "tls": "off", "x": 1}
    )
    run = Measured(
        STUDY,
        (part,),
        (
            record(x=1),
            record(invalid("rare"), x=1),
            record(invalid("frequent", "beside that"), x=1),
            record(invalid("frequent", "beside that"), x=1),
            record(unknown(), x=1),
            record(invalid("elsewhere"), x=2),
        ),
    )
    found = part_row(part, run)
    assert (found.label, found.case) == ("as published", {"tls": "off"}), "x is no factor, clients are two"
    assert (found.outcome, found.value) == ("trials", 1)
    assert found.more == {"part": "a", "invalid_trials": 3, "unknown_trials": 1, "why": "frequent"}
    nothing = part_row(part, Measured(STUDY, (part,), ()))
    assert (nothing.value, nothing.more["why"]) == (0, "")


def test_a_row_of_a_side_says_all_of_it() -> None:
    side = Shown("invalid", trials=4, left_out=2, why="so", ran="TLSv1.3")
    row = side.row({"tls": "1.3"}, "SELECT", {"published_table": "II", "part": "a", "side": "TLS"})
    assert (row.role, row.label, row.case, row.value) == ("table, side", "SELECT", {"tls": "1.3"}, 4)
    assert (row.more["published_table"], row.more["part"], row.more["side"]) == ("II", "a", "TLS")
    assert Shown.of(row) == side


def of(standing: str, ran: str) -> Shown:
    return Shown(standing=standing, trials=1, ran=ran)


@pytest.mark.parametrize(
    ("first", "other", "why"),
    [
        (of("valid", "plaintext"), of("valid", "TLSv1.3"), ""),
        (of("valid", "TLSv1.3"), of("valid", "TLSv1.3"), ""),
        (of("valid", "plaintext"), Shown(standing="not run"), "it was not run"),
        (of("invalid", "TLSv1.3"), of("valid", "TLSv1.2"), "TLS was compared with TLS"),
        (of("valid", "plaintext"), of("invalid", "plaintext"), "plaintext was compared with plaintext"),
        (of("invalid", "plaintext"), of("valid", "TLSv1.3"), "its trials are invalid"),
        (of("valid", "TLSv1.3"), of("unknown", ""), "its trials are unknown"),
        (of("unknown", "TLSv1.3 and plaintext"), of("invalid", "TLSv1.3"), "its trials are unknown"),
        (of("valid", "plaintext"), of("unknown", ""), "its trials are unknown"),
    ],
)
def test_sides_that_are_not_what_they_are_called_are_not_compared(
    first: Shown, other: Shown, why: str
) -> None:
    assert why_not_tested((first, other)) == why
