"""Paths of ours to an external server: they lead there from this side, proved as before private servers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_guest_run import PASSWORD, SMALL, as_owner, last_run, lent, sentence, tlstax_run, url_of
from test_promised_connections import forget_most_used, most_used, promised

from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from typed import sentence_for

SHORT = ("--rows", "500", "--budget", "3s", "--over-budget", "--connections", "2", "--tls", "1.3")
HERE = "sh -c 'for last; do :; done; exec sh -c \"$last\"' ssh"
"""What stands for ssh: it hands its command to a shell of this machine, as if that were the server's host."""


@pytest.fixture(scope="module", params=["mariadb_build", pytest.param("mysql_build", marks=pytest.mark.long)])
def house(request: pytest.FixtureRequest, session: Session) -> Iterator[PrivateServer]:
    build: ServerBuild = request.getfixturevalue(request.param)
    with lent(build, session, ServerSettings(buffer_pool_bytes=SMALL)) as server:
        yield server


@pytest.mark.parametrize(
    "paths",
    [
        ("haproxy",),
        pytest.param(("router-passthrough", "router-reencrypt", "router-encrypt"), marks=pytest.mark.long),
    ],
)
def test_a_path_leads_to_it_from_this_side_and_is_proved(
    house: PrivateServer, tmp_path: Path, paths: tuple[str, ...]
) -> None:
    """The server is said to run elsewhere, so that nothing may stand beside it."""
    forget_most_used(house)
    arguments = (*SHORT, "--workload", "reconnect", "--path", ",".join(paths))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TLSTAX_SSH", HERE)
        done = tlstax_run(tmp_path, url_of(house), *arguments, "--server-host", "ssh://db.example")
    assert done.returncode == 0, done.stderr
    assert most_used(house) <= promised(done.stderr)
    trials = last_run(tmp_path).trials
    assert {trial.verdict.value for trial in trials} == {"valid"}
    seen = [trial for trial in trials if trial.path is not None]
    assert {trial.path.name for trial in seen if trial.path is not None} == set(paths)
    for trial in seen:
        assert trial.path is not None
        assert trial.done is not None
        assert trial.path.connections == trial.done.lifetime.connections > 0
        assert all(part.role == "near the client" and part.alive for part in trial.path.parts)
    assert as_owner(house, "SHOW TABLES FROM lent") == ()


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root is shown whose process a server is")
def test_beside_a_server_of_this_machine_both_ends_of_a_tunnel_can_stand(
    house: PrivateServer, tmp_path: Path
) -> None:
    done = tlstax_run(tmp_path, url_of(house), *SHORT, "--path", "stunnel,ssh-aes128-gcm,haproxy-tls")
    assert done.returncode == 0, done.stderr
    trials = last_run(tmp_path).trials
    assert {trial.verdict.value for trial in trials} == {"valid"}
    protected = {trial.path.protection for trial in trials if trial.path is not None}
    assert len(protected) > 1
    assert None not in protected


def test_what_would_have_to_stand_beside_a_server_elsewhere_is_refused(
    house: PrivateServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TLSTAX_SSH", HERE)
    arguments = (*SHORT, "--path", "stunnel", "--server-host", "ssh://db.example")
    said = sentence(tlstax_run(tmp_path, url_of(house), *arguments), 2)
    assert "the path stunnel cannot lead to this server" in said
    assert "must run beside the server" in said
    assert "--address stunnel=127.0.0.1:PORT" in said
    assert as_owner(house, "SHOW TABLES FROM lent") == ()


@pytest.mark.parametrize(
    ("url", "arguments", "words"),
    [
        ("mysql://ann@127.0.0.1:9/lent", ("--path", "unix-socket"), "socket=/run/mysqld/mysqld.sock"),
        ("mysql://ann@/lent?socket=/nowhere", ("--path", "haproxy"), "named by its Unix socket"),
        (
            "mysql://ann@127.0.0.1:9/lent",
            (
                "--path",
                "haproxy",
                "--ssl-mode",
                "VERIFY_IDENTITY",
                "--ssl-ca",
                "/dev/null",
                "--allow-plaintext",
            ),
            "use --ssl-mode=VERIFY_CA",
        ),
        (
            "mysql://ann@127.0.0.1:9/lent",
            ("--path", "router-reencrypt", "--ssl-ca", "/dev/null"),
            "with a certificate of tlstax's own",
        ),
        (
            "mysql://ann@127.0.0.1:9/lent",
            ("--path", "haproxy", "--address", "proxy=127.0.0.1:9"),
            "leave one of the two out",
        ),
    ],
)
def test_what_cannot_lead_there_is_refused_before_anybody_logs_in(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    url: str,
    arguments: tuple[str, ...],
    words: str,
) -> None:
    monkeypatch.setenv("TLSTAX_PASSWORD", PASSWORD)
    assert words in sentence_for(monkeypatch, capsys, "run", "--server", url, *SHORT, *arguments)
