"""The client of an external server is pinned where that was asked for, and nobody is where it was not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from fake_trials import fake_header
from tlstax.guests.access import GuestAccess
from tlstax.guests.address import parse
from tlstax.observers.countable import Usable
from tlstax.observers.perf_events import INSTRUCTIONS
from tlstax.records.trial import Machine
from tlstax.run import benches
from tlstax.run.bench import Needs
from tlstax.study import load_study
from tlstax.support.errors import UserMistake

ACCESS = GuestAccess(address=parse("mysql://ann@db.example/lent"), user="ann", password="")
NEEDS = Needs(rows=10, connections=8, seed=1, duration_s=0.1)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Machine]]:
    """An external server on paper; the terms and the machine of each bench that is opened on it."""
    found: list[tuple[Any, Machine]] = []
    specimen = fake_header().specimens[0]

    @contextmanager
    def guest_terms(*_: object) -> Iterator[Any]:
        yield SimpleNamespace(specimen=specimen), SimpleNamespace(model_copy=lambda update: update)

    @contextmanager
    def furnished(server: Any, terms: Any, _: object, machine: Machine, __: object) -> Iterator[Any]:
        found.append((terms, machine))
        yield SimpleNamespace(server=server)

    uncounted = Usable((), dict.fromkeys(INSTRUCTIONS, "there is no counter"))
    monkeypatch.setattr(benches, "guest_terms", guest_terms)
    monkeypatch.setattr(benches, "furnished", furnished)
    monkeypatch.setattr(benches, "engine_command", lambda: ["engine"])
    monkeypatch.setattr(benches, "engine_specimen", lambda: specimen)
    monkeypatch.setattr(benches, "describe_machine", lambda: fake_header().machine)
    monkeypatch.setattr(benches.countable, "usable_events", lambda: uncounted)
    return found


@pytest.mark.parametrize("cpus", [(), (0,)])
def test_the_client_is_pinned_only_where_that_was_asked_for(
    opened: list[tuple[Any, Machine]], cpus: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benches, "check_usable", lambda _: None)
    with benches.open_guest(load_study("tax"), ACCESS, NEEDS, lambda _: None, client_cpus=cpus) as found:
        ((terms, machine),) = opened
        assert terms["client_cpus"] == machine.client_cpus == found.machine.client_cpus == cpus
        assert machine.server_cpus == ()
        assert machine.cpus_asked_for is bool(cpus)


def test_cpus_that_are_not_there_are_refused_first(opened: list[tuple[Any, Machine]]) -> None:
    with (
        pytest.raises(UserMistake, match=r"--client-cpus: .*CPU 99999"),
        benches.open_guest(load_study("tax"), ACCESS, NEEDS, lambda _: None, client_cpus=(99999,)),
    ):
        pytest.fail("it was opened all the same")
    assert opened == []
