"""What the laboratory asks of PostgreSQL, at real servers: each that is named in TLSTAX_TEST_POSTGRES.

That is a list of directories with `postgres` and `initdb`, as PATH is; without it, those of this machine.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tlstax.contract import Account, Job, TcpEndpoint, TlsOff
from tlstax.postgres import (
    accounts,
    connection_log,
    database,
    login_log,
    server_facts,
    server_tls,
    settings,
    status,
)
from tlstax.postgres.database import PostgresDatabase, SqlError
from tlstax.postgres.table import COLUMNS, POSTGRES_TABLES
from tlstax.specimens import certificates
from tlstax.specimens.certificates import Certificates
from tlstax.sql import recorded_connections
from tlstax.sql.answering import find_listener
from tlstax.sql.credentials import Credentials, new_credentials
from tlstax.sql.ownership import Mark
from tlstax.sql.table_rows import LAYOUTS, TableContent, answers_of
from tlstax.study import workloads
from tlstax.support.errors import MachineFault, UserMistake

NAMED = "TLSTAX_TEST_POSTGRES"
PROGRAMS = [Path(path) for path in os.environ.get(NAMED, "").split(os.pathsep) if path] or sorted(
    Path("/usr/lib/postgresql").glob("*/bin")
)


@dataclass
class Started:
    """A server that runs: its directory, its port, its accounts' passwords."""

    directory: Path
    port: int
    process: subprocess.Popen[bytes]
    credentials: Credentials
    files: Certificates

    @property
    def socket_path(self) -> Path:
        return self.directory / f".s.PGSQL.{self.port}"

    @property
    def log(self) -> Path:
        return self.directory / "log"

    @property
    def endpoint(self) -> TcpEndpoint:
        return TcpEndpoint(host="127.0.0.1", port=self.port)

    @property
    def context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.files.ca_file))
        if self.files.client is not None:
            context.load_cert_chain(self.files.client.certificate_file, self.files.client.key_file)
        return context

    @property
    def major(self) -> int:
        with self.admin() as admin:
            return settings.version_number(admin) // 10000

    def admin(self) -> PostgresDatabase:
        return self.login(accounts.ADMINISTRATOR, self.credentials.admin_password)

    def load(self) -> PostgresDatabase:
        return self.login(accounts.LOAD_USER, self.credentials.load_password)

    def login(self, user: str, password: str) -> PostgresDatabase:
        account = Account(user=user, password=password, database=accounts.SCHEMA)
        return database.log_in_over_socket(self.socket_path, account)

    def login_over_tls(self, user: str, password: str, context: ssl.SSLContext | None = None) -> None:
        account = Account(user=user, password=password, database=accounts.SCHEMA)
        database.try_login_over_tls(self.endpoint, account, context or self.context)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def as_nobody() -> list[str]:
    """PostgreSQL refuses to run as root."""
    return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []


def start(programs: Path, directory: Path) -> Started:
    data, port, credentials = directory / "data", free_port(), new_credentials()
    files = certificates.issue(directory, certificates.requested("ec-p256", clients=True))
    if os.geteuid() == 0:
        for path in (directory, *directory.rglob("*")):
            shutil.chown(path, pwd.getpwnam("nobody").pw_uid)
    initdb = [programs / "initdb", "-D", data, "-U", accounts.BOOTSTRAP, "--auth=reject"]
    subprocess.run([*as_nobody(), *initdb, "--no-locale", "--encoding=UTF8", "--no-sync"], check=True)
    major = int((data / "PG_VERSION").read_text())
    lines = [
        "ssl = on",
        f"ssl_cert_file = '{files.certificate_file}'",
        f"ssl_key_file = '{files.key_file}'",
        f"ssl_ca_file = '{files.clients_ca_file}'",
        "max_connections = 23",
        "autovacuum_naptime = 1d",
        "password_encryption = 'scram-sha-256'",
        *(f"{name} = '{value}'" for name, value in login_log.SETTINGS.items()),
    ]
    hosts = accounts.hba_lines(certificates=True, major=major)
    (data / "postgresql.conf").write_text("\n".join([*lines, ""]))
    (data / "pg_hba.conf").write_text("\n".join([*hosts, ""]))
    (data / "pg_ident.conf").write_text("\n".join(accounts.ident_lines("tlstax private client")) + "\n")
    single = [programs / "postgres", "--single", "-D", data, "--exit_on_error=on", accounts.BOOTSTRAP]
    said = "\n".join([*accounts.statements(credentials), ""]).encode()
    subprocess.run([*as_nobody(), *single], input=said, check=True, stdout=subprocess.DEVNULL)
    options = ["--listen_addresses=127.0.0.1", f"--port={port}", f"--unix_socket_directories={directory}"]
    with (directory / "log").open("wb") as log:
        command = [*as_nobody(), programs / "postgres", "-D", data, *options]
        process = subprocess.Popen(command, stdout=log, stderr=log)
    return Started(directory, port, process, credentials, files)


@pytest.fixture(scope="module", params=PROGRAMS or [None], ids=lambda path: str(path).replace("/", "_"))
def server(request: pytest.FixtureRequest) -> Iterator[Started]:
    if request.param is None:
        pytest.fail(f"these tests need a PostgreSQL: name the directory of its programs in {NAMED}")
    directory = Path(tempfile.mkdtemp(prefix="pgroom"))
    started = None
    try:
        started = start(request.param, directory)
        deadline = time.monotonic() + 120
        while True:
            with suppress(SqlError):
                started.admin().close()
                break
            assert started.process.poll() is None, started.log.read_text()
            assert time.monotonic() < deadline, started.log.read_text()
            time.sleep(0.05)
        yield started
    finally:
        if started is not None:
            started.process.send_signal(signal.SIGQUIT)
            started.process.wait(60)
        shutil.rmtree(directory)


@pytest.fixture
def admin(server: Started) -> Iterator[PostgresDatabase]:
    with server.admin() as admin:
        yield admin


def grown(before: dict[str, int], after: dict[str, int], *columns: str) -> tuple[int, ...]:
    names = [f"pg_stat_database.{column}" for column in columns]
    return tuple(after[name] - before[name] for name in names)


SBTEST = TableContent(rows=3_000, seed=4)


def test_settled_counts_are_exactly_what_clients_did(server: Started, admin: PostgresDatabase) -> None:
    """7 logins, each with 4 selects, an insert of 2 rows and an update, and 3 of them with a delete."""
    POSTGRES_TABLES.prepare(admin, "counted", SBTEST)
    before = status.read_settled_status(admin, 1)
    clients = [server.load() for _ in range(7)]
    assert status.connected(status.read_status(admin)) == status.connected(before) + 7
    for number, client in enumerate(clients):
        for _ in range(4):
            client.rows("SELECT c FROM counted WHERE id=%s", (number + 1,))
        client.rows("INSERT INTO counted (k, c, pad) VALUES (1, 'a', 'b'), (2, 'c', 'd')")
        client.rows("UPDATE counted SET k=k+1 WHERE id=%s", (number + 1,))
        if number < 3:
            client.rows("DELETE FROM counted WHERE id=%s", (100 + number,))
        client.close()
    after = status.read_settled_status(admin, status.connected(before))
    logins, statements = 7, 7 * 6 + 3
    assert grown(before, after, "xact_commit", "xact_rollback") == (logins + statements, 0)
    assert grown(before, after, "tup_inserted", "tup_updated", "tup_deleted") == (14, 7, 3)
    if server.major >= 14:
        assert grown(before, after, "sessions") == (logins,)
    assert status.connected(after) == status.connected(before)


def test_reading_and_asking_change_nothing_that_is_counted(admin: PostgresDatabase) -> None:
    before = status.read_settled_status(admin, 1)
    for _ in range(3):
        status.read_status(admin)
        server_facts.version_and_limit(admin)
        server_facts.connection_limits(admin)
        server_tls.facts(admin)
        server_facts.answering(admin, None)
        status.traffic(admin)
    assert grown(before, status.read_settled_status(admin, 1), "xact_commit", "tup_returned") == (0, 0)


def test_own_statements_are_counted_before_the_next_reading(admin: PostgresDatabase) -> None:
    """What the laboratory does in the load's database between two trials falls into neither."""
    POSTGRES_TABLES.prepare(admin, "counted", SBTEST)
    admin.rows("SELECT COUNT(*) FROM counted")
    before = status.read_settled_status(admin, 1)
    time.sleep(1.2)
    assert grown(before, status.read_settled_status(admin, 1), "xact_commit", "tup_returned") == (0, 0)
    admin.rows("SELECT 1")
    after = status.read_settled_status(admin, 1)
    assert grown(before, after, "xact_commit") == (2,), "a login and a statement"


def test_the_log_has_every_connection(server: Started, admin: PostgresDatabase) -> None:
    context = server.context
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("ECDHE-ECDSA-AES256-GCM-SHA384")
    admin.leave()
    offset = server.log.stat().st_size
    for _ in range(5):
        server.login_over_tls(accounts.LOAD_USER, server.credentials.load_password)
    for _ in range(3):
        server.login_over_tls(accounts.LOAD_USER, server.credentials.load_password, context)
    server.load().close()
    with suppress(SqlError):
        server.login(accounts.LOAD_USER, "wrong")
    status.read_settled_status(admin, 1)
    with server.log.open() as log:
        log.seek(offset)
        lines = log.readlines()
    seen = login_log.seen(lines, {accounts.LOAD_USER}, None)
    assert [(one.connections, one.version) for one in seen] == [(5, "TLSv1.3"), (3, "TLSv1.2"), (1, None)]
    assert seen[1].cipher == "ECDHE-ECDSA-AES256-GCM-SHA384"
    methods = {one.method for one in login_log.connections(lines)}
    assert methods == {"scram-sha-256" if server.major >= 14 else None}


@pytest.mark.parametrize("shape", list(LAYOUTS))
def test_a_table_is_filled_known_again_and_put_back(
    server: Started, admin: PostgresDatabase, shape: workloads.Shape
) -> None:
    rows = 0 if shape == "bodies" else 2_500
    content = answers_of((100_000, 1_000), 7) if shape == "answers" else TableContent(rows, 7, shape)
    name = f"t_{shape}"
    said: list[str] = []
    assert POSTGRES_TABLES.prepare(admin, name, content, progress=said.append) == content.rows
    assert POSTGRES_TABLES.prepare(admin, name, content, progress=said.append) == content.rows
    assert len(said) == 1, "it is used again"
    wanted = POSTGRES_TABLES.expected(name, content)
    assert POSTGRES_TABLES.state(admin, name, shape) == wanted
    POSTGRES_TABLES.keep_copy(admin, name, shape)
    with server.load() as load:
        if shape != "answers":
            column = {"sbtest": "k", "people": "id", "words": "word", "bodies": "body"}[shape]
            load.rows(f"INSERT INTO {name} ({column}) VALUES (17)")  # noqa: S608
        else:
            load.rows(f"DELETE FROM {name} WHERE id IN (SELECT MIN(id) FROM {name})")  # noqa: S608
        assert POSTGRES_TABLES.state(admin, name, shape) != wanted
    POSTGRES_TABLES.put_back(admin, name)
    assert POSTGRES_TABLES.state(admin, name, shape) == wanted
    if "IDENTITY" in COLUMNS[shape].definition:
        with server.load() as load:
            column = {"sbtest": "k", "words": "word", "bodies": "body"}[shape]
            added = load.rows(f"INSERT INTO {name} ({column}) VALUES (17) RETURNING id")  # noqa: S608
        assert added == [(content.rows + 1,)], "ids go on where they went on in the trial before"
        POSTGRES_TABLES.prepare(admin, name, content, progress=said.append)
        assert len(said) == 2, "what a client changed is filled anew"


def test_large_values_are_kept_as_they_are_sent(admin: PostgresDatabase) -> None:
    content = answers_of((50_000,), 3)
    POSTGRES_TABLES.prepare(admin, "large", content)
    ((stored,),) = admin.rows("SELECT MIN(pg_column_size(answer)) FROM large")
    assert stored == 50_000, "it was compressed"


def test_a_settled_table_leaves_readers_nothing_to_write(server: Started, admin: PostgresDatabase) -> None:
    POSTGRES_TABLES.prepare(admin, "settled", TableContent(rows=5_000, seed=2))
    POSTGRES_TABLES.keep_copy(admin, "settled", "sbtest")
    POSTGRES_TABLES.put_back(admin, "settled")
    ((before,),) = admin.apart.rows("SELECT pg_current_wal_insert_lsn() - '0/0'")
    with server.load() as load:
        load.rows("SELECT SUM(k) FROM settled")
        plan = load.rows("EXPLAIN (ANALYZE, BUFFERS) SELECT SUM(k) FROM settled")
    assert not any("dirtied" in str(line) for (line,) in plan), plan
    ((pages, visible),) = admin.rows(
        "SELECT relpages, relallvisible FROM pg_class WHERE oid = 'settled'::regclass"
    )
    assert pages == visible > 0
    assert (
        float(admin.apart.rows("SELECT pg_current_wal_insert_lsn() - '0/0'")[0][0]) - float(before) < 20_000
    )
    assert not POSTGRES_TABLES.is_purging(admin)


def test_a_table_of_somebody_else_is_left_alone(admin: PostgresDatabase) -> None:
    admin.rows("CREATE TABLE theirs (id integer)")
    with pytest.raises(UserMistake, match="theirs that tlstax did not make"):
        POSTGRES_TABLES.prepare(admin, "theirs", SBTEST)
    assert admin.rows("SELECT COUNT(*) FROM theirs") == [(0,)]
    mark = Mark("this run", lambda comment: comment in {"this run", ""})
    POSTGRES_TABLES.prepare(admin, "theirs", SBTEST, mark=mark)
    assert POSTGRES_TABLES.state(admin, "theirs", "sbtest") == POSTGRES_TABLES.expected("theirs", SBTEST)


@pytest.mark.parametrize("iterations", [4096, 9000])
@pytest.mark.parametrize("method", accounts.METHODS)
def test_each_method_proves_its_account(
    server: Started, admin: PostgresDatabase, method: str, iterations: int
) -> None:
    password = server.credentials.load_password
    accounts.make_by_plugin(admin, method, password, iterations)
    user = accounts.user_by_plugin(method)
    server.login_over_tls(user, password)
    if method in {accounts.SCRAM, accounts.MD5, accounts.PASSWORD}:
        with pytest.raises(SqlError) as refused:
            server.login_over_tls(user, "wrong")
        assert refused.value.code in database.ACCESS_DENIED
    if method != accounts.CERTIFICATE:
        POSTGRES_TABLES.prepare(admin, "counted", SBTEST)
        with server.login(user, password) as client:
            client.rows("INSERT INTO counted (k) VALUES (1)")
            client.rows("TRUNCATE TABLE counted")
    assert accounts.demands_certificate(admin, user) is (method == accounts.CERTIFICATE)
    assert method in server_facts.account_plugins(admin)


def test_an_account_that_demands_a_certificate_is_refused_without(
    server: Started, admin: PostgresDatabase
) -> None:
    password = server.credentials.load_password
    user = accounts.LOAD_USER_BY_CERTIFICATE
    assert accounts.demands_certificate(admin, user) in {None, True}
    accounts.make_by_certificate(admin, password)
    accounts.make_by_certificate(admin, password)
    assert accounts.demands_certificate(admin, user) is True
    assert accounts.demands_certificate(admin, accounts.LOAD_USER) is False
    assert accounts.demands_certificate(admin, "nobody_of_ours") is None
    assert accounts.plugin_of_load_account(admin) == "scram-sha-256"
    server.login_over_tls(user, password)
    with pytest.raises(SqlError):
        server.login_over_tls(user, password, ssl.create_default_context(cafile=str(server.files.ca_file)))


def test_passwords_are_not_in_what_the_server_keeps_or_logs(server: Started, admin: PostgresDatabase) -> None:
    for method in (accounts.SCRAM, accounts.MD5, accounts.PASSWORD):
        accounts.make_by_plugin(admin, method, server.credentials.load_password)
    admin.apart.rows("CHECKPOINT")
    for path in [server.log, *(server.directory / "data").rglob("*")]:
        if path.is_file():
            content = path.read_bytes()
            assert server.credentials.load_password.encode() not in content, path
            assert server.credentials.admin_password.encode() not in content, path


def test_the_administrator_comes_over_the_socket_alone(server: Started) -> None:
    with pytest.raises(SqlError) as refused:
        server.login_over_tls(accounts.ADMINISTRATOR, server.credentials.admin_password)
    assert refused.value.code in database.ACCESS_DENIED
    with pytest.raises(SqlError, match="authentication failed"):
        server.login(accounts.ADMINISTRATOR, "wrong")


def test_tls_is_switched_while_the_server_runs(server: Started, admin: PostgresDatabase) -> None:
    password = server.credentials.load_password
    assert server_tls.can_switch(admin)
    before = server_tls.accepted_versions(admin)
    for _ in range(5):
        server_tls.accept(admin, server_tls.NO_TLS)
        with pytest.raises(SqlError, match="refuses SSL"):
            server.login_over_tls(accounts.LOAD_USER, password)
        assert not server_tls.facts(admin).offered
        assert server_tls.accepted_versions(admin) == server_tls.NO_TLS
        server_tls.accept(admin, before)
        server.login_over_tls(accounts.LOAD_USER, password)
        assert server_tls.accepted_versions(admin) == before
    if server.major >= 12:
        server_tls.accept(admin, "TLSv1.2")
        assert server_tls.facts(admin).versions == ("TLSv1.2",)
        newest = server.context
        newest.minimum_version = ssl.TLSVersion.TLSv1_3
        with pytest.raises(SqlError) as refused:
            server.login_over_tls(accounts.LOAD_USER, password, newest)
        assert isinstance(refused.value.cause, ssl.SSLError)
        server_tls.accept(admin, before)
        server.login_over_tls(accounts.LOAD_USER, password, newest)


def test_tls_is_told_as_far_as_the_server_knows(server: Started, admin: PostgresDatabase) -> None:
    facts = server_tls.facts(admin)
    assert facts.offered
    assert facts.certificate_file == str(server.files.certificate_file)
    assert facts.library_version == ("OpenSSL" if server.major >= 12 else None)
    assert ("TLSv1.3" in facts.versions) is (server.major >= 12)
    assert server_tls.groups(admin) == (("X25519", "prime256v1") if server.major >= 18 else ("prime256v1",))


def test_a_new_certificate_is_read(server: Started, admin: PostgresDatabase, tmp_path: Path) -> None:
    other = certificates.issue(tmp_path, certificates.requested("ec-p256"))
    mine = (server.files.certificate_file, server.files.key_file)
    kept = [path.read_bytes() for path in mine]
    context = ssl.create_default_context(cafile=str(other.ca_file))
    try:
        for path, new in zip(mine, (other.certificate_file, other.key_file), strict=True):
            path.write_bytes(new.read_bytes())
        ((loaded,),) = admin.rows("SELECT pg_conf_load_time()::text")
        admin.apart.rows(server_tls.certificate_reload(server_facts.version(admin)))
        while admin.apart.rows("SELECT pg_conf_load_time()::text") == [(loaded,)]:
            time.sleep(0.01)
        server.login_over_tls(accounts.LOAD_USER, server.credentials.load_password, context)
        with pytest.raises(SqlError) as refused:
            server.login_over_tls(accounts.LOAD_USER, server.credentials.load_password)
        assert isinstance(refused.value.cause, ssl.SSLError)
    finally:
        for path, content in zip(mine, kept, strict=True):
            path.write_bytes(content)
        settings.change(admin, {"ssl": "on"})


@pytest.mark.parametrize("level", ["write", "none", "fsync=on, synchronous_commit=local", "full"])
def test_durability_is_set_and_told(server: Started, admin: PostgresDatabase, level: str) -> None:
    server_facts.set_durability(admin, level)
    assert server_facts.durability(admin) == level
    with server.load() as load:
        found = dict(
            load.rows("SELECT name, setting FROM pg_settings WHERE name ~ 'fsync$|^synchronous_comm'")
        )
    assert (found["fsync"] == "off") is (level == "write")
    assert (found["synchronous_commit"] == "off") is (level == "none")


def test_a_setting_that_is_overridden_is_the_machines_fault(
    admin: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "_IN_FORCE_S", 0.05)
    with pytest.raises(MachineFault, match="keeps max_connections at '23', where '99' was asked for"):
        settings.change(admin, {"max_connections": "99"})
    admin.apart.rows("ALTER SYSTEM RESET max_connections")


def test_a_server_says_what_it_is(server: Started, admin: PostgresDatabase) -> None:
    listener = find_listener(server.process.pid, server.port)
    found = server_facts.answering(admin, listener)
    assert found.pid == server.process.pid
    assert found.listening_port == server.port
    assert found.data_directory == str((server.directory / "data").resolve())
    assert Path(found.program or "").name == "postgres"
    version, limit = server_facts.version_and_limit(admin)
    assert version.startswith(f"PostgreSQL {server.major}.")
    assert limit == 20
    limits = server_facts.connection_limits(admin)
    assert (limits.max_connections, limits.max_user_connections) == (20, 0)
    with server.admin() as other:
        assert server_facts.identity(admin) == server_facts.identity(other)
    assert server_facts.requires_tls(admin) is False
    assert server_facts.variables(admin, ["max_connections", "nothing_of_this_name"]) == {
        "max_connections": "23"
    }


def as_many_as_promised(server: Started) -> ExitStack:
    """Twenty sessions; what an earlier test has left may be ending still."""
    until = time.monotonic() + 30
    while True:
        with ExitStack() as clients:
            try:
                for _ in range(20):
                    clients.enter_context(server.load())
            except SqlError:
                assert time.monotonic() < until
                time.sleep(0.05)
            else:
                return clients.pop_all()


def test_more_connections_than_promised_are_refused_as_such(server: Started) -> None:
    with as_many_as_promised(server), pytest.raises(SqlError) as refused:
        server.load()
    assert refused.value.code == "53300"


def test_connections_record_themselves(server: Started, admin: PostgresDatabase) -> None:
    connection_log.create(admin)
    job = Job(
        endpoint=server.endpoint,
        account=Account(user="u", password="p", database="d"),
        tls=TlsOff(),
        workload=workloads.built_in("ping", "t", 1),
        connections=1,
        duration_s=1.0,
        seed=1,
    )
    (said,) = recorded_connections.recording(job, connection_log.statement("")).workload.on_connect
    for _ in range(3):
        with server.load() as load:
            load.rows(said)
            load.rows(said)
    ((connections, version, cipher),) = [
        (one.connections, one.version, one.cipher) for one in recorded_connections.read(admin)
    ]
    assert (connections, version, cipher) == (3, None, None)
    recorded_connections.clear(admin)
    assert recorded_connections.read(admin) == ()


def test_a_session_that_is_ended_is_a_failed_connection(server: Started, admin: PostgresDatabase) -> None:
    with server.load() as load:
        ((process,),) = load.rows("SELECT pg_backend_pid()")
        assert admin.apart.rows("SELECT pg_terminate_backend(%s)", (process,)) == [("t",)]
        with pytest.raises(SqlError) as ended:
            load.rows("SELECT 1")
        assert ended.value.is_of_connection
        assert not load.is_open
        with pytest.raises(SqlError, match="closed"):
            load.rows("SELECT 1")


@pytest.mark.parametrize(
    ("statement", "meaning"),
    [
        ("SELECT 1 FROM no_such", database.NO_SUCH_TABLE),
        ("SELEC 1", database.PARSE_ERROR),
        ("CREATE TABLE pg_temp.a (b integer); CREATE TABLE pg_temp.a (b integer)", database.TABLE_EXISTS),
        ("SELECT * FROM pg_authid", database.NOT_ALLOWED),
        ("BEGIN READ ONLY; CREATE TABLE a (b integer)", database.READ_ONLY),
    ],
)
def test_what_is_refused_is_known_by_its_state(
    server: Started, statement: str, meaning: frozenset[str]
) -> None:
    with server.load() as load:
        with pytest.raises(SqlError) as refused:
            load.rows(statement)
        assert not refused.value.is_of_connection
        assert load.is_open
        assert refused.value.code in meaning, refused.value.args


def test_values_are_literals_whatever_they_hold(admin: PostgresDatabase) -> None:
    text = 'it\'s \\ 100% "so" %s'
    assert admin.rows("SELECT %s, 7 %% 4, %s, %s", (text, 5, None)) == [(text, 3, 5, None)]
    assert admin.rows("SELECT 7 % 4, 1.50::numeric, true, 1.0::float8::text") == [(3, "1.50", "t", "1")]
