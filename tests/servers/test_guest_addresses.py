"""One external server by several ways: HAProxy in TCP mode and with TLS, and one that leads elsewhere."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest
from test_guest_run import PASSWORD, SMALL, lent, sentence, tlstax_run, url_of

from tlstax.contract import TcpEndpoint
from tlstax.network.paths.design import Ends, own_command
from tlstax.network.paths.opening import obtain_path, open_path
from tlstax.specimens import shelf
from tlstax.specimens.catalogue import HAPROXY
from tlstax.specimens.certificates import issue
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from typed import sentence_for

SHORT = ("--rows", "500", "--budget", "5s", "--over-budget", "--connections", "2", "--tls", "1.3", "--json")
CONFIGURATION = """
global
    maxconn 200
defaults
    mode tcp
    timeout connect 5s
    timeout client 60s
    timeout server 60s
listen mysql
    bind 127.0.0.1:{port}{tls}
    {servers}
"""


@pytest.fixture(scope="module")
def house(mariadb_build: ServerBuild, session: Session) -> Iterator[PrivateServer]:
    with lent(mariadb_build, session, ServerSettings(buffer_pool_bytes=SMALL)) as server:
        yield server


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def haproxy(folder: Path, *backends: PrivateServer) -> Iterator[int]:
    """HAProxy in front of these servers in turn; the port that it listens on."""
    with _haproxy(folder, [f"127.0.0.1:{backend.endpoint().port}" for backend in backends]) as port:
        yield port


@contextmanager
def haproxy_with_tls(folder: Path, *backends: PrivateServer) -> Iterator[int]:
    """Two of them, with TLS in between, since HAProxy cannot begin it within MySQL's protocol."""
    issued = issue(folder)
    both = folder / "both.pem"
    both.write_bytes(issued.certificate_file.read_bytes() + issued.key_file.read_bytes())
    behind = [f"127.0.0.1:{backend.endpoint().port}" for backend in backends]
    with (
        _haproxy(folder, behind, f" ssl crt {both} ssl-min-ver TLSv1.3") as far,
        _haproxy(folder, [f"127.0.0.1:{far} ssl ca-file {issued.ca_file} verify required"]) as near,
    ):
        yield near


@contextmanager
def _haproxy(folder: Path, backends: Sequence[str], tls: str = "") -> Iterator[int]:
    kept = shelf.obtain(HAPROXY, lambda _: None)
    port = free_port()
    servers = "\n    ".join(f"server own{number} {backend}" for number, backend in enumerate(backends))
    file = folder / f"haproxy-{port}.cfg"
    file.write_text(CONFIGURATION.format(port=port, tls=tls, servers=servers), encoding="utf-8")
    command = own_command(kept, kept.program, ["-f", str(file), "-db"])
    child = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 10
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield port
    finally:
        child.kill()
        child.wait()


def test_what_a_proxy_costs_is_told_of_each_tls_level(house: PrivateServer, tmp_path: Path) -> None:
    with haproxy(tmp_path, house) as port:
        done = tlstax_run(tmp_path, url_of(house), *SHORT, "--address", f"direct,proxy=127.0.0.1:{port}")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["trials"]["invalid"] == document["trials"]["unknown"] == 0, document["caveats"]
    rates = {
        (finding["case"]["workload"], finding["case"]["tls"], finding["case"]["address"]): finding["value"]
        for finding in document["findings"]
        if finding["outcome"] == "ops_per_s" and finding["role"] != "control"
    }
    ways = {(workload, tls) for workload in ("point-select", "reconnect") for tls in ("off", "1.3")}
    assert rates.keys() == {(*way, address) for way in ways for address in ("direct", "proxy")}
    judged = {
        row["judgement"]
        for row in document["topics"]["contrasts"]["rows"]
        if row["outcome"] == "ops_per_s" and row["more"]["factor"] == "address"
    }
    assert judged <= {"lower", "alike", "inconclusive"}, "bytes pass two more sockets"
    contrasts = {
        row["case"]["tls"]
        for row in document["topics"]["contrasts"]["rows"]
        if row["role"] == "contrast" and row["more"]["factor"] == "address"
    }
    assert contrasts == {"off", "1.3"}


@pytest.mark.long
def test_of_each_proxy_it_is_told_what_the_server_sees_behind_it(
    house: PrivateServer, session: Session, tmp_path: Path
) -> None:
    """MySQL Router that ends TLS, one that begins it, and a pair of HAProxy with TLS in between."""
    ends = Ends(session, house.endpoint().port, house.certificates)
    with ExitStack() as stack:
        ways = [f"tunnel=127.0.0.1:{stack.enter_context(haproxy_with_tls(tmp_path, house))}"]
        for name in ("router-terminate", "router-encrypt"):
            obtain_path(name, lambda _: None)
            entry = stack.enter_context(open_path(name, ends)).entry
            assert isinstance(entry, TcpEndpoint)
            ways.append(f"{name}=127.0.0.1:{entry.port}")
        done = tlstax_run(tmp_path, url_of(house), *SHORT, "--address", ",".join(("direct", *ways)))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["trials"]["invalid"] == document["trials"]["unknown"] == 0, document["caveats"]
    measured = {
        (finding["case"]["address"], finding["case"]["tls"])
        for finding in document["findings"]
        if finding["role"] != "control"
    }
    assert measured == {
        *(("direct", tls) for tls in ("off", "1.3")),
        *(("tunnel", tls) for tls in ("off", "1.3")),
        ("router-terminate", "1.3"),  # which lets nobody in without
        ("router-encrypt", "off"),  # which offers none
    }
    said = " ".join(document["caveats"])
    assert "behind router-terminate the server sees no TLS where the client has TLS 1.3" in said
    assert "behind router-encrypt the server sees TLSv1.3 where the client has plaintext" in said
    assert "no TLS where the client has plaintext" in said


@pytest.mark.parametrize("before", [haproxy, pytest.param(haproxy_with_tls, marks=pytest.mark.long)])
def test_a_way_to_another_server_is_refused(
    house: PrivateServer,
    mariadb_build: ServerBuild,
    session: Session,
    tmp_path: Path,
    before: Callable[..., AbstractContextManager[int]],
) -> None:
    with ExitStack() as stack:
        other = stack.enter_context(lent(mariadb_build, session, ServerSettings(buffer_pool_bytes=SMALL)))
        port = stack.enter_context(before(tmp_path, house, other))
        done = tlstax_run(tmp_path, url_of(house), *SHORT, "--address", f"proxy=127.0.0.1:{port}")
        said = sentence(done, 2)
    assert "leads to another server" in said


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("proxy", "not an address with a name"),
        ("direct", "names no other way"),
        ("a=127.0.0.1:1,a=127.0.0.1:2", "named twice"),
        ("a=127.0.0.1:0", "not an address"),
    ],
)
def test_an_address_has_a_name_and_a_port(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], address: str, words: str
) -> None:
    monkeypatch.setenv("TLSTAX_PASSWORD", PASSWORD)
    typed = ("run", "--server", "mysql://ann@127.0.0.1:9/lent", *SHORT, "--address", address)
    assert words in sentence_for(monkeypatch, capsys, *typed)


def test_where_nothing_listens_it_is_named(house: PrivateServer, tmp_path: Path) -> None:
    address = f"proxy=127.0.0.1:{free_port()}"
    said = sentence(tlstax_run(tmp_path, url_of(house), *SHORT, "--address", address), 2)
    assert "--address proxy: nothing listens" in said
