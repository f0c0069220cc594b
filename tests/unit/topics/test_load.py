"""Where a load came from, and which side had no room for more, on runs of exact numbers."""

from __future__ import annotations

import pytest

import golden
from report_runs import one_workload_one_level
from shared_runs import shared_run
from tlstax.records.beforehand import LoadStep
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.report.formats.render import render
from tlstax.results.rows import Row, Told
from tlstax.study.factors import CaseLevels
from tlstax.topics.answer.document import document
from tlstax.topics.core.topic import Run
from tlstax.topics.load import (
    CLOCK_ERROR,
    LOAD,
    MACHINE,
    NAME,
    NUMBER,
    OFFERED,
    PILOT,
    SKEW,
    TOGETHER,
    TOPIC,
)


def told(run: StoredRun) -> Told:
    return TOPIC.told(Run(run))


def limits(found: Told) -> tuple[Row, ...]:
    return found.of(role=LOAD)


def together(found: Told) -> dict[str, float | None]:
    return {row.outcome: row.value for row in found.of(role=TOGETHER)}


def test_a_run_without_load_machines_says_nothing_of_them() -> None:
    stored = one_workload_one_level(blocks=2)
    assert told(stored).rows == ()
    assert "Where the load came from" not in render(stored, document(stored), "md", width=100)


def test_a_run_without_a_valid_trial_says_nothing_either() -> None:
    stored = shared_run()
    invalid = tuple(
        record.model_copy(update={"verdict": record.verdict.model_copy(update={"value": "invalid"})})
        for record in stored.trials
    )
    assert told(stored.model_copy(update={"trials": invalid})).rows == ()


@pytest.mark.parametrize(
    ("server_busy", "clients_busy", "limit", "words"),
    [
        (
            0.95,
            0.2,
            "server",
            "the limit was the server: its CPUs were 95 % busy, those of the busiest client 20 %",
        ),
        (0.9, 0.95, "server", "the limit was the server"),
        (0.5, 0.9, "clients", "the limit was the load: the CPUs of the busiest client were 90 % busy"),
        (0.89, 0.89, "neither", "neither side was the limit: the server's CPUs were 89 % busy"),
        (None, 0.95, "clients", "whose CPUs were an unknown share busy"),
        (None, 0.3, "unknown", "how busy the server was is not known from here"),
    ],
)
def test_whose_processors_had_no_room_is_said(
    server_busy: float | None, clients_busy: float, limit: str, words: str
) -> None:
    found = told(shared_run(server_busy=server_busy, clients_busy=clients_busy))
    assert {one.judgement for one in limits(found)} == {limit}
    assert {one.value for one in limits(found)} == {clients_busy}
    assert {one.baseline_value for one in limits(found)} == {server_busy}
    assert words in found.sentences[-1]


def test_a_server_is_as_busy_as_all_its_cpus_and_unknown_where_those_are() -> None:
    stored = shared_run(server_busy=1.23456, clients_busy=0.12345)
    for cpus, busy in (((0, 1), 0.617), ((0,), 1.235), ((), None)):
        machine = stored.header.machine.model_copy(update={"server_cpus": cpus})
        header = stored.header.model_copy(update={"machine": machine})
        found = told(stored.model_copy(update={"header": header}))
        assert {one.baseline_value for one in limits(found)} == {busy}
        assert {one.value for one in limits(found)} == {0.123}


def test_cases_are_in_the_order_of_the_study_whichever_was_measured_first() -> None:
    stored = shared_run()
    turned = stored.model_copy(update={"trials": tuple(reversed(stored.trials))})
    labels = [row.label.split(",")[0] for row in limits(told(turned))]
    assert labels == ["plaintext", "plaintext again (control)", "TLS 1.3"]


def test_cases_are_told_apart_and_how_far_they_are_apart_is_said() -> None:
    quiet, busy = shared_run(server_busy=0.2, clients_busy=0.1), shared_run(server_busy=0.7, clients_busy=0.3)
    trials = tuple(
        other if one.trial.case.role == "treatment" else one
        for one, other in zip(quiet.trials, busy.trials, strict=True)
    )
    found = told(quiet.model_copy(update={"trials": trials}))
    by_case = {one.label.split(",")[0]: one for one in limits(found)}
    assert by_case["TLS 1.3"].case["tls"] == "1.3"
    assert by_case["plaintext"].case["tls"] == "off"
    assert found.sentences[-1] == (
        "neither side was the limit: the server's CPUs were 20 to 70 % busy, those of the busiest client "
        "10 to 30 %; connections wait for the other side, and more of them would fill what is left"
    )


def test_who_sent_how_much_and_how_exactly_together_is_said() -> None:
    found = told(shared_run())
    assert [(row.word(NAME), row.value) for row in found.of(role=MACHINE)] == [("c1", 0.6667), ("c2", 0.3333)]
    assert found.sentences[0] == "the load came from c1 and c2 at once (c1 67 %, c2 33 %)"
    assert found.sentences[1].startswith(
        "they began each slice 41 µs apart in the median, clocks known to 22 µs; a slice"
    )
    assert together(found) == {OFFERED: 2, SKEW: 41.0, CLOCK_ERROR: 22.0}
    assert {row.word("server_address") for row in found.of(role=MACHINE)} == {"10.0.0.1"}
    assert len(found.sentences) == 3


@pytest.mark.parametrize(("sent", "is_slow"), [(400, False), (399, True)])
def test_a_machine_that_sends_far_less_than_others_is_said_to_be_slow(*, sent: int, is_slow: bool) -> None:
    stored = shared_run(machines=("c1", "c2", "c3"))

    def less(one: TrialRecord) -> TrialRecord:
        assert one.load is not None
        parts = tuple(
            part.model_copy(update={"operations": operations})
            for part, operations in zip(one.load.parts, (1_000, 1_000, sent), strict=True)
        )
        return one.model_copy(update={"load": one.load.model_copy(update={"parts": parts})})

    found = told(stored.model_copy(update={"trials": tuple(map(less, stored.trials))}))
    slow = (
        "c3 is slow: it sent less than half of what each machine would have sent of equal ones, and a slice "
        "lasts until all have sent enough"
    )
    assert (found.sentences[-1] == slow) == is_slow
    assert (len(found.sentences) == 4) == is_slow


def test_of_a_machine_that_was_alone_in_the_end_nothing_is_said_of_beginning_together() -> None:
    stored = shared_run()
    alone = tuple(
        one.model_copy(update={"load": one.load.model_copy(update={"parts": one.load.parts[:1]})})
        for one in stored.trials
        if one.load is not None
    )
    found = told(stored.model_copy(update={"trials": alone}))
    assert found.sentences[0] == "the load came from c1 and c2 at once (c1 100 %, c2 0 %)"
    assert (together(found), len(found.sentences)) == ({OFFERED: 2}, 2)


def test_machines_that_it_did_not_need_are_named() -> None:
    steps = (LoadStep(machines=1, server_busy=0.93),)
    found = told(shared_run(offered=3, steps=steps, machines=("c1",)))
    assert found.sentences[0] == "all load came from c1"
    assert (
        found.sentences[1]
        == "3 machines were offered, and 1 enough, which kept 93 % of the server's CPUs busy"
    )
    assert together(found)[OFFERED] == 3
    assert [(row.more[NUMBER], row.baseline_value) for row in found.of(role=PILOT)] == [(1, 0.93)]
    unseen = told(shared_run(offered=3, machines=("c1",)))
    assert unseen.sentences[1] == "3 machines were offered, and 1 enough"


def test_cases_with_other_limits_are_named() -> None:
    stored = shared_run(server_busy=0.5)
    trials = tuple(
        one.model_copy(update={"server": busy.server}) if one.trial.case.levels["tls"] == "1.3" else one
        for one, busy in zip(stored.trials, shared_run(server_busy=0.97).trials, strict=True)
    )
    found = told(stored.model_copy(update={"trials": trials}))
    neither, server = found.sentences[-2:]
    assert neither.startswith("neither side")
    assert "(plaintext, " in neither
    assert server.startswith("the limit was the server: its CPUs were 97 % busy")
    assert "(TLS 1.3, " in server


def test_a_server_that_all_cases_have_is_not_named() -> None:
    stored = shared_run()
    study = stored.header.study
    factors = {**study.factors, "server": ("mysql-9.7",)}
    header = stored.header.model_copy(update={"study": study.model_copy(update={"factors": factors})})
    trials = tuple(with_levels(one, server="mysql-9.7") for one in stored.trials)
    found = told(stored.model_copy(update={"header": header, "trials": trials}))
    assert [row.label for row in limits(found)] == [
        "plaintext, point selects on kept connections, 1 connection",
        "plaintext again (control), point selects on kept connections, 1 connection",
        "TLS 1.3, point selects on kept connections, 1 connection",
    ]


def with_levels(record: TrialRecord, **levels: str) -> TrialRecord:
    """The trial of a case that has these levels as well."""
    case = record.trial.case
    more = case.model_copy(update={"levels": CaseLevels.of({**case.levels, **levels})})
    return record.model_copy(update={"trial": record.trial.model_copy(update={"case": more})})


def test_what_a_run_shows() -> None:
    golden.check("load", shared_run(steps=(LoadStep(machines=1, server_busy=0.93),)), TOPIC)
