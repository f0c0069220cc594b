"""A server over another TLS library, and the silent traps: it is as asked for, or the trial is invalid."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import load_jobs
import pytest
from tls_libraries import copied

from tlstax.checks import judge
from tlstax.contract import Job, TlsOn
from tlstax.mysql import status
from tlstax.observers import process
from tlstax.plan.order import cases
from tlstax.records.trial import Evidence, LibraryClaim, ServerClaim, ServerObservation, Trial, Verdict
from tlstax.specimens import loading
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild, TlsLibrary
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.sql.facts import changed_counters
from tlstax.sql.table_rows import TableContent
from tlstax.study import load_study
from tlstax.support.errors import UserMistake

CASE = next(
    case
    for case in cases(load_study("tax"))
    if (case.levels["workload"], case.levels["tls"], case.levels["resumption"]) == ("reconnect", "1.3", "off")
)
"""Reconnects over TLS 1.3, each with a full handshake."""


@pytest.fixture(scope="module")
def libraries(
    tmp_path_factory: pytest.TempPathFactory, mysql_build: ServerBuild, mariadb_build: ServerBuild
) -> dict[str, TlsLibrary]:
    """OpenSSL as sid and as trixie have it; `misnamed` is trixie's under the names of OpenSSL 1.1.1."""
    kept = tmp_path_factory.mktemp("libraries")
    return {
        "sid": copied(mysql_build, "openssl-of-sid", kept / "sid"),
        "trixie": copied(mariadb_build, "openssl-of-trixie", kept / "trixie"),
        "misnamed": copied(mariadb_build, "openssl-misnamed", kept / "misnamed", suffix=".so.1.1"),
    }


@pytest.fixture(scope="module")
def swapped(
    session: Session, mysql_build: ServerBuild, libraries: dict[str, TlsLibrary]
) -> Iterator[PrivateServer]:
    """MySQL 9.7, which comes with sid's OpenSSL, over trixie's."""
    settings = ServerSettings(tls_library=libraries["trixie"])
    with PrivateServer.start(mysql_build, session, settings) as server:
        server.prepare_table(TableContent(rows=load_jobs.ROWS, seed=1))
        yield server


def tls_job(server: PrivateServer, **changes: Any) -> Job:
    tls = TlsOn(min_version="1.3", max_version="1.3", verify="identity", ca_file=server.ca_file)
    return load_jobs.job(server, "reconnect", tls=tls, **changes)


def measured(
    server: PrivateServer,
    *,
    claim: ServerClaim | None = None,
    client_claim: LibraryClaim | None = None,
    answered_by: PrivateServer | None = None,
    job: Job | None = None,
) -> Verdict:
    """The verdict on a short trial of the server, with what really happened as its evidence.

    `answered_by` is the server that the laboratory's connection and the client really go to.
    """
    asked = answered_by or server
    carried_out = job or tls_job(asked)
    with asked.admin() as database:
        before = status.read_status(database)
        with load_jobs.client(carried_out) as client:
            ready = client.wait_ready(load_jobs.WITHIN_S)
            client_libraries = process.mapped_tls_libraries(ready.pid)
            client.go()
            done = client.wait_done(load_jobs.WITHIN_S)
        after = status.read_settled_status(database, before["Threads_connected"])
        seen = server.observed_identity(database)
    observation = ServerObservation(
        version=seen.version,
        tls_library_version=asked.tls_library_version,
        status_delta=changed_counters(before, after),
        cpu=None,
        rss_bytes=None,
        mapped_tls_libraries=process.mapped_tls_libraries(seen.pid or 0),
        answering_pid=seen.pid,
        program=seen.program,
        listening_port=seen.listening_port,
        data_directory=seen.data_directory,
    )
    return judge(
        Evidence(
            trial=Trial(block=0, position=0, case=CASE),
            started_at="",
            took_s=0.3,
            job=carried_out.without_password(),
            ready=ready,
            done=done,
            client_mapped_tls_libraries=client_libraries,
            server=observation,
            claim=claim or server.claim(),
            client_claim=client_claim,
        )
    )


def reasons(verdict: Verdict) -> str:
    assert verdict.value == "invalid", verdict
    return "; ".join(verdict.reasons)


def test_a_server_runs_over_the_library_that_it_is_given(
    swapped: PrivateServer, libraries: dict[str, TlsLibrary]
) -> None:
    assert (swapped.tls_library_version or "").startswith("OpenSSL 3.5")
    assert swapped.pid is not None
    mapped = {library.path for library in process.mapped_tls_libraries(swapped.pid)}
    assert mapped == {str(libraries["trixie"].libssl), str(libraries["trixie"].libcrypto)}
    verdict = measured(swapped)
    assert verdict.value == "valid", verdict


def test_mariadb_runs_over_another_library_too(
    session: Session, mariadb_build: ServerBuild, libraries: dict[str, TlsLibrary]
) -> None:
    settings = ServerSettings(tls_library=libraries["sid"])
    with PrivateServer.start(mariadb_build, session, settings) as server:
        server.prepare_table(TableContent(rows=load_jobs.ROWS, seed=1))
        assert (server.tls_library_version or "").startswith("OpenSSL 3.6")
        verdict = measured(server)
        assert verdict.value == "valid", verdict


def test_a_library_of_another_name_is_refused(
    session: Session, mysql_build: ServerBuild, libraries: dict[str, TlsLibrary]
) -> None:
    with pytest.raises(UserMistake) as caught:
        PrivateServer.start(mysql_build, session, ServerSettings(tls_library=libraries["misnamed"]))
    assert caught.value.message == (
        "mysql-9.7 asks for libssl.so.3 and libcrypto.so.3; "
        "openssl-misnamed has libssl.so.1.1 and libcrypto.so.1.1"
    )


def test_a_program_with_its_library_linked_in_is_refused(libraries: dict[str, TlsLibrary]) -> None:
    specimen = libraries["trixie"].specimen.model_copy(update={"name": "mariadb-wolfssl", "kind": "server"})
    program = Path("/bin/sleep")
    with pytest.raises(UserMistake, match="mariadb-wolfssl has its TLS library linked into it"):
        loading.over(ServerBuild(specimen, "mariadb", program), libraries["trixie"])


def test_a_server_that_silently_kept_its_own_library_is_found_out(
    mysql: PrivateServer, libraries: dict[str, TlsLibrary]
) -> None:
    """A directory with the wrong name in it: the loader passes over it without a word."""
    mysql.prepare_table(TableContent(rows=load_jobs.ROWS, seed=1))
    claim = mysql.claim().model_copy(update={"tls_library": libraries["misnamed"].claim()})
    said = reasons(measured(mysql, claim=claim))
    assert "libssl.so.3 is loaded into mysql-9.7, and is not openssl-misnamed's libssl" in said
    assert "mysql-9.7 says that it runs over OpenSSL 3.6" in said


def test_an_old_server_that_still_answers_is_found_out(mysql: PrivateServer, swapped: PrivateServer) -> None:
    mysql.prepare_table(TableContent(rows=load_jobs.ROWS, seed=1))
    said = reasons(measured(swapped, answered_by=mysql))
    assert f"process {mysql.pid} answered, where mysql-9.7 is process {swapped.pid}" in said
    assert f"where mysql-9.7 has its own in {swapped.claim().data_directory}" in said
    assert "is not openssl-of-trixie's libssl" in said


def test_a_client_that_was_sent_elsewhere_is_found_out(mysql: PrivateServer, swapped: PrivateServer) -> None:
    mysql.prepare_table(TableContent(rows=load_jobs.ROWS, seed=1))
    said = reasons(measured(swapped, job=tls_job(mysql)))
    ports = (mysql.endpoint().port, swapped.endpoint().port)
    assert "sent to port {}, where mysql-9.7 listens on {}".format(*ports) in said
    assert "the server counted 0 connections" in said


def test_another_file_or_version_than_claimed_is_found_out(swapped: PrivateServer) -> None:
    real = swapped.claim()
    other = real.model_copy(update={"program": "/elsewhere/mysqld", "version": "9.6.0"})
    said = reasons(measured(swapped, claim=other))
    assert f"what answered executes {real.program}, not /elsewhere/mysqld" in said
    assert "where 9.6.0 is claimed" in said


def test_another_library_under_the_client_is_found_out(
    swapped: PrivateServer, libraries: dict[str, TlsLibrary]
) -> None:
    with load_jobs.client(tls_job(swapped)) as client:
        mapped = process.mapped_tls_libraries(client.wait_ready(load_jobs.WITHIN_S).pid)
    own = {library.sha256 for library in mapped}
    claims = [libraries[name].claim() for name in ("trixie", "sid")]
    other = next(claim for claim in claims if claim.libssl_sha256 not in own)
    said = reasons(measured(swapped, client_claim=other))
    assert f"is loaded into the client, and is not {other.name}'s libssl" in said


def test_the_processes_and_sockets_of_a_server_are_known(swapped: PrivateServer) -> None:
    with swapped.admin() as database:
        seen = swapped.observed_identity(database)
    assert seen.pid == swapped.pid
    assert seen.program == swapped.claim().program
    assert Path(seen.program or "").name == "mysqld", "the loader is not the program"
    assert Path(f"/proc/{seen.pid}/exe").readlink().name.startswith("ld-linux")
    assert seen.listening_port == swapped.endpoint().port
    assert seen.data_directory == swapped.claim().data_directory
