"""Why cases at an external server took no turns is said of the run, and only where it is so."""

from __future__ import annotations

from fake_slices import in_turns, slices_of
from fake_trials import TAX_TRUTHS, fake_run, whole_tax
from tlstax.findings.answer.document import document
from tlstax.findings.answer.turn_caveats import of_turns
from tlstax.records.trial import StoredRun
from tlstax.study import override


def at_an_external_server(workloads: list[str], *, sliced: bool = False) -> StoredRun:
    study = override(override(whole_tax(), "workload", workloads), "connections", ["8"])
    run = fake_run(study, truth=lambda _: TAX_TRUTHS["point-select", "off", "off"], invalid=False)
    trials = (
        tuple(in_turns(one.trial, slices_of([(20, 1.0)] * 5)) for one in run.trials) if sliced else run.trials
    )
    return run.model_copy(update={"trials": trials, "header": run.header.model_copy(update={"guest": True})})


def test_kept_connections_beyond_the_promise_are_named_with_the_option() -> None:
    run = at_an_external_server(["point-select", "reconnect"])
    (said,) = of_turns(run)
    assert said.startswith("point selects on kept connections")
    assert said.endswith(
        "each case had the server to itself, because 5 of them in turns would hold 40 connections at once, "
        "and the server was promised 8 at the most (--connections 8,40 promises that many)"
    )
    assert said in document(run).caveats


def test_further_groups_are_counted() -> None:
    (said,) = of_turns(at_an_external_server(["point-select", "select-range", "oltp-read-only"]))
    assert said.endswith("; so it was with 2 other groups of cases")


def test_nothing_is_said_where_turns_were_taken_nor_of_a_server_of_our_own() -> None:
    assert of_turns(at_an_external_server(["reconnect"])) == ()
    assert of_turns(at_an_external_server(["point-select"], sliced=True)) == ()
    run = at_an_external_server(["point-select"])
    assert of_turns(run.model_copy(update={"header": run.header.model_copy(update={"guest": False})})) == ()
    assert of_turns(run.model_copy(update={"trials": ()})) == ()
