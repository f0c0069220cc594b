"""Of several servers those that can hold connections do, and of each other it is said why it cannot."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_hold import pair

from fake_contestants import MACHINE, SERVER
from tlstax.records.trial import Specimen
from tlstax.selfbench import hold as module
from tlstax.selfbench.hold import HoldRequest, hold
from tlstax.selfbench.hold_records import HeldServer, HoldRun
from tlstax.specimens.server_build import ServerBuild
from tlstax.support.errors import Interrupted, MachineFault, UserMistake

KNOWN = {"mysql-9.7": "mysql", "mariadb-11.8": "mariadb", "mysql-5.6.14": "mysql", "weak": "mysql"}


def named_server(name: str, _: object) -> ServerBuild:
    if name == "gone":
        raise MachineFault("gone cannot be fetched")
    if name not in KNOWN:
        raise UserMistake(f"there is no server named {name!r}")
    specimen = Specimen(
        name=name, kind="server", version="1", origin="here", why="asked", path="/x", sha256="0"
    )
    return ServerBuild(specimen, KNOWN[name], Path("/x"))  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _no_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    def levels(_: object, build: ServerBuild, __: object, so_far: module._SoFar, ___: object) -> None:
        if build.specimen.name == "weak":
            raise MachineFault("9 connections could not be held: it hung up")
        held = HeldServer(specimens=(), server=SERVER, pooled=module.has_pool(build), pairs=())
        if build.specimen.name == "mysql-9.7":
            so_far.servers.append(held)
            raise Interrupted
        so_far.servers.append(held.model_copy(update={"pairs": (pair("off"),)}))

    nobody = SimpleNamespace(others=lambda: False)
    monkeypatch.setattr(module, "named_server", named_server)
    monkeypatch.setattr(module, "_levels", levels)
    monkeypatch.setattr(module, "machine_of", lambda _: MACHINE)
    monkeypatch.setattr(module, "turn", lambda *_, **__: nullcontext(nobody))


def held_on(*servers: str, connections: int = 9) -> HoldRun:
    request = HoldRequest(connections=connections, rate_per_s=9, servers=servers)
    return hold(request, lambda _: None, lambda _: None)


def test_of_several_each_that_cannot_has_its_reason_and_the_others_go_on() -> None:
    run = held_on("gone", "mysql-5.6.14", "weak", "mariadb-11.8")
    assert [held.pooled for held in run.servers] == [True]
    assert {own.server: own.reason for own in run.not_held} == {
        "gone": "gone cannot be fetched",
        "mysql-5.6.14": "mysql-5.6.14 has no TLS 1.3, it has TLS 1.0",
        "weak": "9 connections could not be held: it hung up",
    }


@pytest.mark.parametrize(
    ("server", "fault"), [("gone", MachineFault), ("mysql-5.6.14", UserMistake), ("weak", MachineFault)]
)
def test_one_alone_that_cannot_is_a_failure(server: str, fault: type[Exception]) -> None:
    with pytest.raises(fault):
        held_on(server)


def test_a_name_that_is_unknown_stops_it_whatever_else_there_is() -> None:
    with pytest.raises(UserMistake, match="mysql-nine"):
        held_on("mariadb-11.8", "mysql-nine")


def test_a_machine_that_has_no_room_says_so_of_each() -> None:
    run = held_on("mariadb-11.8", "mysql-9.7", connections=10**8)
    assert run.servers == ()
    assert all("--hold 100000000 needs a server that accepts" in own.reason for own in run.not_held)


def test_what_was_complete_when_it_was_interrupted_is_kept() -> None:
    run = held_on("mariadb-11.8", "mysql-9.7")
    assert (run.status, len(run.servers)) == ("interrupted", 1)
    with pytest.raises(Interrupted):
        held_on("mysql-9.7")
