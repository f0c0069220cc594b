"""The client of an external server is pinned where that was asked for, and nobody is where it was not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from fake_trials import fake_header
from tlstax.external.access import ExternalAccess, parse_url
from tlstax.observers.countable import Usable
from tlstax.observers.counters import INSTRUCTIONS
from tlstax.plan.cpu_shares import AskedCpus
from tlstax.plan.elsewhere import Room
from tlstax.run import benches, external, preparing
from tlstax.run.bench import Needs
from tlstax.run.benches import Specimens
from tlstax.run.preparing import Request
from tlstax.study import load_study
from tlstax.support.errors import UserMistake

ACCESS = ExternalAccess(address=parse_url("mysql://ann@db.example/lent"), user="ann", password="")
ENGINE: Any = SimpleNamespace(specimen=fake_header().specimens[0], command=["engine"])
SPECIMENS = Specimens({}, {}, clients={"engine": ENGINE})
NEEDS = Needs(rows=10, connections=8, seed=1, duration_s=0.1)


@pytest.fixture
def entered(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """An external server on paper; each time that somebody gets in."""
    found: list[Any] = []
    specimen = fake_header().specimens[0]

    @contextmanager
    def external_terms(*_: object) -> Iterator[Any]:
        server = SimpleNamespace(
            specimen=specimen,
            pause=lambda: None,
            near=lambda: None,
            load_account=SimpleNamespace(database="lent"),
            no_plaintext=lambda: None,
            room=lambda asked: Room(151, 1, asked=asked),
        )
        found.append(server)
        yield server, SimpleNamespace(model_copy=lambda update: update)

    @contextmanager
    def furnished(*_: object) -> Iterator[Any]:
        yield None, None

    uncounted = Usable((), dict.fromkeys(INSTRUCTIONS, "there is no counter"))
    monkeypatch.setattr(external, "external_terms", external_terms)
    monkeypatch.setattr(external.answers, "round_trip_s", lambda _: 0.0001)
    monkeypatch.setattr(external, "furnished", furnished)
    monkeypatch.setattr(external, "describe_machine", lambda: fake_header().machine)
    monkeypatch.setattr(benches.countable, "usable_events", lambda: uncounted)
    return found


@pytest.mark.parametrize("cpus", [(), (0,)])
def test_the_client_is_pinned_only_where_that_was_asked_for(
    entered: list[Any], cpus: tuple[int, ...]
) -> None:
    asked = external.ExternalRequest({None: ACCESS})
    with external.open_external(
        load_study("tax"), asked, SPECIMENS, NEEDS, lambda _: None, cpus=AskedCpus(client=cpus or None)
    ) as found:
        (bench,) = found.benches.values()
        terms: Any = bench.terms
        machine = bench.machine
        assert terms["client_cpus"] == machine.client_cpus == found.machine.client_cpus == cpus
        assert machine.server_cpus == ()
        assert machine.cpus_asked_for is bool(cpus)
        assert len(entered) == 1


def test_cpus_that_are_not_there_are_refused_first(entered: list[Any]) -> None:
    asked = external.ExternalRequest({None: ACCESS})
    request = Request(load_study("tax"), asked, cpus=AskedCpus(client=(99999,)))
    with (
        pytest.raises(UserMistake, match=r"--client-cpus: .*CPU 99999"),
        preparing.opened(request, NEEDS, SimpleNamespace(step=print, warn=print)),
    ):
        pytest.fail("it was opened all the same")
    assert entered == []
