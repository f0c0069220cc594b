"""What a connection costs real servers in memory: more than nothing, and more under TLS."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from command_line import Home, all_gone, wait_until
from processes import family
from test_guest_addresses import haproxy
from test_guest_run import SMALL, as_owner, lent, sentence, tlstax_run, url_of
from test_promised_connections import most_used

from tlstax.probes.memory.document import MemoryDocument
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from typed import sentence_for


@pytest.mark.long
@pytest.mark.parametrize("product", ["mysql_build", "mariadb_build"])
def test_each_further_connection_costs_memory_and_tls_more(
    request: pytest.FixtureRequest, tmp_path: Path, product: str
) -> None:
    build: ServerBuild = request.getfixturevalue(product)
    home = Home(tmp_path / "data")
    asked = ("memory", "--server", build.specimen.name, "--connections", "20,200", "--rounds", "1", "--json")
    done = home.run(*asked)
    assert done.returncode == 0, done.stderr
    document = MemoryDocument.model_validate(json.loads(done.stdout))
    assert (document.status, document.sizes) == ("complete", (20, 200))
    (found,) = document.servers
    assert (found.server, found.refused) == (build.specimen.name, ())
    by_kind = {kind.tls: kind.rss_bytes.point for kind in found.kinds}
    assert set(by_kind) == {"off", "1.3", "1.2"}
    # A thread's stack and buffers are tens of KiB; a TLS connection of OpenSSL is some tens more.
    assert by_kind["off"] > 10_000
    assert {added.tls: added.rss_bytes.point > 5_000 for added in found.tls_adds} == {
        "1.3": True,
        "1.2": True,
    }
    assert sorted((own.tls, own.connections) for own in found.held) == [
        (tls, size) for tls in ("1.2", "1.3", "off") for size in (20, 200)
    ]
    assert all(kind.threads.point == pytest.approx(1, abs=0.1) for kind in found.kinds)


@pytest.mark.long
def test_ctrl_c_keeps_what_is_known_of_every_server_and_leaves_nothing(
    tmp_path: Path, mysql_build: ServerBuild, mariadb_build: ServerBuild
) -> None:
    names = f"{mysql_build.specimen.name},{mariadb_build.specimen.name}"
    asked = ("memory", "--server", names, "--connections", "2,4", "--rounds", "1000")
    with Home(tmp_path / "data").start(*asked, "--json") as process:
        children: list[psutil.Process] = []

        def connections_are_kept() -> bool:
            children[:] = family(process.pid)
            return any("tlstax-engine" in child.name() for child in children)

        wait_until(connections_are_kept)
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    document = MemoryDocument.model_validate(json.loads(out))
    assert document.status == "interrupted"
    assert [found.server for found in document.servers] == names.split(",")
    wait_until(lambda: all_gone(children))


@pytest.fixture(scope="module", params=["mariadb_build", pytest.param("mysql_build", marks=pytest.mark.long)])
def house(request: pytest.FixtureRequest, session: Session) -> Iterator[PrivateServer]:
    with lent(
        request.getfixturevalue(request.param), session, ServerSettings(buffer_pool_bytes=SMALL)
    ) as server:
        yield server


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root is shown whose process a server is")
def test_an_external_server_of_this_machine_grows_by_what_it_was_promised(
    house: PrivateServer, tmp_path: Path
) -> None:
    arguments = ("--max-connections", "60", "--rounds", "2", "--json")
    done = tlstax_run(tmp_path, url_of(house), *arguments, command=("memory", "--server"))
    assert done.returncode == 0, done.stderr
    document = MemoryDocument.model_validate_json(done.stdout)
    (found,) = document.servers
    assert (document.status, document.promised, document.used_before) == ("complete", 57, None)
    assert {kind.tls for kind in found.kinds} == {"off", "1.3", "1.2"}
    assert sum(kind.rss_bytes.point for kind in found.kinds) > 30_000
    assert all(kind.threads.point == pytest.approx(1, abs=0.2) for kind in found.kinds)
    assert max(own.connections for own in found.held) == 54
    assert most_used(house) <= 57
    assert as_owner(house, "SHOW TABLES FROM lent") == ()
    again = tlstax_run(tmp_path, url_of(house), *arguments[:4], command=("memory", "--server"))
    assert "The server has had" in again.stdout, "what is used again is said"


def test_the_memory_of_a_server_whose_host_is_named_is_read_over_ssh(
    house: PrivateServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TLSTAX_SSH", "sh -c 'for last; do :; done; exec sh -c \"$last\"' ssh")
    arguments = ("--max-connections", "40", "--rounds", "1", "--server-host", "ssh://db.example", "--json")
    done = tlstax_run(tmp_path, url_of(house), *arguments, command=("memory", "--server"))
    assert done.returncode == 0, done.stderr
    (found,) = MemoryDocument.model_validate_json(done.stdout).servers
    assert all(own.pss_bytes is None and own.rss_bytes > 1 << 20 for own in found.held)
    assert all(kind.threads.point >= 0 for kind in found.kinds)


def test_where_memory_cannot_be_read_what_helps_is_said_and_nothing_opened(
    house: PrivateServer, tmp_path: Path
) -> None:
    with haproxy(tmp_path, house) as port:
        url = f"mysql://ann@127.0.0.1:{port}/lent"
        said = sentence(tlstax_run(tmp_path, url, command=("memory", "--server")), 2)
    assert "cannot be read: the connection ends at haproxy" in said
    assert "name the server's own address" in said


def test_what_is_unknown_is_one_sentence_before_anything_is_started(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for asked, words in (
        (("--server", "mysql-9.7,mysql-nine"), "no server named 'mysql-nine'"),
        (("--tls-library", "openssl-9"), "no TLS library named 'openssl-9'"),
    ):
        assert words in sentence_for(monkeypatch, capsys, "memory", *asked)
