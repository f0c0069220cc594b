"""Somebody else's PostgreSQL: measured from a schema of it, and left as it was found."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from guest_house import environment, wait_until
from lent_postgres import HOSTS, OURS, PASSWORD, Lent, as_owner, hosts_are, lent, make_role
from pg8000.exceptions import DatabaseError
from test_guest_killed import KILLED
from test_guest_lock import firewall
from test_guest_run import last_run, sentence, tlstax_run

from tlstax.external.conditions import Intent, NothingMayBeMade
from tlstax.external.server import ExternalServer
from tlstax.external.tls import ExternalTls
from tlstax.postgres.database import PostgresDatabase
from tlstax.results.document import BenchDocument
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.sessions import Session
from tlstax.sql.table_rows import TableContent
from tlstax.study.workloads.user_defined import UserWorkload
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.tools.probes.external_memory import ExternalMemory
from tlstax.tools.probes.storm_search import LIMIT
from tlstax.topics import memory

CONTENT = TableContent(rows=300, seed=5)
SHORT = ("--rows", "500", "--budget", "2s", "--over-budget", "--connections", "2", "--tls", "off,1.3")


@pytest.fixture(scope="module")
def lending(session: Session, postgresql_build: ServerBuild) -> Iterator[PrivateServer]:
    with lent(postgresql_build, session) as server:
        yield server


@pytest.fixture
def house(lending: PrivateServer, request: pytest.FixtureRequest) -> Iterator[Lent]:
    """Every test has a database of its own, with one table of somebody else's that must not change."""
    name = f"scratch_{abs(hash(request.node.name)) % 10**9}"
    as_owner(lending, f"CREATE DATABASE {name} OWNER app")
    one = Lent(lending, name)
    one.app("CREATE TABLE public.theirs (id int PRIMARY KEY)", "INSERT INTO theirs VALUES (7)")
    yield one
    assert one.app("SELECT id FROM public.theirs") == [[7]]
    one.wait_until_gone()
    as_owner(lending, f"DROP DATABASE {name}")


@contextmanager
def opened(house: Lent, user: str = "app", rest: str = "") -> Iterator[tuple[ExternalServer, list[str]]]:
    """A visit that is left at the end, and what it warned of."""
    warned: list[str] = []
    with ExternalServer.open(house.access(user, rest), warned.append) as guest:
        guest.prepare_table(CONTENT)
        yield guest, warned


def said(guest: ExternalServer, *statements: str) -> None:
    with closing(guest.admin()) as database:
        for statement in statements:
            guest.carry_out(database, statement, once=True)


def killed(house: Lent, *statements: str) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", KILLED, house.url(), *statements],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    house.wait_until_gone()


def test_it_is_measured_kept_and_reconnecting_and_left_as_it_was(house: Lent, tmp_path: Path) -> None:
    before = house.everything()
    done = tlstax_run(tmp_path, house.url(), *SHORT, "--workload", "point-select,reconnect", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["trials"]["invalid"] == document["trials"]["unknown"] == 0, document["caveats"]
    trials = last_run(tmp_path).trials
    assert {(trial.verdict.value, trial.verdict.reasons) for trial in trials} == {("valid", ())}
    assert {trial.trial.case.levels["tls"] for trial in trials} == {"off", "1.3"}
    outcomes = {finding["outcome"] for finding in document["findings"]}
    # It is on this machine, where root alone is shown whose process it is.
    assert ("server_cpu_us_per_op" in outcomes) == (os.geteuid() == 0)
    assert house.everything() == before
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert PASSWORD.encode() not in kept


def test_what_users_say_there_is_read_first_and_dropped_at_the_end(house: Lent, tmp_path: Path) -> None:
    own = tmp_path / "orders.toml"
    own.write_text(
        'name = "orders"\n'
        "prepare = ['CREATE TABLE tlstax.mine (id int PRIMARY KEY, note text)',"
        " 'INSERT INTO tlstax.mine SELECT g, md5(g::text) FROM generate_series(1, 100) AS g']\n"
        "[[transactions]]\nparameters.n = { kind = 'uniform_int', low = 1, high = 100 }\n"
        "statements = [{ sql = 'SELECT note FROM tlstax.mine WHERE id = {n}' },"
        " { sql = 'UPDATE {table} SET k = k + 1 WHERE id = {id}' }]\n"
    )
    before = house.everything()
    done = tlstax_run(tmp_path, house.url(), *SHORT, "--workload", str(own))
    assert done.returncode == 0, done.stderr
    assert {trial.verdict.value for trial in last_run(tmp_path).trials} == {"valid"}
    assert house.everything() == before
    own.write_text(own.read_text().replace("note text)'", "note text)', 'DROP TABLE public.theirs'"))
    refused = sentence(tlstax_run(tmp_path, house.url(), *SHORT, "--workload", str(own)), 2)
    assert "it goes to the schema public; only tlstax is let through" in refused


def test_what_others_have_made_to_be_called_unsaid_ends_the_run(house: Lent) -> None:
    transaction = {"statements": [{"sql": "SELECT c FROM {table} WHERE c LIKE pad"}]}
    own = UserWorkload.model_validate({"name": "own", "transactions": [transaction]})
    writes = "LANGUAGE sql AS 'DELETE FROM public.theirs; SELECT true'"
    with opened(house) as (guest, _):
        guest.prepare_table(TableContent(rows=5, seed=5))
        guest.check_workload(own)
        house.app(
            f"CREATE FUNCTION public.is_like(int, text) RETURNS boolean {writes}",
            "CREATE OPERATOR public.~~ (LEFTARG = int, RIGHTARG = text, FUNCTION = public.is_like)",
        )
        with pytest.raises(UserMistake, match="there is a function named ~~, which others made"):
            guest.check_workload(own)
        house.app("DROP OPERATOR public.~~ (int, text)", "DROP FUNCTION public.is_like(int, text)")
        house.app(
            "CREATE TYPE public.kind AS (a int)",
            f"CREATE FUNCTION public.told(public.kind) RETURNS boolean {writes}",
            "CREATE CAST (public.kind AS boolean) WITH FUNCTION public.told(public.kind)",
        )
        with pytest.raises(UserMistake, match="the database has a cast with a function, which others made"):
            guest.check_workload(own)
        house.app("DROP TYPE public.kind CASCADE")
        guest.check_workload(own)


def test_a_second_tlstax_is_kept_out_and_a_third_let_in(house: Lent) -> None:
    with opened(house) as (guest, _):
        with pytest.raises(UserMistake, match="another tlstax is at work in the schema tlstax"):
            ExternalServer.open(house.access())
        guest.hold()
    with opened(house) as (_, warned):
        assert house.tables() == OURS
    assert (warned, house.has_schema()) == ([], False)


def test_a_named_schema_is_kept_and_what_others_have_in_it(house: Lent) -> None:
    house.app("CREATE SCHEMA shop", "CREATE TABLE shop.orders (id int)", "INSERT INTO shop.orders VALUES (1)")
    with opened(house, rest="?schema=shop") as (guest, warned):
        said(guest, "CREATE TABLE shop.mine (id int)", "INSERT INTO shop.mine SELECT id FROM shop.orders")
        with pytest.raises(UserMistake, match="orders is not a table that this run has made"):
            said(guest, "INSERT INTO shop.orders VALUES (2)")
        with pytest.raises(UserMistake, match="the table orders is not one that this run has made"):
            said(guest, "DROP TABLE shop.orders")
    assert warned == []
    assert house.tables("shop") == {"orders"}
    assert house.app("SELECT id FROM shop.orders") == [[1]]


def test_a_schema_of_our_name_that_others_made_is_used_and_kept(house: Lent) -> None:
    house.app("CREATE SCHEMA tlstax", "CREATE TABLE tlstax.orders (id int)")
    with opened(house) as (_, warned):
        assert house.tables() == {*OURS, "orders"}
    assert (warned, house.tables()) == ([], {"orders"})


def test_what_others_put_into_our_schema_keeps_it_there(house: Lent) -> None:
    with opened(house) as (_, warned):
        house.app("CREATE FUNCTION tlstax.f() RETURNS int LANGUAGE sql AS 'SELECT 1'")
    (words,) = warned
    assert "it holds what tlstax did not make: the function tlstax.f()" in words
    assert 'DROP SCHEMA "tlstax";' in words
    assert house.has_schema()


def test_a_table_of_others_in_our_place_is_left_alone(house: Lent) -> None:
    house.app("CREATE SCHEMA tlstax", "CREATE TABLE tlstax.tlstax_sbtest1 (id int)")
    before = house.everything()
    with pytest.raises(UserMistake, match="already has a table tlstax_sbtest1 that tlstax did not make"):
        ExternalServer.open(house.access())
    assert house.everything() == before


def test_what_others_have_put_in_the_place_of_ours_ends_the_run_and_is_left(house: Lent) -> None:
    with opened(house) as (guest, warned):
        house.app("DROP TABLE tlstax.tlstax_sbtest1", "CREATE TABLE tlstax.tlstax_sbtest1 (mine int)")
        with pytest.raises(MachineFault, match="in the place of tlstax_sbtest1"):
            guest.hold()
    assert any("tlstax_sbtest1 in tlstax is no longer as tlstax made it" in words for words in warned)
    assert house.tables() == {"tlstax_sbtest1"}


def test_what_others_depend_on_is_left_and_named(house: Lent) -> None:
    with opened(house) as (_, warned):
        house.app("CREATE VIEW public.v AS SELECT id FROM tlstax.tlstax_sbtest1")
    assert any(
        "tlstax_sbtest1 in tlstax stays there, because a foreign key or a view" in words for words in warned
    )
    assert house.tables() == {"tlstax_sbtest1"}
    house.app("DROP VIEW public.v")
    with opened(house) as (_, warned):
        pass
    assert (warned, house.tables()) == ([], set())


def test_what_a_killed_run_made_is_cleared_by_the_next(house: Lent) -> None:
    before = house.everything()
    killed(
        house,
        "CREATE TABLE tlstax.parent (id int PRIMARY KEY)",
        "CREATE TABLE tlstax.child (id int REFERENCES tlstax.parent (id))",
    )
    assert house.tables() == {*OURS, "parent", "child"}
    with opened(house) as (_, warned):
        assert house.tables() == OURS
    assert warned == []
    assert house.everything() == before


def test_a_table_that_was_made_when_the_run_was_killed_is_known_by_its_comment(house: Lent) -> None:
    killed(house, "unrecorded", "CREATE TABLE tlstax.shop_orders (id int)")
    assert "shop_orders" in house.tables()
    with opened(house) as (_, warned):
        assert house.tables() == OURS
    assert (warned, house.has_schema()) == ([], False)


def test_what_another_machine_left_is_named_with_what_drops_it(
    house: Lent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(house, "CREATE TABLE tlstax.mine (id int)")
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path))
    with pytest.raises(UserMistake, match="seems to have left") as refused:
        ExternalServer.open(house.access())
    assert house.tables() == {*OURS, "mine"}
    lines = refused.value.remedy.partition("nobody needs them: ")[2]
    house.app(*filter(None, (line.strip() for line in lines.split(";"))))
    assert not house.has_schema()


def test_a_lock_that_was_lost_is_taken_again(house: Lent) -> None:
    with opened(house) as (guest, _):
        house.cut_connections()
        guest.hold()
        with pytest.raises(UserMistake, match="another tlstax is at work"):
            ExternalServer.open(house.access())
    assert not house.has_schema()


def test_a_lock_is_taken_from_a_session_that_the_server_thinks_alive(house: Lent) -> None:
    access = house.access()
    with firewall(access.address.port) as (port, cut):
        through = replace(access, address=replace(access.address, port=port))
        with ExternalServer.open(through) as guest:
            cut()
            guest.hold()
            with pytest.raises(UserMistake, match="another tlstax is at work"):
                ExternalServer.open(access)
    assert not house.has_schema()


def test_what_a_second_run_has_taken_is_left_to_it(house: Lent) -> None:
    with opened(house) as (first, _):
        house.cut_connections()
        with opened(house) as (second, warned):
            with pytest.raises(MachineFault, match="another tlstax has used the schema since"):
                first.hold()
            first.stop()
            second.hold()
            assert house.tables() == OURS
        assert warned == []
    assert not house.has_schema()


@pytest.fixture
def guest_role(house: Lent) -> Iterator[str]:
    """A role that may log in and use what PUBLIC may."""
    make_role(house.server, "visitor")
    yield "visitor"
    house.wait_until_gone("visitor")
    house.owner("DROP ROLE visitor")


def test_an_account_that_may_not_create_is_asked_what_reads_nothing(
    house: Lent, guest_role: str, tmp_path: Path
) -> None:
    with pytest.raises(NothingMayBeMade, match="permission denied"):
        ExternalServer.open(house.access(guest_role))
    with ExternalServer.open(house.access(guest_role), intent=Intent(makes=False)):
        assert not house.has_schema()
    done = tlstax_run(tmp_path, house.url(guest_role), *SHORT)
    assert done.returncode == 0, done.stderr
    assert "statements that read nothing take the place of point selects" in done.stderr
    assert {trial.verdict.value for trial in last_run(tmp_path).trials} == {"valid"}


def test_transactions_that_only_read_make_nothing(house: Lent) -> None:
    house.owner(f"ALTER ROLE app IN DATABASE {house.name} SET default_transaction_read_only = on")
    try:
        with pytest.raises(NothingMayBeMade, match="transactions only read") as refused:
            ExternalServer.open(house.access())
        assert "default_transaction_read_only = off" in refused.value.remedy
    finally:
        house.owner(f"ALTER ROLE app IN DATABASE {house.name} RESET default_transaction_read_only")


def test_defaults_of_the_role_do_not_break_our_statements(house: Lent) -> None:
    settings = (
        "search_path = nowhere",
        "statement_timeout = '30s'",
        "exit_on_error = on",
        "lock_timeout = 1",
    )
    for setting in settings:
        house.owner(f"ALTER ROLE app IN DATABASE {house.name} SET {setting}")
    try:
        with opened(house) as (guest, _), closing(guest.admin()) as database:
            for name in ("statement_timeout", "exit_on_error", "lock_timeout"):
                assert database.rows(f"SHOW {name}") in ([("0",)], [("off",)])
    finally:
        house.owner(f"ALTER ROLE app IN DATABASE {house.name} RESET ALL")
    assert not house.has_schema()


def test_connections_that_would_be_closed_while_others_have_their_turn_are_refused(house: Lent) -> None:
    house.owner(f"ALTER ROLE app IN DATABASE {house.name} SET idle_session_timeout = '20s'")
    try:
        with pytest.raises(UserMistake, match=r"say nothing for 20 s \(idle_session_timeout\)"):
            ExternalServer.open(house.access())
    finally:
        house.owner(f"ALTER ROLE app IN DATABASE {house.name} RESET ALL")


@pytest.mark.long
@pytest.mark.parametrize("limited", ["ROLE app", "DATABASE {}"])
def test_the_limit_of_a_role_and_of_a_database_is_kept(house: Lent, tmp_path: Path, limited: str) -> None:
    """The server itself refuses whoever comes beyond it."""
    whose = limited.format(house.name)
    house.owner(f"ALTER {whose} CONNECTION LIMIT 9")
    try:
        with ExternalServer.open(house.access()) as guest:
            room = guest.room()
            assert (room.of_account, room.by_account, room.free) == (9, 0, 9)
        arguments = ("--workload", "reconnect", "--max-connections", "9")
        done = tlstax_run(tmp_path, house.url(), *SHORT, *arguments)
        assert done.returncode == 0, done.stderr
        assert "of 9 for this account, 0 of them in use" in done.stderr
        assert {trial.verdict.value for trial in last_run(tmp_path).trials} == {"valid"}
        house.owner(f"ALTER {whose} CONNECTION LIMIT 3")
        refused = sentence(tlstax_run(tmp_path, house.url(), *SHORT, *arguments), 2)
        assert "--max-connections" in refused or "connections" in refused
    finally:
        house.owner(f"ALTER {whose} CONNECTION LIMIT -1")
    assert not house.has_schema()


def test_functions_that_others_have_put_in_the_way_are_found(house: Lent) -> None:
    house.app("CREATE FUNCTION public.lower(int) RETURNS int LANGUAGE sql AS 'SELECT 1'")
    with opened(house) as (guest, _):
        said(guest, "CREATE TABLE tlstax.mine (c text)")
        with pytest.raises(UserMistake, match="there is a function named LOWER, which others made"):
            said(guest, "UPDATE tlstax.mine SET c = lower(c)")
        said(guest, "UPDATE tlstax.mine SET c = upper(c)")
    house.app("DROP FUNCTION public.lower(int)")


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ("CREATE VIEW shop.it AS SELECT 1 AS id", "it is a view that others made"),
        (
            "CREATE TABLE shop.it (id int) PARTITION BY RANGE (id)",
            "it is a partitioned table that others made",
        ),
        ("CREATE SEQUENCE shop.it", "it is a sequence that others made"),
        (
            "CREATE TABLE shop.it (id int); ALTER TABLE shop.it ENABLE ROW LEVEL SECURITY",
            "it is a table with policies or heirs that others made",
        ),
    ],
)
def test_what_of_others_may_do_more_than_be_read_is_not_read(house: Lent, made: str, words: str) -> None:
    house.app("CREATE SCHEMA shop", made)
    with opened(house, rest="?schema=shop") as (guest, _), pytest.raises(UserMistake, match=words):
        said(guest, "SELECT id FROM shop.it")


def test_keys_of_a_table_that_is_there_are_read_and_nothing_is_made(house: Lent, tmp_path: Path) -> None:
    house.app("CREATE SCHEMA shop", "CREATE TABLE shop.orders (id bigint PRIMARY KEY, secret text)")
    house.app("INSERT INTO shop.orders SELECT g, 'hush' || g FROM generate_series(100, 900) g")
    before = house.everything()
    done = tlstax_run(tmp_path, house.url(rest="?schema=shop"), *SHORT, "--table", "orders.id")
    assert done.returncode == 0, done.stderr
    run = last_run(tmp_path)
    assert {trial.verdict.value for trial in run.trials} == {"valid"}
    assert {trial.trial.case.levels["workload"] for trial in run.trials} == {
        "table-select",
        "table-reconnect",
    }
    assert house.everything() == before
    for table, words in (
        ("orders.secret", "is of the type text"),
        ("orders.none", "has no column none"),
        ("none.id", "sees no table none"),
    ):
        refused = tlstax_run(tmp_path, house.url(rest="?schema=shop"), *SHORT, "--table", table)
        assert words in sentence(refused, 2)
    without = tlstax_run(tmp_path, house.url(), *SHORT, "--table", "orders.id")
    assert "the URL names none" in sentence(without, 2)


@pytest.mark.long
def test_other_ways_to_it_are_compared_with_the_direct_one(house: Lent, tmp_path: Path) -> None:
    with firewall(house.server.endpoint().port) as (port, _):
        done = tlstax_run(
            tmp_path,
            house.url(),
            *SHORT,
            "--workload",
            "reconnect",
            "--address",
            f"direct,relay=127.0.0.1:{port}",
        )
    assert done.returncode == 0, done.stderr
    trials = last_run(tmp_path).trials
    assert {trial.verdict.value for trial in trials} == {"valid"}
    assert {trial.trial.case.levels["address"] for trial in trials} == {"direct", "relay"}


@pytest.mark.long
def test_where_the_account_is_let_in_over_tls_alone_plaintext_is_left_out(
    house: Lent, tmp_path: Path
) -> None:
    hosts_are(house.server, HOSTS.replace("host ", "hostssl "))
    try:
        arguments = ("--workload", "reconnect", "--rows", "500", "--budget", "2s", "--over-budget")
        done = tlstax_run(tmp_path, house.url(), *arguments, "--connections", "2")
    finally:
        hosts_are(house.server, HOSTS)
    assert done.returncode == 0, done.stderr
    assert "lets app in over TLS only" in done.stderr
    trials = last_run(tmp_path).trials
    assert {trial.verdict.value for trial in trials} == {"valid"}
    assert "off" not in {trial.trial.case.levels["tls"] for trial in trials}


def test_an_interrupted_run_leaves_nothing(house: Lent, tmp_path: Path) -> None:
    arguments = ("--rows", "500", "--budget", "60s", "--connections", "2", "--workload", "point-select")
    started = subprocess.Popen(
        [sys.executable, "-P", "-m", "tlstax", "run", "--server", house.url(), *arguments],
        env={**environment(), "TLSTAX_DATA": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until(lambda: started.poll() is not None or house.tables() >= OURS)
        started.send_signal(signal.SIGINT)
        _, told = started.communicate(timeout=120)
    finally:
        started.kill()
    assert started.returncode == 130, told
    assert "Traceback" not in told
    assert not house.has_schema()


@pytest.mark.long
def test_a_standby_is_said_to_be_one(session: Session, postgresql_build: ServerBuild, tmp_path: Path) -> None:
    with lent(postgresql_build, session) as server:
        as_owner(server, "CREATE DATABASE scratch OWNER app")
        ((directory,),) = as_owner(server, "SHOW data_directory")
        (Path(str(directory)) / "standby.signal").touch()
        server.restart()
        house = Lent(server, "scratch")
        with pytest.raises(NothingMayBeMade, match="is a standby"):
            ExternalServer.open(house.access())
        done = tlstax_run(tmp_path, house.url(), *SHORT)
        assert done.returncode == 0, done.stderr
        assert "is a standby, at which nothing can be changed" in done.stderr
        assert {trial.verdict.value for trial in last_run(tmp_path).trials} == {"valid"}


@pytest.mark.long
def test_it_stands_beside_a_private_server_and_another_external_one(
    session: Session, house: Lent, tmp_path: Path, postgresql_build: ServerBuild
) -> None:
    with lent(postgresql_build, session) as server:
        as_owner(server, "CREATE DATABASE scratch OWNER app")
        other = Lent(server, "scratch")
        servers = f"{house.url()},{other.url()},postgresql-18"
        done = tlstax_run(tmp_path, servers, *SHORT, "--workload", "reconnect")
        assert done.returncode == 0, done.stderr
        trials = last_run(tmp_path).trials
        assert {trial.verdict.value for trial in trials} == {"valid"}
        assert len({trial.trial.case.levels["server"] for trial in trials}) == 3
        assert not house.has_schema()
        assert not other.has_schema()
        twice = tlstax_run(tmp_path, f"{house.url()},{house.url().replace('127.0.0.1', 'localhost')}", *SHORT)
        assert "are one server" in sentence(twice, 2)


def test_a_pooler_is_told_by_the_number_that_it_made_up(house: Lent) -> None:
    """PgBouncer was seen to be told so in both modes; this stands for it, and passes the rest on."""
    with renumbering(house.server.endpoint().port) as port:
        access = house.access()
        there = replace(access, address=replace(access.address, port=port), tls=ExternalTls(mode="DISABLED"))
        with pytest.raises(UserMistake, match="a pooler answers at") as refused:
            ExternalServer.open(there)
    assert f"--address direct,pooler=127.0.0.1:{port}" in refused.value.remedy
    assert not house.has_schema()


@contextmanager
def renumbering(port: int) -> Iterator[int]:
    """A way to the port that says another process's number in BackendKeyData than the server does."""

    def carry(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(re.sub(rb"K\0\0\0\x0c....", b"K\0\0\0\x0c\x7f\0\0\1", data, flags=re.DOTALL))

    def serve() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", port))
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=carry, args=(source, target), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


@contextmanager
def most_at_once(house: Lent) -> Iterator[list[int]]:
    """The most sessions of the role that the server lists at any one time until the block ends."""
    most, ended = [0], threading.Event()
    asked = "SELECT COUNT(*) FROM pg_stat_activity WHERE usename = 'app'"

    def look() -> None:
        with house.server.admin() as admin:
            assert isinstance(admin, PostgresDatabase)
            while not ended.wait(0.01):
                most[0] = max(most[0], int(admin.apart.rows(asked)[0][0]))

    looker = threading.Thread(target=look)
    looker.start()
    try:
        yield most
    finally:
        ended.set()
        looker.join()


def test_a_storm_takes_no_more_than_it_was_promised_and_leaves_it_as_it_was(
    house: Lent, tmp_path: Path
) -> None:
    before = house.everything()
    asked = ("--within", "20s", "--most", "16", "--json")
    with most_at_once(house) as most:
        done = tlstax_run(tmp_path, house.url(), *asked, command=("storm", "--server"))
    assert done.returncode == 0, done.stderr
    document = BenchDocument.model_validate_json(done.stdout)
    limits = document.told.of(role=LIMIT)
    assert [limit.case["tls"] for limit in limits] == ["off", "1.3", "1.2", "1.3-direct"]
    assert {limit.value for limit in limits} == {16}
    assert document.facts["promised"] == 22
    assert 16 <= most[0] <= 22
    assert house.everything() == before


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root is shown whose process a server is")
def test_what_a_connection_costs_in_memory_is_its_process(house: Lent, tmp_path: Path) -> None:
    before = house.everything()
    asked = ("--max-connections", "30", "--blocks", "2", "--json")
    command = ("study", "run", "memory", "--set")
    with most_at_once(house) as most:
        done = tlstax_run(tmp_path, f"server={house.url()}", *asked, command=command)
    assert done.returncode == 0, done.stderr
    document = ExternalMemory.model_validate_json(done.stdout)
    assert (document.status, document.used_before, document.refused) == ("complete", None, ())
    assert most[0] <= document.promised <= 30
    cost = {row.label: row.known.point for row in document.told.of(memory.RSS, role=memory.COST)}
    assert set(cost) == {"plaintext", "TLS 1.3", "TLS 1.2"}
    assert min(cost.values()) > 1 << 20, "a process of its own"
    threads = document.told.of(memory.THREADS, role=memory.COST)
    assert all(row.value == pytest.approx(1, abs=0.2) for row in threads)
    assert house.everything() == before


def test_the_administrators_own_rights_are_not_needed(house: Lent) -> None:
    """The role that all of this is tried with may do nothing beyond its database."""
    asked = (
        "SELECT COUNT(*) FROM pg_roles WHERE rolname = 'app' AND (rolsuper OR rolcreatedb OR rolcreaterole)"
    )
    assert house.owner(asked) == [(0,)]
    with pytest.raises(DatabaseError, match="permission denied"):
        house.app("SELECT * FROM pg_hba_file_rules")
