"""HelloRetryRequests: who met them, what avoids them and how dear they are, by hand and in a fake world."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

import golden
from fake_retries import (
    CONTROL,
    DEFAULT,
    FIRST,
    LIFTED,
    STUDY,
    calm,
    record_of,
    retried,
    shake,
    study_of,
    wire,
)
from fake_trials import Truth, fake_run, reconnecting, untrue
from tlstax.contract import PhaseWire
from tlstax.plan.order import cases, plan
from tlstax.records.trial import ServerClaim, StoredRun, TrialRecord
from tlstax.report.formats.markdown import markdown
from tlstax.report.formats.terminal import terminal
from tlstax.results.document import RunDocument
from tlstax.results.interval import Interval
from tlstax.results.rows import Row, Told
from tlstax.stats.series import Series
from tlstax.study import Case, Study, load_study, override
from tlstax.study.factors import CaseLevels
from tlstax.study.labels import full_label
from tlstax.topics.answer.document import document
from tlstax.topics.answer.headline import headline
from tlstax.topics.hello_retry import AVOIDED, COST, KIND, RETRIED, TOPIC, asks, command, remedy
from told_runs import run_of

SERVER_CPU, CLIENT_CPU = "server_cpu_us_per_op", "client_cpu_us_per_op"
Values = Mapping[str, Sequence[float]]
"""An outcome's values, block by block."""


def found_in(
    *records: TrialRecord,
    study: Study = STUDY,
    values: Sequence[tuple[Case, Values]] = (),
    control: Values | None = None,
) -> Told:
    """What is found in these trials, whose CPU and times were these; the baseline's control's were others."""

    def blocks(of: Values) -> dict[int, dict[str, float]]:
        number = len(next(iter(of.values())))
        return {block: {name: each[block] for name, each in of.items()} for block in range(number)}

    planned = {case.levels: case for case in cases(study) if case.role != "control"}
    measured = {case.levels: blocks(of) for case, of in values}
    controls = {CaseLevels.of(cases(study)[0].levels): blocks(control)} if control else {}
    return TOPIC.told(run_of(Series(study, planned, measured, controls), measured=records))


def retries(*records: TrialRecord, **given: Any) -> Told:
    found = found_in(*records, **given)
    assert found.rows
    return found


def one(*records: TrialRecord, **given: Any) -> Row:
    """The one case that was retried."""
    (found,) = retries(*records, **given).of(role=RETRIED)
    return found


def avoiders(found: Told, case: Row) -> tuple[Row, ...]:
    return tuple(row for row in found.of(role=AVOIDED) if row.case == case.case)


def avoided(*records: TrialRecord, **given: Any) -> Row:
    """The one case that avoids the retry of another."""
    (found,) = retries(*records, **given).of(role=AVOIDED)
    return found


def costs(*records: TrialRecord, **given: Any) -> dict[str, Row]:
    return {row.outcome: row for row in retries(*records, **given).of(role=COST)}


def extra(cost: Row) -> Interval:
    assert cost.interval is not None
    assert cost.of == "difference"
    return cost.interval


def kinds(*records: TrialRecord, **given: Any) -> list[tuple[object, ...]]:
    """Server, groups offered and taken, whether resumed, and how many were made and retried."""
    return [
        (
            *(kind.word(name) for name in ("server_words", "offered_group", "agreed_group")),
            kind.outcome.startswith("resumed"),
            kind.baseline_value,
            kind.value,
        )
        for kind in retries(*records, **given).of(role=KIND)
    ]


def test_handshakes_are_counted_by_what_they_have_in_common() -> None:
    again = (shake(3), shake(4, resumed=True), shake(5, hello_retry=False), shake(6, group="x25519"))
    records = [
        record_of(DEFAULT, *again),
        record_of(DEFAULT, shake(7), block=1),
        record_of(FIRST, shake(9, hello_retry=False)),
    ]
    server = "the server (9.7.4)"
    assert kinds(*records) == [
        (server, "default", "P-256", False, 15, 10),
        (server, "default", "P-256", True, 4, 4),
        (server, "default", "X25519", False, 6, 6),
        (server, "P-256-first", "P-256", False, 9, 0),
    ]
    first = retries(*records).rows[0]
    assert (first.negotiated, first.word("client_library")) == ("TLSv1.3 P-256", "OpenSSL 3.5.5")
    case = one(*records)
    assert (case.baseline_value, case.value, case.word("agreed_group")) == (25, 20, "P-256")


def test_a_group_that_is_no_level_keeps_its_registered_name() -> None:
    assert kinds(record_of(DEFAULT, shake(group="ffdhe2048")))[0][2] == "ffdhe2048"
    assert kinds(record_of(DEFAULT, shake(group=None)))[0][2] == ""


def test_only_handshakes_that_could_tell_of_a_retry_count() -> None:
    telling = record_of(DEFAULT, shake(version="TLSv1.2"), shake(hello_retry=None), shake(2))
    assert kinds(telling)[0][4:] == (2, 2)
    silent = record_of(DEFAULT, shake(version="TLSv1.2"), shake(hello_retry=None))
    spoiled = untrue(record_of(DEFAULT, shake(90)), "no")
    endless = retried().model_copy(update={"done": None})
    assert kinds(silent, spoiled, endless, record_of(DEFAULT, shake(2)))[0][4:] == (2, 2)
    assert found_in(silent, spoiled, endless).rows == ()


def test_cases_come_in_the_studys_order() -> None:
    offered = [kind[1] for kind in kinds(calm(), retried())]
    assert offered == ["default", "P-256-first"]


def server_named(record: TrialRecord) -> str:
    return retries(record).rows[0].word("server_words")


def test_a_server_is_called_by_what_it_was_meant_to_be() -> None:
    claim = ServerClaim(name="mariadb-11.8", version="1", program="p", pid=1, data_directory="d")
    assert server_named(retried()) == "the server (9.7.4)"
    assert server_named(retried().model_copy(update={"server": None})) == "the server"
    assert server_named(retried().model_copy(update={"claim": claim})) == "mariadb-11.8"
    study = study_of(
        ("none", "default"),
        ("groups-lifted", "default"),
        server=("mysql-9.7",),
        tls_library=("openssl-3.5.5",),
    )
    plain, _, lifted = cases(study)
    kinds_seen = retries(retried(plain), calm(lifted), study=study).of(role=KIND)
    names = [kind.word("server_words") for kind in kinds_seen]
    assert names == [
        "mysql-9.7 over openssl-3.5.5",
        "mysql-9.7 over openssl-3.5.5 with its TLS groups lifted (a variant of ours)",
    ]


def test_without_a_library_of_the_clients_there_is_no_name_of_one() -> None:
    record = retried()
    assert record.ready is not None
    other = record.ready.model_copy(update={"tls_library": None})
    for ready in (None, other):
        (kind,) = retries(record.model_copy(update={"ready": ready})).of(role=KIND)
        assert kind.more["client_library"] == ""
    assert record.ready.tls_library is not None
    dated = record.ready.tls_library.model_copy(update={"version": "OpenSSL 3.0.2 15 Mar 2022"})
    ready = record.ready.model_copy(update={"tls_library": dated})
    (kind,) = retries(record.model_copy(update={"ready": ready})).of(role=KIND)
    assert kind.word("client_library") == "OpenSSL 3.0.2"


def test_a_control_counts_as_handshakes_and_as_no_cost() -> None:
    control = record_of(CONTROL, shake(30), block=1, wire=wire(90, 9, 9))
    for records in ([control, retried(), calm()], [retried(), control, calm()]):
        assert kinds(*records)[0][4:] == (40, 40)
        case = one(*records)
        assert handshake(case) == (2, 350)
    values = [(DEFAULT, {SERVER_CPU: [9.0, 9.0]}), (FIRST, {SERVER_CPU: [5.0, 5.0]})]
    cpu = costs(retried(), control, calm(), calm(block=1), values=values)["server_cpu_us_per_connection"]
    assert cpu.blocks == 1


def handshake(case: Row) -> tuple[float | None, float | None]:
    """Round trips and bytes."""
    return case.number("handshake_round_trips"), case.number("handshake_bytes")


def test_a_control_alone_counts_for_its_case() -> None:
    assert kinds(record_of(CONTROL, shake(30))) == [("the server (9.7.4)", "default", "P-256", False, 30, 30)]


def test_a_retried_case_has_what_its_handshakes_take() -> None:
    case = one(retried(), record_of(DEFAULT, shake(), block=1, wire=wire(30, 500, 1000)))
    assert handshake(case) == (2.5, 250)
    assert case.case == {**DEFAULT.levels}
    assert (case.label, case.word("place")) == ("groups as the client chooses", "all cases")
    uncounted = retries(record_of(DEFAULT, shake()))
    assert handshake(*uncounted.of(role=RETRIED)) == (None, None)
    assert uncounted.of(role=AVOIDED) == ()


def test_a_place_is_what_the_study_varies_beside_the_retry() -> None:
    study = study_of(
        ("none", "default"),
        ("none", "P-256"),
        server=("mysql-9.7", "mysql-8.4"),
        connections=(8, 64),
        workload=("reconnect", "point-select"),
        rtt_ms=(45,),
    )
    case = one(retried(cases(study)[0]), study=study)
    assert case.word("place") == "mysql-9.7, 45 ms away, reconnecting, 8 connections"


def avoids(row: Row) -> tuple[str, str]:
    """Who avoids the retry, and the group that was agreed on."""
    return row.word("avoided_by"), row.word("agreed_group")


def test_a_client_avoids_a_retry_by_what_it_offers() -> None:
    found = avoided(retried(), calm())
    assert avoids(found) == ("client", "P-256")
    assert found.label == "P-256 first"
    assert (found.case, found.baseline) == (DEFAULT.levels, FIRST.levels)
    assert (found.value, found.baseline_value) == (10, 0)


def test_a_server_avoids_a_retry_by_what_it_takes() -> None:
    found = avoided(retried(), record_of(LIFTED, shake(hello_retry=False, group="x25519")))
    assert avoids(found) == ("server", "X25519")
    assert found.label == "its TLS groups lifted (a variant of ours), groups as the client chooses"
    assert found.baseline == LIFTED.levels


def test_only_a_case_that_differs_in_groups_alone_avoids_a_retry() -> None:
    told = retries(retried(), retried(FIRST), calm(LIFTED))
    both = told.of(role=RETRIED)
    assert [[row.word("avoided_by") for row in avoiders(told, case)] for case in both] == [["server"]] * 2
    assert [case.label for case in both] == ["groups as the client chooses", "P-256 first"]
    assert retries(calm(DEFAULT), calm(FIRST), retried(LIFTED)).of(role=AVOIDED) == ()
    elsewhere = study_of(("none", "default"), ("none", "P-256"), connections=(8, 64))
    near, _, near_remedy, far, _, far_remedy = cases(elsewhere)
    assert retries(retried(near), calm(far), calm(far_remedy), study=elsewhere).of(role=AVOIDED) == ()
    assert (
        avoided(retried(near), calm(near_remedy), calm(far_remedy), study=elsewhere).baseline
        == near_remedy.levels
    )
    planted = study_of(("none", "default"), ("rand-per-byte", "P-256"))
    assert retries(retried(cases(planted)[0]), calm(cases(planted)[2]), study=planted).of(role=AVOIDED) == ()
    faulty = study_of(("rand-per-byte", "default"), ("rand-per-byte", "P-256"))
    assert avoids(avoided(retried(cases(faulty)[0]), calm(cases(faulty)[2]), study=faulty))[0] == "client"


def test_a_cost_is_a_mean_of_differences_over_the_blocks_that_both_have() -> None:
    """Block 0 is the one's alone, block 3 the other's; of 1 and 2 the extras are 10 and 10 µs."""
    values = [
        (
            DEFAULT,
            {
                SERVER_CPU: [999.0, 110.0, 130.0],
                CLIENT_CPU: [9.0, 60.0, 60.0],
                "connect_p50_us": [9.0, 40.0, 30.0],
            },
        ),
        (
            FIRST,
            {
                SERVER_CPU: [0.0, 100.0, 120.0, 7.0],
                CLIENT_CPU: [0.0, 70.0, 70.0, 7.0],
                "connect_p50_us": [0.0, 40.0, 30.0, 7.0],
            },
        ),
    ]
    records = [retried(block=block) for block in (0, 1, 2)] + [calm(block=block) for block in (1, 2, 3)]
    found = costs(*records, values=values)
    assert list(found) == [
        "tls_handshake_round_trips",
        "tls_handshake_bytes",
        "connect_p50_us",
        "server_cpu_us_per_connection",
        "client_cpu_us_per_connection",
    ]
    assert [cost.unit for cost in found.values()] == ["1", "B", "us", "us", "us"]
    server = found["server_cpu_us_per_connection"]
    assert (server.value, server.baseline_value) == (120, 110)
    assert (server.case, server.baseline) == (DEFAULT.levels, FIRST.levels)
    assert (extra(server).point, extra(server).low, extra(server).high) == (10, 10, 10)
    assert (server.blocks, extra(server).confidence) == (2, 0.95)
    assert (server.noise_floor, server.judgement) == (None, "higher")
    client = found["client_cpu_us_per_connection"]
    assert (extra(client).point, client.judgement) == (-10, "lower")
    connect = found["connect_p50_us"]
    assert (connect.value, connect.baseline_value, connect.judgement) == (35, 35, "alike")
    trips, crossed = found["tls_handshake_round_trips"], found["tls_handshake_bytes"]
    assert (trips.value, trips.baseline_value, extra(trips).point, trips.judgement) == (2, 1, 1, "higher")
    assert (crossed.value, crossed.baseline_value, extra(crossed).point, crossed.judgement) == (
        350,
        300,
        50,
        "higher",
    )
    assert (trips.noise_floor, crossed.noise_floor) == (None, None)


def server_cost(own: Sequence[float], other: Sequence[float], control: Sequence[float] = ()) -> Row:
    records = [make(block=block) for block in range(len(own)) for make in (retried, calm)]
    values = [(DEFAULT, {SERVER_CPU: own}), (FIRST, {SERVER_CPU: other})]
    strayed = {SERVER_CPU: control} if control else None
    return costs(*records, values=values, control=strayed)["server_cpu_us_per_connection"]


def test_a_cost_counts_above_its_noise_floor_and_beyond_chance() -> None:
    """The control strays from 110 to 121, by a tenth: of 100 µs without a retry that is 10 µs."""
    above = server_cost([111.0, 111.0], [100.0, 100.0], [122.1, 122.1])
    assert (above.noise_floor, above.judgement) == (pytest.approx(0.1), "higher")
    below = server_cost([109.0, 109.0], [100.0, 100.0], [119.9, 119.9])
    assert (below.noise_floor, below.judgement) == (pytest.approx(0.1), "inconclusive")
    assert server_cost([91.0, 91.0], [100.0, 100.0], [100.1, 100.1]).judgement == "inconclusive"
    assert server_cost([89.0, 89.0], [100.0, 100.0], [97.9, 97.9]).judgement == "lower"
    assert server_cost([110.0, 130.0], [100.0, 100.0]).judgement == "inconclusive"
    assert server_cost([100.5, 100.5], [100.0, 100.0]).judgement == "higher"


def test_one_block_tells_of_what_is_counted_alone() -> None:
    found = costs(
        retried(),
        calm(),
        retried(block=7),
        values=[(DEFAULT, {SERVER_CPU: [110.0]}), (FIRST, {SERVER_CPU: [100.0]})],
    )
    assert {name: cost.judgement for name, cost in found.items()} == {
        "tls_handshake_round_trips": "higher",
        "tls_handshake_bytes": "inconclusive",
        "server_cpu_us_per_connection": "inconclusive",
    }
    fewer = costs(record_of(DEFAULT, shake(), wire=wire(5, 1, 1)), calm())
    assert fewer["tls_handshake_round_trips"].judgement == "lower"
    alike = costs(record_of(DEFAULT, shake(), wire=wire(10, 1, 1)), calm())
    assert alike["tls_handshake_round_trips"].judgement == "alike"


def with_job(record: TrialRecord, **changes: Any) -> TrialRecord:
    assert record.job is not None
    workload = record.job.workload.model_copy(update=changes)
    return record.model_copy(update={"job": record.job.model_copy(update={"workload": workload})})


@pytest.mark.parametrize(
    ("reconnect", "storm", "is_compared"), [(True, False, True), (False, True, True), (False, False, False)]
)
def test_cpu_is_compared_where_each_operation_makes_a_connection(
    *, reconnect: bool, storm: bool, is_compared: bool
) -> None:
    values = [
        (case, {SERVER_CPU: [9.0], CLIENT_CPU: [9.0], "connect_p50_us": [9.0]}) for case in (DEFAULT, FIRST)
    ]
    records = [with_job(record, reconnect=reconnect, storm=storm) for record in (retried(), calm())]
    found = costs(*records, values=values)
    assert "connect_p50_us" in found
    assert ("server_cpu_us_per_connection" in found) == is_compared
    assert ("client_cpu_us_per_connection" in found) == is_compared
    jobless = [record.model_copy(update={"job": None}) for record in records]
    assert "server_cpu_us_per_connection" not in costs(*jobless, values=values)


@pytest.mark.parametrize(
    ("treatments", "asked"),
    [
        ([("none", "default"), ("none", "P-256-first")], True),
        ([("none", "default"), ("none", "P-256")], True),
        ([("none", "default"), ("none", "X25519")], False),
        ([("none", "P-256"), ("rand-per-byte", "P-256")], False),
        ([("none", "default"), ("groups-lifted", "default")], True),
        ([("none", "default"), ("rand-per-byte", "default")], False),
    ],
)
def test_a_study_asks_that_has_a_remedy_beside_others(
    treatments: list[tuple[str, str]], *, asked: bool
) -> None:
    study = study_of(*treatments)
    assert asks(study) == asked
    found = found_in(calm(cases(study)[0]), study=study)
    assert bool(found.rows) == asked
    assert found_in(retried(cases(study)[0]), study=study).rows
    assert found_in(study=study).rows == ()


def test_a_study_without_groups_or_faults_asks_nothing() -> None:
    study = Study(
        name="s",
        title="t",
        question="q",
        factors={"workload": ("reconnect",), "connections": (8,), "tls": ("1.2", "1.3")},
        baseline={"tls": "1.2"},
    )
    assert not asks(study)
    case = cases(study)[2]
    assert one(retried(case), study=study).label == "groups as the client chooses"
    assert retries(retried(case), study=study).of(role=AVOIDED) == ()
    assert kinds(retried(case), study=study)[0][1] == "default"
    assert found_in(calm(case), study=study).rows == ()


def alone(**factors: Any) -> Study:
    """A study that knows of one of the two factors and not of the other."""
    (name,) = factors
    return Study(
        name="s",
        title="t",
        question="q",
        factors={"workload": ("reconnect",), "connections": (8,), "tls": ("1.3",), **factors},
        baseline={name: factors[name][0]},
    )


def test_without_the_factor_group_the_client_chooses() -> None:
    study = alone(fault=("none", "groups-lifted"))
    plain, _, lifted = cases(study)
    found = avoided(retried(plain), calm(lifted), study=study)
    assert avoids(found)[0] == "server"
    assert found.label == "its TLS groups lifted (a variant of ours), groups as the client chooses"
    assert retries(calm(plain), study=study).sentences == (NONE_NEEDED,)


def test_without_the_factor_fault_nothing_is_planted() -> None:
    study = alone(group=("default", "P-256"))
    plain, _, remedied = cases(study)
    assert avoids(avoided(retried(plain), calm(remedied), study=study))[0] == "client"
    assert retries(calm(plain), study=study).sentences == (NONE_NEEDED,)


NONE_NEEDED = (
    "the server (9.7.4) needed no HelloRetryRequest in 10 TLS 1.3 handshakes as the client chose them"
)


def test_a_study_that_asks_says_who_needed_no_retry() -> None:
    """As the client chose alone: neither with a remedy, nor in a variant of ours."""
    found = retries(calm(DEFAULT), calm(FIRST), calm(LIFTED))
    assert found.sentences == (NONE_NEEDED,)
    assert found.of(role=RETRIED) == ()
    assert (remedy(found.rows), command(found.rows)) == ((), "")
    assert NONE_NEEDED not in retries(retried(), calm(FIRST), calm(LIFTED)).sentences
    quiet = study_of(("none", "default"), ("rand-per-byte", "default"))
    other = retries(calm(cases(quiet)[0]), retried(cases(quiet)[2]), study=quiet)
    assert not [said for said in other.sentences if "needed no" in said]


def test_what_is_found_is_said_with_its_remedy() -> None:
    found = retries(retried(), calm())
    assert remedy(found.rows)[0].startswith("offer P-256 first")
    assert command(found.rows) == ""
    assert found.sentences[0].startswith("the server (9.7.4) asked for a second ClientHello")
    assert command(retries(retried()).rows) == "tlstax study run hello-retry"


BUILT_IN = load_study("hello-retry")
NEAR = override(override(BUILT_IN, "rtt_ms", ["45"]), "client_tls_library", ["openssl-3.5.5"])
ALONE = override(override(NEAR, "group", ["default"]), "fault", ["none"])
SERVER_US, RETRY_SERVER_US = 900.0, 60.0


def world(retry_us: float = RETRY_SERVER_US, round_trips: int = 1) -> Callable[[Case], Truth]:
    """A world in which a retry costs the server this, the client a quarter of it, and these round trips."""

    def truth(case: Case) -> Truth:
        retried = is_retried(case)
        connect_us = 2_000.0 + (5 + round_trips * retried) * float(case.levels["rtt_ms"]) * 1000
        server_us, client_us = SERVER_US + retry_us * retried, 300.0 + retry_us / 4 * retried
        base = reconnecting(4_000.0, server_us, client_us, handshake=0.5)
        return replace(base, phase_us={**base.phase_us, "connect": connect_us}, hello_retry=retried)

    return truth


def is_retried(case: Case) -> bool:
    levels = case.levels
    return (levels["server"], levels["fault"], levels["group"]) == ("mysql-9.7", "none", "default")


def on_the_wire(record: TrialRecord, *, counted: bool = True) -> TrialRecord:
    """The same trial with its case's group and, where the client counts, with what a handshake sent."""
    case, done = record.trial.case, record.done
    assert done is not None
    retry = is_retried(case)
    short = retry or case.levels["group"] in {"P-256", "P-256-first"}
    group = "secp256r1" if short else "x25519" if case.levels["group"] == "X25519" else "X25519MLKEM768"
    handshakes = tuple(h.model_copy(update={"group": group}) for h in done.lifetime.handshakes)
    crossed = PhaseWire(
        times=done.operations,
        round_trips=(1 + retry) * done.operations,
        bytes_sent=500 * done.operations,
        bytes_received=(2_500 + 450 * retry) * done.operations,
    )
    update = {
        "lifetime": done.lifetime.model_copy(update={"handshakes": handshakes}),
        "phase_wire": {"tls_handshake": crossed} if counted else {},
    }
    return record.model_copy(update={"done": done.model_copy(update=update)})


COSTLY, FREE = world(), world(0.0, 0)


def stored_of(
    study: Study, *, noise: float = 0.0, blocks: int = 2, of: Callable[[Case], Truth] = COSTLY
) -> StoredRun:
    made = fake_run(study, number_of_blocks=blocks, noise=noise, truth=of, invalid=False)
    return made.model_copy(update={"trials": tuple(map(on_the_wire, made.trials))})


def of_first_group(found: RunDocument) -> dict[str, Row]:
    """The costs of the retry that the client avoids by offering P-256 first, by outcome."""
    told = found.topics["hello_retry"].of(role=COST)
    return {row.outcome: row for row in told if row.baseline["group"] == "P-256-first"}


def test_the_study_names_its_cases_apart_and_fits_ten_minutes() -> None:
    named = [full_label(case, BUILT_IN) for case in cases(BUILT_IN)]
    assert len(set(named)) == len(named)
    assert plan(BUILT_IN).estimated_s < 13 * 60


def test_what_the_study_shows() -> None:
    stored = stored_of(NEAR, noise=0.004, blocks=8)
    found = golden.check("hello-retry", stored, TOPIC).document
    assert headline(found) == list(found.topics["hello_retry"].sentences)
    assert " ".join(terminal(stored, found).split()).count("asked for a second ClientHello") == 1
    cost = of_first_group(found)["server_cpu_us_per_connection"]
    assert (cost.judgement, cost.blocks) == ("higher", 8)
    assert cost.known.low is not None
    assert cost.known.high is not None
    assert cost.known.low < RETRY_SERVER_US < cost.known.high


def test_a_planted_nothing_is_not_found() -> None:
    stored = stored_of(NEAR, noise=0.01, blocks=8, of=FREE)
    found = document(stored)
    costs_us = [row for row in of_first_group(found).values() if row.unit == "us"]
    judged = {row.outcome: row.judgement for row in costs_us}
    assert " ms ≈ |" in markdown(stored, found)
    assert len(judged) == 3
    assert set(judged.values()) == {"alike"}, judged


def test_every_handshake_of_a_valid_trial_is_counted() -> None:
    stored = stored_of(ALONE)
    first = untrue(stored.trials[0], "no")
    for of in (stored, stored.model_copy(update={"trials": (first, *stored.trials[1:])})):
        valid = [r.done for r in of.trials if r.done and r.verdict.value == "valid"]
        made = [handshakes.count for done in valid for handshakes in done.lifetime.handshakes]
        kinds_seen = document(of).topics["hello_retry"].of(role=KIND)
        assert sum(kind.baseline_value or 0 for kind in kinds_seen) == sum(made)


def test_without_a_remedy_in_the_run_it_tells_what_the_wire_and_the_distance_do() -> None:
    counted = document(stored_of(ALONE)).topics["hello_retry"]
    said = "\n".join(counted.sentences)
    assert "such a handshake took 2 round trips, one of them for this (RFC 8446, section 4.1.4)" in said
    assert "45 ms of every connection here" in said
    assert "needed no" not in said, "only a study that asks is told of those who need nothing"
    made = fake_run(ALONE, number_of_blocks=2, truth=COSTLY, invalid=False)
    silent = tuple(on_the_wire(record, counted=False) for record in made.trials)
    uncounted = document(made.model_copy(update={"trials": silent})).topics["hello_retry"]
    assert "it costs a handshake a round trip, whatever the distance" in "\n".join(uncounted.sentences)


def test_a_default_run_tells_it_in_a_short_paragraph() -> None:
    """MySQL 9.7 asks in every TLS 1.3 handshake of the built-in study `tax`, resumed ones among them."""
    stored = fake_run(invalid=False, number_of_blocks=2)
    text = terminal(stored, document(stored))
    start = text.index("HelloRetryRequest: when")
    paragraph = text[start : text.index("\n\nServer", start)]
    assert len(paragraph.split("\n")) < 24
    assert "resumed TLS 1.3 handshakes" in " ".join(paragraph.split())
