"""What a run's report says to bear in mind: of external servers, of machines, of other runs beside it."""

from __future__ import annotations

import json

import pytest

from fake_slices import in_turns, slices_of
from fake_trials import TAX_TRUTHS, Truth, fake_record, fake_run, tax_truth, whole_tax
from observed_windows import ticks
from tlstax.plan.at_work import words
from tlstax.plan.order import cases
from tlstax.records.beforehand import AtWork, AtWorkStep, ExternalServer
from tlstax.records.trial import RunHeader, StoredRun, Trial, TrialRecord
from tlstax.records.window import CpuSlice, Window, WireUse
from tlstax.study import Case, load_study, override
from tlstax.study.changes import by_addresses
from tlstax.topics.answer.caveats import BESIDE_ANOTHER, of_external, of_machine, others_per_s
from tlstax.topics.answer.document import document

ALONE = ExternalServer(max_connections=151, in_use=1, at_most=37, promised=35)
ROOM = (ALONE,)


def at_an_external_server(
    workloads: list[str], external: tuple[ExternalServer, ...], *, connections: int = 8, sliced: bool = False
) -> StoredRun:
    study = override(override(whole_tax(), "workload", workloads), "connections", [str(connections)])
    run = fake_run(study, truth=lambda _: TAX_TRUTHS["point-select", "off", "off"], invalid=False)
    trials = (
        tuple(in_turns(one.trial, slices_of([(20, 1.0)] * 5)) for one in run.trials) if sliced else run.trials
    )
    header = run.header.model_copy(update={"guest": True, "external": external})
    return run.model_copy(update={"trials": trials, "header": header})


def test_cases_that_had_no_room_together_are_named_with_the_option_that_helps() -> None:
    run = at_an_external_server(["point-select", "reconnect"], ROOM, connections=16)
    (said,) = of_external(run)
    assert said.startswith(
        "point selects on kept connections, 16 connections: in 3 parts, each with the baseline, since all 5 "
    )
    assert said.endswith(
        "cases in turns take 86 connections at once, and the server was promised at most 37 "
        "(--max-connections 86 lets all of them take turns)"
    )
    assert said in document(run).caveats


def test_fewer_connections_than_the_study_says_are_told() -> None:
    fewer = (ALONE.model_copy(update={"at_most": 20, "fewer_than": 8}),)
    (said,) = of_external(at_an_external_server(["point-select", "reconnect"], fewer, connections=2))
    assert said.startswith(
        "2 of 8 connections for each case, so that all that are compared take turns within 20 of the server's"
    )


def test_what_others_did_before_and_meanwhile_is_told() -> None:
    steps = tuple(
        AtWorkStep(connections=count, per_s=per_s, others_per_s=100, took_s=0.5)
        for count, per_s in ((1, 1000.0), (2, 1100.0))
    )
    seen = AtWork(others_per_s=100, most=4, taken=1, steps=steps)
    beside = (ALONE.model_copy(update={"at_work": seen}),)
    run = at_an_external_server(["point-select"], beside, connections=1)
    assert of_external(run) == (words(seen),)
    trials = tuple(_beside(record, selects=20, writes=10) for record in run.trials)
    watched = run.model_copy(update={"trials": trials})
    assert others_per_s(watched) == pytest.approx(300)
    assert of_external(watched)[-1].startswith("others ran about 300 statements a second at the server while")
    alone = run.model_copy(update={"trials": tuple(_beside(one, selects=0, writes=0) for one in run.trials)})
    assert others_per_s(alone) == 0
    assert others_per_s(at_an_external_server(["reconnect"], ROOM)) is None


def _beside(record: TrialRecord, *, selects: int, writes: int) -> TrialRecord:
    """The record, where others ran N statements in a tenth of a second while it was watched."""
    counted = {"Com_select": record.watched_operations + selects, "Com_update": writes, "Com_show_status": 9}
    window = Window(took_s=0.1, operations=record.watched_operations, status_delta=counted)
    return record.model_copy(update={"window": window})


def test_nothing_is_said_where_all_took_turns_nor_of_a_server_of_our_own() -> None:
    assert of_external(at_an_external_server(["point-select", "reconnect"], ROOM, connections=4)) == ()
    run = at_an_external_server(["point-select"], ())
    assert (
        of_external(run.model_copy(update={"header": run.header.model_copy(update={"guest": False})})) == ()
    )
    assert of_external(run.model_copy(update={"trials": ()})) == ()


def test_of_an_older_run_it_is_known_from_its_trials() -> None:
    (said,) = of_external(at_an_external_server(["point-select", "reconnect"], ()))
    assert said.startswith(
        "point selects on kept connections, 8 connections: each by itself, since all 5 cases in turns take"
    )
    assert of_external(at_an_external_server(["point-select"], (), sliced=True)) == ()
    assert of_external(at_an_external_server(["reconnect"], ())) == ()


def test_the_server_that_rules_something_out_is_the_one_that_is_named() -> None:
    run = at_an_external_server(["point-select"], (), connections=4)
    own = ALONE.model_copy(update={"server": "old.example:3306"})
    other = own.model_copy(
        update={"server": "new.example:3306", "no_tables": "new.example:3306 is read-only"}
    )
    header = run.header.model_copy(update={"external": (own, other)})
    assert of_external(run.model_copy(update={"header": header})) == (
        "statements that read nothing took the place of point selects: new.example:3306 is read-only",
    )


def test_a_run_from_before_there_could_be_several_servers_is_read() -> None:
    header = at_an_external_server(["point-select"], ROOM).header
    written = json.loads(header.model_dump_json())
    del written["external"][0]["server"]
    for older, now in ((written["external"][0], ROOM), (None, ()), ([], ())):
        assert RunHeader.model_validate({**written, "external": older}).external == now
    del written["external"]
    assert RunHeader.model_validate(written).external == ()


def test_of_another_address_it_is_told_what_the_server_sees_behind_it() -> None:
    study = by_addresses(override(whole_tax(), "workload", ["point-select"]), ["proxy"])
    run = fake_run(study, truth=lambda _: TAX_TRUTHS["point-select", "off", "off"], invalid=False)
    roomy = (ALONE.model_copy(update={"at_most": 500}),)
    header = run.header.model_copy(update={"guest": True, "external": roomy})
    said = of_external(run.model_copy(update={"header": header}))
    (leg,) = [sentence for sentence in said if sentence.startswith("behind ")]
    assert leg.startswith("behind proxy the server sees ")
    assert "where the client has TLS 1.3" in leg
    assert leg.endswith("what lies between the two is not shown")


CASE = cases(load_study("tax"))[0]
PLAIN = fake_record(Trial(block=0, position=0, case=CASE), tax_truth(CASE), duration_s=0.01)
BESIDE = PLAIN.model_copy(update={"beside_another": True})


def stolen(steal: int) -> TrialRecord:
    """A thousand ticks, of which N were taken."""
    part = CpuSlice(at_s=0, took_s=1, machine=ticks(user=1000 - steal, steal=steal))
    return PLAIN.model_copy(update={"window": Window(took_s=1, cpus=(part,))})


def again(retransmitted: int, sent: int, twice: int | None = None) -> TrialRecord:
    wire = WireUse(
        tcp_segments_sent=sent,
        tcp_segments_received=9,
        tcp_segments_retransmitted=retransmitted,
        tcp_segments_arrived_twice=twice,
    )
    return PLAIN.model_copy(update={"window": Window(took_s=1, wire=wire)})


def test_a_quiet_machine_has_no_caveat() -> None:
    assert of_machine([PLAIN, stolen(0), again(0, 1000)]) == of_machine([]) == []


def test_a_run_beside_another_is_told() -> None:
    assert of_machine([PLAIN, BESIDE, BESIDE]) == [f"{BESIDE_ANOTHER} (2 of 3 trials)"]
    assert of_machine([BESIDE]) == [f"{BESIDE_ANOTHER} (1 of 1 trial)"]


@pytest.mark.parametrize(("steal", "said"), [(10, None), (11, "1.1 %"), (200, "20 %"), (900, "90 %")])
def test_time_that_the_host_took_is_told_from_one_in_a_hundred(steal: int, said: str | None) -> None:
    sentence = (
        f"the host took {said} of the processors' time for others while trials ran: "
        "times are longer than they need be, and scatter"
    )
    assert of_machine([stolen(steal), PLAIN]) == ([sentence] if said else [])


def test_one_in_a_hundred_is_counted_to_the_tick() -> None:
    part = CpuSlice(at_s=0, took_s=1, machine=ticks(user=989_950, steal=10_050))
    assert of_machine([PLAIN.model_copy(update={"window": Window(took_s=1, cpus=(part,))})])


@pytest.mark.parametrize(
    ("retransmitted", "sent", "is_told"), [(10, 1000, False), (11, 1000, True), (1, 0, True), (0, 0, False)]
)
def test_segments_that_were_sent_again_are_told_from_one_in_a_hundred(
    retransmitted: int, sent: int, *, is_told: bool
) -> None:
    assert bool(of_machine([again(retransmitted, sent)])) is is_told


@pytest.mark.parametrize(("twice", "is_told"), [(0, True), (29, True), (30, False), (40, False)])
def test_segments_that_arrived_twice_were_not_lost(twice: int, *, is_told: bool) -> None:
    found = of_machine([again(40, 1000, twice)])
    assert bool(found) is is_told
    assert all(f"({40 - twice} of 1,000" in said for said in found)


def test_the_sentence_on_segments_is_of_the_bad_trials() -> None:
    found = of_machine([again(1_500, 9_000), PLAIN, again(1, 1_000), again(600, 2_000)])
    assert found == [
        "in 2 of 3 trials more than 1 % of the TCP segments were sent again (2,100 of 11,000, on the whole "
        "machine): lost, or answered late"
    ]
    assert of_machine([again(50, 100)])[0].startswith("in 1 of 1 trial more")


def test_caveats_come_in_this_order() -> None:
    both = stolen(500).model_copy(update={"beside_another": True})
    assert [text[:8] for text in of_machine([both, again(500, 1000)])] == ["another ", "the host", "in 1 of "]


def test_a_report_says_in_how_many_trials_another_run_measured() -> None:
    run = fake_run(invalid=False)
    alone = document(run).caveats
    assert not any("another run" in text for text in alone)
    trials = tuple(
        record.model_copy(update={"beside_another": place < 12}) for place, record in enumerate(run.trials)
    )
    (caveat,) = set(document(run.model_copy(update={"trials": trials})).caveats) - set(alone)
    assert caveat.startswith("another run was measuring on the same processors at the same time")
    assert caveat.endswith(f"(12 of {len(run.trials)} trials)")


def by_pg8000(waited_us: float, *, ops_per_s: float = 40.0, client: str = "pg8000-1") -> str:
    """What is said of connections that over TLS take that much longer, and 2 ms of CPU time."""
    study = override(override(load_study("tax"), "workload", ["reconnect"]), "server", ["postgresql-18"])
    study = override(study, "client", [client])

    def truth(case: Case) -> Truth:
        more_us = 0.0 if case.levels.tls == "off" else 1_000.0
        phases = {"connect": 3_000.0 + (waited_us + 2_000.0 if more_us else 0.0), "query": 200.0}
        return Truth(
            ops_per_s, {**phases, "operation": sum(phases.values())}, 1_000 + more_us, 2_000 + more_us
        )

    run = fake_run(study, noise=0.0, number_of_blocks=3, truth=truth, invalid=False)
    return " ".join(document(run).caveats)


def test_a_driver_that_waits_for_an_acknowledgement_is_named() -> None:
    assert "a connect takes 41 ms longer than its CPU time explains: a driver that leaves Nagle" in by_pg8000(
        41_000
    )


def test_a_driver_that_does_not_wait_is_not_named_nor_one_that_works() -> None:
    assert "Nagle" not in by_pg8000(20_000)
    assert "Nagle" not in by_pg8000(41_000, ops_per_s=400.0)
    assert "Nagle" not in by_pg8000(41_000, client="engine")
