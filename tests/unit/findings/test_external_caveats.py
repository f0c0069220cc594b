"""That cases at an external server had fewer connections, or took no turns, is said of the run."""

from __future__ import annotations

from fake_slices import in_turns, slices_of
from fake_trials import TAX_TRUTHS, fake_run, whole_tax
from tlstax.findings.answer.document import document
from tlstax.findings.answer.external_caveats import of_external
from tlstax.records.external import ExternalServer
from tlstax.records.trial import StoredRun
from tlstax.study import override
from tlstax.study.changes import by_addresses

ROOM = ExternalServer(max_connections=151, in_use=1, at_most=37, promised=35)


def at_an_external_server(
    workloads: list[str], external: ExternalServer | None, *, connections: int = 8, sliced: bool = False
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
    fewer = ROOM.model_copy(update={"at_most": 20, "fewer_than": 8})
    (said,) = of_external(at_an_external_server(["point-select", "reconnect"], fewer, connections=2))
    assert said.startswith(
        "2 of 8 connections for each case, so that all that are compared take turns within 20 of the server's"
    )


def test_nothing_is_said_where_all_took_turns_nor_of_a_server_of_our_own() -> None:
    assert of_external(at_an_external_server(["point-select", "reconnect"], ROOM, connections=4)) == ()
    run = at_an_external_server(["point-select"], None)
    assert (
        of_external(run.model_copy(update={"header": run.header.model_copy(update={"guest": False})})) == ()
    )
    assert of_external(run.model_copy(update={"trials": ()})) == ()


def test_of_an_older_run_it_is_known_from_its_trials() -> None:
    (said,) = of_external(at_an_external_server(["point-select", "reconnect"], None))
    assert said.startswith(
        "point selects on kept connections, 8 connections: each by itself, since all 5 cases in turns take"
    )
    assert of_external(at_an_external_server(["point-select"], None, sliced=True)) == ()
    assert of_external(at_an_external_server(["reconnect"], None)) == ()


def test_of_another_address_it_is_told_what_the_server_sees_behind_it() -> None:
    study = by_addresses(override(whole_tax(), "workload", ["point-select"]), ["proxy"])
    run = fake_run(study, truth=lambda _: TAX_TRUTHS["point-select", "off", "off"], invalid=False)
    header = run.header.model_copy(
        update={"guest": True, "external": ROOM.model_copy(update={"at_most": 500})}
    )
    said = of_external(run.model_copy(update={"header": header}))
    (leg,) = [sentence for sentence in said if sentence.startswith("behind ")]
    assert leg.startswith("behind proxy the server sees ")
    assert "where the client has TLS 1.3" in leg
    assert leg.endswith("nobody shows what lies between the two")
