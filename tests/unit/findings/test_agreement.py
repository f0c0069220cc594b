"""Whether load clients agree: planted agreement is found, planted disagreement too, and noise hides both."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from fake_trials import Truth, fake_run, kept
from tlstax.findings.agreement.words import summary
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.records.window import ProcessUse, Window
from tlstax.report.formats.markdown import markdown
from tlstax.report.formats.terminal import terminal
from tlstax.report.page.html import html
from tlstax.results.document import Agreement, ClientAgreement, RunDocument
from tlstax.study import Case, load_study, override
from tlstax.topics.answer.document import document
from tlstax.topics.answer.headline import headline

STUDY = override(load_study("clients"), "workload", ["point-select"])
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
    return fake_run(STUDY, truth=truth, noise=noise, number_of_blocks=blocks, invalid=False)


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


def found(run: StoredRun, kind: str = "cost", outcome: str = "server_cpu_us_per_op") -> list[Agreement]:
    return [a for a in document(run).agreements if (a.kind, a.outcome) == (kind, outcome)]


def of(agreement: Agreement, client: str) -> ClientAgreement:
    return next(beside for beside in agreement.clients if beside.client == client)


def test_clients_that_agree_are_said_to() -> None:
    run = ran()
    costs, taxes = found(run), found(run, "tax")
    assert [(a.case["tls"], a.case["connections"]) for a in costs] == [
        ("off", 1), ("1.3", 1), ("off", 8), ("1.3", 8)
    ]  # fmt: skip
    assert [(a.case["tls"], a.unit) for a in taxes] == [("1.3", "×")] * 2
    for agreement in (*costs, *taxes):
        assert agreement.reference == "engine"
        assert [beside.client for beside in agreement.clients] == ["sysbench", "mysqlslap-9.7"]
        for beside in agreement.clients:
            assert beside.verdict == "agrees", beside
            assert beside.ratio.low is not None
            assert beside.ratio.high is not None
            assert beside.ratio.low < 1 < beside.ratio.high or beside.ratio.point == pytest.approx(
                1, abs=0.02
            )
            assert beside.clues == ()
    assert of(taxes[0], "sysbench").value == pytest.approx(TLS_FACTOR, rel=0.02)
    assert (
        "the engine, sysbench and mysqlslap 9.7 agree on server CPU per operation, 60." in costs[0].sentence
    )


def test_each_clients_own_cost_is_left_out() -> None:
    """On one connection their operations take 88, 95 and 102 µs, and less their own CPU 80 µs for all."""
    times = found(ran(), outcome="outside_client_us_per_op")
    assert [(a.case["tls"], a.case["connections"]) for a in times] == [("off", 1), ("1.3", 1)]
    for beside in times[0].clients:
        assert beside.verdict == "agrees"
        assert beside.value == pytest.approx(OUTSIDE_US, rel=0.03)


def test_operations_a_second_are_never_compared() -> None:
    assert {a.outcome for a in document(ran()).agreements} == {
        "server_cpu_us_per_op",
        "outside_client_us_per_op",
    }


def test_a_planted_difference_is_found_where_it_is_and_nowhere_else() -> None:
    run = watched(ran(dearer("sysbench", 1.12)), nothing)
    for agreement in found(run):
        beside = of(agreement, "sysbench")
        assert (beside.verdict, of(agreement, "mysqlslap-9.7").verdict) == ("differs", "agrees")
        assert beside.ratio.point == pytest.approx(1.12, rel=0.02)
    for agreement in found(run, "tax"):
        assert of(agreement, "sysbench").verdict == "agrees"
    (first, *_) = found(run)
    assert "sysbench differs in server CPU per operation, 67" in first.sentence


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

    (first, *_) = found(watched(ran(dearer("sysbench", 1.12)), counted, Connections=500))
    beside = of(first, "sysbench")
    assert {clue.name for clue in beside.clues} >= {
        "server_instructions_per_op",
        "server_context_switches_per_op",
        "connections_per_op",
        "server_cpu_user_us_per_op",
    }
    assert "server_cpu_system_us_per_op" not in {clue.name for clue in beside.clues}
    assert "+8 % instructions" in first.sentence
    assert "change 3.00 times an operation, and 1.00 times with the engine" in first.sentence
    assert "which would be all of it at" in first.sentence
    # What differs without bearing on a difference is no clue: mysqlslap's trials agree.
    assert of(first, "mysqlslap-9.7").clues == ()


def test_what_goes_the_other_way_explains_nothing() -> None:
    def counted(record: TrialRecord) -> dict[str, int]:
        assert record.done is not None
        fewer = record.trial.case.levels["client"] == "sysbench"
        return {"context_switches": (1 if fewer else 2) * record.done.operations}

    (first, *_) = found(watched(ran(dearer("sysbench", 1.12)), counted))
    assert "server_context_switches_per_op" not in {clue.name for clue in of(first, "sysbench").clues}


def test_without_any_clue_it_is_said_that_nothing_tells_why() -> None:
    """The fakes split CPU evenly, so that its parts tell; a trial without the split has nothing."""

    def unsplit(record: TrialRecord) -> TrialRecord:
        assert record.server is not None
        assert record.server.cpu is not None
        cpu = record.server.cpu.model_copy(update={"user_us": 0.0, "system_us": 0.0})
        server = record.server.model_copy(update={"cpu": cpu})
        return record.model_copy(update={"server": server})

    run = ran(dearer("sysbench", 1.12))
    (first, *_) = found(run.model_copy(update={"trials": tuple(map(unsplit, run.trials))}))
    assert of(first, "sysbench").clues == ()
    assert "nothing that was measured tells why" in first.sentence


def test_a_tax_that_only_one_client_sees_is_found() -> None:
    run = ran(dearer("mysqlslap-9.7", 1.2, tls=("1.3",)))
    for agreement in found(run, "tax"):
        assert (of(agreement, "mysqlslap-9.7").verdict, of(agreement, "sysbench").verdict) == (
            "differs",
            "agrees",
        )
        assert of(agreement, "mysqlslap-9.7").value == pytest.approx(1.2 * TLS_FACTOR, rel=0.03)


def test_too_noisy_is_neither_agreement_nor_difference() -> None:
    agreements = found(ran(noise=0.3, blocks=5))
    verdicts = {beside.verdict for agreement in agreements for beside in agreement.clients}
    assert verdicts == {"inconclusive"}
    assert "is inconclusive in" in agreements[0].sentence
    assert "agree" not in agreements[0].sentence


def test_an_interval_without_end_is_told_as_too_few_blocks() -> None:
    (first, *_) = found(ran(noise=0.5, blocks=2))
    assert "in 2 blocks, which are too few" in first.sentence


def test_behind_a_control_that_strays_far_nothing_agrees() -> None:
    """Clients that differ by a fifth, each known well, where the same client twice differs by a third."""

    def strays(case: Case) -> Truth:
        truth = dearer("sysbench", 1.2)(case)
        again = replace(truth, server_cpu_us_per_op=truth.server_cpu_us_per_op * 1.3)
        return again if case.role == "control" else truth

    for agreement in found(ran(strays)):
        assert agreement.noise_floor is not None
        assert agreement.noise_floor > 0.25
        assert {beside.verdict for beside in agreement.clients} == {"inconclusive"}


def test_one_block_alone_tells_nothing() -> None:
    (first, *_) = found(ran(blocks=1))
    assert {beside.verdict for beside in first.clients} == {"inconclusive"}
    assert "in one block alone" in first.sentence


def test_invalid_trials_are_not_compared() -> None:
    run = ran()
    gone = [
        record.model_copy(update={"verdict": record.verdict.model_copy(update={"value": "invalid"})})
        if record.trial.case.levels["client"] == "mysqlslap-9.7"
        else record
        for record in run.trials
    ]
    agreements = document(run.model_copy(update={"trials": tuple(gone)})).agreements
    assert {beside.client for agreement in agreements for beside in agreement.clients} == {"sysbench"}


def test_who_switches_tls_is_a_matter_of_the_client() -> None:
    """A client whose TLS is switched at the server is set beside one that does it by its own option."""
    treatments = [{"client": client, "tls": tls, "tls_switch": switch}
                  for client, switch in (("engine", "client"), ("mysqlslap-9.7", "server"))
                  for tls in ("off", "1.3")]  # fmt: skip
    baseline = {"client": "engine", "tls": "off", "tls_switch": "client"}
    study = STUDY.model_copy(update={"treatments": tuple(treatments), "baseline": baseline})
    run = fake_run(study, truth=agreeing, noise=0.01, number_of_blocks=10, invalid=False)
    agreements = found(run)
    assert len(agreements) == 4
    for agreement in agreements:
        (beside,) = agreement.clients
        assert beside.client == "mysqlslap-9.7 (TLS switched at the server)"
        assert beside.verdict == "agrees"
        assert "tls_switch" not in agreement.case


def test_a_run_with_one_client_says_nothing_of_agreement() -> None:
    assert document(fake_run(number_of_blocks=2)).agreements == ()


def test_many_cases_are_counted_and_few_are_told() -> None:
    shown = document(ran(dearer("sysbench", 1.12)))
    said = summary(shown.agreements)
    assert said[0].startswith("server CPU per operation: sysbench agrees with the engine in 0 of 4 cases")
    assert "differs in 4, at most by +12 %" in said[0]
    assert re.search(r"mysqlslap-9\.7 agrees with the engine in 4 of 4 cases, within [01]\.\d+ %$", said[0])
    assert said[1].startswith("what TLS adds to the server CPU per operation: sysbench agrees")
    assert summary(shown.agreements[:2]) == [agreement.sentence for agreement in shown.agreements[:2]]


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
    assert '"agreements":[{"kind":"cost"' in shown.model_dump_json(by_alias=True)
