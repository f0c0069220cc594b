"""Load that comes from several machines at once: real programs of load machines, here on loopback."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from guest_house import House
from test_sitting import Watching
from test_sitting import study as study_in_turns

from processes import family
from tlstax.clients.fleet import Fleet, FleetLine, LoadMachineLost
from tlstax.clients.fleet_messages import Listening, ListenOrder, Peer
from tlstax.records.trial import StoredRun
from tlstax.run.external import ExternalRequest
from tlstax.run.pilot import LoadFrom
from tlstax.run.pipeline import run
from tlstax.run.preparing import Request
from tlstax.store import Store
from tlstax.study import Study
from tlstax.support.errors import MachineFault

HERE = "127.0.0.1"
CONNECTIONS = 5
LATER = ("reconnect", "update")


@dataclass(frozen=True)
class LoadMachine:
    """A load machine's program, and how it is reached."""

    process: subprocess.Popen[str]
    peer: Peer

    def clients(self) -> list[psutil.Process]:
        return family(self.process.pid, word="tlstax-engine")


@pytest.fixture(scope="module")
def machines() -> Iterator[Sequence[LoadMachine]]:
    with started() as both:
        yield both


@contextmanager
def started() -> Iterator[Sequence[LoadMachine]]:
    both = [load_machine(name) for name in ("c1", "c2")]
    yield both
    for machine in both:
        machine.process.communicate()
        assert machine.process.returncode in {0, -signal.SIGKILL}


def load_machine(name: str) -> LoadMachine:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "tlstax", "client-node"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TLSTAX_TURN": f"{name}-{os.getpid()}"},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    token = secrets.token_hex(16)
    process.stdin.write(ListenOrder(token=token, address=HERE).model_dump_json() + "\n")
    process.stdin.flush()
    said = Listening.model_validate_json(process.stdout.readline())
    peer = Peer(name=name, address=HERE, port=said.port, token=token, fingerprint=said.fingerprint)
    return LoadMachine(process, peer)


def study(server: str, workload: str, **changed: object) -> Study:
    factors = {
        "tls": ("off", "1.3"),
        "workload": (workload,),
        "connections": (CONNECTIONS,),
        "server": (server,),
    }
    return study_in_turns(server, workload, factors=factors, **changed)


def measured(
    tmp_path: Path, of: Study, machines: Sequence[LoadMachine], watcher: Watching | None = None
) -> StoredRun:
    load = LoadFrom(tuple(machine.peer for machine in machines), HERE)
    with Store.open(tmp_path / "store.sqlite") as store:
        try:
            return run(Request(study=of, seed=3, beside_others=True, load=load), store, watcher or Watching())
        except MachineFault:
            (only,) = store.runs()
            return store.load(only.run)


def test_an_external_server_gets_no_more_connections_than_it_was_promised(
    tmp_path: Path, machines: Sequence[LoadMachine], house: House
) -> None:
    of = study("mariadb-11.8", "reconnect")
    factors = {name: levels for name, levels in of.factors.items() if name != "server"}
    load = LoadFrom(tuple(machine.peer for machine in machines), HERE, is_private=False)
    request = Request(
        study=of.model_copy(update={"factors": factors}),
        external=ExternalRequest({None: house.access}),
        seed=3,
        beside_others=True,
        load=load,
    )
    with Store.open(tmp_path / "store.sqlite") as store:
        found = run(request, store, Watching())
    assert found.status == "complete"
    assert found.header.guest
    doubts = [reason for record in found.trials for reason in record.verdict.reasons]
    assert all("began more than a twentieth" in reason for reason in doubts), doubts
    for record in found.trials:
        assert record.load is not None
        assert [part.connections for part in record.load.parts] == [3, 2]
    assert house.things() == set()


@pytest.mark.parametrize(
    "workload", ["point-select", *(pytest.param(name, marks=pytest.mark.long) for name in LATER)]
)
def test_two_machines_send_one_load_and_the_server_counts_what_they_say(
    tmp_path: Path, machines: Sequence[LoadMachine], mariadb_build: object, workload: str
) -> None:
    assert mariadb_build
    found = measured(tmp_path, study("mariadb-11.8", workload), machines)
    assert found.status == "complete"
    assert found.header.load is not None
    assert list(found.header.load.machines) == ["c1", "c2"]
    assert [step.machines for step in found.header.load.steps][:1] == [1] * bool(found.header.load.steps)
    ended = [record for record in found.trials if record.done is not None]
    # Nothing but beginnings too far apart, on a busy machine, may cost a trial.
    doubts = [reason for record in found.trials for reason in record.verdict.reasons]
    assert all("began more than a twentieth" in reason for reason in doubts), doubts
    assert ended
    for record in ended:
        assert record.load is not None
        assert record.done is not None
        assert record.server is not None
        assert [part.connections for part in record.load.parts] == [3, 2]
        assert sum(part.operations for part in record.load.parts) == record.done.operations
        assert record.server.status_delta["Connections"] >= CONNECTIONS
        assert record.job is not None
        assert not record.job.account.password
        if not record.is_valid:
            continue
        assert record.slices is not None
        assert record.slices.lead_in is None
        # Slices that began too far apart do not count. Where they were few, the median is of those that do:
        # the one before the turns, which may be longer, is taken off.
        assert 0 < len(record.slices.rounds) <= record.load.slices - record.load.apart
        if 2 * (record.load.apart + 1) < record.load.slices:
            assert record.slices.length_s >= 20 * record.load.skew_us / 1e6
    assert not [client for machine in machines for client in machine.clients()]


@pytest.mark.long
def test_a_trial_by_itself_is_shared_too(
    tmp_path: Path, machines: Sequence[LoadMachine], mariadb_build: object
) -> None:
    assert mariadb_build
    rate = {"schedule": {"mode": "open", "rate_per_s": 500.0}, "deciding_outcome": "latency_p50_us"}
    found = measured(tmp_path, study("mariadb-11.8", "point-select", **rate), machines)
    records = [record for record in found.trials if record.load is not None and record.done is not None]
    assert records
    for record in records:
        assert record.done is not None
        assert record.slices is None
        assert abs(record.done.scheduled / record.done.elapsed_s - 500) < 150
        assert "operation" in record.done.histograms_ns


def test_the_run_ends_with_a_sentence_when_a_machine_is_gone(tmp_path: Path, mariadb_build: object) -> None:
    assert mariadb_build
    with started() as machines:
        kill = Watching(machines[1].process.kill)
        found = measured(tmp_path, study("mariadb-11.8", "point-select"), machines, kill)
        assert found.status == "failed"
        assert "c2" in found.stopped_because
        assert {record.verdict.value for record in found.trials} == {"invalid"}
        assert not machines[0].clients()


def test_the_load_machines_are_asked_for_more_until_the_server_is_busy(
    machines: Sequence[LoadMachine],
) -> None:
    with Fleet([machine.peer for machine in machines], HERE) as fleet:
        assert list(fleet.machines) == ["c1", "c2"]
        assert 0 < fleet.least_slice_s < 1
        fleet.use_first(1)
        assert list(fleet.machines) == ["c1"]
        assert len(fleet.places) == 1


def test_who_does_not_know_the_token_gets_no_answer(machines: Sequence[LoadMachine]) -> None:
    peer = machines[0].peer
    with pytest.raises(LoadMachineLost, match="c1"):
        FleetLine(peer.model_copy(update={"token": "guessed"}))
    with pytest.raises(LoadMachineLost, match="somebody else"):
        FleetLine(peer.model_copy(update={"fingerprint": "0" * 64}))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection((peer.address, peer.port)) as plain,
        context.wrap_socket(plain) as channel,
    ):
        channel.sendall(json.dumps({"kind": "ask_clock"}).encode() + b"\n")
        assert channel.recv(100) == b""
