"""`tlstax advise` of PostgreSQL: what is planted is found, measured and said, and nothing is left there."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lent_postgres import HOSTS, PASSWORD, Lent, as_owner, hosts_are, lent, make_role
from pg8000 import native
from ready_command import ready_run

from tlstax.network.paths.design import Ends, own_command
from tlstax.network.paths.opening import obtain_path, open_path
from tlstax.postgres import accounts
from tlstax.specimens import catalogue, processes, shelf
from tlstax.specimens.processes import free_ports
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.topics.advice.advise import Advice, steps_for

WITHIN_S = 300.0
PAGE = Path(__file__).resolve().parents[2] / "docs" / "advising-postgresql.md"
UNMEASURED = ("--budget", "off", "--there", "off")


@pytest.fixture(scope="module")
def house(session: Session, postgresql_build: ServerBuild) -> Iterator[Lent]:
    """A server without any mistake but one in its groups."""
    settings = ServerSettings(options=("--ssl_groups=secp384r1",))
    with lent(postgresql_build, session, settings) as server:
        as_owner(server, "CREATE DATABASE scratch OWNER app")
        yield Lent(server, "scratch")


def advice(url: str, data: Path, *arguments: str) -> Advice:
    environment = {**os.environ, "TLSTAX_PASSWORD": PASSWORD, "TLSTAX_DATA": str(data)}
    done = ready_run(("advise", url, "--watch", "1ms", "--json", *arguments), environment, WITHIN_S)
    assert done.returncode == 0, done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    return Advice.model_validate(json.loads(done.stdout))


def test_groups_are_found_and_measured_and_nothing_is_left(house: Lent, tmp_path: Path) -> None:
    before = house.everything()
    times = ("--budget", "5s", "--there", "3s", "--share", "50%")
    found = advice(house.url(), tmp_path, *times)
    assert house.everything() == before
    (own,) = found.advised
    assert own.change == "groups"
    assert own.seen == "clients are asked for a second ClientHello: the server takes P-384"
    assert own.saving.round_trips == 1
    # So little time is a block, or none where the machine stands still: then it says so.
    assert own.saving.server_share is not None or own.saving.inconclusive or found.not_measured
    assert all("no valid trial" in words for words in found.not_measured)
    assert (found.stand_in, len(found.runs)) == ("postgresql-18", 2)


def test_a_password_that_is_hashed_too_often_is_found_with_what_that_costs(
    house: Lent, tmp_path: Path
) -> None:
    secret = accounts.scram_secret(PASSWORD, 60_000)
    as_owner(house.server, f"CREATE ROLE eve LOGIN PASSWORD '{secret}'")
    found = advice(house.url("eve"), tmp_path, *UNMEASURED)
    own = {one.change: one for one in found.advised}["login"]
    assert own.seen == "each login hashes the password 60,000 times"
    assert own.saving.client_cpu_us is not None
    assert own.saving.client_cpu_us.point > 0


def test_who_is_let_in_is_told_to_an_account_that_is_granted_it(house: Lent, tmp_path: Path) -> None:
    """By the statements of docs/advising-postgresql.md."""
    (line,) = [line for line in PAGE.read_text().splitlines() if "GRANT SELECT ON pg_hba_file_rules" in line]
    granting = line.split("`")[1].replace(" user;", " app;")
    make_role(house.server, "boss", "SUPERUSER")
    grants = granting.removesuffix(";").split("; ")
    house.app(*grants, user="boss")
    hosts_are(house.server, HOSTS, "host all nobody 10.0.0.0/8 trust")
    first, *_ = advice(house.url(), tmp_path, *UNMEASURED).inspected.concerns
    house.app(*(own.replace("GRANT ", "REVOKE ").replace(" TO ", " FROM ") for own in grants), user="boss")
    assert (first.danger, first.what) == ("unsafe", "pg_hba.conf trusts clients over TCP (trust)")
    assert any("hostssl all all all scram-sha-256" in step.lines for step in first.steps)


def test_a_pooler_that_comes_in_the_clear_is_named_from_its_front(
    house: Lent, session: Session, tmp_path: Path
) -> None:
    ((kept,),) = as_owner(house.server, "SELECT rolpassword FROM pg_authid WHERE rolname = 'app'")
    server = house.server
    ends = Ends(
        session, server.endpoint().port, server.certificates, spoken="postgresql", secrets={"app": str(kept)}
    )
    with open_path("pgbouncer-terminate", ends) as pooler:
        url = f"postgres://app@127.0.0.1:{pooler.entry.port}/scratch"
        found = advice(url, tmp_path, *UNMEASURED)
    first = found.inspected.concerns[0]
    assert first.what == "the pooler in front comes to the server in the clear"
    assert first.danger == "unsafe"


def test_the_lines_for_pgbouncer_make_one_that_encrypts_both_ways(house: Lent) -> None:
    """With the files and the addresses of what is here in place of those that are made up."""
    server, who = house.server, processes.unprivileged_user("PgBouncer")
    ((secret,),) = as_owner(server, "SELECT rolpassword FROM pg_authid WHERE rolname = 'app'")
    (step,) = [own for own in steps_for("pool", server.version) if own.where.startswith("pgbouncer.ini")]
    obtain_path("pgbouncer", lambda _: None)
    kept = shelf.present(catalogue.PGBOUNCER)
    assert kept is not None
    (port,) = free_ports(1)
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder, files = Path(name), server.certificates
        text = "\n".join(step.lines)
        for made_up, real in {
            "db.example port=5432": f"127.0.0.1 port={server.endpoint().port}",
            "listen_addr = *": f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir = {folder}",
            "/etc/pgbouncer/userlist.txt": f"{folder}/users",
            "/path/to/pgbouncer-key.pem": f"{folder}/key.pem",
            "/path/to/pgbouncer-cert.pem": f"{folder}/certificate.pem",
            "/path/to/authority.pem": f"{folder}/authority.pem",
        }.items():
            assert made_up in text
            text = text.replace(made_up, real)
        for file, content in {
            "pgbouncer.ini": f"{text}\n",
            "users": f'"app" "{secret}"\n',
            "key.pem": files.key_file.read_text(),
            "certificate.pem": files.certificate_file.read_text(),
            "authority.pem": files.ca_file.read_text(),
        }.items():
            (folder / file).write_text(content)
        processes.give_away(folder, who)
        command = own_command(kept, kept.program, [str(folder / "pgbouncer.ini")])
        with subprocess.Popen([*processes.entering(who), *command], stderr=subprocess.DEVNULL) as pooler:
            try:
                assert is_encrypted_behind(port)
                with pytest.raises(native.DatabaseError, match="SSL required"):
                    through(port, ssl_context=False)
            finally:
                pooler.terminate()


def is_encrypted_behind(port: int) -> bool:
    """Whether the pooler's own connection is over TLS, by the server's word to a client over TLS."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    deadline = time.monotonic() + WITHIN_S
    while True:
        try:
            connection = through(port, ssl_context=context)
        except native.InterfaceError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        else:
            break
    ((encrypted,),) = connection.run("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
    connection.close()
    return bool(encrypted)


def through(port: int, ssl_context: ssl.SSLContext | bool) -> native.Connection:
    return native.Connection(
        "app", host="127.0.0.1", port=port, password=PASSWORD, database="scratch", ssl_context=ssl_context
    )
