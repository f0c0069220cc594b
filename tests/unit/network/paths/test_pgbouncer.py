"""PgBouncer as a path: what it is told, what its log shows of clients, what its console answers."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tlstax.network.paths import pgbouncer
from tlstax.network.paths.design import Ends, Laid, Ports, Program
from tlstax.network.paths.opening import KINDS
from tlstax.network.paths.pgbouncer import PgBouncer
from tlstax.records.trial import ConnectionsSeen
from tlstax.specimens import processes
from tlstax.specimens.catalogue import PGBOUNCER, PGBOUNCER_1_18
from tlstax.study.level_names import PGBOUNCERS
from tlstax.support.errors import MachineFault

SECRET = "SCRAM-SHA-256$4096:c2FsdA==$c3RvcmVk:c2VydmVy"
LOGIN = "[7] LOG C-0x55: {db}/u@127.0.0.3:4321 login attempt: db={db} user=u tls={tls} replication=no"


@pytest.fixture(autouse=True)
def _as_an_ordinary_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)


def laid(name: str, directory: Path) -> Laid:
    files = {name: directory / name for name in ("ca_file", "certificate_file", "key_file")}
    ends = Ends(
        session=cast("Any", None),
        server_port=5432,
        certificates=cast("Any", SimpleNamespace(**files)),
        secrets={"tlstax_load": SECRET},
    )
    kept = cast("Any", SimpleNamespace(program=directory / "pgbouncer"))
    return PgBouncer(name).lay(directory, kept, ends, Ports(6432, 6433, 6434))


class Logged:
    """Stands in for the program."""

    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)

    def new_lines(self) -> list[str]:
        lines, self._lines = self._lines, []
        return lines

    def last_line(self) -> str:
        return "the last line"


def programs(*lines: str) -> list[Program]:
    return [cast("Program", Logged(*lines))]


@pytest.mark.parametrize(
    ("name", "client", "server", "mode"),
    [
        ("pgbouncer", "disable", "disable", "session"),
        ("pgbouncer-terminate", "require", "disable", "session"),
        ("pgbouncer-reencrypt", "require", "verify-ca", "session"),
        ("pgbouncer-encrypt-transaction", "disable", "verify-ca", "transaction"),
        ("pgbouncer-password-transaction", "disable", "disable", "transaction"),
        ("pgbouncer-1.18-terminate-password", "require", "disable", "session"),
    ],
)
def test_a_level_says_what_is_encrypted_and_how_long_a_connection_is_lent(
    tmp_path: Path, name: str, client: str, server: str, mode: str
) -> None:
    laid(name, tmp_path)
    said = (tmp_path / "pgbouncer.ini").read_text("utf-8").splitlines()
    for line in (
        f"client_tls_sslmode = {client}",
        f"server_tls_sslmode = {server}",
        f"pool_mode = {mode}",
        "listen_addr = 127.0.0.1",
        "listen_port = 6432",
        "* = host=127.0.0.1 port=5432",
    ):
        assert line in said


@pytest.mark.parametrize("name", PGBOUNCERS)
def test_it_is_given_what_the_server_keeps_and_no_password(tmp_path: Path, name: str) -> None:
    (plan,) = laid(name, tmp_path).plans
    assert plan.arguments == (str(tmp_path / "pgbouncer.ini"),)
    users = tmp_path / "users"
    assert users.read_text("utf-8").splitlines() == ['"tlstax" ""', f'"tlstax_load" "{SECRET}"']
    assert users.stat().st_mode & 0o077 == 0
    assert (tmp_path / "hba").read_text("utf-8").splitlines() == [
        "local pgbouncer tlstax trust",
        "host all all 0.0.0.0/0 scram-sha-256",
    ]


@pytest.mark.parametrize("name", PGBOUNCERS)
def test_a_level_says_which_release_it_is(name: str) -> None:
    recipe, _ = KINDS[name]
    assert recipe is (PGBOUNCER_1_18 if "1.18" in name else PGBOUNCER)


def test_clients_are_counted_by_its_log_with_how_each_was_encrypted() -> None:
    design = PgBouncer("pgbouncer-terminate")
    came = programs(
        LOGIN.format(db="tlstax", tls="TLSv1.3/TLS_AES_256_GCM_SHA384"),
        LOGIN.format(db="pgbouncer", tls="no"),
        "2026-11-28 09:00:00 UTC [7] LOG S-0x66: tlstax/u@127.0.0.1:5432 SSL established: TLSv1.3/X",
        LOGIN.format(db="tlstax", tls="no"),
        LOGIN.format(db="tlstax", tls="TLSv1.3/TLS_AES_256_GCM_SHA384"),
    )
    assert design.connections(came) == 3
    assert design.logins == (
        ConnectionsSeen(connections=2, version="TLSv1.3", cipher="TLS_AES_256_GCM_SHA384"),
        ConnectionsSeen(connections=1, version=None, cipher=None),
    )
    assert design.connections(came) == 0
    assert design.logins == ()


def test_it_does_not_carry_without_its_console() -> None:
    design = PgBouncer("pgbouncer")
    with pytest.raises(MachineFault, match="PgBouncer's console does not answer: the last line"):
        design.began(programs())


def test_root_has_it_run_as_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owned: list[Path] = []
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(processes, "entering", lambda who: ["as", who.pw_name])
    monkeypatch.setattr(pgbouncer.processes, "give_away", lambda directory, _: owned.append(directory))
    (plan,) = laid("pgbouncer", tmp_path).plans
    assert plan.in_front == ("as", "nobody")
    assert owned == [tmp_path]
