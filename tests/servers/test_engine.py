"""The load engine against real servers: what it says is what happened, and what is wrong is named."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from load_jobs import ROWS, WITHIN_S, job, measured

from tlstax.clients.engine import engine_command
from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.contract import (
    Account,
    ClosedLoop,
    Job,
    OpenLoop,
    TcpEndpoint,
    TlsOn,
    TlsVersion,
    Workload,
)
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.sql.table_rows import TableContent
from tlstax.stats.histograms import decode
from tlstax.study import workloads


@pytest.fixture
def filled(private: PrivateServer) -> PrivateServer:
    private.prepare_table(TableContent(rows=ROWS, seed=1))
    return private


def tls(server: PrivateServer, version: TlsVersion = "1.3", **changes: object) -> TlsOn:
    asked = TlsOn(min_version=version, max_version=version, verify="identity", ca_file=server.ca_file)
    return asked.model_copy(update=changes)


def failed(job: Job) -> ClientFailure:
    with pytest.raises(ClientFailure) as failure:
        measured(job)
    return failure.value


def kind_of(failure: ClientFailure) -> tuple[str, str]:
    assert len(failure.errors) == 1
    return failure.errors[0].kind, failure.errors[0].fault


@pytest.mark.parametrize("workload", ["point-select", "reconnect", "select-range"])
def test_plaintext_rows_are_the_servers(filled: PrivateServer, workload: str) -> None:
    ready, done = measured(job(filled, workload))
    assert [(seen.connections, seen.client, seen.server) for seen in ready.negotiated] == [(4, None, None)]
    assert done.operations > 0
    assert done.errors == ()
    assert len(done.row_samples) > 2
    with filled.admin() as database:
        for sample in done.row_samples:
            assert tuple(database.rows(sample.sql)) == sample.rows


@pytest.mark.parametrize("version", ["1.2", "1.3"])
@pytest.mark.parametrize("resumption", [False, True])
@pytest.mark.parametrize("workload", ["point-select", "reconnect"])
def test_both_sides_agree_on_what_was_negotiated(
    filled: PrivateServer, workload: str, version: TlsVersion, resumption: bool
) -> None:
    asked = tls(filled, version, resumption=resumption)
    ready, done = measured(job(filled, workload, tls=asked))
    (seen,) = ready.negotiated
    assert seen.client is not None
    assert seen.server is not None
    assert seen.client.version == seen.server.version == f"TLSv{version}"
    assert seen.client.cipher == seen.server.cipher
    assert seen.client.resumed == resumption
    # MariaDB's variable stays 0 whatever happens.
    assert seen.server.resumed == (None if "MariaDB" in filled.version else resumption)
    in_window = sum(handshakes.count for handshakes in done.window.handshakes)
    assert in_window == (done.operations if workload == "reconnect" else 0)
    assert all(handshakes.resumed == resumption for handshakes in done.window.handshakes)


def test_every_phase_of_a_connection_has_its_histogram(filled: PrivateServer) -> None:
    _, done = measured(job(filled, "reconnect", tls=tls(filled)))
    phases = {name: decode(text) for name, text in done.histograms_ns.items()}
    opening = ("tcp_connect", "greeting", "tls_handshake", "authentication")
    assert set(phases) == {*opening, "connect", "first_query", "close", "operation"}
    assert {name: phase.count for name, phase in phases.items()} == dict.fromkeys(phases, done.operations)
    parts_us = sum(phases[name].mean_us() for name in opening)
    assert parts_us == pytest.approx(phases["connect"].mean_us(), rel=0.01)
    assert phases["operation"].mean_us() > phases["connect"].mean_us()


def test_what_crossed_the_wire_is_counted(filled: PrivateServer) -> None:
    _, plain = measured(job(filled))
    _, encrypted = measured(job(filled, tls=tls(filled)))
    for done in (plain, encrypted):
        assert done.wire.segments_sent is not None
        assert done.wire.segments_sent >= done.operations
    # A record of TLS 1.3 adds 5 bytes of header, 16 of tag and 1 of type (RFC 8446, section 5.2).
    added = encrypted.wire.bytes_sent / encrypted.operations - plain.wire.bytes_sent / plain.operations
    assert added == pytest.approx(22, abs=0.5)


def test_the_unix_socket_works_too(filled: PrivateServer) -> None:
    _, done = measured(job(filled, endpoint=filled.unix_endpoint()))
    assert done.operations > 0
    assert done.wire.segments_sent is None


def test_more_threads_share_the_connections(filled: PrivateServer) -> None:
    ready, done = measured(job(filled, connections=5, threads=2, tls=tls(filled)))
    assert sum(seen.connections for seen in ready.negotiated) == 5
    assert done.lifetime.connections == 5


@pytest.mark.parametrize("schedule", [ClosedLoop(), OpenLoop(rate_per_s=100.0, arrivals="uniform")])
def test_connections_that_the_server_drops_are_opened_again(
    filled: PrivateServer, schedule: ClosedLoop | OpenLoop
) -> None:
    with LoadClient(engine_command(), job(filled, schedule=schedule, duration_s=2.0)) as client:
        client.wait_ready(WITHIN_S)
        client.go()
        time.sleep(0.5)
        with filled.admin() as database:
            user = filled.load_account.user
            dropped = [
                row[0]
                for row in database.rows(
                    "SELECT id FROM information_schema.processlist WHERE user = %s", (user,)
                )
            ]
            for number in dropped:
                database.rows(f"KILL {number}")
        done = client.wait_done(WITHIN_S)
    assert len(dropped) == 4
    assert sum(error.count for error in done.errors) == 4
    assert done.window.connections == 4
    if isinstance(schedule, OpenLoop):
        assert done.operations > 0.9 * done.scheduled


def test_a_server_that_is_gone_for_good_ends_the_job(mysql_build: ServerBuild, session: Session) -> None:
    small = ServerSettings(buffer_pool_bytes=64 * 1024 * 1024)
    with PrivateServer.start(mysql_build, session, small) as server:
        server.prepare_table(TableContent(rows=ROWS, seed=1))
        schedule = OpenLoop(rate_per_s=20.0, arrivals="uniform")
        with LoadClient(engine_command(), job(server, schedule=schedule, duration_s=60.0)) as client:
            client.wait_ready(WITHIN_S)
            client.go()
            os.kill(server.pid or 0, signal.SIGKILL)
            with pytest.raises(ClientFailure) as failure:
                client.wait_done(WITHIN_S)
    assert kind_of(failure.value) == ("connect", "network")


def test_a_wrong_password_is_access_denied(filled: PrivateServer) -> None:
    account = Account(user=filled.load_account.user, password="not it", database="tlstax")
    failure = failed(job(filled, account=account))
    assert kind_of(failure) == ("access_denied", "server")
    assert failure.errors[0].code == 1045
    assert "not it" not in str(failure)


def test_an_unknown_schema_is_the_servers_answer(filled: PrivateServer) -> None:
    account = filled.load_account.model_copy(update={"database": "nowhere"})
    assert "nowhere" in str(failed(job(filled, account=account)))


def test_an_unknown_table_is_the_servers_answer(filled: PrivateServer) -> None:
    failure = failed(job(filled, workload=workloads.built_in("point-select", "no_such_table", ROWS)))
    assert kind_of(failure)[0] == "server_error"
    assert "no_such_table" in str(failure)


def test_a_certificate_of_another_authority_is_refused(
    filled: PrivateServer, mysql: PrivateServer, mariadb: PrivateServer
) -> None:
    other = mariadb if filled is mysql else mysql
    failure = failed(job(filled, tls=tls(filled, ca_file=other.ca_file)))
    assert kind_of(failure) == ("certificate", "server")


def test_a_name_that_the_certificate_does_not_have_is_refused(filled: PrivateServer) -> None:
    failure = failed(job(filled, tls=tls(filled, server_name="db.example")))
    assert kind_of(failure)[0] == "certificate"
    assert "mismatch" in str(failure)


def test_a_refused_setting_is_named(filled: PrivateServer) -> None:
    assert "groups" in str(failed(job(filled, tls=tls(filled, groups="no-such-group"))))
    assert "cipher_list" in str(failed(job(filled, tls=tls(filled, cipher_list="no-such-cipher"))))


def test_a_missing_library_is_named(filled: PrivateServer) -> None:
    failure = failed(job(filled, tls=tls(filled, library="/nowhere/libssl.so.3")))
    assert kind_of(failure)[0] == "tls_library"
    assert "/nowhere/libssl.so.3" in str(failure)


def test_a_statement_with_an_unknown_placeholder_is_a_bad_job(filled: PrivateServer) -> None:
    broken = Workload.model_validate({"statements": [{"sql": "SELECT {what}"}]})
    failure = failed(job(filled, workload=broken))
    assert kind_of(failure) == ("bad_job", "job")
    assert "{what}" in str(failure)


def test_a_closed_port_is_the_networks(filled: PrivateServer) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    failure = failed(job(filled, endpoint=TcpEndpoint(host="127.0.0.1", port=port)))
    assert kind_of(failure) == ("connect", "network")


@contextmanager
def listener(serve: Callable[[socket.socket], None]) -> Iterator[TcpEndpoint]:
    """A TCP server that does to each connection what `serve` does."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    serve(connection)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield TcpEndpoint(host="127.0.0.1", port=server.getsockname()[1])
        server.shutdown(socket.SHUT_RDWR)
        thread.join(WITHIN_S)


def test_a_port_that_is_not_mysql_is_named(filled: PrivateServer) -> None:
    with listener(lambda connection: connection.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n")) as endpoint:
        failure = failed(job(filled, endpoint=endpoint))
    assert kind_of(failure) == ("not_mysql", "job")
    assert "SSH" in str(failure)


def test_a_silent_port_is_given_up(filled: PrivateServer) -> None:
    def silence(connection: socket.socket) -> None:
        connection.settimeout(WITHIN_S)
        connection.recv(1)

    with listener(silence) as endpoint:
        failure = failed(job(filled, endpoint=endpoint, timeout_s=0.5, connections=1))
    assert kind_of(failure)[0] == "timeout"


def test_a_server_that_hangs_up_at_once_is_named(filled: PrivateServer) -> None:
    with listener(lambda _: None) as endpoint:
        failure = failed(job(filled, endpoint=endpoint))
    assert kind_of(failure)[0] == "server_closed"


def test_noise_after_a_greeting_does_no_harm(filled: PrivateServer) -> None:
    with socket.create_connection((filled.endpoint().host, filled.endpoint().port)) as real:
        greeting = real.recv(4096)

    def hostile(connection: socket.socket) -> None:
        connection.sendall(greeting)
        connection.recv(4096)
        connection.sendall(b"\xff\xff\xff\x02" + os.urandom(3000))

    with listener(hostile) as endpoint:
        failure = failed(job(filled, endpoint=endpoint, timeout_s=1.0, connections=1))
    assert kind_of(failure)[0] in {"protocol", "limits", "timeout", "server_closed", "server_error"}


def test_too_few_file_descriptors_are_said_before_anything_is_tried(filled: PrivateServer) -> None:
    limited = ["prlimit", "--nofile=60:60", *engine_command()]
    with LoadClient(limited, job(filled, connections=40)) as client, pytest.raises(ClientFailure) as failure:
        client.wait_ready(WITHIN_S)
    assert kind_of(failure.value) == ("limits", "client")
    assert "40 connections need" in str(failure.value)


def test_a_soft_limit_of_file_descriptors_is_raised(filled: PrivateServer) -> None:
    limited = ["prlimit", "--nofile=60:200", *engine_command()]
    with LoadClient(limited, job(filled, connections=80)) as client:
        assert sum(seen.connections for seen in client.wait_ready(WITHIN_S).negotiated) == 80


def test_what_is_not_a_job_is_refused() -> None:
    for text in ("go\n", "{}\n", ""):
        done = subprocess.run(
            engine_command(), input=text, capture_output=True, text=True, timeout=WITHIN_S, check=False
        )
        event = json.loads(done.stdout)
        assert (done.returncode, event["event"], event["kind"], event["fault"]) == (
            1,
            "error",
            "bad_job",
            "job",
        )


def test_the_engine_ends_when_nobody_waits_for_it(filled: PrivateServer) -> None:
    with LoadClient(engine_command(), job(filled, duration_s=60.0)) as client:
        client.wait_ready(WITHIN_S)
        client.go()
        handle = os.pidfd_open(client.pid)
        client.hang_up()
        _wait_for_end(handle)
        os.close(handle)


def test_a_killed_engine_is_a_failure_that_says_so(filled: PrivateServer) -> None:
    with LoadClient(engine_command(), job(filled, duration_s=60.0)) as client:
        client.wait_ready(WITHIN_S)
        client.go()
        os.kill(client.pid, signal.SIGKILL)
        with pytest.raises(ClientFailure, match="killed by signal 9"):
            client.wait_done(WITHIN_S)


def test_a_client_may_clear_up_behind_it_and_is_killed_when_it_will_not_end(
    filled: PrivateServer, tmp_path: Path
) -> None:
    cleared = tmp_path / "cleared"
    with LoadClient(["sh", "-c", f"cat >/dev/null; sleep 0.2; touch '{cleared}'"], job(filled)):
        assert not cleared.exists()
    assert cleared.exists()
    with LoadClient(["sleep", "600"], job(filled)) as client:
        handle = os.pidfd_open(client.pid)
    _wait_for_end(handle)
    os.close(handle)


def _wait_for_end(handle: int) -> None:
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    assert poll.poll(WITHIN_S * 1000)
