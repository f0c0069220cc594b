"""The report says which CPUs each side had, who chose them, and what a pilot saw."""

from __future__ import annotations

from typing import Any

import pytest

from fake_trials import fake_run
from tlstax.records.beforehand import Pilot, PilotLoad
from tlstax.records.trial import StoredRun
from tlstax.topics.answer.document import document
from tlstax.topics.core.facts import facts


def run_with(**changes: Any) -> StoredRun:
    run = fake_run(number_of_blocks=2)
    machine = run.header.machine.model_copy(update=changes)
    return run.model_copy(update={"header": run.header.model_copy(update={"machine": machine})})


def fact(name: str, run: StoredRun) -> str:
    return facts(run, document(run)).get(name, "")


def load(tls: str, client: float, server: float) -> PilotLoad:
    case = {"workload": "reconnect", "tls": tls, "resumption": "off", "connections": 8}
    return PilotLoad(case=case, client_busy_cpus=client, server_busy_cpus=server)


PILOT = Pilot(
    server_cpus=(0, 1, 2, 3, 4, 5), client_cpus=(6, 7), loads=(load("off", 0.9, 3.0), load("1.3", 1.95, 2.4))
)


@pytest.mark.parametrize(
    ("changes", "ends"),
    [
        ({}, ", virtualised by kvm, server on CPU 0, client on CPU 1"),
        ({"cpus_asked_for": True}, ", server on CPU 0, client on CPU 1 (as asked for)"),
        (
            {"server_cpus": (0, 1, 2), "client_cpus": (3, 4, 5, 6, 7), "pilot": PILOT},
            "server on CPU 0-2, client on CPU 3-7",
        ),
        ({"server_cpus": (), "client_cpus": ()}, "virtualised by kvm"),
        (
            {"server_cpus": (), "client_cpus": (2, 3), "cpus_asked_for": True},
            "client on CPU 2-3 (as asked for)",
        ),
    ],
)
def test_the_machine_is_described_with_who_is_on_which_cpu(changes: dict[str, Any], ends: str) -> None:
    assert fact("Machine", run_with(**changes)).endswith(ends)


def test_what_the_pilot_saw_and_what_followed_is_said() -> None:
    run = run_with(server_cpus=(0, 1, 2), client_cpus=(3, 4, 5, 6, 7), pilot=PILOT)
    text = fact("Pilot", run)
    assert text.startswith("TLS 1.3")
    assert text.endswith(
        " kept 1.9 of the client's 2 CPUs busy and 2.4 of the server's 6; shared out as they are now, the "
        "client's are 49 % busy when all of the server's are"
    )


def test_without_a_pilot_or_one_that_saw_something_there_is_no_such_fact() -> None:
    assert fact("Pilot", run_with()) == ""
    assert fact("Pilot", run_with(pilot=PILOT.model_copy(update={"loads": ()}))) == ""
