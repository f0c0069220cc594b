"""How a private PostgreSQL is set up: who may come in and how, what is measured, and as whom it runs."""

from __future__ import annotations

import os
import pwd
from dataclasses import replace
from pathlib import Path

import pytest

from tlstax.postgres import login_log
from tlstax.records.trial import Specimen
from tlstax.specimens import processes
from tlstax.specimens.certificates import Certificates
from tlstax.specimens.postgres_setup import PostgreSql
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_process import setup_of
from tlstax.specimens.server_settings import ServerSettings, Site
from tlstax.sql.credentials import new_credentials
from tlstax.support.errors import MachineFault

ORDINARY = 1000


@pytest.fixture(autouse=True)
def _as_an_ordinary_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: ORDINARY)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """One whose programs lie in a tree of their own, and whose clients may show a certificate."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/initdb").touch()
    directory = tmp_path / "1"
    directory.mkdir()
    specimen = Specimen(name="p", kind="server", version="18.4", origin="a test")
    build = ServerBuild(specimen, "postgresql", tmp_path / "bin/postgres", basedir=tmp_path)
    authority = directory / "ca.pem"
    files = Certificates(authority, directory / "cert.pem", directory / "key.pem", authority)
    return Site(build, ServerSettings(), directory, files)


def of_version(site: Site, version: str) -> Site:
    specimen = site.build.specimen.model_copy(update={"version": version})
    return replace(site, build=replace(site.build, specimen=specimen))


def configured(site: Site) -> dict[str, str]:
    """Its files after all that runs before the first start, by their names."""
    setup = setup_of(site)
    setup.prepare()
    assert [errand.arguments[0] for errand in setup.errands()] == ["--no-locale", "--single"]
    names = ("postgresql.conf", "pg_hba.conf", "pg_ident.conf")
    return {name: (site.data_directory / name).read_text("utf-8") for name in names}


def lets_in(hosts: str, kind: str, user: str) -> str:
    """By what this user is proved who comes so: what the first line says that fits."""
    kinds = {"local": {"local"}, "tls": {"host", "hostssl"}, "plaintext": {"host", "hostnossl"}}[kind]
    for line in hosts.splitlines():
        words = line.split()
        if words[0] in kinds and words[2] == f'"{user}"':
            return " ".join(words[3 if kind == "local" else 4 :])
    return "reject"


@pytest.mark.parametrize(
    ("user", "local", "tls", "plaintext"),
    [
        ("tlstax_admin", "scram-sha-256", "reject", "reject"),
        ("tlstax_load", "scram-sha-256", "scram-sha-256", "scram-sha-256"),
        ("postgres", "reject", "reject", "reject"),
        ("nobody_knows", "reject", "reject", "reject"),
        ("tlstax_by_password", "password", "password", "reject"),
        ("tlstax_by_md5", "md5", "md5", "md5"),
        ("tlstax_by_cert", "reject", "cert map=tlstax", "reject"),
        ("tlstax_load_by_certificate", "reject", "scram-sha-256 clientcert=verify-ca", "reject"),
    ],
)
def test_nobody_comes_in_but_as_the_file_of_hosts_says(
    site: Site, user: str, local: str, tls: str, plaintext: str
) -> None:
    hosts = configured(site)["pg_hba.conf"]
    assert [lets_in(hosts, kind, user) for kind in ("local", "tls", "plaintext")] == [local, tls, plaintext]


def test_no_certificate_is_asked_for_where_the_server_knows_no_authority_of_clients(site: Site) -> None:
    files = configured(replace(site, certificates=replace(site.certificates, clients_ca_file=None)))
    assert "clientcert" not in files["pg_hba.conf"]
    assert lets_in(files["pg_hba.conf"], "tls", "tlstax_by_cert") == "reject"
    assert "ssl_ca_file" not in files["postgresql.conf"]
    assert f"include_if_exists '{login_log.INCLUDED}'" in files["postgresql.conf"]


@pytest.mark.parametrize(
    ("version", "asked", "has_jit"),
    [
        ("10.23", "clientcert=1", False),
        ("11.22", "clientcert=1", True),
        ("12.22", "clientcert=verify-ca", True),
    ],
)
def test_an_older_server_is_told_in_its_own_words(
    site: Site, version: str, asked: str, *, has_jit: bool
) -> None:
    files = configured(of_version(site, version))
    assert lets_in(files["pg_hba.conf"], "tls", "tlstax_load_by_certificate").endswith(asked)
    assert ("jit = 'off'" in files["postgresql.conf"]) == has_jit


def test_what_makes_a_commit_durable_keeps_its_defaults(site: Site) -> None:
    text = configured(site)["postgresql.conf"]
    assert "shared_buffers = '16384'" in text
    assert "max_connections = '4099'" in text
    assert not any(name in text for name in ("fsync", "synchronous_commit", "full_page_writes", "wal_level"))


def test_every_account_gets_a_password_and_the_first_role_is_locked(site: Site) -> None:
    statements = PostgreSql(site).account_statements(new_credentials())
    made = [statement for statement in statements if statement.startswith("CREATE ROLE")]
    assert len(made) == 2
    assert all(" PASSWORD '" in statement for statement in made)
    assert "ALTER ROLE postgres NOLOGIN" in statements
    assert not any("\n" in statement for statement in statements)


def test_only_a_server_that_replicates_lets_its_log_and_its_files_be_read(site: Site) -> None:
    replicating = replace(site, settings=ServerSettings(replicates=True))
    credentials = new_credentials()
    usual, more = (setup_of(own).account_statements(credentials) for own in (site, replicating))
    assert not any("REPLICATION" in statement for statement in usual)
    assert any(statement == "ALTER ROLE tlstax_load REPLICATION" for statement in more)
    files = configured(site)
    assert "replication" not in files["pg_hba.conf"]
    assert "wal_keep" not in files["postgresql.conf"]


@pytest.mark.parametrize(
    ("version", "kept"), [("18.4", "wal_keep_size = '8GB'"), ("12.22", "wal_keep_segments = 512")]
)
def test_a_server_that_replicates_keeps_its_log_through_checkpoints(
    site: Site, version: str, kept: str
) -> None:
    files = configured(replace(of_version(site, version), settings=ServerSettings(replicates=True)))
    assert kept in files["postgresql.conf"].splitlines()
    assert 'host replication "tlstax_load" all scram-sha-256' in files["pg_hba.conf"].splitlines()


def test_no_password_is_among_the_arguments_of_what_is_started(site: Site) -> None:
    setup = setup_of(site)
    setup.prepare()
    runs = [*setup.errands()]
    words = [*(word for run in runs for word in run.arguments), *setup.options(4000)]
    assert not any("PASSWORD" in word or "init.sql" in word for word in words)
    assert runs[-1].statements == site.accounts_file


def test_options_that_keep_it_in_its_place_come_after_what_is_asked_for(site: Site) -> None:
    settings = ServerSettings(configuration=("--port=1",), options=("--work_mem=8MB",))
    options = PostgreSql(replace(site, settings=settings)).options(4000)
    assert options.index("--port=1") < options.index("--port=4000") < options.index("--work_mem=8MB")
    assert f"--unix_socket_directories={site.directory}" in options
    assert PostgreSql(site).socket_path(4000) == site.directory / ".s.PGSQL.4000"


def test_a_server_without_initdb_beside_it_says_so(site: Site) -> None:
    site.build.executable.with_name("initdb").unlink()
    setup = setup_of(site)
    setup.prepare()
    with pytest.raises(MachineFault, match="there is no initdb beside it"):
        next(setup.errands())


def test_it_runs_as_who_starts_it_unless_that_is_root(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    assert PostgreSql(site).command(["postgres"]) == ["postgres"]
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(processes, "tool", lambda name: f"/usr/bin/{name}")
    command = PostgreSql(site).command(["postgres"])
    uid = pwd.getpwnam("nobody").pw_uid
    assert f"--reuid={uid}" in command
    assert "--pdeathsig=KILL" in command
    assert command[-2:] == ["--", "postgres"]


@pytest.mark.parametrize(
    ("bounding", "kept"),
    [
        ("000001ffffffffff", "+dac_read_search"),
        ("00000000a80425fb", "+dac_override"),
        ("0000000000000000", ""),
    ],
)
def test_no_more_is_allowed_than_it_takes_to_read_what_root_owns(
    site: Site, monkeypatch: pytest.MonkeyPatch, bounding: str, kept: str
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(processes, "tool", lambda name: name)
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: f"Name:\tx\nCapBnd:\t{bounding}\n")
    command = PostgreSql(site).command(["postgres"])
    for option in ("inh-caps", "ambient-caps", "bounding-set"):
        assert f"--{option}={','.join(filter(None, ('-all', kept)))}" in command


def test_root_is_told_where_the_machine_has_nobody_else(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(processes, "USER", "no-such-user-here")
    with pytest.raises(MachineFault, match="PostgreSQL refuses to run as root") as refused:
        PostgreSql(site)
    assert "run tlstax as an ordinary user" in str(refused.value.remedy)
