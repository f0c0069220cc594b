"""Whether load clients agree: planted agreement is found, planted disagreement too, and noise hides both."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from fake_slices import in_turns, slices_of
from fake_trials import Truth, fake_record, fake_run, kept
from tlstax.plan.order import cases
from tlstax.records.trial import StoredRun, Trial, TrialRecord
from tlstax.records.window import ProcessUse, Window
from tlstax.report.formats.markdown import markdown
from tlstax.report.formats.terminal import terminal
from tlstax.report.page.html import html
from tlstax.results.document import RunDocument
from tlstax.results.rows import Row, by_label
from tlstax.stats.series import Series
from tlstax.stats.slices import turns
from tlstax.study import Case, Levels, Study, load_study, override
from tlstax.study.factors import CaseLevels
from tlstax.topics.agreement import CLUE, CLUE_TO, COST, OUTSIDE, TAX, WHOLE, client_of, rows, sentences
from tlstax.topics.agreement import TAXED as CPU
from tlstax.topics.answer.document import document
from tlstax.topics.answer.headline import headline
from tlstax.topics.core.topic import Run
from told_runs import run_of

CLIENTS = override(load_study("clients"), "workload", ["point-select"])
TLS_FACTOR = 1.10
OWN_CPU_US = {"engine": 8.0, "sysbench": 15.0, "mysqlslap-9.7": 22.0}
SERVER_US, OUTSIDE_US = 60.0, 80.0


def agreeing(case: Case) -> Truth:
    """The same work of the server whoever asks; each client adds its own CPU to the time of an operation."""
    levels = case.levels
    client, factor = str(levels["client"]), TLS_FACTOR if levels["tls"] != "off" else 1.0
    operation_us = OWN_CPU_US[client] + OUTSIDE_US * factor
    return kept(1e6 / operation_us, SERVER_US * factor, OWN_CPU_US[client], record_bytes=0)


def dearer(client: str, factor: float, tls: tuple[str, ...] = ("off", "1.3")) -> Callable[[Case], Truth]:
    """A world in which this client's trials cost the server more."""

    def truth(case: Case) -> Truth:
        plain = agreeing(case)
        if case.levels["client"] != client or case.levels["tls"] not in tls:
            return plain
        return replace(plain, server_cpu_us_per_op=plain.server_cpu_us_per_op * factor)

    return truth


def ran(truth: Callable[[Case], Truth] = agreeing, *, noise: float = 0.01, blocks: int = 10) -> StoredRun:
    return fake_run(CLIENTS, truth=truth, noise=noise, number_of_blocks=blocks, invalid=False)


def watched(run: StoredRun, counted: Callable[[TrialRecord], dict[str, int]], **status: int) -> StoredRun:
    """The same run with counters of the server; `status` is what sysbench's trials add to its status."""

    def seen(record: TrialRecord) -> TrialRecord:
        assert record.done is not None
        operations = record.done.operations
        mine = status if record.trial.case.levels["client"] == "sysbench" else {}
        window = Window(
            took_s=1.0,
            server=ProcessUse(counters=counted(record)),
            client=ProcessUse(),
            status_delta={"Com_select": operations, **mine},
        )
        return record.model_copy(update={"window": window})

    return run.model_copy(update={"trials": tuple(map(seen, run.trials))})


def nothing(_: TrialRecord) -> dict[str, int]:
    return {}


def found(run: StoredRun, role: str = COST, outcome: str = CPU) -> list[dict[str, Row]]:
    """For each case the row of each client beside the reference client, by its name."""
    own = (row for row in rows(Run(run)) if (row.role, row.outcome) == (role, outcome))
    return [{client_of(row.case): row for row in case} for case in by_label(own).values()]


def clues_to(run: StoredRun, client: str) -> set[str]:
    """The clues to the client's difference in the first case."""
    first, *_ = (row for row in rows(Run(run)) if row.role == COST and client_of(row.case) == client)
    return {row.outcome for row in rows(Run(run)) if row.role == CLUE and row.case == first.case}


def said(run: StoredRun) -> str:
    """The sentence of the first case."""
    shown = by_label(rows(Run(run)))
    return next(iter(sentences(Run(run), next(iter(shown.values())))))


def test_clients_that_agree_are_said_to() -> None:
    run = ran()
    costs, taxes = found(run), found(run, TAX)
    cases_told = [(case["sysbench"].case["tls"], case["sysbench"].case["connections"]) for case in costs]
    assert cases_told == [("off", 1), ("1.3", 1), ("off", 8), ("1.3", 8)]
    assert [(case["sysbench"].case["tls"], case["sysbench"].unit) for case in taxes] == [("1.3", "1")] * 2
    for case in (*costs, *taxes):
        assert list(case) == ["sysbench", "mysqlslap-9.7"]
        for row in case.values():
            assert row.baseline["client"] == "engine"
            assert row.judgement == "alike", row
            assert row.known.low is not None
            assert row.known.high is not None
            assert row.known.low < 1 < row.known.high or row.known.point == pytest.approx(1, abs=0.02)
    assert not [row for row in rows(Run(run)) if row.role == CLUE]
    assert taxes[0]["sysbench"].value == pytest.approx(TLS_FACTOR, rel=0.02)
    assert "the engine, sysbench and mysqlslap 9.7 agree on server CPU per operation, 60." in said(run)


def test_each_clients_own_cost_is_left_out() -> None:
    """On one connection their operations take 88, 95 and 102 µs, and less their own CPU 80 µs for all."""
    times = found(ran(), outcome=OUTSIDE)
    assert [(case["sysbench"].case["tls"], case["sysbench"].case["connections"]) for case in times] == [
        ("off", 1),
        ("1.3", 1),
    ]
    for row in times[0].values():
        assert row.judgement == "alike"
        assert row.value == pytest.approx(OUTSIDE_US, rel=0.03)


def test_operations_a_second_are_never_compared() -> None:
    assert {row.outcome for row in rows(Run(ran()))} == {CPU, OUTSIDE}


def test_a_planted_difference_is_found_where_it_is_and_nowhere_else() -> None:
    run = watched(ran(dearer("sysbench", 1.12)), nothing)
    for case in found(run):
        assert (case["sysbench"].judgement, case["mysqlslap-9.7"].judgement) == ("higher", "alike")
        assert case["sysbench"].known.point == pytest.approx(1.12, rel=0.02)
    for case in found(run, TAX):
        assert case["sysbench"].judgement == "alike"
    assert "sysbench differs in server CPU per operation, 67" in said(run)


def test_why_is_told_by_what_was_counted() -> None:
    def counted(record: TrialRecord) -> dict[str, int]:
        assert record.done is not None
        client = record.trial.case.levels["client"]
        operations = record.done.operations
        instructions = {"sysbench": 1120, "mysqlslap-9.7": 1250}.get(str(client), 1000)
        return {
            "instructions_user": instructions * operations,
            "instructions_kernel": 500 * operations,
            "context_switches": (3 if client == "sysbench" else 1) * operations,
        }

    run = watched(ran(dearer("sysbench", 1.12)), counted, Connections=500)
    assert clues_to(run, "sysbench") >= {
        "server_instructions_per_op",
        "server_context_switches_per_op",
        "connections_per_op",
        "server_cpu_user_us_per_op",
    }
    assert "server_cpu_system_us_per_op" not in clues_to(run, "sysbench")
    units = {row.outcome: row.unit for row in rows(Run(run)) if row.role == CLUE}
    assert (units["server_cpu_user_us_per_op"], units["connections_per_op"]) == ("us", "1")
    assert "+8 % instructions" in said(run)
    assert "change 3.00 times an operation, and 1.00 times with the engine" in said(run)
    assert "which would be all of it at" in said(run)
    # What differs without bearing on a difference is no clue: mysqlslap's trials agree.
    assert clues_to(run, "mysqlslap-9.7") == set()


def test_what_goes_the_other_way_explains_nothing() -> None:
    def counted(record: TrialRecord) -> dict[str, int]:
        assert record.done is not None
        fewer = record.trial.case.levels["client"] == "sysbench"
        return {"context_switches": (1 if fewer else 2) * record.done.operations}

    run = watched(ran(dearer("sysbench", 1.12)), counted)
    assert "server_context_switches_per_op" not in clues_to(run, "sysbench")


def test_without_any_clue_it_is_said_that_nothing_tells_why() -> None:
    """The fakes split CPU evenly, so that its parts tell; a trial without the split has nothing."""

    def unsplit(record: TrialRecord) -> TrialRecord:
        assert record.server is not None
        assert record.server.cpu is not None
        cpu = record.server.cpu.model_copy(update={"user_us": 0.0, "system_us": 0.0})
        server = record.server.model_copy(update={"cpu": cpu})
        return record.model_copy(update={"server": server})

    run = ran(dearer("sysbench", 1.12))
    run = run.model_copy(update={"trials": tuple(map(unsplit, run.trials))})
    assert clues_to(run, "sysbench") == set()
    assert "nothing that was measured tells why" in said(run)


def test_a_tax_that_only_one_client_sees_is_found() -> None:
    for case in found(ran(dearer("mysqlslap-9.7", 1.2, tls=("1.3",))), TAX):
        assert (case["mysqlslap-9.7"].judgement, case["sysbench"].judgement) == ("higher", "alike")
        assert case["mysqlslap-9.7"].value == pytest.approx(1.2 * TLS_FACTOR, rel=0.03)


def test_too_noisy_is_neither_agreement_nor_difference() -> None:
    run = ran(noise=0.3, blocks=5)
    assert {row.judgement for case in found(run) for row in case.values()} == {"inconclusive"}
    assert "is inconclusive in" in said(run)
    assert "agree" not in said(run)


def test_an_interval_without_end_is_told_as_too_few_blocks() -> None:
    assert "in 2 blocks, which are too few" in said(ran(noise=0.5, blocks=2))


def test_behind_a_control_that_strays_far_nothing_agrees() -> None:
    """Clients that differ by a fifth, each known well, where the same client twice differs by a third."""

    def strays(case: Case) -> Truth:
        truth = dearer("sysbench", 1.2)(case)
        again = replace(truth, server_cpu_us_per_op=truth.server_cpu_us_per_op * 1.3)
        return again if case.role == "control" else truth

    for case in found(ran(strays)):
        for row in case.values():
            assert row.noise_floor is not None
            assert row.noise_floor > 0.25
            assert row.judgement == "inconclusive"


def test_one_block_alone_tells_nothing() -> None:
    run = ran(blocks=1)
    assert {row.judgement for row in found(run)[0].values()} == {"inconclusive"}
    assert "in one block alone" in said(run)


def test_invalid_trials_are_not_compared() -> None:
    run = ran()
    gone = [
        record.model_copy(update={"verdict": record.verdict.model_copy(update={"value": "invalid"})})
        if record.trial.case.levels["client"] == "mysqlslap-9.7"
        else record
        for record in run.trials
    ]
    shown = rows(Run(run.model_copy(update={"trials": tuple(gone)})))
    assert {client_of(row.case) for row in shown} == {"sysbench"}


def test_who_switches_tls_is_a_matter_of_the_client() -> None:
    """A client whose TLS is switched at the server is set beside one that does it by its own option."""
    treatments = [{"client": client, "tls": tls, "tls_switch": switch}
                  for client, switch in (("engine", "client"), ("mysqlslap-9.7", "server"))
                  for tls in ("off", "1.3")]  # fmt: skip
    baseline = {"client": "engine", "tls": "off", "tls_switch": "client"}
    study = CLIENTS.model_copy(update={"treatments": tuple(treatments), "baseline": baseline})
    found_cases = found(fake_run(study, truth=agreeing, noise=0.01, number_of_blocks=10, invalid=False))
    assert len(found_cases) == 4
    for case in found_cases:
        ((client, row),) = case.items()
        assert (client, row.judgement) == ("mysqlslap-9.7 (TLS switched at the server)", "alike")


def test_a_run_with_one_client_says_nothing_of_agreement() -> None:
    assert not list(rows(Run(fake_run(number_of_blocks=2))))


def test_many_cases_are_counted_and_few_are_told() -> None:
    run = Run(ran(dearer("sysbench", 1.12)))
    shown = list(rows(run))
    tallies = list(sentences(run, shown))
    assert tallies[0].startswith("server CPU per operation: sysbench agrees with the engine in 0 of 4 cases")
    assert "differs in 4, at most by +12 %" in tallies[0]
    assert re.search(
        r"mysqlslap-9\.7 agrees with the engine in 4 of 4 cases, within [01]\.\d+ %$", tallies[0]
    )
    assert tallies[1].startswith("what TLS adds to the server CPU per operation: sysbench agrees")
    few = [row for row in shown if (row.role, row.case["connections"]) == (COST, 8)]
    assert len(list(sentences(run, few))) == 2


def test_the_answer_is_in_every_format() -> None:
    run = ran(dearer("sysbench", 1.12))
    shown: RunDocument = document(run)
    assert headline(shown)[0].startswith("server CPU per operation: sysbench")
    assert not any("operations a second" in sentence for sentence in headline(shown))
    text = terminal(run, shown, width=80)
    assert "Whether the load clients agree" in text
    assert max(map(len, text.splitlines())) <= 80
    for rendered in (text, markdown(run, shown), html(run, shown)):
        assert "sysbench" in rendered
        assert "+12" in rendered


SHARED = {"workload": "point-select", "connections": 1, "protocol": "text", "queries": 10_000}


def study_of(*clients: str, **changes: Any) -> Study:
    """Point selects by these clients, in plaintext and over TLS 1.3, against the first one's plaintext."""
    factors = {
        **{name: (level,) for name, level in SHARED.items()},
        "client": clients,
        "tls": ("off", "1.3"),
        **changes,
    }
    baseline = {"client": clients[0], "tls": "off"}
    return Study(name="s", title="t", question="q", factors=factors, baseline=baseline)


STUDY = study_of("engine", "sysbench", "mysqlslap-9.7")


def measured(
    values: Mapping[tuple[str, str], Sequence[float | None]],
    *,
    study: Study = STUDY,
    outcome: str = CPU,
    control: Sequence[float] = (),
) -> Series:
    """What was measured by client and TLS, a value a block; of None the block was not valid.

    `control` is what the control of the first client's plaintext measured.
    """

    def blocks(of: Sequence[float | None]) -> dict[int, dict[str, float]]:
        return {block: {outcome: value} for block, value in enumerate(of) if value is not None}

    planned = {case.levels: case for case in cases(study) if case.role != "control"}
    of_case = {
        at: values.get((str(case.levels["client"]), str(case.levels["tls"]))) for at, case in planned.items()
    }
    controls = {case.levels: blocks(control) for case in cases(study)[1:2] if control}
    return Series(study, planned, {at: blocks(of) for at, of in of_case.items() if of}, controls)


def plain(
    *reference: float, **others: Sequence[float | None]
) -> dict[tuple[str, str], Sequence[float | None]]:
    """Values in plaintext: of the engine, and of other clients by name."""
    return {("engine", "off"): reference, **{(name, "off"): of for name, of in others.items()}}


def compared(series: Series, *records: TrialRecord) -> list[Row]:
    return list(rows(run_of(series, measured=records)))


def one(series: Series) -> Row:
    """The row of the one client beside the reference client; clues apart."""
    (row,) = (row for row in compared(series) if row.role != CLUE)
    return row


def verdicts(series: Series) -> list[tuple[object, str, str]]:
    return [(row.baseline["client"], client_of(row.case), row.judgement) for row in compared(series)]


def test_a_client_is_set_beside_the_engine_block_by_block() -> None:
    """In the blocks that both have: means of 4 and 9 by 8 and 18: 6 and 12, a half each time."""
    series = measured(plain(8.0, 18.0, 999.0, sysbench=[4.0, 9.0, None, 999.0]))
    row = one(series)
    assert (row.role, row.outcome, row.unit, row.judgement) == (COST, CPU, "us", "lower")
    assert row.case == {**SHARED, "client": "sysbench", "tls": "off"}
    assert row.baseline == {**SHARED, "client": "engine", "tls": "off"}
    assert row.noise_floor is None
    assert (row.value, row.baseline_value) == pytest.approx((6.0, 12.0))
    assert (row.of, row.known.point, row.blocks) == ("ratio", pytest.approx(0.5), 2)
    (sentence,) = sentences(run_of(series), [row])
    assert sentence.startswith("point selects on kept connections, 1 connection, plaintext: sysbench")


def test_every_client_is_set_beside_the_engine_wherever_it_stands() -> None:
    study = study_of("sysbench", "engine", "mysqlslap-9.7")
    values = plain(8.0, 8.0, sysbench=[4.0, 4.0], **{"mysqlslap-9.7": [8.0, 8.0]})
    assert verdicts(measured(values, study=study)) == [
        ("engine", "sysbench", "lower"),
        ("engine", "mysqlslap-9.7", "alike"),
    ]
    without = study_of("sysbench", "mysqlslap-9.7")
    assert verdicts(measured(values, study=without)) == [("sysbench", "mysqlslap-9.7", "higher")]


def test_what_tls_adds_is_each_clients_own_ratio_to_its_plaintext() -> None:
    """The engine goes from 10 to 12 and from 20 to 24, sysbench by half: 1.2 and 1.5."""
    values = {
        ("engine", "off"): [10.0, 20.0],
        ("engine", "1.3"): [12.0, 24.0],
        ("sysbench", "off"): [30.0, 40.0],
        ("sysbench", "1.3"): [45.0, 60.0],
    }
    found = compared(measured(values))
    assert [(row.role, row.case["tls"], row.unit) for row in found] == [
        (COST, "off", "us"),
        (COST, "1.3", "us"),
        (TAX, "1.3", "1"),
    ]
    tax = found[2]
    assert (tax.outcome, tax.baseline["client"], tax.judgement) == (CPU, "engine", "higher")
    assert (tax.value, tax.baseline_value, tax.known.point) == pytest.approx((1.5, 1.2, 1.25))


def test_plaintext_of_a_study_with_resumption_is_without_it() -> None:
    """Each client resumes over TLS; what that adds is set against its plaintext, which resumes nothing."""
    values, planned = {}, {}
    for client, plaintext, resumed in (("engine", 10.0, 12.0), ("sysbench", 20.0, 24.0)):
        for tls, resumption, cost in (("off", "off", plaintext), ("1.3", "on", resumed)):
            levels = {**SHARED, "client": client, "tls": tls, "resumption": resumption}
            planned[CaseLevels.of(levels)] = Case(levels=levels, role="treatment")
            values[CaseLevels.of(levels)] = {0: {CPU: cost}, 1: {CPU: cost}}
    tax = compared(Series(STUDY, planned, values, {}))[-1]
    assert (tax.role, tax.case["resumption"], tax.judgement) == (TAX, "on", "alike")
    assert (tax.value, tax.baseline_value) == pytest.approx((1.2, 1.2))


def test_times_outside_the_client_are_compared_without_a_tax() -> None:
    values = {(client, tls): [8.0, 8.0] for client in ("engine", "sysbench") for tls in ("off", "1.3")}
    found = compared(measured(values, outcome=OUTSIDE))
    assert [(row.role, row.outcome) for row in found] == [(COST, OUTSIDE)] * 2


def test_nothing_else_is_compared() -> None:
    values = {(client, tls): [8.0, 8.0] for client in ("engine", "sysbench") for tls in ("off", "1.3")}
    assert not compared(measured(values, outcome="ops_per_s"))
    assert not compared(measured(plain(8.0, 8.0, sysbench=[None, None])))
    assert not compared(measured(plain(8.0, 8.0, sysbench=[None, None, 8.0])))
    assert not compared(measured(plain(8.0, 8.0), study=study_of("engine")))


@pytest.mark.parametrize(
    ("by", "control", "judgement"),
    [
        (1.05, None, "higher"),
        (1.05, 1.04, "higher"),
        (1.05, 1.06, "alike"),
        (1.05, 1.09, "alike"),
        (1.05, 1.11, "inconclusive"),
        (1.2, 1.11, "higher"),
    ],
)
def test_a_difference_is_seen_above_the_noise_floor(by: float, control: float | None, judgement: str) -> None:
    """Sysbench's cost is off by a factor in both blocks, and the control by another."""
    strayed = (8.0 * control, 8.0 * control) if control else ()
    row = one(measured(plain(8.0, 8.0, sysbench=[8.0 * by, 8.0 * by]), control=strayed))
    assert (row.judgement, row.noise_floor) == (judgement, control and pytest.approx(control - 1))


def test_agreement_needs_an_interval_that_would_have_shown_a_difference() -> None:
    scattered = [8.0, 8.0, 8.0, 8.0]
    near = one(measured(plain(*scattered, sysbench=[8.16, 7.84, 8.16, 7.84])))
    assert near.judgement == "alike"
    wide = one(measured(plain(*scattered, sysbench=[12.0, 6.0, 12.0, 6.0])))
    assert wide.judgement == "inconclusive"
    once = one(measured(plain(8.0, sysbench=[8.0])))
    assert (once.judgement, once.known.low) == ("inconclusive", None)
    assert one(measured(plain(8.0, sysbench=[80.0]))).judgement == "inconclusive"


def test_the_noise_floor_is_the_nearest_controls_that_ran() -> None:
    """The control of one connection holds for TLS and for 8 connections as well."""
    study = study_of("engine", "sysbench", connections=(1, 8))
    values = {(client, tls): [8.0, 8.0] for client in ("engine", "sysbench") for tls in ("off", "1.3")}
    found = compared(measured(values, study=study, control=(8.2, 8.2)))
    assert len(found) == 6
    assert {row.role for row in found} == {COST, TAX}
    assert [row.noise_floor for row in found] == [pytest.approx(0.025)] * 6


def test_a_client_whose_server_decides_on_tls_is_one_of_its_own() -> None:
    """The engine, and mysqlslap twice: by its own option, and with TLS switched at the server."""
    study = study_of("engine", "mysqlslap-9.7", tls_switch=("client", "server"))
    values = {(client, "off"): [8.0, 8.0] for client in ("engine", "mysqlslap-9.7")}
    found = compared(measured(values, study=study))
    assert {row.label for row in found} == {"point selects on kept connections, 1 connection, plaintext"}
    assert {client_of(row.baseline) for row in found} == {"engine"}
    assert [client_of(row.case) for row in found] == [
        "mysqlslap-9.7",
        "engine (TLS switched at the server)",
        "mysqlslap-9.7 (TLS switched at the server)",
    ]


@pytest.mark.parametrize("tls", ["unset", "required"])
def test_drivers_left_to_themselves_are_not_expected_to_agree(tls: str) -> None:
    planned = [
        Case(
            levels={"workload": "point-select", "connections": 1, "client": client, "tls": tls},
            role="treatment",
        )
        for client in ("engine", "sysbench")
    ]
    values = {case.levels: {0: {CPU: 8.0}} for case in planned}
    series = Series(STUDY, {case.levels: case for case in planned}, values, {})
    assert not compared(series)


def test_cases_without_a_client_are_in_no_comparison() -> None:
    series = measured(plain(8.0, 8.0, sysbench=[8.0, 8.0]))
    bare = Case(levels={**SHARED, "tls": "off"}, role="treatment")
    assert one(Series(STUDY, {bare.levels: bare, **series.cases}, series.values, {}))


def counted(levels: Levels, statements: int) -> TrialRecord:
    """A trial of 100 operations for which the server counted N statements."""
    case = Case(levels=dict(levels), role="treatment")
    record = fake_record(
        Trial(block=0, position=0, case=case), kept(10_000, 1, 1, record_bytes=0), duration_s=0.01
    )
    return record.model_copy(update={"window": Window(took_s=1.0, status_delta={"Com_select": statements})})


@pytest.mark.parametrize(("costs", "words"), [([12.0, 12.0], 1), ([8.0, 8.0], 0), ([4.0, 4.0], 0)])
def test_a_dearer_client_that_sends_more_is_told_to(costs: list[float], words: int) -> None:
    """Clues are for what differs, and go its way: more statements make nothing cheaper."""
    series = measured(plain(8.0, 8.0, sysbench=costs))
    engine, _, sysbench, *_ = (case.levels for case in series.cases.values())
    _, *clues = found = compared(series, counted(engine, 100), counted(sysbench, 300))
    assert [(clue.outcome, clue.value, clue.baseline_value, clue.more[CLUE_TO]) for clue in clues] == [
        ("statements_per_op", 3.0, 1.0, CPU)
    ] * words
    (sentence,) = sentences(run_of(series), found)
    said = "the server runs 3.000 statements an operation, and 1.000 with the engine"
    assert sentence.endswith(said) == bool(words)


def test_what_both_clients_send_as_often_is_no_clue() -> None:
    series = measured(plain(8.0, 8.0, sysbench=[12.0, 12.0]))
    engine, _, sysbench, *_ = (case.levels for case in series.cases.values())
    (row,) = compared(series, counted(engine, 300), counted(sysbench, 300))
    assert row.judgement == "higher"


def test_a_client_that_agrees_needs_no_clue() -> None:
    """It is dearer by 5 %, and sends more, but the control strayed by 6 %."""
    series = measured(plain(8.0, 8.0, sysbench=[8.4, 8.4]), control=(8.48, 8.48))
    engine, _, sysbench, *_ = (case.levels for case in series.cases.values())
    (row,) = compared(series, counted(engine, 100), counted(sysbench, 300))
    assert row.judgement == "alike"


KERNEL, USER = "server_cpu_system_us_per_op", "server_cpu_user_us_per_op"


def split(kernel: Sequence[float | None]) -> Series:
    """Sysbench's operations cost the server 16 µs, and the engine's 10 µs, of which this in the kernel."""
    series = measured(plain(10.0, 10.0, 10.0, sysbench=[16.0, 16.1, 15.9]))
    parts = {"engine": (kernel, (6.0, 6.0, 6.0)), "sysbench": ((9.0, 9.1, 8.9), (7.0, 7.0, 7.0))}

    def blocks(at: CaseLevels) -> dict[int, dict[str, float]]:
        both = zip(*parts[at.client], strict=True)
        own = {block: {KERNEL: part, USER: user} for block, (part, user) in enumerate(both)}
        return {
            block: {**series.values[at][block], **{name: us for name, us in told.items() if us is not None}}
            for block, told in own.items()
        }

    return replace(series, values={at: blocks(at) for at in series.values})


def test_a_part_that_makes_up_most_of_a_difference_is_a_clue_with_its_own() -> None:
    """By hand: 9 µs and 4 µs in the kernel are 5 of the 6 µs; in user mode it is 1 of them."""
    row, clue = compared(split((4.0, 4.0, 4.0)))
    assert (row.judgement, clue.role, clue.outcome, clue.unit) == ("higher", CLUE, KERNEL, "us")
    assert (clue.value, clue.baseline_value) == pytest.approx((9.0, 4.0))
    assert (clue.of, clue.known.point, clue.blocks) == ("difference", pytest.approx(5.0), 3)
    assert (clue.word(CLUE_TO), clue.number(WHOLE)) == (CPU, pytest.approx(6.0))
    (sentence,) = sentences(run_of(split((4.0, 4.0, 4.0))), [row, clue])
    assert sentence.endswith(": +5.00 of the +6.00 µs is the server's CPU in the kernel")


def test_a_part_that_is_not_known_of_every_block_is_no_clue() -> None:
    (row,) = compared(split((4.0, None, 4.0)))
    assert row.judgement == "higher"


def test_what_clients_share_is_said_once_by_the_factors_that_are_compared() -> None:
    study = study_of("engine", "sysbench", protocol=("text", "prepared"))
    study = study.model_copy(update={"baseline": {**study.baseline, "protocol": "text"}})
    both = measured({("engine", "off"): [8.0, 8.0], ("sysbench", "off"): [8.0, 8.0]}, study=study)
    shared = "point selects on kept connections, 1 connection, plaintext"
    assert [row.label for row in compared(both)] == [f"{shared}, as text", f"{shared}, prepared"]


def test_clients_that_took_turns_are_compared_slice_by_slice() -> None:
    """In its slices sysbench is twice as dear, though the trials as a whole cost the same."""
    series = measured(plain(8.0, 8.0, sysbench=[8.0, 8.0]))
    taken = {}
    for at, factor in zip(series.values, (1.0, 2.0), strict=True):
        trial = Trial(block=0, position=0, case=series.cases[at])
        own = turns(in_turns(trial, slices_of([(100, factor)] * 6)))
        assert own is not None
        taken[at] = {0: own, 1: own}
    assert one(replace(series, turns=taken)).known.point == pytest.approx(2.0)


def test_nothing_that_tells_of_a_cost_tells_of_a_tax() -> None:
    values = {
        ("engine", "off"): [10.0, 20.0],
        ("engine", "1.3"): [12.0, 24.0],
        ("sysbench", "off"): [10.0, 20.0],
        ("sysbench", "1.3"): [15.0, 30.0],
    }
    series = measured(values)
    records = [
        counted(case.levels, 300 if case.levels["client"] == "sysbench" else 100)
        for case in series.cases.values()
    ]
    _, cost, clue, tax = compared(series, *records)
    assert (cost.judgement, clue.role, clue.case) == ("higher", CLUE, cost.case)
    assert (tax.role, tax.judgement) == (TAX, "higher")
